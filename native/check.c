/* check.c - refuses what the rooms cannot work with, in a sentence that names the array, the index
 * and the value, and says what to do. Rooms only assert.
 *
 * Functions named bad_... say what is wrong and return 1, or return 0. The quick ones look at structs,
 * settings and pointers and touch no array; they run before a call has threads. The scans look at
 * every number of every array, in parallel, and always name the first one at fault. */
#include "rooms.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The rooms count vertices times influences, and triangle corners, in int. */
#define MOST_VERTICES (INT32_MAX / OSSIFY_MAX_INFLUENCES)
#define MOST_TRIANGLES (INT32_MAX / 3)
#define MOST_FRAMES 1000000
#define MOST_ITERATIONS 1000000
#define MOST_THREADS 256
#define MOST_SMOOTHNESS 1000.0
/* Fourth powers of coordinates, summed, stay far below the largest double. */
#define LARGEST 1e30f
#define SUM_TOLERANCE 1e-3
#define UNIT_TOLERANCE 1e-6
#define MOST_PAIRS (OSSIFY_MAX_BONES * OSSIFY_MAX_BONES)

_Static_assert(sizeof(void *) == 8, "public structs have fields of 8 bytes");
_Static_assert(sizeof(ossify_poses) == 7 * 8, "no padding");
_Static_assert(sizeof(ossify_progress) == 7 * 8, "no padding");
_Static_assert(sizeof(ossify_settings) == 20 * 8, "no padding");
_Static_assert(sizeof(ossify_rig) == 11 * 8, "no padding");
_Static_assert(sizeof(ossify_info) == (7 + OSSIFY_STAGES) * 8 + OSSIFY_MESSAGE_LENGTH, "no padding");
_Static_assert(sizeof(ossify_evaluation) == 11 * 8, "no padding");
_Static_assert(sizeof(ossify_skeleton) == 21 * 8, "no padding");

/* ---- sentences ---- */

static void cut_after_a_word(char *message, size_t length) {
    while (length > 0 && message[length] != ' ')
        length--;
    message[length] = '\0';
}

int64_t refuse(ossify_info *info, int64_t status, const char *format, ...) {
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = vsnprintf(info->message, sizeof info->message, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof info->message)
        cut_after_a_word(info->message, sizeof info->message - 1);
    info->status = status;
    return status;
}

#define BAD(info, ...) ((int)(refuse((info), OSSIFY_BAD_ARGUMENT, __VA_ARGS__) != 0))

typedef struct Text {
    char letters[32];
} Text;

/* C runtimes differ in how they print what is not finite. */
static Text number(double x) {
    Text text;
    if (isnan(x))
        strcpy(text.letters, "nan");
    else if (isinf(x))
        strcpy(text.letters, x < 0 ? "-inf" : "inf");
    else
        snprintf(text.letters, sizeof text.letters, "%.7g", x);
    return text;
}

/* ---- structs, settings, pointers ---- */

static int bad_struct(ossify_info *info, const char *argument, const char *type, const void *given,
                      size_t expected) {
    int64_t size;
    if (given == NULL)
        return BAD(info, "%s is NULL: give the address of an %s", argument, type);
    memcpy(&size, given, sizeof size);
    if (size == (int64_t)expected)
        return 0;
    return BAD(info,
               "%s has size %" PRId64 ", this library (%s) expects %d: the caller was built for another "
               "version, or did not set struct_size",
               type, size, ossify_version(), (int)expected);
}

static int bad_whole(ossify_info *info, const char *name, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most)
        return 0;
    return BAD(info, "%s is %" PRId64 ": it must be %" PRId64 "..%" PRId64, name, value, least, most);
}

static int bad_array(ossify_info *info, const char *name, const void *array, size_t item, const char *shape) {
    if (array == NULL)
        return BAD(info, "%s is NULL: it must point to an array %s", name, shape);
    if ((uintptr_t)array % item != 0)
        return BAD(info, "%s is not aligned: its address must be a multiple of %d; give a copy", name,
                   (int)item);
    return 0;
}

/* Like bad_array for what may be left out. */
static int bad_option(ossify_info *info, const char *name, const void *array, size_t item) {
    return array != NULL && bad_array(info, name, array, item, "");
}

