/* coefficients.c - the vertices' step: with D as it is, each vertex chooses its virtual bones and blends them.
 *
 *     min over alpha of E_v(D alpha),   sum alpha = 1, alpha >= 0 unless affine, at most 2, 3 or 4 not 0
 *
 * Le & Deng 2013, 3.4. As in Algorithm 2 the candidates are what the vertex has and what its neighbours have (fairness
 * on the surface), so that a round costs a constant a vertex. Deviations: there, two candidates come from one neighbour
 * at a time, six pairs are compared, and changes run through the mesh depth first. Here all that lies within two edges
 * is compared at once, every pair of it; three and four are the convex optimum of all candidates, from which the
 * cheapest leave; and vertices go in chunks of a curve over the surface, in order within a chunk, so that a find still
 * runs on at once, while another chunk's vertices count as they were before the round: the same on any number of
 * threads. Odd rounds run backwards. */
#include "compress/coefficients.h"

#include <math.h>
#include <string.h>

#include "math/simplex_ls.h"

enum {
    ROUND_CHUNK = 512,   /* vertices */
    MOST_CANDIDATES = 12 /* virtual bones that a vertex compares */
};

static const double FORM_RIDGE = 1e-12;   /* of a vertex's form: covers its rounding */
static const double SUM_ROUNDING = 1e-14; /* of a vertex's form: of a few products, summed */
static const double WORTH_CHANGE =
    1e-9; /* of the error and the form's rounding: smaller gains change no choice */
static const double AFFINE_MOST = 4; /* of a coefficient's size: larger ones cancel each other */

/* A vertex and its candidates, of which the first are what it has. */
typedef struct Choice {
    int count, own;
    int atom[MOST_CANDIDATES];
    double c[MOST_CANDIDATES * MOST_CANDIDATES]; /* d'H d */
    double linear[MOST_CANDIDATES];              /* d'g */
    double square, ridge;
} Choice;

/* Candidates with their coefficients. */
typedef struct Blend {
    int count;
    int at[MOST_BLENDED];
    double alpha[MOST_BLENDED];
    double error;
} Blend;

typedef struct Round {
    Call *call;
    const Target *target;
    const Graph *graph;
    Layers *layers;
    const int *before; /* [v][influences] atoms before the round */
    int backwards;
    double spare; /* of E that a vertex gives for fewer virtual bones */
    CoefficientsRoom *room;
} Round;

static void meet(Choice *choice, int atom, int *met) {
    if (met[atom] < choice->count && choice->atom[met[atom]] == atom) {
        return;
    }
    if (choice->count < MOST_CANDIDATES) {
        met[atom] = choice->count;
        choice->atom[choice->count++] = atom;
    }
}

static const int *atoms_of(const Round *round, int v, int begin, int end) {
    const size_t k = (size_t)round->layers->influences;
    return (v >= begin && v < end ? round->layers->atom : round->before) + (size_t)v * k;
}

/* What the vertices beside u have. */
static void meet_around(const Round *round, int u, int begin, int end, int *met, Choice *choice) {
    const Graph *graph = round->graph;
    for (int i = 0; i < round->layers->influences; i++) {
        for (int64_t e = graph->first[u]; e < graph->first[u + 1]; e++) {
            const int atom = atoms_of(round, graph->neighbour[e], begin, end)[i];
            if (atom >= 0) {
                meet(choice, atom, met);
            }
        }
    }
}

static void gather(const Round *round, int v, int begin, int end, int *met, Choice *choice) {
    const Layers *layers = round->layers;
    const Graph *graph = round->graph;
    const int *own = layers->atom + (size_t)v * (size_t)layers->influences;
    choice->count = 0;
    for (int i = 0; i < layers->influences && own[i] >= 0; i++) {
        meet(choice, own[i], met);
    }
    choice->own = choice->count;
    if (layers->count <= MOST_CANDIDATES) {
        for (int a = 0; a < layers->count; a++) {
            meet(choice, a, met);
        }
        return;
    }
    meet_around(round, v, begin, end, met, choice);
    for (int64_t e = graph->first[v]; e < graph->first[v + 1] && choice->count < MOST_CANDIDATES; e++) {
        meet_around(round, graph->neighbour[e], begin, end, met, choice);
    }
}

