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
#include "math/lapack.h"

#include <math.h>

#include "claim.h"
#include "decompose.h"
#include "explore.h"
#include "reseed.h"
#include "track.h"

/* vertices frames surplus warm between settle cycles warm settle tolerance refine tolerance reach */
static const Effort EFFORTS[3] = {
    [OSSIFY_DRAFT] = {1000, 24, 1.00, 8, 0, 3, 0, 6, 6, 1e-3, 4, 1e-3, 0},
    [OSSIFY_NORMAL] = {1500, 24, 1.15, 6, 2, 10, 3, 6, 8, 3e-4, 10, 3e-4, 0},
    [OSSIFY_BEST] = {4000, 64, 1.33, 12, 3, 30, 24, 6, 12, 1e-4, 80, 2e-5, 0},
};

/* Regions take longer to find their places than bones do: with fewer iterations a cycle comes back worse
 * than it went, and is taken back although its bones were better. */
static const Effort LOCAL_BEST = {4000, 64, 1.33, 12, 6, 30, 16, 12, 30, 1e-4, 80, 2e-5, 0.05};

/* Bones that shall be joined have to be parts: from more of them, and in more cycles, parts are found. */
static const Effort JOINTED_NORMAL = {1500, 24, 1.80, 12, 3, 10, 13, 6, 8, 3e-4, 10, 3e-4, 0};

enum { FIRST_COUNT = 4, VERTICES_A_BONE = 4, SAMPLED_A_BONE = 60 };

static const double SAMPLE_MARGIN = 0.85; /* a sample's E_RMS flatters: `until` asks this much more of it */

const Effort *task_effort(const ossify_settings *settings) {
    const int local_best = settings->quality == OSSIFY_BEST && settings->locality;
    if (settings->jointed && settings->bone_kind == OSSIFY_RIGID && settings->quality == OSSIFY_NORMAL) {
        return &JOINTED_NORMAL;
    }
    return local_best ? &LOCAL_BEST : &EFFORTS[settings->quality];
}

void task_share(Call *call, double from, double to) {
    call->from = from;
    call->to = to;
}

int64_t task_end(const Task *task, int how, double enough, const Model *model) {
    const double squared = model_squared_error(&task->whole, model);
    const int reached = enough > 0 && squared <= enough;
    const int settled = how == 1 || (how == 2 && enough <= 0) || /* 2: nothing is left to lower */
                        reseed_is_explained(&task->whole, squared / task->whole.vertices);
    return reached ? OSSIFY_REACHED : settled ? OSSIFY_CONVERGED : OSSIFY_OUT_OF_ITERATIONS;
}

int64_t task_refine(Task *task, const Effort *effort, int bones, double expected, Model *model) {
    Call *call = task->call;
    const ossify_settings *settings = call->settings;
    const int most = settings->iterations > 0 ? (int)settings->iterations : effort->refine;
    const double enough = settings->until > 0 ? problem_squared(&task->whole, settings->until) : 0;
    Descent descent;
    call_stage(call, OSSIFY_STAGE_REFINE);
    if (!descent_make(call, &task->whole, model, &descent)) {
        return call_ended(call);
    }
    descent.wanted = bones;
    descent.expected = expected;
    descent.least_radii = effort->least_reach;
    descent.smoothness = settings->smoothness;
    descent.steep_most = settings->iterations > 0 ? 0 : STEEP_ITERATIONS;
    descent_restart(&descent);
    /* repairs would take more iterations than were asked for */
    const Effort *repairs = settings->iterations > 0 ? NULL : effort;
    const int how = explore_settle(&descent, most, effort->refine_tolerance, enough, repairs);
    if (how < 0 || (bones > 0 && !claim_places(&descent, bones))) {
        return call_ended(call);
    }
    call->info->iterations = descent.iterations;
    return task_end(task, how, enough, model);
}

