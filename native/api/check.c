/* check.c - refuses what the rooms cannot work with, in a sentence that names the array, the index
 * and the value, and says what to do. Rooms only assert.
 *
 * What is looked at is what the verb's row says that it reads (verb.h). Functions named bad_... say what is wrong and
 * return 1, or return 0. Here are the quick ones, which look at structs, settings and pointers, touch no array and run
 * before a call has threads; check_arrays.c and check_skeleton.c look at every number. */
#include "api/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The rooms count vertices times influences, and triangle corners, in int. */
#define MOST_VERTICES (INT32_MAX / OSSIFY_MAX_INFLUENCES)
#define MOST_TRIANGLES (INT32_MAX / 3)
#define MOST_FRAMES 1000000
#define MOST_ITERATIONS 1000000
#define MOST_SMOOTHNESS 1000.0
#define MOST_FAIRNESS 1000.0
#define MOST_PAIRS (OSSIFY_MAX_BONES * OSSIFY_MAX_BONES)
/* A solve keeps some forty bytes for a vertex and a bone. */
#define MOST_CELLS ((int64_t)1 << 31)
/* Bones that are nowhere the strongest are possible in a rig; many more than vertices are a mistake, and what is cubic
 * in the bones would take hours to find nothing. */
#define MOST_SPARE_BONES 64

_Static_assert(sizeof(void *) == 8, "public structs have fields of 8 bytes");
_Static_assert(sizeof(ossify_poses) == 9 * 8, "no padding");
_Static_assert(sizeof(ossify_progress) == 7 * 8, "no padding");
_Static_assert(sizeof(ossify_settings) == 25 * 8, "no padding");
_Static_assert(sizeof(ossify_rig) == 17 * 8, "no padding");
_Static_assert(sizeof(ossify_info) == (12 + OSSIFY_STAGES) * 8 + OSSIFY_MESSAGE_LENGTH, "no padding");
_Static_assert(sizeof(ossify_evaluation) == 17 * 8, "no padding");
_Static_assert(sizeof(ossify_skeleton) == 23 * 8, "no padding");
_Static_assert(sizeof(ossify_correction) == 10 * 8, "no padding");
_Static_assert(sizeof(ossify_corrected) == 4 * 8, "no padding");
_Static_assert(sizeof(ossify_space) == 5 * 8, "no padding");
_Static_assert(sizeof(ossify_space_fit) == 9 * 8, "no padding");
_Static_assert(sizeof(ossify_pose_model) == 4 * 8, "no padding");
_Static_assert(sizeof(ossify_average) == 3 * 8, "no padding");
_Static_assert(sizeof(ossify_compression) == 9 * 8, "no padding");
_Static_assert(sizeof(ossify_layers) == 8 * 8, "no padding");
_Static_assert(sizeof(ossify_subjects) == 5 * 8, "no padding");
_Static_assert(sizeof(ossify_united) == 5 * 8, "no padding");
_Static_assert(sizeof(ossify_shaping) == 3 * 8, "no padding");
_Static_assert(sizeof(ossify_merging) == 18 * 8, "no padding");
_Static_assert(sizeof(ossify_merged) == 5 * 8, "no padding");
_Static_assert(sizeof(ossify_bodies) == 7 * 8, "no padding");
_Static_assert(sizeof(ossify_placed) == 4 * 8, "no padding");
_Static_assert(sizeof(ossify_unwrapping) == 7 * 8, "no padding");
_Static_assert(sizeof(ossify_unwrapped) == 13 * 8, "no padding");
_Static_assert(sizeof(ossify_fusion) == 2 * 8, "no padding");
_Static_assert(sizeof(ossify_groups) == 3 * 8, "no padding");
_Static_assert(sizeof(ossify_conduct) == 10 * 8, "no padding");
_Static_assert(sizeof(ossify_request) == 10 * 8, "no padding");
_Static_assert(sizeof(ossify_driving) == 6 * 8, "no padding");
_Static_assert(sizeof(ossify_driven) == 9 * 8, "no padding");

/* ---- structs, settings, pointers ---- */

static int bad_struct(ossify_info *info, const char *argument, const char *type, const void *given,
                      size_t expected) {
    int64_t size;
    if (given == NULL) {
        return BAD(info, "%s is NULL: give the address of an %s", argument, type);
    }
    memcpy(&size, given, sizeof size);
    if (size == (int64_t)expected) {
        return 0;
    }
    return BAD(info,
               "%s has size %" PRId64 ", this library (%s) expects %d: the caller was built for another "
               "version, or did not set struct_size",
               type, size, ossify_version(), (int)expected);
}

