/* drive.c - correctives whose coefficients follow from how the bones are turned and shifted, c[f] = W'phi[f] (turns.c), so
 * that they also serve poses that nobody observed.
 *
 * Two forms. Whole: fields as correct.c would find them, every one driven by all joints; it serves motions like the ones
 * it has seen. By joints: each field acts around one joint and is driven by that joint alone; it also serves others, but
 * takes more fields. Kry et al. 2002 have the second, with the pose of a joint as the argument of an interpolation; a
 * linear map is what drivers without scripts can compute, and did better than interpolation in trials.
 *
 *   whole      keyed fields -> map to their coefficients (map.c) -> fields for the driven coefficients (layer.c)
 *   by joints  modes around joints (modes.c) -> fields, map, fields, map, ... each the optimum of the other
 *
 * What a form is worth, its ridge, and whether shifts help, is judged on frames that it has not seen: blocks of them are
 * left out in turn, fields and maps solved without them on a sample of the vertices, and the error of these frames
 * summed. */
#include "correct/drive.h"

#include <math.h>
#include <string.h>

#include "correct/exchange.h"
#include "correct/map.h"
#include "correct/modes.h"

enum {
    FORMS = 2,
    FOLDS = 4,
    FOLD_BLOCKS = 3, /* of frames that a fold leaves out */
    TURN_TRIES = 4,  /* by turns alone */
    DRIVE_TRIES = 7,
    DRIVE_SAMPLE = 128, /* blocks of vertices on which forms are judged */
    KEYED_ROUNDS = 3,
    JOINT_ROUNDS = 3
};

/* Of the frames: from what hardly follows to what follows every turn. */
static const double TRIED_RIDGES[DRIVE_TRIES] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-1, 1e-2, 1e-3};
static const double NEARLY_LEAST = 1.05; /* of the least squared error */
static const int UNTRIED = 1;            /* where there are too few frames to leave any out */

typedef struct Drive {
    Call *call;
    const ossify_driving *wish;
    Skin skin;
    Turns turns;
    Support support;
    uint8_t *blind;                    /* [frames] */
    double *driven;                    /* [most fields][wide] in all frames, also those that are left out */
    double *map;                       /* [most fields][rows] */
    double *wanted;                    /* [most fields][wide] */
    double judged[FORMS][DRIVE_TRIES]; /* squared errors of frames that were left out */
    double bare, keyed;                /* likewise without fields, and with the best coefficients */
    int numbers;                       /* of turns and shifts; turns.rows says which are at hand */
} Drive;

static int count_of(const Drive *d, int form) {
    return (int)(form == OSSIFY_DRIVEN_WHOLE ? d->wish->count : d->wish->joint_count);
}

/* ---- training */

/* A layer with the modes of the frames that are seen. */
static int start_layer(Drive *d, int form, const uint8_t *blind, int step, Modes *modes, Layer *layer) {
    const Support *support = form == OSSIFY_DRIVEN_JOINTS ? &d->support : NULL;
    Layer bare;
    if (!layer_make(d->call, &d->skin, 0, &bare)) {
        return 0;
    }
    bare.blind = blind;
    if (!modes_make(d->call, &bare, support, count_of(d, form), modes) ||
        !layer_make(d->call, &d->skin, modes->count, layer)) {
        return 0;
    }
    layer->blind = blind;
    layer->step = step;
    memcpy(layer->coefficient, modes->coefficient,
           (size_t)modes->count * (size_t)d->skin.wide * sizeof(double));
    return support == NULL || support_reach(d->call, support, &d->skin, modes->joint, 0, layer);
}

