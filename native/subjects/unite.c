/* unite.c - one rig for several subjects (shared.c), joined to one tree with joints of each (joined.c), in one call: the
 * subjects stand beside the poses, which then know of one alone. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/evaluate.h"
#include "core/sentence.h"
#include "subjects/subjects.h"

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

/* A skeleton with joints of every subject; 0 when memory is out. */
static int take_skeleton(Arena *arena, int64_t subjects, int64_t capacity, ossify_skeleton *skeleton) {
    const size_t b = (size_t)capacity;
    *skeleton = (ossify_skeleton){.struct_size = sizeof *skeleton,
                                  .bone_capacity = capacity,
                                  .root = -1,
                                  .parents = arena_take(arena, b, sizeof(int32_t)),
                                  .joint_kinds = arena_take(arena, b, sizeof(int32_t)),
                                  .mirrors = arena_take(arena, b, sizeof(int32_t)),
                                  .joints = arena_take(arena, 3 * b * (size_t)subjects, sizeof(double)),
                                  .axes = arena_take(arena, 3 * b, sizeof(double)),
                                  .angles = arena_take(arena, b, sizeof(double)),
                                  .drifts = arena_take(arena, b, sizeof(double))};
    return !arena->failed;
}

static int64_t tell(Call *call, Measure *measure, const ossify_poses *poses, const ossify_rig *rig) {
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    call_stage(call, OSSIFY_STAGE_FINISH);
    const int64_t status = evaluate(call, measure, poses, rig, NULL, &evaluation);
    if (status >= 0) {
        evaluate_tell(call->info, rig->bones, &evaluation);
    }
    return status;
}

static void write_united(const ossify_poses *poses, const ossify_rig *rig, const ossify_skeleton *skeleton,
                         const ossify_subjects *subjects, ossify_united *united) {
    const size_t count = (size_t)subjects->count;
    memcpy(united->rest, rig->rest, 3 * count * (size_t)poses->vertex_count * sizeof(float));
    united->root = subjects->joined ? skeleton->root : -1;
    if (subjects->joined) {
        memcpy(united->parents, skeleton->parents, (size_t)rig->bones * sizeof(int32_t));
        memcpy(united->joints, skeleton->joints, 3 * count * (size_t)rig->bone_capacity * sizeof(double));
    }
}

int64_t subjects_unite(Call *call, const ossify_poses *poses, ossify_rig *rig,
                       const ossify_subjects *subjects, ossify_united *united) {
    const size_t all = 3 * (size_t)(subjects->count * poses->vertex_count);
    ossify_poses own = *poses;
    ossify_rig shared = *rig;
    ossify_skeleton skeleton;
    own.subject_count = subjects->count;
    own.subject = subjects->subject;
    own.rest = subjects->rest;
    if (bad_rest(call->info, subjects, poses->vertex_count)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    Measure *measure = evaluate_take(call, &own, rig->bone_capacity);
    shared.rest = arena_take(&call->arena, all, sizeof *shared.rest);
    if (measure == NULL || shared.rest == NULL ||
        !take_skeleton(&call->arena, subjects->count, rig->bone_capacity, &skeleton)) {
        return OSSIFY_OUT_OF_MEMORY;
    }
    memcpy(shared.rest, subjects->rest, all * sizeof *shared.rest);
    const int64_t status = subjects_decompose(call, &own, &shared);
    int64_t then = status < 0 ? status : tell(call, measure, &own, &shared);
    if (then >= 0 && subjects->joined) {
        call_stage(call, OSSIFY_STAGE_SKELETON);
        then = subjects_connect(call, &own, &shared, &skeleton);
    }
    if (then < 0) {
        return then;
    }
    rig->bones = shared.bones;
    memcpy(rig->rest, shared.rest, 3 * (size_t)poses->vertex_count * sizeof *rig->rest);
    call->written = 1; /* all goes out together */
    write_united(poses, &shared, &skeleton, subjects, united);
    return status;
}
