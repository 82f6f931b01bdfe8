/* check_skeleton.c - looks at the numbers of a skeleton: edges that an artist wishes for or forbids, and a tree that
 * comes in. They are as few as the bones. */
#include "api/check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST_STIFFNESS 1e6

/* ---- edges that an artist forbids or demands ---- */

static int bad_pairs(ossify_info *info, const char *name, int64_t count, const int32_t *pairs,
                     int64_t bones) {
    for (int64_t i = 0; i < 2 * count; i++) {
        if (pairs[i] < 0 || pairs[i] >= bones) {
            return BAD(info,
                       "skeleton.%s[%" PRId64 "][%" PRId64 "] is %" PRId32 ": it must be a bone, 0..%" PRId64,
                       name, i / 2, i % 2, pairs[i], bones - 1);
        }
        if (i % 2 == 1 && pairs[i] == pairs[i - 1]) {
            return BAD(info, "skeleton.%s[%" PRId64 "] joins bone %" PRId32 " to itself: name two bones",
                       name, i / 2, pairs[i]);
        }
    }
    return 0;
}

static int64_t find_pair(const int32_t *pair, const int32_t *among) {
    int64_t i = 0;
    while (!(among[2 * i] == pair[0] && among[2 * i + 1] == pair[1]) &&
           !(among[2 * i] == pair[1] && among[2 * i + 1] == pair[0])) {
        i++;
    }
    return i;
}

static int32_t end_of(const int32_t *next, int32_t b) {
    while (next[b] != b) {
        b = next[b];
    }
    return b;
}

static uint8_t *mark_of(uint8_t *marks, int64_t bones, const int32_t *pair) {
    return marks + (pair[0] < pair[1] ? pair[0] * bones + pair[1] : pair[1] * bones + pair[0]);
}

/* Demanded edges that close a ring cannot all be in a tree. Each is marked. */
static int bad_ring(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones, uint8_t *demanded) {
    int32_t next[OSSIFY_MAX_BONES];
    for (int32_t b = 0; b < bones; b++) {
        next[b] = b;
    }
    for (int64_t i = 0; i < skeleton->demanded_count; i++) {
        const int32_t *pair = skeleton->demanded + 2 * i;
        uint8_t *mark = mark_of(demanded, bones, pair);
        const int32_t a = *mark ? 0 : end_of(next, pair[0]), b = *mark ? 0 : end_of(next, pair[1]);
        if (a == b && !*mark) {
            return BAD(info,
                       "skeleton.demanded[%" PRId64 "] (bones %" PRId32 " and %" PRId32
                       ") closes a ring with the "
                       "edges before it: a skeleton is a tree; take one of them back",
                       i, pair[0], pair[1]);
        }
        next[a] = *mark ? next[a] : b;
        *mark = 1;
    }
    return 0;
}

static int bad_contradiction(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones,
                             uint8_t *demanded) {
    for (int64_t j = 0; j < skeleton->forbidden_count; j++) {
        const int32_t *pair = skeleton->forbidden + 2 * j;
        if (*mark_of(demanded, bones, pair)) {
            const int64_t i = find_pair(pair, skeleton->demanded);
            return BAD(info,
                       "the edge between bones %" PRId32 " and %" PRId32 " is demanded (%" PRId64 ") and "
                       "forbidden (%" PRId64 "): take one of the two back",
                       skeleton->demanded[2 * i], skeleton->demanded[2 * i + 1], i, j);
        }
    }
    return 0;
}

int check_skeleton_wishes(Call *call, const ossify_skeleton *skeleton, int64_t bones) {
    ossify_info *info = call->info;
    if (bad_pairs(info, "demanded", skeleton->demanded_count, skeleton->demanded, bones) ||
        bad_pairs(info, "forbidden", skeleton->forbidden_count, skeleton->forbidden, bones)) {
        return 1;
    }
    uint8_t *demanded = arena_take(&call->arena, (size_t)(bones * bones), 1);
    if (demanded == NULL) {
        return 1;
    }
    memset(demanded, 0, (size_t)(bones * bones));
    const int bad =
        bad_ring(info, skeleton, bones, demanded) || bad_contradiction(info, skeleton, bones, demanded);
    arena_give(&call->arena, demanded);
    return bad;
}

/* ---- a skeleton that comes in ---- */

