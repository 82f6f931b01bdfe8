/* problem.h - the poses as the solver sees them; see problem.c.
 *
 * Inside, the rest pose lies in the unit sphere and every frame is centred; the sphere and the
 * centres are put back at the end (docs/notation.md). */
#ifndef OSSIFY_PROBLEM_H
#define OSSIFY_PROBLEM_H

#include "core/call.h"
#include "math/graph.h"

enum { BLOCK = 64 }; /* vertices that go through a matrix product together */

/* The poses as the solver sees them: scaled, centred, along a space-filling curve, in blocks. */
typedef struct Problem {
    int vertices, frames, blocks;
    float *x;       /* [blocks][3 frames][BLOCK]: row 3f + i is coordinate i in frame f */
    double *rest;   /* [v][3] as given */
    int rest_given; /* 0: it is only a frame to start from */
    double *square; /* [v] sum over frames of |x|^2 */
    double *mass;   /* [v] how many vertices this one stands for */
    double total_mass;
    double radius;            /* of the rest's tight sphere, here between 1/2 and 1 */
    int *caller;              /* [v] the vertex in the caller's order */
    const uint8_t *held;      /* [v] weights held, or NULL */
    const uint8_t *held_rest; /* [v] rest position held, or NULL */
    Graph graph;
    /* the norm (fairness.c); without one all of it is 0: */
    double tie;           /* what an edge counts in it */
    float *sharp;         /* as x: (S x)_v / S_vv */
    double *sharp_square; /* [v] as square */
    double *stiffness;    /* [v] S_vv */
    double still;         /* x'Sx */
    int *colour, colours; /* [blocks] those of one colour have no edge between them */
} Problem;

/* The way back to the caller's coordinates: inside = (caller's - centre) / unit. */
typedef struct Placement {
    double centre[3], radius; /* of the rest's tight sphere, in the caller's coordinates */
    double unit;              /* a power of two near the radius, so that scaling rounds nothing */
    double *frame_centre;     /* [f][3] */
} Placement;

/* `rig` tells what is held. */
int problem_prepare(Call *call, const ossify_poses *poses, const float *rest, const ossify_rig *rig,
                    Problem *problem, Placement *placement);
/* About `vertices` of the whole, spread over the surface, each standing for its cell of the graph;
 * cell [v of the whole] tells which. */
int problem_thin_vertices(Call *call, const Problem *whole, int vertices, Problem *sample, int *cell);
/* `frames` of the whole that differ most; nearest [f of the whole] is the chosen frame most like it. */
int problem_thin_frames(Call *call, const Problem *whole, int frames, Problem *sample, int *chosen,
                        int *nearest);
/* E_RMS of a squared error, and back. */
double problem_erms(const Problem *problem, double squared);
double problem_squared(const Problem *problem, double erms);
/* The frame most like all others: where a rest pose can start when none is given. */
int problem_middle_frame(const ossify_poses *poses);
/* Copies vertex v's positions into to[3 * frames]. */
void problem_read(const Problem *problem, int v, double *to);

#endif
