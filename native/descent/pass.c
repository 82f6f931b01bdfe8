/* pass.c - one pass over all vertices: weights, then rest pose, then the moments of the bones.
 *
 * Le & Deng 2012 (SSDR), lines 3 and 6 of Algorithm 1, on moments. Block by block of vertices,
 * while their frames are in cache:
 *     D[v,b] = sum_f M[b,f]' x[v,f]                    matrix product (BLOCK x 3F)(3F x 4B)
 *     weights and rest pose from G[b,c] = sum_f M[b,f]' M[c,f] and D (vertex.c)
 *     C[b,f] += w x p~',  U[b,c] += w_b w_c p~ p~'     matrix product (3F x BLOCK)(BLOCK x 4B)
 * Only the bones that a block's vertices may use, or keep, take part in its products.
 *
 * Blocks are dealt to a fixed number of lanes, each with sums of its own that are added in order,
 * so that the answer does not depend on the number of threads. */
#include "descent/pass.h"

#include <math.h>
#include <string.h>

#include "descent/at_hand.h"
#include "math/product.h"

enum { BLOCKS_A_LANE = 8, LEAST_LANES = 8 };

static const double LANE_BYTES = 64.0 * 1048576; /* what all lanes may take, or a quarter of the frames */

static int lane_count(const Problem *problem, int bones) {
    const double lane = 8.0 * bones * (12.0 * problem->frames + 10.0 * bones);
    const double most = fmax(LANE_BYTES, 3.0 * problem->vertices * (double)problem->frames) / lane;
    int lanes = problem->blocks / BLOCKS_A_LANE;
    lanes = lanes < LEAST_LANES ? LEAST_LANES : lanes > MAX_LANES ? MAX_LANES : lanes;
    lanes = lanes < problem->blocks ? lanes : problem->blocks;
    return lanes < most ? lanes : most < 1 ? 1 : (int)most;
}

int pass_make(Call *call, const Problem *problem, const Model *model, Moments *moments) {
    const size_t rows = 3 * (size_t)problem->frames, b = (size_t)model->capacity;
    Arena *arena = &call->arena;
    moments->whole = NULL;
    moments->lanes = lane_count(problem, model->capacity);
    const size_t lanes = (size_t)moments->lanes;
    moments->c = arena_take(arena, rows * b * 4, sizeof(double));
    moments->u = arena_take(arena, b * b * MONOMIALS, sizeof(double));
    moments->lane_c = arena_take(arena, lanes * rows * b * 4, sizeof(double));
    moments->lane_u = arena_take(arena, lanes * b * b * MONOMIALS, sizeof(double));
    moments->lane_sums = arena_take(arena, lanes * (b + 1), sizeof(double));
    return !arena->failed;
}

/* 1 when a block can do with fewer bones than all. */
static int is_packed(const PassPlan *plan) {
    return plan->bytes > 0 || (!plan->solve_weights && !plan->removal_cost);
}

/* C of the lane += X (w p~)' over the block */
static void add_products(const Pass *pass, Scratch *s, const float *x, int n, int packed, double *lane_c) {
    const int rows = 3 * pass->problem->frames;
    const size_t ld = 4 * (size_t)pass->model->capacity, columns = 4 * (size_t)n;
    if (!packed) {
        product_floats_nn(rows, 4 * n, BLOCK, x, BLOCK, s->wp, columns, lane_c, ld);
        return;
    }
    memset(s->c, 0, (size_t)rows * columns * sizeof *s->c);
    product_floats_nn(rows, 4 * n, BLOCK, x, BLOCK, s->wp, columns, s->c, columns);
    for (int row = 0; row < rows; row++) {
        for (int i = 0; i < n; i++) {
            double *restrict to = lane_c + (size_t)row * ld + 4 * (size_t)s->at_hand[i];
            const double *restrict from = s->c + (size_t)row * columns + 4 * (size_t)i;
            for (int m = 0; m < 4; m++) {
                to[m] += from[m];
            }
        }
    }
}

