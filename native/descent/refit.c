/* refit.c - a model that is whole and was worked on is made to fit again, near where it is (docs/refit.md).
 *
 * The first pass solves the weights for the transforms as they came. A vertex that it mends - its error falls
 * by much more than a pass brings - was left off by the edit. What was given with these vertices mended is the
 * model to beat: its other weights, and so its regions, are as they came. Then the descent: rounds of
 * iterations, each followed by the cut to connected regions, which may cost more than was gained, since the
 * descent does not know that a region must hold together. If the first round ends above the mended model, that
 * one comes back, the weights that were sound stay, and only transforms, rest pose and mended vertices go on. */
#include "descent/refit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FAR_OFF = 20;  /* times the error of the middle vertex: by an edit, not by the motion */
static const double MENDED = 1.25; /* times the error that a pass leaves: it was not solved before */
static const double MENDED_LEAST = 0.1; /* of the mean error: less is not worth mending */
static const double LARGE = 0.03; /* of the mass is mended: what a bone moved, and not a stroke of a brush */

enum { SAMPLED_BLOCKS = 32 };

typedef struct Refit {
    Descent *descent;
    double *given_error; /* [v] */
    uint8_t *sound;      /* [v] 1: the weights fitted as they came, or are held */
    double mean;         /* squared error of a vertex, edits apart */
    double mended;       /* mass of the vertices that are not sound */
} Refit;

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Errors of the model as it came, on some blocks, to error; returns how many, 0 when the call must end. */
static size_t sample_errors(Refit *refit, double *error) {
    Descent *descent = refit->descent;
    const Problem *problem = descent->problem;
    Call *call = descent->call;
    const int step = 1 + problem->blocks / SAMPLED_BLOCKS;
    uint8_t *only = arena_take(&call->arena, (size_t)problem->blocks, 1);
    const PassPlan measure = {.only = only};
    size_t count = 0;
    if (!only) {
        return 0;
    }
    for (int block = 0; block < problem->blocks; block += step) {
        only[block] = 1;
    }
    pass_run(call, problem, descent->model, &descent->moments, &measure);
    for (int v = 0; v < problem->vertices; v++) {
        if (only[v / BLOCK]) {
            error[count++] = descent->model->error[v];
        }
    }
    arena_give(&call->arena, only);
    return call->arena.failed || atomic_load(&call->cancelled) ? 0 : count;
}

/* Smoothing by the error of the model as it came, less that of vertices which an edit left far off. */
static int smooth_by_most(Refit *refit) {
    double *error = refit->given_error, sum = 0;
    const size_t n = sample_errors(refit, error);
    size_t count = 0;
    if (n == 0) {
        return 0;
    }
    qsort(error, n, sizeof *error, compare_doubles);
    for (const double most = FAR_OFF * error[n / 2]; count < n && error[count] <= most; count++) {
        sum += error[count];
    }
    refit->mean = sum / (double)count;
    descent_smooth(refit->descent, refit->mean);
    return 1;
}

static double objective_of(Descent *descent, Model *model) {
    const Problem *problem = descent->problem;
    if (descent->fair) {
        return fair_value(descent->call, problem, model, &descent->moments, &descent->plan, descent->fair);
    }
    double sum = 0;
    for (int v = 0; v < problem->vertices; v++) {
        const double *p = model->rest + 3 * (size_t)v, *given = problem->rest + 3 * (size_t)v;
        double moved = 0;
        for (int a = 0; a < 3; a++) {
            moved += (p[a] - given[a]) * (p[a] - given[a]);
        }
        sum += problem->mass[v] * (model->error[v] + descent->plan.rest_pull * moved);
    }
    return sum;
}

static void copy_vertex(const Model *from, int v, Model *to) {
    const size_t k = (size_t)from->influences, at = (size_t)v * k;
    memcpy(to->bone + at, from->bone + at, k * sizeof(int));
    memcpy(to->weight + at, from->weight + at, k * sizeof(double));
    memcpy(to->rest + 3 * (size_t)v, from->rest + 3 * (size_t)v, 3 * sizeof(double));
    to->error[v] = from->error[v];
}

