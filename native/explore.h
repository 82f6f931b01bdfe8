/* explore.h - how hard to look for bones, and the search itself; see explore.c and levels.c. */
#ifndef OSSIFY_EXPLORE_H
#define OSSIFY_EXPLORE_H

#include "rooms.h"

/* What a quality setting buys. */
typedef struct Effort {
    int sample_vertices, sample_frames; /* the search runs on about so many */
    double surplus;                     /* bones at the start, over those asked for */
    int warm, between, settle;          /* iterations: before, between and after removals */
    int cycles, cycle_warm;             /* rounds of insertion and removal, iterations between the two, */
    int cycle_settle;                   /* and after */
    double tolerance;                   /* relative fall of the error that ends a stage */
    int refine;                         /* iterations on all vertices and frames */
    double refine_tolerance;
    double least_reach; /* of the radius: with locality, how far bones may always reach while they move */
} Effort;

/* Bones for `problem` from nothing; stops early when the squared error is at or below `enough`.
 * Returns 0 when the call must end. */
int explore(Call *call, const Problem *problem, int bones, const Effort *effort, double enough, Model *model);

/* descent_settle; then, unless the number of bones is given (descent->wanted is 0), a new place for bones that
 * no vertex follows any more and, with `effort`, repairs when the cut to connected regions cost much. */
int explore_settle(Descent *descent, int most, double tolerance, double enough, const Effort *effort);

/* From a model that is given: it is settled, and then bones of which nothing is held may leave for a place where
 * they are worth more. The others keep their numbers, and one that left gives its number to the one that came.
 * The model needs explore_capacity() bones of room. Returns 0 when the call must end; *moved: 1 when it was
 * worth while. */
int explore_relocate(Call *call, const Problem *problem, int cycles, const Effort *effort, Model *model,
                     int *moved);

/* parts.c: as many bones as an articulated body has parts, at most model->capacity. Returns 0 when the call must
 * end. */
int parts_find(Call *call, const Problem *problem, Model *model);

/* Room that a model needs while it is explored. */
int explore_capacity(int bones, const Effort *effort);

/* The same problem at three sizes; equal ones share their arrays. */
typedef struct Levels {
    Problem sample; /* fewer vertices, all frames */
    Problem few;    /* fewer vertices and frames */
    int *cell;      /* [v of the whole] */
    int *chosen;    /* [f of the few] frames of the whole */
    int *nearest;   /* [f of the whole] among the few */
} Levels;

int levels_make(Call *call, const Problem *whole, const Effort *effort, Levels *levels);
/* Takes a given model of the whole to levels->few. */
void levels_lower(const Problem *whole, const Levels *levels, const Model *model, Model *few);
/* Takes a model of levels->few to the whole: transforms for the other frames, weights for the other
 * vertices, both ready for a descent. Returns 0 when the call must end. With `given`, model is what was lowered:
 * what is held of it stays, and so does its rest pose. */
int levels_carry(Call *call, const Problem *whole, const Levels *levels, Model *few, int given, Model *model);

#endif
