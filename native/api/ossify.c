/* ossify.c - the verbs: check the arguments, begin a call, let the rooms work, end it in one exit. */
#include <math.h>
#include <string.h>

#include "api/check.h"
#include "articulate/articulate.h"
#include "core/evaluate.h"
#include "core/sentence.h"
#include "skeleton/skeleton.h"
#include "solve/decompose.h"
#include "solve/edit.h"

static void write_info(ossify_info *info, const ossify_rig *rig, const ossify_evaluation *evaluation) {
    const double size = evaluation->diagonal > 0 ? evaluation->diagonal : 1;
    info->bones = rig->bones;
    info->erms = evaluation->erms;
    info->rms_percent = 100 * evaluation->rms / size;
    info->maximum_percent = 100 * evaluation->maximum / size;
    info->normal_degrees = evaluation->normal_degrees;
    info->bumps = evaluation->bumps;
    info->rest_normal_degrees = evaluation->rest_normal_degrees;
    info->rest_bumps = evaluation->rest_bumps;
    info->rest_percent = 100 * evaluation->rest_moved / size;
}

/* Room for measuring comes before the work: a rig once solved is not lost for want of it. */
static int64_t take_measure(Call *call, const ossify_poses *poses, const ossify_rig *rig, int64_t checked,
                            Measure **measure) {
    if (checked < 0) {
        return checked;
    }
    *measure = evaluate_take(call, poses, rig->bone_capacity);
    return *measure != NULL ? OSSIFY_CONVERGED : OSSIFY_OUT_OF_MEMORY;
}

/* From here on the work is done, and cancelling comes too late. */
static void measure_result(Call *call, Measure *measure, const ossify_poses *poses, const ossify_rig *rig,
                           ossify_evaluation *evaluation) {
    call->written = 1;
    call_stage(call, OSSIFY_STAGE_FINISH);
    evaluate(call, measure, poses, rig, evaluation);
    write_info(call->info, rig, evaluation);
}

/* skeleton: what the bones shall hang on, or NULL */
static int64_t run_solve(Call *call, const ossify_poses *poses, ossify_rig *rig, ossify_skeleton *skeleton) {
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    Measure *measure;
    const int64_t checked = skeleton == NULL ? check_arrays_decompose(call, poses, rig)
                                             : check_arrays_articulate(call, poses, rig, skeleton);
    int64_t status = take_measure(call, poses, rig, checked, &measure);
    if (status < 0) {
        return status;
    }
    status = skeleton == NULL ? decompose(call, poses, rig) : articulate(call, poses, rig, skeleton);
    if (status < 0) {
        return status;
    }
    measure_result(call, measure, poses, rig, &evaluation);
    return status;
}

static int64_t run_evaluate(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                            ossify_evaluation *evaluation) {
    Measure *measure;
    int64_t status = take_measure(call, poses, rig, check_arrays_evaluate(call, poses, rig), &measure);
    if (status < 0) {
        return status;
    }
    call_stage(call, OSSIFY_STAGE_FINISH);
    status = evaluate(call, measure, poses, rig, evaluation);
    write_info(call->info, rig, evaluation);
    return status;
}

