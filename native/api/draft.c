/* draft.c - the rig and the skeleton that a verb writes, until they are known to be whole.
 *
 * A verb may be cancelled, run out of memory or come to no answer at any time, also with half of a rig written. It
 * writes copies, which hold what was given, so what is held stays equal to the bit; their room is taken before the
 * work, and the caller's arrays are written in the end, when nothing can fail any more. */
#include "api/draft.h"

#include <string.h>

/* Room for `bytes`, filled from the caller's if that holds something. */
static void *copy_of(Call *call, const void *from, size_t bytes, int filled) {
    void *copy = arena_take(&call->arena, bytes, 1);
    if (copy != NULL && filled) {
        memcpy(copy, from, bytes);
    }
    return copy;
}

static void take_rig(Call *call, int reads, const ossify_poses *poses, const ossify_rig *rig,
                     ossify_rig *copy) {
    const size_t v = (size_t)poses->vertex_count, f = (size_t)poses->frame_count;
    const size_t influences = v * (size_t)rig->influences, bones = f * (size_t)rig->bone_capacity;
    const int64_t given = reads & READS_GIVEN ? rig->given : OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    const int weights = (given & OSSIFY_GIVEN_WEIGHTS) != 0;
    *copy = *rig;
    copy->transforms =
        copy_of(call, rig->transforms, 12 * bones * sizeof(double), (given & OSSIFY_GIVEN_TRANSFORMS) != 0);
    copy->influence_bones = copy_of(call, rig->influence_bones, influences * sizeof(int32_t), weights);
    copy->influence_weights = copy_of(call, rig->influence_weights, influences * sizeof(float), weights);
    copy->rest = copy_of(call, rig->rest, 3 * v * (size_t)call_rests(poses) * sizeof(float), given != 0);
    if (reads & READS_FIELDS) {
        const size_t n = (size_t)rig->corrective_capacity;
        copy->fields = copy_of(call, rig->fields, 3 * n * v * sizeof(float), n > 0);
        copy->coefficients = copy_of(call, rig->coefficients, n * f * sizeof(double), n > 0);
    }
}

static void keep_correctives(const ossify_poses *poses, const ossify_rig *copy, ossify_rig *rig) {
    const size_t n = (size_t)copy->correctives, v = (size_t)poses->vertex_count;
    const int64_t row = rig->corrective_capacity;
    for (int64_t f = 0; f < poses->frame_count && n > 0; f++) {
        memcpy(rig->coefficients + f * row, copy->coefficients + f * row, n * sizeof(double));
    }
    if (n > 0) {
        memcpy(rig->fields, copy->fields, 3 * n * v * sizeof(float));
    }
    rig->correctives = copy->correctives;
}

static void keep_rig(const ossify_poses *poses, const ossify_rig *copy, ossify_rig *rig) {
    const size_t v = (size_t)poses->vertex_count, influences = v * (size_t)rig->influences;
    const int64_t row = 12 * rig->bone_capacity;
    for (int64_t f = 0; f < poses->frame_count; f++) {
        memcpy(rig->transforms + f * row, copy->transforms + f * row,
               12 * (size_t)copy->bones * sizeof(double));
    }
    memcpy(rig->influence_bones, copy->influence_bones, influences * sizeof(int32_t));
    memcpy(rig->influence_weights, copy->influence_weights, influences * sizeof(float));
    memcpy(rig->rest, copy->rest, 3 * v * (size_t)call_rests(poses) * sizeof(float));
    rig->bones = copy->bones;
    keep_correctives(poses, copy, rig);
}

/* How many joints there are: of one body as many as bones, of several with the room between them. */
static size_t joints_of(const ossify_poses *poses, int64_t bones, const ossify_skeleton *skeleton) {
    return (size_t)((call_rests(poses) - 1) * skeleton->bone_capacity + bones);
}

