/* task.c - the stages that a decomposition is put together from: how hard to try, a search for a number of bones, and
 * the descent on all vertices and frames. */
#include "solve/task.h"

#include "descent/descent.h"
#include "descent/finish.h"
#include "descent/tolerances.h"
#include "search/claim.h"
#include "search/explore.h"
#include "search/levels.h"
#include "starts/reseed.h"

static const Effort EFFORTS[3] = {
    [OSSIFY_DRAFT] =
        {
            .sample_vertices = 1000,
            .sample_frames = 24,
            .surplus = 1.00,
            .warm = 8,
            .between = 0,
            .after = 3,
            .cycles = 0,
            .cycle_warm = 6,
            .cycle_after = 6,
            .tolerance = 1e-3,
            .refine = 4,
            .refine_tolerance = 1e-3,
        },
    [OSSIFY_NORMAL] =
        {
            .sample_vertices = 1500,
            .sample_frames = 24,
            .surplus = 1.15,
            .warm = 6,
            .between = 2,
            .after = 10,
            .cycles = 3,
            .cycle_warm = 6,
            .cycle_after = 8,
            .tolerance = 3e-4,
            .refine = 10,
            .refine_tolerance = 3e-4,
        },
    [OSSIFY_BEST] =
        {
            .sample_vertices = 4000,
            .sample_frames = 64,
            .surplus = 1.33,
            .warm = 12,
            .between = 3,
            .after = 30,
            .cycles = 24,
            .cycle_warm = 6,
            .cycle_after = 12,
            .tolerance = 1e-4,
            .refine = 80,
            .refine_tolerance = 2e-5,
        },
};

/* Regions take longer to find their places than bones do: with fewer iterations a cycle comes back worse
 * than it went, and is taken back although its bones were better. */
static const Effort LOCAL_BEST = {
    .sample_vertices = 4000,
    .sample_frames = 64,
    .surplus = 1.33,
    .warm = 12,
    .between = 6,
    .after = 30,
    .cycles = 16,
    .cycle_warm = 12,
    .cycle_after = 30,
    .tolerance = 1e-4,
    .refine = 80,
    .refine_tolerance = 2e-5,
    .least_reach = 0.05,
};

/* Bones that shall be joined have to be parts: from more of them, and in more cycles, parts are found. */
static const Effort JOINTED_NORMAL = {
    .sample_vertices = 1500,
    .sample_frames = 24,
    .surplus = 1.80,
    .warm = 12,
    .between = 3,
    .after = 10,
    .cycles = 13,
    .cycle_warm = 6,
    .cycle_after = 8,
    .tolerance = 3e-4,
    .refine = 10,
    .refine_tolerance = 3e-4,
};

enum { FAIR_FRAMES = 40 }; /* of the norm's sample */

enum { SAMPLED_A_BONE = 60 }; /* vertices of the sample, at least: fewer do not tell bones apart */

static const double SAMPLE_MARGIN = 0.85; /* a sample's E_RMS flatters: `until` asks this much more of it */

const Effort *task_effort_of(int64_t quality) {
    return &EFFORTS[quality];
}

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

int64_t task_end(const Task *task, DescentEnd how, double enough, const Model *model) {
    const double squared = model_squared_error(&task->whole, model);
    const int reached = enough > 0 && squared <= enough;
    const int converged = how == DESCENT_CONVERGED ||
                          (how == DESCENT_ENOUGH && enough <= 0) || /* nothing is left to lower */
                          reseed_is_explained(&task->whole, squared / task->whole.vertices);
    return reached ? OSSIFY_REACHED : converged ? OSSIFY_CONVERGED : OSSIFY_OUT_OF_ITERATIONS;
}

/* What neighbours share, a few frames tell: early iterations of the norm go over these alone. How many; -1 when the
 * call must end. */
static int finish_few(Descent *descent) {
    Call *call = descent->call;
    const Problem *whole = descent->problem;
    const Effort size = {.sample_vertices = whole->vertices, .sample_frames = FAIR_FRAMES};
    const int rounds = finish_sampled(call->settings);
    ArenaPiece *mark = arena_mark(&call->arena);
    Levels levels;
    Model few;
    Descent sampled;
    if (rounds == 0) {
        return 0;
    }
    int done = levels_make(call, whole, &size, &levels);
    const int smaller = done && levels.few.frames < whole->frames;
    if (smaller) {
        done = model_make(call, &levels.few, descent->model->capacity, descent->model->influences, &few) &&
               descent_make(call, &levels.few, &few, &sampled);
        if (done) {
            levels_lower(whole, &levels, descent->model, &few);
            done = finish_on_sample(&sampled, (double)levels.few.frames / whole->frames) &&
                   levels_carry(call, whole, &levels, &few, 1, descent->model);
            descent->iterations += sampled.iterations;
        }
    }
    arena_return(&call->arena, mark);
    return done ? smaller * rounds : -1;
}

static int finish(Descent *descent) {
    const int sampled = finish_few(descent);
    return sampled >= 0 && finish_run(descent, sampled);
}

int64_t task_refine(Task *task, const Effort *effort, int bones, double expected, Model *model) {
    Call *call = task->call;
    const ossify_settings *settings = call->settings;
    const int most =
        settings->iterations > 0 ? (int)settings->iterations - finish_share(settings) : effort->refine;
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
    descent.steep_most = settings->iterations > 0 ? 0 : STEEP_MOST;
    if (finish_is_due(settings)) {
        descent_widen(&descent);
    }
    descent_restart(&descent);
    /* repairs would take more iterations than were asked for */
    const Effort *repairs = settings->iterations > 0 ? NULL : effort;
    const DescentEnd how = explore_complete(&descent, most, effort->refine_tolerance, enough, repairs);
    if (how == DESCENT_STOPPED || (bones > 0 && !claim_places(&descent, bones))) {
        return call_ended(call);
    }
    if (finish_is_due(settings) && task_end(task, how, enough, model) != OSSIFY_REACHED &&
        !reseed_is_explained(&task->whole, model_squared_error(&task->whole, model) / task->whole.vertices) &&
        !finish(&descent)) {
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
