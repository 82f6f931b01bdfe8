/* correct.c - correctives: what a rig misses, as a few fields of the rest pose (EigenSkin, Kry et al. 2002).
 *
 *     y[f][v] = sum_b w[v][b] M[f][b] p~[f][v],     p[f][v] = rest[v] + sum_n c[f][n] B[n][v]
 *
 * Modes start them (modes.c), rounds of least squares make them fit (layer.c), and then the same sum is written in its
 * principal axes (axes.c), so that the first field explains most and none repeats another. Because the caller gets
 * floats, the last coefficients are those that are best for the fields as they are rounded.
 * With a budget, the count is doubled until it is met, then halved between. */
#include "correct/correct.h"

#include <math.h>
#include <string.h>

#include "core/evaluate.h"
#include "core/sentence.h"
#include "correct/axes.h"
#include "correct/exchange.h"
#include "correct/layer.h"
#include "correct/modes.h"
#include "correct/refine.h"
#include "correct/support.h"

enum { ROUNDS = 8, REFINE_ROUNDS = 24 };

typedef struct Work {
    Call *call;
    const ossify_poses *poses;
    const ossify_correction *wish;
    ossify_rig *rig; /* the answer */
    int held;        /* fields that came in */
    Skin skin;
    SkinCopy start; /* what the skin came as */
    Support support;
    Graph graph;
    Modes modes;
    int *source;          /* [count] of each field of the answer, the layer's number of it */
    double *worth;        /* [count] of each field, as a squared error */
    double squared, bare; /* with and without them */
} Work;

/* ---- a layer for some of them ---- */

/* A layer whose first fields are those of the rig, with the coefficients that suit them; returns the squared error,
 * < 0 when the call must end. */
static double open_layer(const Work *work, int fields, int count, Layer *layer) {
    const ossify_rig *rig = work->rig;
    const size_t wide = (size_t)work->skin.wide, row = (size_t)rig->corrective_capacity;
    if (!layer_make(work->call, &work->skin, fields, layer)) {
        return -1;
    }
    exchange_read(rig, count, layer);
    for (size_t n = 0; n < (size_t)work->held && work->wish->held_coefficients; n++) {
        layer->known[n] = work->wish->held_coefficients[n] != 0;
        for (size_t f = 0; f < (size_t)work->skin.frames && layer->known[n]; f++) {
            layer->coefficient[n * wide + f] = rig->coefficients[f * row + n];
        }
    }
    return layer_sweep(work->call, layer, 1)
               ? layer_fit_coefficients(work->call, layer, layer->coefficient, 0)
               : -1;
}

/* Held fields and the first modes. */
static int start_layer(const Work *work, int fields, Layer *layer) {
    const ossify_correction *wish = work->wish;
    Call *call = work->call;
    const size_t wide = (size_t)work->skin.wide, held = (size_t)work->held;
    if (open_layer(work, fields, work->held, layer) < 0) {
        return 0;
    }
    memcpy(layer->coefficient + held * wide, work->modes.coefficient,
           ((size_t)fields - held) * wide * sizeof(double));
    layer->solves_rest = wish->solve_rest != 0;
    layer->rest_pull = call->settings->rest_mode == OSSIFY_REST_KEPT ? 1 : 0;
    layer->held_rest = work->rig->held_rest;
    return (wish->support != OSSIFY_SUPPORT_JOINTS ||
            support_reach(call, &work->support, &work->skin, work->modes.joint, work->held, layer)) &&
           (wish->smoothness <= 0 || layer_smooth(call, layer, &work->graph, wish->smoothness));
}

/* ---- for a count ---- */

static int solve_layer(Work *work, int fields, Layer *layer) {
    const ossify_correction *wish = work->wish;
    return start_layer(work, fields, layer) && layer_solve(work->call, layer, ROUNDS) >= 0 &&
           (!wish->refine || refine_run(work->call, &work->skin, layer, work->rig, REFINE_ROUNDS) >= 0) &&
           (wish->support == OSSIFY_SUPPORT_JOINTS || axes_turn(work->call, layer));
}

/* To the rig; the skin follows, as it is rounded. */
static void write_layer(Work *work, const Layer *layer) {
    exchange_write_fields(layer, work->rig, work->source);
    if (work->wish->solve_rest) {
        exchange_write_rest(layer, work->rig);
    }
    if (work->wish->refine) {
        skin_write_rig(&work->skin, work->rig);
    }
    skin_read_rig(&work->skin, work->rig);
}

/* Coefficients for the rig as it was rounded, and what each field is worth; 0 when the call must end. */
static int write_coefficients(Work *work) {
    Layer layer;
    work->squared = open_layer(work, (int)work->rig->correctives, (int)work->rig->correctives, &layer);
    if (work->squared < 0) {
        return 0;
    }
    exchange_write_coefficients(&layer, work->rig);
    for (int n = 0; n < layer.fields; n++) {
        work->worth[n] = layer_worth(&layer, n);
    }
    return 1;
}

/* Solves for so many fields; 0 when the call must end. */
static int attempt(Work *work, int fields) {
    Arena *arena = &work->call->arena;
    ArenaPiece *mark = arena_mark(arena);
    Layer layer;
    skin_return(&work->skin, &work->start, work->rig);
    int made = solve_layer(work, fields, &layer);
    if (made) {
        write_layer(work, &layer);
    }
    arena_return(arena, mark);
    mark = arena_mark(arena);
    made = made && write_coefficients(work);
    arena_return(arena, mark);
    return made;
}

