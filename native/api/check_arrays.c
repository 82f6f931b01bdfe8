/* check_arrays.c - looks at every number of the arrays of poses and rigs, in parallel, and names the first one at
 * fault. */
#include "api/check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const double SUM_TOLERANCE = 1e-3; /* of a vertex's weights */

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
    if (end > scan->items) {
        end = scan->items;
    }
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
        if (call_poll(call, 0)) {
            return -1;
        }
        pool_run(call->pool, tasks, scan_task, &scan);
        for (int t = 0; t < tasks; t++) {
            if (scan.found[t] >= 0) {
                return scan.found[t];
            }
        }
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
    for (int64_t i = begin; i < end; i++) {
        any |= magnitude_bits(x[i]) > largest;
    }
    if (any) {
        for (int64_t i = begin; i < end; i++) {
            if (magnitude_bits(x[i]) > largest) {
                return i;
            }
        }
    }
    return -1;
}

static int bad_frames(Call *call, const ossify_poses *poses) {
    const int64_t frame = 3 * poses->vertex_count;
    const int64_t i = first_fault(call, find_position, poses->frames, frame * poses->frame_count, 1);
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    return BAD(
        call->info,
        "frames[%" PRId64 "][%" PRId64 "][%" PRId64 "] is %s: every position must be finite and within "
        "%g; repair the cache or leave that frame out",
        i / frame, i % frame / 3, i % 3, sentence_number((double)poses->frames[i]).letters, (double)LARGEST);
}

static int bad_rest(Call *call, const char *name, const float *rest, int64_t vertices) {
    const int64_t i = rest == NULL ? -1 : first_fault(call, find_position, rest, 3 * vertices, 1);
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    return BAD(call->info,
               "%s[%" PRId64 "][%" PRId64
               "] is %s: every position must be finite and within %g; repair the mesh",
               name, i / 3, i % 3, sentence_number((double)rest[i]).letters, (double)LARGEST);
}

/* A negative index is a large one without its sign. */
static int64_t find_corner(const void *array, int64_t begin, int64_t end) {
    const ossify_poses *poses = array;
    for (int64_t i = begin; i < end; i++) {
        if ((uint32_t)poses->triangles[i] >= (uint32_t)poses->vertex_count) {
            return i;
        }
    }
    return -1;
}

static int bad_triangles(Call *call, const ossify_poses *poses) {
    const int64_t i = first_fault(call, find_corner, poses, 3 * poses->triangle_count, 1);
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
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
        for (int64_t i = 0; i < numbers; i++) {
            if (!(fabs(transforms[i]) <= (double)LARGEST)) {
                return f * numbers + i;
            }
        }
    }
    return -1;
}

static int bad_transforms(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int64_t numbers = 12 * rig->bones;
    const int64_t found = first_fault(call, find_transform, rig, poses->frame_count, numbers);
    const int64_t f = found / numbers, i = found % numbers;
    if (found < 0) {
        return atomic_load(&call->cancelled);
    }
    return BAD(call->info,
               "transforms[%" PRId64 "][%" PRId64 "][%" PRId64 "][%" PRId64
               "] is %s: every number of a given "
               "transform must be finite and within %g",
               f, i / 12, i % 12 / 4, i % 4,
               sentence_number(rig->transforms[f * 12 * rig->bone_capacity + i]).letters, (double)LARGEST);
}

typedef enum Fault { NO_FAULT, BONE_UNKNOWN, BONE_TWICE, WEIGHT_OUT_OF_RANGE, WEIGHT_WITHOUT_BONE } Fault;

static Fault influence_fault(const ossify_rig *rig, int64_t v, int64_t k) {
    const int32_t *bones = rig->influence_bones + v * rig->influences;
    const float weight = rig->influence_weights[v * rig->influences + k];
    if (bones[k] < -1 || bones[k] >= rig->bones) {
        return BONE_UNKNOWN;
    }
    if (!(weight >= 0 && weight <= 1 + (float)SUM_TOLERANCE)) {
        return WEIGHT_OUT_OF_RANGE;
    }
    if (bones[k] == -1) {
        return weight > 0 ? WEIGHT_WITHOUT_BONE : NO_FAULT;
    }
    for (int64_t other = 0; other < k; other++) {
        if (bones[other] == bones[k]) {
            return BONE_TWICE;
        }
    }
    return NO_FAULT;
}

static double weight_sum(const ossify_rig *rig, int64_t v) {
    double sum = 0;
    for (int64_t k = 0; k < rig->influences; k++) {
        sum += (double)rig->influence_weights[v * rig->influences + k];
    }
    return sum;
}

static int64_t find_weights(const void *array, int64_t begin, int64_t end) {
    const ossify_rig *rig = array;
    for (int64_t v = begin; v < end; v++) {
        for (int64_t k = 0; k < rig->influences; k++) {
            if (influence_fault(rig, v, k) != NO_FAULT) {
                return v;
            }
        }
        if (fabs(weight_sum(rig, v) - 1) > SUM_TOLERANCE) {
            return v;
        }
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
                   sentence_number(weight).letters);
    case WEIGHT_WITHOUT_BONE:
        return BAD(info,
                   "influence_weights[%" PRId64 "][%" PRId64 "] is %s, but its bone is -1 (unused): name "
                   "the bone or set the weight to 0",
                   v, k, sentence_number(weight).letters);
    default:
        return 0;
    }
}