static int bad_shape(ossify_info *info, const ossify_poses *poses) {
    return bad_struct(info, "poses", "ossify_poses", poses, sizeof *poses) ||
           bad_whole(info, "poses.vertex_count", poses->vertex_count, 1, MOST_VERTICES) ||
           bad_whole(info, "poses.frame_count", poses->frame_count, 1, MOST_FRAMES) ||
           bad_whole(info, "poses.triangle_count", poses->triangle_count, 0, MOST_TRIANGLES) ||
           bad_option(info, "poses.rest", poses->rest, sizeof(float)) ||
           (poses->triangle_count > 0 &&
            bad_array(info, "poses.triangles", poses->triangles, sizeof(int32_t), "[triangle_count][3]"));
}

static int bad_poses(ossify_info *info, const ossify_poses *poses) {
    return bad_shape(info, poses) ||
           bad_array(info, "poses.frames", poses->frames, sizeof(float), "[frame_count][vertex_count][3]");
}

static int bad_memory(ossify_info *info, const ossify_settings *settings) {
    if (settings->allocate != NULL && settings->release == NULL)
        return BAD(info, "settings.allocate is set but settings.release is NULL: set both or neither");
    if (settings->allocate == NULL && settings->release != NULL)
        return BAD(info, "settings.release is set but settings.allocate is NULL: set both or neither");
    return 0;
}

static int bad_budget(ossify_info *info, const ossify_settings *settings) {
    if (settings->budget_kind == OSSIFY_BUDGET_NONE || settings->budget_kind == OSSIFY_BUDGET_PARTS ||
        (settings->budget > 0 && isfinite(settings->budget)))
        return 0;
    return BAD(info,
               "settings.budget is %s: with budget_kind %" PRId64
               " it must be a number above 0, in percent of "
               "the rest's box diagonal; or set budget_kind to OSSIFY_BUDGET_NONE",
               number(settings->budget).letters, settings->budget_kind);
}

static int bad_reals(ossify_info *info, const ossify_settings *settings) {
    if (!(settings->smoothness >= 0 && settings->smoothness <= MOST_SMOOTHNESS))
        return BAD(info, "settings.smoothness is %s: it must be 0..%g", number(settings->smoothness).letters,
                   MOST_SMOOTHNESS);
    if (!(settings->until >= 0 && isfinite(settings->until)))
        return BAD(info, "settings.until is %s: it must be 0 (never stop early) or an error above 0",
                   number(settings->until).letters);
    return bad_budget(info, settings);
}

static int bad_settings(ossify_info *info, const ossify_settings *settings) {
    return bad_struct(info, "settings", "ossify_settings", settings, sizeof *settings) ||
           bad_whole(info, "settings.bones", settings->bones, 1, OSSIFY_MAX_BONES) ||
           bad_whole(info, "settings.influences", settings->influences, 1, OSSIFY_MAX_INFLUENCES) ||
           bad_whole(info, "settings.bone_kind", settings->bone_kind, OSSIFY_RIGID, OSSIFY_FLEXIBLE) ||
           bad_whole(info, "settings.quality", settings->quality, OSSIFY_DRAFT, OSSIFY_BEST) ||
           bad_whole(info, "settings.rest_mode", settings->rest_mode, OSSIFY_REST_FIXED, OSSIFY_REST_FREE) ||
           bad_whole(info, "settings.locality", settings->locality, 0, 1) ||
           bad_whole(info, "settings.start", settings->start, OSSIFY_START_GROWN, OSSIFY_START_TRIED) ||
           bad_whole(info, "settings.budget_kind", settings->budget_kind, OSSIFY_BUDGET_NONE,
                     OSSIFY_BUDGET_PARTS) ||
           bad_whole(info, "settings.iterations", settings->iterations, 0, MOST_ITERATIONS) ||
           bad_whole(info, "settings.threads", settings->threads, 0, MOST_THREADS) ||
           bad_reals(info, settings) || bad_memory(info, settings);
}

static int bad_rig(ossify_info *info, const ossify_rig *rig) {
    return bad_struct(info, "rig", "ossify_rig", rig, sizeof *rig) ||
           bad_whole(info, "rig.bone_capacity", rig->bone_capacity, 1, OSSIFY_MAX_BONES) ||
           bad_whole(info, "rig.influences", rig->influences, 1, OSSIFY_MAX_INFLUENCES) ||
           bad_array(info, "rig.transforms", rig->transforms, sizeof(double),
                     "[frame_count][bone_capacity][3][4]") ||
           bad_array(info, "rig.influence_bones", rig->influence_bones, sizeof(int32_t),
                     "[vertex_count][influences]") ||
           bad_array(info, "rig.influence_weights", rig->influence_weights, sizeof(float),
                     "[vertex_count][influences]") ||
           bad_array(info, "rig.rest", rig->rest, sizeof(float), "[vertex_count][3]");
}

