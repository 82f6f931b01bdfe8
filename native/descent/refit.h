/* refit.h - a model that is whole and was worked on is made to fit again; see refit.c. */
#ifndef OSSIFY_REFIT_H
#define OSSIFY_REFIT_H

#include "descent/descent.h"

typedef struct RefitEffort {
    int most;         /* iterations */
    double tolerance; /* as for descent_run */
} RefitEffort;

/* From a model that is whole and meant to stay near: regions grow hop by hop from what they are, and the best
 * model whose regions hold together stays. efforts: after a small edit, after a large one. *given:
 * the squared error that the model came with. */
DescentEnd descent_refit(Descent *descent, const RefitEffort efforts[2], double enough, double *given);

#endif
