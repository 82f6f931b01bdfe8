/* animation_space.h - a rest position for every bone of a vertex; see animation_space.c. */
#ifndef OSSIFY_ANIMATION_SPACE_H
#define OSSIFY_ANIMATION_SPACE_H

#include "core/call.h"

#define FARTHEST_JOINT 1e15 /* coordinate of a joint */

/* 1 when something was said. */
int animation_space_refuses(const ossify_request *request, ossify_info *info);
/* Arguments are checked. Writes space, and the transforms of the rig; returns a status. */
int64_t animation_space_fit(Call *call, const ossify_poses *poses, ossify_rig *rig,
                            const ossify_space_fit *wish, ossify_space *space);

#endif
