/* fair.c - the vertex step in a norm that sees cracks. |r|^2, r = replayed less observed, does not tell whether
 * neighbours miss in the same way or apart; this norm, a discrete H1 norm on the graph of the surface, does:
 *     r'Sr = sum_v mass |r_v|^2 + tie sum_edges |r_i - r_j|^2,     S = diag(mass) + tie (D - A),
 * tie = mu / mean number of neighbours, mu = settings.fairness min(1, vertices a bone / FAIR_PATCH): what neighbours
 * miss apart is seen over sqrt(mu / 6) edges, and where that is not little beside the patch that a bone moves, the norm
 * would count its misfit itself, at the cost of |r|^2.
 *
 * With its neighbours N(v) as they are, a vertex's part is a |y_v - z_v|^2, a = S_vv, y what it replays, and
 *     z_v = y_v - g_v,     g_v = r_v - tie / a sum_{j in N(v)} r_j:
 * SSDR's least squares (Le & Deng 2012, Eq. 3-4) with another target, z for x. It needs D[b] = sum_f M_b' z =
 * sum_c w_c G[b,c] p~ - sum_f M_b' g, so only residuals are kept, [v][3F], and no sharpened positions.
 *
 * Vertices are solved one after the other, each for its neighbours as they are then (Gauss-Seidel), so r'Sr never rises
 * while candidates stay. Those of one colour are no neighbours: they go through a matrix product together, on any
 * number of threads, with the same answer.
 *
 * The rest pose may move as a smooth field, d = p - p0, with pull sum |d_v|^2 + stiffness sum_edges |d_i - d_j|^2 beside
 * r'Sr; a vertex sees it as SSDR's correction with pull (pull + stiffness |N|) / a towards p0 and its neighbours' d. */
#include "descent/fair.h"

#include <string.h>

#include "descent/at_hand.h"
#include "descent/fair_moments.h"
#include "descent/fair_rows.h"
#include "descent/tolerances.h"
#include "math/product.h"

enum { BATCH = 32 }; /* vertices of one colour that go through a product together: more lie far apart */

typedef struct Sweep {
    Pass pass;
    Fair *fair;
    int begin, end; /* of the colour at hand in fair->colours.order */
    float **gap;    /* [workers][BATCH][3F] g */
} Sweep;

/* ---- the norm */

double fair_strength(double fairness, int vertices, int bones) {
    const double fullness = vertices / (FAIR_PATCH * bones);
    return fullness < 1 ? fullness * fairness : fairness;
}

double fair_beside(const Graph *graph) {
    const double edges = (double)graph->first[graph->vertices];
    return edges > graph->vertices ? edges / graph->vertices : 1;
}

int fair_make(Call *call, const Problem *problem, const Model *model, const Moments *moments, double mu,
              Fair *fair) {
    const size_t rows = fair_rows_padded(problem->frames), bones = (size_t)model->capacity;
    Arena *arena = &call->arena;
    memset(fair, 0, sizeof *fair);
    fair->rows = rows;
    fair->residual = arena_take(arena, (size_t)problem->vertices * rows, sizeof(float));
    fair->whole = arena_take(arena, bones * bones * PAIR, sizeof(double));
    fair->lane_whole = arena_take(arena, (size_t)moments->lanes * bones * bones * PAIR, sizeof(double));
    fair->turned = arena_take(arena, 4 * bones * rows, sizeof(double));
    fair->gram = arena_take(arena, 16 * bones * bones, sizeof(double));
    fair->beside = fair_beside(&problem->graph);
    fair->tie = mu / fair->beside;
    return colours_make(arena, &problem->graph, &fair->colours);
}

/* ---- residuals */

static void turn_transforms(const Problem *problem, const Model *model, const Fair *fair) {
    const size_t columns = 4 * (size_t)model->bones;
    for (size_t row = 0; row < 3 * (size_t)problem->frames; row++) {
        const double *m = model->transform + row * 4 * (size_t)model->capacity;
        for (size_t i = 0; i < columns; i++) {
            fair->turned[i * fair->rows + row] = m[i];
        }
    }
}

static void add_move(const Fair *fair, int b, double w, const double p[3], FairMove *move) {
    double *q = move->q[move->count];
    q[0] = w * p[0], q[1] = w * p[1], q[2] = w * p[2], q[3] = w;
    move->turned[move->count++] = fair->turned + 4 * (size_t)b * fair->rows;
}

