/* as_printed.c - Algorithms 1 and 2 of Le & Deng 2013 as they are printed, to compare with compress.c.
 *
 *     lines 1-8    atoms come, kappa (Eq. 3) at once, and coefficients follow                 grow.c
 *     line 10      each atom by Eq. 5, cut to the c largest, scaled to sum 1; from poses Gamma is that of W*
 *     lines 11-13  coefficients from every vertex on, Algorithm 2                             grow.c
 *
 * What the paper leaves open: rounds end when the error falls by less than PRINTED_FLAT, and what was best is kept, because
 * Eq. 5 may raise it; kappa is all that are missing when no tolerance is given. Coefficients are affine, as in Eq. 6, and
 * two a vertex. Without threads, as there. */
#include "compress/as_printed.h"

#include <string.h>

#include "compress/grow.h"

enum { PRINTED_ROUNDS = 10 };

static const double PRINTED_FLAT = 1e-3; /* of the squared error */

typedef struct Printed {
    Grow grow;
    double *sum; /* [bones] */
} Printed;

/* The vertices of each atom: first [count + 2], and their coefficients in order of them. */
static void list_atoms(const Layers *layers, int *first, int *place) {
    const size_t size = (size_t)layers->vertices * (size_t)layers->influences;
    memset(first, 0, ((size_t)layers->count + 2) * sizeof *first);
    for (size_t i = 0; i < size; i++) {
        if (layers->atom[i] >= 0) {
            first[layers->atom[i] + 2]++;
        }
    }
    for (int a = 0; a < layers->count; a++) {
        first[a + 2] += first[a + 1];
    }
    for (size_t i = 0; i < size; i++) {
        if (layers->atom[i] >= 0) {
            place[first[layers->atom[i] + 1]++] = (int)i;
        }
    }
}

/* Eq. 5: d + (gamma - D phi) / Phi_jj, which is d + sum alpha (w - D alpha) / sum alpha^2 */
static void update_atom(const Printed *printed, int a, const int *place, int count) {
    const Layers *layers = printed->grow.layers;
    const size_t bones = (size_t)printed->grow.target->bones, c = (size_t)layers->masters;
    double square = 0, total = 0;
    memset(printed->sum, 0, bones * sizeof(double));
    for (int i = 0; i < count; i++) {
        const size_t v = (size_t)place[i] / (size_t)layers->influences;
        const double alpha = layers->alpha[place[i]];
        layers_blend(layers, (int)v, (int)bones, printed->grow.w);
        square += alpha * alpha;
        for (size_t b = 0; b < bones; b++) {
            printed->sum[b] += alpha * (printed->grow.target->dense[v * bones + b] - printed->grow.w[b]);
        }
    }
    for (size_t b = 0; b < bones; b++) {
        printed->sum[b] /= square;
    }
    for (size_t j = (size_t)a * c; j < (size_t)a * c + (size_t)layers->used[a]; j++) {
        printed->sum[layers->master[j]] += layers->share[j];
    }
    for (size_t b = 0; b < bones; b++) {
        total += printed->sum[b];
    }
    if (square > 0 && total > 0.5) { /* it is 1 but for rounding, unless coefficients cancel */
        layers_add(layers, a, printed->sum, (int)bones);
    }
}

static int update_dictionary(Printed *printed) {
    Arena *arena = &printed->grow.call->arena;
    ArenaPiece *mark = arena_mark(arena);
    const Layers *layers = printed->grow.layers;
    int *first = arena_take(arena, (size_t)layers->count + 2, sizeof(int));
    int *place = arena_take(arena, (size_t)layers->vertices * (size_t)layers->influences, sizeof(int));
    int made = !arena->failed;
    if (made) {
        list_atoms(layers, first, place);
    }
    for (int a = 0; a < layers->count && made; a++) {
        update_atom(printed, a, place + first[a], first[a + 1] - first[a]);
        made = a % 16 != 0 || !call_poll(printed->grow.call, -1);
    }
    arena_return(arena, mark);
    return made;
}

/* Lines 9-14, from which the best comes out */
static int optimise(Printed *printed, Layers *best) {
    Layers *layers = printed->grow.layers;
    double before = layers_squared(layers);
    layers_copy(layers, best);
    for (int round = 0; round < PRINTED_ROUNDS; round++) {
        if (!update_dictionary(printed) || !grow_look(&printed->grow, printed->grow.target)) {
            return 0;
        }
        for (int v = 0; v < layers->vertices; v++) {
            if (!grow_follow(&printed->grow, v, -1)) {
                return 0;
            }
        }
        const double now = layers_squared(layers);
        printed->grow.call->info->iterations++;
        if (now < layers_squared(best)) {
            layers_copy(layers, best);
        }
        if (before - now <= PRINTED_FLAT * now) {
            break;
        }
        before = now;
    }
    layers_copy(best, layers);
    return 1;
}

/* Eq. 3 */
static int kappa(const Printed *printed, double tolerance) {
    const Layers *layers = printed->grow.layers;
    const int left = layers->capacity - layers->count;
    const double more = tolerance > 0
                            ? (layers_delta(layers, printed->grow.target) / tolerance - 1) * layers->count + 1
                            : left;
    return more < left ? (int)more : left;
}

int as_printed(Call *call, const Target *target, const Graph *graph, double tolerance, Layers *layers) {
    Arena *arena = &call->arena;
    Printed printed;
    Layers best;
    int added = 1;
    layers->affine = 1;
    printed.sum = arena_take(arena, (size_t)target->bones, sizeof(double));
    if (!grow_make(call, target, graph, 2, layers, &printed.grow) || arena->failed ||
        !layers_make(arena, layers->vertices, layers->capacity, layers->masters, layers->influences, 1,
                     &best) ||
        !grow_first(&printed.grow)) {
        return 0;
    }
    while (layers->count < layers->capacity && added > 0 &&
           !(tolerance > 0 && layers_delta(layers, target) <= tolerance)) {
        if (!grow_more(&printed.grow, kappa(&printed, tolerance), &added) || !optimise(&printed, &best)) {
            return 0;
        }
    }
    return 1;
}
