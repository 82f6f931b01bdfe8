/* check_skeleton.c - looks at the numbers of a skeleton: edges that an artist wishes for or forbids, and a tree that
 * comes in. They are as few as the bones. */
#include "api/check.h"

#include <inttypes.h>
#include <math.h>

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

static int same_pair(const int32_t *a, const int32_t *b) {
    return (a[0] == b[0] && a[1] == b[1]) || (a[0] == b[1] && a[1] == b[0]);
}

static int bad_contradiction(ossify_info *info, const ossify_skeleton *skeleton) {
    for (int64_t i = 0; i < skeleton->demanded_count; i++) {
        for (int64_t j = 0; j < skeleton->forbidden_count; j++) {
            if (same_pair(skeleton->demanded + 2 * i, skeleton->forbidden + 2 * j)) {
                return BAD(info,
                           "the edge between bones %" PRId32 " and %" PRId32 " is demanded (%" PRId64 ") and "
                           "forbidden (%" PRId64 "): take one of the two back",
                           skeleton->demanded[2 * i], skeleton->demanded[2 * i + 1], i, j);
            }
        }
    }
    return 0;
}

static int32_t end_of(const int32_t *next, int32_t b) {
    while (next[b] != b) {
        b = next[b];
    }
    return b;
}

/* Demanded edges that close a ring cannot all be in a tree. */
static int bad_ring(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    int32_t next[OSSIFY_MAX_BONES];
    for (int32_t b = 0; b < bones; b++) {
        next[b] = b;
    }
    for (int64_t i = 0; i < skeleton->demanded_count; i++) {
        const int32_t *pair = skeleton->demanded + 2 * i;
        const int32_t a = end_of(next, pair[0]), b = end_of(next, pair[1]);
        int twice = 0;
        for (int64_t j = 0; j < i; j++) {
            twice |= same_pair(pair, skeleton->demanded + 2 * j);
        }
        if (a == b && !twice) {
            return BAD(info,
                       "skeleton.demanded[%" PRId64 "] (bones %" PRId32 " and %" PRId32
                       ") closes a ring with the "
                       "edges before it: a skeleton is a tree; take one of them back",
                       i, pair[0], pair[1]);
        }
        next[a] = b;
    }
    return 0;
}

int check_skeleton_wishes(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    return bad_pairs(info, "demanded", skeleton->demanded_count, skeleton->demanded, bones) ||
           bad_pairs(info, "forbidden", skeleton->forbidden_count, skeleton->forbidden, bones) ||
           bad_contradiction(info, skeleton) || bad_ring(info, skeleton, bones);
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

static int bad_joints(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    for (int64_t i = 0; i < 3 * bones; i++) {
        if (!(fabs(skeleton->joints[i]) <= (double)LARGEST)) {
            return BAD(info,
                       "skeleton.joints[%" PRId64 "][%" PRId64
                       "] is %s: every number must be finite and within "
                       "%g",
                       i / 3, i % 3, sentence_number(skeleton->joints[i]).letters, (double)LARGEST);
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

int check_skeleton_tree(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones) {
    return bad_parents(info, skeleton, bones) || bad_joints(info, skeleton, bones) ||
           bad_kinds(info, skeleton, bones) || bad_mirrors(info, skeleton, bones);
}
