/* weights.c - for one vertex: min |sum_b w_b M_b p~ - x|^2, w >= 0, sum w = 1, at most K non-zero.
 *
 * Le & Deng 2012 (SSDR), Eq. 3-4. Because the weights sum to one this is min w' Q w with
 *     Q[b][c] = (M_b p~ - x) . (M_c p~ - x) = p~' G[b,c] p~ - r_b - r_c + |x|^2,
 * G[b,c] = sum_f M_b' M_c shared by all vertices and r_b = p~' sum_f M_b' x from one matrix product,
 * so no step here costs frames.
 *
 * Deviations from the paper: instead of solving over all bones and cutting the smallest effects
 * (Eq. 4), a support grows by the bone with the largest certain gain and, beyond K, loses the bone
 * whose loss costs least (simplex_ls_cheapest); the old support is the start, so the error never rises.
 * Smoothing adds lambda |w - mean of the neighbours' w|^2. */
#include "descent/weights.h"

#include <string.h>

enum {
    SURPLUS = 2,      /* bones beyond K that a search from nothing may gather before it cuts */
    CHANGES = 6,      /* accepted changes of support a call */
    SEARCH_MISSES = 3 /* entries without gain before a search gives up */
};

static const double WORTH = 1e-7; /* of the value: smaller gains do not change a support */

static void sum_monomials(int n, int stride, const double *restrict form, const double *restrict monomial,
                          double start, double *restrict out) {
    const double *f0 = form, *f1 = f0 + stride, *f2 = f1 + stride, *f3 = f2 + stride, *f4 = f3 + stride;
    const double *f5 = f4 + stride, *f6 = f5 + stride, *f7 = f6 + stride, *f8 = f7 + stride,
                 *f9 = f8 + stride;
    const double m0 = monomial[0], m1 = monomial[1], m2 = monomial[2], m3 = monomial[3], m4 = monomial[4];
    const double m5 = monomial[5], m6 = monomial[6], m7 = monomial[7], m8 = monomial[8], m9 = monomial[9];
    for (int c = 0; c < n; c++) {
        out[c] = start + m0 * f0[c] + m1 * f1[c] + m2 * f2[c] + m3 * f3[c] + m4 * f4[c] + m5 * f5[c] +
                 m6 * f6[c] + m7 * f7[c] + m8 * f8[c] + m9 * f9[c];
    }
}

/* With w = left u the residual is left (sum u M p~ - x'), x' = (x - what is held) / left; what is held is taken
 * from x bone by bone. */
void weights_hold(VertexView *view, const Support *held, double left) {
    for (int i = 0; i < held->count; i++) {
        const int b = held->bone[i];
        const double *form = view->gram + (size_t)b * MONOMIALS * (size_t)view->stride;
        const double w = held->weight[i];
        sum_monomials(view->n, view->stride, form, view->monomial, 0, view->slope);
        view->square += w * (w * view->slope[b] - 2 * view->linear[b]);
        for (int c = 0; c < view->n; c++) {
            view->linear[c] -= w * view->slope[c];
        }
    }
    view->square = view->square > 0 ? view->square / (left * left) : 0;
    for (int c = 0; c < view->n; c++) {
        view->linear[c] /= left;
    }
}

void weights_begin(VertexView *view) {
    memset(view->ready, 0, (size_t)view->n);
    sum_monomials(view->n, view->stride, view->diagonal, view->monomial, view->square + view->smoothing,
                  view->own);
    for (int c = 0; c < view->n; c++) {
        view->own[c] -= 2 * view->linear[c];
    }
}

static const double *row_of(VertexView *view, int b) {
    double *row = view->rows + (size_t)b * (size_t)view->stride;
    if (!view->ready[b]) {
        view->ready[b] = 1;
        const double *form = view->gram + (size_t)b * MONOMIALS * (size_t)view->stride;
        const double *linear = view->linear;
        sum_monomials(view->n, view->stride, form, view->monomial, view->square - linear[b], row);
        for (int c = 0; c < view->n; c++) {
            row[c] -= linear[c];
        }
        row[b] = view->own[b];
    }
    return row;
}

static void gather(VertexView *view, const Support *support, double *q) {
    for (int i = 0; i < support->count; i++) {
        const double *row = row_of(view, support->bone[i]);
        for (int j = 0; j < support->count; j++) {
            q[i * SIMPLEX_MAX + j] = row[support->bone[j]];
        }
    }
}

static void remove_at(Support *support, int i) {
    support->count--;
    support->bone[i] = support->bone[support->count];
    support->weight[i] = support->weight[support->count];
}

static void normalise(Support *support) {
    double sum = 0;
    for (int i = 0; i < support->count; i++) {
        sum += support->weight[i];
    }
    for (int i = 0; i < support->count; i++) {
        support->weight[i] = sum > 0 ? support->weight[i] / sum : 1.0 / support->count;
    }
}

/* Optimum on the support at hand, then on the best `most` of it. */
void weights_settle(VertexView *view, int most, Support *support) {
    double q[SIMPLEX_MAX * SIMPLEX_MAX];
    for (;;) {
        gather(view, support, q);
        support->value = simplex_ls(support->count, q, view->ridge, support->weight);
        int dropped = 0;
        for (int i = support->count - 1; i >= 0; i--) {
            if (support->weight[i] <= 0) {
                remove_at(support, i);
                dropped = 1;
            }
        }
        if (support->count <= most) {
            return;
        }
        if (dropped) {
            gather(view, support, q);
        }
        remove_at(support, simplex_ls_cheapest(support->count, q, view->ridge));
        normalise(support);
    }
}

