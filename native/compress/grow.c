/* grow.c - new virtual bones, each the weights of a vertex that the layers miss, and coefficients that follow from it.
 *
 * Le & Deng 2013, Algorithm 1, lines 1-8: the first atom is the vertex with the largest |w|, the second the one with the
 * smallest product with it, and from then on the vertex with the largest error becomes an atom (Eq. 2).
 * Algorithm 2: a vertex whose error two atoms improve takes them (Eq. 6), and hands them to its neighbours, each of
 * which takes the best pair of theirs and its own two, depth first; here the best three or four if it may have as many. Only what is near a new atom is looked at, so that
 * all of them together cost about as much as a few rounds over the mesh.
 *
 * What the paper leaves open: an improvement is one of IMPROVED of the error, so that the search ends. Who is missed most
 * is kept in a tournament over the vertices. From poses it is told by E - E*, what better virtual bones could save, not
 * by E, most of which no weights could: trials gained 8 % by that. */
#include "compress/grow.h"

#include <math.h>
#include <string.h>

enum { STACKED = 16 /* a vertex, on the mean: a deeper search is cut */ };

static const double IMPROVED = 1e-6; /* of a vertex's error */
static const double MISSED = 1e-12;  /* of |w|^2 or |x|^2: less is rounding */

/* ---- who is missed most ---- */

static double missed(const Grow *grow, int v) {
    return v < 0 ? -INFINITY : grow->layers->error[v] - grow->target->least[v];
}

static void play(const Grow *grow, int at) {
    const int a = grow->winner[2 * at], b = grow->winner[2 * at + 1];
    grow->winner[at] = missed(grow, b) > missed(grow, a) ? b : a;
}

static void replay(const Grow *grow, int v) {
    for (int at = (grow->leaves + v) / 2; at > 0; at /= 2) {
        play(grow, at);
    }
}

static void play_all(const Grow *grow) {
    for (int i = 0; i < grow->leaves; i++) {
        grow->winner[grow->leaves + i] = i < grow->layers->vertices ? i : -1;
    }
    for (int at = grow->leaves - 1; at > 0; at--) {
        play(grow, at);
    }
}

int grow_make(Call *call, const Target *target, const Graph *graph, int most, Layers *layers, Grow *grow) {
    Arena *arena = &call->arena;
    *grow =
        (Grow){.call = call, .target = target, .graph = graph, .layers = layers, .leaves = 1, .most = most};
    while (grow->leaves < layers->vertices) {
        grow->leaves *= 2;
    }
    grow->winner = arena_take(arena, 2 * (size_t)grow->leaves, sizeof(int));
    grow->stack = arena_take(arena, STACKED * (size_t)layers->vertices, sizeof(GrowVisit));
    grow->w = arena_take(arena, (size_t)target->bones, sizeof(double));
    return coefficients_room(arena, target, layers->capacity, &grow->room) && !arena->failed;
}

void grow_rank(Grow *grow, const Target *target) {
    grow->target = target;
    play_all(grow);
}

int grow_look(Grow *grow, const Target *target) {
    for (int v = 0; v < target->vertices; v++) {
        if (v % 256 == 0 && call_poll(grow->call, -1)) {
            return 0;
        }
        grow->layers->error[v] = coefficients_error(target, grow->layers, v, grow->room.h, grow->w);
    }
    grow_rank(grow, target);
    return 1;
}

/* ---- Algorithm 2 ---- */

