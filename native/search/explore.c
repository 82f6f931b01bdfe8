/* explore.c - looks for good bones where an iteration is cheap.
 *
 * Block descent ends in the nearest local minimum, so what matters is where it starts. More bones
 * than asked for are placed (start.c) and descended from, then the one whose loss costs least goes, again
 * and again, a few iterations between (over-segment, then prune). Then cycles: a few bones are
 * inserted at the worst places, drawn with some chance so that no two cycles try the same, the
 * cheapest leave again (prune.c), and the change is taken back unless the error fell. An articulated body is
 * found part by part, each of them a large fall: there cycles go on. With
 * OSSIFY_START_TRIED all starts go through the first part, and the best goes on.
 *
 * Bones that shall be joined are judged by the error with joints that hold, too (jointed.c), and in every
 * second cycle the one that holds least leaves first.
 *
 * With locality, a bone's region can fall apart when it is held to one connected part; if that costs
 * much, the same move repairs it: a bone for the lost part, the cheapest leaves. */
#include "search/explore.h"

#include <math.h>

#include "base/random.h"
#include "descent/tolerances.h"
#include "math/elementary.h"
#include "search/jointed.h"
#include "search/prune.h"
#include "starts/reseed.h"
#include "starts/start.h"

static const double CYCLE_WORTH = 0.999; /* a cycle must lower the objective at least to this */

static const double BAD_CUT = 1.06;     /* rise of the objective that calls for a repair */
static const double REPAIR_REACH = 0.1; /* of the radius: a repair mends one place */

static const double CYCLE_FALL =
    0.8; /* the objective falls at least to this within CYCLE_PATIENCE cycles: they go on */
static const double ARTICULATED = 0.75; /* E_RMS: below it parts are missing, above it they may not exist */
static const double SURE =
    16; /* times the error left: what most bones are worth when parts are missing for sure */
static const double UNSEEN = 0.01; /* E_RMS that is not worth a cycle */

static const double JOINTED = 0.3; /* exponent of the error with joints that hold, where both count */

enum {
    REPAIRS = 3,        /* of regions that were cut, and of bones that nothing follows */
    CYCLE_PATIENCE = 3, /* cycles without a large fall before they end, */
    HOPE = 6,           /* and where a part is missing */
    MORE_CYCLES = 13,   /* than the effort's, while they help */
    LOOSE_BETWEEN = 4   /* iterations after a bone that held least has left */
};

static int must_end(Call *call) {
    return call->arena.failed || atomic_load(&call->cancelled);
}

int explore_capacity(int bones, const Effort *effort) {
    const int extra = 1 + bones / 5, surplus = (int)ceil(bones * effort->surplus);
    const int capacity = bones + extra > surplus ? bones + extra : surplus;
    return capacity < OSSIFY_MAX_BONES ? capacity : OSSIFY_MAX_BONES;
}

/* One cycle from the model at hand; `trials`: NULL if first sight shall decide what leaves. 0 when the call must
 * end. */
static int run_cycle(Descent *descent, int bones, int extra, double reach, const Effort *effort,
                     uint64_t *random, Trials *trials) {
    if (reseed_insert(descent->call, descent->problem, descent->model, extra, random) < 0) {
        return 0;
    }
    descent_restart(descent);
    descent_reach(descent, reach, effort->cycle_warm + effort->between);
    return descent_run(descent, effort->cycle_warm, 0, 0) != DESCENT_STOPPED &&
           prune(descent, bones, effort->between, trials) &&
           descent_complete(descent, effort->cycle_after, effort->tolerance, 0) != DESCENT_STOPPED;
}

/* 1 when it costs much to hold the regions together. */
static int is_cut(const Descent *descent) {
    return descent->cut >= BAD_CUT;
}

/* Mends what the cut to connected regions broke, and takes the mending back if it does not help. */
static int repair_cuts(Descent *descent, const Effort *effort, Model *best) {
    const Problem *problem = descent->problem;
    const int bones = descent->model->bones;
    for (int repair = 0; repair < REPAIRS && is_cut(descent); repair++) {
        const double objective = descent->objective;
        model_copy(problem, descent->model, best);
        if (!run_cycle(descent, bones, 1, REPAIR_REACH, effort, NULL, NULL)) {
            return 0;
        }
        if (descent->objective >= objective) {
            model_copy(problem, best, descent->model);
            descent->objective = objective;
            break;
        }
    }
    return 1;
}

/* Bones that no vertex follows. */
static void remove_idle(const Problem *problem, Model *model) {
    for (int b = model->bones - 1; b >= 0; b--) {
        if (model_bone_is_idle(problem, model, b)) {
            model_remove_bone(problem, model, b);
        }
    }
}

