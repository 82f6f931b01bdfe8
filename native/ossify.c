/* ossify.c - the verbs: check the arguments, set up a call, let the rooms work, tear down in one exit. */
#include "articulate.h"

#include <math.h>
#include <string.h>

#ifndef OSSIFY_VERSION
#error "build with make, which takes OSSIFY_VERSION from blender_manifest.toml"
#endif

const char *ossify_version(void) {
    return OSSIFY_VERSION;
}

void ossify_default_settings(ossify_settings *settings) {
    if (settings == NULL)
        return;
    *settings = (ossify_settings){
        .struct_size = sizeof *settings,
        .bones = 32,
        .influences = 4,
        .bone_kind = OSSIFY_RIGID,
        .quality = OSSIFY_NORMAL,
        .rest_mode = OSSIFY_REST_KEPT,
        .locality = 1,
        .start = OSSIFY_START_GROWN,
        .budget_kind = OSSIFY_BUDGET_NONE,
        .smoothness = 1,
        .connect = OSSIFY_CONNECT_BOTH,
    };
}

/* The watcher sees every poll, also when it can no longer cancel. */
int call_poll(Call *call, double fraction) {
    const ossify_settings *settings = call->settings;
    int64_t wish;
    if (atomic_load(&call->cancelled))
        return 1;
    if (fraction > call->progress.fraction)
        call->progress.fraction = fraction < 1 ? fraction : 1;
    if (settings->watch == NULL)
        return 0;
    wish = settings->watch(settings->watch_user, &call->progress);
    if (wish != 0 && !call->settled)
        atomic_store(&call->cancelled, 1);
    return atomic_load(&call->cancelled);
}

void call_stage(Call *call, int stage) {
    const double now = seconds_now();
    call->info->stage_seconds[call->progress.stage] += now - call->stage_began;
    call->stage_began = now;
    call->progress.stage = stage;
}

int64_t call_ended(const Call *call) {
    return atomic_load(&call->cancelled) ? OSSIFY_CANCELLED : OSSIFY_OUT_OF_MEMORY;
}

/* 0, or what could not be had. */
static int64_t call_start(Call *call, const ossify_settings *settings, ossify_info *info) {
    memset(call, 0, sizeof *call);
    call->settings = settings;
    call->info = info;
    call->began = call->stage_began = seconds_now();
    call->progress.struct_size = sizeof call->progress;
    call->progress.erms = -1;
    call->wide = processor_is_wide();
    atomic_init(&call->cancelled, 0);
    arena_start(&call->arena, settings);
    call->pool = pool_start(&call->arena, (int)settings->threads);
    if (call->pool != NULL)
        return 0;
    return call->arena.failed ? OSSIFY_OUT_OF_MEMORY : OSSIFY_THREAD_FAILED;
}

/* A sentence for a status that comes without one. */
static void explain(ossify_info *info, int64_t status, const ossify_poses *poses, size_t refused) {
    if (info->message[0] != '\0')
        return;
    if (status == OSSIFY_CANCELLED)
        refuse(info, status, "cancelled by the caller: the rig is as it was");
    if (status == OSSIFY_THREAD_FAILED)
        refuse(info, status, "the system refused a thread: set settings.threads to 1 or end other programs");
    if (status == OSSIFY_OUT_OF_MEMORY)
        refuse(info, status,
               "out of memory: %.3g MB more were needed for %.0f vertices and %.0f frames; end other "
               "programs, or convert fewer vertices, frames or bones",
               fmax(1e-3, (double)refused * 1e-6), (double)poses->vertex_count, (double)poses->frame_count);
}

static int64_t call_end(Call *call, int64_t status, const ossify_poses *poses) {
    call_stage(call, (int)call->progress.stage);
    pool_end(call->pool);
    arena_end(&call->arena);
    call->info->status = status;
    explain(call->info, status, poses, call->arena.refused);
    return status;
}

static void write_info(ossify_info *info, const ossify_rig *rig, const ossify_evaluation *evaluation) {
    const double size = evaluation->diagonal > 0 ? evaluation->diagonal : 1;
    info->bones = rig->bones;
    info->erms = evaluation->erms;
    info->rms_percent = 100 * evaluation->rms / size;
    info->maximum_percent = 100 * evaluation->maximum / size;
}

/* Room for measuring comes before the work: a rig once solved is not lost for want of it. */
static int64_t take_measure(Call *call, const ossify_poses *poses, const ossify_rig *rig, int64_t checked,
                            Measure **measure) {
    if (checked < 0)
        return checked;
    *measure = evaluate_take(call, poses, rig->bone_capacity);
    return *measure != NULL ? OSSIFY_CONVERGED : OSSIFY_OUT_OF_MEMORY;
}

/* From here on the work is done, and cancelling comes too late. */
static void measure_result(Call *call, Measure *measure, const ossify_poses *poses, const ossify_rig *rig,
                           ossify_evaluation *evaluation) {
    call->settled = 1;
    call_stage(call, OSSIFY_STAGE_FINISH);
    evaluate(call, measure, poses, rig, evaluation);
    write_info(call->info, rig, evaluation);
}

/* skeleton: what the bones shall hang on, or NULL */
static int64_t run_solve(Call *call, const ossify_poses *poses, ossify_rig *rig, ossify_skeleton *skeleton) {
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    Measure *measure;
    const int64_t checked = skeleton == NULL ? check_decompose_arrays(call, poses, rig)
                                             : check_articulate_arrays(call, poses, rig, skeleton);
    int64_t status = take_measure(call, poses, rig, checked, &measure);
    if (status < 0)
        return status;
    status = skeleton == NULL ? decompose(call, poses, rig) : articulate(call, poses, rig, skeleton);
    if (status < 0)
        return status;
    measure_result(call, measure, poses, rig, &evaluation);
    return status;
}