/* Of a rig that starts a solve: only what is held must be right already. */
static int64_t find_given_weights(const void *array, int64_t begin, int64_t end) {
    const ossify_rig *rig = array;
    for (int64_t v = begin; v < end; v++) {
        for (int64_t k = 0; k < rig->influences; k++) {
            if (influence_fault(rig, v, k) != NO_FAULT) {
                return v;
            }
        }
        if (rig->held_vertices != NULL && rig->held_vertices[v] &&
            fabs(weight_sum(rig, v) - 1) > SUM_TOLERANCE) {
            return v;
        }
    }
    return -1;
}

static int bad_weights(Call *call, const ossify_poses *poses, const ossify_rig *rig, FindFault find) {
    const int64_t v = first_fault(call, find, rig, poses->vertex_count, rig->influences);
    if (v < 0) {
        return atomic_load(&call->cancelled);
    }
    for (int64_t k = 0; k < rig->influences; k++) {
        if (bad_influence(call->info, rig, v, k)) {
            return 1;
        }
    }
    return BAD(call->info,
               "influence_weights[%" PRId64 "] sum to %s: the weights of a vertex must sum to 1; "
               "normalise them",
               v, sentence_number(weight_sum(rig, v)).letters);
}

static int64_t bones_of(const ossify_rig *rig, int64_t v) {
    int64_t count = 0;
    for (int64_t k = 0; k < rig->influences; k++) {
        count += rig->influence_weights[v * rig->influences + k] > 0;
    }
    return count;
}

static int bad_held_vertices(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int64_t most = call->settings->influences;
    if (rig->held_vertices == NULL) {
        return 0;
    }
    for (int64_t v = 0; v < poses->vertex_count; v++) {
        if (rig->held_vertices[v] && bones_of(rig, v) > most) {
            return BAD(call->info,
                       "held_vertices[%" PRId64 "] is set, but that vertex has %" PRId64 " bones and "
                       "settings.influences is %" PRId64 ": allow more, or do not hold it",
                       v, bones_of(rig, v), most);
        }
    }
    return 0;
}

/* Held groups of one vertex: how many, and their sum. */
static int64_t held_groups_of(const ossify_rig *rig, int64_t v, double *sum) {
    int64_t count = 0;
    *sum = 0;
    for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
        if (rig->influence_weights[i] > 0 && rig->held_groups[rig->influence_bones[i]]) {
            count++;
            *sum += (double)rig->influence_weights[i];
        }
    }
    return count;
}

static int bad_held_groups(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int64_t most = call->settings->influences;
    const int all = rig->held_groups != NULL && memchr(rig->held_groups, 0, (size_t)rig->bones) == NULL;
    for (int64_t v = 0; rig->held_groups != NULL && v < poses->vertex_count; v++) {
        double sum;
        const int64_t count = held_groups_of(rig, v, &sum);
        if (rig->held_vertices != NULL && rig->held_vertices[v]) {
            continue;
        }
        if (count > most) {
            return BAD(call->info,
                       "vertex %" PRId64 " has %" PRId64 " held groups and settings.influences is %" PRId64
                       ": allow more, or hold fewer",
                       v, count, most);
        }
        if (sum > 1 + SUM_TOLERANCE) {
            return BAD(call->info,
                       "the held groups of vertex %" PRId64 " sum to %s: they must leave room, 1 at most; "
                       "normalise them",
                       v, sentence_number(sum).letters);
        }
        if ((count == most || all) && sum < 1 - SUM_TOLERANCE) {
            return BAD(call->info,
                       "the %" PRId64 " held groups of vertex %" PRId64 " sum to %s and leave no room for "
                       "another bone: allow more influences, hold fewer, or normalise them",
                       count, v, sentence_number(sum).letters);
        }
    }
    return 0;
}

static int64_t status_of(Call *call, int refused) {
    if (!refused) {
        return 0;
    }
    return atomic_load(&call->cancelled) ? OSSIFY_CANCELLED : OSSIFY_BAD_ARGUMENT;
}

int64_t check_arrays_decompose(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int transforms = (rig->given & OSSIFY_GIVEN_TRANSFORMS) != 0;
    const int weights = (rig->given & OSSIFY_GIVEN_WEIGHTS) != 0;
    return status_of(call, bad_rest(call, "rest", poses->rest, poses->vertex_count) ||
                               bad_triangles(call, poses) || bad_frames(call, poses) ||
                               (rig->given && bad_rest(call, "rig.rest", rig->rest, poses->vertex_count)) ||
                               (transforms && bad_transforms(call, poses, rig)) ||
                               (weights && bad_weights(call, poses, rig, find_given_weights)) ||
                               (weights && bad_held_vertices(call, poses, rig)) ||
                               (weights && bad_held_groups(call, poses, rig)));
}

int64_t check_arrays_evaluate(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    return status_of(
        call, bad_rest(call, "rest", poses->rest, poses->vertex_count) || bad_triangles(call, poses) ||
                  bad_frames(call, poses) || bad_rest(call, "rig.rest", rig->rest, poses->vertex_count) ||
                  bad_transforms(call, poses, rig) || bad_weights(call, poses, rig, find_weights));
}

int64_t check_arrays_connect(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                             const ossify_skeleton *skeleton) {
    return status_of(
        call, bad_triangles(call, poses) || bad_rest(call, "rig.rest", rig->rest, poses->vertex_count) ||
                  bad_transforms(call, poses, rig) || bad_weights(call, poses, rig, find_weights) ||
                  check_skeleton_wishes(call->info, skeleton, rig->bones));
}

int64_t check_arrays_articulate(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                                const ossify_skeleton *skeleton) {
    const int64_t status = check_arrays_decompose(call, poses, rig);
    if (status < 0) {
        return status;
    }
    return status_of(call, check_skeleton_tree(call->info, skeleton, rig->bones));
}
