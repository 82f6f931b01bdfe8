/* scan.c - looks at every number of an array, in parallel, for the first one at fault. */
#include "api/scan.h"

#include <math.h>
#include <string.h>

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
        parallel_run(call->pool, tasks, scan_task, &scan);
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

double scan_size(const float *x, int64_t vertices) {
    double size = 0;
    for (int64_t a = 0; a < 3; a++) {
        float least = x[a], most = x[a];
        for (int64_t v = 1; v < vertices; v++) {
            least = x[3 * v + a] < least ? x[3 * v + a] : least;
            most = x[3 * v + a] > most ? x[3 * v + a] : most;
        }
        size = fmax(size, (double)most - (double)least);
    }
    return size <= 2 * (double)LARGEST ? size : 0;
}

typedef struct Positions {
    const float *x;
    float largest;
} Positions;

static int64_t find_position(const void *array, int64_t begin, int64_t end) {
    const Positions *positions = array;
    const float *x = positions->x;
    const int32_t largest = magnitude_bits(positions->largest);
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

int64_t scan_positions(Call *call, const float *x, int64_t count, float largest) {
    const Positions positions = {x, largest};
    return first_fault(call, find_position, &positions, count, 1);
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

int64_t scan_corners(Call *call, const ossify_poses *poses) {
    return first_fault(call, find_corner, poses, 3 * poses->triangle_count, 1);
}

typedef struct Transforms {
    const ossify_rig *rig;
    double farthest;
} Transforms;

/* An item is a frame; the fault is told as a position among the 12 * bones numbers of each. */
static int64_t find_transform(const void *array, int64_t begin, int64_t end) {
    const Transforms *given = array;
    const ossify_rig *rig = given->rig;
    const int64_t numbers = 12 * rig->bones;
    for (int64_t f = begin; f < end; f++) {
        const double *transforms = rig->transforms + f * 12 * rig->bone_capacity;
        for (int64_t i = 0; i < numbers; i++) {
            if (!(fabs(transforms[i]) <= (i % 4 == 3 ? given->farthest : (double)LARGEST))) {
                return f * numbers + i;
            }
        }
    }
    return -1;
}

int64_t scan_transforms(Call *call, const ossify_poses *poses, const ossify_rig *rig, double farthest) {
    const Transforms given = {rig, farthest};
    return first_fault(call, find_transform, &given, poses->frame_count, 12 * rig->bones);
}

static int64_t find_coefficient(const void *array, int64_t begin, int64_t end) {
    const ossify_rig *rig = array;
    for (int64_t f = begin; f < end; f++) {
        for (int64_t n = 0; n < rig->correctives; n++) {
            if (!(fabs(rig->coefficients[f * rig->corrective_capacity + n]) <= (double)LARGEST)) {
                return f * rig->correctives + n;
            }
        }
    }
    return -1;
}

int64_t scan_coefficients(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int64_t frames = rig->correctives > 0 ? poses->frame_count : 0;
    return first_fault(call, find_coefficient, rig, frames, rig->correctives + 1);
}

Fault scan_influence(const ossify_rig *rig, int64_t v, int64_t k) {
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

double scan_weight_sum(const ossify_rig *rig, int64_t v) {
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
            if (scan_influence(rig, v, k) != NO_FAULT) {
                return v;
            }
        }
        if (fabs(scan_weight_sum(rig, v) - 1) > SUM_TOLERANCE) {
            return v;
        }
    }
    return -1;
}

/* Of a rig that starts a solve: only what is held must be right already. */
static int64_t find_given_weights(const void *array, int64_t begin, int64_t end) {
    const ossify_rig *rig = array;
    for (int64_t v = begin; v < end; v++) {
        for (int64_t k = 0; k < rig->influences; k++) {
            if (scan_influence(rig, v, k) != NO_FAULT) {
                return v;
            }
        }
        if (rig->held_vertices != NULL && rig->held_vertices[v] &&
            fabs(scan_weight_sum(rig, v) - 1) > SUM_TOLERANCE) {
            return v;
        }
    }
    return -1;
}

int64_t scan_weights(Call *call, const ossify_poses *poses, const ossify_rig *rig, int only_held) {
    return first_fault(call, only_held ? find_given_weights : find_weights, rig, poses->vertex_count,
                       rig->influences);
}

typedef struct SpaceOf {
    const ossify_space *space;
    int64_t bones;
} SpaceOf;

static int64_t find_space_bone(const void *array, int64_t begin, int64_t end) {
    const SpaceOf *of = array;
    const int64_t k = of->space->influences;
    for (int64_t i = begin * k; i < end * k; i++) {
        const int32_t bone = of->space->bones[i];
        int fault = bone < -1 || bone >= of->bones;
        for (int64_t other = i / k * k; other < i && bone >= 0; other++) {
            fault |= of->space->bones[other] == bone;
        }
        if (fault) {
            return i;
        }
    }
    return -1;
}

int64_t scan_space_bones(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                         const ossify_space *space) {
    const SpaceOf of = {space, rig->bones};
    return first_fault(call, find_space_bone, &of, poses->vertex_count, space->influences);
}
