/* fairness.h - the norm in which an error counts; see fairness.c. */
#ifndef OSSIFY_FAIRNESS_H
#define OSSIFY_FAIRNESS_H

#include "core/problem.h"

/* Puts the norm that the settings ask for into a problem whose positions, masses and graph are made. 0 when the call
 * must end. */
int fairness_make(Call *call, Problem *problem);

#endif
