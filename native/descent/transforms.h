/* transforms.h - the bone step; see transforms.c. */
#ifndef OSSIFY_TRANSFORMS_H
#define OSSIFY_TRANSFORMS_H

#include "descent/pass.h"

/* Bones that share vertices with a bone: other[first[b]] to other[first[b + 1] - 1] */
typedef struct Sharing {
    int *first, *other;
} Sharing;

/* 0 when memory is out. */
int transforms_share(Arena *arena, const Model *model, const Moments *moments, Sharing *sharing);
/* One sweep over the rigid bones of a frame. */
void transforms_sweep(Model *model, const Moments *moments, Sharing sharing, int frame);
/* The same over flexible ones. */
void transforms_sweep_flexible(Model *model, const Moments *moments, Sharing sharing, int frame);
/* The bone step, Eq. 6-10, or the affine optimum. Returns 0 when the call must end. */
int transforms_update(Call *call, const Problem *problem, Model *model, Moments *moments, int flexible,
                      int sweeps);
/* The same until sweeps no longer lower a frame's error, at most `most` of them; square [f]: sum |x|^2. Returns
 * how many the slowest frame took, or -1 when the call must end. */
int transforms_converge(Call *call, const Problem *problem, Model *model, Moments *moments, int flexible,
                        int most, const double *square);

#endif
