/* patches.h - vertices that follow the same few bones, put together; see patches.c. */
#ifndef OSSIFY_PATCHES_H
#define OSSIFY_PATCHES_H

#include "base/arena.h"

enum {
    PATCH = 64,                         /* most vertices of one */
    PATCH_WINDOW = 1024,                /* vertices among which a patch finds its own */
    PATCH_BONES = OSSIFY_MAX_INFLUENCES /* and most bones: a vertex alone has no more */
};

typedef struct Patch {
    int32_t first, count;      /* of Patches.vertex */
    int32_t first_bone, bones; /* of Patches.bone */
} Patch;

typedef struct Patches {
    int32_t *vertex; /* [v] patch by patch */
    int32_t *bone;   /* patch by patch */
    Patch *patch;    /* [count] */
    int64_t count;
    int32_t *place; /* [b + 2], for sorting */
    int64_t *seen;  /* [b], for cutting */
} Patches;

/* For rigs of at most so many bones and influences; 0 when memory is out. */
int patches_take(Arena *arena, int64_t vertices, int64_t bones, int64_t influences, Patches *patches);
void patches_make(const ossify_rig *rig, int64_t vertices, Patches *patches);
/* wp [patch's vertices][its bones][4] = w p~ with p~ = (scale (rest - centre), 1); local [b] is scratch. */
void patches_weigh(const ossify_rig *rig, const Patches *patches, const Patch *patch, const double centre[3],
                   double scale, int *local, double *wp);
/* x [3][PATCH]: the patch's vertices in a frame, less `centre`. */
void patches_read(const ossify_poses *poses, const Patches *patches, const Patch *patch, int64_t frame,
                  const double centre[3], double *x);

/* 1 when an influence, of all vertices', counts. */
static inline int patches_follows(const ossify_rig *rig, int64_t i) {
    return rig->influence_bones[i] >= 0 && rig->influence_weights[i] > 0;
}

#endif
