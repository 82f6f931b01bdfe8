/* unite.c - one rig for several subjects: weights and tree are shared, transforms belong to a frame, rest poses and joints
 * to a subject (Hasler et al. 2010, sections 3.1 to 3.5).
 *
 * The paper clusters the relative motions of all subjects. Here bones are found as for one subject (solve/decompose.c),
 * twice: from the subject that moves most, whose frames are exact, and from all frames carried onto its body (carry.c),
 * which know parts that others move. From both the descent goes on over all frames with each subject's own rest,
 * transforms (turns.c), weights and, unless it is fixed, the rest (shares.c) in turns; the one of less error stays. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/sentence.h"
#include "math/sphere.h"
#include "solve/decompose.h"
#include "subjects/carry.h"
#include "subjects/joined.h"
#include "subjects/rounds.h"
#include "subjects/subjects.h"
#include "subjects/turns.h"

#define LARGEST_REST 1e30 /* as positions may be */

static int bad_arrays(const ossify_request *request, ossify_info *info) {
    const ossify_subjects *subjects = request->options;
    const ossify_united *united = request->result;
    return sentence_bad_range(info, "subjects.count", subjects->count, 1, OSSIFY_MAX_SUBJECTS) ||
           sentence_bad_range(info, "subjects.joined", subjects->joined, 0, 1) ||
           sentence_bad_array(info, "subjects.rest", subjects->rest, sizeof(float),
                              "[count][vertex_count][3]") ||
           sentence_bad_array(info, "subjects.subject", subjects->subject, sizeof(int32_t),
                              "[frame_count]") ||
           sentence_bad_array(info, "united.rest", united->rest, sizeof(float), "[count][vertex_count][3]") ||
           (subjects->joined && (sentence_bad_array(info, "united.parents", united->parents, sizeof(int32_t),
                                                    "[bone_capacity]") ||
                                 sentence_bad_array(info, "united.joints", united->joints, sizeof(double),
                                                    "[count][bone_capacity][3]")));
}

static int bad_subjects(const ossify_request *request, ossify_info *info) {
    const ossify_subjects *subjects = request->options;
    for (int64_t f = 0; f < request->poses->frame_count; f++) {
        if (subjects->subject[f] < 0 || subjects->subject[f] >= subjects->count) {
            return BAD(info,
                       "subjects.subject[%" PRId64 "] is %" PRId32 ": with %" PRId64
                       " subjects it must be 0..%" PRId64,
                       f, subjects->subject[f], subjects->count, subjects->count - 1);
        }
    }
    return 0;
}

int subjects_refuses_subjects(const ossify_request *request, ossify_info *info) {
    const ossify_rig *rig = request->rig;
    if (request->settings->bone_kind != OSSIFY_RIGID) {
        return BAD(info,
                   "settings.bone_kind is %" PRId64 ": subjects share rigid bones; set it to OSSIFY_RIGID",
                   request->settings->bone_kind);
    }
    if (rig->held_transforms || rig->held_vertices || rig->held_groups || rig->held_rest) {
        return BAD(info,
                   "the rig holds something: nothing can be held for several subjects; set what is held "
                   "to NULL");
    }
    return bad_arrays(request, info) || bad_subjects(request, info);
}

static int bad_rest(ossify_info *info, const ossify_subjects *subjects, int64_t vertices) {
    for (int64_t i = 0; i < 3 * subjects->count * vertices; i++) {
        if (!(fabs((double)subjects->rest[i]) <= LARGEST_REST)) {
            return BAD(info,
                       "subjects.rest[%" PRId64 "][%" PRId64 "][%" PRId64
                       "] is %s: every position must be finite and within %g; repair the mesh",
                       i / (3 * vertices), i / 3 % vertices, i % 3,
                       sentence_number((double)subjects->rest[i]).letters, LARGEST_REST);
        }
    }
    return 0;
}

/* All that is solved. */
typedef struct Kept {
    int bones;
    double error;
    int *bone;
    double *weight, *transform, *rest;
} Kept;

typedef struct Union {
    Call *call;
    const ossify_poses *poses;
    const ossify_rig *rig;
    People people;
    Rounds rounds;
    Kept best;
    float *frames; /* [f][v][3] of a start */
    float *rest;   /* [v][3] likewise */
} Union;

