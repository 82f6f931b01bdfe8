/* smooth_weights.c - weights smoothed over the surface as far as the motion allows.
 *
 * In a round each vertex goes from its weights w toward the mean m of its neighbours', by the share s that lowers
 *
 *     |w + s (m - w) - m|^2 + price e(w + s (m - w)),    0 <= s <= 1,
 *
 * e = w'Qw the vertex's squared error (form.c): a parabola in s. Where weights hardly matter to the motion, which is
 * where noise gathers, they are smoothed wholly, and where they do matter hardly at all. The price is the lowest,
 * found by halving, that keeps the whole error within the budget. A vertex stays within the influences allowed, or
 * those it has when they are more; shells are not smoothed into each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rig.h"
#include "core/sentence.h"
#include "math/elementary.h"
#include "math/graph.h"
#include "paint/form.h"
#include "paint/paint.h"

enum { SMOOTH_CHUNK = 128, HALVINGS = 10, MOST_ROUNDS = 100 };

static const double NEW_FAINT =
    1e-3;                          /* a weight below it that was not there before is not worth an influence */
static const double PRICES = 1e5;  /* the highest over one at which both terms weigh the same */
static const double MARGIN = 1e-3; /* of the budget, left to rounding */
static const double OWN_FIRST =
    2; /* added to weights that are there: they come before what neighbours bring */

typedef struct Smoothing {
    Call *call;
    const ossify_poses *poses;
    const ossify_rig *rig;
    Graph graph;
    int width; /* bones of a vertex that are looked at */
    int most;  /* influences */
    double price;
    double from, all; /* of the progress */
    uint8_t *free;    /* [v] its weights may change */
    int *bone;        /* [v][width], -1 unused */
    double *start;    /* [v][width] weights as given */
    double *now, *next, *best;
    double *q;     /* [v][width][width] */
    double *error; /* [v] of now */
} Smoothing;

/* Weights by bone, of a few bones. */
typedef struct Tally {
    double sum[OSSIFY_MAX_BONES];
    int bone[OSSIFY_MAX_BONES]; /* [count], those of a sum that is not 0 */
    int count;
} Tally;

static void tally_add(Tally *tally, int bone, double weight) {
    if (weight > 0) {
        if (tally->sum[bone] == 0) {
            tally->bone[tally->count++] = bone;
        }
        tally->sum[bone] += weight;
    }
}

static void tally_clear(Tally *tally) {
    for (int i = 0; i < tally->count; i++) {
        tally->sum[tally->bone[i]] = 0;
    }
    tally->count = 0;
}

/* Mean weights of a vertex's neighbours; its own where it has none. */
static void neighbours_mean(const Smoothing *s, const int *bone, const double *weight, int v, Tally *tally) {
    const int64_t first = s->graph.first[v], last = s->graph.first[v + 1];
    const double share = last > first ? 1.0 / (double)(last - first) : 1;
    for (int64_t e = first; e < last || e == first; e++) {
        const size_t at = (size_t)(e < last ? s->graph.neighbour[e] : v) * (size_t)s->width;
        for (int k = 0; k < s->width && bone[at + (size_t)k] >= 0; k++) {
            tally_add(tally, bone[at + (size_t)k], share * weight[at + (size_t)k]);
        }
    }
}

/* ---- chunks of vertices, each writing what belongs to it */

typedef void (*VertexTask)(Smoothing *s, int v, Tally *tally);

typedef struct Sweep {
    Smoothing *s;
    VertexTask task;
    double begin, part; /* of the progress */
} Sweep;

static void sweep_chunk(void *user, int task, int worker) {
    const Sweep *sweep = user;
    Call *call = sweep->s->call;
    const int last = (int)sweep->s->poses->vertex_count,
              end = (task + 1) * SMOOTH_CHUNK < last ? (task + 1) * SMOOTH_CHUNK : last;
    Tally tally;
    memset(tally.sum, 0, sizeof tally.sum);
    tally.count = 0;
    if (worker == 0) {
        call_poll(call, sweep->begin + sweep->part * task * SMOOTH_CHUNK / last);
    }
    for (int v = task * SMOOTH_CHUNK; v < end && !atomic_load(&call->cancelled); v++) {
        if (sweep->s->free[v]) {
            sweep->task(sweep->s, v, &tally);
        }
    }
}

