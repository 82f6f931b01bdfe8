/* reseed.c - bones go where the error is most and leave where they matter least.
 *
 * SSDR 3.3.1 re-initialises a bone that carries almost nothing: at the worst vertex, by Kabsch on
 * its 20 nearest vertices. Here that grows into two moves on any number of bones. Insert: at the
 * worst places, fitted to what the present bones leave unexplained (a soft fit: vertex i takes the
 * share a_i of the new bone N that fits best, r.d / d.d with d = N p - y, and N is fitted again to
 * (x - (1 - a) y) / a with weight a^2). Remove: the bone whose loss costs least when its vertices are
 * solved again without it. Neither lowers the error by itself: callers measure and may take it back.
 *
 * Worst is where neighbours miss in the same way: with r = x - y the mean of r_v.r_w over the neighbours w of
 * v. Noise is the same everywhere, but no two vertices share it. */
#include "starts/reseed.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "core/tolerances.h"
#include "math/elementary.h"
#include "math/rotation3.h"
#include "math/walk.h"

enum { LEAST_BALL = 20, SOFT_ROUNDS = 4, MOST_RESIDUALS = 1 << 22 };

static const double NEWCOMER_SHARE = 0.05; /* a new bone's weight in its ball, so that it is seen at all */
static const double UNSHARED = 0.01;       /* of its error: what a vertex counts that shares nothing */

/* A patch of the surface with all its positions. */
typedef struct Ball {
    int count;
    const int *vertex;
    double *x, *y; /* [count][3F] observed, and as the model has it; y NULL: as observed */
    double *share; /* [count]; NULL: 1 */
} Ball;

/* y = sum_k w M p~ in every frame */
static void replay(const Problem *problem, const Model *model, int v, double *y) {
    const double *p = model->rest + 3 * (size_t)v;
    const size_t row = 4 * (size_t)model->capacity, at = (size_t)v * (size_t)model->influences;
    for (size_t i = 0; i < 3 * (size_t)problem->frames; i++) {
        y[i] = 0;
        for (int k = 0; k < model->influences && model->bone[at + (size_t)k] >= 0; k++) {
            const double *m = model->transform + i * row + 4 * (size_t)model->bone[at + (size_t)k];
            y[i] += model->weight[at + (size_t)k] * (m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3]);
        }
    }
}

/* Kabsch in one frame: bone b takes the ball's vertices to (x - (1 - a) y) / a, weighted by a^2. */
static void fit_frame(const Problem *problem, Model *model, const Ball *ball, int b, size_t frame) {
    const size_t rows = 3 * (size_t)problem->frames, row = 4 * (size_t)model->capacity;
    double c[3][4] = {{0}}, s[3] = {0}, mass = 0;
    for (int i = 0; i < ball->count; i++) {
        const double a = ball->share ? ball->share[i] : 1, *p = model->rest + 3 * (size_t)ball->vertex[i];
        const double w = problem->mass[ball->vertex[i]];
        const double *x = ball->x + (size_t)i * rows + 3 * frame;
        const double *y = ball->y ? ball->y + (size_t)i * rows + 3 * frame : x;
        mass += w * a * a;
        for (int j = 0; j < 3; j++) {
            const double target = w * a * (x[j] - (1 - a) * y[j]);
            s[j] += w * a * a * p[j];
            c[j][0] += target * p[0], c[j][1] += target * p[1], c[j][2] += target * p[2], c[j][3] += target;
        }
    }
    if (!(mass > 0)) {
        return;
    }
    double *m = model->transform + 3 * frame * row + 4 * (size_t)b, h[9], r[9];
    for (size_t i = 0; i < 9; i++) {
        h[i] = c[i / 3][i % 3] - c[i / 3][3] * s[i % 3] / mass;
        r[i] = m[i / 3 * row + i % 3];
    }
    rotation3_nearest(h, r, r);
    for (size_t i = 0; i < 3; i++) {
        memcpy(m + i * row, r + 3 * i, 3 * sizeof *r);
        m[i * row + 3] = (c[i][3] - r[3 * i] * s[0] - r[3 * i + 1] * s[1] - r[3 * i + 2] * s[2]) / mass;
    }
}

