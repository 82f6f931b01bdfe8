/* edit.h - one bone more, and what each is worth; see edit.c. */
#ifndef OSSIFY_EDIT_H
#define OSSIFY_EDIT_H

#include "core/call.h"

/* Say what they cannot work with. */
int edit_refuses_costs(const ossify_request *request, ossify_info *info);
int edit_refuses_place(const ossify_request *request, ossify_info *info);

/* costs [rig.bones]: by how much the mean squared distance rises without the bone; and then, the error of the rig
 * known, by how much its root does, in percent of the size. */
int64_t edit_bone_costs(Call *call, const ossify_poses *poses, const ossify_rig *rig, double *costs);
void edit_root_costs(const ossify_evaluation *evaluation, int64_t bones, double *costs);
/* One more bone at a vertex (-1: the worst place) or out of another (split; -1: none). */
int64_t edit_add_bone(Call *call, const ossify_poses *poses, ossify_rig *rig, int vertex, int split);

#endif