int64_t task_solve_count(Task *task, int bones, const Effort *effort, Model *model) {
    Call *call = task->call;
    const ossify_settings *settings = call->settings;
    const double from = call->from, all = call->to - call->from;
    const double until = settings->until * SAMPLE_MARGIN;
    Effort searching = *effort;
    Levels levels;
    Model few;
    bones = bones < task->whole.vertices ? bones : task->whole.vertices;
    if (effort->cycles > 0 && searching.sample_vertices < SAMPLED_A_BONE * bones) {
        searching.sample_vertices = SAMPLED_A_BONE * bones;
    }
    if (!model_make(call, &task->whole, explore_capacity(bones, effort), (int)settings->influences, model)) {
        return call_ended(call);
    }
    ArenaPiece *mark = arena_mark(&call->arena);
    task_share(call, from, from + 0.5 * all);
    const int found = levels_make(call, &task->whole, &searching, &levels) &&
                      model_make(call, &levels.few, model->capacity, model->influences, &few) &&
                      explore(call, &levels.few, bones, effort, problem_squared(&levels.few, until), &few) &&
                      levels_carry(call, &task->whole, &levels, &few, 0, model);
    const double expected =
        found ? model_squared_error(&levels.few, &few) * task->whole.frames / levels.few.frames : 0;
    arena_return(&call->arena, mark);
    task_share(call, from + 0.5 * all, from + all);
    return found ? task_refine(task, effort, bones, expected, model) : call_ended(call);
}

/* `until` asks for speed: a draft first, the whole effort only if that was not enough. */
static int64_t solve_fixed_count(Task *task, Model *model) {
    const ossify_settings *settings = task->call->settings;
    const Effort *effort = task_effort(settings);
    if (settings->until > 0 && settings->quality != OSSIFY_DRAFT) {
        ArenaPiece *mark = arena_mark(&task->call->arena);
        task_share(task->call, 0.05, 0.3);
        const int64_t status = task_solve_count(task, (int)settings->bones, &EFFORTS[OSSIFY_DRAFT], model);
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

/* Percent of the rest's diagonal that a model leaves, measured as the caller will see it. */
static double measured_percent(Task *task, const Model *model) {
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
    double percent = -1;
    if (!arena->failed && measure) {
        rig_write(&task->whole, &task->placement, model, fixed_rest(task), &rig);
    }
    if (!arena->failed && measure && evaluate(task->call, measure, task->poses, &rig, &evaluation) >= 0) {
        const double error = settings->budget_kind == OSSIFY_BUDGET_RMS ? evaluation.rms : evaluation.maximum;
        percent = 100 * error / (evaluation.diagonal > 0 ? evaluation.diagonal : 1);
    }
    arena_return(arena, mark);
    return percent;
}

/* Solves for a count after giving back what the last one took; percent < 0 when the call must end. */
static int64_t try_count(Task *task, ArenaPiece *mark, int count, Model *model, double *percent) {
    Call *call = task->call;
    arena_return(&call->arena, mark);
    task_share(call, call->progress.fraction, 0.5 * (call->progress.fraction + 0.98));
    const int64_t status = task_solve_count(task, count, task_effort(call->settings), model);
    *percent = status >= 0 ? measured_percent(task, model) : -1;
    return status >= 0 && *percent < 0 ? call_ended(call) : status;
}

static int64_t budget_not_met(const Task *task, int count, double percent) {
    ossify_info *info = task->call->info;
    return refuse(
        info, OSSIFY_OUT_OF_ITERATIONS,
        "%d bones leave %.4g %% of the size, above the budget of %.4g %%: allow more bones, more influences "
        "or a larger error",
        count, percent, task->call->settings->budget);
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
        double percent;
        const int64_t status = try_count(task, mark, count, model, &percent);
        if (status < 0) {
            return status;
        }
        if (percent <= settings->budget) {
            met = count;
        } else if (count == most) {
            return budget_not_met(task, count, percent);
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
    const Effort *effort = &EFFORTS[call->settings->quality];
    const int influences = (int)call->settings->influences;
    const int most = call->settings->bones < whole->vertices ? (int)call->settings->bones : whole->vertices;
    Effort counting = *effort;
    Levels levels;
    Model few;
    counting.sample_vertices = EFFORTS[OSSIFY_BEST].sample_vertices;
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
    blas_use_one_thread();
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
