/* given.c - from a rig that was given, whole or in part, to one that fits (docs/refit.md):
 *
 *     bones alone        weights are found as after a start
 *     weights alone      transforms that fit them come first
 *     both               refitted where they are, refit.c; with `relocate` some bones may then leave for other
 *                        places, or all are searched for anew, and what lowers the error stays */
#include "solve/given.h"

#include <string.h>

#include "core/rig.h"
#include "descent/refit.h"
#include "descent/tolerances.h"
#include "descent/transforms.h"
#include "search/explore.h"
#include "search/levels.h"

enum { GIVEN_SWEEPS = 30 }; /* of transforms for weights that came without any */

/* A refit ends sooner than a solve: it starts where one ended, after a small edit and after a large one. */
static const RefitEffort REFITS[3][2] = {
    [OSSIFY_DRAFT] = {{.most = 6, .tolerance = 1e-2}, {.most = 12, .tolerance = 5e-3}},
    [OSSIFY_NORMAL] = {{.most = 20, .tolerance = 5e-3}, {.most = 60, .tolerance = 1e-3}},
    [OSSIFY_BEST] = {{.most = 80, .tolerance = 2e-5}, {.most = 160, .tolerance = 2e-5}},
};
/* Cycles in which bones may leave. */
static const int RELOCATIONS[3] = {[OSSIFY_DRAFT] = 3, [OSSIFY_NORMAL] = 10, [OSSIFY_BEST] = 24};
static const double WORTH_ANEW = 0.98; /* of the squared error: for which bones may all change their places */
static const double UNEDITED = 0.7;    /* of the squared error: a plain refit that leaves more only takes
                                        * back what fairness cost */
static const double AS_GOOD = 1.02;    /* times the squared error: as good as it was */
static const double NO_FALL = 1e-6;    /* of the squared error: a refit that gains no more is none */
static const double ROUNDED = 2e-7;    /* of the size: what a position loses when the rig is written */

/* What a rig came to when it was given, and what is left of that: the squared error, and in the norm (fair.h). */
typedef struct Fall {
    double given, left, fair_given, fair_left;
    int is_fair; /* 1: it was refitted in the norm */
} Fall;

/* Given bones without weights need nothing: the first pass finds them. Given weights without bones
 * need transforms that fit. */
static int fit_given_weights(Task *task, Model *model) {
    Call *call = task->call;
    Moments moments;
    const PassPlan keep_all = {0};
    if (!pass_make(call, &task->whole, model, &moments)) {
        return 0;
    }
    pass_run(call, &task->whole, model, &moments, &keep_all);
    return !call->arena.failed && !atomic_load(&call->cancelled) &&
           transforms_update(call, &task->whole, model, &moments,
                             call->settings->bone_kind == OSSIFY_FLEXIBLE, GIVEN_SWEEPS);
}

/* From bones alone: weights are found as after a start. */
static int64_t solve_given_bones(Task *task, Model *model) {
    task_share(task->call, 0.05, 0.98);
    return task_refine(task, task_effort(task->call->settings), 0, 0, model);
}

/* In the norm that the settings ask for: what the model came to, to *value. 0 when the call must end. */
static int measure(Descent *descent, double *value) {
    *value = fair_value(descent->call, descent->problem, descent->model, &descent->moments, &descent->plan,
                        descent->fair);
    return *value >= 0 && !atomic_load(&descent->call->cancelled);
}

/* One refit, fair or plain. */
static DescentEnd refit_once(Task *task, Model *model, const RefitEffort efforts[2], int is_fair,
                             Fall *fall) {
    Call *call = task->call;
    const ossify_settings *settings = call->settings;
    const double enough = settings->until > 0 ? problem_squared(&task->whole, settings->until) : 0;
    ArenaPiece *mark = arena_mark(&call->arena);
    Descent descent;
    Fair fair;
    DescentEnd how = DESCENT_STOPPED;
    int ready = descent_make(call, &task->whole, model, &descent);
    if (ready && is_fair) {
        descent_in_norm(&descent, &fair);
        const double strength = fair_strength(settings->fairness, task->whole.vertices, model->bones);
        ready = fair_make(call, &task->whole, model, &descent.moments, strength, &fair) &&
                measure(&descent, &fall->fair_given);
    }
    if (ready) {
        descent.smoothness = settings->smoothness;
        descent.steep_most = settings->iterations > 0 ? 0 : STEEP_MOST;
        descent_restart(&descent);
        how = descent_refit(&descent, efforts, enough, &fall->given);
        call->info->iterations = descent.iterations;
    }
    if (how != DESCENT_STOPPED && is_fair && !measure(&descent, &fall->fair_left)) {
        how = DESCENT_STOPPED;
    }
    fall->left = model_squared_error(&task->whole, model);
    arena_return(&call->arena, mark);
    return how;
}