/* Like bad_array for what may be left out. */
static int bad_option(ossify_info *info, const char *name, const void *array, size_t item) {
    return array != NULL && sentence_bad_array(info, name, array, item, "");
}

static int bad_subjects(ossify_info *info, int reads, const ossify_poses *poses) {
    if (sentence_bad_range(info, "poses.subject_count", poses->subject_count, 0, OSSIFY_MAX_SUBJECTS)) {
        return 1;
    }
    if (poses->subject_count < 2) {
        return 0;
    }
    if (!(reads & READS_SUBJECTS)) {
        return BAD(info,
                   "poses.subject_count is %" PRId64
                   ": this works on one body at a time; call it for each with its own rest and frames",
                   poses->subject_count);
    }
    if (poses->rest == NULL && reads & READS_REST) {
        return BAD(info,
                   "poses.rest is NULL: several subjects need a rest each; one without a neutral pose begins "
                   "with a mean body and settings.rest_mode OSSIFY_REST_FREE");
    }
    if (sentence_bad_array(info, "poses.subject", poses->subject, sizeof(int32_t), "[frame_count]")) {
        return 1;
    }
    for (int64_t f = 0; f < poses->frame_count; f++) {
        if (poses->subject[f] < 0 || poses->subject[f] >= poses->subject_count) {
            return BAD(info,
                       "poses.subject[%" PRId64 "] is %" PRId32 ": with %" PRId64
                       " subjects it must be 0..%" PRId64,
                       f, poses->subject[f], poses->subject_count, poses->subject_count - 1);
        }
    }
    return 0;
}

static int bad_poses(ossify_info *info, int reads, const ossify_poses *poses) {
    return bad_struct(info, "poses", "ossify_poses", poses, sizeof *poses) ||
           sentence_bad_range(info, "poses.vertex_count", poses->vertex_count, 1, MOST_VERTICES) ||
           sentence_bad_range(info, "poses.frame_count", poses->frame_count, 1, MOST_FRAMES) ||
           sentence_bad_range(info, "poses.triangle_count", poses->triangle_count, 0, MOST_TRIANGLES) ||
           bad_option(info, "poses.rest", poses->rest, sizeof(float)) ||
           (poses->triangle_count > 0 && sentence_bad_array(info, "poses.triangles", poses->triangles,
                                                            sizeof(int32_t), "[triangle_count][3]")) ||
           (reads & READS_FRAMES && sentence_bad_array(info, "poses.frames", poses->frames, sizeof(float),
                                                       "[frame_count][vertex_count][3]")) ||
           bad_subjects(info, reads, poses);
}

static int bad_memory(ossify_info *info, const ossify_settings *settings) {
    if (settings->allocate != NULL && settings->release == NULL) {
        return BAD(info, "settings.allocate is set but settings.release is NULL: set both or neither");
    }
    if (settings->allocate == NULL && settings->release != NULL) {
        return BAD(info, "settings.release is set but settings.allocate is NULL: set both or neither");
    }
    return 0;
}

static int bad_budget(ossify_info *info, const ossify_settings *settings) {
    if (settings->budget_kind == OSSIFY_BUDGET_NONE || settings->budget_kind == OSSIFY_BUDGET_PARTS ||
        (settings->budget > 0 && isfinite(settings->budget))) {
        return 0;
    }
    return BAD(info,
               "settings.budget is %s: with budget_kind %" PRId64
               " it must be a number above 0, in %s; or set budget_kind to OSSIFY_BUDGET_NONE",
               sentence_number(settings->budget).letters, settings->budget_kind,
               settings->budget_kind == OSSIFY_BUDGET_NORMALS ? "degrees"
               : settings->budget_kind == OSSIFY_BUDGET_BUMPS ? "mean edges"
                                                              : "percent of the rest's box diagonal");
}

