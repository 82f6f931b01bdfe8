/* coordinates.h - one rest position of a vertex for each of its bones, while they are solved. See coordinates.c. */
#ifndef OSSIFY_COORDINATES_H
#define OSSIFY_COORDINATES_H

#include "correct/skin.h"
#include "math/graph.h"

typedef struct Coordinates {
    const Skin *skin;
    int slots;          /* k */
    int *bone;          /* [v][slots], used ones first, then -1 */
    double *weight;     /* [v][slots] of linear blend skinning; 0 for a bone that was filled in */
    double *correction; /* [v][slots][4] d = (q, w), in coordinates about the bone's centre */
    double *centre;     /* [b][3] of what the bone moves, inside */
    double *moment;     /* [b][b][4][4] sum_f T_b' T_c, about the centres */

    double smoothness, damping;
    int smooths_positions; /* 1: p = y + d is smooth, as printed; 0: d is */
    int rest_exact;        /* 1: sum_b d = 0; 0: only its weights sum to 0 */
    Graph graph;           /* of the faces */
    double *stiffness;     /* [edges] 1 / length */
    int8_t *beside;        /* [edges][slots] the slot of the same bone on the other side, -1: none */
} Coordinates;

/* Bones a vertex in use. */
int coordinates_used(const Coordinates *coordinates, int v);
/* d = (q, w) inside, not about the bone's centre. */
void coordinates_inside(const Coordinates *coordinates, int v, int k, double d[4]);
/* The moments of the skin's transforms. 0 when the call must end. */
int coordinates_find_moments(Call *call, Coordinates *coordinates);
/* The best corrections for bones and moments, from those at hand on; 0 when the call must end. */
int coordinates_solve(Call *call, Coordinates *coordinates);

#endif
