/* shares.c - what a vertex shares over all frames of all subjects, transforms held.
 *
 * Weights: with d_b[f] = M[f][b] p~[s(f)] - x[f] and Q[b,c] = sum_f d_b . d_c,
 *     min w'Qw + SMOOTH tr(Q)/n |w - w^|^2,   w >= 0,  sum w = 1,   w^ the mean weights beside the vertex,
 * over the bones of the vertex and of its neighbours; then the cheapest go until no more than K are left. Q is summed
 * from what bones miss, so nothing cancels (as paint/form.c). Where groups are held with a sum H, the others are
 * (1 - H) u, u >= 0 of sum 1, and miss d_b + sum_held w_c d_c / (1 - H).
 *
 * Rest (Hasler et al. 2010, section 3.5): with A = sum_b w_b R_b and t = sum_b w_b t_b of a frame,
 *     (sum_f A'A + h I) p = sum_f A'(x - t) + h p0   over the frames of the subject, p0 as given. */
#include "subjects/shares.h"

#include <math.h>
#include <string.h>

#include "math/simplex_ls.h"
#include "math/symmetric3.h"

enum { SHARES_CHUNK = 32 };

static const double SMOOTH = 1e-6;       /* of a form's mean: what is open follows the neighbours */
static const double STEADY = 1e-12;      /* likewise, for bones that move the same */
static const double LEAST_SHARED = 1e-4; /* weights below are nothing */
static const double NOTHING_LEFT = 1e-6; /* of a weight of 1 beside held groups */

typedef struct Shares {
    People *people;
    const SharesRoom *room;
    int most; /* bones of a vertex */
    int *bone;
    double *weight;
    double hold;
} Shares;

typedef struct Choices {
    double left; /* 1 - H, for those that are not held */
    int n;
    int bone[SIMPLEX_MAX];
    double beside[SIMPLEX_MAX], q[SIMPLEX_MAX * SIMPLEX_MAX], w[SIMPLEX_MAX];
} Choices;

SharesRoom *shares_take(People *people) {
    Arena *arena = &people->call->arena;
    const int workers = parallel_workers(people->call->pool);
    SharesRoom *room = arena_take(arena, (size_t)workers, sizeof *room);
    for (int i = 0; i < workers && room != NULL; i++) {
        room[i].d = arena_take(arena, 3 * SIMPLEX_MAX * (size_t)people->frames, sizeof(double));
        room[i].sum = arena_take(arena, (size_t)people->bones, sizeof(double));
    }
    return arena->failed ? NULL : room;
}

static void add_weights(const People *people, int v, double times, double *sum) {
    for (int i = v * people->influences; i < (v + 1) * people->influences; i++) {
        if (people->bone[i] >= 0) {
            sum[people->bone[i]] += times * people->weight[i];
        }
    }
}

/* The bones of the vertex and of those beside it, strongest first. */
static void choose(const People *people, int v, double *sum, Choices *choices) {
    const Graph *graph = &people->graph;
    const double around = (double)(graph->first[v + 1] - graph->first[v]);
    memset(sum, 0, (size_t)people->bones * sizeof *sum);
    add_weights(people, v, around > 0 ? 1e-3 : 1, sum);
    for (int64_t i = graph->first[v]; i < graph->first[v + 1]; i++) {
        add_weights(people, graph->neighbour[i], (1 - 1e-3) / around, sum);
    }
    for (int b = 0; b < people->bones; b++) {
        sum[b] = people_holds_group(people, b) ? 0 : sum[b];
    }
    for (choices->n = 0; choices->n < SIMPLEX_MAX; choices->n++) {
        int best = 0;
        for (int b = 1; b < people->bones; b++) {
            best = sum[b] > sum[best] ? b : best;
        }
        if (!(sum[best] > 0)) {
            break;
        }
        choices->bone[choices->n] = best;
        choices->beside[choices->n] = sum[best];
        sum[best] = 0;
    }
}

/* Where all around is held the first that is not. */
static void choose_any(const People *people, Choices *choices) {
    for (int b = 0; b < people->bones && choices->n == 0; b++) {
        if (!people_holds_group(people, b)) {
            choices->bone[choices->n] = b;
            choices->beside[choices->n++] = 1;
        }
    }
}

