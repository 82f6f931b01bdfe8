/* verbs.c - the table of verbs. A verb lives in a folder of its own; here it says what it reads, what it writes and
 * who does it, and the frame (frame.c) does the rest: checks, memory, threads, measuring, jobs. */
#include "animation_space/animation_space.h"
#include "animation_space/average.h"
#include "animator/animator.h"
#include "api/verb.h"
#include "articulate/articulate.h"
#include "compress/compress.h"
#include "correct/correct.h"
#include "correct/drive.h"
#include "paint/paint.h"
#include "skeleton/inspect.h"
#include "skeleton/skeleton.h"
#include "solve/decompose.h"
#include "solve/edit.h"
#include "subjects/subjects.h"
#include "unwrap/unwrap.h"

static int64_t run_decompose(Call *call, const ossify_request *request) {
    return call_rests(request->poses) > 1 ? subjects_decompose(call, request->poses, request->rig)
                                          : decompose(call, request->poses, request->rig);
}

static int64_t run_connect(Call *call, const ossify_request *request) {
    call_stage(call, OSSIFY_STAGE_SKELETON);
    return call_rests(request->poses) > 1
               ? subjects_connect(call, request->poses, request->rig, request->skeleton)
               : skeleton_connect(call, request->poses, request->rig, request->skeleton);
}