static double block_objective(const Pass *pass, int block) {
    const int v0 = block * BLOCK, left = pass->problem->vertices - v0;
    double sum = 0;
    for (int v = v0; v < v0 + (left < BLOCK ? left : BLOCK); v++) {
        sum += vertex_objective(pass, v);
    }
    return sum;
}

/* lane_c: NULL when no moments are wanted */
static void run_block(const Pass *pass, Scratch *s, int block, double *lane_c, double *lane_u, double *cost) {
    const Problem *problem = pass->problem;
    const Model *model = pass->model;
    const size_t rows = 3 * (size_t)problem->frames;
    const int v0 = block * BLOCK, v1 = v0 + BLOCK < problem->vertices ? v0 + BLOCK : problem->vertices;
    const int packed = is_packed(pass->plan);
    const int n = packed ? at_hand_list(pass, s, NULL, v0, v1 - v0, pass->plan->given_error != NULL)
                         : at_hand_all(pass, s);
    const size_t columns = 4 * (size_t)n;
    const float *x = problem->x + (size_t)block * rows * BLOCK;
    if (packed) {
        at_hand_pack(pass, s, n);
    }
    memset(s->d, 0, BLOCK * columns * sizeof *s->d);
    product_floats_tn(BLOCK, 4 * n, (int)rows, x, BLOCK, packed ? s->m : model->transform,
                      packed ? columns : 4 * (size_t)model->capacity, s->d, columns);
    s->view.n = n;
    s->view.stride = packed ? (int)at_hand_padded(n) : pass->stride;
    s->view.gram = packed ? s->gram : pass->gram;
    s->view.diagonal = packed ? s->diagonal : pass->diagonal;
    s->view.allowed = s->allowed;
    if (lane_c) {
        memset(s->wp, 0, BLOCK * columns * sizeof *s->wp);
    }
    for (int v = v0; v < v1; v++) {
        const double *d = s->d + (size_t)(v - v0) * 4 * (size_t)n;
        Support support;
        vertex_expect(pass, v, s);
        vertex_solve(pass, s, n, v, d, &support);
        if (cost) {
            vertex_removal_costs(pass, s, n, v, d, &support, cost);
        }
        if (lane_c) {
            vertex_moments(pass, s, v, &support, s->wp + (size_t)(v - v0) * 4 * (size_t)n, lane_u);
        }
    }
    if (lane_c) {
        add_products(pass, s, x, n, packed, lane_c);
    }
}

static void run_lane(void *user, int lane, int worker) {
    const Pass *pass = user;
    Moments *moments = pass->moments;
    const size_t bones = (size_t)pass->model->capacity, rows = 3 * (size_t)pass->problem->frames;
    double *c = pass->plan->only ? NULL : moments->lane_c + (size_t)lane * rows * bones * 4;
    double *u = moments->lane_u + (size_t)lane * bones * bones * MONOMIALS;
    double *sums = moments->lane_sums + (size_t)lane * (bones + 1);
    if (c) {
        memset(c, 0, rows * bones * 4 * sizeof *c);
        memset(u, 0, bones * bones * MONOMIALS * sizeof *u);
    }
    memset(sums, 0, (bones + 1) * sizeof *sums);
    const int64_t blocks = pass->problem->blocks;
    const int begin = (int)(blocks * lane / moments->lanes),
              end = (int)(blocks * (lane + 1) / moments->lanes);
    for (int block = begin; block < end && !pass->call->cancelled; block++) {
        if (worker == 0) {
            call_poll(pass->call, -1);
        }
        if (!pass->plan->only || pass->plan->only[block]) {
            run_block(pass, &pass->scratch[worker], block, c, u, pass->plan->removal_cost ? sums : NULL);
        }
        sums[bones] += block_objective(pass, block);
    }
}

