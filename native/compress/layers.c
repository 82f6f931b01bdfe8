/* layers.c - the two layers as they are solved: W ~ D A, D [bones][count] with few masters a column, A [count][v] with
 * few virtual bones a column (Le & Deng 2013, Fig. 3). */
#include "compress/layers.h"

#include <math.h>
#include <string.h>

int layers_make(Arena *arena, int vertices, int capacity, int masters, int influences, int affine,
                Layers *layers) {
    const size_t m = (size_t)capacity, c = (size_t)masters, n = (size_t)vertices, k = (size_t)influences;
    *layers = (Layers){.masters = masters,
                       .influences = influences,
                       .affine = affine,
                       .capacity = capacity,
                       .vertices = vertices};
    layers->used = arena_take(arena, m, sizeof(int));
    layers->master = arena_take(arena, m * c, sizeof(int));
    layers->share = arena_take(arena, m * c, sizeof(double));
    layers->atom = arena_take(arena, n * k, sizeof(int));
    layers->alpha = arena_take(arena, n * k, sizeof(double));
    layers->error = arena_take(arena, n, sizeof(double));
    return !arena->failed;
}

void layers_copy(const Layers *from, Layers *to) {
    const size_t m = (size_t)from->count, c = (size_t)from->masters, n = (size_t)from->vertices,
                 k = (size_t)from->influences;
    to->count = from->count;
    memcpy(to->used, from->used, m * sizeof(int));
    memcpy(to->master, from->master, m * c * sizeof(int));
    memcpy(to->share, from->share, m * c * sizeof(double));
    memcpy(to->atom, from->atom, n * k * sizeof(int));
    memcpy(to->alpha, from->alpha, n * k * sizeof(double));
    memcpy(to->error, from->error, n * sizeof(double));
}

int layers_add(const Layers *layers, int at, const double *dense, int bones) {
    const size_t c = (size_t)layers->masters;
    int *master = layers->master + (size_t)at * c;
    double *share = layers->share + (size_t)at * c, sum = 0;
    int used = 0;
    for (int b = 0; b < bones; b++) {
        if (dense[b] == 0 || (used == layers->masters && fabs(dense[b]) <= fabs(share[used - 1]))) {
            continue;
        }
        int to = used < layers->masters ? used++ : used - 1;
        for (; to > 0 && fabs(share[to - 1]) < fabs(dense[b]); to--) {
            share[to] = share[to - 1];
            master[to] = master[to - 1];
        }
        share[to] = dense[b];
        master[to] = b;
    }
    for (int i = 0; i < used; i++) {
        sum += share[i];
    }
    for (int i = 0; i < used; i++) {
        share[i] /= sum;
    }
    layers->used[at] = used;
    return at;
}

int layers_number_followed(const Layers *layers, int *number) {
    int followed = 0;
    memset(number, 0, (size_t)layers->count * sizeof *number);
    for (size_t i = 0; i < (size_t)layers->vertices * (size_t)layers->influences; i++) {
        if (layers->atom[i] >= 0) {
            number[layers->atom[i]] = 1;
        }
    }
    for (int a = 0; a < layers->count; a++) {
        number[a] = number[a] ? followed++ : -1;
    }
    return followed;
}

int layers_close_ranks(Layers *layers, int *number) {
    const int before = layers->count, followed = layers_number_followed(layers, number);
    const size_t c = (size_t)layers->masters;
    for (int a = 0; a < before && followed < before; a++) {
        if (number[a] >= 0) {
            const size_t from = (size_t)a * c, to = (size_t)number[a] * c;
            layers->used[number[a]] = layers->used[a];
            memmove(layers->master + to, layers->master + from, c * sizeof(int));
            memmove(layers->share + to, layers->share + from, c * sizeof(double));
        }
    }
    for (size_t i = 0; i < (size_t)layers->vertices * (size_t)layers->influences; i++) {
        layers->atom[i] = layers->atom[i] < 0 ? -1 : number[layers->atom[i]];
    }
    layers->count = followed;
    return before - followed;
}

void layers_blend(const Layers *layers, int v, int bones, double *w) {
    const size_t k = (size_t)layers->influences, c = (size_t)layers->masters;
    memset(w, 0, (size_t)bones * sizeof *w);
    for (size_t i = (size_t)v * k; i < ((size_t)v + 1) * k && layers->atom[i] >= 0; i++) {
        const size_t a = (size_t)layers->atom[i];
        for (size_t j = 0; j < (size_t)layers->used[a]; j++) {
            w[layers->master[a * c + j]] += layers->alpha[i] * layers->share[a * c + j];
        }
    }
}

double layers_squared(const Layers *layers) {
    double sum = 0;
    for (int v = 0; v < layers->vertices; v++) {
        sum += layers->error[v];
    }
    return sum;
}

double layers_delta(const Layers *layers, const Target *target) {
    double sum = 0;
    for (int v = 0; v < layers->vertices; v++) {
        sum += layers->error[v] - target->least[v];
    }
    return 1000 * sqrt(fmax(sum, 0) * target->scale);
}
