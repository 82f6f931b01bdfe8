/* shared.c - one rig for several subjects: weights are shared, transforms belong to a frame, rest poses to a subject (Hasler
 * et al. 2010, sections 3.1 to 3.5): x[f] ~ sum_b w_b M[f][b] p~[s(f)].
 *
 * The paper clusters the relative motions of all subjects. Here bones are found as for one subject (solve/decompose.c),
 * twice: from the subject that moves most, whose frames are exact, and from all frames carried onto its body (carry.c),
 * which know parts that others move. From both the descent goes on over all frames with each subject's own rest,
 * transforms (turns.c), weights and, unless it is fixed, the rest (shares.c) in turns; the one of less error stays. From
 * weights that are given it goes on from there, and what is held stays: a refit. With all weights held and the rest
 * fixed, transforms alone are solved: new frames of known subjects. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/sentence.h"
#include "solve/decompose.h"
#include "subjects/carry.h"
#include "subjects/rounds.h"
#include "subjects/subjects.h"
#include "subjects/turns.h"
#include "track/track.h"

/* Bones are found anew without weights. */
static int bad_held(const ossify_request *request, ossify_info *info) {
    const ossify_rig *rig = request->rig;
    const int given = (rig->given & OSSIFY_GIVEN_WEIGHTS) != 0;
    if (!given && (rig->held_transforms || rig->held_rest)) {
        return BAD(info, "the rig holds transforms or its rest, but has no weights: several subjects are "
                         "refitted from weights; add OSSIFY_GIVEN_WEIGHTS, or hold nothing");
    }
    return 0;
}

static int holds_something(const ossify_rig *rig) {
    return rig->held_transforms || rig->held_vertices || rig->held_groups || rig->held_rest;
}

int subjects_refuses_sharing(const ossify_request *request, ossify_info *info) {
    if (call_rests(request->poses) == 1) {
        return 0;
    }
    if (request->settings->bone_kind != OSSIFY_RIGID) {
        return BAD(info,
                   "settings.bone_kind is %" PRId64 ": subjects share rigid bones; set it to OSSIFY_RIGID",
                   request->settings->bone_kind);
    }
    return bad_held(request, info);
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
    poses.subject_count = 1;
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

/* Bones and weights that are given, from where they stand. */
static int64_t refit(Union *all, const ossify_rig *rig) {
    all->people.bones = (int)rig->bones;
    all->people.held = holds_something(rig) ? rig : NULL;
    people_read_weights(rig, &all->people);
    people_read_transforms(rig, &all->people);
    call_stage(all->call, OSSIFY_STAGE_REFINE);
    all->rounds.weights = !track_is_all(all->poses, all->call->settings, rig);
    return descend(all) ? OSSIFY_CONVERGED : call_ended(all->call);
}

int64_t subjects_decompose(Call *call, const ossify_poses *poses, ossify_rig *rig) {
    const ossify_settings *settings = call->settings;
    Union all = {.call = call, .poses = poses, .rig = rig};
    const int given = (rig->given & OSSIFY_GIVEN_WEIGHTS) != 0, held = given && holds_something(rig);
    const PeopleBodies bodies = {(int)call_rests(poses), given ? rig->rest : poses->rest, poses->subject};
    const int capacity = (int)(given && rig->bones > settings->bones ? rig->bones : settings->bones);
    const int influences = (int)(held ? rig->influences : settings->influences);
    if (!people_make(call, poses, &bodies, influences, &all.people) || !take_union(&all, capacity)) {
        return call_ended(call);
    }
    const int64_t status = given ? refit(&all, rig) : find_bones(&all);
    if (status < 0) {
        return status;
    }
    take_best(&all);
    rig->bones = all.people.bones;
    people_write_transforms(&all.people, all.people.frames, rig);
    people_write_weights(&all.people, rig);
    if (settings->rest_mode != OSSIFY_REST_FIXED) {
        people_write_rests(&all.people, rig->rest);
    } else if (!given) {
        memcpy(rig->rest, poses->rest,
               3 * (size_t)(call_rests(poses) * poses->vertex_count) * sizeof *rig->rest);
    }
    return all.rounds.left_over ? OSSIFY_OUT_OF_ITERATIONS : OSSIFY_CONVERGED;
}
