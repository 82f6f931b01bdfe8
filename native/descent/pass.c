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
#include <stdlib.h>
#include <string.h>

#include "descent/vertex.h"
#include "math/lapack.h"

enum { BLOCKS_A_LANE = 8, LEAST_LANES = 8 };

static const double LANE_BYTES = 64.0 * 1048576; /* what all lanes may take, or a quarter of the frames */

static size_t padded(int n) {
    return ((size_t)n + 3) & ~(size_t)3;
}

/* Most numbers of a pair of bones while they are summed. */
static size_t pair_size(const Problem *problem) {
    return problem->sharp ? PAIR : MONOMIALS;
}

static int lane_count(const Problem *problem, int bones) {
    const double lane = 8.0 * bones * (12.0 * problem->frames + (double)pair_size(problem) * bones);
    const double most = fmax(LANE_BYTES, 3.0 * problem->vertices * (double)problem->frames) / lane;
    int lanes = problem->blocks / BLOCKS_A_LANE;
    lanes = lanes < LEAST_LANES ? LEAST_LANES : lanes > MAX_LANES ? MAX_LANES : lanes;
    lanes = lanes < problem->blocks ? lanes : problem->blocks;
    return lanes < most ? lanes : most < 1 ? 1 : (int)most;
}

void pass_spread(const double form[MONOMIALS], double pair[PAIR]) {
    const double all[PAIR] = {form[0], form[3], form[4], form[6], form[3], form[1], form[5], form[7],
                              form[4], form[5], form[2], form[8], form[6], form[7], form[8], form[9]};
    memcpy(pair, all, sizeof all);
}

int pass_make(Call *call, const Problem *problem, const Model *model, Moments *moments) {
    const size_t rows = 3 * (size_t)problem->frames, b = (size_t)model->capacity;
    Arena *arena = &call->arena;
    moments->lanes = lane_count(problem, model->capacity);
    const size_t lanes = (size_t)moments->lanes;
    moments->c = arena_take(arena, rows * b * 4, sizeof(double));
    moments->u = arena_take(arena, b * b * PAIR, sizeof(double));
    moments->lane_c = arena_take(arena, lanes * rows * b * 4, sizeof(double));
    moments->lane_u = arena_take(arena, lanes * b * b * pair_size(problem), sizeof(double));
    moments->lane_sums = arena_take(arena, lanes * (b + 1), sizeof(double));
    return !arena->failed;
}

/* Numbers of a pair of bones in a pass. */
static size_t pair_of(const Pass *pass) {
    return pass->fair ? PAIR : MONOMIALS;
}

/* p~' G p~ = sum of form[m] * monomial[m] for G[4][4] */
static void form_of(const double *g, size_t ld, double form[MONOMIALS]) {
    form[0] = g[0], form[1] = g[ld + 1], form[2] = g[2 * ld + 2];
    form[3] = g[1] + g[ld], form[4] = g[2] + g[2 * ld], form[5] = g[ld + 2] + g[2 * ld + 1];
    form[6] = g[3] + g[3 * ld], form[7] = g[ld + 3] + g[3 * ld + 1], form[8] = g[2 * ld + 3] + g[3 * ld + 2];
    form[9] = g[3 * ld + 3];
}

static int make_gram(Call *call, const Problem *problem, const Model *model, double *gram, double *diagonal,
                     size_t stride, Pass *pass) {
    const int n = 4 * model->bones, ld = 4 * model->capacity;
    double *full = arena_take(&call->arena, (size_t)n * (size_t)n, sizeof(double));
    if (!full) {
        return 0;
    }
    pass->full = full;
    lapack_multiply_tn(n, n, 3 * problem->frames, model->transform, ld, model->transform, ld, 0.0, full, n);
    for (int b = 0; b < model->bones; b++) {
        for (int c = 0; c < model->bones; c++) {
            double form[MONOMIALS];
            form_of(full + 4 * ((size_t)b * (size_t)n + (size_t)c), (size_t)n, form);
            for (size_t m = 0; m < MONOMIALS; m++) {
                gram[((size_t)b * MONOMIALS + m) * stride + (size_t)c] = form[m];
                if (b == c) {
                    diagonal[m * stride + (size_t)c] = form[m];
                }
            }
        }
    }
    return 1;
}