/* All free vertices; the progress goes from one to the other. 0 when the call must end. */
static int sweep(Smoothing *s, VertexTask task, double begin, double end) {
    Sweep work = {s, task, begin, end - begin};
    parallel_run(s->call->pool, (int)((s->poses->vertex_count + SMOOTH_CHUNK - 1) / SMOOTH_CHUNK),
                 sweep_chunk, &work);
    return !atomic_load(&s->call->cancelled);
}

static int is_held(const ossify_rig *rig, int bone) {
    return rig->held_groups != NULL && rig->held_groups[bone];
}

/* ---- which bones a vertex may come to follow */

typedef struct Candidate {
    int bone;
    double score;
} Candidate;

static int compare_candidates(const void *a, const void *b) {
    const Candidate *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score ? 1 : -1) : x->bone - y->bone;
}

/* The strongest bones of a tally, those that the vertex has before all others, with their weights. */
static void keep_strongest(const Smoothing *s, int v, Tally *tally, int *bone, double *weight) {
    const size_t at = (size_t)v * (size_t)s->width;
    Candidate candidate[OSSIFY_MAX_BONES + FORM_MOST];
    Form own;
    form_follow(s->rig, v, &own);
    for (int k = 0; k < own.n; k++) {
        candidate[k] = (Candidate){own.bone[k], OWN_FIRST + tally->sum[own.bone[k]]};
    }
    int count = own.n;
    for (int i = 0; i < tally->count; i++) {
        int there = 0;
        for (int k = 0; k < own.n; k++) {
            there |= own.bone[k] == tally->bone[i];
        }
        candidate[count] = (Candidate){tally->bone[i], tally->sum[tally->bone[i]]};
        count += !there;
    }
    qsort(candidate, (size_t)count, sizeof *candidate, compare_candidates);
    for (int k = 0; k < s->width; k++) {
        bone[at + (size_t)k] = k < count ? candidate[k].bone : -1;
        weight[at + (size_t)k] = k < count ? tally->sum[candidate[k].bone] : 0;
    }
}

typedef struct Spreading {
    Smoothing *s;
    int *bone, *next_bone;
} Spreading;

static void load_own(Smoothing *s, int *bone, double *weight) {
    for (int64_t v = 0; v < s->poses->vertex_count; v++) {
        Form own;
        form_follow(s->rig, v, &own);
        for (int k = 0; k < s->width; k++) {
            bone[v * s->width + k] = k < own.n ? own.bone[k] : -1;
            weight[v * s->width + k] = k < own.n ? own.weight[k] : 0;
        }
    }
}

/* What neighbours would bring in so many rounds of means: s->bone, `rounds` rings wide. 0 when the call must end. */
static int find_bones(Smoothing *s, int rounds) {
    const size_t n = (size_t)s->poses->vertex_count * (size_t)s->width;
    int *other = arena_take(&s->call->arena, n, sizeof *other);
    if (!other) {
        return 0;
    }
    Tally *tally = arena_take(&s->call->arena, 1, sizeof *tally);
    if (!tally) {
        return 0;
    }
    load_own(s, s->bone, s->now);
    for (int round = 0; round < rounds; round++) {
        memcpy(other, s->bone, n * sizeof *other);
        memcpy(s->next, s->now, n * sizeof *s->next);
        for (int v = 0; v < (int)s->poses->vertex_count; v++) {
            if (v % SMOOTH_CHUNK == 0 && call_poll(s->call, 0.2 * round / rounds)) {
                return 0;
            }
            if (s->free[v]) {
                neighbours_mean(s, s->bone, s->now, v, tally);
                keep_strongest(s, v, tally, other, s->next);
                tally_clear(tally);
            }
        }
        memcpy(s->bone, other, n * sizeof *other);
        memcpy(s->now, s->next, n * sizeof *s->now);
    }
    arena_give(&s->call->arena, tally);
    arena_give(&s->call->arena, other);
    return 1;
}

