/* target.c - the error of a vertex as a form of its weights over all masters, w = D alpha with sum w = 1:
 *
 *     E_v(w) = w'H w - 2 g'w + s,      H = sum_q phi_q(v) gram_q
 *
 * From weights alone (Le & Deng 2013, Eq. 1): H = I, g = the given weights, s = |g|^2, one term that is 1.
 * From poses (Eq. 7b, without E*): H[b,c] = sum_f (M_b p~).(M_c p~) = p~'G[b,c]p~ with G[b,c] = sum_f M_b'M_c, so phi
 * are the ten products of p~ and gram the ten numbers of G; g[b] = sum_f (M_b p~).x, s = sum_f |x|^2.
 * Nothing of the size frames x vertices is kept, and sums over vertices of H are sums of phi: the dictionary's update
 * costs no more from poses than from weights.
 *
 * W* of Eq. 7c, the best dense weights, is a convex least squares of all bones a vertex (math/convex_ls.c), and the
 * decomposition's dense weights are nothing else. */
#include "compress/target.h"

#include <math.h>
#include <string.h>

#include "compress/near.h"
#include "math/convex_ls.h"
#include "math/product.h"

enum { WEIGHT_CHUNK = 64 };

void target_terms(const Target *target, int v, double *term) {
    if (target->terms == 1) {
        term[0] = 1;
        return;
    }
    const double x = target->rest[3 * (size_t)v], y = target->rest[3 * (size_t)v + 1],
                 z = target->rest[3 * (size_t)v + 2];
    const double all[POSE_TERMS] = {x * x, y * y, z * z, x * y, x * z, y * z, x, y, z, 1};
    memcpy(term, all, sizeof all);
}

void target_form(const Target *target, const double *term, double *h) {
    const size_t k = (size_t)target->bones, size = k * k;
    if (target->terms == 1) {
        memset(h, 0, size * sizeof *h);
        for (size_t b = 0; b < k; b++) {
            h[b * k + b] = term[0];
        }
        return;
    }
    const double *restrict g = target->gram;
    for (size_t i = 0; i < size; i++) {
        double sum = 0;
        for (size_t q = 0; q < POSE_TERMS; q++) {
            sum += term[q] * g[q * size + i];
        }
        h[i] = sum;
    }
}

/* ---- from weights ---- */

static int take(Call *call, const Problem *problem, int bones, Target *target) {
    const size_t n = (size_t)problem->vertices, k = (size_t)bones;
    Arena *arena = &call->arena;
    target->vertices = problem->vertices;
    target->bones = bones;
    target->linear = arena_take(arena, n * k, sizeof(double));
    target->square = arena_take(arena, n, sizeof(double));
    target->least = arena_take(arena, n, sizeof(double));
    return !arena->failed;
}

static void square_up(Target *target) {
    const size_t k = (size_t)target->bones;
    for (size_t v = 0; v < (size_t)target->vertices; v++) {
        target->square[v] = target->least[v] = 0;
        for (size_t b = 0; b < k; b++) {
            target->square[v] += target->linear[v * k + b] * target->linear[v * k + b];
        }
    }
    target->scale = 1.0 / ((double)target->vertices * target->bones); /* 1 / (k n), Eq. 1a */
}

static void read_weights(const Model *model, int vertices, double *dense) {
    const size_t k = (size_t)model->influences, bones = (size_t)model->bones;
    for (size_t v = 0; v < (size_t)vertices; v++) {
        for (size_t i = v * k; i < (v + 1) * k && model->bone[i] >= 0; i++) {
            dense[v * bones + (size_t)model->bone[i]] = model->weight[i];
        }
    }
}

int target_of_weights(Call *call, const Problem *problem, const Model *model, Target *target) {
    *target = (Target){.terms = 1, .rest = model->rest};
    if (!take(call, problem, model->bones, target)) {
        return 0;
    }
    read_weights(model, problem->vertices, target->linear);
    target->dense = target->linear;
    square_up(target);
    return !call_poll(call, -1);
}

int target_of_dense(Call *call, const Target *poses, Target *target) {
    *target = *poses;
    target->terms = 1;
    target->gram = NULL;
    target->linear = target->dense = poses->dense;
    target->square = arena_take(&call->arena, (size_t)poses->vertices, sizeof(double));
    target->least = arena_take(&call->arena, (size_t)poses->vertices, sizeof(double));
    if (call->arena.failed) {
        return 0;
    }
    square_up(target);
    return 1;
}

/* ---- from poses ---- */

/* The ten numbers of p~'G p~ for G[b,c], [4][4] within a matrix of rows `ld` */
static void write_terms(const double *g, size_t ld, size_t size, double *to) {
    const double form[POSE_TERMS] = {g[0],
                                     g[ld + 1],
                                     g[2 * ld + 2],
                                     g[1] + g[ld],
                                     g[2] + g[2 * ld],
                                     g[ld + 2] + g[2 * ld + 1],
                                     g[3] + g[3 * ld],
                                     g[ld + 3] + g[3 * ld + 1],
                                     g[2 * ld + 3] + g[3 * ld + 2],
                                     g[3 * ld + 3]};
    for (size_t q = 0; q < POSE_TERMS; q++) {
        to[q * size] = form[q];
    }
}

