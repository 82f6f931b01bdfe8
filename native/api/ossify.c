/* ossify.c - the verbs as functions of their own, each a request. */
#include "api/frame.h"

int64_t ossify_run(const ossify_request *request, ossify_info *info) {
    return frame_run(request, info);
}

int64_t ossify_decompose(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                         ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_DECOMPOSE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig};
    return frame_run(&request, info);
}

int64_t ossify_evaluate(const ossify_poses *poses, const ossify_rig *rig, const ossify_settings *settings,
                        ossify_evaluation *evaluation, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_EVALUATE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = (ossify_rig *)rig, /* which is only read; so below */
                                    .evaluation = evaluation};
    return frame_run(&request, info);
}

int64_t ossify_connect(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                       ossify_skeleton *skeleton, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_CONNECT,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = (ossify_rig *)rig,
                                    .skeleton = skeleton};
    return frame_run(&request, info);
}

int64_t ossify_articulate(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                          ossify_skeleton *skeleton, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_ARTICULATE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .skeleton = skeleton};
    return frame_run(&request, info);
}

int64_t ossify_bone_costs(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                          double *costs, ossify_info *info) {
    ossify_costs result = {.struct_size = sizeof result, .costs = costs};
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_BONE_COSTS,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = (ossify_rig *)rig,
                                    .result = &result};
    return frame_run(&request, info);
}

int64_t ossify_add_bone(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                        int64_t vertex, int64_t split, ossify_info *info) {
    const ossify_place place = {.struct_size = sizeof place, .vertex = vertex, .split = split};
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_ADD_BONE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .options = &place};
    return frame_run(&request, info);
}

int64_t ossify_prune_weights(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                             int64_t influences, ossify_info *info) {
    const ossify_fewer fewer = {.struct_size = sizeof fewer, .influences = influences};
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_PRUNE_WEIGHTS,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .options = &fewer};
    return frame_run(&request, info);
}

int64_t ossify_smooth_weights(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                              const ossify_smoother *smoother, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_SMOOTH_WEIGHTS,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .options = smoother};
    return frame_run(&request, info);
}

int64_t ossify_correct(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                       const ossify_correction *correction, ossify_corrected *corrected, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_CORRECT,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .options = correction,
                                    .result = corrected};
    return frame_run(&request, info);
}

int64_t ossify_animation_space(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                               const ossify_space_fit *fit, ossify_space *space, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_ANIMATION_SPACE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .space = space,
                                    .options = fit};
    return frame_run(&request, info);
}

int64_t ossify_unite(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                     const ossify_subjects *subjects, ossify_united *united, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_UNITE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .options = subjects,
                                    .result = united};
    return frame_run(&request, info);
}

int64_t ossify_shape_bones(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                           const ossify_shaping *shaping, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_SHAPE_BONES,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .options = shaping};
    return frame_run(&request, info);
}

int64_t ossify_merge(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                     const ossify_merging *merging, ossify_merged *merged, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_MERGE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .options = merging,
                                    .result = merged};
    return frame_run(&request, info);
}

int64_t ossify_place_joints(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                            const ossify_bodies *bodies, ossify_placed *placed, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_PLACE_JOINTS,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = (ossify_rig *)rig,
                                    .options = bodies,
                                    .result = placed};
    return frame_run(&request, info);
}

int64_t ossify_compress(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                        const ossify_compression *compression, ossify_layers *layers, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_COMPRESS,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .options = compression,
                                    .result = layers};
    return frame_run(&request, info);
}

int64_t ossify_drive(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                     const ossify_driving *driving, ossify_driven *driven, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_DRIVE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = rig,
                                    .options = driving,
                                    .result = driven};
    return frame_run(&request, info);
}

int64_t ossify_unwrap(const ossify_poses *poses, const ossify_settings *settings,
                      const ossify_unwrapping *unwrapping, ossify_unwrapped *unwrapped, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_UNWRAP,
                                    .poses = poses,
                                    .settings = settings,
                                    .options = unwrapping,
                                    .result = unwrapped};
    return frame_run(&request, info);
}

int64_t ossify_fuse(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                    const ossify_fusion *fusion, ossify_groups *groups, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_FUSE,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = (ossify_rig *)rig,
                                    .options = fusion,
                                    .result = groups};
    return frame_run(&request, info);
}

int64_t ossify_inspect(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                       const ossify_skeleton *skeleton, ossify_conduct *conduct, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_INSPECT,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = (ossify_rig *)rig,
                                    .skeleton = (ossify_skeleton *)skeleton,
                                    .result = conduct};
    return frame_run(&request, info);
}

int64_t ossify_average_poses(const ossify_poses *poses, const ossify_settings *settings,
                             const ossify_rig *rig, const ossify_space *space, const ossify_pose_model *model,
                             ossify_average *average, ossify_info *info) {
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_AVERAGE_POSES,
                                    .poses = poses,
                                    .settings = settings,
                                    .rig = (ossify_rig *)rig,
                                    .space = (ossify_space *)space,
                                    .options = model,
                                    .result = average};
    return frame_run(&request, info);
}
