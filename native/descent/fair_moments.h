/* fair_moments.h - what bones need to know of vertices that count together; see fair_moments.c. */
#ifndef OSSIFY_FAIR_MOMENTS_H
#define OSSIFY_FAIR_MOMENTS_H

#include "descent/at_hand.h"
#include "descent/fair.h"

/* Fills pass->moments, unless the plan is for some blocks only, and returns r'Sr. Residuals are those of the model. */
double fair_moments(const Pass *pass, const Fair *fair);

#endif
