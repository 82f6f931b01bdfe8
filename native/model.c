/* model.c - makes, copies and changes models: the bookkeeping of bones that come and go. */
#include <string.h>

#include "rooms.h"

int model_make(Call *call, const Problem *problem, int capacity, int influences, Model *model) {
    const size_t n = (size_t)problem->vertices, b = (size_t)capacity, k = (size_t)influences;
    Arena *arena = &call->arena;
    model->capacity = capacity;
    model->influences = influences;
    model->transform = arena_take(arena, 3 * (size_t)problem->frames * b * 4, sizeof(double));
    model->bone = arena_take(arena, n * k, sizeof(int));
    model->weight = arena_take(arena, n * k, sizeof(double));
    model->rest = arena_take(arena, 3 * n, sizeof(double));
    model->error = arena_take(arena, n, sizeof(double));
    model->held = arena_take(arena, (size_t)problem->frames * b, 1);
    model->held_group = arena_take(arena, b, 1);
    if (arena->failed) {
        return 0;
    }
    model_clear(problem, model);
    return 1;
}

void model_clear(const Problem *problem, Model *model) {
    const size_t n = (size_t)problem->vertices, b = (size_t)model->capacity, k = (size_t)model->influences;
    model->bones = 0;
    memset(model->transform, 0, 3 * (size_t)problem->frames * b * 4 * sizeof(double));
    memset(model->bone, -1, n * k * sizeof(int));
    memset(model->weight, 0, n * k * sizeof(double));
    memcpy(model->rest, problem->rest, 3 * n * sizeof(double));
    memset(model->error, 0, n * sizeof(double));
    memset(model->held, 0, (size_t)problem->frames * b);
    memset(model->held_group, 0, b);
}

void model_copy_vertices(const Problem *problem, const Model *from, Model *to) {
    const size_t n = (size_t)problem->vertices, k = (size_t)from->influences;
    memcpy(to->bone, from->bone, n * k * sizeof(int));
    memcpy(to->weight, from->weight, n * k * sizeof(double));
    memcpy(to->rest, from->rest, 3 * n * sizeof(double));
    memcpy(to->error, from->error, n * sizeof(double));
}

void model_copy(const Problem *problem, const Model *from, Model *to) {
    to->bones = from->bones;
    memcpy(to->transform, from->transform,
           3 * (size_t)problem->frames * (size_t)from->capacity * 4 * sizeof(double));
    memcpy(to->held, from->held, (size_t)problem->frames * (size_t)from->capacity);
    memcpy(to->held_group, from->held_group, (size_t)from->capacity);
    model_copy_vertices(problem, from, to);
}

/* The last bone takes the place of the one that goes. */
static void move_bone(const Problem *problem, Model *model, int from, int to) {
    for (size_t row = 0; row < 3 * (size_t)problem->frames; row++) {
        double *m = model->transform + row * (size_t)model->capacity * 4;
        memcpy(m + 4 * to, m + 4 * from, 4 * sizeof *m);
    }
    for (size_t f = 0; f < (size_t)problem->frames; f++) {
        uint8_t *held = model->held + f * (size_t)model->capacity;
        held[to] = held[from];
    }
    model->held_group[to] = model->held_group[from];
}

static void forget_bone(Model *model, size_t at, int gone, int last) {
    int used = 0;
    double sum = 0;
    for (int k = 0; k < model->influences; k++) {
        const int b = model->bone[at + (size_t)k];
        const double w = model->weight[at + (size_t)k];
        if (b >= 0 && b != gone) {
            model->bone[at + (size_t)used] = b == last ? gone : b;
            model->weight[at + (size_t)used] = w;
            sum += w;
            used++;
        }
    }
    for (int k = 0; k < model->influences; k++) {
        model->bone[at + (size_t)k] = k < used ? model->bone[at + (size_t)k] : -1;
        model->weight[at + (size_t)k] = k < used && sum > 0 ? model->weight[at + (size_t)k] / sum : 0;
    }
}

void model_remove_bone(const Problem *problem, Model *model, int gone) {
    const int last = model->bones - 1;
    for (int v = 0; v < problem->vertices; v++) {
        forget_bone(model, (size_t)v * (size_t)model->influences, gone, last);
    }
    if (gone != last) {
        move_bone(problem, model, last, gone);
    }
    model->bones = last;
}

double model_bone_mass(const Problem *problem, const Model *model, int b) {
    const size_t k = (size_t)model->influences, all = (size_t)problem->vertices * k;
    double sum = 0;
    for (size_t i = 0; i < all; i++) {
        sum += model->bone[i] == b ? problem->mass[i / k] * model->weight[i] : 0;
    }
    return sum;
}

int model_follows(const Model *model, int v, int b) {
    const size_t at = (size_t)v * (size_t)model->influences;
    for (int k = 0; k < model->influences; k++) {
        if (model->bone[at + (size_t)k] == b && model->weight[at + (size_t)k] > 0) {
            return 1;
        }
    }
    return 0;
}

int model_bone_is_held(const Problem *problem, const Model *model, int b) {
    int held = model->held_group[b];
    for (size_t f = 0; f < (size_t)problem->frames && !held; f++) {
        held = model->held[f * (size_t)model->capacity + (size_t)b];
    }
    return held;
}

int model_bone_is_idle(const Problem *problem, const Model *model, int b) {
    const size_t all = (size_t)problem->vertices * (size_t)model->influences;
    for (size_t i = 0; i < all; i++) {
        if (model->bone[i] == b && model->weight[i] > 0) {
            return 0;
        }
    }
    return !model_bone_is_held(problem, model, b);
}

double model_squared_error(const Problem *problem, const Model *model) {
    double sum = 0;
    for (int v = 0; v < problem->vertices; v++) {
        sum += problem->mass[v] * model->error[v];
    }
    return sum;
}