static void take_skeleton(Call *call, int reads, const ossify_request *request, ossify_skeleton *copy) {
    const ossify_skeleton *skeleton = request->skeleton;
    const size_t b = (size_t)request->rig->bones;
    const size_t joints = joints_of(request->poses, request->rig->bones, skeleton);
    const int known = (reads & READS_TREE) != 0;
    *copy = *skeleton;
    copy->parents = copy_of(call, skeleton->parents, b * sizeof(int32_t), known);
    copy->joint_kinds = copy_of(call, skeleton->joint_kinds, b * sizeof(int32_t), known);
    copy->mirrors = copy_of(call, skeleton->mirrors, b * sizeof(int32_t), known);
    copy->joints = copy_of(call, skeleton->joints, 3 * joints * sizeof(double), known);
    copy->axes = copy_of(call, skeleton->axes, 3 * b * sizeof(double), known);
    copy->angles = copy_of(call, skeleton->angles, b * sizeof(double), known);
    copy->drifts = copy_of(call, skeleton->drifts, b * sizeof(double), known);
}

static void keep_skeleton(const ossify_request *request, const ossify_skeleton *copy) {
    ossify_skeleton *skeleton = request->skeleton;
    const int64_t bones = request->rig->bones, wide = 3 * skeleton->bone_capacity;
    const size_t b = (size_t)bones;
    memcpy(skeleton->parents, copy->parents, b * sizeof(int32_t));
    memcpy(skeleton->joint_kinds, copy->joint_kinds, b * sizeof(int32_t));
    memcpy(skeleton->mirrors, copy->mirrors, b * sizeof(int32_t));
    for (int64_t s = 0; s < call_rests(request->poses); s++) {
        memcpy(skeleton->joints + s * wide, copy->joints + s * wide, 3 * b * sizeof(double));
    }
    memcpy(skeleton->axes, copy->axes, 3 * b * sizeof(double));
    memcpy(skeleton->angles, copy->angles, b * sizeof(double));
    memcpy(skeleton->drifts, copy->drifts, b * sizeof(double));
    memcpy(skeleton->plane, copy->plane, sizeof skeleton->plane);
    skeleton->root = copy->root;
    skeleton->symmetry = copy->symmetry;
}

static void take_space(Call *call, const ossify_poses *poses, const ossify_space *space, ossify_space *copy) {
    const size_t slots = (size_t)poses->vertex_count * (size_t)space->influences;
    *copy = *space;
    copy->bones = copy_of(call, space->bones, slots * sizeof(int32_t), space->given != 0);
    copy->corrections = copy_of(call, space->corrections, 4 * slots * sizeof(float), space->given != 0);
}

static void keep_space(const ossify_poses *poses, const ossify_space *copy, ossify_space *space) {
    const size_t slots = (size_t)poses->vertex_count * (size_t)space->influences;
    memcpy(space->bones, copy->bones, slots * sizeof(int32_t));
    memcpy(space->corrections, copy->corrections, 4 * slots * sizeof(float));
    space->given = copy->given;
}

int draft_take(Call *call, const Verb *verb, const ossify_request *request, Draft *draft) {
    draft->request = *request;
    if (verb->writes & WRITES_RIG) {
        take_rig(call, verb->reads, request->poses, request->rig, &draft->rig);
        draft->request.rig = &draft->rig;
    }
    if (verb->writes & WRITES_SKELETON) {
        take_skeleton(call, verb->reads, request, &draft->skeleton);
        draft->request.skeleton = &draft->skeleton;
    }
    if (verb->writes & WRITES_SPACE) {
        take_space(call, request->poses, request->space, &draft->space);
        draft->request.space = &draft->space;
    }
    return !call->arena.failed;
}

void draft_keep(const Verb *verb, const Draft *draft, const ossify_request *request) {
    if (verb->writes & WRITES_RIG) {
        keep_rig(request->poses, &draft->rig, request->rig);
    }
    if (verb->writes & WRITES_SKELETON) {
        keep_skeleton(request, &draft->skeleton);
    }
    if (verb->writes & WRITES_SPACE) {
        keep_space(request->poses, &draft->space, request->space);
    }
}