/* A bone that lost its last vertex is worth more where the error is most. */
static int replace_idle(Descent *descent, int most, double tolerance, double enough) {
    for (int round = 0; round < REPAIRS; round++) {
        remove_idle(descent->problem, descent->model);
        const int missing = descent->wanted - descent->model->bones;
        if (missing <= 0) {
            return 1;
        }
        const int inserted = reseed_insert(descent->call, descent->problem, descent->model, missing, NULL);
        if (inserted <= 0) {
            return inserted == 0;
        }
        descent_restart(descent);
        if (descent_complete(descent, most, tolerance, enough) == DESCENT_STOPPED) {
            return 0;
        }
    }
    remove_idle(descent->problem, descent->model);
    return 1;
}

DescentEnd explore_complete(Descent *descent, int most, double tolerance, double enough,
                            const Effort *effort) {
    Call *call = descent->call;
    DescentEnd how = descent_complete(descent, most, tolerance, enough);
    if (how == DESCENT_STOPPED || descent->wanted == 0) {
        return how;
    }
    const int is_enough = enough > 0 && model_squared_error(descent->problem, descent->model) <= enough;
    if (effort && !is_enough && is_cut(descent)) {
        ArenaPiece *mark = arena_mark(&call->arena);
        Model best;
        const int mended =
            model_make(call, descent->problem, descent->model->capacity, descent->model->influences, &best) &&
            repair_cuts(descent, effort, &best);
        arena_return(&call->arena, mark);
        how = mended ? how : DESCENT_STOPPED;
    }
    return how == DESCENT_STOPPED || !replace_idle(descent, most, tolerance, enough) ? DESCENT_STOPPED : how;
}

/* What a model came to, and the bone to do without, -1: none. */
typedef struct Verdict {
    double objective;
    int loosest;
} Verdict;

static Verdict judge(Descent *descent, int jointed) {
    Verdict verdict = {descent->objective, -1};
    if (jointed) {
        const Jointed hung = jointed_measure(descent->call, descent->problem, descent->model);
        verdict.objective =
            elementary_power(hung.error, JOINTED) * elementary_power(descent->objective, 1 - JOINTED);
        verdict.loosest = hung.loosest;
    }
    return verdict;
}

static int drop_loosest(Descent *descent, int loosest) {
    model_remove_bone(descent->problem, descent->model, loosest);
    descent_restart(descent);
    return descent_run(descent, LOOSE_BETWEEN, 0, 0) != DESCENT_STOPPED;
}

/* given: the first cycle mends the worst place of all, where an edit may have left a gap; least: what the model
 * comes to that stays */
static int run_cycles(Descent *descent, int bones, const Effort *effort, double enough, int given,
                      double *least) {
    Call *call = descent->call;
    const Problem *problem = descent->problem;
    Model best;
    Trials trials;
    uint64_t random = (uint64_t)call->settings->seed;
    const int most = effort->cycles > 0 ? effort->cycles + MORE_CYCLES : 0;
    *least = descent->objective;
    if (most == 0) {
        return 1;
    }
    const double from = call->from, share = (call->to - call->from) / most;
    if (!model_make(call, problem, descent->model->capacity, descent->model->influences, &best) ||
        !prune_trials(call, problem, descent->model, &trials)) {
        return 0;
    }
    model_copy(problem, descent->model, &best);
    const int jointed = call->settings->jointed && !given && !descent->flexible;
    Verdict stays = judge(descent, jointed);
    double mark = stays.objective;
    for (int cycle = 0, waited = 0; cycle < most; cycle++) {
        const double squared = model_squared_error(problem, &best);
        const int articulated = squared <= problem_squared(problem, ARTICULATED);
        trials.worth = articulated ? 1 : SURE;
        if (squared <= fmax(enough, problem_squared(problem, UNSEEN)) ||
            (cycle >= effort->cycles && waited >= (trials.missing ? HOPE : CYCLE_PATIENCE) && !articulated)) {
            break;
        }
        call->from = from + cycle * share;
        call->to = call->from + share;
        const int mends = given && cycle == 0;
        const int drops = stays.loosest >= 0 && cycle % 2 == 1;
        const int extra = drops + (mends ? 1 : 1 + random_below(&random, 1 + bones / 5));
        if ((drops && !drop_loosest(descent, stays.loosest)) ||
            !run_cycle(descent, bones, extra, NEAR_REACH, effort, mends ? NULL : &random, &trials)) {
            return 0;
        }
        const Verdict verdict = judge(descent, jointed);
        if (must_end(call)) {
            return 0;
        }
        if (descent->model->bones >= best.bones && verdict.objective < CYCLE_WORTH * stays.objective) {
            stays = verdict;
            model_copy(problem, descent->model, &best);
        } else {
            model_copy(problem, &best, descent->model);
        }
        waited = stays.objective < CYCLE_FALL * mark ? 0 : waited + 1;
        mark = waited == 0 ? stays.objective : mark;
        descent_restart(descent);
    }
    model_copy(problem, &best, descent->model);
    *least = stays.objective;
    return 1;
}

