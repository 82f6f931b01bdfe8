/* edit.h - one bone more, and what each is worth; see edit.c. */
#ifndef OSSIFY_EDIT_H
#define OSSIFY_EDIT_H

#include "core/call.h"

/* Arguments are checked; both return a status, < 0: nothing was written. */

/* costs [rig.bones]: by how much the mean squared distance rises without the bone. */
int64_t edit_bone_costs(Call *call, const ossify_poses *poses, const ossify_rig *rig, double *costs);
/* One more bone at a vertex (-1: the worst place) or out of another (split; -1: none). */
int64_t edit_add_bone(Call *call, const ossify_poses *poses, ossify_rig *rig, int vertex, int split);

#endif