static int take_union(Union *all, int capacity) {
    Arena *arena = &all->call->arena;
    People *people = &all->people;
    const size_t v = (size_t)people->vertices, slots = v * (size_t)people->influences;
    const size_t moves = 12 * (size_t)people->frames * (size_t)capacity;
    if (!people_take_bones(people, capacity)) {
        return 0;
    }
    all->best = (Kept){.error = INFINITY,
                       .bone = arena_take(arena, slots, sizeof(int)),
                       .weight = arena_take(arena, slots, sizeof(double)),
                       .transform = arena_take(arena, moves, sizeof(double)),
                       .rest = arena_take(arena, 3 * v * (size_t)people->subjects, sizeof(double))};
    all->frames = arena_take(arena, 3 * v * (size_t)people->frames, sizeof(float));
    all->rest = arena_take(arena, 3 * v, sizeof(float));
    return rounds_take(people, &all->rounds);
}

static void keep_best(Union *all) {
    const People *people = &all->people;
    const size_t slots = (size_t)people->vertices * (size_t)people->influences;
    const double error = people_error(people);
    if (!(error < all->best.error)) {
        return;
    }
    all->best.error = error;
    all->best.bones = people->bones;
    memcpy(all->best.bone, people->bone, slots * sizeof(int));
    memcpy(all->best.weight, people->weight, slots * sizeof(double));
    memcpy(all->best.transform, people->transform,
           12 * (size_t)people->frames * (size_t)people->bones * sizeof(double));
    memcpy(all->best.rest, people->rest,
           3 * (size_t)people->vertices * (size_t)people->subjects * sizeof(double));
}

/* From the weights at hand; 0 when the call must end. */
static int descend(Union *all) {
    if (!rounds_descend(&all->rounds)) {
        return 0;
    }
    keep_best(all);
    return 1;
}

/* Bones of the frames at hand, as of one body. */
static int64_t start_from(Union *all, int frames) {
    Arena *arena = &all->call->arena;
    People *people = &all->people;
    const ossify_settings *settings = all->call->settings;
    const size_t v = (size_t)people->vertices, k = (size_t)settings->influences;
    ArenaPiece *mark = arena_mark(arena);
    ossify_poses poses = *all->poses;
    ossify_rig rig = {
        .struct_size = sizeof rig, .bone_capacity = settings->bones, .influences = settings->influences};
    poses.rest = all->rest;
    poses.frames = all->frames;
    poses.frame_count = frames;
    rig.transforms = arena_take(arena, 12 * (size_t)frames * (size_t)settings->bones, sizeof(double));
    rig.influence_bones = arena_take(arena, v * k, sizeof(int32_t));
    rig.influence_weights = arena_take(arena, v * k, sizeof(float));
    rig.rest = arena_take(arena, 3 * v, sizeof(float));
    const int64_t status = arena->failed ? OSSIFY_OUT_OF_MEMORY : decompose(all->call, &poses, &rig);
    if (status >= 0) {
        people_read_weights(&rig, people);
    }
    arena_return(arena, mark);
    call_stage(all->call, OSSIFY_STAGE_REFINE);
    return status < 0 ? status : descend(all) ? OSSIFY_CONVERGED : call_ended(all->call);
}

static int gather_frames(Union *all, int subject) {
    const People *people = &all->people;
    const size_t numbers = 3 * (size_t)people->vertices;
    int count = 0;
    for (int f = 0; f < people->frames; f++) {
        if (people->subject[f] == subject) {
            memcpy(all->frames + (size_t)count++ * numbers, people->x + (size_t)f * numbers,
                   numbers * sizeof(float));
        }
    }
    return count;
}

static int64_t find_bones(Union *all) {
    const People *people = &all->people;
    const size_t numbers = 3 * (size_t)people->vertices;
    const int richest = carry_richest(people);
    for (size_t i = 0; i < numbers; i++) {
        all->rest[i] = (float)people->given[(size_t)richest * numbers + i];
    }
    const int64_t status = start_from(all, gather_frames(all, richest));
    if (status < 0 || people->subjects == 1) {
        return status;
    }
    carry_frames(people, richest, all->frames);
    return atomic_load(&all->call->cancelled) ? OSSIFY_CANCELLED : start_from(all, people->frames);
}

static void take_best(Union *all) {
    People *people = &all->people;
    people->bones = all->best.bones;
    people->bone = all->best.bone;
    people->weight = all->best.weight;
    people->transform = all->best.transform;
    people->rest = all->best.rest;
}

