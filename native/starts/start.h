/* start.h - the first bones, by the way that is asked for; see start.c. */
#ifndef OSSIFY_START_H
#define OSSIFY_START_H

#include "core/model.h"

/* `bones` first bones by `start` (OSSIFY_START_GROWN and on), every vertex on one of them; fewer only when fewer
 * explain all there is. Returns 0 when the call must end. */
int start_bones(Call *call, const Problem *problem, int start, int bones, Model *model);

#endif
