/* descent.c - Algorithm 1 of SSDR (Le & Deng 2012): vertices, then bones, until nothing is gained.
 *
 * Deviations: the rest pose moves in every pass (pass.c); and plain block descent crawls at the end,
 * so the transforms are extrapolated as Nesterov does, with a restart when the error would rise:
 *     t' = (1 + sqrt(1 + 4 t^2)) / 2,  M = M_k + (t - 1)/t' (M_k - M_(k-1)),
 * rotations made orthonormal again. A step that raises the error is taken back.
 *
 * With locality the descent does not know that a region must hold together: for a tiny gain it lets one
 * fall apart, and all but the main part is lost when the regions are next looked at. So the last model
 * whose regions held together is kept, and comes back when that happens. */
#include "descent/descent.h"

#include <math.h>
#include <string.h>

#include "descent/tolerances.h"
#include "descent/transforms.h"
#include "math/rotation3.h"

enum {
    BONE_SWEEPS = 3,     /* over the bones of a frame, an iteration */
    REFRESH = ROUND - 1, /* iterations for which candidates stay once they were looked at */
    STRIP_PASSES = 24,   /* at most, until nothing lies outside its region, */
    FAINT_PASSES = 3     /* and until nothing is faint: what is left then is needed */
};

static const double RESTART_SLACK =
    1e-3;                              /* rise that new regions and smoothing may cause without a restart */
static const double SPLIT_COST = 1.05; /* rise of the objective by new regions: one of them fell apart */
static const double FAINT_COST = 1.02; /* rise of the objective at which faint weights are kept after all */
static const double STEEP_FALL = 0.02; /* fall an iteration that is worth going on for */
static const double FLATTERY = 1.2;    /* a sample's squared error may be so much too low */
static const double RELATIVE_PULL = 3; /* smoothness 1: pull of the neighbours over the mean error */

int descent_make(Call *call, const Problem *problem, Model *model, Descent *descent) {
    const ossify_settings *settings = call->settings;
    memset(descent, 0, sizeof *descent);
    descent->call = call;
    descent->problem = problem;
    descent->model = model;
    descent->flexible = settings->bone_kind == OSSIFY_FLEXIBLE;
    descent->local = settings->locality != 0;
    descent->momentum = 1;
    descent->plan.solve_weights = 1;
    descent->plan.solve_rest =
        settings->rest_mode == OSSIFY_REST_KEPT || settings->rest_mode == OSSIFY_REST_FREE ||
        (settings->rest_mode == OSSIFY_REST_SMOOTH && !problem->rest_given); /* there is nothing to move */
    descent->plan.rest_pull = settings->rest_mode == OSSIFY_REST_KEPT && problem->rest_given ? 1 : 0;
    const size_t size = 3 * (size_t)problem->frames * (size_t)model->capacity * 4;
    descent->last = arena_take(&call->arena, size, sizeof(double));
    descent->before = arena_take(&call->arena, size, sizeof(double));
    return pass_make(call, problem, model, &descent->moments) &&
           model_make(call, problem, model->capacity, model->influences, &descent->backup) &&
           (!descent->local ||
            (model_make(call, problem, model->capacity, model->influences, &descent->kept) &&
             locality_make(call, problem, model->capacity, &descent->locality)));
}

void descent_widen(Descent *descent) {
    descent->locality.joins = FAIR_JOINS;
}

void descent_in_norm(Descent *descent, Fair *fair) {
    descent->fair = fair;
    descent_widen(descent);
}

void descent_reach(Descent *descent, double radii, int iterations) {
    descent->reach = radii * descent->problem->radius;
    descent->shrink = descent->reach / iterations;
}

void descent_restart(Descent *descent) {
    descent->momentum = 1;
    descent->keep = 0;
    descent->fresh = 1;
    descent->objective = INFINITY;
    descent->least = INFINITY;
}

/* The model is not what the last pass left. */
static void forget_residuals(Descent *descent) {
    if (descent->fair) {
        descent->fair->fresh = 0;
    }
}