/* u = H d */
static void apply(const Target *target, const Layers *layers, int atom, const double *h, double *u) {
    const size_t k = (size_t)target->bones, c = (size_t)layers->masters;
    const int *master = layers->master + (size_t)atom * c;
    const double *share = layers->share + (size_t)atom * c;
    memset(u, 0, k * sizeof *u);
    for (int j = 0; j < layers->used[atom]; j++) {
        if (target->terms == 1) {
            u[master[j]] = share[j];
            continue;
        }
        const double *row = h + (size_t)master[j] * k;
        for (size_t b = 0; b < k; b++) {
            u[b] += share[j] * row[b];
        }
    }
}

static double along(const Layers *layers, int atom, const double *u) {
    const int *master = layers->master + (size_t)atom * (size_t)layers->masters;
    const double *share = layers->share + (size_t)atom * (size_t)layers->masters;
    double sum = 0;
    for (int j = 0; j < layers->used[atom]; j++) {
        sum += share[j] * u[master[j]];
    }
    return sum;
}

/* The candidates' products */
static void look(const Target *target, const Layers *layers, int v, const CoefficientsRoom *room,
                 Choice *choice) {
    const size_t k = (size_t)target->bones;
    double term[POSE_TERMS], trace = 0;
    if (target->terms > 1) {
        target_terms(target, v, term);
        target_form(target, term, room->h);
    }
    choice->square = target->square[v];
    for (int i = 0; i < choice->count; i++) {
        double *u = room->u + (size_t)i * k;
        apply(target, layers, choice->atom[i], room->h, u);
        choice->linear[i] = along(layers, choice->atom[i], target->linear + (size_t)v * k);
        for (int j = 0; j <= i; j++) {
            choice->c[i * MOST_CANDIDATES + j] = choice->c[j * MOST_CANDIDATES + i] =
                along(layers, choice->atom[j], u);
        }
        trace += choice->c[i * MOST_CANDIDATES + i];
    }
    choice->ridge = FORM_RIDGE * (trace / choice->count + choice->square) + 1e-300;
}

static double c_at(const Choice *choice, int i, int j) {
    return choice->c[i * MOST_CANDIDATES + j];
}

static double error_of(const Choice *choice, const Blend *blend) {
    double error = choice->square;
    for (int i = 0; i < blend->count; i++) {
        double product = -2 * choice->linear[blend->at[i]];
        for (int j = 0; j < blend->count; j++) {
            product += c_at(choice, blend->at[i], blend->at[j]) * blend->alpha[j];
        }
        error += blend->alpha[i] * product;
    }
    return error;
}

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* Eq. 6 with signs: a = (C_ss - C_rs + l_r - l_s) / (C_rr - 2 C_rs + C_ss) */
static double pair_share(const Choice *choice, int r, int s, int affine) {
    const double rs = c_at(choice, r, s), ss = c_at(choice, s, s);
    const double bend = c_at(choice, r, r) - 2 * rs + ss + choice->ridge;
    const double share = (ss - rs + choice->linear[r] - choice->linear[s]) / bend;
    return affine ? clamp(share, 1 - AFFINE_MOST, AFFINE_MOST) : clamp(share, 0, 1);
}

static Blend pair_of(const Choice *choice, int r, int s, int affine) {
    const double share = pair_share(choice, r, s, affine);
    Blend blend = {.count = 2, .at = {r, s}, .alpha = {share, 1 - share}};
    blend.error = error_of(choice, &blend);
    return blend;
}

/* Whether a pair may come below an error, from that of s alone: E(a) = E_s + a (a bend - 2 slope), without a division for
 * most. */
static int pair_may_help(double slope, double bend, double single, double least, double most, double below) {
    if (slope < least * bend || slope > most * bend) {
        const double a = slope < least * bend ? least : most;
        return single + a * (a * bend - 2 * slope) < below;
    }
    return slope * slope > (single - below) * bend;
}

