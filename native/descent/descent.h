/* descent.h - vertices, then bones, until nothing is gained; see descent.c. */
#ifndef OSSIFY_DESCENT_H
#define OSSIFY_DESCENT_H

#include "descent/fair.h"
#include "descent/locality.h"
#include "descent/pass.h"

enum { ROUND = 10 }; /* iterations between two looks at regions that no longer wander */

/* How bones follow their vertices when they are not free (articulate/hang.h); all NULL: they are (transforms.h). */
typedef struct BoneStep {
    /* Transforms for the moments at hand; 0 when the call must end. */
    int (*solve)(void *user, const Moments *moments);
    /* Transforms that were extrapolated become such as bones can have. */
    void (*restore)(void *user);
    void *user;
} BoneStep;

/* How iterations ended. */
typedef enum DescentEnd {
    DESCENT_STOPPED = -1, /* the call must end: cancelled, or out of memory */
    DESCENT_UNFINISHED,   /* out of iterations */
    DESCENT_CONVERGED, /* two falls in a row below the tolerance, or regions that fall apart again and again */
    DESCENT_ENOUGH     /* the error is as low as was asked for */
} DescentEnd;

typedef struct Descent {
    Call *call;
    const Problem *problem;
    Model *model;
    Moments moments;
    Locality locality;
    PassPlan plan;
    Model backup;
    Model kept;            /* with locality: the last one whose regions held together, */
    double kept_objective; /* what it came to, */
    double least;          /* and the least that new regions came to since the restart */
    double *last, *before; /* transforms M_k and M_(k-1) */
    double momentum, objective;
    double reach, shrink; /* how far from its region a bone may be used, and by how much less each time */
    double least_radii;   /* of the object's radius: what is left of the reach in the end */
    int flexible, local, fresh, iterations;
    int wanted;        /* bones that there shall be; 0: those there are, used or not */
    int search_first;  /* the first pass looks for every vertex's bones from nothing */
    int keep;          /* iterations for which the candidates stay */
    int renewed;       /* the last iteration looked at them anew, bones no longer wandering */
    int frozen;        /* they stay for good */
    int bones_first;   /* an iteration ends with the vertices, so that weights fit the transforms */
    int steep_most;    /* iterations in all while the error still falls steeply; 0: no more than asked */
    double expected;   /* squared error that the sample promised; 0: unknown */
    double cut;        /* by how much the objective rose when regions were held together */
    double smoothness; /* how strongly weights follow their neighbours' */
    BoneStep bone_step;
    Fair *fair; /* the norm to descend in, or NULL: plain least squares */
} Descent;

int descent_make(Call *call, const Problem *problem, Model *model, Descent *descent);
/* Regions for what descends in the norm of fair.h, then or later: the faintest weights belong to them. */
void descent_widen(Descent *descent);
/* From now on it descends in that norm. */
void descent_in_norm(Descent *descent, Fair *fair);
/* Bones may wander `radii` of the object's radius along the surface, less and less in `iterations`. */
void descent_reach(Descent *descent, double radii, int iterations);
/* After a change from outside: no momentum, no error to compare with. */
void descent_restart(Descent *descent);
/* One iteration; returns the objective's relative fall, or < 0 when the call must end. */
double descent_step(Descent *descent);
/* Up to `most` iterations, until the squared error is at or below `enough`. */
DescentEnd descent_run(Descent *descent, int most, double tolerance, double enough);
/* The same, and then the weights for the last transforms; with locality nothing is left outside its
 * bone's region. */
DescentEnd descent_complete(Descent *descent, int most, double tolerance, double enough);
/* Weights follow their neighbours' as the mean squared error of a vertex allows. */
void descent_smooth(Descent *descent, double mean);
/* From now on the bones a vertex may use are those of its regions as they are, less what strays. 0 when the call
 * must end; so below. */
int descent_freeze(Descent *descent);
/* Weights for the transforms at hand, from which iterations go on, bones first. */
int descent_begin_frozen(Descent *descent);
/* Takes away what lies outside its bone's region, and weights too faint to be worth an artist's time. */
int descent_clean(Descent *descent);
/* The model at hand is the one to come back to. */
void descent_keep(Descent *descent);
void descent_return(Descent *descent);
/* Iterations, then the cut; the kept model comes back if that was all for nothing. */
DescentEnd descent_round(Descent *descent, int most, double tolerance, double enough);

#endif
