/* track.h - transforms alone, for weights and a rest pose that are held; see track.c. */
#ifndef OSSIFY_TRACK_H
#define OSSIFY_TRACK_H

#include "rooms.h"

/* 1 when transforms are all that is left to solve. */
int track_is_all(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig);
/* Arguments are checked; returns a status, < 0: rig untouched. */
int64_t track(Call *call, const ossify_poses *poses, ossify_rig *rig);

/* settle.c: rigid bones, at most `most` iterations a frame, the sweeps that go first included; square [f]:
 * sum |x|^2; guess writes where the bones of a frame may start, NULL: they start where they are. Returns how many
 * the slowest frame took, or -1 when the call must end. */
int settle_rigid(Call *call, const Problem *problem, Model *model, Moments *moments, int most,
                 const double *square, PoolTask guess, void *guess_user);

#endif
