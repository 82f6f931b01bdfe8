/* track.h - transforms alone, for weights and a rest pose that are held; see track.c. */
#ifndef OSSIFY_TRACK_H
#define OSSIFY_TRACK_H

#include "core/call.h"

/* 1 when transforms are all that is left to solve. */
int track_is_all(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig);
/* Arguments are checked; returns a status, < 0: rig untouched. */
int64_t track(Call *call, const ossify_poses *poses, ossify_rig *rig);

#endif