/* ---- one round */

static double loose_sum(const Smoothing *s, const int *bone, const double *w) {
    double sum = 0;
    for (int k = 0; k < s->width && bone[k] >= 0; k++) {
        sum += is_held(s->rig, bone[k]) ? 0 : w[k];
    }
    return sum;
}

static int count_above_zero(int width, const double *w) {
    int count = 0;
    for (int k = 0; k < width; k++) {
        count += w[k] > 0;
    }
    return count;
}

/* The number of influences that are not held a vertex may have. */
static int room_of(const Smoothing *s, const int *bone, const double *start) {
    const int count = count_above_zero(s->width, start);
    int held = 0;
    for (int k = 0; k < s->width && bone[k] >= 0; k++) {
        held += start[k] > 0 && is_held(s->rig, bone[k]);
    }
    return (count > s->most ? count : s->most) - held;
}

/* In place: at most so many influences, of the sum that was; held ones as they are. */
static void bound(const Smoothing *s, const int *bone, const double *start, double *w) {
    const int room = room_of(s, bone, start);
    const double left = loose_sum(s, bone, start);
    double kept[FORM_MOST] = {0}, sum = 0;
    uint8_t taken[FORM_MOST] = {0};
    for (int i = 0; i < room; i++) {
        int best = -1;
        for (int k = 0; k < s->width && bone[k] >= 0; k++) {
            const int worth = w[k] > 0 && (w[k] >= NEW_FAINT || start[k] > 0);
            if (worth && !taken[k] && !is_held(s->rig, bone[k]) && (best < 0 || w[k] > w[best])) {
                best = k;
            }
        }
        if (best >= 0) {
            taken[best] = 1;
            kept[best] = w[best];
            sum += w[best];
        }
    }
    for (int k = 0; k < s->width; k++) {
        const int held = bone[k] >= 0 && is_held(s->rig, bone[k]);
        w[k] = held || sum <= 0 ? start[k] : kept[k] * left / sum;
    }
}

/* a'Qb */
static double form_between(int width, const double *q, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < width; i++) {
        for (int j = 0; j < width; j++) {
            sum += a[i] * q[i * width + j] * b[j];
        }
    }
    return sum;
}

static void smooth_vertex(Smoothing *s, int v, Tally *tally) {
    const size_t at = (size_t)v * (size_t)s->width;
    const int *bone = s->bone + at;
    const double *now = s->now + at, *start = s->start + at, *q = s->q + at * (size_t)s->width;
    double way[FORM_MOST] = {0}, length = 0;
    neighbours_mean(s, s->bone, s->now, v, tally);
    for (int k = 0; k < s->width && bone[k] >= 0; k++) {
        way[k] = tally->sum[bone[k]]; /* m */
    }
    tally_clear(tally);
    bound(s, bone, start, way);
    for (int k = 0; k < s->width; k++) {
        way[k] -= now[k]; /* m - w */
        length += way[k] * way[k];
    }
    const double bend = form_between(s->width, q, way, way), slope = form_between(s->width, q, way, now);
    const double curve = length + s->price * bend,
                 lowest = curve > 0 ? (length - s->price * slope) / curve : 0;
    const double share = lowest > 0 ? (lowest < 1 ? lowest : 1) : 0;
    for (int k = 0; k < s->width; k++) {
        s->next[at + (size_t)k] = now[k] + share * way[k];
    }
    bound(s, bone, start, s->next + at);
}

static void measure_vertex(Smoothing *s, int v, Tally *tally) {
    const size_t at = (size_t)v * (size_t)s->width;
    const double error = form_between(s->width, s->q + at * (size_t)s->width, s->now + at, s->now + at);
    (void)tally;
    s->error[v] = error > 0 ? error : 0;
}