int check_skeleton_plane(ossify_info *info, const ossify_skeleton *skeleton) {
    const double *n = skeleton->plane;
    const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (fabs(length - 1) > UNIT_TOLERANCE || isnan(length)) {
        return BAD(info, "skeleton.plane has a normal of length %s: it must be 1",
                   sentence_number(length).letters);
    }
    if (!(fabs(n[3]) <= (double)LARGEST)) {
        return BAD(info, "skeleton.plane[3] is %s: it must be finite and within %g",
                   sentence_number(n[3]).letters, (double)LARGEST);
    }
    return 0;
}

/* From every bone up, a root must come in at most as many steps as there are bones. */
static int bad_parents(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    const int32_t *parents = skeleton->parents;
    for (int64_t b = 0; b < bones; b++) {
        if (parents[b] < -1 || parents[b] >= bones) {
            return BAD(info,
                       "skeleton.parents[%" PRId64 "] is %" PRId32 ": it must be -1 (a root) or a bone, "
                       "0..%" PRId64,
                       b, parents[b], bones - 1);
        }
    }
    for (int64_t b = 0; b < bones; b++) {
        int64_t at = b, steps = 0;
        while (parents[at] >= 0 && steps++ <= bones) {
            at = parents[at];
        }
        if (parents[at] >= 0) {
            return BAD(info,
                       "skeleton.parents[%" PRId64 "] is %" PRId32
                       ", and from there up no root comes: a skeleton "
                       "is a tree; break the ring",
                       b, parents[b]);
        }
    }
    return 0;
}

static int bad_joints(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones, int64_t rests) {
    for (int64_t i = 0; i < 3 * bones * rests; i++) {
        const int64_t s = i / (3 * bones), at = 3 * s * skeleton->bone_capacity + i % (3 * bones);
        if (!(fabs(skeleton->joints[at]) <= (double)LARGEST)) {
            return BAD(info,
                       "skeleton.joints[%" PRId64 "][%" PRId64
                       "] is %s: every number must be finite and within "
                       "%g",
                       i / 3 % bones, i % 3, sentence_number(skeleton->joints[at]).letters, (double)LARGEST);
        }
    }
    return 0;
}

/* What a hinge turns about is read, to take it along its axis. */
static int bad_kinds(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    for (int64_t b = 0; b < bones; b++) {
        const int32_t kind = skeleton->joint_kinds[b];
        const double *n = skeleton->axes + 3 * b;
        const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        if (kind < OSSIFY_JOINT_ROOT || kind > OSSIFY_JOINT_LOOSE) {
            return BAD(info, "skeleton.joint_kinds[%" PRId64 "] is %" PRId32 ": it must be %d..%d", b, kind,
                       OSSIFY_JOINT_ROOT, OSSIFY_JOINT_LOOSE);
        }
        if (kind == OSSIFY_JOINT_HINGE && !(fabs(length - 1) <= UNIT_TOLERANCE)) {
            return BAD(info,
                       "skeleton.axes[%" PRId64
                       "] has length %s: what a hinge turns about must have length 1; "
                       "normalise it, or make the joint a ball",
                       b, sentence_number(length).letters);
        }
    }
    return 0;
}

static int bad_mirrors(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    if (skeleton->symmetry == OSSIFY_SYMMETRY_NONE) {
        return 0;
    }
    for (int64_t b = 0; b < bones; b++) {
        const int32_t other = skeleton->mirrors[b];
        if (other < -1 || other >= bones || (other >= 0 && skeleton->mirrors[other] != b)) {
            return BAD(info,
                       "skeleton.mirrors[%" PRId64 "] is %" PRId32 ": it must be -1 or a bone, 0..%" PRId64
                       ", whose mirror is this bone",
                       b, other, bones - 1);
        }
    }
    return check_skeleton_plane(info, skeleton);
}

static int bad_stiffness(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    for (int64_t b = 0; skeleton->stiffness != NULL && b < bones; b++) {
        const double stiffness = skeleton->stiffness[b];
        if (!(stiffness >= 0 && stiffness <= MOST_STIFFNESS)) {
            return BAD(info, "skeleton.stiffness[%" PRId64 "] is %s: it must be 0 (holds) or up to %g", b,
                       sentence_number(stiffness).letters, MOST_STIFFNESS);
        }
    }
    return 0;
}

int check_skeleton_tree(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones, int64_t rests) {
    return bad_parents(info, skeleton, bones) || bad_joints(info, skeleton, bones, rests) ||
           bad_kinds(info, skeleton, bones) || bad_mirrors(info, skeleton, bones) ||
           bad_stiffness(info, skeleton, bones);
}