static Blend best_pair(const Choice *choice, int affine) {
    const double most = affine ? AFFINE_MOST : 1, least = 1 - most;
    Blend best = {.count = 1, .at = {0}, .alpha = {1}};
    double single[MOST_CANDIDATES];
    best.error = error_of(choice, &best);
    for (int r = 0; r < choice->count; r++) {
        const double rr = c_at(choice, r, r), lr = choice->linear[r];
        single[r] = choice->square - 2 * lr + rr;
        for (int s = 0; s < r; s++) {
            const double rs = c_at(choice, r, s), ss = c_at(choice, s, s), ls = choice->linear[s];
            if (!pair_may_help(ss - rs + lr - ls, rr - 2 * rs + ss + choice->ridge, single[s], least, most,
                               best.error)) {
                continue;
            }
            const double a = pair_share(choice, r, s, affine), b = 1 - a;
            const double error =
                choice->square + a * (a * rr - 2 * lr) + b * (b * ss - 2 * ls) + 2 * a * b * rs;
            if (error < best.error) {
                best = (Blend){.count = 2, .at = {r, s}, .alpha = {a, b}, .error = error};
            }
        }
    }
    return best;
}

/* Q of some candidates: with coefficients of sum 1, E = alpha'Q alpha. */
static void form_of(const Choice *choice, int count, const int *at, double *q) {
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            q[i * SIMPLEX_MAX + j] =
                c_at(choice, at[i], at[j]) - choice->linear[at[i]] - choice->linear[at[j]] + choice->square;
        }
    }
}

static int drop_zeros(int count, int *at, double *alpha) {
    int left = 0;
    for (int i = 0; i < count; i++) {
        if (alpha[i] != 0) {
            at[left] = at[i];
            alpha[left++] = alpha[i];
        }
    }
    return left;
}

/* The optimum of candidates, signs or not, on at most `most` of them. */
static Blend solve_few(const Choice *choice, int count, int *at, double *alpha, int most, int affine) {
    double q[SIMPLEX_MAX * SIMPLEX_MAX];
    Blend blend = {0};
    for (;;) {
        form_of(choice, count, at, q);
        simplex_ls(count, q, choice->ridge, alpha);
        count = drop_zeros(count, at, alpha);
        if (count <= most) {
            break;
        }
        form_of(choice, count, at, q);
        const int gone = simplex_ls_cheapest(count, q, choice->ridge);
        double sum = 0;
        at[gone] = at[--count];
        alpha[gone] = alpha[count];
        for (int i = 0; i < count; i++) {
            sum += alpha[i];
        }
        for (int i = 0; i < count; i++) {
            alpha[i] = sum > 0 ? alpha[i] / sum : 1.0 / count;
        }
    }
    blend.count = count;
    memcpy(blend.at, at, (size_t)count * sizeof *at);
    memcpy(blend.alpha, alpha, (size_t)count * sizeof *alpha);
    blend.error = error_of(choice, &blend);
    if (affine && count > 1) {
        Blend other = blend;
        SimplexInverse of;
        form_of(choice, count, at, q);
        simplex_ls_invert(count, q, choice->ridge, &of);
        for (int i = 0; i < count; i++) {
            other.alpha[i] = of.z[i] / of.sum;
            if (!(fabs(other.alpha[i]) <= AFFINE_MOST)) {
                return blend;
            }
        }
        other.error = error_of(choice, &other);
        return other.error < blend.error ? other : blend;
    }
    return blend;
}

/* From the best pair on, all candidates let in. */
static Blend best_few(const Choice *choice, const Blend *pair, int most, int affine) {
    int at[MOST_CANDIDATES];
    double alpha[MOST_CANDIDATES] = {0};
    for (int i = 0; i < choice->count; i++) {
        at[i] = i;
    }
    for (int i = 0; i < pair->count; i++) {
        alpha[pair->at[i]] = affine ? 1.0 / pair->count : pair->alpha[i];
    }
    return solve_few(choice, choice->count, at, alpha, most, affine);
}

/* What the vertex has, blended anew. */
static Blend keep_own(const Choice *choice, int affine) {
    if (choice->own == 2) {
        return pair_of(choice, 0, 1, affine);
    }
    int at[MOST_CANDIDATES];
    double alpha[MOST_CANDIDATES];
    for (int i = 0; i < choice->own; i++) {
        at[i] = i;
        alpha[i] = 1.0 / choice->own;
    }
    return solve_few(choice, choice->own, at, alpha, MOST_BLENDED, affine);
}

