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
        .fairness = 10,
        .connect = OSSIFY_CONNECT_BOTH,
    };
}
