/* given.h - from a rig that was given; see given.c. */
#ifndef OSSIFY_GIVEN_H
#define OSSIFY_GIVEN_H

#include "solve/task.h"

/* Returns a status. A rig that is refitted never becomes worse: `untouched`
 * when it shall stay as it is. */
int64_t given_solve(Task *task, Model *model, int *untouched);

#endif