static int bad_bones_in_use(ossify_info *info, const ossify_rig *rig) {
    if (rig->bones >= 1 && rig->bones <= rig->bone_capacity)
        return 0;
    return BAD(info,
               "rig.bones is %" PRId64 ": the rig must come with 1..%" PRId64 " bones (its bone_capacity)",
               rig->bones, rig->bone_capacity);
}

static int bad_given(ossify_info *info, const ossify_rig *rig) {
    if (bad_whole(info, "rig.given", rig->given, OSSIFY_GIVEN_NOTHING,
                  OSSIFY_GIVEN_TRANSFORMS + OSSIFY_GIVEN_WEIGHTS))
        return 1;
    if (rig->held_bones != NULL && !(rig->given & OSSIFY_GIVEN_TRANSFORMS))
        return BAD(info,
                   "rig.held_bones is set but rig.given is %" PRId64
                   ": add OSSIFY_GIVEN_TRANSFORMS, or set held_bones to NULL",
                   rig->given);
    if (rig->held_vertices != NULL && !(rig->given & OSSIFY_GIVEN_WEIGHTS))
        return BAD(info,
                   "rig.held_vertices is set but rig.given is %" PRId64
                   ": add OSSIFY_GIVEN_WEIGHTS, or set held_vertices to NULL",
                   rig->given);
    return rig->given != OSSIFY_GIVEN_NOTHING && bad_bones_in_use(info, rig);
}

/* What is right by itself but not together. */
static int bad_together(ossify_info *info, const ossify_poses *poses, const ossify_settings *settings,
                        const ossify_rig *rig) {
    if (settings->influences > rig->influences)
        return BAD(info,
                   "settings.influences is %" PRId64 ", but the rig's arrays have room for %" PRId64
                   ": make rig.influences larger or ask for fewer",
                   settings->influences, rig->influences);
    if (rig->given == OSSIFY_GIVEN_NOTHING && settings->bones > rig->bone_capacity)
        return BAD(info,
                   "settings.bones is %" PRId64 ", but the rig's arrays have room for %" PRId64
                   ": make rig.bone_capacity larger or ask for fewer",
                   settings->bones, rig->bone_capacity);
    if (rig->given != OSSIFY_GIVEN_NOTHING && settings->budget_kind != OSSIFY_BUDGET_NONE)
        return BAD(info,
                   "settings.budget_kind is %" PRId64 " and rig.given is %" PRId64
                   ": a given rig fixes the number of bones; set budget_kind to OSSIFY_BUDGET_NONE",
                   settings->budget_kind, rig->given);
    if (poses->rest == NULL && settings->rest_mode == OSSIFY_REST_FIXED)
        return BAD(info,
                   "poses.rest is NULL and settings.rest_mode is OSSIFY_REST_FIXED: there is nothing to "
                   "keep fixed; give a rest pose or choose another rest_mode");
    return 0;
}

static int bad_evaluation(ossify_info *info, const ossify_evaluation *evaluation) {
    return bad_struct(info, "evaluation", "ossify_evaluation", evaluation, sizeof *evaluation) ||
           bad_option(info, "evaluation.frames", evaluation->frames, sizeof(float)) ||
           bad_option(info, "evaluation.vertex_error", evaluation->vertex_error, sizeof(double)) ||
           bad_option(info, "evaluation.frame_error", evaluation->frame_error, sizeof(double));
}

static int bad_pairs_shape(ossify_info *info, const char *name, int64_t count, const int32_t *pairs) {
    char what[32];
    snprintf(what, sizeof what, "skeleton.%s_count", name);
    if (bad_whole(info, what, count, 0, MOST_PAIRS))
        return 1;
    snprintf(what, sizeof what, "skeleton.%s", name);
    return count > 0 && bad_array(info, what, pairs, sizeof(int32_t), "[count][2]");
}