/* H is summed from both halves, so that it is symmetric to the bit. */
static int make_gram(Call *call, const Problem *problem, const Model *model, Target *target) {
    const size_t k = (size_t)model->bones, n = 4 * k;
    double *full = arena_take(&call->arena, n * n, sizeof(double));
    if (!full) {
        return 0;
    }
    const size_t ld = 4 * (size_t)model->capacity;
    product_tn((int)n, (int)n, 3 * problem->frames, model->transform, ld, model->transform, ld, full, n);
    for (size_t b = 0; b < k; b++) {
        for (size_t c = 0; c <= b; c++) {
            write_terms(full + 4 * (b * n + c), n, k * k, target->gram + b * k + c);
            for (size_t q = 0; q < POSE_TERMS; q++) {
                target->gram[q * k * k + c * k + b] = target->gram[q * k * k + b * k + c];
            }
        }
    }
    arena_give(&call->arena, full);
    return !call_poll(call, -1);
}

typedef struct Reading {
    Call *call;
    const Problem *problem;
    const Model *model;
    Target *target;
    double **room; /* [workers] */
    ConvexRoom *convex;
} Reading;

/* g of a block: D = X'M, g[v][b] = D[v][b].p~ */
static void read_block(void *user, int block, int worker) {
    const Reading *reading = user;
    const Problem *problem = reading->problem;
    const Model *model = reading->model;
    const size_t rows = 3 * (size_t)problem->frames, k = (size_t)model->bones;
    const int v0 = block * BLOCK, v1 = v0 + BLOCK < problem->vertices ? v0 + BLOCK : problem->vertices;
    const float *from = problem->x + (size_t)block * rows * BLOCK;
    double *d = reading->room[worker];
    if (worker == 0) {
        call_poll(reading->call, -1);
    }
    memset(d, 0, BLOCK * 4 * k * sizeof *d);
    product_floats_tn(BLOCK, (int)(4 * k), (int)rows, from, BLOCK, model->transform,
                      4 * (size_t)model->capacity, d, 4 * k);
    for (int v = v0; v < v1; v++) {
        const double *p = model->rest + 3 * (size_t)v, *row = d + (size_t)(v - v0) * 4 * k;
        for (size_t b = 0; b < k; b++, row += 4) {
            reading->target->linear[(size_t)v * k + b] =
                row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
        }
    }
}

/* w* and E* of some vertices */
static void solve_chunk(void *user, int task, int worker) {
    const Reading *reading = user;
    Target *target = reading->target;
    const size_t k = (size_t)target->bones;
    const int end = (task + 1) * WEIGHT_CHUNK, last = end < target->vertices ? end : target->vertices;
    double *h = reading->room[worker], term[POSE_TERMS];
    if (worker == 0) {
        call_poll(reading->call, -1);
    }
    for (int v = task * WEIGHT_CHUNK; v < last && !atomic_load(&reading->call->cancelled); v++) {
        double trace = 0;
        target_terms(target, v, term);
        target_form(target, term, h);
        for (size_t b = 0; b < k; b++) {
            trace += h[b * k + b];
        }
        const double value = convex_ls(target->bones, h, target->linear + (size_t)v * k,
                                       NEAR_BLEND * trace / (double)k + 1e-300, NULL,
                                       target->dense + (size_t)v * k, &reading->convex[worker]);
        target->least[v] = fmax(value + target->square[v], 0);
    }
}

static int make_rooms(Reading *reading) {
    Arena *arena = &reading->call->arena;
    const size_t workers = (size_t)parallel_workers(reading->call->pool), k = (size_t)reading->model->bones;
    const size_t block = 4 * k * BLOCK;
    reading->room = arena_take(arena, workers, sizeof *reading->room);
    reading->convex = arena_take(arena, workers, sizeof *reading->convex);
    for (size_t w = 0; w < workers && !arena->failed; w++) {
        reading->room[w] = arena_take(arena, block > k * k ? block : k * k, sizeof(double));
        convex_ls_room(arena, (int)k, &reading->convex[w]);
    }
    return !arena->failed;
}

int target_renew(Call *call, const Problem *problem, const Model *model, Target *target) {
    Reading reading = {.call = call, .problem = problem, .model = model, .target = target};
    ArenaPiece *mark = arena_mark(&call->arena);
    const int made = make_rooms(&reading) && make_gram(call, problem, model, target);
    if (made) {
        parallel_run(call->pool, problem->blocks, read_block, &reading);
        parallel_run(call->pool, (problem->vertices + WEIGHT_CHUNK - 1) / WEIGHT_CHUNK, solve_chunk,
                     &reading);
    }
    arena_return(&call->arena, mark);
    return made && !call_poll(call, -1);
}

int target_of_poses(Call *call, const Problem *problem, const Model *model, Target *target) {
    const size_t n = (size_t)problem->vertices, k = (size_t)model->bones;
    *target = (Target){.terms = POSE_TERMS, .rest = model->rest};
    target->gram = arena_take(&call->arena, POSE_TERMS * k * k, sizeof(double));
    target->dense = arena_take(&call->arena, n * k, sizeof(double));
    if (!take(call, problem, model->bones, target) || call->arena.failed) {
        return 0;
    }
    memcpy(target->square, problem->square, n * sizeof *target->square);
    target->scale = 1.0 / (3.0 * (double)n * problem->frames * problem->radius * problem->radius);
    read_weights(model, problem->vertices, target->dense);
    return target_renew(call, problem, model, target);
}
