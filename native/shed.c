/* shed.c - bones leave until each that is left is a part.
 *
 * A bone leaves by giving its vertices to the bones around them or, when another bone has the same motion, to
 * that one: with D_f = M_b - M_c and P = sum_v w^2 p~ p~' the change is sum_f tr(D_f P D_f'). Two halves of a
 * part that no vertex shares are found in this way.
 *
 * A part owns some of the surface. A bone that owns no vertex got in between others that were then bent to it:
 * the part's motion is a blend of the two, and no vertex follows either alone. It seems dear, but it has
 * no motion of its own to lose. Such a bone is united with the one that moves most of what it moves: the weights
 * add up, and that bone is fitted to them before any weight is solved again. All of them are tried.
 *
 * What a part is worth is looked at where the bone was, so that a toe counts as much as a trunk: the squared
 * E_RMS may rise by the share of the body that the bone moved, times 0.4 + E^2 / 2. But where the others explain
 * nearly all, they explain what a bone did that is none, too: it is a part when the error more than doubles without
 * it, and can be seen. */
#include "shed.h"

#include <math.h>
#include <string.h>

enum {
    BETWEEN = 4,   /* iterations after a removal */
    PATIENCE = 16, /* and when it is not clear what the bone was worth, */
    LONGEST = 80,  /* again and again, as long as it stays unclear */
    REFUSALS = 10, /* bones in a row that are needed, the cheapest first, before all are taken to be */
    UNION_SWEEPS = 8
};

static const double LOCAL_WORTH = 0.4;    /* squared E_RMS that a part lowers where it is, at least */
static const double RELATIVE_WORTH = 0.5; /* and of what is left: noise and bending are no parts */
static const double HOPELESS = 8;         /* times its worth: a rise that no patience takes back */
static const double SPECK = 1e-4;         /* share of the body */

int count_make(Call *call, const Problem *problem, Model *model, Count *count) {
    const size_t most = (size_t)model->capacity;
    count->model = model;
    count->cost = arena_take(&call->arena, most, sizeof *count->cost);
    count->leave = arena_take(&call->arena, most, sizeof *count->leave);
    count->fate = arena_take(&call->arena, most, sizeof *count->fate);
    return model_make(call, problem, model->capacity, model->influences, &count->kept) &&
           model_make(call, problem, model->capacity, model->influences, &count->best) &&
           descent_make(call, problem, model, &count->descent);
}

double count_squared(const Count *count) {
    const Problem *problem = count->descent.problem;
    const double erms = problem_erms(problem, model_squared_error(problem, count->model));
    return erms * erms;
}

static double worth(double squared, double share) {
    return fmax(COUNT_UNSEEN, share * (LOCAL_WORTH + RELATIVE_WORTH * squared));
}

double count_allowance(double squared, double share) {
    return fmin(worth(squared, share), fmax(COUNT_UNSEEN, squared));
}

/* sum_f tr(D P D') */
static double merge_cost(const Count *count, int b, int c) {
    const Model *model = count->model;
    const size_t at = (size_t)b * (size_t)model->capacity + (size_t)b;
    const double *p = count->descent.moments.u + at * MONOMIALS;
    double sum = 0;
    for (size_t row = 0; row < 3 * (size_t)count->descent.problem->frames; row++) {
        const double *m = model->transform + row * 4 * (size_t)model->capacity;
        double d[4];
        for (int i = 0; i < 4; i++) {
            d[i] = m[4 * b + i] - m[4 * c + i];
        }
        sum += d[0] * (d[0] * p[0] + 2 * (d[1] * p[3] + d[2] * p[4] + d[3] * p[6])) +
               d[1] * (d[1] * p[1] + 2 * (d[2] * p[5] + d[3] * p[7])) +
               d[2] * (d[2] * p[2] + 2 * d[3] * p[8]) + d[3] * d[3] * p[9];
    }
    return fmax(sum, 0);
}

int count_look(Count *count) {
    Descent *descent = &count->descent;
    const Problem *problem = descent->problem;
    Model *model = count->model;
    const double erms = problem_erms(problem, 1), unit = erms * erms;
    model_copy(problem, model, &count->kept);
    descent_restart(descent);
    descent_reach(descent, COUNT_REACH, 1);
    if (descent_run(descent, 1, 0, 0) < 0) {
        return 0;
    }
    descent->plan.removal_cost = count->cost;
    pass_run(descent->call, problem, model, &descent->moments, &descent->plan);
    descent->plan.removal_cost = NULL;
    model_copy(problem, &count->kept, model);
    descent_restart(descent);
    for (int b = 0; b < model->bones; b++) {
        Leave *leave = &count->leave[b];
        leave->rise = count->cost[b] * unit;
        leave->share = model_bone_mass(problem, model, b) / problem->total_mass;
        leave->into = -1;
        for (int c = 0; c < model->bones; c++) {
            const double rise = c == b ? INFINITY : merge_cost(count, b, c) * unit;
            if (rise < leave->rise) {
                leave->rise = rise;
                leave->into = c;
            }
        }
    }
    return !descent->call->arena.failed && !atomic_load(&descent->call->cancelled);
}