static int bad_skeleton_arrays(ossify_info *info, const ossify_skeleton *skeleton) {
    return bad_array(info, "skeleton.parents", skeleton->parents, sizeof(int32_t), "[bone_capacity]") ||
           bad_array(info, "skeleton.joint_kinds", skeleton->joint_kinds, sizeof(int32_t),
                     "[bone_capacity]") ||
           bad_array(info, "skeleton.mirrors", skeleton->mirrors, sizeof(int32_t), "[bone_capacity]") ||
           bad_array(info, "skeleton.joints", skeleton->joints, sizeof(double), "[bone_capacity][3]") ||
           bad_array(info, "skeleton.axes", skeleton->axes, sizeof(double), "[bone_capacity][3]") ||
           bad_array(info, "skeleton.angles", skeleton->angles, sizeof(double), "[bone_capacity]") ||
           bad_array(info, "skeleton.drifts", skeleton->drifts, sizeof(double), "[bone_capacity]");
}

static int bad_plane(ossify_info *info, const ossify_skeleton *skeleton) {
    const double *n = skeleton->plane;
    const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (fabs(length - 1) > UNIT_TOLERANCE || isnan(length))
        return BAD(info, "skeleton.plane has a normal of length %s: it must be 1", number(length).letters);
    if (!(fabs(n[3]) <= (double)LARGEST))
        return BAD(info, "skeleton.plane[3] is %s: it must be finite and within %g", number(n[3]).letters,
                   (double)LARGEST);
    return 0;
}

static int bad_skeleton(ossify_info *info, const ossify_rig *rig, const ossify_skeleton *skeleton) {
    return bad_struct(info, "skeleton", "ossify_skeleton", skeleton, sizeof *skeleton) ||
           bad_whole(info, "skeleton.bone_capacity", skeleton->bone_capacity, rig->bones, OSSIFY_MAX_BONES) ||
           bad_whole(info, "skeleton.root", skeleton->root, -1, rig->bones - 1) ||
           bad_whole(info, "skeleton.forest", skeleton->forest, 0, 1) ||
           bad_whole(info, "skeleton.stretch", skeleton->stretch, 0, 1) ||
           bad_whole(info, "skeleton.symmetry", skeleton->symmetry, OSSIFY_SYMMETRY_NONE,
                     OSSIFY_SYMMETRY_GIVEN) ||
           (skeleton->symmetry == OSSIFY_SYMMETRY_GIVEN && bad_plane(info, skeleton)) ||
           bad_pairs_shape(info, "demanded", skeleton->demanded_count, skeleton->demanded) ||
           bad_pairs_shape(info, "forbidden", skeleton->forbidden_count, skeleton->forbidden) ||
           bad_skeleton_arrays(info, skeleton);
}

int check_info(ossify_info *info) {
    if (info == NULL || info->struct_size != (int64_t)sizeof *info)
        return 0;
    *info = (ossify_info){.struct_size = sizeof *info, .erms = -1, .rms_percent = -1, .maximum_percent = -1};
    return 1;
}

int64_t check_decompose(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                        ossify_info *info) {
    if (bad_poses(info, poses) || bad_settings(info, settings) || bad_rig(info, rig) ||
        bad_given(info, rig) || bad_together(info, poses, settings, rig))
        return OSSIFY_BAD_ARGUMENT;
    return 0;
}

int64_t check_connect(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                      const ossify_skeleton *skeleton, ossify_info *info) {
    if (bad_shape(info, poses) || bad_settings(info, settings) || bad_rig(info, rig) ||
        bad_bones_in_use(info, rig) || bad_skeleton(info, rig, skeleton))
        return OSSIFY_BAD_ARGUMENT;
    return 0;
}

/* What bones that hang together cannot be. */
static int bad_articulation(ossify_info *info, const ossify_settings *settings, const ossify_rig *rig) {
    const int64_t whole = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    if (rig->given != whole)
        return BAD(info,
                   "rig.given is %" PRId64
                   ": a refit about joints starts from a whole rig; decompose first and "
                   "set it to OSSIFY_GIVEN_TRANSFORMS + OSSIFY_GIVEN_WEIGHTS",
                   rig->given);
    if (settings->bone_kind != OSSIFY_RIGID)
        return BAD(info, "settings.bone_kind is %" PRId64 ": bones that turn about joints are OSSIFY_RIGID",
                   settings->bone_kind);
    for (int64_t b = 0; rig->held_bones != NULL && b < rig->bones; b++)
        if (rig->held_bones[b])
            return BAD(info,
                       "rig.held_bones[%" PRId64 "] is set: joints that hold move every bone; hold none, or "
                       "leave the bones free",
                       b);
    return 0;
}