/* The held weights stay in front; how many there are. */
static int keep_held(const People *people, int v, int *bone, double *weight, Choices *choices) {
    const int k = people->influences;
    int count = 0;
    choices->left = 1;
    for (int i = v * k; i < (v + 1) * k; i++) {
        if (people->weight[i] > 0 && people_holds_group(people, people->bone[i])) {
            bone[count] = people->bone[i];
            weight[count++] = people->weight[i];
            choices->left -= people->weight[i];
        }
    }
    return count;
}

/* d += sum_held w d / (1 - H) */
static void add_held(const People *people, int f, const double *p, const float *x, const Choices *choices,
                     const int *held, const double *weight, int count, double *d) {
    for (int i = 0; i < count; i++) {
        double y[3];
        people_move(people_transform(people, f, held[i]), p, y);
        for (int a = 0; a < 3; a++) {
            d[a] += weight[i] * (y[a] - (double)x[a]) / choices->left;
        }
    }
}

static void make_form(const People *people, int v, const int *held, const double *weight, int count,
                      double *d, Choices *choices) {
    const size_t numbers = 3 * (size_t)people->vertices, row = 3 * (size_t)people->frames;
    for (int f = 0; f < people->frames; f++) {
        const float *x = people->x + (size_t)f * numbers + 3 * (size_t)v;
        const double *p = people->rest + (size_t)people->subject[f] * numbers + 3 * (size_t)v;
        for (int i = 0; i < choices->n; i++) {
            double *to = d + (size_t)i * row + 3 * (size_t)f;
            people_move(people_transform(people, f, choices->bone[i]), p, to);
            for (int a = 0; a < 3; a++) {
                to[a] -= (double)x[a];
            }
            add_held(people, f, p, x, choices, held, weight, count, to);
        }
    }
    for (int i = 0; i < choices->n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < row; k++) {
                sum += d[(size_t)i * row + k] * d[(size_t)j * row + k];
            }
            choices->q[i * SIMPLEX_MAX + j] = choices->q[j * SIMPLEX_MAX + i] = sum;
        }
    }
}

/* |w - w^|^2 of weights of sum 1 is w'(I - w^1' - 1w^' + |w^|^2 11')w */
static double lean(Choices *choices) {
    const int n = choices->n;
    double trace = 0, square = 0, all = 0;
    for (int i = 0; i < n; i++) {
        trace += choices->q[i * SIMPLEX_MAX + i] / n;
        all += choices->beside[i];
    }
    for (int i = 0; i < n; i++) {
        choices->w[i] = choices->beside[i] /= all;
        square += choices->beside[i] * choices->beside[i];
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            choices->q[i * SIMPLEX_MAX + j] +=
                SMOOTH * trace * ((i == j) - choices->beside[i] - choices->beside[j] + square);
        }
    }
    return STEADY * trace + 1e-300;
}

/* Keeps the marked ones, sum 1. */
static void keep(Choices *choices, const uint8_t *stays) {
    int n = 0, at[SIMPLEX_MAX];
    double sum = 0;
    for (int i = 0; i < choices->n; i++) {
        if (stays[i]) {
            at[n++] = i;
            sum += choices->w[i];
        }
    }
    for (int i = 0; i < n; i++) {
        choices->bone[i] = choices->bone[at[i]];
        choices->w[i] = sum > 0 ? choices->w[at[i]] / sum : 1.0 / n;
        for (int j = 0; j < n; j++) {
            choices->q[i * SIMPLEX_MAX + j] = choices->q[at[i] * SIMPLEX_MAX + at[j]];
        }
    }
    choices->n = n;
}

static void keep_some(Choices *choices, double ridge, int most) {
    uint8_t stays[SIMPLEX_MAX];
    simplex_ls(choices->n, choices->q, ridge, choices->w);
    for (int i = 0; i < choices->n; i++) {
        stays[i] = choices->w[i] > 0;
    }
    keep(choices, stays);
    while (choices->n > most) {
        memset(stays, 1, sizeof stays);
        stays[simplex_ls_cheapest(choices->n, choices->q, ridge)] = 0;
        keep(choices, stays);
        simplex_ls(choices->n, choices->q, ridge, choices->w);
    }
    for (int i = 0; i < choices->n; i++) {
        stays[i] = choices->w[i] > LEAST_SHARED;
    }
    keep(choices, stays);
}

static int begin_chunk(const People *people, int task, int worker, int *first) {
    const int end = (task + 1) * SHARES_CHUNK;
    *first = task * SHARES_CHUNK;
    if ((worker == 0 && call_poll(people->call, -1)) || atomic_load(&people->call->cancelled)) {
        return 0;
    }
    return end < people->vertices ? end : people->vertices;
}

