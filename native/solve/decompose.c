/* decompose.c - poses to bones, weights and transforms (Le & Deng 2012, SSDR), stage by stage:
 *
 *     prepare    scale, order, the surface's graph                       problem.c
 *     start      every vertex on one bone                                start.c
 *     explore    more bones, fewer, better ones, on a sample             explore.c, levels.c
 *     refine     Algorithm 1 on all vertices and frames                  descent.c
 *                and a patch for bones that found no place            claim.c
 *     finish     last weights; with locality, nothing outside its region locality.c
 *
 * A rig that is given is worked on where it is, given.c, and if only transforms are left to solve, tracked,
 * track.c. With a budget instead of a count, the whole is run for several counts and the smallest that meets it
 * is kept; as many bones as there are parts are found on the sample, parts.c, and refined. */
#include "solve/decompose.h"

#include <math.h>

#include "core/evaluate.h"
#include "core/rig.h"
#include "core/sentence.h"
#include "search/levels.h"
#include "search/parts.h"
#include "solve/given.h"
#include "solve/task.h"
#include "track/track.h"

enum { FIRST_COUNT = 4, VERTICES_A_BONE = 4 };

/* `until` asks for speed: a draft first, the whole effort only if that was not enough. */
static int64_t solve_fixed_count(Task *task, Model *model) {
    const ossify_settings *settings = task->call->settings;
    const Effort *effort = task_effort(settings);
    if (settings->until > 0 && settings->quality != OSSIFY_DRAFT) {
        ArenaPiece *mark = arena_mark(&task->call->arena);
        task_share(task->call, 0.05, 0.3);
        const int64_t status =
            task_solve_count(task, (int)settings->bones, task_effort_of(OSSIFY_DRAFT), model);
        if (status < 0 || status == OSSIFY_REACHED) {
            return status;
        }
        arena_return(&task->call->arena, mark);
    }
    task_share(task->call, task->call->progress.fraction, 0.98);
    return task_solve_count(task, (int)settings->bones, effort, model);
}

static const float *fixed_rest(const Task *task) {
    if (task->call->settings->rest_mode != OSSIFY_REST_FIXED) {
        return NULL;
    }
    return task->rig->given != OSSIFY_GIVEN_NOTHING ? task->rig->rest : task->poses->rest;
}

/* What the budget is a bound of. */
static double bounded(int64_t kind, const ossify_evaluation *evaluation) {
    const double size = evaluation->diagonal > 0 ? evaluation->diagonal : 1;
    return kind == OSSIFY_BUDGET_NORMALS ? evaluation->normal_degrees
           : kind == OSSIFY_BUDGET_BUMPS ? evaluation->bumps
           : kind == OSSIFY_BUDGET_RMS   ? 100 * evaluation->rms / size
                                         : 100 * evaluation->maximum / size;
}

/* That of a model, measured as the caller will see it. */
static double measured(Task *task, const Model *model) {
    const ossify_settings *settings = task->call->settings;
    ossify_rig rig = {
        .struct_size = sizeof rig, .bone_capacity = model->bones, .influences = settings->influences};
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    ArenaPiece *mark = arena_mark(&task->call->arena);
    Arena *arena = &task->call->arena;
    const size_t n = (size_t)task->whole.vertices, k = (size_t)settings->influences;
    rig.transforms =
        arena_take(arena, 12 * (size_t)task->whole.frames * (size_t)model->bones, sizeof(double));
    rig.influence_bones = arena_take(arena, n * k, sizeof(int32_t));
    rig.influence_weights = arena_take(arena, n * k, sizeof(float));
    rig.rest = arena_take(arena, 3 * n, sizeof(float));
    Measure *measure = evaluate_take(task->call, task->poses, model->bones);
    double left = -1;
    if (!arena->failed && measure) {
        rig_write(&task->whole, &task->placement, model, fixed_rest(task), &rig);
    }
    if (!arena->failed && measure &&
        evaluate(task->call, measure, task->poses, &rig, NULL, &evaluation) >= 0) {
        left = bounded(settings->budget_kind, &evaluation);
    }
    arena_return(arena, mark);
    return left;
}

/* Solves for a count after giving back what the last one took; left < 0 when the call must end. */
static int64_t try_count(Task *task, ArenaPiece *mark, int count, Model *model, double *left) {
    Call *call = task->call;
    arena_return(&call->arena, mark);
    task_share(call, call->progress.fraction, 0.5 * (call->progress.fraction + 0.98));
    const int64_t status = task_solve_count(task, count, task_effort(call->settings), model);
    *left = status >= 0 ? measured(task, model) : -1;
    return status >= 0 && *left < 0 ? call_ended(call) : status;
}

