/* levels.c - a small problem that stands for a large one, and the way back.
 *
 * Bones are few numbers that many vertices agree on, so they are found on a sample of the vertices
 * and of the frames and carried to the whole: with the sample's weights given, the transforms of
 * all other frames follow from moments (transforms.c), starting at the most similar chosen frame;
 * then every vertex starts with the weights of its cell and is solved by the first pass. */
#include <string.h>

#include "explore.h"

enum { CARRY_SWEEPS = 20 };

static const double WORTHWHILE = 1.5; /* times the sample: smaller problems are taken whole */

int levels_make(Call *call, const Problem *whole, const Effort *effort, Levels *levels) {
    levels->cell = arena_take(&call->arena, (size_t)whole->vertices, sizeof(int));
    levels->nearest = arena_take(&call->arena, (size_t)whole->frames, sizeof(int));
    int *chosen = arena_take(&call->arena, (size_t)whole->frames, sizeof(int));
    if (call->arena.failed) {
        return 0;
    }
    levels->sample = *whole;
    if (whole->vertices > WORTHWHILE * effort->sample_vertices &&
        !problem_thin_vertices(call, whole, effort->sample_vertices, &levels->sample, levels->cell)) {
        return 0;
    }
    levels->few = levels->sample;
    return whole->frames <= WORTHWHILE * effort->sample_frames ||
           problem_thin_frames(call, &levels->sample, effort->sample_frames, &levels->few, chosen,
                               levels->nearest);
}

static void copy_frame(const Model *from, int f, const Model *to, int g) {
    const size_t size = 12 * (size_t)from->capacity;
    memcpy(to->transform + (size_t)g * size, from->transform + (size_t)f * size, size * sizeof(double));
}

static int carry_frames(Call *call, const Levels *levels, const Model *few, Model *model) {
    const Problem *sample = &levels->sample;
    const int all = levels->few.frames == sample->frames;
    for (int f = 0; f < sample->frames; f++) {
        copy_frame(few, all ? f : levels->nearest[f], model, f);
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

/* A vertex starts with its cell's weights, error and displacement of the rest pose. */
static void carry_vertices(const Problem *whole, const Levels *levels, const Model *sample, Model *model) {
    const size_t k = (size_t)model->influences;
    for (size_t v = 0; v < (size_t)whole->vertices; v++) {
        const size_t c = (size_t)levels->cell[v];
        memcpy(model->bone + v * k, sample->bone + c * k, k * sizeof(int));
        memcpy(model->weight + v * k, sample->weight + c * k, k * sizeof(double));
        model->error[v] = sample->error[c];
        for (size_t a = 0; a < 3; a++) {
            const double moved = sample->rest[3 * c + a] - levels->sample.rest[3 * c + a];
            model->rest[3 * v + a] = whole->rest[3 * v + a] + moved;
        }
    }
}

int levels_carry(Call *call, const Problem *whole, const Levels *levels, Model *few, Model *model) {
    Model sample;
    if (!model_make(call, &levels->sample, few->capacity, few->influences, &sample)) {
        return 0;
    }
    sample.bones = model->bones = few->bones;
    model_copy_vertices(&levels->sample, few, &sample);
    if (!carry_frames(call, levels, few, &sample)) {
        return 0;
    }
    if (levels->sample.vertices == whole->vertices) {
        model_copy(whole, &sample, model);
        return 1;
    }
    memcpy(model->transform, sample.transform,
           12 * (size_t)whole->frames * (size_t)few->capacity * sizeof(double));
    carry_vertices(whole, levels, &sample, model);
    return 1;
}