static size_t transform_count(const Descent *descent) {
    return 3 * (size_t)descent->problem->frames * (size_t)descent->model->capacity * 4;
}

/* Rotations that were extrapolated are no longer rotations. */
static void make_orthonormal(const Descent *descent) {
    const Model *model = descent->model;
    const size_t row = 4 * (size_t)model->capacity;
    for (int f = 0; f < descent->problem->frames; f++) {
        for (int b = 0; b < model->bones; b++) {
            if (model->held[(size_t)f * (size_t)model->capacity +
                            (size_t)b]) { /* it did not move, and may be no rotation */
                continue;
            }
            double *m = model->transform + 3 * (size_t)f * row + 4 * (size_t)b;
            const double *guess = descent->last + 3 * (size_t)f * row + 4 * (size_t)b;
            double h[9], r[9];
            for (size_t i = 0; i < 9; i++) {
                h[i] = m[i / 3 * row + i % 3];
                r[i] = guess[i / 3 * row + i % 3];
            }
            rotation3_nearest(h, r, r);
            for (size_t i = 0; i < 9; i++) {
                m[i / 3 * row + i % 3] = r[i];
            }
        }
    }
}

static void extrapolate(Descent *descent) {
    const double next = 0.5 * (1 + sqrt(1 + 4 * descent->momentum * descent->momentum));
    const double beta = (descent->momentum - 1) / next;
    double *m = descent->model->transform;
    memcpy(descent->last, m, transform_count(descent) * sizeof *m);
    forget_residuals(descent);
    descent->momentum = next;
    if (descent->fresh || beta <= 0) {
        descent->fresh = 0;
        return;
    }
    for (size_t i = 0; i < transform_count(descent); i++) {
        m[i] += beta * (m[i] - descent->before[i]);
    }
    if (!descent->flexible) {
        make_orthonormal(descent);
    }
    if (descent->bone_step.restore) {
        descent->bone_step.restore(descent->bone_step.user);
    }
}

void descent_smooth(Descent *descent, double mean) {
    descent->plan.smoothing = descent->smoothness * RELATIVE_PULL * mean;
}

/* Which bones each vertex may use. Every change of that disturbs the momentum, so once bones no
 * longer wander it is looked at only now and then. */
static int set_candidates(Descent *descent) {
    const double least = descent->least_radii * descent->problem->radius;
    const int wandering = descent->reach > least;
    descent->renewed = 0;
    if (!descent->local || descent->frozen || (!wandering && descent->keep-- > 0)) {
        return 1;
    }
    if (!locality_update(descent->call, descent->problem, descent->model, fmax(descent->reach, least),
                         LOCAL_HOPS, &descent->locality)) {
        return 0;
    }
    descent->renewed = !wandering;
    descent->keep = REFRESH;
    descent->reach = fmax(0, descent->reach - descent->shrink);
    descent->plan.candidates = descent->locality.candidates;
    descent->plan.bytes = descent->locality.bytes;
    descent_smooth(descent,
                   model_squared_error(descent->problem, descent->model) / descent->problem->total_mass);
    return 1;
}

static double vertex_step(Descent *descent) {
    const double objective = descent->fair ? fair_pass(descent->call, descent->problem, descent->model,
                                                       &descent->moments, &descent->plan, descent->fair)
                                           : pass_run(descent->call, descent->problem, descent->model,
                                                      &descent->moments, &descent->plan);
    descent->plan.given_error = NULL; /* only the first pass sees what was given */
    return objective;
}

/* 0 when the call must end. */
static int bone_step(Descent *descent) {
    const BoneStep *step = &descent->bone_step;
    forget_residuals(descent);
    return step->solve ? step->solve(step->user, &descent->moments)
                       : transforms_update(descent->call, descent->problem, descent->model, &descent->moments,
                                           descent->flexible, BONE_SWEEPS);
}