static int64_t run_evaluate(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                            ossify_evaluation *evaluation) {
    Measure *measure;
    int64_t status = take_measure(call, poses, rig, check_evaluate_arrays(call, poses, rig), &measure);
    if (status < 0)
        return status;
    call_stage(call, OSSIFY_STAGE_FINISH);
    status = evaluate(call, measure, poses, rig, evaluation);
    write_info(call->info, rig, evaluation);
    return status;
}

int64_t ossify_decompose(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                         ossify_info *info) {
    Call call;
    int64_t status;
    if (!check_info(info))
        return OSSIFY_BAD_ARGUMENT;
    status = check_decompose(poses, settings, rig, info);
    if (status < 0)
        return status;
    status = call_start(&call, settings, info);
    if (status == 0)
        status = run_solve(&call, poses, rig, NULL);
    return call_end(&call, status, poses);
}

int64_t ossify_evaluate(const ossify_poses *poses, const ossify_rig *rig, const ossify_settings *settings,
                        ossify_evaluation *evaluation, ossify_info *info) {
    ossify_settings quiet;
    Call call;
    int64_t status;
    if (!check_info(info))
        return OSSIFY_BAD_ARGUMENT;
    status = check_evaluate(poses, rig, settings, evaluation, info);
    if (status < 0)
        return status;
    ossify_default_settings(&quiet);
    if (settings != NULL) {
        quiet.allocate = settings->allocate;
        quiet.release = settings->release;
        quiet.memory_user = settings->memory_user;
    }
    status = call_start(&call, &quiet, info);
    if (status == 0)
        status = run_evaluate(&call, poses, rig, evaluation);
    return call_end(&call, status, poses);
}

int64_t ossify_connect(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                       ossify_skeleton *skeleton, ossify_info *info) {
    Call call;
    int64_t status;
    if (!check_info(info))
        return OSSIFY_BAD_ARGUMENT;
    status = check_connect(poses, settings, rig, skeleton, info);
    if (status < 0)
        return status;
    status = call_start(&call, settings, info);
    if (status == 0)
        status = check_connect_arrays(&call, poses, rig, skeleton);
    if (status == 0) {
        call_stage(&call, OSSIFY_STAGE_SKELETON);
        status = skeleton_connect(&call, poses, rig, skeleton);
    }
    return call_end(&call, status, poses);
}

/* The mean squared distance rises by cost: how much more is its root, in percent of the size? */
static void root_rises(const ossify_evaluation *evaluation, double *costs, int64_t bones) {
    const double size = evaluation->diagonal > 0 ? evaluation->diagonal : 1;
    for (int64_t b = 0; b < bones; b++)
        costs[b] = 100 * (sqrt(evaluation->rms * evaluation->rms + costs[b]) - evaluation->rms) / size;
}

static int64_t run_bone_costs(Call *call, const ossify_poses *poses, const ossify_rig *rig, double *costs) {
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    double found[OSSIFY_MAX_BONES];
    Measure *measure;
    int64_t status = take_measure(call, poses, rig, check_evaluate_arrays(call, poses, rig), &measure);
    if (status < 0)
        return status;
    status = edit_bone_costs(call, poses, rig, found);
    if (status < 0)
        return status;
    measure_result(call, measure, poses, rig, &evaluation);
    root_rises(&evaluation, found, rig->bones);
    memcpy(costs, found, (size_t)rig->bones * sizeof *costs);
    return status;
}

int64_t ossify_bone_costs(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                          double *costs, ossify_info *info) {
    Call call;
    int64_t status;
    if (!check_info(info))
        return OSSIFY_BAD_ARGUMENT;
    status = check_whole(poses, settings, rig, info);
    if (status == 0 && costs == NULL)
        status = refuse(info, OSSIFY_BAD_ARGUMENT, "costs is NULL: give room for %.0f numbers, one a bone",
                        (double)rig->bones);
    if (status < 0)
        return status;
    status = call_start(&call, settings, info);
    if (status == 0)
        status = run_bone_costs(&call, poses, rig, costs);
    return call_end(&call, status, poses);
}

static int64_t run_add_bone(Call *call, const ossify_poses *poses, ossify_rig *rig, int vertex, int split) {
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    Measure *measure;
    int64_t status = take_measure(call, poses, rig, check_evaluate_arrays(call, poses, rig), &measure);
    if (status < 0)
        return status;
    status = edit_add_bone(call, poses, rig, vertex, split);
    if (status < 0)
        return status;
    measure_result(call, measure, poses, rig, &evaluation);
    return status;
}

int64_t ossify_add_bone(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                        int64_t vertex, int64_t split, ossify_info *info) {
    Call call;
    int64_t status;
    if (!check_info(info))
        return OSSIFY_BAD_ARGUMENT;
    status = check_whole(poses, settings, rig, info);
    if (status == 0)
        status = check_added_bone(poses, rig, vertex, split, info);
    if (status < 0)
        return status;
    status = call_start(&call, settings, info);
    if (status == 0)
        status = run_add_bone(&call, poses, rig, (int)vertex, (int)split);
    return call_end(&call, status, poses);
}

int64_t ossify_articulate(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                          ossify_skeleton *skeleton, ossify_info *info) {
    Call call;
    int64_t status;
    if (!check_info(info))
        return OSSIFY_BAD_ARGUMENT;
    status = check_articulate(poses, settings, rig, skeleton, info);
    if (status < 0)
        return status;
    status = call_start(&call, settings, info);
    if (status == 0)
        status = run_solve(&call, poses, rig, skeleton);
    return call_end(&call, status, poses);
}
