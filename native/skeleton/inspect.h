/* inspect.h - where the bones of a skeleton go; see inspect.c. */
#ifndef OSSIFY_INSPECT_H
#define OSSIFY_INSPECT_H

#include "core/call.h"

int inspect_refuses(const ossify_request *request, ossify_info *info);
/* Arguments are checked; returns a status. */
int64_t inspect(Call *call, const ossify_poses *poses, const ossify_rig *rig, const ossify_skeleton *skeleton,
                ossify_conduct *conduct);

#endif