static void update_shares(const Problem *problem, const Model *model, Ball *ball, int b) {
    const size_t rows = 3 * (size_t)problem->frames, row = 4 * (size_t)model->capacity;
    for (int i = 0; i < ball->count; i++) {
        const double *p = model->rest + 3 * (size_t)ball->vertex[i];
        double rd = 0, dd = 0;
        for (size_t j = 0; j < rows; j++) {
            const double *m = model->transform + j * row + 4 * (size_t)b, y = ball->y[(size_t)i * rows + j];
            const double d = m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3] - y;
            rd += (ball->x[(size_t)i * rows + j] - y) * d;
            dd += d * d;
        }
        ball->share[i] = dd > 0 ? fmin(fmax(rd / dd, 0), 1) : 0;
    }
}

/* Starts from the bone that carries the seed most, so that rotations have a guess; returns it. */
static int copy_strongest(const Problem *problem, Model *model, int seed, int b) {
    const size_t row = 4 * (size_t)model->capacity, at = (size_t)seed * (size_t)model->influences;
    int best = 0;
    for (int k = 1; k < model->influences; k++) {
        best = model->weight[at + (size_t)k] > model->weight[at + (size_t)best] ? k : best;
    }
    const int from = model->bone[at + (size_t)best] >= 0 ? model->bone[at + (size_t)best] : 0;
    for (size_t i = 0; i < 3 * (size_t)problem->frames; i++) {
        memcpy(model->transform + i * row + 4 * b, model->transform + i * row + 4 * from, 4 * sizeof(double));
    }
    return from;
}

/* 1 when no weight of the vertex may change. */
static int is_held(const Problem *problem, int v) {
    return problem->held && problem->held[v];
}

static double free_weight(const Model *model, size_t at) {
    return model->bone[at] >= 0 && !model->held_group[model->bone[at]] ? model->weight[at] : 0;
}

/* The vertex gives `share` of itself, less what is held, to bone b, its least bone leaving if there is no room. */
static void hand_over(Model *model, int v, int b, double share) {
    const size_t at = (size_t)v * (size_t)model->influences;
    int least = -1;
    double sum = 0, held = 0;
    for (int k = 0; k < model->influences; k++) {
        const int other = model->bone[at + (size_t)k];
        if (other < 0) {
            least = k;
            break;
        }
        if (model->held_group[other]) {
            held += model->weight[at + (size_t)k];
        } else if (least < 0 || model->weight[at + (size_t)k] < model->weight[at + (size_t)least]) {
            least = k;
        }
    }
    if (least < 0 || held >= 1) {
        return;
    }
    model->bone[at + (size_t)least] = b;
    model->weight[at + (size_t)least] = 0;
    for (int k = 0; k < model->influences; k++) {
        sum += free_weight(model, at + (size_t)k);
    }
    for (int k = 0; k < model->influences; k++) {
        if (free_weight(model, at + (size_t)k) > 0) {
            model->weight[at + (size_t)k] *= (1 - held) * (1 - share) / sum;
        }
    }
    model->weight[at + (size_t)least] = (1 - held) * (sum > 0 ? share : 1);
}

static void seed_bone(Call *call, const Problem *problem, Model *model, Ball *ball, int seed) {
    const int b = model->bones++;
    const size_t rows = 3 * (size_t)problem->frames;
    copy_strongest(problem, model, seed, b);
    for (int i = 0; i < ball->count; i++) {
        problem_read(problem, ball->vertex[i], ball->x + (size_t)i * rows);
        replay(problem, model, ball->vertex[i], ball->y + (size_t)i * rows);
        ball->share[i] = 1;
    }
    for (int round = 0; round <= SOFT_ROUNDS && !call_poll(call, -1); round++) {
        for (int f = 0; f < problem->frames; f++) {
            fit_frame(problem, model, ball, b, (size_t)f);
        }
        update_shares(problem, model, ball, b);
    }
    for (int i = 0; i < ball->count; i++) {
        if (!is_held(problem, ball->vertex[i])) {
            hand_over(model, ball->vertex[i], b, fmax(ball->share[i], NEWCOMER_SHARE));
        }
    }
}

void reseed_fit(const Problem *problem, Model *model, const int *vertex, int count, double *x, int b) {
    const Ball ball = {.count = count, .vertex = vertex, .x = x};
    copy_strongest(problem, model, vertex[0], b);
    for (int i = 0; i < count; i++) {
        problem_read(problem, vertex[i], x + 3 * (size_t)i * (size_t)problem->frames);
    }
    for (int f = 0; f < problem->frames; f++) {
        fit_frame(problem, model, &ball, b, (size_t)f);
    }
}

