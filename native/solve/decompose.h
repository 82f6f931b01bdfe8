/* decompose.h - poses to bones, weights and transforms; see decompose.c. */
#ifndef OSSIFY_DECOMPOSE_H
#define OSSIFY_DECOMPOSE_H

#include "core/call.h"

/* Arguments are checked; fills rig and info except the measured error.
 * Returns a status; < 0: rig untouched. */
int64_t decompose(Call *call, const ossify_poses *poses, ossify_rig *rig);

#endif