static void store(const Choice *choice, const Blend *blend, int v, Layers *layers) {
    const size_t k = (size_t)layers->influences, at = (size_t)v * k;
    size_t used = 0;
    for (int i = 0; i < blend->count; i++) {
        if (blend->alpha[i] != 0) {
            layers->atom[at + used] = choice->atom[blend->at[i]];
            layers->alpha[at + used++] = blend->alpha[i];
        }
    }
    for (; used < k; used++) {
        layers->atom[at + used] = -1;
        layers->alpha[at + used] = 0;
    }
    layers->error[v] = blend->error;
}

static double as_it_is(const Choice *choice, const Layers *layers, int v) {
    Blend blend = {.count = choice->own};
    for (int i = 0; i < choice->own; i++) {
        blend.at[i] = i;
        blend.alpha[i] = layers->alpha[(size_t)v * (size_t)layers->influences + (size_t)i];
    }
    return error_of(choice, &blend);
}

static void take_better(const Choice *choice, const Blend *blend, Blend *best) {
    if (blend->error < best->error - WORTH_CHANGE * fabs(best->error) - choice->ridge) {
        *best = *blend;
    }
}

static void update_vertex(const Round *round, int v, int begin, int end, const CoefficientsRoom *room) {
    Layers *layers = round->layers;
    Choice choice;
    gather(round, v, begin, end, room->met, &choice);
    look(round->target, layers, v, room, &choice);
    layers->error[v] = as_it_is(&choice, layers, v);
    Blend best = {.error = layers->error[v]};
    const Blend pair = best_pair(&choice, layers->affine);
    if (choice.own > 0) {
        const Blend own = keep_own(&choice, layers->affine);
        if (own.error < best.error - SUM_ROUNDING * choice.ridge / FORM_RIDGE) {
            best = own;
        }
    } else {
        best.error = INFINITY;
    }
    take_better(&choice, &pair, &best);
    if (layers->influences > 2) {
        const Blend few = best_few(&choice, &pair, layers->influences, layers->affine);
        take_better(&choice, &few, &best);
    }
    if (best.count > 0) {
        store(&choice, &best, v, layers);
    }
}

static void update_chunk(void *user, int task, int worker) {
    const Round *round = user;
    const int begin = task * ROUND_CHUNK, next = begin + ROUND_CHUNK;
    const int end = next < round->layers->vertices ? next : round->layers->vertices;
    for (int i = begin; i < end && !atomic_load(&round->call->cancelled); i++) {
        if (worker == 0 && (i - begin) % 64 == 0) {
            call_poll(round->call, -1);
        }
        update_vertex(round, round->backwards ? begin + end - 1 - i : i, begin, end, &round->room[worker]);
    }
}

/* The blend without the one that it misses least */
static Blend without_one(const Choice *choice, const Blend *blend, int affine) {
    Blend best = {.error = INFINITY};
    for (int gone = 0; gone < blend->count; gone++) {
        int at[MOST_CANDIDATES], left = 0;
        double alpha[MOST_CANDIDATES];
        for (int i = 0; i < blend->count; i++) {
            if (i != gone) {
                at[left] = blend->at[i];
                alpha[left++] = 1.0 / (blend->count - 1);
            }
        }
        const Blend other = solve_few(choice, left, at, alpha, left, affine);
        best = other.error < best.error ? other : best;
    }
    return best;
}

static void thin_vertex(const Round *round, int v, const CoefficientsRoom *room) {
    Layers *layers = round->layers;
    const int *own = layers->atom + (size_t)v * (size_t)layers->influences;
    Choice choice = {0};
    for (int i = 0; i < layers->influences && own[i] >= 0; i++) {
        meet(&choice, own[i], room->met);
    }
    choice.own = choice.count;
    look(round->target, layers, v, room, &choice);
    Blend best = keep_own(&choice, layers->affine);
    const double most = fmin(best.error, as_it_is(&choice, layers, v)) + round->spare;
    while (best.count > 1) {
        const Blend fewer = without_one(&choice, &best, layers->affine);
        if (!(fewer.error <= most)) {
            break;
        }
        best = fewer;
    }
    if (best.error <= most) {
        store(&choice, &best, v, layers);
    }
}

