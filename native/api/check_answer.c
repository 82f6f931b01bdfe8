/* check_answer.c - looks at every number that a verb wrote, before the caller gets it. What is given again must
 * pass the checks of what comes in, so these are the same: finite numbers, bones that there are, weights that sum to 1. A solve
 * that cannot answer, because what is held leaves no room or because numbers ran out of range, says so. */
#include "api/check.h"

#include <inttypes.h>
#include <math.h>

/* Says what came out; 1. */
#define NO_ANSWER(info, ...) ((int)(sentence_refuse((info), OSSIFY_NO_ANSWER, __VA_ARGS__) != 0))

static int bad_transforms(Call *call, const Verb *verb, const ossify_request *request) {
    const ossify_rig *rig = request->rig;
    const int64_t numbers = 12 * rig->bones,
                  i = scan_transforms(call, request->poses, rig,
                                      check_arrays_reach(request, verb->reads, FARTHEST_BONE));
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    const double x = rig->transforms[i / numbers * 12 * rig->bone_capacity + i % numbers];
    return NO_ANSWER(
        call->info,
        "no answer was found: the transform of bone %" PRId64 " in frame %" PRId64
        " has a number that is %s; scale the mesh to a size near 1, leave out what is far off, or use "
        "fewer bones",
        i % numbers / 12, i / numbers, sentence_number(x).letters);
}

static int bad_weights(Call *call, const ossify_request *request) {
    const ossify_rig *rig = request->rig;
    const int64_t v = scan_weights(call, request->poses, rig, 0);
    if (v < 0) {
        return atomic_load(&call->cancelled);
    }
    if (scan_weight_sum(rig, v) == 0) {
        return NO_ANSWER(call->info,
                         "no answer was found: vertex %" PRId64
                         " has no bone that it may follow; let go of what is held, give it a weight, or set "
                         "settings.locality to 0",
                         v);
    }
    return NO_ANSWER(
        call->info,
        "no answer was found: vertex %" PRId64
        " follows its bones by no weights that sum to 1; scale the mesh to a size near 1 and leave "
        "out what is far off",
        v);
}

static int bad_rest(Call *call, const ossify_request *request) {
    const int64_t i = scan_positions(call, request->rig->rest,
                                     3 * request->poses->vertex_count * call_rests(request->poses), LARGEST);
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    return NO_ANSWER(call->info,
                     "no answer was found: vertex %" PRId64
                     " came to rest at %s; scale the mesh to a size near 1 and leave out what is far off",
                     i / 3 % request->poses->vertex_count,
                     sentence_number((double)request->rig->rest[i]).letters);
}

static int bad_correctives(Call *call, const ossify_request *request) {
    const ossify_rig *rig = request->rig;
    const int64_t field = 3 * request->poses->vertex_count;
    const int64_t i = scan_positions(call, rig->fields, rig->correctives * field, LARGEST);
    const int64_t c = i < 0 ? scan_coefficients(call, request->poses, rig) : 0;
    if (i < 0 && c < 0) {
        return atomic_load(&call->cancelled);
    }
    return NO_ANSWER(
        call->info,
        "no answer was found: corrective %" PRId64
        " has a number that is too large; scale the mesh to a size near 1, or decompose the motion anew",
        i < 0 ? c % rig->correctives : i / field);
}

static int bad_space(Call *call, const ossify_request *request) {
    const ossify_space *space = request->space;
    const int64_t numbers = 4 * space->influences;
    const int64_t i =
        scan_positions(call, space->corrections, numbers * request->poses->vertex_count, LARGEST);
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    return NO_ANSWER(call->info,
                     "no answer was found: a correction of vertex %" PRId64
                     " is too large; scale the mesh to a size near 1, or raise space_fit.damping",
                     i / numbers);
}

static int bad_joints(Call *call, const ossify_request *request) {
    const ossify_skeleton *skeleton = request->skeleton;
    const int64_t bones = request->rig->bones;
    for (int64_t i = 0; i < bones * call_rests(request->poses); i++) {
        const int64_t b = i % bones;
        const double *c = skeleton->joints + 3 * (i / bones * skeleton->bone_capacity + b),
                     *n = skeleton->axes + 3 * b;
        const double far = fmax(fmax(fabs(c[0]), fabs(c[1])), fabs(c[2]));
        if (!(far <= (double)LARGEST) || !isfinite(c[0] + c[1] + c[2] + n[0] + n[1] + n[2]) ||
            !isfinite(skeleton->angles[b] + skeleton->drifts[b])) {
            return NO_ANSWER(call->info,
                             "no answer was found: the joint of bone %" PRId64
                             " came out nowhere; scale the mesh to a size near 1, or use fewer bones",
                             b);
        }
    }
    return 0;
}

int64_t check_answer(Call *call, const Verb *verb, const ossify_request *request) {
    const int bad =
        (verb->writes & WRITES_RIG && (bad_transforms(call, verb, request) || bad_weights(call, request) ||
                                       bad_rest(call, request) || bad_correctives(call, request))) ||
        (verb->writes & WRITES_SKELETON && bad_joints(call, request)) ||
        (verb->writes & WRITES_SPACE && bad_space(call, request));
    if (!bad) {
        return 0;
    }
    return atomic_load(&call->cancelled) ? OSSIFY_CANCELLED : OSSIFY_NO_ANSWER;
}
