/* bridge.h - holds the thread by which a region hangs together; see bridge.c. */
#ifndef OSSIFY_BRIDGE_H
#define OSSIFY_BRIDGE_H

#include "core/model.h"

/* Marks in held [v] the vertices whose weights lead from one piece of what a bone owns to another; returns how many
 * were not marked before. */
int bridge_hold(Call *call, const Problem *problem, const Model *model, uint8_t *held);

#endif