/* 1 when the call must end. */
static int must_end(const Descent *descent) {
    return atomic_load(&descent->call->cancelled) || descent->call->arena.failed;
}

/* The vertices' half of an iteration; returns as descent_step. */
static double renew_vertices(Descent *descent) {
    Model *model = descent->model;
    const double before = descent->objective;
    extrapolate(descent);
    if (!set_candidates(descent)) {
        return -1;
    }
    model_copy_vertices(descent->problem, model, &descent->backup);
    descent->plan.search = descent->iterations == 0 && descent->search_first;
    double objective = vertex_step(descent);
    if (objective > before * (descent->local ? 1 + RESTART_SLACK : 1) && descent->momentum > 2 &&
        !must_end(descent)) {
        model_copy_vertices(descent->problem, &descent->backup, model);
        memcpy(model->transform, descent->last, transform_count(descent) * sizeof(double));
        forget_residuals(descent);
        descent->momentum = 1;
        objective = vertex_step(descent);
    }
    descent->iterations++;
    memcpy(descent->before, descent->last, transform_count(descent) * sizeof(double));
    if (must_end(descent)) {
        return -1;
    }
    descent->objective = objective;
    return isfinite(before) && before > 0 ? fabs(before - objective) / before : 1;
}

double descent_step(Descent *descent) {
    if (descent->bones_first && !bone_step(descent)) {
        return -1;
    }
    const double fall = renew_vertices(descent);
    return fall < 0 || (!descent->bones_first && !bone_step(descent)) ? -1 : fall;
}

void descent_keep(Descent *descent) {
    model_copy(descent->problem, descent->model, &descent->kept);
    descent->kept_objective = descent->objective;
}

void descent_return(Descent *descent) {
    model_copy(descent->problem, &descent->kept, descent->model);
    forget_residuals(descent);
    descent_restart(descent);
    descent->objective = descent->kept_objective;
}

/* After new regions: 1 when they lost so much that the model of the regions before is back. */
static int undo_split(Descent *descent) {
    if (descent->objective > SPLIT_COST * descent->least) {
        descent_return(descent);
        return 1;
    }
    descent->least = fmin(descent->least, descent->objective);
    descent_keep(descent);
    return 0;
}

DescentEnd descent_run(Descent *descent, int most, double tolerance, double enough) {
    Call *call = descent->call;
    double fall = 0;
    for (int i = 0, small = 0; i < most || (fall > STEEP_FALL && i < descent->steep_most); i++) {
        fall = descent_step(descent);
        if (fall < 0 || call_poll(call, call->from + (call->to - call->from) * fmin(1, (i + 1.0) / most))) {
            return DESCENT_STOPPED;
        }
        const int split = descent->renewed && undo_split(descent);
        const double squared = model_squared_error(descent->problem, descent->model);
        call->progress.iterations = descent->iterations;
        call->progress.bones = descent->model->bones;
        call->progress.erms = problem_erms(descent->problem, squared);
        if (squared <= enough) {
            return DESCENT_ENOUGH;
        }
        small = fall < tolerance ? small + 1 : 0;
        if (small == 2 || split) {
            return DESCENT_CONVERGED;
        }
    }
    return DESCENT_UNFINISHED;
}

int descent_freeze(Descent *descent) {
    if (!locality_update(descent->call, descent->problem, descent->model, 0, 1, &descent->locality) ||
        locality_strip(descent->call, descent->problem, descent->model, 0, &descent->locality) < 0) {
        return 0;
    }
    descent->plan.candidates = descent->locality.candidates;
    descent->plan.bytes = descent->locality.bytes;
    descent_restart(descent);
    descent->frozen = 1;
    return !must_end(descent);
}

int descent_begin_frozen(Descent *descent) {
    descent_restart(descent);
    descent->objective = vertex_step(descent);
    return !must_end(descent);
}

/* Weights for the transforms and the rest pose at hand, unless they are solved; with locality, until nothing
 * lies outside its bone's region. */
