/* place_joints.c - a skeleton put into bodies that were never seen: from several bodies whose joints are known a
 * sparse regressor is learnt for every joint (regressor.c), from one alone the surface around a joint carries it along
 * (local_frame.c). All bodies have the same vertices in the same order. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/sentence.h"
#include "subjects/local_frame.h"
#include "subjects/regressor.h"
#include "subjects/subjects.h"

#define LARGEST_JOINT 1e30 /* as positions may be */

static int bad_bodies(ossify_info *info, const ossify_request *request) {
    const ossify_bodies *bodies = request->options;
    const ossify_placed *placed = request->result;
    return sentence_bad_range(info, "bodies.known_count", bodies->known_count, 1, OSSIFY_MAX_SUBJECTS) ||
           sentence_bad_range(info, "bodies.count", bodies->count, 1, OSSIFY_MAX_SUBJECTS) ||
           sentence_bad_array(info, "bodies.parents", bodies->parents, sizeof(int32_t), "[bones]") ||
           sentence_bad_array(info, "bodies.known", bodies->known, sizeof(float),
                              "[known_count][vertex_count][3]") ||
           sentence_bad_array(info, "bodies.joints", bodies->joints, sizeof(double),
                              "[known_count][bones][3]") ||
           sentence_bad_array(info, "bodies.rest", bodies->rest, sizeof(float), "[count][vertex_count][3]") ||
           sentence_bad_array(info, "placed.joints", placed->joints, sizeof(double), "[count][bones][3]") ||
           sentence_bad_array(info, "placed.vertices", placed->vertices, sizeof(int32_t),
                              "[bones][OSSIFY_JOINT_VERTICES]") ||
           sentence_bad_array(info, "placed.shares", placed->shares, sizeof(double),
                              "[bones][OSSIFY_JOINT_VERTICES]");
}

static int bad_parents(ossify_info *info, int64_t bones, const int32_t *parents) {
    for (int64_t b = 0; b < bones; b++) {
        if (parents[b] < -1 || parents[b] >= bones || parents[b] == b) {
            return BAD(info,
                       "bodies.parents[%" PRId64 "] is %" PRId32
                       ": it must be -1 (no parent) or another bone, 0..%" PRId64,
                       b, parents[b], bones - 1);
        }
    }
    return 0;
}

int subjects_refuses_bodies(const ossify_request *request, ossify_info *info) {
    const ossify_bodies *bodies = request->options;
    return bad_bodies(info, request) || bad_parents(info, request->rig->bones, bodies->parents);
}

/* The first number that is none, said; 1 then. */
static int bad_positions(ossify_info *info, const char *name, const float *x, int64_t bodies,
                         int64_t vertices) {
    for (int64_t i = 0; i < 3 * bodies * vertices; i++) {
        if (!(fabs((double)x[i]) <= LARGEST_JOINT)) {
            return BAD(info,
                       "bodies.%s[%" PRId64 "][%" PRId64 "][%" PRId64
                       "] is %s: every position must be finite and within %g; repair the mesh",
                       name, i / (3 * vertices), i / 3 % vertices, i % 3,
                       sentence_number((double)x[i]).letters, LARGEST_JOINT);
        }
    }
    return 0;
}

static int bad_joints(ossify_info *info, const ossify_bodies *bodies, int64_t bones) {
    for (int64_t i = 0; i < 3 * bodies->known_count * bones; i++) {
        if (!(fabs(bodies->joints[i]) <= LARGEST_JOINT)) {
            return BAD(info,
                       "bodies.joints[%" PRId64 "][%" PRId64 "][%" PRId64
                       "] is %s: every joint must be finite and within %g",
                       i / (3 * bones), i / 3 % bones, i % 3, sentence_number(bodies->joints[i]).letters,
                       LARGEST_JOINT);
        }
    }
    return 0;
}

typedef struct Placing {
    Call *call;
    const ossify_rig *rig;
    const ossify_bodies *bodies;
    int64_t vertices, bones;
    const double *area;
    const double *unit;     /* [known_count] of the known bodies */
    const double *new_unit; /* [count] */
    Around *around;         /* [workers] */
    RegressorRoom *room;    /* [workers] */
    double *joints;         /* [count][bones][3] */
    Regressor *regressor;   /* [bones] */
} Placing;

static int take_workers(Placing *placing, int workers) {
    Arena *arena = &placing->call->arena;
    const ossify_bodies *bodies = placing->bodies;
    placing->around = arena_take(arena, (size_t)workers, sizeof(Around));
    placing->room = arena_take(arena, (size_t)workers, sizeof(RegressorRoom));
    for (int i = 0; i < workers && !arena->failed; i++) {
        Around *around = &placing->around[i];
        if (!around_take(arena, placing->vertices, bodies->known_count, placing->area, around)) {
            return 0;
        }
        for (int64_t s = 0; s < bodies->known_count; s++) {
            around->rest[s] = bodies->known + 3 * s * placing->vertices;
            around->unit[s] = placing->unit[s];
        }
        regressor_take(arena, placing->vertices, &placing->room[i]);
    }
    return !arena->failed;
}