static int64_t budget_not_met(const Task *task, int count, double left) {
    const ossify_settings *settings = task->call->settings;
    const int64_t kind = settings->budget_kind;
    const char *what = kind == OSSIFY_BUDGET_NORMALS ? " degrees between normals"
                       : kind == OSSIFY_BUDGET_BUMPS ? " mean edges of bumps"
                                                     : " % of the size";
    return sentence_refuse(
        task->call->info, OSSIFY_OUT_OF_ITERATIONS,
        "%d bones leave %.4g%s, above the budget of %.4g%s: allow more bones, more influences or a larger %s",
        count, left, what, settings->budget,
        kind == OSSIFY_BUDGET_NORMALS ? " degrees"
        : kind == OSSIFY_BUDGET_BUMPS ? ""
                                      : " %",
        kind == OSSIFY_BUDGET_NORMALS || kind == OSSIFY_BUDGET_BUMPS ? "budget" : "error");
}

/* The smallest count found that meets the budget: doubled until it does, then halved between. Each
 * count is solved with the effort asked for, because a draft's error says little about it. */
static int64_t solve_budget(Task *task, Model *model) {
    const ossify_settings *settings = task->call->settings;
    const int sensible = task->whole.vertices < VERTICES_A_BONE ? 1 : task->whole.vertices / VERTICES_A_BONE;
    const int most = settings->bones < sensible ? (int)settings->bones : sensible;
    ArenaPiece *mark = arena_mark(&task->call->arena);
    int below = 0, met = 0, count = most < FIRST_COUNT ? most : FIRST_COUNT;
    for (;;) {
        double left;
        const int64_t status = try_count(task, mark, count, model, &left);
        if (status < 0) {
            return status;
        }
        if (left <= settings->budget) {
            met = count;
        } else if (count == most) {
            return budget_not_met(task, count, left);
        } else {
            below = count;
        }
        if (met == count && met - below <= 1) {
            return status;
        }
        count = met == 0 ? 2 * count : met - below <= 1 ? met : (below + met) / 2;
        count = count < most ? count : most;
    }
}

/* As many bones as there are parts, found on the largest sample: small parts must be in it. */
static int64_t solve_parts(Task *task, Model *model) {
    Call *call = task->call;
    const Problem *whole = &task->whole;
    const Effort *effort = task_effort_of(call->settings->quality);
    const int influences = (int)call->settings->influences;
    const int most = call->settings->bones < whole->vertices ? (int)call->settings->bones : whole->vertices;
    Effort counting = *effort;
    Levels levels;
    Model few;
    counting.sample_vertices = task_effort_of(OSSIFY_BEST)->sample_vertices;
    if (!model_make(call, whole, most, influences, model)) {
        return call_ended(call);
    }
    ArenaPiece *mark = arena_mark(&call->arena);
    task_share(call, 0.05, 0.8);
    const int found = levels_make(call, whole, &counting, &levels) &&
                      model_make(call, &levels.few, most, influences, &few) &&
                      parts_find(call, &levels.few, &few) &&
                      levels_carry(call, whole, &levels, &few, 0, model);
    const double expected =
        found ? model_squared_error(&levels.few, &few) * whole->frames / levels.few.frames : 0;
    arena_return(&call->arena, mark);
    task_share(call, 0.8, 0.98);
    return found ? task_refine(task, effort, model->bones, expected, model) : call_ended(call);
}

int64_t decompose(Call *call, const ossify_poses *poses, ossify_rig *rig) {
    Task task = {.call = call, .poses = poses, .rig = rig};
    Model model;
    int64_t status;
    int untouched = 0;
    if (track_is_all(poses, call->settings, rig)) {
        return track(call, poses, rig);
    }
    const float *rest = poses->rest;
    if (!rest) {
        rest = poses->frames + 3 * problem_middle_frame(poses) * poses->vertex_count;
    }
    if (!problem_prepare(call, poses, rest, rig, &task.whole, &task.placement) || call_poll(call, 0.05)) {
        return call_ended(call);
    }
    if (rig->given != OSSIFY_GIVEN_NOTHING) {
        status = given_solve(&task, &model, &untouched);
    } else if (call->settings->budget_kind == OSSIFY_BUDGET_PARTS) {
        status = solve_parts(&task, &model);
    } else if (call->settings->budget_kind != OSSIFY_BUDGET_NONE) {
        status = solve_budget(&task, &model);
    } else {
        status = solve_fixed_count(&task, &model);
    }
    if (status >= 0 && !untouched) {
        rig_write(&task.whole, &task.placement, &model, fixed_rest(&task), rig);
    }
    return status;
}
