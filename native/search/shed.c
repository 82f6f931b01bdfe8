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
#include "search/shed.h"

#include <math.h>
#include <string.h>

#include "descent/transforms.h"
#include "search/prune.h"

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

int shed_make(Call *call, const Problem *problem, Model *model, Shed *shed) {
    const size_t most = (size_t)model->capacity;
    shed->model = model;
    shed->cost = arena_take(&call->arena, most, sizeof *shed->cost);
    shed->leave = arena_take(&call->arena, most, sizeof *shed->leave);
    shed->fate = arena_take(&call->arena, most, sizeof *shed->fate);
    return model_make(call, problem, model->capacity, model->influences, &shed->kept) &&
           model_make(call, problem, model->capacity, model->influences, &shed->best) &&
           descent_make(call, problem, model, &shed->descent);
}

double shed_squared(const Shed *shed) {
    const Problem *problem = shed->descent.problem;
    const double erms = problem_erms(problem, model_squared_error(problem, shed->model));
    return erms * erms;
}

static double worth(double squared, double share) {
    return fmax(SHED_UNSEEN, share * (LOCAL_WORTH + RELATIVE_WORTH * squared));
}

double shed_allowance(double squared, double share) {
    return fmin(worth(squared, share), fmax(SHED_UNSEEN, squared));
}

/* sum_f tr(D P D') */
static double merge_cost(const Shed *shed, int b, int c) {
    const Model *model = shed->model;
    const size_t at = (size_t)b * (size_t)model->capacity + (size_t)b;
    const double *p = shed->descent.moments.u + at * PAIR;
    double sum = 0;
    for (size_t row = 0; row < 3 * (size_t)shed->descent.problem->frames; row++) {
        const double *m = model->transform + row * 4 * (size_t)model->capacity;
        double d[4];
        for (int i = 0; i < 4; i++) {
            d[i] = m[4 * b + i] - m[4 * c + i];
        }
        sum += d[0] * (d[0] * p[0] + 2 * (d[1] * p[1] + d[2] * p[2] + d[3] * p[3])) +
               d[1] * (d[1] * p[5] + 2 * (d[2] * p[6] + d[3] * p[7])) +
               d[2] * (d[2] * p[10] + 2 * d[3] * p[11]) + d[3] * d[3] * p[15];
    }
    return fmax(sum, 0);
}

