/* unwrap.h - a map for a whole motion; see unwrap.c. */
#ifndef OSSIFY_UNWRAP_H
#define OSSIFY_UNWRAP_H

#include "core/call.h"

int unwrap_refuses(const ossify_request *request, ossify_info *info);
int64_t unwrap(Call *call, const ossify_poses *poses, const ossify_unwrapping *unwrapping,
               ossify_unwrapped *unwrapped);

#endif