int64_t check_articulate(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                         const ossify_skeleton *skeleton, ossify_info *info) {
    if (check_decompose(poses, settings, rig, info) < 0 || bad_articulation(info, settings, rig) ||
        bad_skeleton(info, rig, skeleton))
        return OSSIFY_BAD_ARGUMENT;
    return 0;
}

int64_t check_evaluate(const ossify_poses *poses, const ossify_rig *rig, const ossify_settings *settings,
                       const ossify_evaluation *evaluation, ossify_info *info) {
    if (bad_poses(info, poses) || bad_rig(info, rig) || bad_bones_in_use(info, rig) ||
        (settings != NULL && (bad_struct(info, "settings", "ossify_settings", settings, sizeof *settings) ||
                              bad_memory(info, settings))) ||
        bad_evaluation(info, evaluation))
        return OSSIFY_BAD_ARGUMENT;
    return 0;
}

/* ---- scans ---- */

enum { SCAN_TASKS = 64, SCAN_NUMBERS = 1 << 16 }; /* between two polls: 16 MB of floats */

/* The first item at fault in begin..end-1, or -1. */
typedef int64_t (*FindFault)(const void *array, int64_t begin, int64_t end);

typedef struct Scan {
    FindFault find;
    const void *array;
    int64_t begin, items, task_items;
    int64_t found[SCAN_TASKS];
} Scan;

static void scan_task(void *user, int task, int worker) {
    Scan *scan = user;
    int64_t begin = scan->begin + task * scan->task_items, end = begin + scan->task_items;
    (void)worker;
    if (end > scan->items)
        end = scan->items;
    scan->found[task] = scan->find(scan->array, begin, end);
}

/* The first item at fault, or -1: none, or cancelled. */
static int64_t first_fault(Call *call, FindFault find, const void *array, int64_t items,
                           int64_t item_numbers) {
    Scan scan = {.find = find, .array = array, .items = items};
    scan.task_items = item_numbers < SCAN_NUMBERS ? SCAN_NUMBERS / item_numbers : 1;
    for (; scan.begin < items; scan.begin += SCAN_TASKS * scan.task_items) {
        const int64_t left = (items - scan.begin + scan.task_items - 1) / scan.task_items;
        const int tasks = left < SCAN_TASKS ? (int)left : SCAN_TASKS;
        if (call_poll(call, 0))
            return -1;
        pool_run(call->pool, tasks, scan_task, &scan);
        for (int t = 0; t < tasks; t++)
            if (scan.found[t] >= 0)
                return scan.found[t];
    }
    return -1;
}

/* Without its sign bit, a float orders like its bits, and not-a-number comes last. */
static int32_t magnitude_bits(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & INT32_MAX;
}

static int64_t find_position(const void *array, int64_t begin, int64_t end) {
    const float *x = array;
    const int32_t largest = magnitude_bits(LARGEST);
    int any = 0;
    for (int64_t i = begin; i < end; i++)
        any |= magnitude_bits(x[i]) > largest;
    if (any)
        for (int64_t i = begin; i < end; i++)
            if (magnitude_bits(x[i]) > largest)
                return i;
    return -1;
}

static int bad_frames(Call *call, const ossify_poses *poses) {
    const int64_t frame = 3 * poses->vertex_count;
    const int64_t i = first_fault(call, find_position, poses->frames, frame * poses->frame_count, 1);
    if (i < 0)
        return atomic_load(&call->cancelled);
    return BAD(call->info,
               "frames[%" PRId64 "][%" PRId64 "][%" PRId64
               "] is %s: every position must be finite and within "
               "%g; repair the cache or leave that frame out",
               i / frame, i % frame / 3, i % 3, number((double)poses->frames[i]).letters, (double)LARGEST);
}

static int bad_rest(Call *call, const char *name, const float *rest, int64_t vertices) {
    const int64_t i = rest == NULL ? -1 : first_fault(call, find_position, rest, 3 * vertices, 1);
    if (i < 0)
        return atomic_load(&call->cancelled);
    return BAD(call->info,
               "%s[%" PRId64 "][%" PRId64
               "] is %s: every position must be finite and within %g; repair the mesh",
               name, i / 3, i % 3, number((double)rest[i]).letters, (double)LARGEST);
}

/* A negative index is a large one without its sign. */
static int64_t find_corner(const void *array, int64_t begin, int64_t end) {
    const ossify_poses *poses = array;
    for (int64_t i = begin; i < end; i++)
        if ((uint32_t)poses->triangles[i] >= (uint32_t)poses->vertex_count)
            return i;
    return -1;
}

