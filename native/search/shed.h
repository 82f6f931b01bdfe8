/* shed.h - bones leave until each that is left is a part; see shed.c. */
#ifndef OSSIFY_SHED_H
#define OSSIFY_SHED_H

#include "descent/descent.h"

#define SHED_UNSEEN (0.04 * 0.04) /* squared E_RMS of the whole body that is nothing */
#define SHED_TOLERANCE 1e-3       /* fall of the error that ends a stage: what is counted is larger */

/* How a bone would leave. */
typedef struct Leave {
    double rise;  /* of the squared E_RMS, before anything is solved again */
    double share; /* of the body that it moves */
    int into;     /* the bone that takes its vertices, or -1: those around them */
    int needed;   /* so many bones there were when it was tried and had to stay; 0: it was not tried */
} Leave;

/* What shedding does with a bone, for now. */
typedef enum Fate { STAYS, LOOKED_AT, TAKES, LEAVES } Fate;

typedef struct Shed {
    Descent descent;
    Model *model;
    Model kept, best; /* before a removal, before a mending */
    double *cost;     /* [capacity] */
    Leave *leave;     /* [capacity] */
    Fate *fate;       /* [capacity] */
} Shed;

int shed_make(Call *call, const Problem *problem, Model *model, Shed *shed);

/* E_RMS^2 of the model as it is. */
double shed_squared(const Shed *shed);

/* How much the squared E_RMS may rise when what moved `share` of the body leaves and was no part. */
double shed_allowance(double squared, double share);

/* What it costs when a bone leaves, each by itself, with neighbours that may reach out; the model stays as it
 * is. 0 when the call must end. */
int shed_look(Shed *shed);

/* After a look: many bones leave at once if what they cost by themselves is not worth another. Returns how many went,
 * < 0 when the call must end. */
int shed_clear(Shed *shed);

/* Bones leave while that is free; 0 when the call must end. */
int shed_all(Shed *shed);

#endif