/* Residuals of a block as the model is, and their squares to model->error. */
static void measure_block(void *user, int block, int worker) {
    const Sweep *sweep = user;
    const Pass *pass = &sweep->pass;
    const Problem *problem = pass->problem;
    const Model *model = pass->model;
    const size_t rows = 3 * (size_t)problem->frames, k = (size_t)model->influences;
    const float *x = problem->x + (size_t)block * rows * BLOCK;
    const int v0 = block * BLOCK, v1 = v0 + BLOCK < problem->vertices ? v0 + BLOCK : problem->vertices;
    if (worker == 0) {
        call_poll(pass->call, -1);
    }
    for (int v = v0; v < v1 && !pass->call->cancelled; v++) {
        float *r = sweep->fair->residual + (size_t)v * sweep->fair->rows;
        const double *p = model->rest + 3 * (size_t)v;
        FairMove move = {0};
        for (size_t i = 0; i < rows; i++) {
            r[i] = -x[i * BLOCK + (size_t)(v - v0)];
        }
        for (size_t i = (size_t)v * k; i < ((size_t)v + 1) * k && model->bone[i] >= 0; i++) {
            add_move(sweep->fair, model->bone[i], model->weight[i], p, &move);
        }
        model->error[v] = fair_rows_move(&move, sweep->fair->rows, r);
    }
}

/* g = r - tie / a (sum of the neighbours' r); returns |g|^2 */
static double read_gap(const Sweep *sweep, int v, float *gap) {
    const Problem *problem = sweep->pass.problem;
    const Graph *graph = &problem->graph;
    const double tie = sweep->fair->tie;
    const double share = tie / (problem->mass[v] + tie * (double)(graph->first[v + 1] - graph->first[v]));
    return fair_rows_square(graph, v, sweep->fair->rows, sweep->fair->residual, 1, (float)share, gap);
}

/* ---- one vertex */

/* A vertex before it is solved. */
typedef struct Before {
    Support support;
    double p[3];
} Before;

/* D[b] = sum_c w_c G[b,c] p~ - M_b'g, which comes in d; |z|^2 = |y|^2 - 2 y'g + |g|^2 */
static void aim(const Sweep *sweep, Scratch *s, int n, const Before *before, double gap_square, double *d) {
    const size_t ld = 4 * (size_t)sweep->pass.model->bones;
    const double *p = before->p;
    double replayed = 0, along = 0;
    for (int i = 0; i < n; i++) {
        double e[4] = {0};
        double w = 0;
        for (int j = 0; j < before->support.count; j++) {
            const double *g = sweep->fair->gram + 4 * (size_t)s->at_hand[i] * ld +
                              4 * (size_t)s->at_hand[before->support.bone[j]];
            const double share = before->support.weight[j];
            for (size_t k = 0; k < 4; k++, g += ld) {
                e[k] += share * (g[0] * p[0] + g[1] * p[1] + g[2] * p[2] + g[3]);
            }
            w += before->support.bone[j] == i ? share : 0;
        }
        double *di = d + 4 * i;
        replayed += w * (p[0] * e[0] + p[1] * e[1] + p[2] * e[2] + e[3]);
        along += w * (p[0] * di[0] + p[1] * di[1] + p[2] * di[2] + di[3]);
        for (size_t k = 0; k < 4; k++) {
            di[k] = e[k] - di[k];
        }
    }
    const double square = replayed - 2 * along + gap_square;
    s->square = square > 0 ? square : 0;
}

/* Where the rest position is drawn: a p = ... + (pull + stiffness |N|) p0 + stiffness sum_j d_j */
static void hold_rest(const Sweep *sweep, Scratch *s, int v) {
    const Problem *problem = sweep->pass.problem;
    const PassPlan *plan = sweep->pass.plan;
    const Graph *graph = &problem->graph;
    const double *rest = sweep->pass.model->rest, beside = (double)(graph->first[v + 1] - graph->first[v]);
    const double stiffness = plan->rest_stiffness / sweep->fair->beside, mass = problem->mass[v];
    const double held = plan->rest_pull * mass + stiffness * beside;
    memcpy(s->given, problem->rest + 3 * (size_t)v, sizeof s->given);
    s->pull = held / (mass + sweep->fair->tie * beside);
    for (int64_t e = graph->first[v]; e < graph->first[v + 1] && stiffness > 0; e++) {
        const size_t u = 3 * (size_t)graph->neighbour[e];
        for (size_t i = 0; i < 3; i++) {
            s->given[i] += stiffness / held * (rest[u + i] - problem->rest[u + i]);
        }
    }
}

