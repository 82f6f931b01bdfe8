/* parts.c - how many parts an articulated body has.
 *
 * With more bones than parts, some bone can always go at no cost; at the true number the next removal
 * costs a part, and the error jumps. So: more bones than needed, settled, and the cheapest leaves as long
 * as it raises the squared E_RMS by no more than 0.2^2 + 0.02 E^2. When hardly any could leave there were
 * too few to begin with, and the search starts again with twice as many.
 *
 * A body that bends everywhere has no number of parts: no removal is free, and the most bones allowed come
 * back. Spectral gaps (Hasler et al. 2010) and a tolerance of the clustering (Schaefer & Yuksel 2007) count
 * before weights are blended, and take soft creases for parts. */
#include <math.h>
#include <stdlib.h>
#define FL (getenv("FL")?atof(getenv("FL")):0.06)
#define PATIENCE (getenv("PA")?atoi(getenv("PA")):16)


#include "explore.h"
#include "start.h"

enum { FIRST = 12, GROW = 2, BETWEEN = 4, TRIES = 4 };

#define SURPLUS                        \
    (getenv("SU") ? atof(getenv("SU")) \
                  : 0.8)             /* of the bones at the start: fewer left means that there were enough */
static const double FREE_RISE = 0.2; /* E_RMS that a part is worth at least */
static const double FREE_SHARE = 0.02;
static const double REACH = 0.7; /* of the radius: how far bones may reach at first */

static double squared_erms(const Descent *descent) {
    const double erms = problem_erms(descent->problem, model_squared_error(descent->problem, descent->model));
    return erms * erms;
}

/* The rise is seen where the bone was: a toe counts as much as a trunk. */
static int is_free(double before, double after, double share) {
    return after - before <= fmax(FL*FL, share * (FREE_RISE * FREE_RISE + FREE_SHARE * before));
}

/* Tries to do without one bone: 1 it went, 0 it is a part, < 0 when the call must end. */
static int drop_bone(Descent *descent, int rank, const Effort *effort) {
    const double before = squared_erms(descent);
    double share = 0;
    if (!explore_drop(descent, rank, BETWEEN, &share)) {
        return -1;
    }
    /* what looks like a part may only need time to find its way */
    if (!is_free(before, squared_erms(descent), share) &&
        descent_run(descent, PATIENCE, effort->tolerance, 0) < 0) {
        return -1;
    }
    return is_free(before, squared_erms(descent), share);
}

/* Bones leave until none of the cheapest can go for free; 0 when the call must end. */
static int drop_free_bones(Descent *descent, const Effort *effort, Model *before) {
    for (int rank = 0; rank < TRIES && descent->model->bones > rank + 1;) {
        model_copy(descent->problem, descent->model, before);
        const int gone = drop_bone(descent, rank, effort);
        if (gone < 0) {
            return 0;
        }
        if (!gone) {
            model_copy(descent->problem, before, descent->model);
            descent_restart(descent);
        }
        rank = gone ? 0 : rank + 1;
    }
    return 1;
}

/* From `count` bones down; returns how many are left, 0 when the call must end. */
static int count_from(Call *call, const Problem *problem, int count, const Effort *effort) {
    const int influences = (int)call->settings->influences;
    Model model, before;
    Descent descent;
    call_stage(call, OSSIFY_STAGE_START);
    if (!model_make(call, problem, count, influences, &model) ||
        !model_make(call, problem, count, influences, &before) ||
        !start_bones(call, problem, OSSIFY_START_GROWN, count, &model)) {
        return 0;
    }
    call_stage(call, OSSIFY_STAGE_EXPLORE);
    if (!descent_make(call, problem, &model, &descent)) {
        return 0;
    }
    descent.search_first = 1;
    descent_reach(&descent, REACH, effort->warm + effort->settle);
    descent_restart(&descent);
    if (descent_run(&descent, effort->warm + effort->settle, effort->tolerance, 0) < 0 ||
        !drop_free_bones(&descent, effort, &before)) {
        return 0;
    }
    return model.bones;
}

int parts_count(Call *call, const Problem *problem, int most, const Effort *effort) {
    most = most < problem->vertices ? most : problem->vertices;
    for (int count = most < FIRST ? most : FIRST;; count *= GROW) {
        ArenaPiece *mark = arena_mark(&call->arena);
        count = count < most ? count : most;
        const int left = count_from(call, problem, count, effort);
        arena_return(&call->arena, mark);
        if (left == 0 || left < SURPLUS * count || count == most) {
            return left;
        }
    }
}