int shed_look(Shed *shed) {
    Descent *descent = &shed->descent;
    const Problem *problem = descent->problem;
    Model *model = shed->model;
    const double erms = problem_erms(problem, 1), unit = erms * erms;
    model_copy(problem, model, &shed->kept);
    descent_restart(descent);
    descent_reach(descent, SHED_REACH, 1);
    if (descent_run(descent, 1, 0, 0) < 0) {
        return 0;
    }
    prune_price(descent, shed->cost);
    model_copy(problem, &shed->kept, model);
    descent_restart(descent);
    for (int b = 0; b < model->bones; b++) {
        Leave *leave = &shed->leave[b];
        leave->rise = shed->cost[b] * unit;
        leave->share = model_bone_mass(problem, model, b) / problem->total_mass;
        leave->into = -1;
        for (int c = 0; c < model->bones; c++) {
            const double rise = c == b ? INFINITY : merge_cost(shed, b, c) * unit;
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
static void remove_bone(Shed *shed, int b) {
    const int last = shed->model->bones - 1;
    model_remove_bone(shed->descent.problem, shed->model, b);
    shed->leave[b] = shed->leave[last];
}

static void forget_fates(Shed *shed) {
    for (int b = 0; b < shed->model->bones; b++) {
        shed->fate[b] = STAYS;
    }
}

/* Of the bones that nothing is decided about; -1: there is none. again: what was needed among more bones may be so
 * no longer. */
static int cheapest(const Shed *shed, int again) {
    int best = -1;
    for (int b = 0; b < shed->model->bones; b++) {
        const int needed = shed->leave[b].needed;
        if (shed->fate[b] == STAYS && (needed == 0 || (again && needed > shed->model->bones)) &&
            (best < 0 || shed->leave[b].rise < shed->leave[best].rise)) {
            best = b;
        }
    }
    return best;
}

/* Costs hold one by one, so bones do not merge in chains, and of those that leave to their neighbours only one may
 * be more than a speck. */
int shed_clear(Shed *shed) {
    Model *model = shed->model;
    const double squared = shed_squared(shed);
    double room = SHED_UNSEEN;
    int gone = 0, to_neighbours = 0;
    forget_fates(shed);
    for (int b = cheapest(shed, 1); b >= 0 && gone < model->bones - 1; b = cheapest(shed, 1)) {
        const Leave *leave = &shed->leave[b];
        if (leave->rise > fmin(room, shed_allowance(squared, leave->share))) {
            break;
        }
        shed->fate[b] = LOOKED_AT;
        if (leave->into >= 0 ? shed->fate[leave->into] == LEAVES
                             : leave->share > SPECK && to_neighbours++ > 0) {
            continue;
        }
        if (leave->into >= 0) {
            fold(shed->descent.problem, model, b, leave->into);
            shed->fate[leave->into] = TAKES;
        }
        room -= leave->rise;
        shed->fate[b] = LEAVES;
        gone++;
    }
    for (int b = model->bones - 1; b >= 0; b--) {
        if (shed->fate[b] == LEAVES) {
            remove_bone(shed, b);
        }
    }
    descent_restart(&shed->descent);
    return gone > 0 && descent_run(&shed->descent, BETWEEN, 0, 0) < 0 ? -1 : gone;
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
static int owns_nothing(const Shed *shed, int b) {
    const Model *model = shed->model;
    const size_t k = (size_t)model->influences;
    for (size_t v = 0; v < (size_t)shed->descent.problem->vertices; v++) {
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
static int find_companion(Shed *shed, int b) {
    const Problem *problem = shed->descent.problem;
    const Model *model = shed->model;
    const size_t k = (size_t)model->influences;
    double *shared = shed->cost;
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
static int unite(Shed *shed, int b, int c) {
    Descent *descent = &shed->descent;
    Call *call = descent->call;
    const PassPlan keep_all = {0};
    fold(descent->problem, shed->model, b, c);
    pass_run(call, descent->problem, shed->model, &descent->moments, &keep_all);
    return !call->arena.failed && !atomic_load(&call->cancelled) &&
           transforms_update(call, descent->problem, shed->model, &descent->moments, descent->flexible,
                             UNION_SWEEPS);
}

/* What bone b moved goes to others, and it leaves; 0 when the call must end. */
static int take_out(Shed *shed, int b, int into, int united) {
    const int companion = united ? find_companion(shed, b) : -1;
    if (companion >= 0 && !unite(shed, b, companion)) {
        return 0;
    }
    if (companion < 0 && into >= 0) {
        fold(shed->descent.problem, shed->model, b, into);
    }
    remove_bone(shed, b);
    descent_restart(&shed->descent);
    descent_reach(&shed->descent, SHED_REACH, BETWEEN);
    return 1;
}

/* The others find their way without the bone that left: what looks like a part may only need time. Returns by how
 * much the squared E_RMS has risen, INFINITY when the call must end. */
static double wait_for_others(Shed *shed, double before, double dear, double free, int filled) {
    Descent *descent = &shed->descent;
    double risen = descent_run(descent, BETWEEN, 0, 0) < 0 ? INFINITY : shed_squared(shed) - before;
    for (int waited = 0; waited < LONGEST && risen > free && risen < INFINITY; waited += PATIENCE) {
        if (!filled && risen >= (waited ? 1 : HOPELESS) * dear) {
            break;
        }
        const int how = descent_run(descent, PATIENCE, filled ? 0 : SHED_TOLERANCE, 0);
        risen = how < 0 ? INFINITY : shed_squared(shed) - before;
    }
    return risen;
}

/* Tries to do without one bone: 1 it went, 0 it is a part, < 0 when the call must end. One that owns nothing is
 * united with another or, if that does not do, leaves as others do; as it is no part by the looks of it, it may cost
 * what a part is worth. */
static int try_without(Shed *shed, int b) {
    Descent *descent = &shed->descent;
    const Leave leave = shed->leave[b], last = shed->leave[shed->model->bones - 1];
    const int filled = owns_nothing(shed, b);
    const double before = shed_squared(shed), dear = worth(before, leave.share);
    const double free = filled ? dear : shed_allowance(before, leave.share);
    model_copy(descent->problem, shed->model, &shed->kept);
    for (int united = filled; united >= 0; united--) {
        const double risen = take_out(shed, b, leave.into, united)
                                 ? wait_for_others(shed, before, dear, free, filled)
                                 : INFINITY;
        if (risen <= free || risen == INFINITY) {
            return risen <= free ? 1 : -1;
        }
        model_copy(descent->problem, &shed->kept, shed->model);
        shed->leave[shed->model->bones - 1] = last;
        shed->leave[b] = leave;
    }
    shed->leave[b].needed = shed->model->bones;
    descent_restart(descent);
    return 0;
}

/* Bones leave as long as that is clear; 0 when the call must end. */
static int shed_all_clear(Shed *shed) {
    int gone = 1;
    while (gone > 0) {
        gone = shed_look(shed) ? shed_clear(shed) : -1;
    }
    return gone == 0;
}

static void forget_verdicts(Shed *shed) {
    for (int b = 0; b < shed->model->bones; b++) {
        shed->leave[b].needed = 0;
    }
}

/* Bones that own nothing seem dear, because the bones around were bent to them: all of them are tried, also those
 * that were needed while they still owned something. 0 when the call must end. */
static int shed_fillers(Shed *shed) {
    forget_verdicts(shed);
    for (int b = 0; b < shed->model->bones && shed->model->bones > 1; b++) {
        if (shed->leave[b].needed == 0 && owns_nothing(shed, b)) {
            const int went = try_without(shed, b);
            if (went < 0 || (went && !shed_look(shed))) {
                return 0;
            }
            b -= went; /* another took its place */
        }
    }
    return 1;
}

/* The cheapest are tried one by one until too many in a row are needed; 0 when the call must end. */
static int shed_cheapest(Shed *shed, int again) {
    for (int refused = 0, changed = 1; refused < REFUSALS;) {
        if (changed && !shed_all_clear(shed)) {
            return 0;
        }
        forget_fates(shed);
        const int b = cheapest(shed, again);
        if (b < 0 || shed->model->bones < 2) {
            break;
        }
        changed = try_without(shed, b);
        if (changed < 0) {
            return 0;
        }
        refused = changed ? 0 : refused + 1;
    }
    return 1;
}

int shed_all(Shed *shed) {
    forget_verdicts(shed);
    return shed_cheapest(shed, 0) && shed_cheapest(shed, 1) && shed_fillers(shed);
}
