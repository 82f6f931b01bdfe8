/* prune.h - bones leave until as many are left as asked for; see prune.c. */
#ifndef OSSIFY_PRUNE_H
#define OSSIFY_PRUNE_H

#include "descent/descent.h"

/* What it takes to see in hindsight which bone could go. */
typedef struct Trials {
    Model before, best;
    double worth; /* times the error left: what most bones cost when a part is missing */
    int missing;  /* out: 1 when one was at the last removal */
} Trials;

/* What each bone costs at first sight: cost [bones]. Leaves the moments of plain least squares behind. */
void prune_price(Descent *descent, double *cost);

int prune_trials(Call *call, const Problem *problem, const Model *model, Trials *trials);

/* Removes bones until `bones` are left, with `between` iterations after each: the one that seems cheapest or,
 * with `trials`, where a part is missing, the one that the others make up for best. Returns 0 when the call must end. */
int prune(Descent *descent, int bones, int between, Trials *trials);

#endif
