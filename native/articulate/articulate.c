/* articulate.c - bones that only turn about joints that hold: the refit of a free rig.
 *
 *     start     the free rig's turns, hung on its skeleton, then poses and joints for its weights
 *     rounds    vertices (weights, rest pose), then poses, joints and poses: Algorithm 1 of SSDR
 *               with another bone step                       descent.c, pose_fit.c, joint_fit.c
 *               At first bones may be used far from where they are: what a free bone did, its parent or
 *               its child may have to do now
 *     finish    poses once more for the last weights
 *
 * Positions are linear in the turns of all bones and the ways of the roots (linkage.h), so poses and
 * joints are solved from the same moments as free bones. A refit that ends worse than it started lost a region
 * that hung together by a thread: it is done again with the thread held (bridge.c). If that does not help either, it
 * is taken back to its start. The whole is done plainly and then in the norm of descent/fair.c, which stays unless it
 * costs much. */
#include "articulate/articulate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "articulate/bridge.h"
#include "articulate/hang.h"
#include "articulate/joint_fit.h"
#include "articulate/pose_fit.h"
#include "core/rig.h"
#include "core/sentence.h"
#include "descent/tolerances.h"
#include "skeleton/joint.h"
#include "track/track.h"

enum {
    FIRST_STEPS = 40,       /* of a frame's poses, at first and at last, */
    ROUND_STEPS = 4,        /* and in a round: the next one goes on from there */
    FIRST_JOINT_STEPS = 10, /* of all joints, likewise */
    ROUND_JOINT_STEPS = 1
};

static const int REFIT_ROUNDS[3] = {[OSSIFY_DRAFT] = 6, [OSSIFY_NORMAL] = 40, [OSSIFY_BEST] = 80};
static const double REFIT_TOLERANCE[3] = {
    [OSSIFY_DRAFT] = 1e-3, [OSSIFY_NORMAL] = 3e-4, [OSSIFY_BEST] = 2e-5};

typedef struct Refit {
    Call *call;
    Problem problem;
    Placement placement;
    Model model, start; /* of the start only what vertices have */
    Linkage linkage;
    Pinned pinned; /* the rest of the start */
    Descent descent;
    Fair fair;
    int is_fair;  /* 1: in the norm of fair.h */
    double value; /* in the norm, of the model as it was measured */
} Refit;

/* Errors and moments of the model as it is; 0 when the call must end. */
static int measure(Refit *refit) {
    const PassPlan keep_all = {0};
    Moments *moments = &refit->descent.moments;
    if (refit->descent.fair) {
        refit->fair.fresh = 0;
        refit->value =
            fair_pass(refit->call, &refit->problem, &refit->model, moments, &keep_all, &refit->fair);
        refit->fair.fresh = 0;
    } else {
        pass_run(refit->call, &refit->problem, &refit->model, moments, &keep_all);
        refit->value = model_squared_error(&refit->problem, &refit->model);
    }
    return !refit->call->arena.failed && !refit->call->cancelled;
}

static int hang_bones(Refit *refit) {
    refit->linkage.steps = FIRST_STEPS;
    refit->linkage.joint_steps = FIRST_JOINT_STEPS;
    const int done =
        measure(refit) && hang_update(&refit->linkage, &refit->descent.moments) && measure(refit);
    refit->linkage.steps = ROUND_STEPS;
    refit->linkage.joint_steps = ROUND_JOINT_STEPS;
    return done;
}

static int last_poses(Refit *refit) {
    Linkage *linkage = &refit->linkage;
    if (!measure(refit)) {
        return 0;
    }
    linkage->steps = FIRST_STEPS;
    linkage->fine = 0;
    linkage_gather(linkage, &refit->descent.moments);
    pose_fit(linkage);
    return measure(refit);
}