/* By each subject's own size. */
static void tell(const People *people, const ossify_subjects *subjects, ossify_info *info) {
    const double n = (double)people->vertices * people->frames;
    double squares = 0;
    for (int s = 0; s < people->subjects; s++) {
        const float *rest = subjects->rest + 3 * (int64_t)s * people->vertices;
        const double radius = sphere_smallest(rest, people->vertices).radius * people->unit[s];
        for (int f = 0; f < people->frames; f++) {
            squares += people->subject[f] == s ? people->error[f] / (radius > 0 ? radius * radius : 1) : 0;
        }
    }
    info->bones = people->bones;
    info->rms_percent = 100 * sqrt(people_error(people) / n);
    info->erms = 1000 * sqrt(squares / (3 * n));
}

static int64_t join(Union *all, const ossify_subjects *subjects, const ossify_rig *rig, float *rest,
                    Joining *joining) {
    Arena *arena = &all->call->arena;
    const size_t capacity = (size_t)rig->bone_capacity;
    *joining = (Joining){.poses = all->poses,
                         .rig = rig,
                         .subject = subjects->subject,
                         .subjects = (int)subjects->count,
                         .rest = rest,
                         .root = -1,
                         .parents = arena_take(arena, capacity, sizeof(int32_t)),
                         .joints = arena_take(arena, 3 * capacity * (size_t)subjects->count, sizeof(double))};
    if (arena->failed) {
        return OSSIFY_OUT_OF_MEMORY;
    }
    call_stage(all->call, OSSIFY_STAGE_SKELETON);
    return subjects->joined ? joined_find(all->call, joining) : OSSIFY_CONVERGED;
}

static void write_united(const Joining *joining, const ossify_subjects *subjects, ossify_united *united) {
    const size_t capacity = (size_t)joining->rig->bone_capacity, bones = (size_t)joining->rig->bones;
    const size_t count = (size_t)subjects->count;
    memcpy(united->rest, joining->rest, 3 * count * (size_t)joining->poses->vertex_count * sizeof(float));
    united->root = joining->root;
    if (subjects->joined) {
        memcpy(united->parents, joining->parents, bones * sizeof(int32_t));
        memcpy(united->joints, joining->joints, 3 * count * capacity * sizeof(double));
    }
}

int64_t subjects_unite(Call *call, const ossify_poses *poses, ossify_rig *rig,
                       const ossify_subjects *subjects, ossify_united *united) {
    const ossify_settings *settings = call->settings;
    Union all = {.call = call, .poses = poses, .rig = rig};
    const PeopleBodies bodies = {(int)subjects->count, subjects->rest, subjects->subject};
    Joining joining;
    const int given = (rig->given & OSSIFY_GIVEN_WEIGHTS) != 0;
    const int capacity = (int)(given && rig->bones > settings->bones ? rig->bones : settings->bones);
    float *rest = arena_take(&call->arena, 3 * (size_t)(subjects->count * poses->vertex_count), sizeof *rest);
    if (bad_rest(call->info, subjects, poses->vertex_count)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    if (rest == NULL || !people_make(call, poses, &bodies, (int)settings->influences, &all.people) ||
        !take_union(&all, capacity)) {
        return call_ended(call);
    }
    if (given) {
        people_read_weights(rig, &all.people);
        call_stage(call, OSSIFY_STAGE_REFINE);
    }
    int64_t status = !given ? find_bones(&all) : descend(&all) ? OSSIFY_CONVERGED : call_ended(call);
    if (status < 0) {
        return status;
    }
    take_best(&all);
    turns_update(&all.people, all.rounds.room, 0, 0);
    rig->bones = all.people.bones;
    people_write_transforms(&all.people, all.people.frames, rig);
    people_write_weights(&all.people, rig);
    if (settings->rest_mode == OSSIFY_REST_FIXED) {
        memcpy(rest, subjects->rest, 3 * (size_t)(subjects->count * poses->vertex_count) * sizeof *rest);
    } else {
        people_write_rests(&all.people, rest);
    }
    memcpy(rig->rest, rest, 3 * (size_t)poses->vertex_count * sizeof *rest);
    status = join(&all, subjects, rig, rest, &joining);
    if (status < 0) {
        return status;
    }
    tell(&all.people, subjects, call->info);
    write_united(&joining, subjects, united);
    return all.rounds.left_over ? OSSIFY_OUT_OF_ITERATIONS : OSSIFY_CONVERGED;
}
