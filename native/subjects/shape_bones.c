/* shape_bones.c - bones that turn a mean body into each of many, all in the same pose (Hasler et al. 2010, sections 3.6
 * and 3.7): x[s] ~ sum_b w_b M[s][b] p~, M = [R, t] (Eq. 1) or [R diag(s), t] (Eq. 9; pull.c says along which axes).
 *
 * A body is a frame: bones are found as of a motion (solve/decompose.c), from the mean that all bodies are aligned to
 * (align.c; the paper takes one that it averages from relative rotations). Scale comes in by a descent from there. With
 * weights and rest held, the bones of other bodies are solved alone. */
#include <inttypes.h>

#include "core/sentence.h"
#include "solve/decompose.h"
#include "subjects/align.h"
#include "subjects/rounds.h"
#include "subjects/subjects.h"

enum { HELD_ROUNDS = 40 };

int subjects_refuses_shaping(const ossify_request *request, ossify_info *info) {
    const ossify_shaping *shaping = request->options;
    const ossify_rig *rig = request->rig;
    if (sentence_bad_range(info, "shaping.kind", shaping->kind, OSSIFY_SHAPE_RIGID, OSSIFY_SHAPE_SCALED) ||
        sentence_bad_range(info, "shaping.held", shaping->held, 0, 1)) {
        return 1;
    }
    if (rig->held_transforms || rig->held_vertices || rig->held_groups || rig->held_rest) {
        return BAD(info, "the rig holds something: set what is held to NULL, or shaping.held to 1");
    }
    if (shaping->held && rig->given != OSSIFY_GIVEN_WEIGHTS) {
        return BAD(info,
                   "shaping.held is 1 and rig.given is %" PRId64
                   ": weights and rest must be given, and no transforms; set it to OSSIFY_GIVEN_WEIGHTS",
                   rig->given);
    }
    if (shaping->kind == OSSIFY_SHAPE_SCALED && request->settings->budget_kind != OSSIFY_BUDGET_NONE) {
        return BAD(info,
                   "settings.budget_kind is %" PRId64
                   ": scaled bones are counted; set it to OSSIFY_BUDGET_NONE, or shaping.kind to "
                   "OSSIFY_SHAPE_RIGID",
                   request->settings->budget_kind);
    }
    return 0;
}

/* The mean as float; NULL when the call must end. */
static float *mean_of(Call *call, const ossify_poses *poses) {
    const size_t numbers = 3 * (size_t)poses->vertex_count;
    double *mean = arena_take(&call->arena, numbers, sizeof *mean);
    float *rest = arena_take(&call->arena, numbers, sizeof *rest);
    if (mean == NULL || rest == NULL ||
        !align_mean(call, poses->frames, (int)poses->frame_count, (int)poses->vertex_count, mean)) {
        return NULL;
    }
    for (size_t i = 0; i < numbers; i++) {
        rest[i] = (float)mean[i];
    }
    return rest;
}

/* From the rig's weights on; a rest that is held, or fixed, stays equal to the bit. */
static int64_t descend(Call *call, const ossify_poses *poses, ossify_rig *rig, const float *rest,
                       const ossify_shaping *shaping) {
    const int frames = (int)poses->frame_count;
    const int influences = (int)(shaping->held ? rig->influences : call->settings->influences);
    const PeopleBodies bodies = {1, rest, NULL};
    People people;
    Rounds rounds;
    call_stage(call, OSSIFY_STAGE_REFINE);
    if (!people_make(call, poses, &bodies, influences, &people) ||
        !people_take_bones(&people, (int)rig->bones) || !rounds_take(&people, &rounds)) {
        return call_ended(call);
    }
    people.scaled = shaping->kind == OSSIFY_SHAPE_SCALED;
    people_read_weights(rig, &people);
    if (shaping->held) {
        rounds.weights = 0;
        rounds.hold = -1;
        rounds.most = rounds.most > HELD_ROUNDS ? rounds.most : HELD_ROUNDS;
    }
    if (!rounds_descend(&rounds)) {
        return call_ended(call);
    }
    people_write_transforms(&people, frames, rig);
    if (!shaping->held) {
        people_write_weights(&people, rig);
    }
    if (rounds.hold >= 0) {
        people_write_rests(&people, rig->rest);
    }
    return rounds.left_over ? OSSIFY_OUT_OF_ITERATIONS : OSSIFY_CONVERGED;
}

int64_t subjects_shape_bones(Call *call, const ossify_poses *poses, ossify_rig *rig,
                             const ossify_shaping *shaping) {
    ossify_poses own = *poses;
    if (shaping->held) {
        return descend(call, &own, rig, rig->rest, shaping);
    }
    own.rest = poses->rest != NULL ? poses->rest : mean_of(call, poses);
    if (own.rest == NULL) {
        return call_ended(call);
    }
    const int64_t status = decompose(call, &own, rig);
    return status < 0 || shaping->kind == OSSIFY_SHAPE_RIGID ? status
                                                             : descend(call, &own, rig, own.rest, shaping);
}
