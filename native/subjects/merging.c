/* merging.c - refuses pose and shape bones that cannot be merged, in a sentence. */
#include "subjects/merging.h"

#include <inttypes.h>
#include <math.h>

#include "core/sentence.h"
#include "subjects/subjects.h"

#define LARGEST_MERGED 1e30 /* as positions may be */

static int bad_counts(const ossify_request *request, ossify_info *info) {
    const ossify_merging *merging = request->options;
    return sentence_bad_range(info, "merging.tree", merging->tree, OSSIFY_MERGE_SPANNED,
                              OSSIFY_MERGE_LEAVES) ||
           sentence_bad_range(info, "merging.subject_count", merging->subject_count, 1,
                              OSSIFY_MAX_SUBJECTS) ||
           sentence_bad_range(info, "merging.pose_bones", merging->pose_bones, 1, OSSIFY_MAX_BONES) ||
           sentence_bad_range(info, "merging.shape_bones", merging->shape_bones, 1, OSSIFY_MAX_BONES) ||
           sentence_bad_range(info, "merging.pose_influences", merging->pose_influences, 1,
                              OSSIFY_MAX_INFLUENCES) ||
           sentence_bad_range(info, "merging.shape_influences", merging->shape_influences, 1,
                              OSSIFY_MAX_INFLUENCES) ||
           (merging->tree == OSSIFY_MERGE_LEAVES &&
            sentence_bad_range(info, "merging.leaves", merging->leaves, merging->pose_bones,
                               OSSIFY_MAX_BONES));
}

static int bad_arrays(const ossify_request *request, ossify_info *info) {
    const ossify_merging *merging = request->options;
    const ossify_merged *merged = request->result;
    const struct {
        const char *name, *shape;
        const void *array;
        size_t size;
    } ALL[] = {
        {"merging.subject_rest", "[subject_count][vertex_count][3]", merging->subject_rest, sizeof(float)},
        {"merging.subject", "[frame_count]", merging->subject, sizeof(int32_t)},
        {"merging.pose_parents", "[pose_bones]", merging->pose_parents, sizeof(int32_t)},
        {"merging.pose_joints", "[subject_count][pose_bones][3]", merging->pose_joints, sizeof(double)},
        {"merging.pose_transforms", "[frame_count][pose_bones][3][4]", merging->pose_transforms,
         sizeof(double)},
        {"merging.pose_influenced", "[vertex_count][pose_influences]", merging->pose_influenced,
         sizeof(int32_t)},
        {"merging.pose_weights", "[vertex_count][pose_influences]", merging->pose_weights, sizeof(float)},
        {"merging.shape_influenced", "[vertex_count][shape_influences]", merging->shape_influenced,
         sizeof(int32_t)},
        {"merging.shape_weights", "[vertex_count][shape_influences]", merging->shape_weights, sizeof(float)},
        {"merged.parents", "[bone_capacity]", merged->parents, sizeof(int32_t)},
        {"merged.carriers", "[bone_capacity]", merged->carriers, sizeof(int32_t)},
        {"merged.joints", "[bone_capacity][3]", merged->joints, sizeof(double)},
        {"merged.shapes", "[subject_count][bone_capacity][3][4]", merged->shapes, sizeof(double)},
    };
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
        if (sentence_bad_array(info, ALL[i].name, ALL[i].array, ALL[i].size, ALL[i].shape)) {
            return 1;
        }
    }
    return 0;
}

int subjects_refuses_merging(const ossify_request *request, ossify_info *info) {
    const ossify_merging *merging = request->options;
    const ossify_rig *rig = request->rig;
    if (bad_counts(request, info) || bad_arrays(request, info)) {
        return 1;
    }
    const int64_t bones =
        merging->pose_bones + (merging->tree == OSSIFY_MERGE_LEAVES ? merging->leaves : merging->shape_bones);
    if (bones > rig->bone_capacity) {
        return BAD(info,
                   "rig.bone_capacity is %" PRId64 ": the merged tree has up to %" PRId64
                   " bones; make room for them or merge fewer",
                   rig->bone_capacity, bones);
    }
    if (request->poses->rest == NULL) {
        return BAD(info, "poses.rest is NULL: give the mean body, the rest of the rig of ossify_shape_bones");
    }
    return 0;
}

