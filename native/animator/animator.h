/* animator.h - from many free bones to the few that an animator would rig; see fuse.c. */
#ifndef OSSIFY_ANIMATOR_H
#define OSSIFY_ANIMATOR_H

#include "core/call.h"

int animator_refuses_fuse(const ossify_request *request, ossify_info *info);
/* Arguments are checked; returns a status. */
int64_t animator_fuse(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                      const ossify_fusion *fusion, ossify_groups *groups);

#endif
