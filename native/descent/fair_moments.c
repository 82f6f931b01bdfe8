/* fair_moments.c - the moments of bones in the norm r'Sr (fair.c): with P the rows w_b p~ of all vertices,
 *     U = P'SP,   C = X'SP = M U - r'SP,
 * so that the positions X themselves are not needed, and r'Sr on the way. A vertex adds its row of P times its row
 *     (SP)_v = (mass + tie |N(v)|) P_v - tie sum_{j in N(v)} P_j
 * to U, which is not symmetric in a pair of bones, but U[c,b] = U[b,c]'. */
#include "descent/fair_moments.h"

#include <string.h>

#include "descent/fair_rows.h"
#include "math/product.h"

typedef struct Adding {
    const Pass *pass;
    const Fair *fair;
    float **stiff; /* [workers][BLOCK][rows] S r / mass */
    double **rows; /* [workers][bones][4] the row of SP at hand */
    int **touched; /* [workers][bones] bones in it */
} Adding;

/* S r / mass of one vertex; returns its part of r'Sr */
static double stiff_residual(const Adding *adding, int v, float *to) {
    const Problem *problem = adding->pass->problem;
    const Graph *graph = &problem->graph;
    const Fair *fair = adding->fair;
    const double tie = fair->tie / problem->mass[v];
    const double own = 1 + tie * (double)(graph->first[v + 1] - graph->first[v]);
    return problem->mass[v] *
           fair_rows_product(graph, v, fair->rows, fair->residual, (float)own, (float)tie, to);
}

/* Adds factor P_u to the row at hand; returns how many bones are in it. */
static int add_row(const Model *model, int u, double factor, double *row, int *touched, int count) {
    const size_t at = (size_t)u * (size_t)model->influences;
    const double *p = model->rest + 3 * (size_t)u;
    for (int k = 0; k < model->influences && model->bone[at + (size_t)k] >= 0; k++) {
        const int b = model->bone[at + (size_t)k];
        const double w = factor * model->weight[at + (size_t)k];
        double *to = row + 4 * b;
        int known = 0;
        for (int i = 0; i < count && !known; i++) {
            known = touched[i] == b;
        }
        if (!known) {
            touched[count++] = b;
            memset(to, 0, 4 * sizeof *to);
        }
        to[0] += w * p[0], to[1] += w * p[1], to[2] += w * p[2], to[3] += w;
    }
    return count;
}

/* U[b,c] += P_vb' (SP)_vc for c <= b */
static void add_pairs(const Adding *adding, int v, int worker, double *u) {
    const Problem *problem = adding->pass->problem;
    const Model *model = adding->pass->model;
    const Graph *graph = &problem->graph;
    const double tie = adding->fair->tie;
    const size_t at = (size_t)v * (size_t)model->influences;
    const double *p = model->rest + 3 * (size_t)v;
    double *row = adding->rows[worker];
    int *touched = adding->touched[worker];
    const double a = problem->mass[v] + tie * (double)(graph->first[v + 1] - graph->first[v]);
    int count = add_row(model, v, a, row, touched, 0);
    for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
        count = add_row(model, graph->neighbour[e], -tie, row, touched, count);
    }
    for (int k = 0; k < model->influences && model->bone[at + (size_t)k] >= 0; k++) {
        const int b = model->bone[at + (size_t)k];
        const double w = model->weight[at + (size_t)k];
        const double own[4] = {w * p[0], w * p[1], w * p[2], w};
        for (int i = 0; i < count; i++) {
            double *to = u + ((size_t)b * (size_t)model->capacity + (size_t)touched[i]) * PAIR;
            const double *other = row + 4 * touched[i];
            for (size_t j = 0; j < PAIR && touched[i] <= b; j++) {
                to[j] += own[j / 4] * other[j % 4];
            }
        }
    }
}

/* The lane's C += (S r)' P of the block; U likewise; returns r'Sr of its vertices. */
static double add_block(const Adding *adding, int block, int worker, double *c, double *u, double *whole) {
    const Pass *pass = adding->pass;
    const Model *model = pass->model;
    Scratch *s = &pass->scratch[worker];
    const int rows = 3 * pass->problem->frames, v0 = block * BLOCK, left = pass->problem->vertices - v0;
    const int count = left < BLOCK ? left : BLOCK;
    const int n = at_hand_list(pass, s, NULL, v0, count, 1);
    const size_t columns = 4 * (size_t)n;
    double sum = 0;
    memset(s->wp, 0, BLOCK * columns * sizeof *s->wp);
    for (int i = 0; i < count; i++) {
        Support support;
        vertex_load(pass, s, v0 + i, 1, &support);
        vertex_moments(pass, s, v0 + i, &support, s->wp + (size_t)i * columns, u);
        add_pairs(adding, v0 + i, worker, whole);
        sum += stiff_residual(adding, v0 + i, adding->stiff[worker] + (size_t)i * adding->fair->rows);
    }
    memset(s->c, 0, (size_t)rows * columns * sizeof *s->c);
    product_floats_tn(rows, 4 * n, count, adding->stiff[worker], adding->fair->rows, s->wp, columns, s->c,
                      columns);
    for (size_t row = 0; row < (size_t)rows; row++) {
        for (int i = 0; i < n; i++) {
            double *to = c + row * 4 * (size_t)model->capacity + 4 * (size_t)s->at_hand[i];
            for (size_t m = 0; m < 4; m++) {
                to[m] += s->c[row * columns + 4 * (size_t)i + m];
            }
        }
    }
    return sum;
}

/* r'Sr alone */
static double measure_block(const Adding *adding, int block, int worker) {
    const int v0 = block * BLOCK, left = adding->pass->problem->vertices - v0;
    double sum = 0;
    for (int v = v0; v < v0 + (left < BLOCK ? left : BLOCK); v++) {
        sum += stiff_residual(adding, v, adding->stiff[worker]);
    }
    return sum;
}

