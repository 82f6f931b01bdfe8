/* at_hand.c - the bones at hand for a few vertices that go through a matrix product together: those that they may use
 * or keep, and what is needed of them, gathered so that products run over them alone. */
#include "descent/at_hand.h"

#include <string.h>

#include "math/product.h"

/* p~' G p~ = sum of form[m] * monomial[m] for G[4][4] */
static void form_of(const double *g, size_t ld, double form[MONOMIALS]) {
    form[0] = g[0], form[1] = g[ld + 1], form[2] = g[2 * ld + 2];
    form[3] = g[1] + g[ld], form[4] = g[2] + g[2 * ld], form[5] = g[ld + 2] + g[2 * ld + 1];
    form[6] = g[3] + g[3 * ld], form[7] = g[ld + 3] + g[3 * ld + 1], form[8] = g[2 * ld + 3] + g[3 * ld + 2];
    form[9] = g[3 * ld + 3];
}

int at_hand_gram(Call *call, const Problem *problem, const Model *model, double *whole, double *gram,
                 double *diagonal, size_t stride) {
    const int n = 4 * model->bones;
    const size_t ld = 4 * (size_t)model->capacity;
    double *full = whole ? whole : arena_take(&call->arena, (size_t)n * (size_t)n, sizeof(double));
    if (!full) {
        return 0;
    }
    memset(full, 0, (size_t)n * (size_t)n * sizeof *full);
    product_tn(n, n, 3 * problem->frames, model->transform, ld, model->transform, ld, full, (size_t)n);
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
    if (!whole) {
        arena_give(&call->arena, full);
    }
    return 1;
}

int at_hand_scratch(Call *call, const Problem *problem, const Model *model, int packed, Scratch *scratch) {
    const size_t rows = 3 * (size_t)problem->frames, b = (size_t)model->bones,
                 stride = at_hand_padded(model->bones);
    Arena *arena = &call->arena;
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
    return !arena->failed;
}

int at_hand_list(const Pass *pass, Scratch *s, const int *which, int first, int count, int old) {
    const Model *model = pass->model;
    const PassPlan *plan = pass->plan;
    memset(s->local, -1, (size_t)model->bones * sizeof *s->local);
    for (int i = 0; i < count; i++) {
        const int v = which ? which[i] : first + i;
        for (int k = 0; k < model->influences; k++) {
            const int b = model->bone[(size_t)v * (size_t)model->influences + (size_t)k];
            if (b >= 0 && (vertex_keeps_weights(pass, v) || model->held_group[b] || old)) {
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

int at_hand_all(const Pass *pass, Scratch *s) {
    for (int b = 0; b < pass->model->bones; b++) {
        s->at_hand[b] = s->local[b] = b;
    }
    return pass->model->bones;
}

void at_hand_pack(const Pass *pass, Scratch *s, int n) {
    const Model *model = pass->model;
    const size_t rows = 3 * (size_t)pass->problem->frames, stride = at_hand_padded(n),
                 all = (size_t)pass->stride;
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
}
