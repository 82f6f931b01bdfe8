/* prune.c - bones leave, one by one, the cheapest first.
 *
 * What a bone costs at first sight is the rise of the error when its vertices are solved again without it. That
 * is fair among bones that found their part, but not when a part is missing: a bone that got in between two
 * others has bent them to itself. It seems dear, although they would do as well without it after a few
 * iterations, and a bone that was just inserted at the missing part is cheaper and leaves again. So where most
 * bones are worth more than all the error that is left, several are tried: each leaves, the others move, and
 * the best of these models stays. On a body that bends everywhere all bones are a compromise, and first sight
 * is as good.
 *
 * Which are tried? Bones that get in between carry no vertex by themselves; their weights are faint and their
 * motion overshoots. So first sight's cost counts by the square of a bone's mean weight, sum w^2 / sum w. */
#include "search/prune.h"

#include <math.h>

#include "starts/reseed.h"

enum { TRIALS = 8, TRIAL = 6, HOPS = 2 };

static const double REACH =
    0.25; /* of the radius: how far bones may reach for the vertices of one that leaves */
static const double FREE = 0.05; /* of the objective: what it may cost without a second thought */

int prune_trials(Call *call, const Problem *problem, const Model *model, Trials *trials) {
    trials->worth = 1;
    trials->missing = 0;
    return model_make(call, problem, model->capacity, model->influences, &trials->before) &&
           model_make(call, problem, model->capacity, model->influences, &trials->best);
}

/* Others than those beside a bone may take its vertices. */
static int reach_out(Descent *descent) {
    const double radius = REACH * descent->problem->radius;
    if (!descent->local) {
        return 1;
    }
    descent->plan.candidates = descent->locality.candidates;
    descent->plan.bytes = descent->locality.bytes;
    return locality_update(descent->call, descent->problem, descent->model, radius, HOPS, &descent->locality);
}

void prune_price(Descent *descent, double *cost) {
    PassPlan plan = descent->plan;
    plan.removal_cost = cost;
    if (descent->problem->sharp) { /* as far as vertices go one by one; weights stay smooth */
        plan.plain = 1;
        plan.solve_weights = plan.solve_rest = 0;
    }
    pass_run(descent->call, descent->problem, descent->model, &descent->moments, &plan);
}

/* sum w^2 / sum w; moments hold sum w_b w_c, which over all c is sum w_b. */
static double mean_weight(const Descent *descent, int b) {
    const size_t capacity = (size_t)descent->model->capacity;
    const double *u = descent->moments.u + (size_t)b * capacity * PAIR + PAIR - 1;
    double sum = 0;
    for (size_t c = 0; c < (size_t)descent->model->bones; c++) {
        sum += u[c * PAIR];
    }
    return sum > 0 ? u[(size_t)b * PAIR] / sum : 0;
}

/* Bone b goes, and the others make up for it; 0 when the call must end. At least one iteration: what vertices may
 * use is still written in the old numbers. */
static int do_without(Descent *descent, int b, int iterations) {
    model_remove_bone(descent->problem, descent->model, b);
    descent_restart(descent);
    return descent_run(descent, iterations > 0 ? iterations : 1, 0, 0) >= 0;
}

/* The bone goes that the others make up for best; 0 when the call must end. */
static int try_without(Descent *descent, double *cost, Trials *trials) {
    const Problem *problem = descent->problem;
    const double enough = (1 + FREE) * descent->objective;
    double least = INFINITY;
    model_copy(problem, descent->model, &trials->before);
    for (int b = 0; b < descent->model->bones; b++) {
        const double mean = mean_weight(descent, b);
        cost[b] *= mean * mean;
    }
    for (int trial = 0; trial < TRIALS && least > enough; trial++) {
        const int b = reseed_cheapest(&trials->before, cost);
        if (b < 0 || !(cost[b] < INFINITY)) {
            break;
        }
        model_copy(problem, &trials->before, descent->model);
        descent_reach(descent, REACH, TRIAL - 2);
        if (!do_without(descent, b, TRIAL)) {
            return 0;
        }
        if (descent->objective < least) {
            least = descent->objective;
            model_copy(problem, descent->model, &trials->best);
        }
        cost[b] = INFINITY;
    }
    model_copy(problem, &trials->best, descent->model);
    descent_restart(descent);
    descent->objective = least;
    return 1;
}

/* Most bones are worth more than all the error that is left: what is left is a missing part. */
static int misses_parts(const Descent *descent, const double *cost, double worth) {
    int worthy = 0;
    for (int b = 0; b < descent->model->bones; b++) {
        worthy += cost[b] > worth * descent->objective;
    }
    return 2 * worthy > descent->model->bones;
}

/* One bone goes; 0 when the call must end. */
static int remove_one(Descent *descent, double *cost, int between, Trials *trials) {
    prune_price(descent, cost);
    int gone = reseed_cheapest(descent->model, cost);
    if (trials) {
        trials->missing = misses_parts(descent, cost, trials->worth);
    }
    const int tries = gone >= 0 && trials && trials->missing && cost[gone] > FREE * descent->objective;
    if (tries) {
        if (!reach_out(descent)) {
            return 0;
        }
        prune_price(descent, cost);
        gone = reseed_cheapest(descent->model, cost);
    }
    if (descent->call->arena.failed || atomic_load(&descent->call->cancelled) || gone < 0) {
        return 0;
    }
    return tries && cost[gone] > FREE * descent->objective ? try_without(descent, cost, trials)
                                                           : do_without(descent, gone, between);
}

int prune(Descent *descent, int bones, int between, Trials *trials) {
    Call *call = descent->call;
    double *cost = arena_take(&call->arena, (size_t)descent->model->capacity, sizeof *cost);
    int going = cost != NULL;
    while (going && descent->model->bones > bones) {
        going = remove_one(descent, cost, between, trials);
    }
    arena_give(&call->arena, cost);
    return going;
}
