/* verbs.c - the table of verbs. A verb lives in a folder of its own; here it says what it reads, what it writes and
 * who does it, and the frame (frame.c) does the rest: checks, memory, threads, measuring, jobs. */
#include "api/verb.h"
#include "articulate/articulate.h"
#include "correct/correct.h"
#include "correct/drive.h"
#include "paint/paint.h"
#include "skeleton/skeleton.h"
#include "solve/decompose.h"
#include "solve/edit.h"

static int64_t run_decompose(Call *call, const ossify_request *request) {
    return decompose(call, request->poses, request->rig);
}

static int64_t run_connect(Call *call, const ossify_request *request) {
    call_stage(call, OSSIFY_STAGE_SKELETON);
    return skeleton_connect(call, request->poses, request->rig, request->skeleton);
}

static int64_t run_articulate(Call *call, const ossify_request *request) {
    return articulate(call, request->poses, request->rig, request->skeleton);
}

static int64_t run_bone_costs(Call *call, const ossify_request *request) {
    const ossify_costs *result = request->result;
    return edit_bone_costs(call, request->poses, request->rig, result->costs);
}

static void conclude_bone_costs(const ossify_request *request, const ossify_evaluation *evaluation) {
    const ossify_costs *result = request->result;
    edit_root_costs(evaluation, request->rig->bones, result->costs);
}

static int64_t run_add_bone(Call *call, const ossify_request *request) {
    const ossify_place *place = request->options;
    return edit_add_bone(call, request->poses, request->rig, (int)place->vertex, (int)place->split);
}

static int64_t run_prune_weights(Call *call, const ossify_request *request) {
    return paint_prune(call, request->poses, request->options, request->rig);
}

static int64_t run_smooth_weights(Call *call, const ossify_request *request) {
    return paint_smooth(call, request->poses, request->options, request->rig);
}

static int64_t run_correct(Call *call, const ossify_request *request) {
    return correct(call, request->poses, request->rig, request->options, request->result);
}

static int64_t run_drive(Call *call, const ossify_request *request) {
    return drive(call, request->poses, request->rig, request->options, request->result);
}

static const Verb VERBS[OSSIFY_VERBS] = {
    [OSSIFY_DECOMPOSE] =
        {
            .name = "decompose",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_GIVEN,
            .writes = WRITES_RIG | MEASURES,
            .run = run_decompose,
        },
    [OSSIFY_EVALUATE] =
        {
            .name = "evaluate",
            .reads =
                READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG | READS_FIELDS | READS_COEFFICIENTS,
            .writes = WRITES_EVALUATION | MEASURES,
        },
    [OSSIFY_CONNECT] =
        {
            .name = "connect",
            .reads = READS_SETTINGS | READS_TRIANGLES | READS_RIG | READS_WISHES,
            .writes = WRITES_SKELETON,
            .run = run_connect,
        },
    [OSSIFY_ARTICULATE] =
        {
            .name = "articulate",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_GIVEN | READS_RIG |
                     READS_TREE,
            .writes = WRITES_RIG | WRITES_SKELETON | MEASURES,
            .refuses = articulate_refuses,
            .run = run_articulate,
        },
    [OSSIFY_BONE_COSTS] =
        {
            .name = "bone_costs",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG,
            .writes = MEASURES,
            .result = {"ossify_costs", sizeof(ossify_costs)},
            .refuses = edit_refuses_costs,
            .run = run_bone_costs,
            .conclude = conclude_bone_costs,
        },
    [OSSIFY_ADD_BONE] =
        {
            .name = "add_bone",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG,
            .writes = WRITES_RIG | MEASURES,
            .options = {"ossify_place", sizeof(ossify_place)},
            .refuses = edit_refuses_place,
            .run = run_add_bone,
        },
    [OSSIFY_PRUNE_WEIGHTS] =
        {
            .name = "prune_weights",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG,
            .writes = WRITES_RIG | MEASURES,
            .options = {"ossify_fewer", sizeof(ossify_fewer)},
            .refuses = paint_refuses_prune,
            .run = run_prune_weights,
        },
    [OSSIFY_SMOOTH_WEIGHTS] =
        {
            .name = "smooth_weights",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG,
            .writes = WRITES_RIG | MEASURES,
            .options = {"ossify_smoother", sizeof(ossify_smoother)},
            .refuses = paint_refuses_smooth,
            .run = run_smooth_weights,
        },
    [OSSIFY_CORRECT] =
        {
            .name = "correct",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG | READS_FIELDS,
            .writes = WRITES_RIG | MEASURES,
            .options = {"ossify_correction", sizeof(ossify_correction)},
            .result = {"ossify_corrected", sizeof(ossify_corrected)},
            .refuses = correct_refuses,
            .run = run_correct,
        },
    [OSSIFY_DRIVE] =
        {
            .name = "drive",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG | READS_FIELDS,
            .writes = WRITES_RIG | MEASURES,
            .options = {"ossify_driving", sizeof(ossify_driving)},
            .result = {"ossify_driven", sizeof(ossify_driven)},
            .refuses = drive_refuses,
            .run = run_drive,
        },
};

const Verb *verbs_find(int64_t verb) {
    return &VERBS[verb];
}