/* r += sum_b M_b (w p~ - the same before) */
static void follow(const Sweep *sweep, const Scratch *s, int v, const Before *before, const Support *now) {
    const Model *model = sweep->pass.model;
    const size_t rows = sweep->fair->rows;
    const double *p = model->rest + 3 * (size_t)v;
    FairMove move = {0};
    for (int i = 0; i < now->count; i++) {
        double w = 0;
        for (int j = 0; j < before->support.count; j++) {
            w += before->support.bone[j] == now->bone[i] ? before->support.weight[j] : 0;
        }
        double *q = move.q[move.count];
        add_move(sweep->fair, s->at_hand[now->bone[i]], now->weight[i], p, &move);
        for (size_t k = 0; k < 4; k++) {
            q[k] -= w * (k < 3 ? before->p[k] : 1);
        }
    }
    for (int j = 0; j < before->support.count; j++) {
        int stays = 0;
        for (int i = 0; i < now->count; i++) {
            stays |= now->bone[i] == before->support.bone[j];
        }
        if (!stays) {
            add_move(sweep->fair, s->at_hand[before->support.bone[j]], -before->support.weight[j], before->p,
                     &move);
        }
    }
    model->error[v] = fair_rows_move(&move, rows, sweep->fair->residual + (size_t)v * rows);
}

/* ---- a sweep */

static void solve_batch(void *user, int batch, int worker) {
    Sweep *sweep = user;
    const Pass *pass = &sweep->pass;
    Scratch *s = &pass->scratch[worker];
    const size_t rows = sweep->fair->rows;
    double square[BATCH];
    int which[BATCH], count = 0;
    if (worker == 0) {
        call_poll(pass->call, -1);
    }
    for (int i = sweep->begin + batch * BATCH; i < sweep->end && i < sweep->begin + (batch + 1) * BATCH;
         i++) {
        const int v = sweep->fair->colours.order[i];
        if (!pass->plan->only || pass->plan->only[v / BLOCK]) {
            square[count] = read_gap(sweep, v, sweep->gap[worker] + (size_t)count * rows);
            which[count++] = v;
        }
    }
    if (count == 0 || pass->call->cancelled) {
        return;
    }
    const int n = pass->plan->bytes > 0 ? at_hand_list(pass, s, which, 0, count, 1) : at_hand_all(pass, s);
    const size_t columns = 4 * (size_t)n;
    at_hand_pack(pass, s, n);
    memset(s->d, 0, BATCH * columns * sizeof *s->d);
    product_floats_nn(count, 4 * n, 3 * pass->problem->frames, sweep->gap[worker], rows, s->m, columns, s->d,
                      columns);
    s->view.n = n;
    s->view.stride = (int)at_hand_padded(n);
    s->view.gram = s->gram;
    s->view.diagonal = s->diagonal;
    s->view.allowed = s->allowed;
    for (int i = 0; i < count; i++) {
        Before before;
        Support support;
        double *d = s->d + (size_t)i * columns;
        vertex_load(pass, s, which[i], 1, &before.support);
        memcpy(before.p, pass->model->rest + 3 * (size_t)which[i], sizeof before.p);
        aim(sweep, s, n, &before, square[i], d);
        hold_rest(sweep, s, which[i]);
        vertex_solve(pass, s, n, which[i], d, &support);
        follow(sweep, s, which[i], &before, &support);
    }
}

static void sweep_colours(Sweep *sweep) {
    Fair *fair = sweep->fair;
    const int backwards = fair->turns++ % 2;
    for (int i = 0; i < fair->colours.count && !sweep->pass.call->cancelled; i++) {
        const int colour = backwards ? fair->colours.count - 1 - i : i;
        sweep->begin = fair->colours.first[colour];
        sweep->end = fair->colours.first[colour + 1];
        parallel_run(sweep->pass.call->pool, (sweep->end - sweep->begin + BATCH - 1) / BATCH, solve_batch,
                     sweep);
    }
}