static int make_room(Refit *refit, const ossify_rig *rig, const ossify_skeleton *skeleton) {
    Call *call = refit->call;
    const int bones = (int)rig->bones, influences = (int)call->settings->influences;
    if (!model_make(call, &refit->problem, bones, influences, &refit->model) ||
        !model_make(call, &refit->problem, bones, influences, &refit->start)) {
        return 0;
    }
    rig_read(&refit->problem, &refit->placement, rig, 1, &refit->model);
    if (!linkage_make(call, &refit->problem, &refit->model, skeleton, &refit->placement, &refit->linkage) ||
        !linkage_pin_make(&refit->linkage, &refit->pinned) ||
        !descent_make(call, &refit->problem, &refit->model, &refit->descent)) {
        return 0;
    }
    if (refit->is_fair) {
        const double strength =
            fair_strength(call->settings->fairness, refit->problem.vertices, refit->model.bones);
        descent_in_norm(&refit->descent, &refit->fair);
        if (!fair_make(call, &refit->problem, &refit->model, &refit->descent.moments, strength,
                       &refit->fair)) {
            return 0;
        }
    }
    refit->descent.bone_step = hang_step(&refit->linkage);
    refit->descent.smoothness = call->settings->smoothness;
    refit->descent.steep_most = call->settings->iterations > 0 ? 0 : STEEP_MOST;
    return 1;
}

/* Rounds; returns a status. */
static int64_t refine(Refit *refit) {
    Call *call = refit->call;
    const ossify_settings *settings = call->settings;
    const int most = settings->iterations > 0 ? (int)settings->iterations : REFIT_ROUNDS[settings->quality];
    const double enough = settings->until > 0 ? problem_squared(&refit->problem, settings->until) : 0;
    call->from = call->progress.fraction;
    call->to = 0.98;
    descent_restart(&refit->descent);
    descent_reach(&refit->descent, NEAR_REACH, 1 + (int)(REACH_SHRINKS * most));
    const DescentEnd how =
        descent_complete(&refit->descent, most, REFIT_TOLERANCE[settings->quality], enough);
    call->info->iterations = refit->descent.iterations;
    if (how == DESCENT_STOPPED || !last_poses(refit)) {
        return call_ended(call);
    }
    const int reached = enough > 0 && model_squared_error(&refit->problem, &refit->model) <= enough;
    return reached ? OSSIFY_REACHED : how == DESCENT_UNFINISHED ? OSSIFY_OUT_OF_ITERATIONS : OSSIFY_CONVERGED;
}

static int is_worse(const Refit *refit, double value) {
    return refit->value > value;
}

/* No more iterations than were asked for. */
static int may_try_again(const Refit *refit) {
    return refit->descent.local && refit->call->settings->iterations == 0;
}

static void return_to_start(Refit *refit) {
    model_copy_vertices(&refit->problem, &refit->start, &refit->model);
    linkage_unpin(&refit->linkage, &refit->pinned);
}

/* From the start again, the bridges of its regions held; returns a status. */
static int64_t refine_with_bridges(Refit *refit) {
    Call *call = refit->call;
    Problem *problem = &refit->problem;
    const size_t n = (size_t)problem->vertices;
    uint8_t *held = arena_take(&call->arena, n, 1);
    if (!held) {
        return call_ended(call);
    }
    if (problem->held) {
        memcpy(held, problem->held, n);
    }
    return_to_start(refit);
    if (bridge_hold(call, problem, &refit->model, held) == 0) {
        return OSSIFY_CONVERGED;
    }
    problem->held = held;
    refit->linkage.steps = ROUND_STEPS;
    return measure(refit) ? refine(refit) : call_ended(call);
}

/* 1/F sum_f (R_p - R_b)' (R_p - R_b), and how far the joint slid. */
static void find_motion(const Linkage *linkage, int b, Joint *joint) {
    const size_t row = 4 * (size_t)linkage->model->capacity, p = 4 * (size_t)linkage->leader[b];
    memset(joint, 0, sizeof *joint);
    for (size_t i = 0; i < 3 * (size_t)linkage->frames; i++) {
        const double *r = linkage->model->transform + i * row;
        double d[3];
        for (size_t k = 0; k < 3; k++) {
            d[k] = r[p + k] - r[4 * (size_t)b + k];
        }
        for (size_t k = 0; k < 9; k++) {
            joint->drift[4 * (k / 3) + k % 3] += d[k / 3] * d[k % 3] / linkage->frames;
        }
    }
    for (size_t f = 0; f < (size_t)linkage->frames; f++) {
        const double slid = linkage->stiffness[b] > 0
                                ? linkage_gap(linkage, (int)f, b)
                                : linkage->slide[f * (size_t)linkage->bones + (size_t)b];
        joint->drift[15] += slid * slid / (linkage->diagonal * linkage->diagonal) / linkage->frames;
    }
}

