/* finish.c - the last iterations: bones and regions as plain least squares found them descend in a norm that
 * sees cracks (fair.c).
 *
 * Regions are wider than in plain least squares (FAIR_JOINS): weights that fade out slowly are what makes skin smooth,
 * and a bone is used where the least of them is. They first move by LOCAL_HOPS now and then. Then islands are barred, and stay barred, little by little while
 * weights and bones follow: all in one cut would leave cracks behind, where a bone that many vertices had a little of
 * is gone at once. */
#include "descent/finish.h"

#include "descent/tolerances.h"

enum { STAY = 4 }; /* iterations for which regions stay: every change of them disturbs the momentum */

static const double REST_STIFFNESS = 100; /* of a rest pose that moves as a smooth field */

/* Iterations: while regions move, of these the first ones on a few frames; while islands are barred, and then. */
typedef struct FinishEffort {
    int moving, sampled, barring, settling;
} FinishEffort;

static const FinishEffort FINISHES[3] = {
    [OSSIFY_DRAFT] = {.moving = 2, .barring = 2, .settling = 1},
    [OSSIFY_NORMAL] = {.moving = 22, .sampled = 18, .barring = 6, .settling = 2},
    [OSSIFY_BEST] = {.moving = 30, .barring = 12, .settling = 8},
};

int finish_is_due(const ossify_settings *settings) {
    return settings->fairness > 0 || settings->rest_mode == OSSIFY_REST_SMOOTH;
}

int finish_share(const ossify_settings *settings) {
    return finish_is_due(settings) ? (int)(settings->iterations / 2) : 0;
}

static FinishEffort effort_of(const ossify_settings *settings) {
    FinishEffort effort = FINISHES[settings->quality];
    if (settings->iterations > 0) {
        const int share = finish_share(settings);
        const int moving = share - share / 2;
        effort.sampled = moving * effort.sampled / effort.moving;
        effort.moving = moving;
        effort.barring = share / 2 - share / 4;
        effort.settling = share / 4;
    }
    return effort;
}

static int tell(Descent *descent) {
    Call *call = descent->call;
    call->progress.iterations = descent->iterations;
    call->progress.erms =
        problem_erms(descent->problem, model_squared_error(descent->problem, descent->model));
    return call_poll(call, -1);
}

static int look_at_regions(Descent *descent) {
    descent->plan.candidates = descent->locality.candidates;
    descent->plan.bytes = descent->locality.bytes;
    return locality_update(descent->call, descent->problem, descent->model, 0, LOCAL_HOPS,
                           &descent->locality);
}

static int move_regions(Descent *descent, int rounds) {
    for (int i = 0; i < rounds; i++) {
        const int looks = descent->local && i % STAY == 0;
        if ((looks && !look_at_regions(descent)) || descent_step(descent) < 0 || tell(descent)) {
            return 0;
        }
    }
    return 1;
}

static int bar_islands(Descent *descent, int rounds) {
    if (!look_at_regions(descent)) {
        return 0;
    }
    for (int i = 0; i < rounds; i++) {
        if (locality_strip(descent->call, descent->problem, descent->model, 0, &descent->locality) < 0 ||
            descent_step(descent) < 0 || tell(descent)) {
            return 0;
        }
    }
    return 1;
}

/* Nothing strays, nothing is faint; and bones and weights once more for what is left. */
static int settle(Descent *descent, int rounds) {
    if (!descent_clean(descent)) {
        return 0;
    }
    if (rounds == 0) {
        return 1;
    }
    descent_keep(descent);
    descent_restart(descent);
    return descent_round(descent, rounds, 0, 0) != DESCENT_STOPPED;
}

static void let_rest_move(Descent *descent) {
    if (descent->call->settings->rest_mode == OSSIFY_REST_SMOOTH && descent->problem->rest_given) {
        descent->plan.solve_rest = 1;
        descent->plan.rest_pull = 1;
        descent->plan.rest_stiffness = REST_STIFFNESS;
    }
}

static int begin(Descent *descent, Fair *fair) {
    Call *call = descent->call;
    const double strength =
        fair_strength(call->settings->fairness, descent->problem->vertices, descent->model->bones);
    const int made = fair_make(call, descent->problem, descent->model, &descent->moments, strength, fair);
    descent_in_norm(descent, fair);
    descent->frozen = 1;
    let_rest_move(descent);
    descent_restart(descent);
    return made;
}

static void end(Descent *descent) {
    descent->frozen = 0;
    descent->fair = NULL;
    descent->moments.whole = NULL;
}

int finish_sampled(const ossify_settings *settings) {
    return effort_of(settings).sampled;
}

int finish_on_sample(Descent *descent, double share) {
    ArenaPiece *mark = arena_mark(&descent->call->arena);
    Fair fair;
    int done = begin(descent, &fair);
    descent->plan.rest_pull *= share;
    descent->plan.rest_stiffness *= share;
    done = done && move_regions(descent, finish_sampled(descent->call->settings));
    end(descent);
    arena_return(&descent->call->arena, mark);
    return done;
}

int finish_run(Descent *descent, int sampled) {
    const FinishEffort effort = effort_of(descent->call->settings);
    ArenaPiece *mark = arena_mark(&descent->call->arena);
    Fair fair;
    const int done =
        begin(descent, &fair) && move_regions(descent, effort.moving - sampled) &&
        (!descent->local || (bar_islands(descent, effort.barring) && settle(descent, effort.settling)));
    end(descent);
    arena_return(&descent->call->arena, mark);
    return done;
}