static void add_lane(void *user, int lane, int worker) {
    const Adding *adding = user;
    const Pass *pass = adding->pass;
    Moments *moments = pass->moments;
    const size_t bones = (size_t)pass->model->capacity, rows = 3 * (size_t)pass->problem->frames;
    double *c = moments->lane_c + (size_t)lane * rows * bones * 4;
    double *u = moments->lane_u + (size_t)lane * bones * bones * MONOMIALS;
    double *whole = adding->fair->lane_whole + (size_t)lane * bones * bones * PAIR;
    const int64_t blocks = pass->problem->blocks;
    const int begin = (int)(blocks * lane / moments->lanes),
              end = (int)(blocks * (lane + 1) / moments->lanes);
    double *sum = moments->lane_sums + (size_t)lane * (bones + 1) + bones;
    if (!pass->plan->only) {
        memset(c, 0, rows * bones * 4 * sizeof *c);
        memset(u, 0, bones * bones * MONOMIALS * sizeof *u);
        memset(whole, 0, bones * bones * PAIR * sizeof *whole);
    }
    *sum = 0;
    for (int block = begin; block < end && !pass->call->cancelled; block++) {
        if (worker == 0) {
            call_poll(pass->call, -1);
        }
        *sum += pass->plan->only ? measure_block(adding, block, worker)
                                 : add_block(adding, block, worker, c, u, whole);
    }
}

static void sum_lanes(size_t count, size_t stride, int lanes, const double *from, double *to) {
    memcpy(to, from, count * sizeof *to);
    for (int lane = 1; lane < lanes; lane++) {
        const double *more = from + (size_t)lane * stride;
        for (size_t i = 0; i < count; i++) {
            to[i] += more[i];
        }
    }
}

/* U[c,b] = U[b,c]', the symmetric forms, too. */
static void mirror(const Model *model, double *u, double *whole) {
    const size_t bones = (size_t)model->capacity;
    for (size_t b = 0; b < (size_t)model->bones; b++) {
        for (size_t c = 0; c < b; c++) {
            const double *from = whole + (b * bones + c) * PAIR;
            double *to = whole + (c * bones + b) * PAIR;
            for (size_t i = 0; i < PAIR; i++) {
                to[i] = from[i % 4 * 4 + i / 4];
            }
            memcpy(u + (c * bones + b) * MONOMIALS, u + (b * bones + c) * MONOMIALS, MONOMIALS * sizeof *u);
        }
    }
}

/* C = M U - r'SP of one frame */
static void finish_frame(void *user, int frame, int worker) {
    const Adding *adding = user;
    const Pass *pass = adding->pass;
    const Model *model = pass->model;
    const size_t bones = (size_t)model->capacity, row = 4 * bones, at = 3 * (size_t)frame * row;
    double *c = pass->moments->c + at;
    (void)worker;
    sum_lanes(3 * row, 3 * (size_t)pass->problem->frames * row, pass->moments->lanes,
              pass->moments->lane_c + at, c);
    for (size_t i = 0; i < 3 * row; i++) {
        c[i] = -c[i];
    }
    for (size_t b = 0; b < (size_t)model->bones; b++) {
        for (size_t o = 0; o < (size_t)model->bones; o++) {
            const double *u = adding->fair->whole + (o * bones + b) * PAIR;
            for (size_t i = 0; i < 3 && u[PAIR - 1] != 0; i++) {
                const double *m = model->transform + at + i * row + 4 * o;
                double *to = c + i * row + 4 * b;
                for (size_t j = 0; j < 4; j++) {
                    to[j] += m[0] * u[j] + m[1] * u[4 + j] + m[2] * u[8 + j] + m[3] * u[12 + j];
                }
            }
        }
    }
}

static int make_adding(const Pass *pass, Adding *adding) {
    Arena *arena = &pass->call->arena;
    const size_t workers = (size_t)parallel_workers(pass->call->pool), bones = (size_t)pass->model->bones;
    adding->stiff = arena_take(arena, workers, sizeof *adding->stiff);
    adding->rows = arena_take(arena, workers, sizeof *adding->rows);
    adding->touched = arena_take(arena, workers, sizeof *adding->touched);
    for (size_t i = 0; i < workers && !arena->failed; i++) {
        adding->stiff[i] = arena_take(arena, BLOCK * adding->fair->rows, sizeof(float));
        adding->rows[i] = arena_take(arena, 4 * bones, sizeof(double));
        adding->touched[i] = arena_take(arena, bones, sizeof(int));
    }
    return !arena->failed;
}

double fair_moments(const Pass *pass, const Fair *fair) {
    Adding adding = {.pass = pass, .fair = fair};
    Moments *moments = pass->moments;
    const size_t bones = (size_t)pass->model->capacity, square = bones * bones;
    double sum = 0;
    if (!make_adding(pass, &adding)) {
        return 0;
    }
    parallel_run(pass->call->pool, moments->lanes, add_lane, &adding);
    for (size_t lane = 0; lane < (size_t)moments->lanes; lane++) {
        sum += moments->lane_sums[lane * (bones + 1) + bones];
    }
    if (pass->plan->only) {
        return sum;
    }
    sum_lanes(square * MONOMIALS, square * MONOMIALS, moments->lanes, moments->lane_u, moments->u);
    sum_lanes(square * PAIR, square * PAIR, moments->lanes, fair->lane_whole, fair->whole);
    mirror(pass->model, moments->u, fair->whole);
    moments->whole = fair->whole;
    parallel_run(pass->call->pool, pass->problem->frames, finish_frame, &adding);
    return sum;
}