static int holds(const Support *support, int b) {
    for (int i = 0; i < support->count; i++) {
        if (support->bone[i] == b) {
            return 1;
        }
    }
    return 0;
}

/* slope = Q w over all bones at hand */
static void make_slope(VertexView *view, const Support *support) {
    const int n = view->n;
    double *restrict slope = view->slope;
    memset(slope, 0, (size_t)n * sizeof *slope);
    for (int i = 0; i < support->count; i++) {
        const double *restrict row = row_of(view, support->bone[i]);
        const double w = support->weight[i];
        for (int c = 0; c < n; c++) {
            slope[c] += w * row[c];
        }
    }
}

/* The bone whose entry, one other leaving if the support is full, promises the lowest value; -1 when
 * none promises to be worth it. Only bones down whose direction the value falls can enter. */
static int best_entry(VertexView *view, const Support *support, int full, const uint8_t *barred,
                      double *share) {
    double q[SIMPLEX_MAX * SIMPLEX_MAX], column[SIMPLEX_MAX];
    SimplexInverse of;
    of.n = 0;
    make_slope(view, support);
    int best = -1;
    double least = support->value - WORTH * support->value - view->ridge;
    for (int c = 0; c < view->n; c++) {
        const double fall = support->value - view->slope[c];
        if (fall <= 0 || !view->allowed[c] || barred[c] || holds(support, c)) {
            continue;
        }
        if (of.n == 0) {
            gather(view, support, q);
            simplex_ls_invert(support->count, q, view->ridge, &of);
        }
        for (int i = 0; i < support->count; i++) {
            column[i] = row_of(view, support->bone[i])[c];
        }
        const double promise = simplex_ls_after_entry(&of, column, view->own[c] + view->ridge, full);
        if (promise < least) {
            const double curve = view->own[c] - 2 * view->slope[c] + support->value;
            least = promise;
            best = c;
            *share = fall < curve ? fall / curve : 1.0;
        }
    }
    return best;
}

static void enter(Support *support, int b, double share) {
    for (int i = 0; i < support->count; i++) {
        support->weight[i] *= 1 - share;
    }
    support->bone[support->count] = b;
    support->weight[support->count] = share;
    support->count++;
}

static void improve(VertexView *view, int influences, int misses_left, Support *support) {
    uint8_t barred[OSSIFY_MAX_BONES];
    memset(barred, 0, (size_t)view->n);
    for (int change = 0; change < CHANGES && misses_left > 0;) {
        double share = 0;
        const int b = best_entry(view, support, support->count == influences, barred, &share);
        if (b < 0) {
            return;
        }
        Support trial = *support;
        enter(&trial, b, share);
        weights_settle(view, influences, &trial);
        if (trial.value < support->value - WORTH * support->value) {
            *support = trial;
            change++;
        } else {
            barred[b] = 1;
            misses_left--;
        }
    }
}

static void from_nothing(VertexView *view, int influences, Support *support) {
    uint8_t barred[OSSIFY_MAX_BONES];
    memset(barred, 0, (size_t)view->n);
    int best = -1;
    for (int c = 0; c < view->n; c++) {
        if (view->allowed[c] && (best < 0 || view->own[c] < view->own[best])) {
            best = c;
        }
    }
    support->count = 1;
    support->bone[0] = best;
    support->weight[0] = 1;
    support->value = view->own[best];
    const int most = influences + (influences > 1 ? SURPLUS : 0);
    for (int step = 0; step < 2 * most; step++) {
        double share = 0;
        const int b = support->count < most ? best_entry(view, support, 0, barred, &share) : -1;
        if (b < 0) {
            break;
        }
        enter(support, b, share);
        weights_settle(view, most, support);
    }
    weights_settle(view, influences, support);
}

void weights_solve(VertexView *view, int influences, int search, Support *support) {
    if (support->count > 0) {
        weights_settle(view, influences, support);
    }
    if (search || support->count == 0) {
        Support fresh;
        from_nothing(view, influences, &fresh);
        if (support->count == 0 || fresh.value < support->value) {
            *support = fresh;
        }
    }
    improve(view, influences, search ? SEARCH_MISSES : 1, support);
}

double weights_loss(VertexView *view, int influences, const Support *support, int i) {
    uint8_t barred[OSSIFY_MAX_BONES];
    memset(barred, 0, (size_t)view->n);
    Support without = *support;
    barred[support->bone[i]] = 1;
    remove_at(&without, i);
    if (without.count == 0) {
        int best = -1;
        for (int c = 0; c < view->n; c++) {
            if (!barred[c] && (best < 0 || (view->allowed[c] && !view->allowed[best]) ||
                               (view->allowed[c] == view->allowed[best] && view->own[c] < view->own[best]))) {
                best = c;
            }
        }
        if (best < 0) {
            return view->square;
        }
        without.count = 1;
        without.bone[0] = best;
        without.weight[0] = 1;
    }
    normalise(&without);
    weights_settle(view, influences, &without);
    double share = 0;
    const int b = best_entry(view, &without, without.count == influences, barred, &share);
    if (b >= 0) {
        Support trial = without;
        enter(&trial, b, share);
        weights_settle(view, influences, &trial);
        if (trial.value < without.value) {
            without = trial;
        }
    }
    return without.value - support->value;
}