/* Lines 1, 2 and 4: 1 when the best blend of these and its own improves the vertex; it goes out. */
static int improve(const Grow *grow, int v, int atom[MOST_BLENDED]) {
    Layers *layers = grow->layers;
    const size_t k = (size_t)layers->influences, at = (size_t)v * k;
    int all[2 * MOST_BLENDED];
    double share[MOST_BLENDED];
    memcpy(all, atom, MOST_BLENDED * sizeof *all);
    memcpy(all + MOST_BLENDED, layers->atom + at, k * sizeof *all);
    const double error = coefficients_best(grow->target, layers, v, &grow->room, MOST_BLENDED + (int)k, all,
                                           grow->most, atom, share);
    const double now = layers->error[v];
    if (!(error < now - IMPROVED * fabs(now) - MISSED * grow->target->square[v])) {
        return 0;
    }
    memcpy(layers->atom + at, atom, k * sizeof *atom);
    memcpy(layers->alpha + at, share, k * sizeof *share);
    layers->error[v] = error;
    replay(grow, v);
    return 1;
}

int grow_follow(Grow *grow, int v, int atom) {
    const Graph *graph = grow->graph;
    const size_t most = STACKED * (size_t)graph->vertices;
    size_t depth = 0;
    grow->stack[depth++] = (GrowVisit){v, {atom, -1, -1, -1}};
    while (depth > 0) {
        GrowVisit visit = grow->stack[--depth];
        const int at = visit.vertex;
        if (++grow->visits % 256 == 0 && call_poll(grow->call, -1)) {
            return 0;
        }
        if (!improve(grow, at, visit.atom)) {
            continue;
        }
        for (int64_t e = graph->first[at + 1] - 1; e >= graph->first[at] && depth < most; e--) {
            visit.vertex = graph->neighbour[e];
            grow->stack[depth++] = visit;
        }
    }
    return 1;
}

/* ---- Algorithm 1 ---- */

static double product(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Of all vertices' weights, those with the largest product with themselves, or the smallest with some others */
static size_t farthest(const Target *target, const double *from) {
    const size_t k = (size_t)target->bones;
    size_t best = 0;
    double far = -INFINITY;
    for (size_t v = 0; v < (size_t)target->vertices; v++) {
        const double *w = target->dense + v * k;
        const double here = from ? -product(w, from, target->bones) : product(w, w, target->bones);
        if (here > far) {
            far = here;
            best = v;
        }
    }
    return best;
}

int grow_first(Grow *grow) {
    const Target *target = grow->target;
    Layers *layers = grow->layers;
    const size_t k = (size_t)target->bones, n = (size_t)layers->vertices, wide = (size_t)layers->influences;
    const double *first = target->dense + farthest(target, NULL) * k;
    layers_add(layers, 0, first, target->bones);
    layers->count = 1;
    if (layers->capacity > 1) {
        layers_add(layers, layers->count++, target->dense + farthest(target, first) * k, target->bones);
    }
    for (size_t i = 0; i < n * wide; i++) {
        layers->atom[i] = i % wide == 0 ? 0 : -1;
        layers->alpha[i] = i % wide == 0;
    }
    if (!grow_look(grow, target)) {
        return 0;
    }
    for (int v = 0; v < layers->vertices; v++) {
        improve(grow, v, (int[MOST_BLENDED]){0, layers->count - 1, -1, -1});
    }
    return 1;
}

/* The vertex is out of the tournament until the next look: its strongest masters, without the others, suit it no
 * better than what it has. */
static void withdraw(const Grow *grow, int v) {
    grow->winner[grow->leaves + v] = -1;
    replay(grow, v);
}

int grow_more(Grow *grow, int more, int *added) {
    Layers *layers = grow->layers;
    const Target *target = grow->target;
    const size_t k = (size_t)target->bones;
    *added = 0;
    while (*added < more && layers->count < layers->capacity) {
        const int p = grow->winner[1];
        if (p < 0 || !(missed(grow, p) > MISSED * target->square[p])) {
            break;
        }
        const double before = layers->error[p];
        layers_add(layers, layers->count, target->dense + (size_t)p * k, target->bones);
        if (!grow_follow(grow, p, layers->count++)) {
            return 0;
        }
        if (layers->error[p] < before) {
            ++*added;
        } else {
            layers->count--;
            withdraw(grow, p);
        }
    }
    return 1;
}
