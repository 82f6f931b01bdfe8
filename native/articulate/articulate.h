/* articulate.h - the refit of a free rig about joints that hold; see articulate.c. */
#ifndef OSSIFY_ARTICULATE_H
#define OSSIFY_ARTICULATE_H

#include "core/call.h"

/* Says what bones that hang together cannot be; 1 then. */
int articulate_refuses(const ossify_request *request, ossify_info *info);
/* Arguments are checked; returns a status, < 0: rig and skeleton untouched. */
int64_t articulate(Call *call, const ossify_poses *poses, ossify_rig *rig, ossify_skeleton *skeleton);

#endif