/* The vertices of b follow c. */
static void fold(const Problem *problem, Model *model, int b, int c) {
    const size_t k = (size_t)model->influences;
    for (size_t v = 0; v < (size_t)problem->vertices; v++) {
        int *bone = model->bone + v * k;
        double *weight = model->weight + v * k;
        size_t at_b = k, at_c = k;
        for (size_t i = 0; i < k; i++) {
            at_b = bone[i] == b ? i : at_b;
            at_c = bone[i] == c ? i : at_c;
        }
        if (at_b < k && at_c < k) {
            weight[at_c] += weight[at_b];
            weight[at_b] = 0;
        } else if (at_b < k) {
            bone[at_b] = c;
        }
    }
}

/* The last bone takes the place of the one that goes. */
static void remove_bone(Count *count, int b) {
    const int last = count->model->bones - 1;
    model_remove_bone(count->descent.problem, count->model, b);
    count->leave[b] = count->leave[last];
}

static void forget_fates(Count *count) {
    for (int b = 0; b < count->model->bones; b++) {
        count->fate[b] = STAYS;
    }
}

/* Of the bones that nothing is decided about; -1: there is none. again: what was needed among more bones may be so
 * no longer. */
static int cheapest(const Count *count, int again) {
    int best = -1;
    for (int b = 0; b < count->model->bones; b++) {
        const int needed = count->leave[b].needed;
        if (count->fate[b] == STAYS && (needed == 0 || (again && needed > count->model->bones)) &&
            (best < 0 || count->leave[b].rise < count->leave[best].rise)) {
            best = b;
        }
    }
    return best;
}

/* Costs hold one by one, so bones do not merge in chains, and of those that leave to their neighbours only one may
 * be more than a speck. */
int count_shed_clear(Count *count) {
    Model *model = count->model;
    const double squared = count_squared(count);
    double room = COUNT_UNSEEN;
    int gone = 0, to_neighbours = 0;
    forget_fates(count);
    for (int b = cheapest(count, 1); b >= 0 && gone < model->bones - 1; b = cheapest(count, 1)) {
        const Leave *leave = &count->leave[b];
        if (leave->rise > fmin(room, count_allowance(squared, leave->share))) {
            break;
        }
        count->fate[b] = LOOKED_AT;
        if (leave->into >= 0 ? count->fate[leave->into] == LEAVES
                             : leave->share > SPECK && to_neighbours++ > 0) {
            continue;
        }
        if (leave->into >= 0) {
            fold(count->descent.problem, model, b, leave->into);
            count->fate[leave->into] = TAKES;
        }
        room -= leave->rise;
        count->fate[b] = LEAVES;
        gone++;
    }
    for (int b = model->bones - 1; b >= 0; b--) {
        if (count->fate[b] == LEAVES) {
            remove_bone(count, b);
        }
    }
    descent_restart(&count->descent);
    return gone > 0 && descent_run(&count->descent, BETWEEN, 0, 0) < 0 ? -1 : gone;
}

static double weight_of(const Model *model, size_t v, int b) {
    const size_t k = (size_t)model->influences;
    for (size_t i = v * k; i < (v + 1) * k; i++) {
        if (model->bone[i] == b) {
            return model->weight[i];
        }
    }
    return 0;
}

/* Whether no vertex is a bone's more than any other's: it only fills gaps between them. */
static int owns_nothing(const Count *count, int b) {
    const Model *model = count->model;
    const size_t k = (size_t)model->influences;
    for (size_t v = 0; v < (size_t)count->descent.problem->vertices; v++) {
        const double own = weight_of(model, v, b);
        double most = 0;
        for (size_t i = v * k; i < (v + 1) * k; i++) {
            most = fmax(most, model->weight[i]);
        }
        if (own > 0 && own >= most) {
            return 0;
        }
    }
    return 1;
}

/* The bone that moves most of what b moves, sum_v w_b w_c; -1: b has all its vertices to itself. */
static int find_companion(Count *count, int b) {
    const Problem *problem = count->descent.problem;
    const Model *model = count->model;
    const size_t k = (size_t)model->influences;
    double *shared = count->cost;
    memset(shared, 0, (size_t)model->bones * sizeof *shared);
    for (size_t v = 0; v < (size_t)problem->vertices; v++) {
        const double own = problem->mass[v] * weight_of(model, v, b);
        for (size_t i = v * k; i < (v + 1) * k && own > 0 && model->bone[i] >= 0; i++) {
            shared[model->bone[i]] += own * model->weight[i];
        }
    }
    int best = -1;
    for (int c = 0; c < model->bones; c++) {
        if (c != b && shared[c] > 0 && (best < 0 || shared[c] > shared[best])) {
            best = c;
        }
    }
    return best;
}