double reseed_distance(const Problem *problem, const Model *model, int v, int b, const double *x) {
    const size_t row = 4 * (size_t)model->capacity;
    const double *p = model->rest + 3 * (size_t)v;
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)problem->frames; i++) {
        const double *m = model->transform + i * row + 4 * (size_t)b;
        const double d = m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3] - x[i];
        sum += d * d;
    }
    return sum;
}

int reseed_is_explained(const Problem *problem, double squared) {
    return squared <= FLOAT_NOISE * problem->frames;
}

/* Of a vertex and its neighbours. */
static double local_mean(const Problem *problem, const double *value, int v) {
    const Graph *graph = &problem->graph;
    double sum = value[v];
    for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
        sum += value[graph->neighbour[e]];
    }
    return sum / (double)(graph->first[v + 1] - graph->first[v] + 1);
}

/* residual [v][3F], for as many vertices as there are */
static void gather_residuals(const Problem *problem, const Model *model, double *x, double *y,
                             float *residual) {
    const size_t rows = 3 * (size_t)problem->frames;
    for (int v = 0; v < problem->vertices; v++) {
        problem_read(problem, v, x);
        replay(problem, model, v, y);
        for (size_t i = 0; i < rows; i++) {
            residual[(size_t)v * rows + i] = (float)(x[i] - y[i]);
        }
    }
}

/* Mean of r_v.r_w over the neighbours w of v. */
static double agreement(const Problem *problem, const float *residual, int v) {
    const Graph *graph = &problem->graph;
    const size_t rows = 3 * (size_t)problem->frames;
    const float *mine = residual + (size_t)v * rows;
    double sum = 0;
    for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
        const float *other = residual + (size_t)graph->neighbour[e] * rows;
        for (size_t i = 0; i < rows; i++) {
            sum += (double)mine[i] * (double)other[i];
        }
    }
    return sum / fmax(1, (double)(graph->first[v + 1] - graph->first[v]));
}

/* score [v]: how bad a place is. The mean of a vertex and its neighbours, so that one bad vertex is no place
 * for a bone: of their errors or, when places are drawn and it does not take too much memory, of what they
 * share. The worst of all is the worst either way. */
static int score_places(Call *call, const Problem *problem, const Model *model, int drawn, double *score) {
    const size_t rows = 3 * (size_t)problem->frames, n = (size_t)problem->vertices;
    ArenaPiece *mark = arena_mark(&call->arena);
    for (size_t v = 0; v < n; v++) {
        score[v] = local_mean(problem, model->error, (int)v);
    }
    if (drawn && n <= MOST_RESIDUALS / rows) {
        double *x = arena_take(&call->arena, 2 * rows, sizeof *x);
        float *residual = arena_take(&call->arena, n * rows, sizeof *residual);
        double *shared = arena_take(&call->arena, n, sizeof *shared);
        if (call->arena.failed) {
            return 0;
        }
        gather_residuals(problem, model, x, x + rows, residual);
        for (size_t v = 0; v < n; v++) {
            shared[v] = agreement(problem, residual, (int)v);
        }
        for (size_t v = 0; v < n; v++) {
            score[v] = fmax(local_mean(problem, shared, (int)v), UNSHARED * score[v]);
        }
    }
    arena_return(&call->arena, mark);
    return 1;
}

static int worst_open(const double *score, const uint8_t *closed, int n) {
    int worst = -1;
    for (int v = 0; v < n; v++) {
        if (!closed[v] && (worst < 0 || score[v] > score[worst])) {
            worst = v;
        }
    }
    return worst;
}

int reseed_worst(const Problem *problem, const Model *model, int of) {
    int worst = -1;
    double most = -1;
    for (int v = 0; v < problem->vertices; v++) {
        const double error = local_mean(problem, model->error, v);
        if (error > most && !is_held(problem, v) && (of < 0 || model_follows(model, v, of))) {
            most = error;
            worst = v;
        }
    }
    return worst;
}

/* What it takes to insert bones. */
typedef struct Insertion {
    Walk walk;
    Ball ball;
    int most, reach; /* vertices of a ball, and how far from its seed the next seed must be */
} Insertion;

