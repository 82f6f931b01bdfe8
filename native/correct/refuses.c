/* refuses.c - corrections and drivers that cannot be. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "core/sentence.h"
#include "correct/correct.h"
#include "correct/drive.h"

#define MOST_SMOOTHNESS 1000.0
#define LARGEST_FIELD 1e30

static int bad_budget(ossify_info *info, const ossify_correction *correction) {
    if (sentence_bad_range(info, "correction.budget_kind", correction->budget_kind, OSSIFY_BUDGET_NONE,
                           OSSIFY_BUDGET_MAXIMUM)) {
        return 1;
    }
    return correction->budget_kind != OSSIFY_BUDGET_NONE &&
           !(correction->budget > 0 && isfinite(correction->budget)) &&
           BAD(info,
               "correction.budget is %s: it must be a number above 0, in percent of the rest's box diagonal; "
               "or set "
               "budget_kind to OSSIFY_BUDGET_NONE",
               sentence_number(correction->budget).letters);
}

static int bad_smoothness(ossify_info *info, const ossify_correction *correction) {
    return !(correction->smoothness >= 0 && correction->smoothness <= MOST_SMOOTHNESS) &&
           BAD(info, "correction.smoothness is %s: it must be 0..%g",
               sentence_number(correction->smoothness).letters, MOST_SMOOTHNESS);
}

/* Coefficients that are solved anew may come as anything. */
static int bad_held_coefficients(ossify_info *info, const ossify_request *request) {
    const ossify_correction *correction = request->options;
    const ossify_rig *rig = request->rig;
    for (int64_t i = 0;
         correction->held_coefficients != NULL && i < request->poses->frame_count * rig->correctives; i++) {
        const int64_t f = i / rig->correctives, n = i % rig->correctives;
        const double c = rig->coefficients[f * rig->corrective_capacity + n];
        if (correction->held_coefficients[n] && !(fabs(c) <= LARGEST_FIELD)) {
            return BAD(info,
                       "coefficients[%" PRId64 "][%" PRId64
                       "] is %s and held: it must be finite and within %g",
                       f, n, sentence_number(c).letters, LARGEST_FIELD);
        }
    }
    return 0;
}

/* What is right by itself but not together. */
static int bad_together(ossify_info *info, const ossify_request *request) {
    const ossify_correction *correction = request->options;
    const ossify_rig *rig = request->rig;
    if (correction->count > rig->corrective_capacity) {
        return BAD(info,
                   "correction.count is %" PRId64 ", but the rig's arrays have room for %" PRId64
                   ": make rig.corrective_capacity larger or ask for fewer",
                   correction->count, rig->corrective_capacity);
    }
    if (rig->correctives > correction->count) {
        return BAD(info,
                   "rig.correctives is %" PRId64 ", but correction.count is %" PRId64
                   ": fields that come in are held; allow more, or bring fewer",
                   rig->correctives, correction->count);
    }
    if (correction->solve_rest && request->settings->rest_mode == OSSIFY_REST_FIXED) {
        return BAD(info,
                   "correction.solve_rest is 1 and settings.rest_mode is OSSIFY_REST_FIXED: choose another "
                   "rest_mode, or set solve_rest to 0");
    }
    return 0;
}

static int bad_option(ossify_info *info, const char *name, const void *array, size_t item) {
    return array != NULL && sentence_bad_array(info, name, array, item, "");
}

int correct_refuses(const ossify_request *request, ossify_info *info) {
    const ossify_correction *correction = request->options;
    const ossify_corrected *corrected = request->result;
    return sentence_bad_range(info, "correction.count", correction->count, 0, OSSIFY_MAX_CORRECTIVES) ||
           bad_budget(info, correction) ||
           sentence_bad_range(info, "correction.support", correction->support, OSSIFY_SUPPORT_WHOLE,
                              OSSIFY_SUPPORT_JOINTS) ||
           bad_smoothness(info, correction) ||
           sentence_bad_range(info, "correction.solve_rest", correction->solve_rest, 0, 1) ||
           sentence_bad_range(info, "correction.refine", correction->refine, 0, 1) ||
           bad_option(info, "correction.parents", correction->parents, sizeof(int32_t)) ||
           bad_option(info, "corrected.joints", corrected->joints, sizeof(int32_t)) ||
           bad_option(info, "corrected.gains", corrected->gains, sizeof(double)) ||
           bad_together(info, request) ||
           sentence_bad_parents(info, "correction", correction->parents, request->rig->bones) ||
           bad_held_coefficients(info, request);
}

static int bad_pivots(ossify_info *info, const ossify_driving *driving, int64_t bones) {
    if (driving->pivots == NULL) {
        return 0;
    }
    if (sentence_bad_array(info, "driving.pivots", driving->pivots, sizeof(double), "[bones][3]")) {
        return 1;
    }
    for (int64_t i = 0; i < 3 * bones; i++) {
        if (!(fabs(driving->pivots[i]) <= (double)FLT_MAX)) {
            return BAD(info,
                       "driving.pivots: number %d of bone %" PRId64
                       " is not finite or does not fit into a float: leave pivots out, or give the joints of "
                       "the rest",
                       (int)(i % 3), i / 3);
        }
    }
    return 0;
}

int correct_refuses_drive(const ossify_request *request, ossify_info *info) {
    const ossify_driving *driving = request->options;
    const ossify_driven *driven = request->result;
    const int64_t room = request->rig->corrective_capacity;
    return sentence_bad_range(info, "driving.count", driving->count, 0, OSSIFY_MAX_CORRECTIVES) ||
           sentence_bad_range(info, "driving.joint_count", driving->joint_count, 0, OSSIFY_MAX_CORRECTIVES) ||
           sentence_bad_range(info, "driving.form", driving->form, OSSIFY_DRIVEN_WHOLE,
                              OSSIFY_DRIVEN_FOUND) ||
           sentence_bad_array(info, "driving.parents", driving->parents, sizeof(int32_t), "[bones]") ||
           bad_option(info, "driven.joints", driven->joints, sizeof(int32_t)) ||
           bad_option(info, "driven.map", driven->map, sizeof(double)) ||
           bad_option(info, "driven.shifts", driven->shifts, sizeof(double)) ||
           bad_pivots(info, driving, request->rig->bones) ||
           sentence_bad_parents(info, "driving", driving->parents, request->rig->bones) ||
           ((driving->count > room || driving->joint_count > room) &&
            BAD(info,
                "driving asks for %" PRId64 " or %" PRId64
                " correctives, but the rig's arrays have room for %" PRId64
                ": make rig.corrective_capacity larger or ask for fewer",
                driving->count, driving->joint_count, room)) ||
           (request->rig->correctives != 0 &&
            BAD(info, "rig.correctives is %" PRId64 ": driven fields are solved anew; set it to 0",
                request->rig->correctives));
}
