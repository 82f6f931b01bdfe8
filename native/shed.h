/* shed.h - bones leave until each that is left is a part; see shed.c. */
#ifndef OSSIFY_SHED_H
#define OSSIFY_SHED_H

#include "rooms.h"

#define COUNT_UNSEEN (0.04 * 0.04) /* squared E_RMS of the whole body that is nothing */
#define COUNT_REACH 0.25           /* of the radius: how far a bone may reach to take another's place */
#define COUNT_TOLERANCE 1e-3       /* fall of the error that ends a stage: what is counted is larger */

/* How a bone would leave. */
typedef struct Leave {
    double rise;  /* of the squared E_RMS, before anything is solved again */
    double share; /* of the body that it moves */
    int into;     /* the bone that takes its vertices, or -1: those around them */
    int needed;   /* so many bones there were when it was tried and had to stay; 0: it was not tried */
} Leave;

/* What shedding does with a bone, for now. */
typedef enum Fate { STAYS, LOOKED_AT, TAKES, LEAVES } Fate;

typedef struct Count {
    Descent descent;
    Model *model;
    Model kept, best; /* before a removal, before a mending */
    double *cost;     /* [capacity] */
    Leave *leave;     /* [capacity] */
    Fate *fate;       /* [capacity] */
} Count;

int count_make(Call *call, const Problem *problem, Model *model, Count *count);

/* E_RMS^2 of the model as it is. */
double count_squared(const Count *count);

/* How much the squared E_RMS may rise when what moved `share` of the body leaves and was no part. */
double count_allowance(double squared, double share);

/* What it costs when a bone leaves, each by itself, with neighbours that may reach out; the model stays as it
 * is. 0 when the call must end. */
int count_look(Count *count);

/* After a look: many bones leave at once if what they cost by themselves is not worth another. Returns how many went,
 * < 0 when the call must end. */
int count_shed_clear(Count *count);

/* Bones leave while that is free; 0 when the call must end. */
int count_shed(Count *count);

#endif