int64_t ossify_decompose(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                         ossify_info *info) {
    Call call;
    int64_t status;
    if (!check_info(info)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    status = check_decompose(poses, settings, rig, info);
    if (status < 0) {
        return status;
    }
    status = call_begin(&call, settings, info);
    if (status == 0) {
        status = run_solve(&call, poses, rig, NULL);
    }
    return call_end(&call, status, poses);
}

int64_t ossify_evaluate(const ossify_poses *poses, const ossify_rig *rig, const ossify_settings *settings,
                        ossify_evaluation *evaluation, ossify_info *info) {
    ossify_settings quiet;
    Call call;
    int64_t status;
    if (!check_info(info)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    status = check_evaluate(poses, rig, settings, evaluation, info);
    if (status < 0) {
        return status;
    }
    ossify_default_settings(&quiet);
    if (settings != NULL) {
        quiet.allocate = settings->allocate;
        quiet.release = settings->release;
        quiet.memory_user = settings->memory_user;
    }
    status = call_begin(&call, &quiet, info);
    if (status == 0) {
        status = run_evaluate(&call, poses, rig, evaluation);
    }
    return call_end(&call, status, poses);
}

int64_t ossify_connect(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                       ossify_skeleton *skeleton, ossify_info *info) {
    Call call;
    int64_t status;
    if (!check_info(info)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    status = check_connect(poses, settings, rig, skeleton, info);
    if (status < 0) {
        return status;
    }
    status = call_begin(&call, settings, info);
    if (status == 0) {
        status = check_arrays_connect(&call, poses, rig, skeleton);
    }
    if (status == 0) {
        call_stage(&call, OSSIFY_STAGE_SKELETON);
        status = skeleton_connect(&call, poses, rig, skeleton);
    }
    return call_end(&call, status, poses);
}

/* The mean squared distance rises by cost: how much more is its root, in percent of the size? */
static void root_rises(const ossify_evaluation *evaluation, double *costs, int64_t bones) {
    const double size = evaluation->diagonal > 0 ? evaluation->diagonal : 1;
    for (int64_t b = 0; b < bones; b++) {
        costs[b] = 100 * (sqrt(evaluation->rms * evaluation->rms + costs[b]) - evaluation->rms) / size;
    }
}

static int64_t run_bone_costs(Call *call, const ossify_poses *poses, const ossify_rig *rig, double *costs) {
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    double found[OSSIFY_MAX_BONES];
    Measure *measure;
    int64_t status = take_measure(call, poses, rig, check_arrays_evaluate(call, poses, rig), &measure);
    if (status < 0) {
        return status;
    }
    status = edit_bone_costs(call, poses, rig, found);
    if (status < 0) {
        return status;
    }
    measure_result(call, measure, poses, rig, &evaluation);
    root_rises(&evaluation, found, rig->bones);
    memcpy(costs, found, (size_t)rig->bones * sizeof *costs);
    return status;
}

int64_t ossify_bone_costs(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                          double *costs, ossify_info *info) {
    Call call;
    int64_t status;
    if (!check_info(info)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    status = check_whole(poses, settings, rig, info);
    if (status == 0 && costs == NULL) {
        status = sentence_refuse(info, OSSIFY_BAD_ARGUMENT,
                                 "costs is NULL: give room for %.0f numbers, one a bone", (double)rig->bones);
    }
    if (status < 0) {
        return status;
    }
    status = call_begin(&call, settings, info);
    if (status == 0) {
        status = run_bone_costs(&call, poses, rig, costs);
    }
    return call_end(&call, status, poses);
}

static int64_t run_add_bone(Call *call, const ossify_poses *poses, ossify_rig *rig, int vertex, int split) {
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    Measure *measure;
    int64_t status = take_measure(call, poses, rig, check_arrays_evaluate(call, poses, rig), &measure);
    if (status < 0) {
        return status;
    }
    status = edit_add_bone(call, poses, rig, vertex, split);
    if (status < 0) {
        return status;
    }
    measure_result(call, measure, poses, rig, &evaluation);
    return status;
}

int64_t ossify_add_bone(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                        int64_t vertex, int64_t split, ossify_info *info) {
    Call call;
    int64_t status;
    if (!check_info(info)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    status = check_whole(poses, settings, rig, info);
    if (status == 0) {
        status = check_added_bone(poses, rig, vertex, split, info);
    }
    if (status < 0) {
        return status;
    }
    status = call_begin(&call, settings, info);
    if (status == 0) {
        status = run_add_bone(&call, poses, rig, (int)vertex, (int)split);
    }
    return call_end(&call, status, poses);
}

int64_t ossify_articulate(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                          ossify_skeleton *skeleton, ossify_info *info) {
    Call call;
    int64_t status;
    if (!check_info(info)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    status = check_articulate(poses, settings, rig, skeleton, info);
    if (status < 0) {
        return status;
    }
    status = call_begin(&call, settings, info);
    if (status == 0) {
        status = run_solve(&call, poses, rig, skeleton);
    }
    return call_end(&call, status, poses);
}
