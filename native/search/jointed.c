/* jointed.c - what a model is worth as a body whose bones hang together.
 *
 * Its bones are joined to a skeleton as they are (skeleton.c) and hung on it, and poses and joints are solved for
 * its weights (pose_fit.c, joint_fit.c); the model itself stays. Where weights blend over many bones and a vertex
 * may use four, several sets of bones come to about the same error, most of them with a bone that only fills a
 * gap in the blend. Such a bone holds no joint: with joints that hold, the error tells these sets apart, and the
 * joint that drifts most tells which bone it is. */
#include "search/jointed.h"

#include <math.h>

#include "articulate/hang.h"
#include "core/rig.h"
#include "skeleton/skeleton.h"

enum { POSE_STEPS = 12, JOINT_STEPS = 3 };

/* A model as a rig of its own: vertices in the order they have, nothing held. */
typedef struct Copy {
    Problem problem;
    Placement placement;
    ossify_poses poses;
    ossify_rig rig;
    ossify_skeleton skeleton;
    Model model;
} Copy;

static void take_rig(Arena *arena, const Problem *problem, const Model *model, ossify_rig *rig) {
    const size_t v = (size_t)problem->vertices, k = (size_t)model->influences;
    *rig = (ossify_rig){.bone_capacity = model->bones, .influences = model->influences};
    rig->transforms = arena_take(arena, 12 * (size_t)problem->frames * (size_t)model->bones, sizeof(double));
    rig->influence_bones = arena_take(arena, v * k, sizeof(int32_t));
    rig->influence_weights = arena_take(arena, v * k, sizeof(float));
    rig->rest = arena_take(arena, 3 * v, sizeof(float));
}

static void take_skeleton(Arena *arena, int bones, ossify_skeleton *skeleton) {
    const size_t b = (size_t)bones;
    *skeleton = (ossify_skeleton){.bone_capacity = bones, .root = -1};
    skeleton->parents = arena_take(arena, b, sizeof(int32_t));
    skeleton->joint_kinds = arena_take(arena, b, sizeof(int32_t));
    skeleton->mirrors = arena_take(arena, b, sizeof(int32_t));
    skeleton->joints = arena_take(arena, 3 * b, sizeof(double));
    skeleton->axes = arena_take(arena, 3 * b, sizeof(double));
    skeleton->angles = arena_take(arena, b, sizeof(double));
    skeleton->drifts = arena_take(arena, b, sizeof(double));
}

static int copy_make(Call *call, const Problem *problem, const Model *model, Copy *copy) {
    *copy = (Copy){.problem = *problem, .placement = {.unit = 1}};
    copy->problem.held = copy->problem.held_rest = NULL;
    copy->problem.caller = arena_take(&call->arena, (size_t)problem->vertices, sizeof(int));
    copy->placement.frame_centre = arena_take(&call->arena, 3 * (size_t)problem->frames, sizeof(double));
    copy->poses = (ossify_poses){.vertex_count = problem->vertices, .frame_count = problem->frames};
    take_rig(&call->arena, problem, model, &copy->rig);
    take_skeleton(&call->arena, model->bones, &copy->skeleton);
    if (!model_make(call, problem, model->capacity, model->influences, &copy->model)) {
        return 0;
    }
    for (int v = 0; v < problem->vertices; v++) {
        copy->problem.caller[v] = v;
    }
    model_copy(problem, model, &copy->model);
    rig_write(&copy->problem, &copy->placement, model, NULL, &copy->rig);
    return 1;
}

/* The squared error of the model once it hangs; infinite when the call must end. */
static double hang(Call *call, Copy *copy) {
    const PassPlan keep_all = {0};
    Linkage linkage;
    Moments moments;
    if (!linkage_make(call, &copy->problem, &copy->model, &copy->skeleton, &copy->placement, &linkage) ||
        !pass_make(call, &copy->problem, &copy->model, &moments)) {
        return INFINITY;
    }
    linkage.steps = POSE_STEPS;
    linkage.joint_steps = JOINT_STEPS;
    pass_run(call, &copy->problem, &copy->model, &moments, &keep_all);
    if (call->arena.failed || !hang_update(&linkage, &moments)) {
        return INFINITY;
    }
    pass_run(call, &copy->problem, &copy->model, &moments, &keep_all);
    return call->arena.failed ? INFINITY : model_squared_error(&copy->problem, &copy->model);
}

/* Of the two bones whose joint drifts most the one that moves less; -1 when all hold. */
static int find_loosest(const Problem *problem, const Model *model, const ossify_skeleton *skeleton) {
    int loosest = -1;
    double most = 0;
    for (int b = 0; b < model->bones; b++) {
        if (skeleton->drifts[b] > most) {
            most = skeleton->drifts[b];
            loosest = b;
        }
    }
    if (loosest < 0) {
        return -1;
    }
    const int parent = skeleton->parents[loosest];
    return model_bone_mass(problem, model, parent) < model_bone_mass(problem, model, loosest) ? parent
                                                                                              : loosest;
}

Jointed jointed_measure(Call *call, const Problem *problem, const Model *model) {
    ArenaPiece *mark = arena_mark(&call->arena);
    Jointed jointed = {INFINITY, -1};
    Copy copy;
    if (copy_make(call, problem, model, &copy) &&
        skeleton_connect(call, &copy.poses, &copy.rig, &copy.skeleton) >= 0) {
        jointed.error = hang(call, &copy);
        jointed.loosest = find_loosest(problem, model, &copy.skeleton);
    }
    arena_return(&call->arena, mark);
    return jointed;
}