static int bad_triangles(Call *call, const ossify_poses *poses) {
    const int64_t i = first_fault(call, find_corner, poses, 3 * poses->triangle_count, 1);
    if (i < 0)
        return atomic_load(&call->cancelled);
    return BAD(call->info,
               "triangles[%" PRId64 "][%" PRId64 "] is %" PRId32 ": with %" PRId64 " vertices it must be "
               "0..%" PRId64 "; take triangles and frames from the same mesh",
               i / 3, i % 3, poses->triangles[i], poses->vertex_count, poses->vertex_count - 1);
}

/* An item is a frame; the fault is told as a position among the 12 * bones numbers of each. */
static int64_t find_transform(const void *array, int64_t begin, int64_t end) {
    const ossify_rig *rig = array;
    const int64_t numbers = 12 * rig->bones;
    for (int64_t f = begin; f < end; f++) {
        const double *transforms = rig->transforms + f * 12 * rig->bone_capacity;
        for (int64_t i = 0; i < numbers; i++)
            if (!(fabs(transforms[i]) <= (double)LARGEST))
                return f * numbers + i;
    }
    return -1;
}

static int bad_transforms(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int64_t numbers = 12 * rig->bones;
    const int64_t found = first_fault(call, find_transform, rig, poses->frame_count, numbers);
    const int64_t f = found / numbers, i = found % numbers;
    if (found < 0)
        return atomic_load(&call->cancelled);
    return BAD(call->info,
               "transforms[%" PRId64 "][%" PRId64 "][%" PRId64 "][%" PRId64
               "] is %s: every number of a given "
               "transform must be finite and within %g",
               f, i / 12, i % 12 / 4, i % 4, number(rig->transforms[f * 12 * rig->bone_capacity + i]).letters,
               (double)LARGEST);
}

typedef enum Fault { NO_FAULT, BONE_UNKNOWN, BONE_TWICE, WEIGHT_OUT_OF_RANGE, WEIGHT_WITHOUT_BONE } Fault;

static Fault influence_fault(const ossify_rig *rig, int64_t v, int64_t k) {
    const int32_t *bones = rig->influence_bones + v * rig->influences;
    const float weight = rig->influence_weights[v * rig->influences + k];
    if (bones[k] < -1 || bones[k] >= rig->bones)
        return BONE_UNKNOWN;
    if (!(weight >= 0 && weight <= 1 + (float)SUM_TOLERANCE))
        return WEIGHT_OUT_OF_RANGE;
    if (bones[k] == -1)
        return weight > 0 ? WEIGHT_WITHOUT_BONE : NO_FAULT;
    for (int64_t other = 0; other < k; other++)
        if (bones[other] == bones[k])
            return BONE_TWICE;
    return NO_FAULT;
}

static double weight_sum(const ossify_rig *rig, int64_t v) {
    double sum = 0;
    for (int64_t k = 0; k < rig->influences; k++)
        sum += (double)rig->influence_weights[v * rig->influences + k];
    return sum;
}

static int64_t find_weights(const void *array, int64_t begin, int64_t end) {
    const ossify_rig *rig = array;
    for (int64_t v = begin; v < end; v++) {
        for (int64_t k = 0; k < rig->influences; k++)
            if (influence_fault(rig, v, k) != NO_FAULT)
                return v;
        if (fabs(weight_sum(rig, v) - 1) > SUM_TOLERANCE)
            return v;
    }
    return -1;
}

static int bad_influence(ossify_info *info, const ossify_rig *rig, int64_t v, int64_t k) {
    const int32_t bone = rig->influence_bones[v * rig->influences + k];
    const double weight = (double)rig->influence_weights[v * rig->influences + k];
    switch (influence_fault(rig, v, k)) {
    case BONE_UNKNOWN:
        return BAD(info,
                   "influence_bones[%" PRId64 "][%" PRId64 "] is %" PRId32 ": it must be -1 (unused) or a "
                   "bone, 0..%" PRId64,
                   v, k, bone, rig->bones - 1);
    case BONE_TWICE:
        return BAD(info,
                   "influence_bones[%" PRId64 "][%" PRId64 "] is %" PRId32 ", which that vertex already "
                   "has: add the two weights and set the second bone to -1",
                   v, k, bone);
    case WEIGHT_OUT_OF_RANGE:
        return BAD(info, "influence_weights[%" PRId64 "][%" PRId64 "] is %s: a weight must be 0..1", v, k,
                   number(weight).letters);
    case WEIGHT_WITHOUT_BONE:
        return BAD(info,
                   "influence_weights[%" PRId64 "][%" PRId64 "] is %s, but its bone is -1 (unused): name "
                   "the bone or set the weight to 0",
                   v, k, number(weight).letters);
    default:
        return 0;
    }
}