/* The driven coefficients of every frame, of length 1 on the average where they are seen; the layer gets those. */
static void drive_layer(const Drive *d, Layer *layer) {
    const size_t wide = (size_t)d->skin.wide, rows = (size_t)d->turns.rows;
    for (size_t n = 0; n < (size_t)layer->fields; n++) {
        double *c = d->driven + n * wide, *map = d->map + n * rows, square = 0, seen = 0;
        turns_drive(&d->turns, &d->skin, map, c);
        for (size_t f = 0; f < (size_t)d->skin.frames; f++) {
            const int there = !(layer->blind && layer->blind[f]);
            square += there ? c[f] * c[f] : 0;
            seen += there;
        }
        const double scale = square > 0 ? sqrt(seen / square) : 0;
        for (size_t row = 0; row < rows; row++) {
            map[row] *= scale;
        }
        for (size_t f = 0; f < wide; f++) {
            c[f] *= scale;
            const int there = f < (size_t)d->skin.frames && !(layer->blind && layer->blind[f]);
            layer->coefficient[n * wide + f] = there ? c[f] : 0;
        }
        layer->known[n] = 1;
    }
}

/* Fields for keyed coefficients, which the map shall give; 0 when the call must end. So below. */
static int key_layer(const Drive *d, Layer *layer) {
    const size_t numbers = (size_t)layer->fields * (size_t)d->skin.wide;
    if (layer_solve(d->call, layer, KEYED_ROUNDS) < 0) {
        return 0;
    }
    memcpy(d->driven, layer->coefficient, numbers * sizeof(double)); /* for what the keyed form is worth */
    layer_normalise(layer);
    memcpy(d->wanted, layer->coefficient, numbers * sizeof(double));
    return 1;
}

/* How many there are to try: shifts are for all joints at once. */
static int tries_of(const Drive *d, int form) {
    return form == OSSIFY_DRIVEN_WHOLE && d->numbers > d->turns.turned ? DRIVE_TRIES : TURN_TRIES;
}

static int train_whole(Drive *d, Layer *layer, int try) {
    d->turns.rows = try < TURN_TRIES ? d->turns.turned : d->numbers;
    if (!map_fit_columns(d->call, layer, &d->turns, d->wanted, TRIED_RIDGES[try], d->map)) {
        return 0;
    }
    drive_layer(d, layer);
    return layer_sweep(d->call, layer, 0);
}

static int train_joints(Drive *d, Layer *layer, const Modes *modes, int try) {
    d->turns.rows = d->turns.turned;
    memcpy(layer->coefficient, modes->coefficient,
           (size_t)modes->count * (size_t)d->skin.wide * sizeof(double));
    memset(layer->known, 0, (size_t)modes->count);
    layer_normalise(layer);
    int made = layer_sweep(d->call, layer, 0);
    for (int round = 0; round < JOINT_ROUNDS && made; round++) {
        made = map_fit_joints(d->call, layer, &d->turns, modes->joint, TRIED_RIDGES[try], d->map);
        if (made) {
            drive_layer(d, layer);
            made = layer_sweep(d->call, layer, 0);
        }
    }
    return made;
}

/* ---- what the forms are worth */

static void leave_out(const Drive *d, int fold) {
    const int frames = d->skin.frames, most = FOLDS * FOLD_BLOCKS, blocks = frames < most ? frames : most;
    for (int f = 0; f < frames; f++) {
        d->blind[f] = (int64_t)f * blocks / frames % FOLDS == fold;
    }
}

static int judge_whole(Drive *d, int step) {
    Modes modes;
    Layer layer;
    if (!start_layer(d, OSSIFY_DRIVEN_WHOLE, d->blind, step, &modes, &layer) || !key_layer(d, &layer)) {
        return 0;
    }
    const double keyed = layer_fit_coefficients(d->call, &layer, d->driven, 1);
    memset(d->driven, 0, (size_t)layer.fields * (size_t)d->skin.wide * sizeof(double));
    d->bare += layer_error(&layer, d->driven, 1);
    d->keyed += keyed;
    int made = keyed >= 0;
    for (int i = 0; i < tries_of(d, OSSIFY_DRIVEN_WHOLE) && made; i++) {
        made = train_whole(d, &layer, i);
        d->judged[OSSIFY_DRIVEN_WHOLE][i] += made ? layer_error(&layer, d->driven, 1) : 0;
    }
    return made;
}

