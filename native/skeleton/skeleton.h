/* skeleton.h - joins the bones of a rig to a skeleton; see skeleton.c. */
#ifndef OSSIFY_SKELETON_H
#define OSSIFY_SKELETON_H

#include "core/call.h"

/* Arguments are checked; returns a status. */
int64_t skeleton_connect(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                         ossify_skeleton *skeleton);

#endif