static int bad_reals(ossify_info *info, const ossify_settings *settings) {
    if (!(settings->smoothness >= 0 && settings->smoothness <= MOST_SMOOTHNESS)) {
        return BAD(info, "settings.smoothness is %s: it must be 0..%g",
                   sentence_number(settings->smoothness).letters, MOST_SMOOTHNESS);
    }
    if (!(settings->fairness >= 0 && settings->fairness <= MOST_FAIRNESS)) {
        return BAD(info, "settings.fairness is %s: it must be 0..%g",
                   sentence_number(settings->fairness).letters, MOST_FAIRNESS);
    }
    if (!(settings->until >= 0 && isfinite(settings->until))) {
        return BAD(info, "settings.until is %s: it must be 0 (never stop early) or an error above 0",
                   sentence_number(settings->until).letters);
    }
    if (!(settings->start_tolerance >= 0 && isfinite(settings->start_tolerance))) {
        return BAD(info, "settings.start_tolerance is %s: it must be 0 (to the count) or an error above 0",
                   sentence_number(settings->start_tolerance).letters);
    }
    return bad_budget(info, settings);
}

static int bad_all_settings(ossify_info *info, const ossify_settings *settings) {
    return bad_struct(info, "settings", "ossify_settings", settings, sizeof *settings) ||
           sentence_bad_range(info, "settings.bones", settings->bones, 1, OSSIFY_MAX_BONES) ||
           sentence_bad_range(info, "settings.influences", settings->influences, 1, OSSIFY_MAX_INFLUENCES) ||
           sentence_bad_range(info, "settings.bone_kind", settings->bone_kind, OSSIFY_RIGID,
                              OSSIFY_FLEXIBLE) ||
           sentence_bad_range(info, "settings.quality", settings->quality, OSSIFY_DRAFT, OSSIFY_BEST) ||
           sentence_bad_range(info, "settings.rest_mode", settings->rest_mode, OSSIFY_REST_FIXED,
                              OSSIFY_REST_SMOOTH) ||
           sentence_bad_range(info, "settings.locality", settings->locality, 0, 1) ||
           sentence_bad_range(info, "settings.start", settings->start, OSSIFY_START_GROWN,
                              OSSIFY_START_TRIED) ||
           sentence_bad_range(info, "settings.budget_kind", settings->budget_kind, OSSIFY_BUDGET_NONE,
                              OSSIFY_BUDGET_BUMPS) ||
           sentence_bad_range(info, "settings.iterations", settings->iterations, 0, MOST_ITERATIONS) ||
           sentence_bad_range(info, "settings.threads", settings->threads, 0, MOST_THREADS) ||
           sentence_bad_range(info, "settings.relocate", settings->relocate, OSSIFY_RELOCATE_NONE,
                              OSSIFY_RELOCATE_ALL) ||
           sentence_bad_range(info, "settings.jointed", settings->jointed, 0, 1) ||
           sentence_bad_range(info, "settings.connect", settings->connect, OSSIFY_CONNECT_BOTH,
                              OSSIFY_CONNECT_STABLE) ||
           bad_reals(info, settings) || bad_memory(info, settings);
}

/* What a verb has no use for may be anything. */
static int bad_settings(ossify_info *info, int reads, const ossify_settings *settings) {
    if (reads & READS_SETTINGS) {
        return bad_all_settings(info, settings);
    }
    return settings != NULL && (bad_struct(info, "settings", "ossify_settings", settings, sizeof *settings) ||
                                bad_memory(info, settings));
}

static int bad_correctives(ossify_info *info, const ossify_rig *rig) {
    return sentence_bad_range(info, "rig.corrective_capacity", rig->corrective_capacity, 0,
                              OSSIFY_MAX_CORRECTIVES) ||
           sentence_bad_range(info, "rig.correctives", rig->correctives, 0, rig->corrective_capacity) ||
           (rig->corrective_capacity > 0 &&
            (sentence_bad_array(info, "rig.fields", rig->fields, sizeof(float),
                                "[corrective_capacity][vertex_count][3]") ||
             sentence_bad_array(info, "rig.coefficients", rig->coefficients, sizeof(double),
                                "[frame_count][corrective_capacity]")));
}