static int bad_weights(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int64_t v = first_fault(call, find_weights, rig, poses->vertex_count, rig->influences);
    if (v < 0)
        return atomic_load(&call->cancelled);
    for (int64_t k = 0; k < rig->influences; k++)
        if (bad_influence(call->info, rig, v, k))
            return 1;
    return BAD(call->info,
               "influence_weights[%" PRId64 "] sum to %s: the weights of a vertex must sum to 1; "
               "normalise them",
               v, number(weight_sum(rig, v)).letters);
}

static int64_t bones_of(const ossify_rig *rig, int64_t v) {
    int64_t count = 0;
    for (int64_t k = 0; k < rig->influences; k++)
        count += rig->influence_weights[v * rig->influences + k] > 0;
    return count;
}

static int bad_held_vertices(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int64_t most = call->settings->influences;
    if (rig->held_vertices == NULL)
        return 0;
    for (int64_t v = 0; v < poses->vertex_count; v++)
        if (rig->held_vertices[v] && bones_of(rig, v) > most)
            return BAD(call->info,
                       "held_vertices[%" PRId64 "] is set, but that vertex has %" PRId64 " bones and "
                       "settings.influences is %" PRId64 ": allow more, or do not hold it",
                       v, bones_of(rig, v), most);
    return 0;
}

static int64_t status_of(Call *call, int refused) {
    if (!refused)
        return 0;
    return atomic_load(&call->cancelled) ? OSSIFY_CANCELLED : OSSIFY_BAD_ARGUMENT;
}

int64_t check_decompose_arrays(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int transforms = (rig->given & OSSIFY_GIVEN_TRANSFORMS) != 0;
    const int weights = (rig->given & OSSIFY_GIVEN_WEIGHTS) != 0;
    return status_of(call, bad_rest(call, "rest", poses->rest, poses->vertex_count) ||
                               bad_triangles(call, poses) || bad_frames(call, poses) ||
                               (rig->given && bad_rest(call, "rig.rest", rig->rest, poses->vertex_count)) ||
                               (transforms && bad_transforms(call, poses, rig)) ||
                               (weights && bad_weights(call, poses, rig)) ||
                               (weights && bad_held_vertices(call, poses, rig)));
}

int64_t check_evaluate_arrays(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    return status_of(call, bad_rest(call, "rest", poses->rest, poses->vertex_count) ||
                               bad_frames(call, poses) ||
                               bad_rest(call, "rig.rest", rig->rest, poses->vertex_count) ||
                               bad_transforms(call, poses, rig) || bad_weights(call, poses, rig));
}

/* ---- edges that an artist forbids or demands ---- */

static int bad_pairs(ossify_info *info, const char *name, int64_t count, const int32_t *pairs,
                     int64_t bones) {
    for (int64_t i = 0; i < 2 * count; i++) {
        if (pairs[i] < 0 || pairs[i] >= bones)
            return BAD(info,
                       "skeleton.%s[%" PRId64 "][%" PRId64 "] is %" PRId32 ": it must be a bone, 0..%" PRId64,
                       name, i / 2, i % 2, pairs[i], bones - 1);
        if (i % 2 == 1 && pairs[i] == pairs[i - 1])
            return BAD(info, "skeleton.%s[%" PRId64 "] joins bone %" PRId32 " to itself: name two bones",
                       name, i / 2, pairs[i]);
    }
    return 0;
}

static int same_pair(const int32_t *a, const int32_t *b) {
    return (a[0] == b[0] && a[1] == b[1]) || (a[0] == b[1] && a[1] == b[0]);
}

static int bad_contradiction(ossify_info *info, const ossify_skeleton *skeleton) {
    for (int64_t i = 0; i < skeleton->demanded_count; i++)
        for (int64_t j = 0; j < skeleton->forbidden_count; j++)
            if (same_pair(skeleton->demanded + 2 * i, skeleton->forbidden + 2 * j))
                return BAD(info,
                           "the edge between bones %" PRId32 " and %" PRId32 " is demanded (%" PRId64 ") and "
                           "forbidden (%" PRId64 "): take one of the two back",
                           skeleton->demanded[2 * i], skeleton->demanded[2 * i + 1], i, j);
    return 0;
}