static void copy_vertex(const Shares *shares, int v) {
    const size_t k = (size_t)shares->people->influences, at = (size_t)v * k;
    memcpy(shares->bone + at, shares->people->bone + at, k * sizeof *shares->bone);
    memcpy(shares->weight + at, shares->people->weight + at, k * sizeof *shares->weight);
}

static void share_vertex(const Shares *shares, const SharesRoom *room, int v) {
    const People *people = shares->people;
    const int k = people->influences;
    int *bone = shares->bone + v * k;
    double *weight = shares->weight + v * k;
    Choices choices = {0};
    const int held = keep_held(people, v, bone, weight, &choices);
    if (choices.left > NOTHING_LEFT && shares->most > held) {
        choose(people, v, room->sum, &choices);
        choose_any(people, &choices);
        make_form(people, v, bone, weight, held, room->d, &choices);
        keep_some(&choices, lean(&choices), shares->most - held);
    }
    for (int i = held; i < k; i++) {
        bone[i] = i - held < choices.n ? choices.bone[i - held] : -1;
        weight[i] = i - held < choices.n ? choices.left * choices.w[i - held] : 0;
    }
}

static void share_chunk(void *user, int task, int worker) {
    const Shares *shares = user;
    const People *people = shares->people;
    const SharesRoom *room = &shares->room[worker];
    int v, end = begin_chunk(people, task, worker, &v);
    for (; v < end; v++) {
        if (people_holds_weights(people, v)) {
            copy_vertex(shares, v);
        } else {
            share_vertex(shares, room, v);
        }
    }
}

void shares_update(People *people, const SharesRoom *room, int *spare_bone, double *spare_weight) {
    const size_t slots = (size_t)people->vertices * (size_t)people->influences;
    const int most = people->held ? (int)people->call->settings->influences : people->influences;
    Shares shares = {people, room, most, spare_bone, spare_weight, 0};
    parallel_run(people->call->pool, (people->vertices + SHARES_CHUNK - 1) / SHARES_CHUNK, share_chunk,
                 &shares);
    if (!atomic_load(&people->call->cancelled)) {
        memcpy(people->bone, spare_bone, slots * sizeof *spare_bone);
        memcpy(people->weight, spare_weight, slots * sizeof *spare_weight);
    }
}

/* m = sum_b w_b M_b */
static void blend(const People *people, int f, int v, double m[12]) {
    memset(m, 0, 12 * sizeof *m);
    for (int i = v * people->influences; i < (v + 1) * people->influences; i++) {
        for (int j = 0; j < 12 && people->bone[i] >= 0; j++) {
            m[j] += people->weight[i] * people_transform(people, f, people->bone[i])[j];
        }
    }
}

static void rest_of(const People *people, int s, int v, double hold) {
    const size_t at = 3 * ((size_t)s * (size_t)people->vertices + (size_t)v);
    double a[9] = {0}, y[3] = {0}, m[12], p[3];
    for (int f = 0; f < people->frames; f++) {
        const float *x = people->x + 3 * ((size_t)f * (size_t)people->vertices + (size_t)v);
        if (people->subject[f] != s) {
            continue;
        }
        blend(people, f, v, m);
        for (int r = 0; r < 3; r++) {
            double off = (double)x[r] - m[4 * r + 3]; /* x - t - A p0 */
            for (size_t c = 0; c < 3; c++) {
                off -= m[4 * r + (int)c] * people->given[at + c];
            }
            for (int i = 0; i < 3; i++) {
                y[i] += m[4 * r + i] * off;
                for (int j = 0; j < 3; j++) {
                    a[3 * i + j] += m[4 * r + i] * m[4 * r + j];
                }
            }
        }
    }
    symmetric3_solve(a, hold, y, p);
    for (size_t i = 0; i < 3; i++) {
        people->rest[at + i] = people->given[at + i] + p[i];
    }
}

static void rest_chunk(void *user, int task, int worker) {
    const Shares *shares = user;
    int v, end = begin_chunk(shares->people, task, worker, &v);
    for (; v < end; v++) {
        for (int s = 0; s < shares->people->subjects && !people_holds_rest(shares->people, v); s++) {
            rest_of(shares->people, s, v, shares->hold);
        }
    }
}

void shares_rest(People *people, double hold) {
    Shares shares = {.people = people, .hold = hold};
    parallel_run(people->call->pool, (people->vertices + SHARES_CHUNK - 1) / SHARES_CHUNK, rest_chunk,
                 &shares);
}