static int make_scratch(Call *call, const Problem *problem, const Model *model, int packed, int fair,
                        Scratch *scratch) {
    const size_t rows = 3 * (size_t)problem->frames, b = (size_t)model->bones, stride = padded(model->bones);
    Arena *arena = &call->arena;
    scratch->x = arena_take(arena, rows * BLOCK, sizeof(double));
    scratch->d = arena_take(arena, BLOCK * b * 4, sizeof(double));
    scratch->wp = arena_take(arena, BLOCK * b * 4, sizeof(double));
    scratch->at_hand = arena_take(arena, b, sizeof(int));
    scratch->local = arena_take(arena, b, sizeof(int));
    scratch->mean = arena_take(arena, b, sizeof(double));
    scratch->allowed = arena_take(arena, b, 1);
    scratch->view.linear = arena_take(arena, b, sizeof(double));
    scratch->view.rows = arena_take(arena, b * stride, sizeof(double));
    scratch->view.ready = arena_take(arena, b, 1);
    scratch->view.own = arena_take(arena, b, sizeof(double));
    scratch->view.slope = arena_take(arena, b, sizeof(double));
    if (packed) {
        scratch->m = arena_take(arena, rows * b * 4, sizeof(double));
        scratch->c = arena_take(arena, rows * b * 4, sizeof(double));
        scratch->gram = arena_take(arena, b * MONOMIALS * stride, sizeof(double));
        scratch->diagonal = arena_take(arena, MONOMIALS * stride, sizeof(double));
    }
    if (fair) {
        const size_t all = (size_t)model->capacity;
        scratch->near = arena_take(arena, 4 * all, sizeof(double));
        scratch->goal = arena_take(arena, 4 * b, sizeof(double));
        scratch->touched = arena_take(arena, all, sizeof(int));
        scratch->full = packed ? arena_take(arena, 16 * b * b, sizeof(double)) : NULL;
    }
    return !arena->failed;
}

/* 1 when a block can do with fewer bones than all. */
static int is_packed(const PassPlan *plan) {
    return plan->bytes > 0 || (!plan->solve_weights && !plan->removal_cost);
}

/* Lists the bones that the block's vertices may use or keep, at least one; returns their number. */
/* Bones of a vertex. */
static void list_support(const Pass *pass, Scratch *s, int v) {
    const Model *model = pass->model;
    const size_t k = (size_t)model->influences;
    for (size_t i = (size_t)v * k; i < (size_t)(v + 1) * k && model->bone[i] >= 0; i++) {
        s->local[model->bone[i]] = 0;
    }
}

/* Of a vertex and its neighbours. */
static void list_supports(const Pass *pass, Scratch *s, int v) {
    const Graph *graph = &pass->problem->graph;
    list_support(pass, s, v);
    for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
        list_support(pass, s, graph->neighbour[e]);
    }
}

static int list_bones(const Pass *pass, Scratch *s, int v0, int v1) {
    const Model *model = pass->model;
    const PassPlan *plan = pass->plan;
    memset(s->local, -1, (size_t)model->bones * sizeof *s->local);
    for (int v = v0; v < v1; v++) {
        if (pass->fair) {
            list_supports(pass, s, v);
        }
        for (int k = 0; k < model->influences; k++) {
            const int b = model->bone[(size_t)v * (size_t)model->influences + (size_t)k];
            if (b >= 0 && (keeps_weights(pass, v) || model->held_group[b] || plan->given_error)) {
                s->local[b] = 0;
            }
        }
        for (int byte = 0; byte < plan->bytes && (plan->solve_weights || plan->removal_cost); byte++) {
            unsigned bits = plan->candidates[(size_t)v * (size_t)plan->bytes + (size_t)byte];
            for (int b = 8 * byte; bits; b++, bits >>= 1) {
                if (bits & 1) {
                    s->local[b] = 0;
                }
            }
        }
    }
    int n = 0;
    for (int b = 0; b < model->bones; b++) {
        if (s->local[b] == 0 || (n == 0 && b == model->bones - 1)) {
            s->local[b] = n;
            s->at_hand[n++] = b;
        }
    }
    return n;
}

