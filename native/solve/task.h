/* task.h - what a decomposition is made of: see task.c. */
#ifndef OSSIFY_TASK_H
#define OSSIFY_TASK_H

#include "core/model.h"
#include "descent/descent.h"
#include "search/effort.h"

/* One call of decompose: what does not change from count to count. */
typedef struct Task {
    Call *call;
    const ossify_poses *poses;
    ossify_rig *rig;
    Problem whole;
    Placement placement;
} Task;

/* What the quality asked for allows; by itself, and with the other settings. */
const Effort *task_effort_of(int64_t quality);
const Effort *task_effort(const ossify_settings *settings);
/* The progress that is told goes from one to the other. */
void task_share(Call *call, double from, double to);
/* The status that a descent's end makes. */
int64_t task_end(const Task *task, DescentEnd how, double enough, const Model *model);
/* All vertices, all frames; `bones`: how many there shall be, 0: as given; `expected`: the squared error
 * to hope for, or 0. Returns a status. */
int64_t task_refine(Task *task, const Effort *effort, int bones, double expected, Model *model);
/* From nothing to a model of `bones` bones; returns a status. */
int64_t task_solve_count(Task *task, int bones, const Effort *effort, Model *model);

#endif