/* c moves what b and c moved; 0 when the call must end. */
static int unite(Count *count, int b, int c) {
    Descent *descent = &count->descent;
    Call *call = descent->call;
    const PassPlan keep_all = {0};
    fold(descent->problem, count->model, b, c);
    pass_run(call, descent->problem, count->model, &descent->moments, &keep_all);
    return !call->arena.failed && !atomic_load(&call->cancelled) &&
           transforms_update(call, descent->problem, count->model, &descent->moments, descent->flexible,
                             UNION_SWEEPS);
}

/* What bone b moved goes to others, and it leaves; 0 when the call must end. */
static int take_out(Count *count, int b, int into, int united) {
    const int companion = united ? find_companion(count, b) : -1;
    if (companion >= 0 && !unite(count, b, companion)) {
        return 0;
    }
    if (companion < 0 && into >= 0) {
        fold(count->descent.problem, count->model, b, into);
    }
    remove_bone(count, b);
    descent_restart(&count->descent);
    descent_reach(&count->descent, COUNT_REACH, BETWEEN);
    return 1;
}

/* The others find their way without the bone that left: what looks like a part may only need time. Returns by how
 * much the squared E_RMS has risen, INFINITY when the call must end. */
static double wait_for_others(Count *count, double before, double dear, double free, int filled) {
    Descent *descent = &count->descent;
    double risen = descent_run(descent, BETWEEN, 0, 0) < 0 ? INFINITY : count_squared(count) - before;
    for (int waited = 0; waited < LONGEST && risen > free && risen < INFINITY; waited += PATIENCE) {
        if (!filled && risen >= (waited ? 1 : HOPELESS) * dear) {
            break;
        }
        const int how = descent_run(descent, PATIENCE, filled ? 0 : COUNT_TOLERANCE, 0);
        risen = how < 0 ? INFINITY : count_squared(count) - before;
    }
    return risen;
}

/* Tries to do without one bone: 1 it went, 0 it is a part, < 0 when the call must end. One that owns nothing is
 * united with another or, if that does not do, leaves as others do; as it is no part by the looks of it, it may cost
 * what a part is worth. */
static int try_without(Count *count, int b) {
    Descent *descent = &count->descent;
    const Leave leave = count->leave[b], last = count->leave[count->model->bones - 1];
    const int filled = owns_nothing(count, b);
    const double before = count_squared(count), dear = worth(before, leave.share);
    const double free = filled ? dear : count_allowance(before, leave.share);
    model_copy(descent->problem, count->model, &count->kept);
    for (int united = filled; united >= 0; united--) {
        const double risen = take_out(count, b, leave.into, united)
                                 ? wait_for_others(count, before, dear, free, filled)
                                 : INFINITY;
        if (risen <= free || risen == INFINITY) {
            return risen <= free ? 1 : -1;
        }
        model_copy(descent->problem, &count->kept, count->model);
        count->leave[count->model->bones - 1] = last;
        count->leave[b] = leave;
    }
    count->leave[b].needed = count->model->bones;
    descent_restart(descent);
    return 0;
}

/* Bones leave as long as that is clear; 0 when the call must end. */
static int shed_all_clear(Count *count) {
    int gone = 1;
    while (gone > 0) {
        gone = count_look(count) ? count_shed_clear(count) : -1;
    }
    return gone == 0;
}

static void forget_verdicts(Count *count) {
    for (int b = 0; b < count->model->bones; b++) {
        count->leave[b].needed = 0;
    }
}

/* Bones that own nothing seem dear, because the bones around were bent to them: all of them are tried, also those
 * that were needed while they still owned something. 0 when the call must end. */
static int shed_fillers(Count *count) {
    forget_verdicts(count);
    for (int b = 0; b < count->model->bones && count->model->bones > 1; b++) {
        if (count->leave[b].needed == 0 && owns_nothing(count, b)) {
            const int went = try_without(count, b);
            if (went < 0 || (went && !count_look(count))) {
                return 0;
            }
            b -= went; /* another took its place */
        }
    }
    return 1;
}

/* The cheapest are tried one by one until too many in a row are needed; 0 when the call must end. */
static int shed_cheapest(Count *count, int again) {
    for (int refused = 0, changed = 1; refused < REFUSALS;) {
        if (changed && !shed_all_clear(count)) {
            return 0;
        }
        forget_fates(count);
        const int b = cheapest(count, again);
        if (b < 0 || count->model->bones < 2) {
            break;
        }
        changed = try_without(count, b);
        if (changed < 0) {
            return 0;
        }
        refused = changed ? 0 : refused + 1;
    }
    return 1;
}

int count_shed(Count *count) {
    forget_verdicts(count);
    return shed_cheapest(count, 0) && shed_cheapest(count, 1) && shed_fillers(count);
}
