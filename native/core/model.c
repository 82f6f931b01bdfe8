/* model.c - makes, copies and changes models: the bookkeeping of bones that come and go. */
#include "core/model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { INFLUENCES_A_POLL = 1 << 16 }; /* influences */

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
    model->stays = arena_take(arena, b, 1);
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
    memset(model->stays, 0, b);
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
    memcpy(to->stays, from->stays, (size_t)from->capacity);
    model_copy_vertices(problem, from, to);
}

/* The last bone takes the place of the one that goes, and leaves nothing held behind. */
static void move_bone(const Problem *problem, Model *model, int from, int to) {
    for (size_t row = 0; row < 3 * (size_t)problem->frames; row++) {
        double *m = model->transform + row * (size_t)model->capacity * 4;
        memcpy(m + 4 * to, m + 4 * from, 4 * sizeof *m);
    }
    for (size_t f = 0; f < (size_t)problem->frames; f++) {
        uint8_t *held = model->held + f * (size_t)model->capacity;
        held[to] = held[from];
        held[from] = 0;
    }
    model->held_group[to] = model->held_group[from];
    model->stays[to] = model->stays[from];
    model->held_group[from] = model->stays[from] = 0;
}

/* Takes the bone out of a vertex's list; returns its weight. */
static double drop_bone(Model *model, size_t at, int gone) {
    int used = 0;
    double lost = 0;
    for (int k = 0; k < model->influences; k++) {
        const int b = model->bone[at + (size_t)k];
        const double w = model->weight[at + (size_t)k];
        lost += b == gone ? w : 0;
        if (b >= 0 && b != gone) {
            model->bone[at + (size_t)used] = b;
            model->weight[at + (size_t)used++] = w;
        }
    }
    for (; used < model->influences; used++) {
        model->bone[at + (size_t)used] = -1;
        model->weight[at + (size_t)used] = 0;
    }
    return lost;
}

/* The bones of a vertex whose groups are not held share what the others leave. */
static void fill_up(Model *model, size_t at) {
    double left = 1, sum = 0;
    for (int k = 0; k < model->influences && model->bone[at + (size_t)k] >= 0; k++) {
        const double w = model->weight[at + (size_t)k];
        left -= model->held_group[model->bone[at + (size_t)k]] ? w : 0;
        sum += model->held_group[model->bone[at + (size_t)k]] ? 0 : w;
    }
    for (int k = 0; k < model->influences && model->bone[at + (size_t)k] >= 0; k++) {
        if (!model->held_group[model->bone[at + (size_t)k]]) {
            model->weight[at + (size_t)k] *= sum > 0 ? fmax(0, left) / sum : 0;
        }
    }
}

void model_remove_bone(const Problem *problem, Model *model, int gone) {
    const int last = model->bones - 1;
    const size_t k = (size_t)model->influences, all = (size_t)problem->vertices * k;
    assert(!model->stays[gone]);
    for (size_t at = 0; at < all; at += k) {
        if (drop_bone(model, at, gone) > 0) {
            fill_up(model, at);
        }
    }
    for (size_t i = 0; i < all; i++) {
        model->bone[i] = model->bone[i] == last ? gone : model->bone[i];
    }
    if (gone != last) {
        move_bone(problem, model, last, gone);
    }
    model->bones = last;
}

/* like [a][b] = sum_v mass w_a w_b: by how much bone a of one model moves what bone b of the other does; 0 when the
 * call must end */
static int add_likeness(Call *call, const Problem *problem, const Model *from, const Model *to,
                        double *like) {
    const size_t k = (size_t)from->influences;
    for (size_t i = 0; i < (size_t)problem->vertices * k; i++) {
        if (i % INFLUENCES_A_POLL == 0 && call_poll(call, -1)) {
            return 0;
        }
        for (size_t j = i / k * k; j < (i / k + 1) * k; j++) {
            if (from->bone[i] >= 0 && to->bone[j] >= 0) {
                like[(size_t)from->bone[i] * (size_t)from->bones + (size_t)to->bone[j]] +=
                    problem->mass[i / k] * from->weight[i] * to->weight[j];
            }
        }
    }
    return 1;
}

/* number [b] for each bone b of the second model: the pair most alike first, each bone once; 0 when the call must
 * end */
static int pair_bones(Call *call, int bones, double *like, int *number) {
    const size_t n = (size_t)bones;
    for (int pair = 0; pair < bones; pair++) {
        size_t best = n * n;
        if (call_poll(call, -1)) {
            return 0;
        }
        for (size_t i = 0; i < n * n; i++) {
            if (like[i] >= 0 && (best == n * n || like[i] > like[best])) {
                best = i;
            }
        }
        number[best % n] = (int)(best / n);
        for (size_t i = 0; i < n; i++) {
            like[best / n * n + i] = like[i * n + best % n] = -1;
        }
    }
    return 1;
}

int model_number_alike(Call *call, const Problem *problem, const Model *from, Model *to) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const size_t n = (size_t)to->bones, row = 4 * (size_t)to->capacity;
    double *like = arena_take(&call->arena, n * n, sizeof *like);
    double *moved = arena_take(&call->arena, 4 * n, sizeof *moved);
    int *number = arena_take(&call->arena, n, sizeof *number);
    const int paired = !call->arena.failed && add_likeness(call, problem, from, to, like) &&
                       pair_bones(call, to->bones, like, number);
    if (paired) {
        for (size_t i = 0; i < (size_t)problem->vertices * (size_t)to->influences; i++) {
            to->bone[i] = to->bone[i] >= 0 ? number[to->bone[i]] : -1;
        }
        for (double *m = to->transform; m < to->transform + 3 * (size_t)problem->frames * row; m += row) {
            memcpy(moved, m, 4 * n * sizeof *m);
            for (size_t b = 0; b < n; b++) {
                memcpy(m + 4 * number[b], moved + 4 * b, 4 * sizeof *m);
            }
        }
    }
    arena_return(&call->arena, mark);
    return paired;
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

void model_find_staying(const Problem *problem, Model *model) {
    const size_t k = (size_t)model->influences, all = (size_t)problem->vertices * k;
    memcpy(model->stays, model->held_group, (size_t)model->bones);
    for (size_t i = 0; i < (size_t)problem->frames * (size_t)model->capacity; i++) {
        model->stays[i % (size_t)model->capacity] |= model->held[i];
    }
    for (size_t i = 0; i < all && problem->held; i++) {
        if (problem->held[i / k] && model->bone[i] >= 0 && model->weight[i] > 0) {
            model->stays[model->bone[i]] = 1;
        }
    }
}

int model_bone_is_idle(const Problem *problem, const Model *model, int b) {
    const size_t all = (size_t)problem->vertices * (size_t)model->influences;
    for (size_t i = 0; i < all; i++) {
        if (model->bone[i] == b && model->weight[i] > 0) {
            return 0;
        }
    }
    return !model->stays[b];
}

double model_squared_error(const Problem *problem, const Model *model) {
    double sum = 0;
    for (int v = 0; v < problem->vertices; v++) {
        sum += problem->mass[v] * model->error[v];
    }
    return sum;
}