/* How a search from one start ended. */
typedef enum Found { ENDED, SEARCHED, ENOUGH } Found;

/* First bones by `start`, over-segmented, pruned and descended from; the objective is descent->objective. */
static Found search_from(Call *call, const Problem *problem, int start, int bones, const Effort *effort,
                         double enough, Model *model, Descent *descent) {
    const int first = (int)fmin(ceil(bones * effort->surplus), model->capacity);
    const double from = call->from, all = call->to - call->from;
    call_stage(call, OSSIFY_STAGE_START);
    if (!start_bones(call, problem, start, first, model)) {
        return ENDED;
    }
    call_stage(call, OSSIFY_STAGE_EXPLORE);
    if (!descent_make(call, problem, model, descent)) {
        return ENDED;
    }
    const int planned = effort->warm + (model->bones - bones) * effort->between + effort->after;
    descent->search_first = 1;
    descent->wanted = bones;
    descent->least_radii = effort->least_reach;
    descent_reach(descent, WIDE_REACH, 1 + (int)(REACH_SHRINKS * planned));
    descent_restart(descent);
    call->from = from + 0.2 * all;
    call->to = from + 0.6 * all;
    const double stop = model->bones > bones ? 0 : enough;
    const DescentEnd warm = descent_run(descent, effort->warm, effort->tolerance, stop);
    if (warm == DESCENT_STOPPED || (warm == DESCENT_ENOUGH && stop > 0)) {
        return warm == DESCENT_ENOUGH ? ENOUGH : ENDED;
    }
    call->from = call->to;
    call->to = from + all;
    if (!prune(descent, bones, effort->between, NULL) ||
        explore_complete(descent, effort->after, effort->tolerance, enough, effort) == DESCENT_STOPPED) {
        return ENDED;
    }
    return SEARCHED;
}

/* Every start is searched from; the model with the lowest objective stays. */
static Found search_from_all(Call *call, const Problem *problem, int bones, const Effort *effort,
                             double enough, Model *model, Descent *descent) {
    const double from = call->from, share = (call->to - call->from) / OSSIFY_START_TRIED;
    double least = INFINITY;
    Found found = SEARCHED;
    Model tried;
    if (!model_make(call, problem, model->capacity, model->influences, &tried)) {
        return ENDED;
    }
    for (int start = 0; start < OSSIFY_START_TRIED && found == SEARCHED; start++) {
        ArenaPiece *mark = arena_mark(&call->arena);
        call->from = from + start * share;
        call->to = call->from + share;
        model_clear(problem, &tried);
        found = search_from(call, problem, start, bones, effort, enough, &tried, descent);
        if (found == ENOUGH || (found == SEARCHED && descent->objective < least)) {
            least = descent->objective;
            model_copy(problem, &tried, model);
        }
        arena_return(&call->arena, mark);
    }
    if (found != SEARCHED || !descent_make(call, problem, model, descent)) {
        return found == ENOUGH ? ENOUGH : ENDED;
    }
    descent->least_radii = effort->least_reach;
    descent->objective = least;
    descent->wanted = bones;
    return SEARCHED;
}

int explore(Call *call, const Problem *problem, int bones, const Effort *effort, double enough,
            Model *model) {
    const int start = (int)call->settings->start;
    const double from = call->from, all = call->to - call->from;
    Descent descent;
    call->to = from + (effort->cycles > 0 ? 0.5 : 1.0) * all;
    const Found found = start == OSSIFY_START_TRIED
                            ? search_from_all(call, problem, bones, effort, enough, model, &descent)
                            : search_from(call, problem, start, bones, effort, enough, model, &descent);
    if (found != SEARCHED) {
        return found == ENOUGH;
    }
    call->from = call->to;
    call->to = from + all;
    return run_cycles(&descent, bones, effort, enough, 0, &descent.objective);
}

int explore_relocate(Call *call, const Problem *problem, int cycles, const Effort *effort, Model *model,
                     int *moved) {
    Effort moving = *effort;
    Descent descent;
    moving.cycles = cycles;
    call_stage(call, OSSIFY_STAGE_EXPLORE);
    if (!descent_make(call, problem, model, &descent)) {
        return 0;
    }
    descent.least_radii = effort->least_reach;
    descent_restart(&descent);
    if (descent_complete(&descent, effort->after, effort->tolerance, 0) == DESCENT_STOPPED) {
        return 0;
    }
    const double before = descent.objective;
    const int done = run_cycles(&descent, model->bones, &moving, 0, 1, &descent.objective);
    *moved = descent.objective < before;
    return done;
}