static void make_form(Smoothing *s, int v, Tally *tally) {
    const size_t at = (size_t)v * (size_t)s->width;
    Form form = {.n = 0};
    (void)tally;
    for (; form.n < s->width && s->bone[at + (size_t)form.n] >= 0; form.n++) {
        form.bone[form.n] = s->bone[at + (size_t)form.n];
    }
    form_make(s->poses, s->rig, v, NULL, &form);
    for (int i = 0; i < form.n; i++) {
        memcpy(s->q + (at + (size_t)i) * (size_t)s->width, form.q + i * FORM_MOST,
               (size_t)form.n * sizeof(double));
    }
}

/* ---- all rounds at one price, and the price */

/* Root mean square distance of the weights at hand. */
static double rms_now(const Smoothing *s) {
    double sum = 0;
    for (int64_t v = 0; v < s->poses->vertex_count; v++) {
        sum += s->error[v];
    }
    return sqrt(sum / ((double)s->poses->vertex_count * (double)s->poses->frame_count));
}

/* From the given weights to s->now; 0 when the call must end. */
static int run_rounds(Smoothing *s, int rounds, double price, double begin, double end) {
    const size_t n = (size_t)s->poses->vertex_count * (size_t)s->width;
    s->price = price;
    memcpy(s->now, s->start, n * sizeof *s->now);
    memcpy(s->next, s->start, n * sizeof *s->next);
    for (int round = 0; round < rounds; round++) {
        const double from = begin + (end - begin) * round / rounds;
        if (!sweep(s, smooth_vertex, from, begin + (end - begin) * (round + 1) / rounds)) {
            return 0;
        }
        double *before = s->now;
        s->now = s->next;
        s->next = before;
    }
    return sweep(s, measure_vertex, end, end);
}

/* The lowest price within the budget; s->best are its weights. 0 when the call must end. */
static int find_price(Smoothing *s, int rounds, double budget) {
    const size_t bytes = (size_t)s->poses->vertex_count * (size_t)s->width * sizeof(double);
    const double before = rms_now(s), allowed = before + budget * (1 - MARGIN);
    const double even = -elementary_log(fmax(before * before * (double)s->poses->frame_count, 1e-300));
    double low = even - elementary_log(PRICES), high = even + elementary_log(PRICES), price = -INFINITY;
    memcpy(s->best, s->start, bytes);
    for (int halving = 0; halving <= HALVINGS; halving++) { /* first at no price at all */
        const double begin = 0.3 + 0.65 * halving / (HALVINGS + 1);
        if (!run_rounds(s, rounds, halving > 0 ? elementary_exp(price) : 0, begin,
                        begin + 0.65 / (HALVINGS + 1))) {
            return 0;
        }
        const int within = rms_now(s) <= allowed;
        if (within) {
            memcpy(s->best, s->now, bytes);
        }
        if (within && halving == 0) {
            return 1;
        }
        high = within ? price : high;
        low = within || halving == 0 ? low : price;
        price = 0.5 * (low + high);
    }
    return 1;
}

/* ---- the verb */

static void note_given(Smoothing *s) {
    for (int64_t v = 0; v < s->poses->vertex_count; v++) {
        Form form;
        form_follow(s->rig, v, &form);
        for (int k = 0; k < s->width; k++) { /* the bones that it has stand first, in whatever order */
            double *start = s->start + v * s->width + k;
            *start = 0;
            for (int i = 0; i < form.n; i++) {
                *start = form.bone[i] == s->bone[v * s->width + k] ? form.weight[i] : *start;
            }
        }
        if (!s->free[v]) {
            form_make(s->poses, s->rig, v, NULL, &form);
            s->error[v] = form_error(&form, form.weight);
        }
    }
}

