/* corrected.c - correctives of several subjects: fields that all rests share, coefficients of each frame.
 *
 *     y[f][v] = N[f][v] (p[s(f)] + sum_n c[f][n] B[n])~,      N[f][v] = sum_b w[v][b] M[f][b]
 *
 * Fields see what is missed, r = x - N p~[s(f)], and how N turns them, not the rest itself. So the frames are carried onto
 * the body of the first subject, x' = r + N p~[0], where both are the same, and solved as of one body
 * (correct/correct.c). A field is as large on every body. */
#include <inttypes.h>
#include <string.h>

#include "core/sentence.h"
#include "correct/correct.h"
#include "subjects/subjects.h"

int subjects_refuses_correct(const ossify_request *request, ossify_info *info) {
    const ossify_correction *correction = request->options;
    if (call_rests(request->poses) == 1) {
        return 0;
    }
    if (correction->solve_rest || correction->refine) {
        return BAD(
            info,
            "correction.%s is 1: rests and bones of several subjects stay as they are; set it to 0, and "
            "solve them by ossify_decompose",
            correction->solve_rest ? "solve_rest" : "refine");
    }
    if (correction->budget_kind != OSSIFY_BUDGET_NONE) {
        return BAD(info,
                   "correction.budget_kind is %" PRId64
                   ": of several subjects, each of its own size, ask for a "
                   "count; set it to OSSIFY_BUDGET_NONE",
                   correction->budget_kind);
    }
    return 0;
}

/* x' = x + N (p[0] - p[s]) */
static void carry_frame(const ossify_poses *poses, const ossify_rig *rig, int64_t f, float *to) {
    const int64_t k = rig->influences, numbers = 3 * poses->vertex_count;
    const float *first = rig->rest, *own = first + poses->subject[f] * numbers;
    memcpy(to, poses->frames + f * numbers, (size_t)numbers * sizeof *to);
    for (int64_t i = 0; i < poses->vertex_count * k && own != first; i++) {
        const int64_t v = i / k;
        if (rig->influence_bones[i] < 0) {
            continue;
        }
        const double w = (double)rig->influence_weights[i];
        const double *m = rig->transforms + 12 * (f * rig->bone_capacity + rig->influence_bones[i]);
        for (int64_t j = 0; j < 9; j++) {
            const int64_t at = 3 * v + j % 3;
            to[3 * v + j / 3] += (float)(w * m[j / 3 * 4 + j % 3] * ((double)first[at] - (double)own[at]));
        }
    }
}

int64_t subjects_correct(Call *call, const ossify_poses *poses, ossify_rig *rig,
                         const ossify_correction *correction, ossify_corrected *corrected) {
    const size_t numbers = 3 * (size_t)poses->vertex_count;
    float *frames = arena_take(&call->arena, numbers * (size_t)poses->frame_count, sizeof *frames);
    ossify_poses carried = *poses;
    if (frames == NULL) {
        return OSSIFY_OUT_OF_MEMORY;
    }
    for (int64_t f = 0; f < poses->frame_count; f++) {
        if (call_poll(call, -1)) {
            return call_ended(call);
        }
        carry_frame(poses, rig, f, frames + (size_t)f * numbers);
    }
    carried.frames = frames;
    carried.subject_count = 0;
    return correct(call, &carried, rig, correction, corrected);
}