static int list_all(const Pass *pass, Scratch *s) {
    for (int b = 0; b < pass->model->bones; b++) {
        s->at_hand[b] = s->local[b] = b;
    }
    return pass->model->bones;
}

/* Gathers what the bones at hand need, so that products run over them alone. */
static void pack_bones(const Pass *pass, Scratch *s, int n) {
    const Model *model = pass->model;
    const size_t rows = 3 * (size_t)pass->problem->frames, stride = padded(n), all = (size_t)pass->stride;
    for (size_t row = 0; row < rows; row++) {
        const double *from = model->transform + row * (size_t)model->capacity * 4;
        double *to = s->m + row * (size_t)n * 4;
        for (int i = 0; i < n; i++) {
            memcpy(to + 4 * i, from + 4 * s->at_hand[i], 4 * sizeof *to);
        }
    }
    for (int i = 0; i < n; i++) {
        for (size_t m = 0; m < MONOMIALS; m++) {
            const double *from = pass->gram + ((size_t)s->at_hand[i] * MONOMIALS + m) * all;
            double *to = s->gram + ((size_t)i * MONOMIALS + m) * stride;
            for (int j = 0; j < n; j++) {
                to[j] = from[s->at_hand[j]];
            }
            s->diagonal[m * stride + (size_t)i] = to[i];
        }
    }
    for (int i = 0; i < 4 * n && pass->fair; i++) {
        const double *from =
            pass->full + (4 * (size_t)s->at_hand[i / 4] + (size_t)(i % 4)) * 4 * (size_t)model->bones;
        for (int j = 0; j < n; j++) {
            memcpy(s->full + ((size_t)i * (size_t)n + (size_t)j) * 4, from + 4 * s->at_hand[j],
                   4 * sizeof(double));
        }
    }
}

static void widen(const float *from, size_t count, double *to) {
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
}

