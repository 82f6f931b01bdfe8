/* tolerances.h - numbers that mean one thing wherever bones move, once. */
#ifndef OSSIFY_DESCENT_TOLERANCES_H
#define OSSIFY_DESCENT_TOLERANCES_H

/* ---- how far a bone may be used from its region (locality.c) */

#define WIDE_REACH 0.7    /* of the object's radius: a first bone may end up far from where it starts */
#define NEAR_REACH 0.25   /* of the radius: to take the place of a bone that left, or is held by a joint */
#define REACH_SHRINKS 0.6 /* of the iterations: in these a reach shrinks to nothing, the others are without */
#define REGION_WEIGHT 0.05 /* weights above it hold a region together: an artist sees them */

enum {
    LOCAL_HOPS = 2,  /* edges beyond its region on which a bone may always be used: regions move by these */
    STEEP_MOST = 100 /* iterations in all while the error still falls steeply, whatever the effort */
};

/* ---- the norm that sees cracks (fair.c) */

#define FAIR_JOINS 1e-4 /* weights that join a region: skin is smooth where they fade out slowly */
#define FAIR_PATCH \
    200.0 /* vertices a bone: with fewer, an edge is long beside what a bone moves, and fairness weaker */
#define FAIR_COST 1.1 /* times the squared error of a plain refit: what a fair one may cost */

/* ---- what vertices do not determine */

#define BONE_RIDGE \
    1e-9 /* of the mean diagonal of the normal equations: such turns and ways stay as they are */
#define BONE_LEAST 1e-9 /* sum of squared weights: a bone with less moves nothing, and stays */

/* ---- damped steps (Levenberg 1944, Marquardt 1963; newton.c, pose_fit.c) */

#define LARGEST_TURN 0.5 /* radians a step: beyond it a rotation is not what its linearisation says */
#define LESS_DAMPING 0.1 /* times, after a step that was taken, */
#define MORE_DAMPING 30  /* and after one that was not: a try costs a factorisation, so not many of them */

#endif
