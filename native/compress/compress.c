/* compress.c - weights of many bones as two layers of few (Le & Deng 2013, Two-Layer Sparse Compression of Dense-Weight
 * Blend Skinning):
 *
 *     W ~ D A        masters are blended to virtual bones by D, at most c a column, and those to vertices by A,
 *                    at most 2, 3 or 4 a column
 *
 * from weights alone (Eq. 1), or so that poses are met (Eq. 7); the error of a vertex is in target.c. Algorithm 1: two
 * atoms, more where they are missed most (grow.c), and between that rounds of coefficients (coefficients.c) and
 * dictionary (dictionary.c). As it is printed it is in as_printed.c.
 *
 * Deviations of the whole: the count grows fourfold, with a round in between, and near a tolerance by how fast the error
 * has fallen, where Eq. 3 takes it to fall as the count rises; from poses, layers grow on the dense weights, which is
 * cheap, and their last part and the last rounds are on the poses; both steps never raise the error. With `refine`
 * masters and rest follow the layers (refine.c), round by round. Without virtual bones the same rounds are a solve of
 * dense weights. */
#include "compress/compress.h"

#include <math.h>
#include <string.h>

#include "compress/as_printed.h"
#include "compress/coefficients.h"
#include "compress/dictionary.h"
#include "compress/grow.h"
#include "compress/inspect.h"
#include "compress/refine.h"
#include "compress/write.h"
#include "core/rig.h"
#include "core/sentence.h"
#include "math/elementary.h"

enum {
    AT_ONCE = 4 /* times as many */,
    ROUNDS_BETWEEN = 1,
    ROUNDS_AT_LAST = 40,
    REUSES = 4 /* of virtual bones that nobody follows any more */,
    REFINE_LAYERS = 16,
    REFINE_DENSE = 24
};

static const double ROUND_FLAT = 3e-3;      /* of the squared error: a smaller fall ends the rounds */
static const double LAST_ROUND_FLAT = 3e-4; /* and the last rounds */
static const double AIMED = 0.5;            /* of what a tolerance seems to take: each round saves some */
static const double LEAST_RATE = 0.25;      /* of Delta by the count */
static const double SPARED_MASTERS = 0.03;  /* of the squared error, for fewer masters of virtual bones */
static const double SPARED_BONES = 0.01;    /* and for fewer virtual bones of vertices */
static const double GROWN_ON_WEIGHTS = 0.5; /* of the virtual bones, when poses are to be met */

typedef struct Work {
    Call *call;
    const ossify_poses *poses;
    const ossify_compression *wish;
    ossify_rig *rig;
    Problem problem;
    Placement placement;
    Model model;
    Target weights, motion; /* motion: from poses alone */
    Layers layers;
    Grow grow;
    int64_t refused; /* a status, when what was found cannot be given */
} Work;

static int from_poses(const Work *work) {
    return work->wish->source == OSSIFY_SOURCE_POSES;
}

static int prepare(Work *work) {
    Call *call = work->call;
    const float *rest = work->poses->rest ? work->poses->rest : work->rig->rest;
    ossify_rig given = *work->rig;
    given.given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    if (!problem_prepare(call, work->poses, rest, &given, &work->problem, &work->placement) ||
        !model_make(call, &work->problem, (int)given.bones, (int)given.influences, &work->model) ||
        call_poll(call, 0.05)) {
        return 0;
    }
    rig_read(&work->problem, &work->placement, &given, 0, &work->model);
    if (!from_poses(work)) {
        return target_of_weights(call, &work->problem, &work->model, &work->weights);
    }
    return target_of_poses(call, &work->problem, &work->model, &work->motion) &&
           target_of_dense(call, &work->motion, &work->weights) && !call_poll(call, 0.1);
}

/* ---- layers ---- */

/* Coefficients for a target that is not the one that the layers know their errors of. */
static int meet_target(Work *work, const Target *target) {
    return coefficients_update(work->call, target, &work->problem.graph, 0, &work->layers) >= 0;
}

static int is_near_enough(const Work *work, const Target *target) {
    return work->wish->tolerance > 0 && layers_delta(&work->layers, target) <= work->wish->tolerance;
}

/* Rounds until the error no longer falls, or is small enough; 0 when the call must end. */
static int make_rounds(Work *work, const Target *target, int rounds, double flat) {
    Call *call = work->call;
    double before = layers_squared(&work->layers);
    for (int round = 1; round <= rounds && before > 0; round++) {
        const double now = dictionary_update(call, target, &work->layers)
                               ? coefficients_update(call, target, &work->problem.graph, round, &work->layers)
                               : -1;
        call->info->iterations++;
        if (now < 0) {
            return 0;
        }
        if (before - now <= flat * now || is_near_enough(work, target)) {
            break;
        }
        before = now;
    }
    return 1;
}

