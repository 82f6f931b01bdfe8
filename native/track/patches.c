/* patches.c - parts a mesh into patches of vertices that follow the same few bones, so that sums over bones are small
 * matrix products without many zeros.
 *
 * Vertices are sorted by their first bone, then by their second, else left in their order, and cut where a patch would
 * have too many vertices or bones. They are sorted window by window, so that what lies together in memory is still read
 * at about the same time. */
#include "track/patches.h"

#include <string.h>

/* What a vertex is sorted by: its `nth` bone that counts, 0 for none, else 1 more than its number. */
static int32_t key_of(const ossify_rig *rig, int64_t v, int nth) {
    for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
        if (patches_follows(rig, i) && nth-- == 0) {
            return rig->influence_bones[i] + 1;
        }
    }
    return 0;
}

/* Deals `count` vertices into `to` by their keys, those of equal keys in the order they come in. place [bones + 2] */
static void sort_by(const ossify_rig *rig, int nth, const int32_t *from, int count, int32_t *place,
                    int32_t *to) {
    memset(place, 0, ((size_t)rig->bones + 2) * sizeof *place);
    for (int i = 0; i < count; i++) {
        place[key_of(rig, from[i], nth) + 1]++;
    }
    for (int64_t b = 0; b <= rig->bones; b++) {
        place[b + 1] += place[b];
    }
    for (int i = 0; i < count; i++) {
        to[place[key_of(rig, from[i], nth)]++] = from[i];
    }
}

/* By the first bone, then by the second. */
static void sort_window(const ossify_rig *rig, int64_t begin, int count, int32_t *place, int32_t *to) {
    int32_t order[PATCH_WINDOW], half[PATCH_WINDOW];
    for (int i = 0; i < count; i++) {
        order[i] = (int32_t)begin + i;
    }
    sort_by(rig, 1, order, count, place, half);
    sort_by(rig, 0, half, count, place, to);
}

/* Adds the vertex's bones to the patch's, of which `seen` knows the last patch that had them; returns how many there
 * are then. Without `write` only counts. */
static int32_t join(const ossify_rig *rig, int64_t v, int64_t number, int write, int64_t *seen,
                    const Patch *patch, int32_t *bone) {
    int32_t bones = patch->bones;
    for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
        if (patches_follows(rig, i) && seen[rig->influence_bones[i]] != number) {
            if (write) {
                seen[rig->influence_bones[i]] = number;
                bone[patch->first_bone + bones] = rig->influence_bones[i];
            }
            bones++;
        }
    }
    return bones;
}

static void cut(const ossify_rig *rig, int64_t vertices, Patches *patches) {
    int64_t *seen = patches->seen;
    Patch patch = {0};
    patches->count = 0;
    for (int64_t b = 0; b < rig->bones; b++) {
        seen[b] = -1;
    }
    for (int64_t i = 0; i < vertices; i++) {
        const int64_t v = patches->vertex[i];
        const int32_t bones = join(rig, v, patches->count, 0, seen, &patch, patches->bone);
        if (patch.count == PATCH || (patch.count > 0 && bones > PATCH_BONES)) {
            patches->patch[patches->count++] = patch;
            patch = (Patch){.first = (int32_t)i, .first_bone = patch.first_bone + patch.bones};
        }
        patch.bones = join(rig, v, patches->count, 1, seen, &patch, patches->bone);
        patch.count++;
    }
    patches->patch[patches->count++] = patch;
}

int patches_take(Arena *arena, int64_t vertices, int64_t bones, int64_t influences, Patches *patches) {
    const size_t n = (size_t)vertices;
    patches->vertex = arena_take(arena, n, sizeof(int32_t));
    patches->bone = arena_take(arena, n * (size_t)influences, sizeof(int32_t));
    patches->patch = arena_take(arena, n, sizeof(Patch));
    patches->place = arena_take(arena, (size_t)bones + 2, sizeof *patches->place);
    patches->seen = arena_take(arena, (size_t)bones, sizeof *patches->seen);
    return !arena->failed;
}

void patches_make(const ossify_rig *rig, int64_t vertices, Patches *patches) {
    for (int64_t begin = 0; begin < vertices; begin += PATCH_WINDOW) {
        const int count = vertices - begin < PATCH_WINDOW ? (int)(vertices - begin) : PATCH_WINDOW;
        sort_window(rig, begin, count, patches->place, patches->vertex + begin);
    }
    cut(rig, vertices, patches);
}

void patches_weigh(const ossify_rig *rig, const Patches *patches, const Patch *patch, const double centre[3],
                   double scale, int *local, double *wp) {
    const int wide = 4 * patch->bones;
    for (int n = 0; n < patch->bones; n++) {
        local[patches->bone[patch->first_bone + n]] = 4 * n;
    }
    memset(wp, 0, (size_t)patch->count * (size_t)wide * sizeof *wp);
    for (int i = 0; i < patch->count; i++, wp += wide) {
        const int64_t v = patches->vertex[patch->first + i];
        const float *rest = rig->rest + 3 * v;
        const double p[3] = {((double)rest[0] - centre[0]) * scale, ((double)rest[1] - centre[1]) * scale,
                             ((double)rest[2] - centre[2]) * scale};
        for (int64_t k = v * rig->influences; k < (v + 1) * rig->influences; k++) {
            if (patches_follows(rig, k)) {
                const double w = (double)rig->influence_weights[k];
                double *to = wp + local[rig->influence_bones[k]];
                to[0] = w * p[0];
                to[1] = w * p[1];
                to[2] = w * p[2];
                to[3] = w;
            }
        }
    }
}

void patches_read(const ossify_poses *poses, const Patches *patches, const Patch *patch, int64_t frame,
                  const double centre[3], double *x) {
    const float *frames = poses->frames + 3 * frame * poses->vertex_count;
    const int32_t *vertex = patches->vertex + patch->first;
    const double c[3] = {centre[0], centre[1], centre[2]};
    for (int i = 0; i < patch->count; i++) {
        const float *from = frames + 3 * (size_t)vertex[i];
        for (int a = 0; a < 3; a++) {
            x[a * PATCH + i] = (double)from[a] - c[a];
        }
    }
}