static int32_t end_of(const int32_t *next, int32_t b) {
    while (next[b] != b)
        b = next[b];
    return b;
}

/* Demanded edges that close a ring cannot all be in a tree. */
static int bad_ring(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    int32_t next[OSSIFY_MAX_BONES];
    for (int32_t b = 0; b < bones; b++)
        next[b] = b;
    for (int64_t i = 0; i < skeleton->demanded_count; i++) {
        const int32_t *pair = skeleton->demanded + 2 * i;
        const int32_t a = end_of(next, pair[0]), b = end_of(next, pair[1]);
        int twice = 0;
        for (int64_t j = 0; j < i; j++)
            twice |= same_pair(pair, skeleton->demanded + 2 * j);
        if (a == b && !twice)
            return BAD(info,
                       "skeleton.demanded[%" PRId64 "] (bones %" PRId32 " and %" PRId32
                       ") closes a ring with the "
                       "edges before it: a skeleton is a tree; take one of them back",
                       i, pair[0], pair[1]);
        next[a] = b;
    }
    return 0;
}

int64_t check_connect_arrays(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                             const ossify_skeleton *skeleton) {
    ossify_info *info = call->info;
    return status_of(
        call, bad_triangles(call, poses) || bad_rest(call, "rig.rest", rig->rest, poses->vertex_count) ||
                  bad_transforms(call, poses, rig) || bad_weights(call, poses, rig) ||
                  bad_pairs(info, "demanded", skeleton->demanded_count, skeleton->demanded, rig->bones) ||
                  bad_pairs(info, "forbidden", skeleton->forbidden_count, skeleton->forbidden, rig->bones) ||
                  bad_contradiction(info, skeleton) || bad_ring(info, skeleton, rig->bones));
}

/* ---- a skeleton that comes in ---- */

/* From every bone up, a root must come in at most as many steps as there are bones. */
static int bad_parents(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    const int32_t *parents = skeleton->parents;
    for (int64_t b = 0; b < bones; b++)
        if (parents[b] < -1 || parents[b] >= bones)
            return BAD(info,
                       "skeleton.parents[%" PRId64 "] is %" PRId32 ": it must be -1 (a root) or a bone, "
                       "0..%" PRId64,
                       b, parents[b], bones - 1);
    for (int64_t b = 0; b < bones; b++) {
        int64_t at = b, steps = 0;
        while (parents[at] >= 0 && steps++ <= bones)
            at = parents[at];
        if (parents[at] >= 0)
            return BAD(info,
                       "skeleton.parents[%" PRId64 "] is %" PRId32
                       ", and from there up no root comes: a skeleton "
                       "is a tree; break the ring",
                       b, parents[b]);
    }
    return 0;
}

static int bad_joints(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    for (int64_t i = 0; i < 3 * bones; i++)
        if (!(fabs(skeleton->joints[i]) <= (double)LARGEST))
            return BAD(info,
                       "skeleton.joints[%" PRId64 "][%" PRId64
                       "] is %s: every number must be finite and within "
                       "%g",
                       i / 3, i % 3, number(skeleton->joints[i]).letters, (double)LARGEST);
    return 0;
}

static int bad_mirrors(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    if (skeleton->symmetry == OSSIFY_SYMMETRY_NONE)
        return 0;
    for (int64_t b = 0; b < bones; b++) {
        const int32_t other = skeleton->mirrors[b];
        if (other < -1 || other >= bones || (other >= 0 && skeleton->mirrors[other] != b))
            return BAD(info,
                       "skeleton.mirrors[%" PRId64 "] is %" PRId32 ": it must be -1 or a bone, 0..%" PRId64
                       ", whose mirror is this bone",
                       b, other, bones - 1);
    }
    return bad_plane(info, skeleton);
}

int64_t check_articulate_arrays(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                                const ossify_skeleton *skeleton) {
    const int64_t status = check_decompose_arrays(call, poses, rig);
    if (status < 0)
        return status;
    return status_of(call, bad_parents(call->info, skeleton, rig->bones) ||
                               bad_joints(call->info, skeleton, rig->bones) ||
                               bad_mirrors(call->info, skeleton, rig->bones));
}
