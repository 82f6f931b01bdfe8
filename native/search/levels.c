/* levels.c - a small problem that stands for a large one, and the way back.
 *
 * Bones are few numbers that many vertices agree on, so they are found on a sample of the vertices
 * and of the frames and carried to the whole: with the sample's weights given, the transforms of
 * all other frames follow from moments (transforms.c), starting at the most similar chosen frame;
 * then every vertex starts with the weights of its cell and is solved by the first pass. */
#include "search/levels.h"

#include <string.h>

#include "core/fairness.h"
#include "descent/pass.h"
#include "descent/transforms.h"

enum { CARRY_SWEEPS = 20 };

static const double WORTHWHILE = 1.5; /* times the sample: smaller problems are taken whole */

int levels_make(Call *call, const Problem *whole, const Effort *effort, Levels *levels) {
    levels->cell = arena_take(&call->arena, (size_t)whole->vertices, sizeof(int));
    levels->nearest = arena_take(&call->arena, (size_t)whole->frames, sizeof(int));
    levels->chosen = arena_take(&call->arena, (size_t)whole->frames, sizeof(int));
    if (call->arena.failed) {
        return 0;
    }
    levels->sample = *whole;
    if (whole->vertices > WORTHWHILE * effort->sample_vertices &&
        !(problem_thin_vertices(call, whole, effort->sample_vertices, &levels->sample, levels->cell) &&
          fairness_make(call, &levels->sample))) {
        return 0;
    }
    levels->few = levels->sample;
    return whole->frames <= WORTHWHILE * effort->sample_frames ||
           (problem_thin_frames(call, &levels->sample, effort->sample_frames, &levels->few, levels->chosen,
                                levels->nearest) &&
            fairness_make(call, &levels->few));
}

static void copy_frame(const Model *from, int f, const Model *to, int g) {
    const size_t size = 12 * (size_t)from->capacity;
    memcpy(to->transform + (size_t)g * size, from->transform + (size_t)f * size, size * sizeof(double));
}

static int has_all_frames(const Levels *levels) {
    return levels->few.frames == levels->sample.frames;
}

/* Held transforms of frame f of `from` to frame g. */
static void copy_held(const Model *from, int f, const Model *to, int g) {
    const size_t b = (size_t)from->capacity;
    memcpy(to->held + (size_t)g * b, from->held + (size_t)f * b, b);
    for (size_t i = 0; i < 3 * b; i++) {
        if (from->held[(size_t)f * b + i % b]) {
            memcpy(to->transform + 4 * ((3 * (size_t)g + i / b) * b + i % b),
                   from->transform + 4 * ((3 * (size_t)f + i / b) * b + i % b), 4 * sizeof(double));
        }
    }
}

void levels_lower(const Problem *whole, const Levels *levels, const Model *model, Model *few) {
    const size_t k = (size_t)model->influences;
    const int thinned = levels->sample.vertices != whole->vertices;
    few->bones = model->bones;
    memcpy(few->held_group, model->held_group, (size_t)model->capacity);
    memcpy(few->stays, model->stays, (size_t)model->capacity);
    for (int f = 0; f < levels->few.frames; f++) {
        const int from = has_all_frames(levels) ? f : levels->chosen[f];
        copy_frame(model, from, few, f);
        copy_held(model, from, few, f);
    }
    for (size_t v = 0; v < (size_t)levels->few.vertices; v++) {
        const size_t from = thinned ? (size_t)levels->sample.caller[v] : v;
        memcpy(few->bone + v * k, model->bone + from * k, k * sizeof(int));
        memcpy(few->weight + v * k, model->weight + from * k, k * sizeof(double));
        memcpy(few->rest + 3 * v, model->rest + 3 * from, 3 * sizeof(double));
        few->error[v] = model->error[from];
    }
}

/* given: what may be held, or NULL */
static int carry_frames(Call *call, const Levels *levels, const Model *few, const Model *given,
                        Model *model) {
    const Problem *sample = &levels->sample;
    const int all = has_all_frames(levels);
    for (int f = 0; f < sample->frames; f++) {
        copy_frame(few, all ? f : levels->nearest[f], model, f);
        if (given) {
            copy_held(given, f, model, f);
        }
    }
    if (all) {
        return 1;
    }
    Moments moments;
    const PassPlan keep_all = {0};
    if (!pass_make(call, sample, model, &moments)) {
        return 0;
    }
    pass_run(call, sample, model, &moments, &keep_all);
    return !call->arena.failed && !atomic_load(&call->cancelled) &&
           transforms_update(call, sample, model, &moments, call->settings->bone_kind == OSSIFY_FLEXIBLE,
                             CARRY_SWEEPS);
}

/* The vertex's held groups stay; its cell's other weights share what they leave. */
static void carry_weights(const Model *sample, size_t c, Model *model, size_t v) {
    const size_t k = (size_t)model->influences;
    int *bone = model->bone + v * k;
    double *weight = model->weight + v * k, left = 1, sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < k && bone[i] >= 0; i++) {
        if (model->held_group[bone[i]]) {
            bone[used] = bone[i];
            weight[used] = weight[i];
            left -= weight[used++];
        }
    }
    const size_t first = used;
    for (size_t i = c * k; i < (c + 1) * k && used < k && sample->bone[i] >= 0; i++) {
        if (!model->held_group[sample->bone[i]] && left > 0) {
            bone[used] = sample->bone[i];
            weight[used] = sample->weight[i];
            sum += weight[used++];
        }
    }
    for (size_t i = first; i < k; i++) {
        bone[i] = i < used ? bone[i] : -1;
        weight[i] = i < used && sum > 0 ? weight[i] * left / sum : 0;
    }
}

/* A vertex starts with its cell's weights, error and displacement of the rest pose. */
static void carry_vertices(const Problem *whole, const Levels *levels, const Model *sample, int given,
                           Model *model) {
    for (size_t v = 0; v < (size_t)whole->vertices; v++) {
        const size_t c = (size_t)levels->cell[v];
        if (!(whole->held && whole->held[v])) {
            carry_weights(sample, c, model, v);
        }
        model->error[v] = sample->error[c];
        for (size_t a = 0; a < 3 && !given; a++) {
            const double moved = sample->rest[3 * c + a] - levels->sample.rest[3 * c + a];
            model->rest[3 * v + a] = whole->rest[3 * v + a] + moved;
        }
    }
}

int levels_carry(Call *call, const Problem *whole, const Levels *levels, Model *few, int given,
                 Model *model) {
    Model sample;
    if (!model_make(call, &levels->sample, few->capacity, few->influences, &sample)) {
        return 0;
    }
    sample.bones = model->bones = few->bones;
    model_copy_vertices(&levels->sample, few, &sample);
    if (!carry_frames(call, levels, few, given ? model : NULL, &sample)) {
        return 0;
    }
    if (levels->sample.vertices == whole->vertices) {
        memcpy(sample.held_group, few->held_group, (size_t)few->capacity);
        memcpy(sample.stays, few->stays, (size_t)few->capacity);
        model_copy(whole, &sample, model);
        return 1;
    }
    memcpy(model->transform, sample.transform,
           12 * (size_t)whole->frames * (size_t)few->capacity * sizeof(double));
    carry_vertices(whole, levels, &sample, given, model);
    return 1;
}
