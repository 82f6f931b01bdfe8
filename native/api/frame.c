/* frame.c - what happens around a verb, the same for all (verb.h):
 *
 *     check      structs and settings, then every number that the verb reads          check.c, check_arrays.c
 *     take       room for what it writes and for measuring: a rig once solved is not lost for want of it
 *     run        the verb                                                             verbs.c
 *     check      every number that it wrote                                           check_answer.c
 *     measure    the error of the rig                                                 evaluate.c
 *     keep       the caller gets it                                                   draft.c */
#include "api/frame.h"

#include "api/check.h"
#include "api/draft.h"
#include "core/evaluate.h"

/* The verb, its answer checked; once that is right, cancelling comes too late. */
static int64_t run_verb(Call *call, const Verb *verb, const ossify_request *request) {
    const int64_t status = verb->run(call, request);
    if (status < 0) {
        return status;
    }
    const int64_t checked = check_answer(call, verb, request);
    call->written = checked == 0;
    return checked < 0 ? checked : status;
}

static int64_t measure_rig(Call *call, Measure *measure, const Verb *verb, const ossify_request *request) {
    ossify_evaluation own = {.struct_size = sizeof own};
    ossify_evaluation *evaluation = verb->writes & WRITES_EVALUATION ? request->evaluation : &own;
    call_stage(call, OSSIFY_STAGE_FINISH);
    const ossify_space *space = verb_has_space(verb, request) ? request->space : NULL;
    const int64_t status = evaluate(call, measure, request->poses, request->rig, space, evaluation);
    if (status < 0) {
        return status;
    }
    evaluate_tell(call->info, request->rig->bones, evaluation);
    if (verb->conclude != NULL) {
        verb->conclude(request, evaluation);
    }
    return status;
}

static int64_t work(Call *call, const Verb *verb, const ossify_request *request) {
    const int measures = verb->writes & MEASURES;
    Draft draft;
    int64_t status = check_arrays(call, verb, request);
    if (status < 0) {
        return status;
    }
    Measure *measure = measures ? evaluate_take(call, request->poses, request->rig->bone_capacity) : NULL;
    if (!draft_take(call, verb, request, &draft)) {
        return OSSIFY_OUT_OF_MEMORY;
    }
    status = verb->run != NULL ? run_verb(call, verb, &draft.request) : OSSIFY_CONVERGED;
    if (status < 0) {
        return status;
    }
    const int64_t measured = measures ? measure_rig(call, measure, verb, &draft.request) : 0;
    if (measured < 0) {
        return measured;
    }
    draft_keep(verb, &draft, request);
    return status;
}

/* Defaults for a verb that has no settings, and what is given of memory and watcher. */
static ossify_settings quiet_settings(const ossify_settings *given) {
    ossify_settings quiet;
    ossify_default_settings(&quiet);
    if (given != NULL) {
        quiet.allocate = given->allocate;
        quiet.release = given->release;
        quiet.memory_user = given->memory_user;
        quiet.watch = given->watch;
        quiet.watch_user = given->watch_user;
    }
    return quiet;
}

int64_t frame_check(const ossify_request *request, ossify_info *info) {
    if (!check_info(info) || !check_request(request, info)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    return check_structs(verbs_find(request->verb), request, info);
}

int64_t frame_run(const ossify_request *request, ossify_info *info) {
    int64_t status = frame_check(request, info);
    if (status < 0) {
        return status;
    }
    const Verb *verb = verbs_find(request->verb);
    const ossify_settings quiet = quiet_settings(request->settings);
    Call call;
    status = call_begin(&call, verb->reads & READS_SETTINGS ? request->settings : &quiet, info);
    if (status == 0) {
        status = work(&call, verb, request);
    }
    return call_end(&call, status, request->poses);
}