/* ---- for a budget ---- */

/* Percent of the rest's diagonal that the answer leaves, as the caller will see it; < 0 when the call must end. */
static double measured_percent(const Work *work) {
    ArenaPiece *mark = arena_mark(&work->call->arena);
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    Measure *measure = evaluate_take(work->call, work->poses, work->rig->bone_capacity);
    double percent = -1;
    if (measure && evaluate(work->call, measure, work->poses, work->rig, NULL, &evaluation) >= 0) {
        const double error =
            work->wish->budget_kind == OSSIFY_BUDGET_RMS ? evaluation.rms : evaluation.maximum;
        percent = 100 * error / (evaluation.diagonal > 0 ? evaluation.diagonal : 1);
    }
    arena_return(&work->call->arena, mark);
    return percent;
}

static int64_t budget_not_met(const Work *work, double percent) {
    return sentence_refuse(
        work->call->info, OSSIFY_OUT_OF_ITERATIONS,
        "%d correctives leave %.4g %% of the size, above the budget of %.4g %%: allow more of "
        "them, more bones or a larger error",
        (int)work->rig->correctives, percent, work->wish->budget);
}

/* The fewest that meet the budget: doubled until they do, then halved between. */
static int64_t solve_budget(Work *work, int most) {
    int below = work->held - 1, met = -1, fields = work->held;
    for (;;) {
        const double percent = attempt(work, fields) ? measured_percent(work) : -1;
        if (percent < 0) {
            return call_ended(work->call);
        }
        if (percent <= work->wish->budget) {
            met = fields;
        } else if (fields == most) {
            return budget_not_met(work, percent);
        } else {
            below = fields;
        }
        if (met == fields && met - below <= 1) {
            return OSSIFY_CONVERGED;
        }
        fields = met < 0 ? 2 * fields : met - below <= 1 ? met : (below + met) / 2;
        fields = fields < 1 ? 1 : fields < most ? fields : most;
    }
}

/* ---- the whole ---- */

static int still_wanted(void *call) {
    return !call_poll(call, -1);
}

static int make_graph(Work *work) {
    const GraphWatch watch = {still_wanted, work->call};
    const ossify_poses *poses = work->poses;
    Call *call = work->call;
    int *same = arena_take(&call->arena, (size_t)poses->vertex_count, sizeof *same);
    for (int v = 0; v < work->skin.vertices && same; v++) {
        same[v] = v;
    }
    return same && graph_of_surface(&call->arena, call->pool, &watch, work->skin.vertices, work->skin.rest,
                                    poses->triangle_count, poses->triangles, same, &work->graph);
}

/* The modes of what is missing beside the fields that are held. */
static int make_modes(Work *work) {
    const int joints = work->wish->support == OSSIFY_SUPPORT_JOINTS;
    Layer layer;
    if (open_layer(work, work->held, work->held, &layer) < 0) {
        return 0;
    }
    work->bare = layer_bare(&layer);
    return modes_make(work->call, &layer, joints ? &work->support : NULL, (int)work->wish->count - work->held,
                      &work->modes);
}

static int prepare(Work *work) {
    const ossify_correction *wish = work->wish;
    Call *call = work->call;
    work->source = arena_take(&call->arena, (size_t)wish->count + 1, sizeof(int));
    work->worth = arena_take(&call->arena, (size_t)wish->count + 1, sizeof(double));
    return skin_make(call, work->poses, work->rig, &work->skin) &&
           skin_copy(call, work->rig, &work->skin, &work->start) && !call_poll(call, 0.1) &&
           (wish->support != OSSIFY_SUPPORT_JOINTS ||
            support_make(call, &work->skin, wish->parents, &work->support)) &&
           (wish->smoothness <= 0 || make_graph(work)) && make_modes(work) && !call_poll(call, 0.3);
}

/* From squared errors of the inside to what the caller sees. */
static void write_result(const Work *work, ossify_corrected *corrected) {
    const double count = (double)work->poses->vertex_count * (double)work->poses->frame_count;
    const double scale = 100 * work->skin.unit / skin_diagonal(&work->skin);
    for (int64_t n = 0; n < work->rig->correctives; n++) {
        if (corrected->joints) {
            corrected->joints[n] = n < work->held ? -1 : work->modes.joint[work->source[n] - work->held];
        }
        if (corrected->gains) {
            corrected->gains[n] =
                scale * (sqrt((work->squared + work->worth[n]) / count) - sqrt(work->squared / count));
        }
    }
    corrected->bare_erms = skin_erms(&work->skin, work->bare);
}

int64_t correct(Call *call, const ossify_poses *poses, ossify_rig *rig, const ossify_correction *correction,
                ossify_corrected *corrected) {
    Work work = {.call = call, .poses = poses, .wish = correction, .rig = rig, .held = (int)rig->correctives};
    int64_t status = OSSIFY_CONVERGED;
    call_stage(call, OSSIFY_STAGE_CORRECT);
    if (!prepare(&work)) {
        return call_ended(call);
    }
    const int most = work.held + work.modes.count;
    if (correction->budget_kind != OSSIFY_BUDGET_NONE) {
        status = solve_budget(&work, most);
    } else if (!attempt(&work, most)) {
        status = call_ended(call);
    }
    if (status >= 0 && call_poll(call, 0.95)) {
        status = call_ended(call);
    }
    if (status >= 0) {
        write_result(&work, corrected);
    }
    return status;
}