/* Adds the lanes in their order; one task a frame, the last one for U and the sums. */
static void add_lanes(void *user, int task, int worker) {
    const Pass *pass = user;
    (void)worker;
    Moments *moments = pass->moments;
    const size_t bones = (size_t)pass->model->capacity, rows = 3 * (size_t)pass->problem->frames;
    const int whole = task == pass->problem->frames;
    const size_t stride = whole ? bones * bones * MONOMIALS : rows * bones * 4;
    const size_t count = whole ? stride : 12 * bones, offset = whole ? 0 : (size_t)task * 12 * bones;
    double *to = (whole ? moments->u : moments->c) + offset;
    const double *from = (whole ? moments->lane_u : moments->lane_c) + offset;
    memcpy(to, from, count * sizeof *to);
    for (size_t lane = 1; lane < (size_t)moments->lanes; lane++) {
        const double *more = from + lane * stride;
        for (size_t i = 0; i < count; i++) {
            to[i] += more[i];
        }
    }
}

/* U[b][c] was summed for c <= b only. */
static void mirror_u(const Model *model, double *u) {
    const size_t bones = (size_t)model->capacity;
    for (size_t b = 0; b < (size_t)model->bones; b++) {
        for (size_t c = 0; c < b; c++) {
            memcpy(u + (c * bones + b) * MONOMIALS, u + (b * bones + c) * MONOMIALS, MONOMIALS * sizeof *u);
        }
    }
}

static double add_sums(const Moments *moments, const Model *model, double *removal_cost) {
    const size_t bones = (size_t)model->capacity;
    double sum = 0;
    for (int b = 0; b < model->bones && removal_cost; b++) {
        removal_cost[b] = 0;
    }
    for (size_t lane = 0; lane < (size_t)moments->lanes; lane++) {
        sum += moments->lane_sums[lane * (bones + 1) + bones];
        for (int b = 0; b < model->bones && removal_cost; b++) {
            removal_cost[b] += moments->lane_sums[lane * (bones + 1) + (size_t)b];
        }
    }
    return sum;
}

/* Smoothing reads neighbours that the same pass changes: it works on a copy. */
static int copy_weights(Call *call, const Problem *problem, const Model *model, Pass *pass) {
    const size_t count = (size_t)problem->vertices * (size_t)model->influences;
    int *bone = arena_take(&call->arena, count, sizeof *bone);
    double *weight = arena_take(&call->arena, count, sizeof *weight);
    if (!bone || !weight) {
        return 0;
    }
    memcpy(bone, model->bone, count * sizeof *bone);
    memcpy(weight, model->weight, count * sizeof *weight);
    pass->old_bone = bone;
    pass->old_weight = weight;
    return 1;
}

double pass_run(Call *call, const Problem *problem, Model *model, Moments *moments, const PassPlan *plan) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const size_t stride = at_hand_padded(model->bones), bones = (size_t)model->bones;
    const int workers = parallel_workers(call->pool);
    double *gram = arena_take(&call->arena, bones * MONOMIALS * stride, sizeof *gram);
    double *diagonal = arena_take(&call->arena, MONOMIALS * stride, sizeof *diagonal);
    Scratch *scratch = arena_take(&call->arena, (size_t)workers, sizeof *scratch);
    Pass pass = {.call = call,
                 .problem = problem,
                 .model = model,
                 .moments = moments,
                 .plan = plan,
                 .gram = gram,
                 .diagonal = diagonal,
                 .stride = (int)stride,
                 .holds_groups = memchr(model->held_group, 1, bones) != NULL,
                 .scratch = scratch};
    int ready = !call->arena.failed && at_hand_gram(call, problem, model, NULL, gram, diagonal, stride);
    for (int i = 0; i < workers && ready; i++) {
        ready = at_hand_scratch(call, problem, model, is_packed(plan), &scratch[i]);
    }
    if (ready && plan->smoothing > 0) {
        ready = copy_weights(call, problem, model, &pass);
    }
    double sum = 0;
    if (ready) {
        parallel_run(call->pool, moments->lanes, run_lane, &pass);
        if (!plan->only) {
            parallel_run(call->pool, problem->frames + 1, add_lanes, &pass);
            mirror_u(model, moments->u);
        }
        sum = add_sums(moments, model, plan->removal_cost);
    }
    arena_return(&call->arena, mark);
    return sum;
}
