/* patches.h - vertices that follow the same few bones, put together; see patches.c. */
#ifndef OSSIFY_PATCHES_H
#define OSSIFY_PATCHES_H

#include "rooms.h"

enum { PATCH = 64 }; /* most vertices of one */

typedef struct Patch {
    int32_t first, count;      /* of Patches.vertex */
    int32_t first_bone, bones; /* of Patches.bone */
} Patch;

typedef struct Patches {
    int32_t *vertex; /* [v] patch by patch */
    int32_t *bone;   /* patch by patch */
    Patch *patch;    /* [count] */
    int64_t count;
    int most_bones; /* of a patch */
} Patches;

/* 0 when memory is out. */
int patches_make(Arena *arena, const ossify_rig *rig, int64_t vertices, Patches *patches);

/* 1 when an influence, of all vertices', counts. */
static inline int patches_follows(const ossify_rig *rig, int64_t i) {
    return rig->influence_bones[i] >= 0 && rig->influence_weights[i] > 0;
}

#endif