/* AT_ONCE times as many, or half of what the tolerance takes if Delta falls on as count^-rate; Eq. 3 has a rate of 1. */
static int next_count(const Work *work, double delta, double rate, int most) {
    const int count = work->layers.count;
    double more = AT_ONCE * count - count;
    if (work->wish->tolerance > 0) {
        const double missing = (elementary_power(delta / work->wish->tolerance, 1 / rate) - 1) * count;
        more = fmin(more, AIMED * missing + 1);
    }
    return most - count < more ? most - count : (int)more;
}

/* At which Delta fell. */
static double rate_of(double delta, double now, int count, int grown) {
    const double rate =
        now > 0 && grown > count ? elementary_log(delta / now) / elementary_log((double)grown / count) : 1;
    return fmin(fmax(rate, LEAST_RATE), 1);
}

static int grow_to(Work *work, const Target *target, int most) {
    double delta = layers_delta(&work->layers, target), rate = 1;
    int added = 1;
    while (work->layers.count < most && added > 0 && !is_near_enough(work, target)) {
        const int count = work->layers.count;
        const double before = delta;
        grow_rank(&work->grow, target);
        if (!grow_more(&work->grow, next_count(work, delta, rate, most), &added) ||
            !make_rounds(work, target, ROUNDS_BETWEEN, ROUND_FLAT)) {
            return 0;
        }
        delta = layers_delta(&work->layers, target);
        rate = rate_of(before, delta, count, work->layers.count);
    }
    return 1;
}

/* Rounds to the end; virtual bones that these left without a vertex go where they are missed, as long as there are. */
static int make_last_rounds(Work *work, const Target *target, int most) {
    int *number = arena_take(&work->call->arena, (size_t)work->layers.capacity, sizeof *number);
    for (int reuse = 0; number; reuse++) {
        if (is_near_enough(work, target)) {
            return 1;
        }
        if (!make_rounds(work, target, ROUNDS_AT_LAST, LAST_ROUND_FLAT)) {
            return 0;
        }
        if (reuse == REUSES || layers_close_ranks(&work->layers, number) == 0) {
            return 1;
        }
        if (!grow_to(work, target, most)) {
            return 0;
        }
    }
    return 0;
}

/* Masters, rest and layers in turns. */
static int refine_layers(Work *work) {
    Call *call = work->call;
    double before = layers_squared(&work->layers);
    for (int round = 0; round < REFINE_LAYERS; round++) {
        if (!refine_bones(call, &work->problem, &work->motion, &work->layers, &work->model) ||
            !target_renew(call, &work->problem, &work->model, &work->motion) ||
            !meet_target(work, &work->motion) || !make_rounds(work, &work->motion, 2, LAST_ROUND_FLAT)) {
            return 0;
        }
        const double now = layers_squared(&work->layers);
        if (before - now <= LAST_ROUND_FLAT * now) {
            break;
        }
        before = now;
    }
    return 1;
}

/* What is hardly there costs as much to play as what counts. */
static int thin(Work *work, const Target *target) {
    Layers *layers = &work->layers;
    const double error = layers_squared(layers);
    return work->wish->tolerance > 0 || layers->count == 0 ||
           (dictionary_thin(work->call, target, SPARED_MASTERS * error / layers->count, layers) &&
            coefficients_thin(work->call, target, SPARED_BONES * error / layers->vertices, layers));
}

static int solve_layers(Work *work) {
    const ossify_compression *wish = work->wish;
    const int vertices = work->problem.vertices;
    const int most = wish->virtual_bones < vertices ? (int)wish->virtual_bones : vertices;
    const int bones = work->model.bones, masters = wish->masters < bones ? (int)wish->masters : bones;
    const Target *last = from_poses(work) ? &work->motion : &work->weights;
    if (!layers_make(&work->call->arena, vertices, most, masters, (int)wish->influences, (int)wish->affine,
                     &work->layers)) {
        return 0;
    }
    if (wish->method == OSSIFY_COMPRESS_PRINTED) {
        return as_printed(work->call, last, &work->problem.graph, wish->tolerance, &work->layers);
    }
    if (!grow_make(work->call, &work->weights, &work->problem.graph, (int)wish->influences, &work->layers,
                   &work->grow) ||
        !grow_first(&work->grow) || !make_rounds(work, &work->weights, ROUNDS_BETWEEN, ROUND_FLAT)) {
        return 0;
    }
    if (from_poses(work)) {
        if (!grow_to(work, &work->weights, (int)ceil(GROWN_ON_WEIGHTS * most)) || !meet_target(work, last) ||
            !make_rounds(work, last, ROUNDS_BETWEEN, ROUND_FLAT)) {
            return 0;
        }
    }
    return grow_to(work, last, most) && make_last_rounds(work, last, most) &&
           (!wish->refine || refine_layers(work)) && thin(work, last);
}

/* ---- dense weights ---- */

static double sum_of(const double *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum;
}