static int bad_rig_arrays(ossify_info *info, int reads, const ossify_poses *poses, const ossify_rig *rig) {
    const int64_t most = INT32_MAX / poses->vertex_count < OSSIFY_MAX_BONES ? INT32_MAX / poses->vertex_count
                                                                            : OSSIFY_MAX_BONES;
    return bad_struct(info, "rig", "ossify_rig", rig, sizeof *rig) ||
           sentence_bad_range(info, "rig.bone_capacity", rig->bone_capacity, 1, OSSIFY_MAX_BONES) ||
           sentence_bad_range(info, "rig.influences", rig->influences, 1,
                              reads & READS_DENSE ? most : OSSIFY_MAX_INFLUENCES) ||
           sentence_bad_array(info, "rig.transforms", rig->transforms, sizeof(double),
                              "[frame_count][bone_capacity][3][4]") ||
           sentence_bad_array(info, "rig.influence_bones", rig->influence_bones, sizeof(int32_t),
                              "[vertex_count][influences]") ||
           sentence_bad_array(info, "rig.influence_weights", rig->influence_weights, sizeof(float),
                              "[vertex_count][influences]") ||
           sentence_bad_array(info, "rig.rest", rig->rest, sizeof(float), "[vertex_count][3]") ||
           bad_correctives(info, rig);
}

static int bad_cells(ossify_info *info, const char *name, int64_t bones, const ossify_poses *poses) {
    if (bones <= MOST_CELLS / poses->vertex_count) {
        return 0;
    }
    return BAD(info,
               "%s is %" PRId64 " and poses.vertex_count %" PRId64 ": their product may be %" PRId64
               " at most; take fewer bones, or a coarser mesh",
               name, bones, poses->vertex_count, MOST_CELLS);
}

static int bad_bones_in_use(ossify_info *info, const ossify_poses *poses, const ossify_rig *rig) {
    if (rig->bones < 1 || rig->bones > rig->bone_capacity) {
        return BAD(
            info, "rig.bones is %" PRId64 ": the rig must come with 1..%" PRId64 " bones (its bone_capacity)",
            rig->bones, rig->bone_capacity);
    }
    if (rig->bones > poses->vertex_count + MOST_SPARE_BONES) {
        return BAD(
            info,
            "rig.bones is %" PRId64 ", but there are only %" PRId64
            " vertices: a rig may have %d bones more than vertices at most; leave out those that move none",
            rig->bones, poses->vertex_count, MOST_SPARE_BONES);
    }
    return bad_cells(info, "rig.bones", rig->bones, poses);
}

/* What is held must be given. */
static int bad_held(ossify_info *info, const ossify_rig *rig, const char *name, const uint8_t *held,
                    int64_t given, const char *flag) {
    if (held == NULL || rig->given & given) {
        return 0;
    }
    return BAD(info, "rig.held_%s is set but rig.given is %" PRId64 ": add %s, or set held_%s to NULL", name,
               rig->given, flag, name);
}

static int bad_given(ossify_info *info, const ossify_poses *poses, const ossify_rig *rig) {
    if (sentence_bad_range(info, "rig.given", rig->given, OSSIFY_GIVEN_NOTHING,
                           OSSIFY_GIVEN_TRANSFORMS + OSSIFY_GIVEN_WEIGHTS)) {
        return 1;
    }
    if (bad_held(info, rig, "transforms", rig->held_transforms, OSSIFY_GIVEN_TRANSFORMS,
                 "OSSIFY_GIVEN_TRANSFORMS") ||
        bad_held(info, rig, "vertices", rig->held_vertices, OSSIFY_GIVEN_WEIGHTS, "OSSIFY_GIVEN_WEIGHTS") ||
        bad_held(info, rig, "groups", rig->held_groups, OSSIFY_GIVEN_WEIGHTS, "OSSIFY_GIVEN_WEIGHTS") ||
        bad_held(info, rig, "rest", rig->held_rest, OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS,
                 "OSSIFY_GIVEN_TRANSFORMS or OSSIFY_GIVEN_WEIGHTS")) {
        return 1;
    }
    return rig->given != OSSIFY_GIVEN_NOTHING && bad_bones_in_use(info, poses, rig);
}