static int judge_joints(Drive *d, int step) {
    Modes modes;
    Layer layer;
    int made = start_layer(d, OSSIFY_DRIVEN_JOINTS, d->blind, step, &modes, &layer);
    for (int i = 0; i < tries_of(d, OSSIFY_DRIVEN_JOINTS) && made; i++) {
        made = train_joints(d, &layer, &modes, i);
        d->judged[OSSIFY_DRIVEN_JOINTS][i] += made ? layer_error(&layer, d->driven, 1) : 0;
    }
    return made;
}

static int judge_forms(Drive *d) {
    const int step = (d->skin.blocks + DRIVE_SAMPLE - 1) / DRIVE_SAMPLE;
    int made = 1;
    for (int fold = 0; fold < FOLDS && made && d->skin.frames > 1; fold++) {
        ArenaPiece *mark = arena_mark(&d->call->arena);
        leave_out(d, fold);
        if (memchr(d->blind, 1, (size_t)d->skin.frames) != NULL) {
            made = judge_whole(d, step) && judge_joints(d, step);
        }
        arena_return(&d->call->arena, mark);
        made = made && !call_poll(d->call, 0.1 + 0.6 * (fold + 1) / FOLDS);
    }
    return made;
}

/* ---- the answer */

/* The first whose error is nearly the least, turns alone and the strongest ridge before others: what frames of the same
 * motion do not decide, others may need. */
static int best_try(const Drive *d, int form) {
    double least = d->bare;
    if (d->skin.frames < 2) {
        return UNTRIED;
    }
    for (int i = 0; i < tries_of(d, form); i++) {
        least = fmin(least, d->judged[form][i]);
    }
    for (int i = 0; i < tries_of(d, form); i++) {
        if (d->judged[form][i] <= NEARLY_LEAST * least) {
            return i;
        }
    }
    return 0;
}

static double best_error(const Drive *d, int form) {
    return d->judged[form][best_try(d, form)];
}

static int chosen_form(const Drive *d) {
    if (d->wish->form != OSSIFY_DRIVEN_FOUND) {
        return (int)d->wish->form;
    }
    return best_error(d, OSSIFY_DRIVEN_JOINTS) < best_error(d, OSSIFY_DRIVEN_WHOLE) ? OSSIFY_DRIVEN_JOINTS
                                                                                    : OSSIFY_DRIVEN_WHOLE;
}

/* Largest coefficients of 1, by the map. */
static void scale_map(const Drive *d, const Layer *layer, int n) {
    const size_t wide = (size_t)d->skin.wide, rows = (size_t)d->turns.rows;
    const double *c = layer->coefficient + (size_t)n * wide;
    double most = 0;
    for (size_t f = 0; f < (size_t)d->skin.frames; f++) {
        most = fabs(c[f]) > fabs(most) ? c[f] : most;
    }
    for (size_t row = 0; row < rows && most != 0; row++) {
        d->map[(size_t)n * rows + row] /= most;
    }
}

static void write_map(const Drive *d, const double *map, size_t n, ossify_driven *driven) {
    const size_t turned = (size_t)d->turns.turned, shifted = SHIFT_NUMBERS * (size_t)d->skin.bones;
    if (driven->map) {
        memcpy(driven->map + n * turned, map, turned * sizeof(double));
    }
    for (size_t i = 0; i < shifted && driven->shifts; i++) {
        driven->shifts[n * shifted + i] =
            d->turns.rows > d->turns.turned ? map[turned + i] * turns_shift_unit(&d->skin) : 0;
    }
}

