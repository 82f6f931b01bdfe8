/* parts.c - how many parts an articulated body has.
 *
 * With more bones than parts some bone can always go at no cost; at the true number the next removal costs a
 * part, and the error jumps. So:
 *     grow     bones are inserted where the error is worst while that lowers it much, so that no part is missing
 *     shed     bones leave, the cheapest first, as long as the error does not rise by what a part is worth   shed.c
 *     mend     what still has an error is grown and shed again, and taken back unless that helped; not in a draft
 * A body that bends everywhere has no number of parts; it gets bones until one more is not worth that, or the most
 * allowed.
 *
 * Spectral gaps (Hasler et al. 2010) and a tolerance of the clustering (Schaefer & Yuksel 2007) count before
 * weights are blended, and take soft creases for parts. */
#include "search/parts.h"

#include <math.h>

#include "descent/tolerances.h"
#include "search/shed.h"
#include "starts/reseed.h"
#include "starts/start.h"

enum {
    FIRST = 24,       /* bones to begin with */
    WARM = 24,        /* iterations: of the first bones, and of a mending */
    AFTER = 16,       /* after growth */
    GROWTH_ROUNDS = 8 /* of growth, and of mending */
};

static const double GROWTH = 0.5;      /* more bones a round, of those there are */
static const double MENDING = 0.2;     /* the same, to mend */
static const double GROWTH_FALL = 0.6; /* the squared error falls at least to this: growth goes on */
static const double HELPED = 0.8;      /* or mending does */

/* Bones for the worst places; returns how many, < 0 when the call must end. */
static int grow(Shed *shed, double growth, int iterations, uint64_t *random) {
    Descent *descent = &shed->descent;
    const int extra = (int)ceil(growth * shed->model->bones);
    const int inserted = reseed_insert(descent->call, descent->problem, shed->model, extra, random);
    if (inserted <= 0) {
        return inserted;
    }
    descent_restart(descent);
    descent_reach(descent, NEAR_REACH, iterations / 2);
    return descent_run(descent, iterations, SHED_TOLERANCE, 0) == DESCENT_STOPPED ? -1 : inserted;
}

/* Bones are added while that lowers the error much; 0 when the call must end. */
static int grow_all(Shed *shed) {
    double squared = shed_squared(shed), before = INFINITY;
    for (int round = 0; round < GROWTH_ROUNDS && squared > SHED_UNSEEN && squared <= GROWTH_FALL * before;
         round++) {
        before = squared;
        if (!shed_look(shed) || shed_clear(shed) < 0 || grow(shed, GROWTH, AFTER, NULL) < 0) {
            return 0;
        }
        squared = shed_squared(shed);
    }
    return 1;
}

/* More bones at places drawn by chance, and fewer again, while that helps; 0 when the call must end. */
static int mend(Shed *shed, uint64_t random) {
    const Problem *problem = shed->descent.problem;
    double least = shed_squared(shed);
    for (int round = 0, helped = 1; round < GROWTH_ROUNDS && helped && least > SHED_UNSEEN; round++) {
        model_copy(problem, shed->model, &shed->best);
        if (grow(shed, MENDING, WARM, &random) < 0 || !shed_all(shed)) {
            return 0;
        }
        const double squared = shed_squared(shed), bones = shed->best.bones;
        const int fewer = shed->model->bones < bones && squared < least + shed_allowance(least, 1 / bones);
        helped = fewer || squared < HELPED * least;
        if (fewer || squared < least) {
            least = squared;
        } else {
            model_copy(problem, &shed->best, shed->model);
        }
        descent_restart(&shed->descent);
    }
    return 1;
}

int parts_find(Call *call, const Problem *problem, Model *model) {
    Shed shed;
    call_stage(call, OSSIFY_STAGE_START);
    if (!start_bones(call, problem, OSSIFY_START_GROWN, model->capacity < FIRST ? model->capacity : FIRST,
                     model)) {
        return 0;
    }
    call_stage(call, OSSIFY_STAGE_EXPLORE);
    if (!shed_make(call, problem, model, &shed)) {
        return 0;
    }
    shed.descent.search_first = 1;
    descent_reach(&shed.descent, WIDE_REACH, WARM);
    descent_restart(&shed.descent);
    return descent_run(&shed.descent, WARM, SHED_TOLERANCE, 0) != DESCENT_STOPPED && grow_all(&shed) &&
           shed_all(&shed) &&
           (call->settings->quality == OSSIFY_DRAFT || mend(&shed, (uint64_t)call->settings->seed));
}