/* What is right by itself but not together. */
static int bad_together(ossify_info *info, const ossify_poses *poses, const ossify_settings *settings,
                        const ossify_rig *rig) {
    if (settings->influences > rig->influences) {
        return BAD(info,
                   "settings.influences is %" PRId64 ", but the rig's arrays have room for %" PRId64
                   ": make rig.influences larger or ask for fewer",
                   settings->influences, rig->influences);
    }
    if (rig->given == OSSIFY_GIVEN_NOTHING && settings->bones > rig->bone_capacity) {
        return BAD(info,
                   "settings.bones is %" PRId64 ", but the rig's arrays have room for %" PRId64
                   ": make rig.bone_capacity larger or ask for fewer",
                   settings->bones, rig->bone_capacity);
    }
    if (rig->given == OSSIFY_GIVEN_NOTHING && bad_cells(info, "settings.bones", settings->bones, poses)) {
        return 1;
    }
    if (rig->given != OSSIFY_GIVEN_NOTHING && settings->budget_kind != OSSIFY_BUDGET_NONE) {
        return BAD(info,
                   "settings.budget_kind is %" PRId64 " and rig.given is %" PRId64
                   ": a given rig fixes the number of bones; set budget_kind to OSSIFY_BUDGET_NONE",
                   settings->budget_kind, rig->given);
    }
    if (settings->budget_kind >= OSSIFY_BUDGET_NORMALS && poses->triangle_count == 0) {
        return BAD(info,
                   "settings.budget_kind is %" PRId64
                   " and poses.triangle_count is 0: normals and bumps are those of a surface; give its "
                   "triangles, or a budget of the error",
                   settings->budget_kind);
    }
    if (poses->rest == NULL && settings->rest_mode == OSSIFY_REST_FIXED) {
        return BAD(info,
                   "poses.rest is NULL and settings.rest_mode is OSSIFY_REST_FIXED: there is nothing to "
                   "keep fixed; give a rest pose or choose another rest_mode");
    }
    return 0;
}

static int bad_evaluation(ossify_info *info, const ossify_evaluation *evaluation) {
    return bad_struct(info, "evaluation", "ossify_evaluation", evaluation, sizeof *evaluation) ||
           bad_option(info, "evaluation.frames", evaluation->frames, sizeof(float)) ||
           bad_option(info, "evaluation.vertex_error", evaluation->vertex_error, sizeof(double)) ||
           bad_option(info, "evaluation.frame_error", evaluation->frame_error, sizeof(double)) ||
           bad_option(info, "evaluation.vertex_degrees", evaluation->vertex_degrees, sizeof(double));
}

/* A space that is only read must hold something. */
static int bad_space(ossify_info *info, const Verb *verb, const ossify_space *space) {
    return bad_struct(info, "space", "ossify_space", space, sizeof *space) ||
           sentence_bad_range(info, "space.influences", space->influences, 1, OSSIFY_MAX_INFLUENCES) ||
           sentence_bad_range(info, "space.given", space->given, verb->writes & WRITES_SPACE ? 0 : 1, 1) ||
           sentence_bad_array(info, "space.bones", space->bones, sizeof(int32_t),
                              "[vertex_count][influences]") ||
           sentence_bad_array(info, "space.corrections", space->corrections, sizeof(float),
                              "[vertex_count][influences][4]");
}

static int bad_pairs_shape(ossify_info *info, const char *name, int64_t count, const int32_t *pairs) {
    char what[32];
    snprintf(what, sizeof what, "skeleton.%s_count", name);
    if (sentence_bad_range(info, what, count, 0, MOST_PAIRS)) {
        return 1;
    }
    snprintf(what, sizeof what, "skeleton.%s", name);
    return count > 0 && sentence_bad_array(info, what, pairs, sizeof(int32_t), "[count][2]");
}

static int bad_skeleton_arrays(ossify_info *info, const ossify_skeleton *skeleton) {
    return sentence_bad_array(info, "skeleton.parents", skeleton->parents, sizeof(int32_t),
                              "[bone_capacity]") ||
           sentence_bad_array(info, "skeleton.joint_kinds", skeleton->joint_kinds, sizeof(int32_t),
                              "[bone_capacity]") ||
           sentence_bad_array(info, "skeleton.mirrors", skeleton->mirrors, sizeof(int32_t),
                              "[bone_capacity]") ||
           sentence_bad_array(info, "skeleton.joints", skeleton->joints, sizeof(double),
                              "[bone_capacity][3]") ||
           sentence_bad_array(info, "skeleton.axes", skeleton->axes, sizeof(double), "[bone_capacity][3]") ||
           sentence_bad_array(info, "skeleton.angles", skeleton->angles, sizeof(double), "[bone_capacity]") ||
           sentence_bad_array(info, "skeleton.drifts", skeleton->drifts, sizeof(double), "[bone_capacity]");
}

