/* simplex_ls.c - min w' Q w subject to w >= 0 and sum w = 1, Q the Gram matrix of the columns
 * d_b = M_b p~ - x: since the weights sum to one, |sum w_b M_b p~ - x|^2 = w' Q w. Without the
 * signs the minimum is w = z / sum z with Q z = 1, so that one Cholesky factor serves both the
 * solution and the price of each removal.
 *
 * A primal active set (Lawson and Hanson, as in SSDR 3.2): step from the feasible w toward the
 * minimum on the free set, stop at the first bound, fix that weight, repeat; then let a fixed
 * weight go when its multiplier says so. The number of turns is bounded. */
#include "math/simplex_ls.h"

#include <math.h>

/* L D L' of the free rows; `free_at` lists them. */
static void factor(int n, const int *free_at, const double *q, double ridge, double l[][SIMPLEX_MAX],
                   double *d) {
    for (int i = 0; i < n; i++) {
        const double *row = q + free_at[i] * SIMPLEX_MAX;
        for (int j = 0; j < i; j++) {
            double sum = row[free_at[j]];
            for (int k = 0; k < j; k++) {
                sum -= l[i][k] * l[j][k] * d[k];
            }
            l[i][j] = sum / d[j]; /* L_ij = (Q_ij - sum_k L_ik D_k L_jk) / D_j */
        }
        double pivot = row[free_at[i]] + ridge;
        for (int k = 0; k < i; k++) {
            pivot -= l[i][k] * l[i][k] * d[k];
        }
        d[i] = pivot > ridge ? pivot : ridge; /* D_i = Q_ii - sum_k L_ik^2 D_k */
    }
}

/* z = (L D L')^-1 1 */
static double solve_ones(int n, double l[][SIMPLEX_MAX], const double *d, double *z) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double y = 1;
        for (int k = 0; k < i; k++) {
            y -= l[i][k] * z[k];
        }
        z[i] = y; /* L^-1 1 */
    }
    for (int i = 0; i < n; i++) {
        z[i] /= d[i]; /* D^-1 L^-1 1 */
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) {
            z[i] -= l[k][i] * z[k]; /* L'^-1 D^-1 L^-1 1 */
        }
        sum += z[i];
    }
    return sum;
}

/* Largest step from w toward z / sum that keeps w >= 0; `blocking` is the weight that stops it, or -1. */
static double step_to_bound(int n, const int *free_at, const double *w, const double *z, double sum,
                            int *blocking) {
    double step = 1;
    *blocking = -1;
    for (int i = 0; i < n; i++) {
        const double target = z[i] / sum, now = w[free_at[i]];
        if (target <= 0 && now - target > 0) {
            const double t = now / (now - target);
            if (t < step) {
                step = t;
                *blocking = i;
            }
        }
    }
    return step;
}

/* The fixed weight whose growth lowers w' Q w most steeply, or -1 at the optimum. A free one may be zero,
 * too, where its share is too small for a number. */
static int releasable(int n, const double *q, const double *w, const int *is_free, double ridge,
                      double *value) {
    double gradient[SIMPLEX_MAX], objective = 0;
    for (int i = 0; i < n; i++) {
        gradient[i] = 0;
        for (int j = 0; j < n; j++) {
            gradient[i] += q[i * SIMPLEX_MAX + j] * w[j]; /* Q w */
        }
        objective += w[i] * gradient[i]; /* w' Q w */
    }
    *value = objective;
    int best = -1;
    double least = objective - ridge;
    for (int i = 0; i < n; i++) {
        if (!is_free[i] && gradient[i] < least) {
            least = gradient[i];
            best = i;
        }
    }
    return best;
}

