/* parts.c - how many parts an articulated body has.
 *
 * With more bones than parts some bone can always go at no cost; at the true number the next removal costs a
 * part, and the error jumps. So:
 *     grow     bones are inserted where the error is worst while that lowers it much, so that no part is missing
 *     shed     bones leave, the cheapest first, as long as the error does not rise by what a part is worth
 *     mend     what still has an error is grown and shed again, and taken back unless that helped
 * A bone leaves by giving its vertices to the bones around them or, when another bone has the same motion, to
 * that one: with D_f = M_b - M_c and P = sum_v w^2 p~ p~' the change is sum_f tr(D_f P D_f'). Two halves of a
 * part that no vertex shares are found in this way.
 *
 * A part owns some of the surface. A bone that owns no vertex got in between others that were then bent to it: it
 * seems dear, but after a while the others do as well without it. Such bones are all tried, with patience.
 *
 * What a part is worth is looked at where the bone was, so that a toe counts as much as a trunk: the squared
 * E_RMS may rise by the share of the body that the bone moved, times 0.4 + E^2 / 2. A body that bends everywhere
 * has no number of parts; it gets bones until one more is not worth that, or the most allowed.
 *
 * Spectral gaps (Hasler et al. 2010) and a tolerance of the clustering (Schaefer & Yuksel 2007) count before
 * weights are blended, and take soft creases for parts. */
#include <math.h>

#include "explore.h"
#include "reseed.h"
#include "start.h"

enum {
    FIRST = 24,    /* bones to begin with */
    WARM = 24,     /* iterations: of the first bones, and of a mending */
    SETTLE = 16,   /* after growth */
    BETWEEN = 4,   /* after a removal */
    PATIENCE = 16, /* and when it is not clear what the bone was worth */
    FILLING = 80,  /* and when it owned nothing, so that the others must have been bent to it */
    REFUSALS = 10, /* bones in a row that are needed, the cheapest first, before all are taken to be */
    ROUNDS = 8     /* of growth, and of mending */
};

static const double LOCAL_WORTH = 0.4;    /* squared E_RMS that a part lowers where it is, at least */
static const double RELATIVE_WORTH = 0.5; /* and of what is left: noise and bending are no parts */
static const double UNSEEN = 0.04;        /* E_RMS of the whole body that is nothing */
static const double HOPELESS = 8;         /* times its worth: a rise that no patience takes back */
static const double SPECK = 1e-4;         /* share of the body */

static const double GROWTH = 0.5;  /* more bones a round, of those there are */
static const double MENDING = 0.2; /* the same, to mend */
static const double MUCH = 0.6;    /* the squared error falls at least to this: growth goes on */
static const double HELPED = 0.8;  /* or mending does */

static const double FIRST_REACH = 0.7; /* of the radius: how far bones may reach at first */
static const double REACH = 0.25;      /* and after a change, so that one bone can take another's place */
static const double TOLERANCE = 1e-3;  /* fall of the error that ends a stage: what is counted is larger */

/* How a bone would leave. */
typedef struct Leave {
    double rise;  /* of the squared E_RMS, before anything is solved again */
    double share; /* of the body that it moves */
    int into;     /* the bone that takes its vertices, or -1: those around them */
    int is_part;  /* it was tried, and is needed */
} Leave;

/* What shedding does with a bone, for now. */
typedef enum Fate { STAYS, LOOKED_AT, TAKES, LEAVES } Fate;

typedef struct Count {
    Descent descent;
    Model *model;
    Model kept, best; /* before a removal, before a mending */
    double *cost;     /* [capacity] */
    Leave *leave;     /* [capacity] */
    Fate *fate;       /* [capacity] */
} Count;

static double squared_erms(const Count *count) {
    const Problem *problem = count->descent.problem;
    const double erms = problem_erms(problem, model_squared_error(problem, count->model));
    return erms * erms;
}