/* C of the lane += X (w p~)' over the block */
static void add_products(const Pass *pass, Scratch *s, int n, int packed, double *lane_c) {
    const int rows = 3 * pass->problem->frames, ld = 4 * pass->model->capacity;
    if (!packed) {
        lapack_multiply_nn(rows, 4 * n, BLOCK, s->x, BLOCK, s->wp, 4 * n, 1.0, lane_c, ld);
        return;
    }
    lapack_multiply_nn(rows, 4 * n, BLOCK, s->x, BLOCK, s->wp, 4 * n, 0.0, s->c, 4 * n);
    for (int row = 0; row < rows; row++) {
        double *to = lane_c + (size_t)row * (size_t)ld;
        const double *from = s->c + (size_t)row * 4 * (size_t)n;
        for (int i = 0; i < n; i++) {
            for (int m = 0; m < 4; m++) {
                to[4 * s->at_hand[i] + m] += from[4 * i + m];
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

/* Solves one vertex and adds what it counts; returns by how much it lowers the objective, with a norm. */
static double run_vertex(const Pass *pass, Scratch *s, int n, int v, const double *d, Support *support,
                         double *cost) {
    Goal goal;
    double before = 0;
    vertex_goal(pass, s, n, v, d, &goal);
    if (pass->plan->given_error) {
        pass->plan->given_error[v] = vertex_distance(pass, s, v, &goal);
    }
    if (pass->fair) {
        before = vertex_distance(pass, s, v, &goal);
        return goal.stiffness * (before - vertex_solve(pass, s, n, v, &goal, support));
    }
    pass->model->error[v] = vertex_solve(pass, s, n, v, &goal, support);
    if (cost) {
        vertex_removal_costs(pass, s, n, v, &goal, support, cost);
    }
    return 0;
}

/* lane_c: NULL when no moments are wanted. Returns by how much the objective falls, with a norm. */
static double run_block(const Pass *pass, Scratch *s, int block, double *lane_c, double *lane_u,
                        double *cost) {
    const Problem *problem = pass->problem;
    const Model *model = pass->model;
    const size_t rows = 3 * (size_t)problem->frames;
    const int v0 = block * BLOCK, v1 = v0 + BLOCK < problem->vertices ? v0 + BLOCK : problem->vertices;
    const int packed = is_packed(pass->plan), backwards = pass->fair && pass->plan->backwards;
    const int n = packed ? list_bones(pass, s, v0, v1) : list_all(pass, s);
    double fall = 0;
    if (packed) {
        pack_bones(pass, s, n);
    }
    widen((pass->fair ? problem->sharp : problem->x) + (size_t)block * rows * BLOCK, rows * BLOCK, s->x);
    lapack_multiply_tn(BLOCK, 4 * n, (int)rows, s->x, BLOCK, packed ? s->m : model->transform,
                       packed ? 4 * n : 4 * model->capacity, 0.0, s->d, 4 * n);
    s->view.n = n;
    s->view.stride = packed ? (int)padded(n) : pass->stride;
    s->view.gram = packed ? s->gram : pass->gram;
    s->view.diagonal = packed ? s->diagonal : pass->diagonal;
    s->view.allowed = s->allowed;
    if (lane_c) {
        memset(s->wp, 0, (size_t)BLOCK * 4 * (size_t)n * sizeof *s->wp);
    }
    const int inner = pass->fair && pass->plan->solve_weights && getenv("INNER") ? atoi(getenv("INNER")) : 1;
    for (int sweep = 0; sweep + 1 < inner; sweep++) {
        for (int i = 0; i < v1 - v0; i++) {
            const int v = backwards == (sweep % 2) ? v0 + i : v1 - 1 - i;
            Support support;
            fall += run_vertex(pass, s, n, v, s->d + (size_t)(v - v0) * 4 * (size_t)n, &support, NULL);
        }
    }
    for (int i = 0; i < v1 - v0; i++) {
        const int v = backwards == (inner - 1) % 2 ? v0 + i : v1 - 1 - i;
        Support support;
        fall += run_vertex(pass, s, n, v, s->d + (size_t)(v - v0) * 4 * (size_t)n, &support, cost);
        if (lane_c) {
            vertex_moments(pass, s, v, &support, s->wp + (size_t)(v - v0) * 4 * (size_t)n, lane_u);
        }
    }
    if (lane_c) {
        add_products(pass, s, n, packed, lane_c);
    }
    return fall;
}

static int makes_moments(const PassPlan *plan) {
    return !plan->only && !plan->no_moments;
}

static void clear_lane(const Pass *pass, int lane) {
    const Moments *moments = pass->moments;
    const size_t bones = (size_t)pass->model->capacity, rows = 3 * (size_t)pass->problem->frames;
    const size_t pairs = bones * bones * pair_of(pass);
    if (makes_moments(pass->plan)) {
        memset(moments->lane_c + (size_t)lane * rows * bones * 4, 0, rows * bones * 4 * sizeof(double));
        memset(moments->lane_u + (size_t)lane * pairs, 0, pairs * sizeof(double));
    }
    memset(moments->lane_sums + (size_t)lane * (bones + 1), 0, (bones + 1) * sizeof(double));
}

/* The blocks of a lane, with a norm those of the colour at hand. */
static void run_lane(void *user, int lane, int worker) {
    const Pass *pass = user;
    const PassPlan *plan = pass->plan;
    Moments *moments = pass->moments;
    const size_t bones = (size_t)pass->model->capacity, rows = 3 * (size_t)pass->problem->frames;
    double *c = makes_moments(plan) ? moments->lane_c + (size_t)lane * rows * bones * 4 : NULL;
    double *u = moments->lane_u + (size_t)lane * bones * bones * pair_of(pass);
    double *sums = moments->lane_sums + (size_t)lane * (bones + 1);
    const int64_t blocks = pass->problem->blocks;
    const int begin = (int)(blocks * lane / moments->lanes),
              end = (int)(blocks * (lane + 1) / moments->lanes);
    for (int block = begin; block < end && !pass->call->cancelled; block++) {
        if (pass->fair && pass->problem->colour[block] != pass->colour) {
            continue;
        }
        if (worker == 0) {
            call_poll(pass->call, -1);
        }
        if (!plan->only || plan->only[block]) {
            sums[bones] -= run_block(pass, &pass->scratch[worker], block, c, u,
                                     plan->removal_cost ? sums : NULL);
        }
        if (!pass->fair) {
            sums[bones] += block_objective(pass, block);
        }
    }
}

/* With a norm, once all vertices are solved: U and what the rest pose counts. */
static void pair_lane(void *user, int lane, int worker) {
    const Pass *pass = user;
    Moments *moments = pass->moments;
    const Scratch *s = &pass->scratch[worker];
    const size_t bones = (size_t)pass->model->capacity;
    double *u = moments->lane_u + (size_t)lane * bones * bones * PAIR;
    double *sums = moments->lane_sums + (size_t)lane * (bones + 1);
    const int64_t blocks = pass->problem->blocks;
    const int begin = (int)(blocks * lane / moments->lanes) * BLOCK;
    int end = (int)(blocks * (lane + 1) / moments->lanes) * BLOCK;
    end = end < pass->problem->vertices ? end : pass->problem->vertices;
    sums[bones] = 0;
    for (int v = begin; v < end && !pass->call->cancelled; v++) {
        if (worker == 0 && v % BLOCK == 0) {
            call_poll(pass->call, -1);
        }
        sums[bones] += vertex_pairs(pass, v, s->near, s->touched, u);
    }
}

/* Adds the lanes in their order; one task a frame, the last one for U and the sums. */
static void add_lanes(void *user, int task, int worker) {
    const Pass *pass = user;
    (void)worker;
    Moments *moments = pass->moments;
    const size_t bones = (size_t)pass->model->capacity, rows = 3 * (size_t)pass->problem->frames;
    const int whole = task == pass->problem->frames;
    const size_t stride = whole ? bones * bones * pair_of(pass) : rows * bones * 4;
    const size_t count = whole ? stride : 12 * bones, offset = whole ? 0 : (size_t)task * 12 * bones;
    double *to =
        (whole ? moments->lane_u : moments->c) + offset; /* of U the first lane takes the others in */
    const double *from = (whole ? moments->lane_u : moments->lane_c) + offset;
    if (!whole) {
        memcpy(to, from, count * sizeof *to);
    }
    for (size_t lane = 1; lane < (size_t)moments->lanes; lane++) {
        const double *more = from + lane * stride;
        for (size_t i = 0; i < count; i++) {
            to[i] += more[i];
        }
    }
}

/* U[b][c] was summed for c <= b only: without a norm as forms, with one as matrices, of which the diagonal's are
 * symmetric but for rounding. */
static void mirror_u(const Pass *pass) {
    const size_t bones = (size_t)pass->model->capacity;
    Moments *moments = pass->moments;
    for (size_t b = 0; b < (size_t)pass->model->bones; b++) {
        for (size_t c = 0; c <= b; c++) {
            const double *from = moments->lane_u + (b * bones + c) * pair_of(pass);
            double *to = moments->u + (b * bones + c) * PAIR, *mirror = moments->u + (c * bones + b) * PAIR;
            if (!pass->fair) {
                pass_spread(from, to);
                pass_spread(from, mirror);
                continue;
            }
            for (size_t i = 0; i < PAIR; i++) {
                to[i] = b == c ? 0.5 * (from[i] + from[i % 4 * 4 + i / 4]) : from[i];
            }
            for (size_t i = 0; i < PAIR && b != c; i++) {
                mirror[i % 4 * 4 + i / 4] = from[i];
            }
        }
    }
}

/* |x|^2 - 2 tr(M C') + tr(M U M') of one frame, without the first */
static void measure_frame(void *user, int frame, int worker) {
    const Pass *pass = user;
    const Model *model = pass->model;
    const size_t row = 4 * (size_t)model->capacity;
    const double *m = model->transform + 3 * (size_t)frame * row, *c = pass->moments->c + 3 * (size_t)frame * row;
    double sum = 0;
    (void)worker;
    for (int b = 0; b < model->bones; b++) {
        double y[3][4];
        for (size_t i = 0; i < 12; i++) {
            y[i / 4][i % 4] = -2 * c[i / 4 * row + 4 * (size_t)b + i % 4];
        }
        for (int o = 0; o < model->bones; o++) {
            const double *u = pass->moments->u + ((size_t)b * (size_t)model->capacity + (size_t)o) * PAIR;
            for (size_t i = 0; i < 3 && u[PAIR - 1] != 0; i++) {
                const double *mo = m + i * row + 4 * (size_t)o;
                for (size_t k = 0; k < 4; k++) {
                    y[i][k] += mo[0] * u[4 * k] + mo[1] * u[4 * k + 1] + mo[2] * u[4 * k + 2] + mo[3] * u[4 * k + 3];
                }
            }
        }
        for (size_t i = 0; i < 12; i++) {
            sum += y[i / 4][i % 4] * m[i / 4 * row + 4 * (size_t)b + i % 4];
        }
    }
    pass->frame_sum[frame] = sum;
}

/* r'Sr from the moments. */
static double measure_all(Pass *pass) {
    double sum = pass->problem->still;
    pool_run(pass->call->pool, pass->problem->frames, measure_frame, pass);
    for (int f = 0; f < pass->problem->frames; f++) {
        sum += pass->frame_sum[f];
    }
    return sum > 0 ? sum : 0;
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

/* Blocks, colour after colour. */
static void run_colours(Pass *pass) {
    const int colours = pass->problem->colours;
    for (int i = 0; i < colours && !pass->call->cancelled; i++) {
        pass->colour = pass->plan->backwards ? colours - 1 - i : i;
        pool_run(pass->call->pool, pass->moments->lanes, run_lane, pass);
    }
}

/* Vertices, then moments; returns the objective. */
static double run_all(Pass *pass) {
    Call *call = pass->call;
    const PassPlan *plan = pass->plan;
    const int moments = makes_moments(plan);
    for (int lane = 0; lane < pass->moments->lanes; lane++) {
        clear_lane(pass, lane);
    }
    if (pass->fair) {
        run_colours(pass);
    } else {
        pool_run(call->pool, pass->moments->lanes, run_lane, pass);
    }
    if (moments && pass->fair) {
        pool_run(call->pool, pass->moments->lanes, pair_lane, pass);
    }
    if (moments) {
        pool_run(call->pool, pass->problem->frames + 1, add_lanes, pass);
        mirror_u(pass);
    }
    const double sum = add_sums(pass->moments, pass->model, plan->removal_cost);
    return !pass->fair ? sum : moments ? sum + measure_all(pass) : plan->before + sum;
}

double pass_run(Call *call, const Problem *problem, Model *model, Moments *moments, const PassPlan *plan) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const size_t stride = padded(model->bones), bones = (size_t)model->bones;
    const int workers = pool_workers(call->pool);
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
                 .fair = problem->sharp != NULL && !plan->plain,
                 .holds_groups = memchr(model->held_group, 1, bones) != NULL,
                 .scratch = scratch};
    pass.frame_sum = arena_take(&call->arena, (size_t)problem->frames, sizeof(double));
    int ready = !call->arena.failed && make_gram(call, problem, model, gram, diagonal, stride, &pass);
    for (int i = 0; i < workers && ready; i++) {
        ready = make_scratch(call, problem, model, is_packed(plan), pass.fair, &scratch[i]);
        if (ready && pass.fair && !is_packed(plan)) {
            scratch[i].full = (double *)pass.full;
        }
    }
    if (ready && plan->smoothing > 0) {
        ready = copy_weights(call, problem, model, &pass);
    }
    const double sum = ready ? run_all(&pass) : 0;
    arena_return(&call->arena, mark);
    return sum;
}