static int64_t run_articulate(Call *call, const ossify_request *request) {
    return call_rests(request->poses) > 1
               ? subjects_articulate(call, request->poses, request->rig, request->skeleton)
               : articulate(call, request->poses, request->rig, request->skeleton);
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

static int refuses_correct(const ossify_request *request, ossify_info *info) {
    return correct_refuses(request, info) || subjects_refuses_correct(request, info);
}

static int64_t run_correct(Call *call, const ossify_request *request) {
    return (call_rests(request->poses) > 1 ? subjects_correct : correct)(call, request->poses, request->rig,
                                                                         request->options, request->result);
}

static int64_t run_animation_space(Call *call, const ossify_request *request) {
    return animation_space_fit(call, request->poses, request->rig, request->options, request->space);
}

static int64_t run_compress(Call *call, const ossify_request *request) {
    return compress(call, request->poses, request->rig, request->options, request->result);
}

static int64_t run_drive(Call *call, const ossify_request *request) {
    return drive(call, request->poses, request->rig, request->options, request->result);
}

static int64_t run_unite(Call *call, const ossify_request *request) {
    return subjects_unite(call, request->poses, request->rig, request->options, request->result);
}

static int64_t run_shape_bones(Call *call, const ossify_request *request) {
    return subjects_shape_bones(call, request->poses, request->rig, request->options);
}

static int64_t run_merge(Call *call, const ossify_request *request) {
    return subjects_merge(call, request->poses, request->rig, request->options, request->result);
}

static int64_t run_place_joints(Call *call, const ossify_request *request) {
    return subjects_place_joints(call, request->poses, request->rig, request->options, request->result);
}

static int64_t run_unwrap(Call *call, const ossify_request *request) {
    return unwrap(call, request->poses, request->options, request->result);
}

static int64_t run_fuse(Call *call, const ossify_request *request) {
    return animator_fuse(call, request->poses, request->rig, request->options, request->result);
}

static int64_t run_inspect(Call *call, const ossify_request *request) {
    return inspect(call, request->poses, request->rig, request->skeleton, request->result);
}

static const Verb VERBS[OSSIFY_VERBS] = {
    [OSSIFY_DECOMPOSE] =
        {
            .name = "decompose",
            .reads =
                READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_GIVEN | READS_SUBJECTS,
            .writes = WRITES_RIG | MEASURES,
            .refuses = subjects_refuses_sharing,
            .run = run_decompose,
        },
    [OSSIFY_EVALUATE] =
        {
            .name = "evaluate",
            .reads = READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG | READS_FIELDS |
                     READS_COEFFICIENTS | READS_SPACE | READS_DENSE | READS_SUBJECTS,
            .writes = WRITES_EVALUATION | MEASURES,
        },
    [OSSIFY_CONNECT] =
        {
            .name = "connect",
            .reads = READS_SETTINGS | READS_TRIANGLES | READS_RIG | READS_WISHES | READS_SUBJECTS,
            .writes = WRITES_SKELETON,
            .refuses = subjects_refuses_connect,
            .run = run_connect,
        },
    [OSSIFY_ARTICULATE] =
        {
            .name = "articulate",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_GIVEN | READS_RIG |
                     READS_TREE | READS_SUBJECTS,
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
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG | READS_FIELDS |
                     READS_SUBJECTS,
            .writes = WRITES_RIG | MEASURES,
            .options = {"ossify_correction", sizeof(ossify_correction)},
            .result = {"ossify_corrected", sizeof(ossify_corrected)},
            .refuses = refuses_correct,
            .run = run_correct,
        },
    [OSSIFY_ANIMATION_SPACE] =
        {
            .name = "animation_space",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG | READS_SPACE,
            .writes = WRITES_RIG | WRITES_SPACE | MEASURES,
            .options = {"ossify_space_fit", sizeof(ossify_space_fit)},
            .refuses = animation_space_refuses,
            .run = run_animation_space,
        },
    [OSSIFY_COMPRESS] =
        {
            .name = "compress",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG | READS_DENSE,
            .writes = WRITES_RIG,
            .options = {"ossify_compression", sizeof(ossify_compression)},
            .result = {"ossify_layers", sizeof(ossify_layers)},
            .refuses = compress_refuses,
            .run = run_compress,
        },
    [OSSIFY_DRIVE] =
        {
            .name = "drive",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG | READS_FIELDS,
            .writes = WRITES_RIG | MEASURES,
            .options = {"ossify_driving", sizeof(ossify_driving)},
            .result = {"ossify_driven", sizeof(ossify_driven)},
            .refuses = correct_refuses_drive,
            .run = run_drive,
        },
    [OSSIFY_UNITE] =
        {
            .name = "unite",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_GIVEN,
            .writes = WRITES_RIG,
            .options = {"ossify_subjects", sizeof(ossify_subjects)},
            .result = {"ossify_united", sizeof(ossify_united)},
            .refuses = subjects_refuses_subjects,
            .run = run_unite,
        },
    [OSSIFY_SHAPE_BONES] =
        {
            .name = "shape_bones",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_GIVEN,
            .writes = WRITES_RIG | MEASURES,
            .options = {"ossify_shaping", sizeof(ossify_shaping)},
            .refuses = subjects_refuses_shaping,
            .run = run_shape_bones,
        },
    [OSSIFY_MERGE] =
        {
            .name = "merge",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_GIVEN,
            .writes = WRITES_RIG | MEASURES,
            .options = {"ossify_merging", sizeof(ossify_merging)},
            .result = {"ossify_merged", sizeof(ossify_merged)},
            .refuses = subjects_refuses_merging,
            .run = run_merge,
        },
    [OSSIFY_PLACE_JOINTS] =
        {
            .name = "place_joints",
            .reads = READS_SETTINGS | READS_TRIANGLES | READS_RIG,
            .options = {"ossify_bodies", sizeof(ossify_bodies)},
            .result = {"ossify_placed", sizeof(ossify_placed)},
            .refuses = subjects_refuses_bodies,
            .run = run_place_joints,
        },
    [OSSIFY_UNWRAP] =
        {
            .name = "unwrap",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES,
            .options = {"ossify_unwrapping", sizeof(ossify_unwrapping)},
            .result = {"ossify_unwrapped", sizeof(ossify_unwrapped)},
            .refuses = unwrap_refuses,
            .run = run_unwrap,
        },
    [OSSIFY_FUSE] =
        {
            .name = "fuse",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG,
            .options = {"ossify_fusion", sizeof(ossify_fusion)},
            .result = {"ossify_groups", sizeof(ossify_groups)},
            .refuses = animator_refuses_fuse,
            .run = run_fuse,
        },
    [OSSIFY_INSPECT] =
        {
            .name = "inspect",
            .reads = READS_SETTINGS | READS_REST | READS_FRAMES | READS_TRIANGLES | READS_RIG | READS_TREE,
            .result = {"ossify_conduct", sizeof(ossify_conduct)},
            .refuses = inspect_refuses,
            .run = run_inspect,
        },
    [OSSIFY_AVERAGE_POSES] =
        {
            .name = "average_poses",
            .reads = READS_SETTINGS | READS_TRIANGLES | READS_RIG | READS_SPACE,
            .options = {"ossify_pose_model", sizeof(ossify_pose_model)},
            .result = {"ossify_average", sizeof(ossify_average)},
            .refuses = average_refuses,
            .run = average,
        },
};

const Verb *verbs_find(int64_t verb) {
    return &VERBS[verb];
}