/* In the norm, from the model as it came; stays if its squared error is near that of `model`, which was refitted
 * plainly, or if there was nothing to mend. Where much is held that is not fair, it is not. */
static DescentEnd refit_fairly(Task *task, Model *model, Model *came, const RefitEffort efforts[2],
                               DescentEnd how, Fall *fall) {
    Fall fair = {0};
    const DescentEnd ended = refit_once(task, came, efforts, 1, &fair);
    if (ended == DESCENT_STOPPED) {
        return ended;
    }
    const int was_fair = fall->left >= UNEDITED * fall->given && fair.left <= AS_GOOD * fair.given;
    if (fair.left <= FAIR_COST * fall->left || was_fair) {
        model_copy(&task->whole, came, model);
        *fall = fair;
        fall->is_fair = 1;
        return ended;
    }
    return how;
}

/* From weights and bones that belong together; returns a status. */
static int64_t refit(Task *task, Model *model, Fall *fall) {
    Call *call = task->call;
    const ossify_settings *settings = call->settings;
    const double enough = settings->until > 0 ? problem_squared(&task->whole, settings->until) : 0;
    RefitEffort efforts[2] = {REFITS[settings->quality][0], REFITS[settings->quality][1]};
    ArenaPiece *mark = arena_mark(&call->arena);
    const int is_fair = settings->fairness > 0;
    Model came;
    for (int i = 0; i < 2 && settings->iterations > 0; i++) {
        efforts[i].most = (int)settings->iterations;
    }
    task_share(call, call->progress.fraction, 0.5 * (call->progress.fraction + 0.98));
    call_stage(call, OSSIFY_STAGE_REFINE);
    if (is_fair) {
        if (!model_make(call, &task->whole, model->capacity, model->influences, &came)) {
            return call_ended(call);
        }
        model_copy(&task->whole, model, &came);
    }
    DescentEnd how = refit_once(task, model, efforts, 0, fall);
    if (how != DESCENT_STOPPED && is_fair) {
        how = refit_fairly(task, model, &came, efforts, how, fall);
    }
    arena_return(&call->arena, mark);
    return how == DESCENT_STOPPED ? call_ended(call) : task_end(task, how, enough, model);
}

/* Bones find new places on the sample; 0 when the call must end, *moved: 1 when the model is another. */
static int move_some(Task *task, Model *model, int *moved) {
    Call *call = task->call;
    const Effort *effort = task_effort(call->settings);
    ArenaPiece *mark = arena_mark(&call->arena);
    Levels levels;
    Model few;
    int done = levels_make(call, &task->whole, effort, &levels) &&
               model_make(call, &levels.few, model->capacity, model->influences, &few);
    if (done) {
        levels_lower(&task->whole, &levels, model, &few);
        done =
            explore_relocate(call, &levels.few, RELOCATIONS[call->settings->quality], effort, &few, moved) &&
            (!*moved || levels_carry(call, &task->whole, &levels, &few, 1, model));
    }
    arena_return(&call->arena, mark);
    return done;
}

/* Some bones leave, the others stay near; returns a status. */
static int64_t refit_moved(Task *task, Model *model, int *moved) {
    Call *call = task->call;
    const double from = call->progress.fraction;
    Fall carried;
    task_share(call, from, from + 0.25 * (0.98 - from));
    if (!move_some(task, model, moved)) {
        return call_ended(call);
    }
    if (!*moved) {
        return OSSIFY_CONVERGED;
    }
    ArenaPiece *mark = arena_mark(&call->arena);
    const int64_t status = task_refine(task, task_effort(call->settings), 0, 0, model);
    arena_return(&call->arena, mark);
    return status < 0 ? status : refit(task, model, &carried);
}

/* 1 when nothing of the rig need stay as it is. */
static int is_all_free(const Task *task, const Model *model) {
    const Problem *whole = &task->whole;
    const size_t n = (size_t)whole->vertices;
    const int held = memchr(model->stays, 1, (size_t)model->bones) ||
                     (whole->held && memchr(whole->held, 1, n)) ||
                     (whole->held_rest && memchr(whole->held_rest, 1, n)) ||
                     (task->call->settings->rest_mode == OSSIFY_REST_FIXED &&
                      memcmp(model->rest, whole->rest, 3 * n * sizeof(double)) != 0);
    return !held;
}