static int solve_last_weights(Descent *descent, int solved) {
    const int solve_rest = descent->plan.solve_rest;
    descent->plan.search = descent->plan.solve_rest = 0;
    for (int pass = 0, stripped = 1; pass < STRIP_PASSES && stripped > 0; pass++) {
        if (pass > 0 || !solved) {
            descent->objective = vertex_step(descent);
        }
        stripped = 0;
        if (descent->local && !must_end(descent)) {
            stripped = locality_strip(descent->call, descent->problem, descent->model,
                                      descent->plan.only != NULL, &descent->locality);
            descent->plan.only = descent->locality.touched;
        }
    }
    descent->plan.only = NULL;
    descent->plan.solve_rest = solve_rest;
    return !must_end(descent);
}

/* Weights below a percent go, unless the motion really needs them. */
static int drop_faint_weights(Descent *descent) {
    const double before = descent->objective;
    Locality *locality = &descent->locality;
    const size_t bytes = (size_t)descent->problem->vertices * (size_t)locality->bytes;
    model_copy_vertices(descent->problem, descent->model, &descent->backup);
    memcpy(locality->kept, locality->candidates, bytes);
    for (int pass = 0; pass < FAINT_PASSES; pass++) {
        if (locality_strip_faint(descent->problem, descent->model, locality) == 0) {
            break;
        }
        descent->plan.only = locality->touched;
        if (!solve_last_weights(descent, 0)) {
            return 0;
        }
    }
    if (descent->objective > FAINT_COST * before) {
        model_copy_vertices(descent->problem, &descent->backup, descent->model);
        forget_residuals(descent);
        memcpy(locality->candidates, locality->kept, bytes);
        descent->objective = before;
    }
    return 1;
}

int descent_clean(Descent *descent) {
    return solve_last_weights(descent, descent->bones_first) && drop_faint_weights(descent);
}

DescentEnd descent_round(Descent *descent, int most, double tolerance, double enough) {
    const DescentEnd how = descent_run(descent, most, tolerance, enough);
    if (how == DESCENT_STOPPED || !descent_clean(descent)) {
        return DESCENT_STOPPED;
    }
    if (descent->objective >= descent->kept_objective) {
        descent_return(descent);
        return DESCENT_CONVERGED;
    }
    descent_keep(descent);
    return how;
}

/* Iterations with frozen regions, weights cleaned now and then; ends with the best model that is clean.
 * A few iterations break nothing: these go without a look before. */
static DescentEnd run_frozen(Descent *descent, int most, double tolerance, double enough) {
    DescentEnd how = DESCENT_UNFINISHED;
    int done = 0;
    descent->kept_objective = INFINITY;
    if (most > REFRESH) {
        if (!descent_clean(descent)) {
            return DESCENT_STOPPED;
        }
        descent_keep(descent);
    }
    do {
        const int part = most - done <= REFRESH ? most - done : REFRESH + 1;
        descent_restart(descent);
        how = descent_round(descent, part, tolerance, enough);
        done += part;
    } while (how == DESCENT_UNFINISHED && done < most);
    return how;
}

DescentEnd descent_complete(Descent *descent, int most, double tolerance, double enough) {
    DescentEnd how = descent_run(descent, descent->local ? most - most / 3 : most, tolerance, enough);
    const double free = descent->objective;
    if (how != DESCENT_STOPPED &&
        descent->local) { /* what is enough needs no last touch, but no strays either */
        how = descent_freeze(descent) ? run_frozen(descent, most / 3, tolerance, enough) : DESCENT_STOPPED;
    } else if (how == DESCENT_UNFINISHED || how == DESCENT_CONVERGED) {
        how = solve_last_weights(descent, 0) ? how : DESCENT_STOPPED;
    }
    descent->frozen = 0;
    descent->cut = descent->local && free > 0 ? descent->objective / free : 1;
    if (descent->local && descent->expected > 0) {
        descent->cut = fmax(descent->cut, descent->objective / (FLATTERY * descent->expected));
    }
    return how;
}
