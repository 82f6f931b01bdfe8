/* hinged.c - several subjects articulated: each by itself about joints of its own, its frames and its rest alone, while
 * weights and rests, which are shared or solved already, are held (articulate/articulate.c). The plane of a mirror is that
 * of the first body, and the others stand where they like: their joints follow their own motion alone. */
#include <string.h>

#include "articulate/articulate.h"
#include "subjects/subjects.h"

typedef struct Single {
    ossify_poses poses;
    ossify_rig rig;
    ossify_skeleton skeleton;
    float *frames;      /* [f][v][3] room for all */
    double *transforms; /* [f][bones][3][4] */
    uint8_t *held;      /* [v] */
} Single;

static int take(Call *call, const ossify_poses *poses, const ossify_rig *rig, Single *single) {
    Arena *arena = &call->arena;
    const size_t f = (size_t)poses->frame_count, v = (size_t)poses->vertex_count;
    single->frames = arena_take(arena, 3 * f * v, sizeof(float));
    single->transforms = arena_take(arena, 12 * f * (size_t)rig->bone_capacity, sizeof(double));
    single->held = arena_take(arena, v, 1);
    single->rig = *rig;
    single->rig.influence_bones = arena_take(arena, v * (size_t)rig->influences, sizeof(int32_t));
    single->rig.influence_weights = arena_take(arena, v * (size_t)rig->influences, sizeof(float));
    if (arena->failed) {
        return 0;
    }
    memset(single->held, 1, v);
    return 1;
}

/* Its frames in a row; how many there are. */
static int64_t gather(const ossify_poses *poses, const ossify_rig *rig, int64_t s, Single *single) {
    const int64_t numbers = 3 * poses->vertex_count, wide = 12 * rig->bone_capacity;
    int64_t count = 0;
    for (int64_t f = 0; f < poses->frame_count; f++) {
        if (poses->subject[f] == s) {
            memcpy(single->frames + count * numbers, poses->frames + f * numbers,
                   (size_t)numbers * sizeof(float));
            memcpy(single->transforms + count++ * wide, rig->transforms + f * wide,
                   (size_t)wide * sizeof(double));
        }
    }
    return count;
}

static void scatter(const ossify_poses *poses, const Single *single, int64_t s, ossify_rig *rig) {
    const int64_t wide = 12 * rig->bone_capacity;
    int64_t count = 0;
    for (int64_t f = 0; f < poses->frame_count; f++) {
        if (poses->subject[f] == s) {
            memcpy(rig->transforms + f * wide, single->transforms + count++ * wide,
                   (size_t)wide * sizeof(double));
        }
    }
}

static void make_single(const ossify_poses *poses, const ossify_rig *rig, const ossify_skeleton *skeleton,
                        int64_t s, int64_t frames, Single *single) {
    const size_t slots = (size_t)(poses->vertex_count * rig->influences);
    float *rest = rig->rest + 3 * s * poses->vertex_count;
    single->poses = *poses;
    single->poses.subject_count = 0;
    single->poses.frame_count = frames;
    single->poses.frames = single->frames;
    single->poses.rest = rest;
    single->rig.transforms = single->transforms;
    single->rig.rest = rest;
    single->rig.held_vertices = single->held;
    memcpy(single->rig.influence_bones, rig->influence_bones, slots * sizeof(int32_t));
    memcpy(single->rig.influence_weights, rig->influence_weights, slots * sizeof(float));
    single->skeleton = *skeleton;
    single->skeleton.symmetry = OSSIFY_SYMMETRY_NONE;
    single->skeleton.joints = skeleton->joints + 3 * s * skeleton->bone_capacity;
}

/* Kinds, axes, angles and drifts are those of the last subject that moves. */
int64_t subjects_articulate(Call *call, const ossify_poses *poses, ossify_rig *rig,
                            ossify_skeleton *skeleton) {
    const ossify_settings *settings = call->settings;
    ossify_settings fixed = *settings;
    Single single = {0};
    int64_t status = OSSIFY_CONVERGED;
    fixed.rest_mode = OSSIFY_REST_FIXED;
    if (!take(call, poses, rig, &single)) {
        return call_ended(call);
    }
    call->settings = &fixed;
    for (int64_t s = 0; s < call_rests(poses) && status >= 0; s++) {
        const int64_t frames = gather(poses, rig, s, &single);
        if (frames == 0) {
            continue;
        }
        ArenaPiece *mark = arena_mark(&call->arena);
        make_single(poses, rig, skeleton, s, frames, &single);
        status = articulate(call, &single.poses, &single.rig, &single.skeleton);
        arena_return(&call->arena, mark);
        scatter(poses, &single, s, rig);
    }
    call->settings = settings;
    return status;
}