/* Bones are searched for from nothing, in case that the given ones are caught where moving some leads nowhere, and
 * numbered by those that they resemble. Returns a status; *moved: 1 when the model is the one that was found. */
static int64_t refit_anew(Task *task, Model *model, int *moved) {
    Call *call = task->call;
    ArenaPiece *mark = arena_mark(&call->arena);
    const double from = call->progress.fraction;
    Fall found;
    Model fresh;
    if (!is_all_free(task, model)) {
        return OSSIFY_CONVERGED;
    }
    task_share(call, from, from + 0.75 * (0.98 - from));
    int64_t status = task_solve_count(task, model->bones, task_effort(call->settings), &fresh);
    *moved = status >= 0 && fresh.bones == model->bones && fresh.capacity == model->capacity;
    if (*moved && model_number_alike(call, &task->whole, model, &fresh)) {
        model_copy(&task->whole, &fresh, model);
    } else if (*moved) {
        status = call_ended(call);
    }
    arena_return(&call->arena, mark);
    return status >= 0 && *moved ? refit(task, model, &found) : status;
}

/* Bones may leave. What lowers the error is kept in `best`, which comes with the model that stayed. */
static int64_t refit_elsewhere(Task *task, Model *model, Model *best, int64_t status) {
    const Problem *whole = &task->whole;
    const int ways = task->call->settings->relocate == OSSIFY_RELOCATE_ALL ? 2 : 1;
    for (int anew = 0; anew < ways; anew++) {
        int moved = 0;
        const int64_t found = anew ? refit_anew(task, model, &moved) : refit_moved(task, model, &moved);
        if (found < 0) {
            return found;
        }
        const double worth = anew ? WORTH_ANEW : 1;
        if (moved && model_squared_error(whole, model) < worth * model_squared_error(whole, best)) {
            model_copy(whole, model, best);
            status = found;
        }
        model_copy(whole, best, model);
    }
    return status;
}

/* In place first; then, if that is asked for, elsewhere. */
static int64_t refit_all(Task *task, Model *model, Fall *fall) {
    Call *call = task->call;
    Model best;
    const int64_t status = refit(task, model, fall);
    if (status < 0 || status == OSSIFY_REACHED || call->settings->relocate == OSSIFY_RELOCATE_NONE) {
        return status;
    }
    if (!model_make(call, &task->whole, model->capacity, model->influences, &best)) {
        return call_ended(call);
    }
    model_copy(&task->whole, model, &best);
    const double before = model_squared_error(&task->whole, model);
    const int64_t last = refit_elsewhere(task, model, &best, status);
    fall->left = model_squared_error(&task->whole, model);
    fall->is_fair = fall->is_fair && fall->left >= before; /* or bones left for where they are worth more */
    return last;
}

int64_t given_solve(Task *task, Model *model, int *untouched) {
    Call *call = task->call;
    const ossify_rig *rig = task->rig;
    const int complete = rig->given == (OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS);
    const int capacity = call->settings->relocate != OSSIFY_RELOCATE_NONE
                             ? explore_capacity((int)rig->bones, task_effort(call->settings))
                             : (int)rig->bones;
    if (!model_make(call, &task->whole, capacity, (int)call->settings->influences, model)) {
        return call_ended(call);
    }
    rig_read(&task->whole, &task->placement, rig, call->settings->bone_kind == OSSIFY_RIGID, model);
    if (!(rig->given & OSSIFY_GIVEN_WEIGHTS)) {
        return solve_given_bones(task, model);
    }
    if (!complete && !fit_given_weights(task, model)) {
        return call_ended(call);
    }
    Fall fall = {0};
    const int64_t status = refit_all(task, model, &fall);
    const double lost = ROUNDED * ROUNDED * task->whole.total_mass * task->whole.frames;
    *untouched = status >= 0 && complete && rig_is_lawful(task->poses, call->settings, rig) &&
                 (fall.is_fair ? fall.fair_left >= (1 - NO_FALL) * fall.fair_given - lost
                               : fall.left >= (1 - NO_FALL) * fall.given - lost);
    return *untouched && status == OSSIFY_OUT_OF_ITERATIONS ? OSSIFY_CONVERGED : status;
}