static void write_skeleton(const Refit *refit, ossify_skeleton *skeleton) {
    const Linkage *linkage = &refit->linkage;
    const double nowhere[3] = {0};
    for (int b = 0; b < linkage->bones; b++) {
        Joint joint;
        for (int i = 0; i < 3 && !(skeleton->held_joints && skeleton->held_joints[b]); i++) {
            skeleton->joints[3 * b + i] =
                refit->placement.centre[i] + refit->placement.unit * linkage->joint[3 * b + i];
        }
        if (linkage->leader[b] < 0) {
            continue;
        }
        find_motion(linkage, b, &joint);
        const int kind = joint_kind(&joint, nowhere, skeleton->axes + 3 * b, &skeleton->angles[b]);
        skeleton->drifts[b] = 100 * sqrt(joint_drift(&joint, nowhere));
        const int guessed = skeleton->joint_kinds[b] == OSSIFY_JOINT_LOOSE; /* it holds now, and still is */
        skeleton->joint_kinds[b] = guessed && kind != OSSIFY_JOINT_STIFF ? OSSIFY_JOINT_LOOSE : kind;
    }
}

int articulate_refuses(const ossify_request *request, ossify_info *info) {
    const ossify_rig *rig = request->rig;
    if (request->settings->bone_kind != OSSIFY_RIGID) {
        return BAD(info, "settings.bone_kind is %" PRId64 ": bones that turn about joints are OSSIFY_RIGID",
                   request->settings->bone_kind);
    }
    for (int64_t i = 0; rig->held_transforms && i < request->poses->frame_count * rig->bones; i++) {
        if (rig->held_transforms[i]) {
            return BAD(info,
                       "rig.held_transforms[%" PRId64 "][%" PRId64 "] is set: joints that hold move every "
                       "bone; hold none, or leave the bones free",
                       i / rig->bones, i % rig->bones);
        }
    }
    return 0;
}

/* One refit of the rig as it came. */
static int64_t refit_rig(Refit *refit, const ossify_poses *poses, const ossify_rig *rig,
                         const ossify_skeleton *skeleton) {
    Call *call = refit->call;
    Linkage *linkage = &refit->linkage;
    if (!make_room(refit, rig, skeleton) ||
        !linkage_centre_hinges(linkage, poses, rig, skeleton, &refit->placement)) {
        return call_ended(call);
    }
    joint_fit_clear(linkage);
    if (!hang_bones(refit)) {
        return call_ended(call);
    }
    linkage_pin(linkage, &refit->pinned);
    model_copy_vertices(&refit->problem, &refit->model, &refit->start);
    const double first = refit->value;
    /* with nothing but poses to find, the first were for the last weights */
    const int poses_alone = linkage->all_held && track_is_all(poses, call->settings, rig);
    int64_t status = !poses_alone ? refine(refit) : last_poses(refit) ? OSSIFY_CONVERGED : call_ended(call);
    if (status >= 0 && is_worse(refit, first) && !poses_alone && may_try_again(refit)) {
        status = refine_with_bridges(refit);
    }
    if (status >= 0 && is_worse(refit, first)) {
        return_to_start(refit);
        status = OSSIFY_CONVERGED;
    }
    return status;
}

static double squared_of(const Refit *refit) {
    return model_squared_error(&refit->problem, &refit->model);
}

int64_t articulate(Call *call, const ossify_poses *poses, ossify_rig *rig, ossify_skeleton *skeleton) {
    Refit plain = {.call = call}, fair, *best = &plain;
    const float *rest = poses->rest ? poses->rest : rig->rest;
    if (!problem_prepare(call, poses, rest, rig, &plain.problem, &plain.placement) || call_poll(call, 0.05)) {
        return call_ended(call);
    }
    call_stage(call, OSSIFY_STAGE_SKELETON);
    fair = plain;
    fair.is_fair = 1;
    int64_t status = refit_rig(&plain, poses, rig, skeleton);
    if (status >= 0 && status != OSSIFY_REACHED && call->settings->fairness > 0) {
        const int64_t ended = refit_rig(&fair, poses, rig, skeleton);
        best = ended >= 0 && squared_of(&fair) <= FAIR_COST * squared_of(&plain) ? &fair : &plain;
        status = ended < 0 || best == &fair ? ended : status;
    }
    if (status < 0) {
        return status;
    }
    rig_write(&best->problem, &best->placement, &best->model,
              call->settings->rest_mode == OSSIFY_REST_FIXED ? rig->rest : NULL, rig);
    write_skeleton(best, skeleton);
    return status;
}