/* A tree with one root: from every bone up it comes in at most as many steps as there are bones. */
static int bad_parents(ossify_info *info, const char *name, int64_t bones, const int32_t *parents) {
    for (int64_t b = 0; b < bones; b++) {
        if (parents[b] < -1 || parents[b] >= bones) {
            return BAD(
                info, "merging.%s[%" PRId64 "] is %" PRId32 ": it must be -1 (a root) or a bone, 0..%" PRId64,
                name, b, parents[b], bones - 1);
        }
    }
    for (int64_t b = 0; b < bones; b++) {
        int64_t at = b, steps = 0;
        while (parents[at] >= 0 && steps++ <= bones) {
            at = parents[at];
        }
        if (parents[at] >= 0) {
            return BAD(info,
                       "merging.%s[%" PRId64 "] is %" PRId32
                       ", and from there up no root comes: break the ring",
                       name, b, parents[b]);
        }
    }
    return 0;
}

static int bad_roots(ossify_info *info, const ossify_merging *merging) {
    int64_t roots = 0;
    for (int64_t b = 0; b < merging->pose_bones; b++) {
        roots += merging->pose_parents[b] < 0;
    }
    return roots != 1 &&
           BAD(info,
               "merging.pose_parents has %" PRId64 " roots: pose bones must be one tree; join them first",
               roots);
}

static int bad_subjects(ossify_info *info, const ossify_poses *poses, const ossify_merging *merging) {
    for (int64_t f = 0; f < poses->frame_count; f++) {
        if (merging->subject[f] < 0 || merging->subject[f] >= merging->subject_count) {
            return BAD(info,
                       "merging.subject[%" PRId64 "] is %" PRId32 ": with %" PRId64
                       " subjects it must be 0..%" PRId64,
                       f, merging->subject[f], merging->subject_count, merging->subject_count - 1);
        }
    }
    return 0;
}

static int bad_floats(ossify_info *info, const char *name, const float *x, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (!(fabs((double)x[i]) <= LARGEST_MERGED)) {
            return BAD(info,
                       "merging.%s has %s as number %" PRId64 ": every number must be finite and within %g",
                       name, sentence_number((double)x[i]).letters, i, LARGEST_MERGED);
        }
    }
    return 0;
}

static int bad_doubles(ossify_info *info, const char *name, const double *x, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (!(fabs(x[i]) <= LARGEST_MERGED)) {
            return BAD(info,
                       "merging.%s has %s as number %" PRId64 ": every number must be finite and within %g",
                       name, sentence_number(x[i]).letters, i, LARGEST_MERGED);
        }
    }
    return 0;
}

static int bad_weights(ossify_info *info, const char *name, int64_t vertices, int64_t influences,
                       int64_t bones, const int32_t *bone, const float *weight) {
    for (int64_t v = 0; v < vertices; v++) {
        double sum = 0;
        for (int64_t i = v * influences; i < (v + 1) * influences; i++) {
            if (bone[i] < -1 || bone[i] >= bones) {
                return BAD(info,
                           "merging.%s_influenced[%" PRId64 "][%" PRId64 "] is %" PRId32
                           ": it must be -1 (unused) or a bone, 0..%" PRId64,
                           name, v, i % influences, bone[i], bones - 1);
            }
            if (!(weight[i] >= 0 && weight[i] <= 1e6F)) {
                return BAD(info, "merging.%s_weights[%" PRId64 "][%" PRId64 "] is %s: it must be 0 or more",
                           name, v, i % influences, sentence_number((double)weight[i]).letters);
            }
            sum += bone[i] >= 0 ? (double)weight[i] : 0;
        }
        if (!(sum > 0)) {
            return BAD(info, "merging.%s_weights[%" PRId64 "] are all 0: every vertex must follow a bone",
                       name, v);
        }
    }
    return 0;
}

int merging_is_bad(ossify_info *info, const ossify_poses *poses, const ossify_merging *merging) {
    const int64_t v = poses->vertex_count, s = merging->subject_count, b = merging->pose_bones;
    return bad_parents(info, "pose_parents", b, merging->pose_parents) || bad_roots(info, merging) ||
           (merging->shape_parents != NULL &&
            bad_parents(info, "shape_parents", merging->shape_bones, merging->shape_parents)) ||
           bad_subjects(info, poses, merging) ||
           bad_floats(info, "subject_rest", merging->subject_rest, 3 * s * v) ||
           bad_doubles(info, "pose_joints", merging->pose_joints, 3 * s * b) ||
           bad_doubles(info, "pose_transforms", merging->pose_transforms, 12 * poses->frame_count * b) ||
           bad_weights(info, "pose", v, merging->pose_influences, b, merging->pose_influenced,
                       merging->pose_weights) ||
           bad_weights(info, "shape", v, merging->shape_influences, merging->shape_bones,
                       merging->shape_influenced, merging->shape_weights);
}