double simplex_ls(int n, const double *q, double ridge, double *w) {
    int free_at[SIMPLEX_MAX], is_free[SIMPLEX_MAX], free_count = 0;
    for (int i = 0; i < n; i++) {
        is_free[i] = w[i] > 0;
        if (is_free[i]) {
            free_at[free_count++] = i;
        }
    }
    double l[SIMPLEX_MAX][SIMPLEX_MAX], d[SIMPLEX_MAX], z[SIMPLEX_MAX], value = 0;
    for (int turn = 0; turn < 6 * n + 6; turn++) {
        factor(free_count, free_at, q, ridge, l, d);
        const double sum = solve_ones(free_count, l, d, z);
        int blocking;
        const double step = step_to_bound(free_count, free_at, w, z, sum, &blocking);
        for (int i = 0; i < free_count; i++) {
            w[free_at[i]] += step * (z[i] / sum - w[free_at[i]]); /* w + step (z / sum z - w) */
        }
        if (blocking >= 0) {
            w[free_at[blocking]] = 0;
            is_free[free_at[blocking]] = 0;
            free_at[blocking] = free_at[--free_count];
            continue;
        }
        const int released = releasable(n, q, w, is_free, ridge, &value);
        if (released < 0) {
            break;
        }
        free_at[free_count++] = released;
        is_free[released] = 1;
    }
    return value;
}

void simplex_ls_invert(int n, const double *q, double ridge, SimplexInverse *of) {
    int all[SIMPLEX_MAX] = {0};
    double l[SIMPLEX_MAX][SIMPLEX_MAX], d[SIMPLEX_MAX], column[SIMPLEX_MAX];
    for (int i = 0; i < n; i++) {
        all[i] = i;
    }
    factor(n, all, q, ridge, l, d);
    of->n = n;
    of->sum = solve_ones(n, l, d, of->z);
    for (int i = 0; i < n; i++) { /* column i: L y = e_i, then L' x = y / d, of which rows <= i mirror */
        for (int k = i; k < n; k++) {
            double y = k == i;
            for (int j = i; j < k; j++) {
                y -= l[k][j] * column[j];
            }
            column[k] = y;
        }
        for (int k = n - 1; k >= i; k--) {
            double x = column[k] / d[k];
            for (int j = k + 1; j < n; j++) {
                x -= l[j][k] * of->inverse[j][i];
            }
            of->inverse[k][i] = of->inverse[i][k] = x;
        }
    }
}

double simplex_ls_after_entry(const SimplexInverse *of, const double *q, double own, int full) {
    double u[SIMPLEX_MAX], rest = own, rise = 1;
    for (int i = 0; i < of->n; i++) {
        u[i] = 0;
        for (int j = 0; j < of->n; j++) {
            u[i] += of->inverse[i][j] * q[j]; /* u = Q^-1 q */
        }
        rest -= q[i] * u[i];     /* own - q' Q^-1 q: the Schur complement */
        rise -= q[i] * of->z[i]; /* 1 - q' z */
    }
    if (rise <= 0) {
        return INFINITY;
    }
    if (rest <= 1e-14 * own) { /* the newcomer lies in the support's span: only a solve can tell */
        return 0;
    }
    const double z = rise / rest, sum = of->sum + rise * z; /* 1' Q^-1 1 with the newcomer */
    double least = full ? INFINITY : 0;
    for (int i = 0; i < of->n && full; i++) {
        const double left = of->z[i] - u[i] * z; /* z_i with the newcomer */
        least = fmin(least, left * left / (of->inverse[i][i] + u[i] * u[i] / rest)); /* z_i^2 / Q^-1_ii */
    }
    return 1 / (sum - least);
}

int simplex_ls_cheapest(int n, const double *q, double ridge) {
    SimplexInverse of;
    simplex_ls_invert(n, q, ridge, &of);
    int cheapest = 0;
    for (int i = 1; i < n; i++) {
        if (of.z[i] * of.z[i] * of.inverse[cheapest][cheapest] <
            of.z[cheapest] * of.z[cheapest] * of.inverse[i][i]) {
            cheapest = i;
        }
    }
    return cheapest;
}
