/* sway.h - whether a bone swings by itself; see sway.c. */
#ifndef OSSIFY_SWAY_H
#define OSSIFY_SWAY_H

#include "core/call.h"

/* sway [bones], how little each bone swings by itself, 0 to 1. 0 when the call must end. */
int sway_measure(Call *call, const ossify_rig *rig, int frames, double *sway);

#endif