/* pull sum |d|^2 + stiffness sum_edges |d_i - d_j|^2 */
static double rest_energy(const Sweep *sweep) {
    const Problem *problem = sweep->pass.problem;
    const Graph *graph = &problem->graph;
    const PassPlan *plan = sweep->pass.plan;
    const double *rest = sweep->pass.model->rest, *given = problem->rest;
    const double stiffness = plan->rest_stiffness / sweep->fair->beside;
    double sum = 0;
    for (size_t v = 0; v < (size_t)problem->vertices && plan->rest_pull + stiffness > 0; v++) {
        for (size_t i = 0; i < 3; i++) {
            const double d = rest[3 * v + i] - given[3 * v + i];
            sum += plan->rest_pull * problem->mass[v] * d * d;
            for (int64_t e = graph->first[v]; e < graph->first[v + 1] && stiffness > 0; e++) {
                const size_t u = (size_t)graph->neighbour[e];
                const double apart = d - (rest[3 * u + i] - given[3 * u + i]);
                sum += u > v ? stiffness * apart * apart : 0;
            }
        }
    }
    return sum;
}

static int make_sweep(Call *call, Sweep *sweep) {
    Pass *pass = &sweep->pass;
    Arena *arena = &call->arena;
    const Problem *problem = pass->problem;
    const size_t rows = sweep->fair->rows, workers = (size_t)parallel_workers(call->pool);
    const size_t stride = at_hand_padded(pass->model->bones), bones = (size_t)pass->model->bones;
    double *gram = arena_take(arena, bones * MONOMIALS * stride, sizeof *gram);
    double *diagonal = arena_take(arena, MONOMIALS * stride, sizeof *diagonal);
    pass->gram = gram;
    pass->diagonal = diagonal;
    pass->stride = (int)stride;
    pass->scratch = arena_take(arena, workers, sizeof *pass->scratch);
    sweep->gap = arena_take(arena, workers, sizeof *sweep->gap);
    for (size_t i = 0; i < workers && !arena->failed; i++) {
        sweep->gap[i] = arena_take(arena, BATCH * rows, sizeof(float));
        at_hand_scratch(call, problem, pass->model, 1, &pass->scratch[i]);
    }
    return !arena->failed &&
           at_hand_gram(call, problem, pass->model, sweep->fair->gram, gram, diagonal, stride);
}

double fair_pass(Call *call, const Problem *problem, Model *model, Moments *moments, const PassPlan *plan,
                 Fair *fair) {
    ArenaPiece *mark = arena_mark(&call->arena);
    PassPlan here = *plan;
    Sweep sweep = {.pass = {.call = call,
                            .problem = problem,
                            .model = model,
                            .moments = moments,
                            .plan = &here,
                            .holds_groups = memchr(model->held_group, 1, (size_t)model->bones) != NULL},
                   .fair = fair};
    double sum = 0;
    here.given_error = NULL;
    here.smoothing = 0;
    if (make_sweep(call, &sweep)) {
        if (!fair->fresh) {
            turn_transforms(problem, model, fair);
            parallel_run(call->pool, problem->blocks, measure_block, &sweep);
        }
        fair->fresh = !call->cancelled;
        if (plan->given_error) {
            memcpy(plan->given_error, model->error, (size_t)problem->vertices * sizeof *model->error);
        }
        sweep_colours(&sweep);
        sum = fair_moments(&sweep.pass, fair) + rest_energy(&sweep);
    }
    arena_return(&call->arena, mark);
    return sum;
}

double fair_value(Call *call, const Problem *problem, Model *model, Moments *moments, const PassPlan *plan,
                  Fair *fair) {
    uint8_t *none = arena_take(&call->arena, (size_t)problem->blocks, 1);
    PassPlan look = {.only = none, .rest_pull = plan->rest_pull, .rest_stiffness = plan->rest_stiffness};
    if (!none) {
        return -1;
    }
    fair->fresh = 0;
    const double value = fair_pass(call, problem, model, moments, &look, fair);
    fair->fresh = 0;
    arena_give(&call->arena, none);
    return value;
}