static int bad_skeleton(ossify_info *info, const ossify_rig *rig, const ossify_skeleton *skeleton) {
    return bad_struct(info, "skeleton", "ossify_skeleton", skeleton, sizeof *skeleton) ||
           sentence_bad_range(info, "skeleton.bone_capacity", skeleton->bone_capacity, rig->bones,
                              OSSIFY_MAX_BONES) ||
           sentence_bad_range(info, "skeleton.root", skeleton->root, -1, rig->bones - 1) ||
           sentence_bad_range(info, "skeleton.forest", skeleton->forest, 0, 1) ||
           sentence_bad_range(info, "skeleton.stretch", skeleton->stretch, 0, 1) ||
           sentence_bad_range(info, "skeleton.symmetry", skeleton->symmetry, OSSIFY_SYMMETRY_NONE,
                              OSSIFY_SYMMETRY_GIVEN) ||
           (skeleton->symmetry == OSSIFY_SYMMETRY_GIVEN && check_skeleton_plane(info, skeleton)) ||
           bad_pairs_shape(info, "demanded", skeleton->demanded_count, skeleton->demanded) ||
           bad_pairs_shape(info, "forbidden", skeleton->forbidden_count, skeleton->forbidden) ||
           bad_option(info, "skeleton.stiffness", skeleton->stiffness, sizeof(double)) ||
           bad_skeleton_arrays(info, skeleton);
}

static int bad_rig(ossify_info *info, const Verb *verb, const ossify_request *request) {
    const int reads = verb->reads;
    const ossify_rig *rig = request->rig;
    const int64_t whole = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    if (bad_rig_arrays(info, reads, request->poses, rig)) {
        return 1;
    }
    if (verb->writes & MEASURES && !(reads & READS_FIELDS) && rig->correctives != 0) {
        return BAD(
            info,
            "rig.correctives is %" PRId64
            ": bones are solved without correctives; set it to 0, and let ossify_correct solve them again",
            rig->correctives);
    }
    if (!(reads & READS_GIVEN)) {
        return bad_bones_in_use(info, request->poses, rig);
    }
    if (bad_given(info, request->poses, rig) || bad_together(info, request->poses, request->settings, rig)) {
        return 1;
    }
    if (reads & READS_RIG && rig->given != whole) {
        return BAD(info,
                   "rig.given is %" PRId64
                   ": this needs a whole rig to start from; decompose first and set it to "
                   "OSSIFY_GIVEN_TRANSFORMS + OSSIFY_GIVEN_WEIGHTS",
                   rig->given);
    }
    return 0;
}

static int bad_noun(ossify_info *info, const char *argument, Noun noun, const void *given) {
    return noun.type != NULL && bad_struct(info, argument, noun.type, given, noun.size);
}

int check_info(ossify_info *info) {
    if (info == NULL || info->struct_size != (int64_t)sizeof *info) {
        return 0;
    }
    *info = (ossify_info){.struct_size = sizeof *info,
                          .erms = -1,
                          .rms_percent = -1,
                          .maximum_percent = -1,
                          .normal_degrees = -1,
                          .bumps = -1,
                          .rest_normal_degrees = -1,
                          .rest_bumps = -1,
                          .rest_percent = -1};
    return 1;
}

int check_request(const ossify_request *request, ossify_info *info) {
    return !(bad_struct(info, "request", "ossify_request", request, sizeof *request) ||
             sentence_bad_range(info, "request.verb", request->verb, 0, OSSIFY_VERBS - 1));
}

int64_t check_structs(const Verb *verb, const ossify_request *request, ossify_info *info) {
    const int bad = bad_poses(info, verb->reads, request->poses) ||
                    bad_settings(info, verb->reads, request->settings) ||
                    (verb_has_rig(verb) && bad_rig(info, verb, request)) ||
                    (verb_has_skeleton(verb) && bad_skeleton(info, request->rig, request->skeleton)) ||
                    (verb_has_space(verb, request) && bad_space(info, verb, request->space)) ||
                    (verb->writes & WRITES_EVALUATION && bad_evaluation(info, request->evaluation)) ||
                    bad_noun(info, "request.options", verb->options, request->options) ||
                    bad_noun(info, "request.result", verb->result, request->result) ||
                    (verb->refuses != NULL && verb->refuses(request, info));
    return bad ? OSSIFY_BAD_ARGUMENT : 0;
}
