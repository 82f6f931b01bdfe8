/* about.c - what a caller asks before the first verb: the version, and settings with their defaults. */
#include <stddef.h>

#include "ossify.h"

#ifndef OSSIFY_VERSION
#error "build with make, which takes OSSIFY_VERSION from blender_manifest.toml"
#endif

const char *ossify_version(void) {
    return OSSIFY_VERSION;
}

void ossify_default_settings(ossify_settings *settings) {
    if (settings == NULL) {
        return;
    }
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
        .fairness = 10,
        .relocate = OSSIFY_RELOCATE_NONE,
        .connect = OSSIFY_CONNECT_BOTH,
    };
}

void ossify_default_correction(ossify_correction *correction) {
    if (correction == NULL) {
        return;
    }
    *correction = (ossify_correction){
        .struct_size = sizeof *correction,
        .count = 5,
        .budget_kind = OSSIFY_BUDGET_NONE,
        .support = OSSIFY_SUPPORT_WHOLE,
    };
}

void ossify_default_space_fit(ossify_space_fit *fit) {
    if (fit == NULL) {
        return;
    }
    *fit = (ossify_space_fit){
        .struct_size = sizeof *fit,
        .bones = OSSIFY_SPACE_OWN,
        .form = OSSIFY_SPACE_CORRECTIONS,
        .rest_exact = 1,
        .smoothness = 1e-3,
        .damping = 1e-2,
    };
}

void ossify_default_compression(ossify_compression *compression) {
    if (compression == NULL) {
        return;
    }
    *compression = (ossify_compression){
        .struct_size = sizeof *compression,
        .virtual_bones = 100,
        .masters = 8,
        .influences = 4,
        .source = OSSIFY_SOURCE_WEIGHTS,
        .method = OSSIFY_COMPRESS_EXACT,
    };
}

void ossify_default_driving(ossify_driving *driving) {
    if (driving == NULL) {
        return;
    }
    *driving = (ossify_driving){
        .struct_size = sizeof *driving, .count = 5, .joint_count = 20, .form = OSSIFY_DRIVEN_FOUND};
}

void ossify_default_unwrapping(ossify_unwrapping *unwrapping) {
    if (unwrapping == NULL) {
        return;
    }
    *unwrapping = (ossify_unwrapping){
        .struct_size = sizeof *unwrapping,
        .method = OSSIFY_UNWRAP_STRETCH,
        .place = OSSIFY_UNWRAP_KEPT,
        .iterations = 50,
        .margin = 0.005,
    };
}
