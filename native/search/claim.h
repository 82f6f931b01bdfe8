/* claim.h - places for bones that found none; see claim.c. */
#ifndef OSSIFY_CLAIM_H
#define OSSIFY_CLAIM_H

#include "descent/descent.h"

/* Adds bones, each on a patch of its own, until there are `bones`, or until the motion is explained.
 * Every bone at hand must have a vertex. Returns 0 when the call must end. */
int claim_places(Descent *descent, int bones);

#endif
