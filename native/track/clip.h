/* clip.h - the rigid bones of all frames of a clip; see clip.c. */
#ifndef OSSIFY_CLIP_H
#define OSSIFY_CLIP_H

#include "core/model.h"
#include "descent/pass.h"

/* At most `most` iterations a frame, the sweeps that go first included; square [f]:
 * sum |x|^2; guess writes where the bones of a frame may start, NULL: they start where they are. Returns how many
 * the slowest frame took, or -1 when the call must end. */
int clip_solve(Call *call, const Problem *problem, Model *model, Moments *moments, int most,
               const double *square, PoolTask guess, void *guess_user);

#endif