static void place_bone(void *user, int b, int worker) {
    const Placing *placing = user;
    const ossify_bodies *bodies = placing->bodies;
    Around *around = &placing->around[worker];
    if ((worker == 0 && call_poll(placing->call, (double)b / (double)placing->bones)) ||
        atomic_load(&placing->call->cancelled)) {
        return;
    }
    for (int64_t s = 0; s < bodies->known_count; s++) {
        around->joints[s] = bodies->joints + 3 * (s * placing->bones + b);
    }
    around_follow(placing->rig, b, bodies->parents[b], around);
    if (bodies->known_count > 1) {
        regressor_learn(around, &placing->room[worker], &placing->regressor[b]);
    }
    for (int64_t n = 0; n < bodies->count; n++) {
        double *joint = placing->joints + 3 * (n * placing->bones + b);
        const float *rest = bodies->rest + 3 * n * placing->vertices;
        if (bodies->known_count > 1) {
            regressor_place(&placing->regressor[b], rest, joint);
        } else {
            local_frame_place(around, rest, placing->new_unit[n], joint);
        }
    }
}

/* Bodies of sizes that do not go together have no answer. */
static int found_all(const Placing *placing) {
    for (int64_t i = 0; i < 3 * placing->bodies->count * placing->bones; i++) {
        if (!(fabs(placing->joints[i]) <= LARGEST_JOINT)) {
            sentence_refuse(
                placing->call->info, OSSIFY_NO_ANSWER,
                "no answer was found: the joint of bone %" PRId64 " in bodies.rest[%" PRId64
                "] came out nowhere; scale the bodies to a size near 1 and leave out what is far off",
                i / 3 % placing->bones, i / 3 / placing->bones);
            return 0;
        }
    }
    return 1;
}

static void write_placed(const Placing *placing, const ossify_placed *placed) {
    const int most = OSSIFY_JOINT_VERTICES;
    memcpy(placed->joints, placing->joints,
           3 * (size_t)(placing->bodies->count * placing->bones) * sizeof(double));
    for (int64_t b = 0; b < placing->bones; b++) {
        const Regressor *regressor = &placing->regressor[b];
        for (int i = 0; i < most; i++) {
            placed->vertices[b * most + i] = i < regressor->count ? regressor->vertex[i] : -1;
            placed->shares[b * most + i] = i < regressor->count ? regressor->share[i] : 0;
        }
    }
}

int64_t subjects_place_joints(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                              const ossify_bodies *bodies, const ossify_placed *placed) {
    Arena *arena = &call->arena;
    const int64_t vertices = poses->vertex_count, bones = rig->bones;
    double *area = arena_take(arena, (size_t)vertices, sizeof *area);
    double *unit = arena_take(arena, (size_t)(bodies->known_count + bodies->count), sizeof *unit);
    double *joints = arena_take(arena, 3 * (size_t)(bodies->count * bones), sizeof *joints);
    Regressor *regressor = arena_take(arena, (size_t)bones, sizeof *regressor);
    Placing placing = {.call = call,
                       .rig = rig,
                       .bodies = bodies,
                       .vertices = vertices,
                       .bones = bones,
                       .area = area,
                       .unit = unit,
                       .joints = joints,
                       .regressor = regressor};
    call_stage(call, OSSIFY_STAGE_SKELETON);
    if (arena->failed) {
        return call_ended(call);
    }
    if (bad_positions(call->info, "known", bodies->known, bodies->known_count, vertices) ||
        bad_positions(call->info, "rest", bodies->rest, bodies->count, vertices) ||
        bad_joints(call->info, bodies, bones)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    placing.new_unit = unit + bodies->known_count;
    for (int64_t s = 0; s < bodies->known_count + bodies->count; s++) {
        const int64_t n = s - bodies->known_count;
        unit[s] =
            around_unit(n < 0 ? bodies->known + 3 * s * vertices : bodies->rest + 3 * n * vertices, vertices);
    }
    around_areas(poses, bodies->known, area);
    if (!take_workers(&placing, parallel_workers(call->pool))) {
        return call_ended(call);
    }
    parallel_run(call->pool, (int)bones, place_bone, &placing);
    if (atomic_load(&call->cancelled)) {
        return OSSIFY_CANCELLED;
    }
    if (!found_all(&placing)) {
        return OSSIFY_NO_ANSWER;
    }
    write_placed(&placing, placed);
    return OSSIFY_CONVERGED;
}