static void thin_chunk(void *user, int task, int worker) {
    const Round *round = user;
    const int next = (task + 1) * ROUND_CHUNK;
    for (int v = task * ROUND_CHUNK; v < next && v < round->layers->vertices; v++) {
        if (worker == 0 && v % 64 == 0) {
            call_poll(round->call, -1);
        }
        thin_vertex(round, v, &round->room[worker]);
    }
}

int coefficients_room(Arena *arena, const Target *target, int atoms, CoefficientsRoom *room) {
    const size_t k = (size_t)target->bones;
    room->h = arena_take(arena, k * k, sizeof(double));
    room->u = arena_take(arena, MOST_CANDIDATES * k, sizeof(double));
    room->met = arena_take(arena, (size_t)atoms, sizeof(int));
    return !arena->failed;
}

static int make_rooms(Round *round) {
    Arena *arena = &round->call->arena;
    const size_t workers = (size_t)parallel_workers(round->call->pool);
    round->room = arena_take(arena, workers, sizeof *round->room);
    for (size_t w = 0; w < workers && !arena->failed; w++) {
        coefficients_room(arena, round->target, round->layers->capacity, &round->room[w]);
    }
    return !arena->failed;
}

double coefficients_best(const Target *target, const Layers *layers, int v, const CoefficientsRoom *room,
                         int count, const int *atom, int most, int *best, double *share) {
    Choice choice;
    choice.count = choice.own = 0;
    for (int i = 0; i < count; i++) {
        if (atom[i] >= 0) {
            meet(&choice, atom[i], room->met);
        }
    }
    look(target, layers, v, room, &choice);
    Blend blend = best_pair(&choice, layers->affine);
    if (most > 2) {
        const Blend few = best_few(&choice, &blend, most, layers->affine);
        take_better(&choice, &few, &blend);
    }
    for (int i = 0; i < MOST_BLENDED; i++) {
        best[i] = i < blend.count ? choice.atom[blend.at[i]] : -1;
        share[i] = i < blend.count ? blend.alpha[i] : 0;
    }
    return blend.error;
}

double coefficients_error(const Target *target, const Layers *layers, int v, double *h, double *w) {
    const size_t k = (size_t)target->bones;
    const double *g = target->linear + (size_t)v * k;
    double error = target->square[v], term[POSE_TERMS];
    layers_blend(layers, v, target->bones, w);
    target_terms(target, v, term);
    target_form(target, term, h);
    for (size_t b = 0; b < k; b++) {
        double product = -2 * g[b];
        for (size_t c = 0; c < k && w[b] != 0; c++) {
            product += h[b * k + c] * w[c];
        }
        error += w[b] * product;
    }
    return error;
}

double coefficients_update(Call *call, const Target *target, const Graph *graph, int round, Layers *layers) {
    const size_t size = (size_t)layers->vertices * (size_t)layers->influences * sizeof(int);
    ArenaPiece *mark = arena_mark(&call->arena);
    int *before = arena_take(&call->arena, size, 1);
    Round all = {.call = call,
                 .target = target,
                 .graph = graph,
                 .layers = layers,
                 .before = before,
                 .backwards = round % 2};
    const int made = before && make_rooms(&all);
    if (made) {
        memcpy(before, layers->atom, size);
        parallel_run(call->pool, (layers->vertices + ROUND_CHUNK - 1) / ROUND_CHUNK, update_chunk, &all);
    }
    arena_return(&call->arena, mark);
    return made && !call_poll(call, -1) ? fmax(layers_squared(layers), 0) : -1; /* rounding may leave less */
}

int coefficients_thin(Call *call, const Target *target, double spare, Layers *layers) {
    ArenaPiece *mark = arena_mark(&call->arena);
    Round all = {.call = call, .target = target, .layers = layers, .spare = spare};
    const int made = make_rooms(&all);
    if (made) {
        parallel_run(call->pool, (layers->vertices + ROUND_CHUNK - 1) / ROUND_CHUNK, thin_chunk, &all);
    }
    arena_return(&call->arena, mark);
    return made && !call_poll(call, -1);
}