static int take_room(Smoothing *s) {
    const size_t n = (size_t)s->poses->vertex_count, wide = n * (size_t)s->width;
    Arena *arena = &s->call->arena;
    s->free = arena_take(arena, n, 1);
    s->bone = arena_take(arena, wide, sizeof(int));
    s->start = arena_take(arena, wide, sizeof(double));
    s->now = arena_take(arena, wide, sizeof(double));
    s->next = arena_take(arena, wide, sizeof(double));
    s->best = arena_take(arena, wide, sizeof(double));
    s->q = arena_take(arena, wide * (size_t)s->width, sizeof(double));
    s->error = arena_take(arena, n, sizeof(double));
    return !arena->failed && rig_graph(arena, s->poses, s->rig, &s->graph);
}

/* Vertices that are not held, and not wholly carried by held groups; returns the most bones of any. */
static int find_free(Smoothing *s) {
    int most = 1;
    for (int64_t v = 0; v < s->poses->vertex_count; v++) {
        Form form;
        double loose = 0;
        form_follow(s->rig, v, &form);
        for (int k = 0; k < form.n; k++) {
            loose += is_held(s->rig, form.bone[k]) ? 0 : form.weight[k];
        }
        s->free[v] = loose > 0 && (s->rig->held_vertices == NULL || !s->rig->held_vertices[v]);
        most = form.n > most ? form.n : most;
    }
    return most;
}

static int widest_vertex(const ossify_poses *poses, const ossify_rig *rig) {
    int most = 1;
    for (int64_t v = 0; v < poses->vertex_count; v++) {
        Form form;
        form_follow(rig, v, &form);
        most = form.n > most ? form.n : most;
    }
    return most;
}

static void write_weights(const Smoothing *s, ossify_rig *rig) {
    for (int64_t v = 0; v < s->poses->vertex_count; v++) {
        const double *best = s->best + v * s->width, *start = s->start + v * s->width;
        Form form = {.n = 0};
        for (; form.n < s->width && s->bone[v * s->width + form.n] >= 0; form.n++) {
            form.bone[form.n] = s->bone[v * s->width + form.n];
        }
        if (memcmp(best, start, (size_t)s->width * sizeof *best) != 0) {
            form_write(&form, best, v, rig);
        }
    }
}

int paint_refuses_smooth(const ossify_request *request, ossify_info *info) {
    const ossify_smoother *smoother = request->options;
    if (sentence_bad_range(info, "smoother.influences", smoother->influences, 1, request->rig->influences) ||
        sentence_bad_range(info, "smoother.rounds", smoother->rounds, 1, MOST_ROUNDS)) {
        return 1;
    }
    return !(smoother->budget >= 0 && smoother->budget < INFINITY) &&
           BAD(info, "smoother.budget is %g: give a distance, 0 or more, that the error may rise by",
               smoother->budget);
}

int64_t paint_smooth(Call *call, const ossify_poses *poses, const ossify_smoother *smoother,
                     ossify_rig *rig) {
    Smoothing s = {.call = call, .poses = poses, .rig = rig, .most = (int)smoother->influences};
    const int there = widest_vertex(poses, rig), wanted = 2 * s.most < FORM_MOST ? 2 * s.most : FORM_MOST;
    s.width = there > wanted ? there : wanted;
    call_stage(call, OSSIFY_STAGE_PREPARE);
    if (!take_room(&s)) {
        return call_ended(call);
    }
    find_free(&s);
    if (!find_bones(&s, (int)smoother->rounds)) {
        return call_ended(call);
    }
    call_stage(call, OSSIFY_STAGE_REFINE);
    note_given(&s);
    memcpy(s.now, s.start, (size_t)poses->vertex_count * (size_t)s.width * sizeof *s.now);
    if (!sweep(&s, make_form, 0.2, 0.3) || !sweep(&s, measure_vertex, 0.3, 0.3) ||
        !find_price(&s, (int)smoother->rounds, smoother->budget)) {
        return call_ended(call);
    }
    write_weights(&s, rig);
    return OSSIFY_CONVERGED;
}