static int make_insertion(Call *call, const Problem *problem, int bones, Insertion *insertion) {
    const int n = problem->vertices;
    const int most = LEAST_BALL + n / (8 * bones) < n ? LEAST_BALL + n / (8 * bones) : n;
    const size_t rows = 3 * (size_t)problem->frames;
    Ball *ball = &insertion->ball;
    insertion->most = most;
    insertion->reach = n / (2 * bones) > most ? n / (2 * bones) : most;
    ball->x = arena_take(&call->arena, (size_t)most * rows, sizeof(double));
    ball->y = arena_take(&call->arena, (size_t)most * rows, sizeof(double));
    ball->share = arena_take(&call->arena, (size_t)most, sizeof(double));
    return walk_make(&call->arena, &problem->graph, &insertion->walk);
}

static void reach(const Problem *problem, int seed, Insertion *insertion) {
    walk_begin(&insertion->walk);
    walk_source(&insertion->walk, seed);
    walk_run(&insertion->walk, &problem->graph, insertion->reach, INFINITY);
}

/* What the walk reached is near the new bone. */
static void insert_at(Call *call, const Problem *problem, Model *model, int seed, Insertion *insertion) {
    const Walk *walk = &insertion->walk;
    reach(problem, seed, insertion);
    insertion->ball.vertex = walk->reached;
    insertion->ball.count = walk->reached_count < insertion->most ? walk->reached_count : insertion->most;
    seed_bone(call, problem, model, &insertion->ball, seed);
}

static void double_strongest(const Problem *problem, Model *model, int seed, const Walk *walk, int most) {
    const int b = model->bones++, from = copy_strongest(problem, model, seed, b);
    for (int i = 0; i < walk->reached_count && i < most && !model->held_group[from]; i++) {
        const size_t at = (size_t)walk->reached[i] * (size_t)model->influences;
        for (int k = 0; k < model->influences && !is_held(problem, walk->reached[i]); k++) {
            if (model->bone[at + (size_t)k] == from) {
                model->bone[at + (size_t)k] = b;
            }
        }
    }
}

int reseed_at(Call *call, const Problem *problem, Model *model, int vertex, int doubled) {
    ArenaPiece *mark = arena_mark(&call->arena);
    Insertion insertion;
    const int ready = make_insertion(call, problem, model->bones + 1, &insertion);
    if (ready && doubled) {
        reach(problem, vertex, &insertion);
        double_strongest(problem, model, vertex, &insertion.walk, insertion.most);
    } else if (ready) {
        insert_at(call, problem, model, vertex, &insertion);
    }
    arena_return(&call->arena, mark);
    return ready;
}

int reseed_insert(Call *call, const Problem *problem, Model *model, int count, uint64_t *random) {
    ArenaPiece *mark = arena_mark(&call->arena);
    const int room = model->capacity - model->bones, n = problem->vertices;
    count = count < room ? count : room;
    uint8_t *closed = arena_take(&call->arena, (size_t)n, 1);
    double *score = arena_take(&call->arena, (size_t)n, sizeof *score);
    Insertion insertion;
    int inserted = -1;
    if (make_insertion(call, problem, model->bones + count, &insertion) &&
        score_places(call, problem, model, random != NULL, score)) {
        for (int v = 0; v < n; v++) {
            closed[v] = (uint8_t)is_held(problem, v);
            if (random) { /* the largest of score / exponential draw: each with a chance as its score */
                score[v] /= -elementary_log(1 - random_unit(random)) + 1e-9;
            }
        }
        for (inserted = 0; inserted < count && !call->cancelled; inserted++) {
            const int seed = worst_open(score, closed, n);
            if (seed < 0 || reseed_is_explained(problem, local_mean(problem, model->error, seed))) {
                break;
            }
            insert_at(call, problem, model, seed, &insertion);
            for (int i = 0; i < insertion.walk.reached_count; i++) {
                closed[insertion.walk.reached[i]] = 1;
            }
        }
    }
    arena_return(&call->arena, mark);
    return inserted;
}

int reseed_cheapest(const Model *model, const double *cost) {
    int cheapest = -1;
    for (int b = 0; b < model->bones; b++) {
        if ((cheapest < 0 || cost[b] < cost[cheapest]) && !model->stays[b]) {
            cheapest = b;
        }
    }
    return cheapest;
}