static double worth(double squared, double share) {
    return fmax(UNSEEN * UNSEEN, share * (LOCAL_WORTH + RELATIVE_WORTH * squared));
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

/* What it costs when a bone leaves, each by itself, with neighbours that may reach out; the model stays as it
 * is. 0 when the call must end. */
static int look(Count *count) {
    Descent *descent = &count->descent;
    const Problem *problem = descent->problem;
    Model *model = count->model;
    const double erms = problem_erms(problem, 1), unit = erms * erms;
    model_copy(problem, model, &count->kept);
    descent_restart(descent);
    descent_reach(descent, REACH, 1);
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

/* Of the bones that nothing is decided about; -1: there is none. */
static int cheapest(const Count *count) {
    int best = -1;
    for (int b = 0; b < count->model->bones; b++) {
        if (count->fate[b] == STAYS && !count->leave[b].is_part &&
            (best < 0 || count->leave[b].rise < count->leave[best].rise)) {
            best = b;
        }
    }
    return best;
}

/* Many bones leave at once if what they cost by themselves is not worth a look. Costs hold one by one, so bones
 * do not merge in chains, and of those that leave to their neighbours only one may be more than a speck.
 * Returns how many went, < 0 when the call must end. */
static int shed_clear(Count *count) {
    Model *model = count->model;
    const double squared = squared_erms(count);
    double room = UNSEEN * UNSEEN;
    int gone = 0, to_neighbours = 0;
    forget_fates(count);
    for (int b = cheapest(count); b >= 0 && gone < model->bones - 1; b = cheapest(count)) {
        const Leave *leave = &count->leave[b];
        if (leave->rise > fmin(room, worth(squared, leave->share))) {
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

/* Whether no vertex is a bone's more than any other's: it only fills gaps between them. */
static int owns_nothing(const Count *count, int b) {
    const Model *model = count->model;
    const size_t k = (size_t)model->influences, all = (size_t)count->descent.problem->vertices * k;
    for (size_t at = 0; at < all; at += k) {
        double own = 0, most = 0;
        for (size_t i = at; i < at + k; i++) {
            own = model->bone[i] == b ? model->weight[i] : own;
            most = fmax(most, model->weight[i]);
        }
        if (own > 0 && own >= most) {
            return 0;
        }
    }
    return 1;
}

/* The others find their way without the bone that left; 0 when the call must end. */
static int wait_for_others(Count *count, double before, double rise, int filled) {
    Descent *descent = &count->descent;
    if (descent_run(descent, BETWEEN, 0, 0) < 0) {
        return 0;
    }
    /* what looks like a part may only need time */
    for (int waited = 0; waited < (filled ? FILLING : PATIENCE); waited += PATIENCE) {
        const double risen = squared_erms(count) - before;
        if (risen <= rise || (risen >= HOPELESS * rise && !filled)) {
            break;
        }
        if (descent_run(descent, PATIENCE, filled ? 0 : TOLERANCE, 0) < 0) {
            return 0;
        }
    }
    return 1;
}

/* Tries to do without one bone: 1 it went, 0 it is a part, < 0 when the call must end. */
static int try_without(Count *count, int b) {
    Descent *descent = &count->descent;
    const Leave leave = count->leave[b], last = count->leave[count->model->bones - 1];
    const int filled = owns_nothing(count, b);
    const double before = squared_erms(count), rise = worth(before, leave.share);
    model_copy(descent->problem, count->model, &count->kept);
    if (leave.into >= 0) {
        fold(descent->problem, count->model, b, leave.into);
    }
    remove_bone(count, b);
    descent_restart(descent);
    descent_reach(descent, REACH, BETWEEN);
    if (!wait_for_others(count, before, rise, filled)) {
        return -1;
    }
    if (squared_erms(count) - before <= rise) {
        return 1;
    }
    model_copy(descent->problem, &count->kept, count->model);
    count->leave[count->model->bones - 1] = last;
    count->leave[b] = leave;
    count->leave[b].is_part = 1;
    descent_restart(descent);
    return 0;
}

/* Bones leave as long as that is clear; 0 when the call must end. */
static int shed_all_clear(Count *count) {
    int gone = 1;
    while (gone > 0) {
        gone = look(count) ? shed_clear(count) : -1;
    }
    return gone == 0;
}

/* Bones that own nothing seem dear, because the bones around were bent to them: all of them are tried. 0 when the
 * call must end. */
static int shed_fillers(Count *count) {
    for (int b = 0; b < count->model->bones && count->model->bones > 1; b++) {
        if (!count->leave[b].is_part && owns_nothing(count, b)) {
            const int went = try_without(count, b);
            if (went < 0 || (went && !look(count))) {
                return 0;
            }
            b -= went; /* another took its place */
        }
    }
    return 1;
}

/* Bones leave while that is free; 0 when the call must end. */
static int shed(Count *count) {
    for (int b = 0; b < count->model->bones; b++) {
        count->leave[b].is_part = 0;
    }
    for (int refused = 0, changed = 1; refused < REFUSALS;) {
        if (changed && !shed_all_clear(count)) {
            return 0;
        }
        forget_fates(count);
        const int b = cheapest(count);
        if (b < 0 || count->model->bones < 2) {
            break;
        }
        changed = try_without(count, b);
        if (changed < 0) {
            return 0;
        }
        refused = changed ? 0 : refused + 1;
    }
    return shed_fillers(count);
}

/* Bones for the worst places; returns how many, < 0 when the call must end. */
static int grow(Count *count, double growth, int iterations, uint64_t *random) {
    Descent *descent = &count->descent;
    const int extra = (int)ceil(growth * count->model->bones);
    const int inserted = reseed_insert(descent->call, descent->problem, count->model, extra, random);
    if (inserted <= 0) {
        return inserted;
    }
    descent_restart(descent);
    descent_reach(descent, REACH, iterations / 2);
    return descent_run(descent, iterations, TOLERANCE, 0) < 0 ? -1 : inserted;
}

/* Bones are added while that lowers the error much; 0 when the call must end. */
static int grow_all(Count *count) {
    double squared = squared_erms(count), before = INFINITY;
    for (int round = 0; round < ROUNDS && squared > UNSEEN * UNSEEN && squared <= MUCH * before; round++) {
        before = squared;
        if (!look(count) || shed_clear(count) < 0 || grow(count, GROWTH, SETTLE, NULL) < 0) {
            return 0;
        }
        squared = squared_erms(count);
    }
    return 1;
}

/* More bones at places drawn by chance, and fewer again, while that helps; 0 when the call must end. */
static int mend(Count *count, uint64_t random) {
    const Problem *problem = count->descent.problem;
    double least = squared_erms(count);
    for (int round = 0, helped = 1; round < ROUNDS && helped && least > UNSEEN * UNSEEN; round++) {
        model_copy(problem, count->model, &count->best);
        if (grow(count, MENDING, WARM, &random) < 0 || !shed(count)) {
            return 0;
        }
        const double squared = squared_erms(count), bones = count->best.bones;
        const int fewer = count->model->bones < bones && squared < least + worth(least, 1 / bones);
        helped = fewer || squared < HELPED * least;
        if (fewer || squared < least) {
            least = squared;
        } else {
            model_copy(problem, &count->best, count->model);
        }
        descent_restart(&count->descent);
    }
    return 1;
}

static int count_make(Call *call, const Problem *problem, Model *model, Count *count) {
    const size_t most = (size_t)model->capacity;
    count->model = model;
    count->cost = arena_take(&call->arena, most, sizeof *count->cost);
    count->leave = arena_take(&call->arena, most, sizeof *count->leave);
    count->fate = arena_take(&call->arena, most, sizeof *count->fate);
    return model_make(call, problem, model->capacity, model->influences, &count->kept) &&
           model_make(call, problem, model->capacity, model->influences, &count->best) &&
           descent_make(call, problem, model, &count->descent);
}

int parts_find(Call *call, const Problem *problem, Model *model) {
    Count count;
    call_stage(call, OSSIFY_STAGE_START);
    if (!start_bones(call, problem, OSSIFY_START_GROWN, model->capacity < FIRST ? model->capacity : FIRST,
                     model)) {
        return 0;
    }
    call_stage(call, OSSIFY_STAGE_EXPLORE);
    if (!count_make(call, problem, model, &count)) {
        return 0;
    }
    count.descent.search_first = 1;
    descent_reach(&count.descent, FIRST_REACH, WARM);
    descent_restart(&count.descent);
    return descent_run(&count.descent, WARM, TOLERANCE, 0) >= 0 && grow_all(&count) && shed(&count) &&
           mend(&count, (uint64_t)call->settings->seed);
}
