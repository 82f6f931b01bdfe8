/* parts.c - how many parts an articulated body has.
 *
 * With more bones than parts some bone can always go at no cost; at the true number the next removal costs a
 * part, and the error jumps. So:
 *     grow     bones are inserted where the error is worst while that lowers it much, so that no part is missing
 *     shed     bones leave, the cheapest first, as long as the error does not rise by what a part is worth   shed.c
 *     mend     what still has an error is grown and shed again, and taken back unless that helped
 * A body that bends everywhere has no number of parts; it gets bones until one more is not worth that, or the most
 * allowed.
 *
 * Spectral gaps (Hasler et al. 2010) and a tolerance of the clustering (Schaefer & Yuksel 2007) count before
 * weights are blended, and take soft creases for parts. */
#include <math.h>

#include "explore.h"
#include "reseed.h"
#include "shed.h"
#include "start.h"

enum {
    FIRST = 24,  /* bones to begin with */
    WARM = 24,   /* iterations: of the first bones, and of a mending */
    SETTLE = 16, /* after growth */
    ROUNDS = 8   /* of growth, and of mending */
};

static const double GROWTH = 0.5;  /* more bones a round, of those there are */
static const double MENDING = 0.2; /* the same, to mend */
static const double MUCH = 0.6;    /* the squared error falls at least to this: growth goes on */
static const double HELPED = 0.8;  /* or mending does */

static const double FIRST_REACH = 0.7; /* of the radius: how far bones may reach at first */

/* Bones for the worst places; returns how many, < 0 when the call must end. */
static int grow(Count *count, double growth, int iterations, uint64_t *random) {
    Descent *descent = &count->descent;
    const int extra = (int)ceil(growth * count->model->bones);
    const int inserted = reseed_insert(descent->call, descent->problem, count->model, extra, random);
    if (inserted <= 0) {
        return inserted;
    }
    descent_restart(descent);
    descent_reach(descent, COUNT_REACH, iterations / 2);
    return descent_run(descent, iterations, COUNT_TOLERANCE, 0) < 0 ? -1 : inserted;
}

/* Bones are added while that lowers the error much; 0 when the call must end. */
static int grow_all(Count *count) {
    double squared = count_squared(count), before = INFINITY;
    for (int round = 0; round < ROUNDS && squared > COUNT_UNSEEN && squared <= MUCH * before; round++) {
        before = squared;
        if (!count_look(count) || count_shed_clear(count) < 0 || grow(count, GROWTH, SETTLE, NULL) < 0) {
            return 0;
        }
        squared = count_squared(count);
    }
    return 1;
}

/* More bones at places drawn by chance, and fewer again, while that helps; 0 when the call must end. */
static int mend(Count *count, uint64_t random) {
    const Problem *problem = count->descent.problem;
    double least = count_squared(count);
    for (int round = 0, helped = 1; round < ROUNDS && helped && least > COUNT_UNSEEN; round++) {
        model_copy(problem, count->model, &count->best);
        if (grow(count, MENDING, WARM, &random) < 0 || !count_shed(count)) {
            return 0;
        }
        const double squared = count_squared(count), bones = count->best.bones;
        const int fewer = count->model->bones < bones && squared < least + count_allowance(least, 1 / bones);
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
    return descent_run(&count.descent, WARM, COUNT_TOLERANCE, 0) >= 0 && grow_all(&count) &&
           count_shed(&count) && mend(&count, (uint64_t)call->settings->seed);
}