static int refine_dense(Work *work) {
    Call *call = work->call;
    double before = sum_of(work->motion.least, work->problem.vertices);
    for (int round = 0; round < REFINE_DENSE; round++) {
        if (!refine_bones(call, &work->problem, &work->motion, NULL, &work->model) ||
            !target_renew(call, &work->problem, &work->model, &work->motion)) {
            return 0;
        }
        const double now = sum_of(work->motion.least, work->problem.vertices);
        call->info->iterations++;
        if (before - now <= LAST_ROUND_FLAT * now) {
            break;
        }
        before = now;
    }
    return 1;
}

/* ---- out ---- */

/* The rig's bones and rest as they are now; its weights stay. */
static void write_bones(Work *work) {
    const Problem *problem = &work->problem;
    rig_write_transforms(problem, &work->placement, &work->model, 0, work->rig);
    for (size_t v = 0; v < (size_t)problem->vertices; v++) {
        const size_t to = (size_t)problem->caller[v];
        const int keeps = work->call->settings->rest_mode == OSSIFY_REST_FIXED ||
                          (problem->held_rest && problem->held_rest[v]);
        for (size_t a = 0; a < 3 && !keeps; a++) {
            work->rig->rest[3 * to + a] =
                (float)(work->placement.centre[a] + work->placement.unit * work->model.rest[3 * v + a]);
        }
    }
}

/* Room for an answer, to be measured before the caller gets it. */
static int take_answer(Work *work, ossify_layers *answer) {
    Arena *arena = &work->call->arena;
    const size_t blends = (size_t)work->layers.count * (size_t)work->wish->masters,
                 influences = (size_t)work->problem.vertices * (size_t)work->wish->influences;
    answer->virtual_bones = arena_take(arena, blends, sizeof(int32_t));
    answer->virtual_weights = arena_take(arena, blends, sizeof(float));
    answer->influence_bones = arena_take(arena, influences, sizeof(int32_t));
    answer->influence_weights = arena_take(arena, influences, sizeof(float));
    return !arena->failed;
}

static void give_answer(const Work *work, const ossify_layers *answer, ossify_layers *out) {
    const size_t blends = (size_t)answer->count * (size_t)work->wish->masters,
                 influences = (size_t)work->problem.vertices * (size_t)work->wish->influences;
    memcpy(out->virtual_bones, answer->virtual_bones, blends * sizeof(int32_t));
    memcpy(out->virtual_weights, answer->virtual_weights, blends * sizeof(float));
    memcpy(out->influence_bones, answer->influence_bones, influences * sizeof(int32_t));
    memcpy(out->influence_weights, answer->influence_weights, influences * sizeof(float));
    out->count = answer->count;
}

/* Nothing can fail between the first number that goes out and the last. */
static int answer_layers(Work *work, ossify_layers *out) {
    Call *call = work->call;
    const Target *last = from_poses(work) ? &work->motion : &work->weights;
    ossify_layers answer = {.struct_size = sizeof answer};
    if (!take_answer(work, &answer) ||
        !write_layers(call, &work->problem, &work->layers, work->wish, &answer)) {
        return 0;
    }
    if (!inspect_layers(work->wish, work->rig->bones, work->problem.vertices, &answer, call->info)) {
        work->refused = OSSIFY_NO_ANSWER;
        return 0;
    }
    if (!write_figures(call, work->poses, work->rig, work->wish, &answer)) {
        return 0;
    }
    call->written = 1;
    give_answer(work, &answer, out);
    out->delta = layers_delta(&work->layers, last);
    out->dense_erms = from_poses(work)
                          ? problem_erms(&work->problem, sum_of(work->motion.least, work->problem.vertices))
                          : -1;
    return 1;
}

static int answer_dense(Work *work, ossify_layers *out) {
    if (!write_dense(work->call, &work->problem, &work->motion, work->rig) ||
        !write_rig_figures(work->call, work->poses, work->rig)) {
        return 0;
    }
    work->call->written = 1;
    out->count = 0;
    out->delta = 0;
    out->dense_erms = work->call->info->erms;
    return 1;
}

int64_t compress(Call *call, const ossify_poses *poses, ossify_rig *rig,
                 const ossify_compression *compression, ossify_layers *layers) {
    Work work = {.call = call, .poses = poses, .wish = compression, .rig = rig};
    const int dense = compression->virtual_bones == 0;
    call_stage(call, OSSIFY_STAGE_COMPRESS);
    if (!prepare(&work) || !(dense ? !compression->refine || refine_dense(&work) : solve_layers(&work)) ||
        call_poll(call, 0.95)) {
        return call_ended(call);
    }
    if (compression->refine) {
        write_bones(&work);
    }
    if (!(dense ? answer_dense(&work, layers) : answer_layers(&work, layers))) {
        return work.refused ? work.refused : call_ended(call);
    }
    if (!dense && compression->tolerance > 0 && layers->delta > compression->tolerance) {
        return sentence_refuse(
            call->info, OSSIFY_OUT_OF_ITERATIONS,
            "%d virtual bones leave an error of %.4g, above the tolerance of %.4g: allow more virtual bones, "
            "more masters for each, or a larger error",
            (int)layers->count, layers->delta, compression->tolerance);
    }
    return OSSIFY_CONVERGED;
}