static void write_answer(const Drive *d, const Layer *layer, const Modes *modes, int *source, ossify_rig *rig,
                         ossify_driven *driven) {
    const size_t wide = (size_t)d->skin.wide, rows = (size_t)d->turns.rows;
    for (int n = 0; n < layer->fields; n++) {
        scale_map(d, layer, n);
    }
    exchange_write_fields(layer, rig, source);
    for (int64_t n = 0; n < rig->correctives; n++) {
        const double *c = layer->coefficient + (size_t)source[n] * wide;
        for (int64_t f = 0; f < d->skin.frames; f++) {
            rig->coefficients[f * rig->corrective_capacity + n] = c[f];
        }
        if (driven->joints) {
            driven->joints[n] = modes->joint[source[n]];
        }
        write_map(d, d->map + (size_t)source[n] * rows, (size_t)n, driven);
    }
}

/* E_RMS of frames that were left out, on the sample; -1 when none were. */
static double judged_erms(const Drive *d, double squared) {
    const int step = (d->skin.blocks + DRIVE_SAMPLE - 1) / DRIVE_SAMPLE;
    int64_t vertices = 0;
    for (int block = 0; block < d->skin.blocks; block += step) {
        const int left = d->skin.vertices - block * SKIN_BLOCK;
        vertices += left < SKIN_BLOCK ? left : SKIN_BLOCK;
    }
    return d->skin.frames > 1 ? skin_erms(&d->skin, squared * d->skin.vertices / (double)vertices) : -1;
}

static int answer(Drive *d, ossify_rig *rig, ossify_driven *driven) {
    const int form = chosen_form(d);
    const int best = best_try(d, form);
    Modes modes;
    Layer layer;
    int *source = arena_take(&d->call->arena, OSSIFY_MAX_CORRECTIVES, sizeof(int));
    if (!source || !start_layer(d, form, NULL, 1, &modes, &layer)) {
        return 0;
    }
    const int made = form == OSSIFY_DRIVEN_JOINTS ? train_joints(d, &layer, &modes, best)
                                                  : key_layer(d, &layer) && train_whole(d, &layer, best);
    if (!made || call_poll(d->call, 0.95)) {
        return 0;
    }
    write_answer(d, &layer, &modes, source, rig, driven);
    driven->form = form;
    driven->bare_erms = judged_erms(d, d->bare);
    driven->keyed_erms = judged_erms(d, d->keyed);
    driven->whole_erms = judged_erms(d, best_error(d, OSSIFY_DRIVEN_WHOLE));
    driven->joints_erms = judged_erms(d, best_error(d, OSSIFY_DRIVEN_JOINTS));
    return 1;
}

static int prepare(Drive *d, const ossify_poses *poses, const ossify_rig *rig) {
    Arena *arena = &d->call->arena;
    const size_t most =
        (size_t)(d->wish->count > d->wish->joint_count ? d->wish->count : d->wish->joint_count);
    if (!skin_make(d->call, poses, rig, &d->skin) ||
        !turns_make(d->call, &d->skin, d->wish->parents, d->wish->pivots, &d->turns) ||
        !support_make(d->call, &d->skin, d->wish->parents, &d->support)) {
        return 0;
    }
    d->numbers = d->turns.rows;
    d->blind = arena_take(arena, (size_t)d->skin.frames, 1);
    d->driven = arena_take(arena, (most + 1) * (size_t)d->skin.wide, sizeof(double));
    d->wanted = arena_take(arena, (most + 1) * (size_t)d->skin.wide, sizeof(double));
    d->map = arena_take(arena, (most + 1) * (size_t)d->numbers, sizeof(double));
    return !arena->failed && !call_poll(d->call, 0.1);
}

int64_t drive(Call *call, const ossify_poses *poses, ossify_rig *rig, const ossify_driving *driving,
              ossify_driven *driven) {
    Drive d = {.call = call, .wish = driving};
    call_stage(call, OSSIFY_STAGE_CORRECT);
    if (!prepare(&d, poses, rig) || !judge_forms(&d) || !answer(&d, rig, driven)) {
        return call_ended(call);
    }
    return OSSIFY_CONVERGED;
}