/* After the first pass: what was given, with the vertices mended that an edit left off, is what is kept. */
static void keep_mended(Refit *refit) {
    Descent *descent = refit->descent;
    Model *kept = &descent->kept;
    const Problem *problem = descent->problem;
    for (int v = 0; v < problem->vertices; v++) {
        const double error = descent->model->error[v];
        kept->error[v] = refit->given_error[v];
        refit->sound[v] = (uint8_t)((problem->held && problem->held[v]) ||
                                    kept->error[v] <= MENDED * error + MENDED_LEAST * refit->mean);
        if (!refit->sound[v]) {
            refit->mended += problem->mass[v];
            copy_vertex(descent->model, v, kept);
        }
    }
    descent->kept_objective = objective_of(descent, kept);
}

static int first_pass(Refit *refit) {
    Descent *descent = refit->descent;
    if (!smooth_by_most(refit) || !descent_freeze(descent)) {
        return 0;
    }
    model_copy(descent->problem, descent->model, &descent->kept);
    descent->plan.given_error = refit->given_error;
    if (!descent_begin_frozen(descent)) {
        return 0;
    }
    keep_mended(refit);
    descent_smooth(descent,
                   model_squared_error(descent->problem, descent->model) / descent->problem->total_mass);
    return 1;
}

/* Regions fell apart: the kept model goes on with its sound weights held. */
static DescentEnd go_on_with_sound(Refit *refit, int most, double tolerance, double enough) {
    Descent *descent = refit->descent;
    const Problem *whole = descent->problem;
    Problem rest = *whole;
    rest.held = refit->sound;
    descent->problem = &rest;
    const DescentEnd how = descent_freeze(descent) && descent_begin_frozen(descent)
                               ? descent_round(descent, most, tolerance, enough)
                               : DESCENT_STOPPED;
    descent->problem = whole;
    return how;
}

/* Of `part` iterations that were asked for, those that were taken; those that a steep fall brings do not count. */
static int count_taken(const Descent *descent, int before, int part) {
    const int taken = descent->iterations - before;
    return taken < part ? taken : part;
}

static int round_of(int left) {
    return left < ROUND ? left : ROUND;
}

static DescentEnd run_rounds(Refit *refit, int most, double tolerance, double enough) {
    Descent *descent = refit->descent;
    const double mended = descent->kept_objective;
    DescentEnd how = DESCENT_UNFINISHED;
    int done = 0;
    for (int round = 0; how == DESCENT_UNFINISHED && done < most; round++) {
        int part = round_of(most - done), before = descent->iterations;
        if (round > 0 && !(descent_freeze(descent) && descent_begin_frozen(descent))) {
            return DESCENT_STOPPED;
        }
        how = descent_round(descent, part, tolerance, enough);
        done += count_taken(descent, before, part);
        if (round == 0 && how == DESCENT_CONVERGED && descent->kept_objective == mended && done < most) {
            part = round_of(most - done);
            before = descent->iterations;
            how = go_on_with_sound(refit, part, tolerance, enough);
            done += count_taken(descent, before, part);
        }
    }
    return how;
}

DescentEnd descent_refit(Descent *descent, const RefitEffort efforts[2], double enough, double *given) {
    Arena *arena = &descent->call->arena;
    const Problem *problem = descent->problem;
    Refit refit = {.descent = descent};
    DescentEnd how = DESCENT_STOPPED;
    refit.given_error = arena_take(arena, (size_t)problem->vertices, sizeof(double));
    refit.sound = arena_take(arena, (size_t)problem->vertices, 1);
    if (arena->failed) {
        return DESCENT_STOPPED;
    }
    if (!descent->local) {
        descent->plan.given_error = refit.given_error;
        how = descent_complete(descent, efforts[0].most, efforts[0].tolerance, enough);
    } else {
        descent->bones_first = 1;
        const int ready = first_pass(&refit);
        const RefitEffort *effort = efforts + (refit.mended > LARGE * problem->total_mass);
        how = ready ? run_rounds(&refit, effort->most, effort->tolerance, enough) : DESCENT_STOPPED;
        descent->bones_first = descent->frozen = 0;
    }
    *given = 0;
    for (int v = 0; v < problem->vertices; v++) {
        *given += problem->mass[v] * refit.given_error[v];
    }
    return how;
}
