/* positive.c - Cholesky's factor of a positive definite matrix, and systems solved by it.
 *
 * By halves, so that nearly all of the work is products (Golub and Van Loan, Matrix Computations, 4.2.9):
 *     L11 L11' = A11,   L21 L11' = A21,   L22 L22' = A22 - L21 L21',
 * and likewise for the rows of B: X L' = B from the first half to the second, then Y L = X from the second to
 * the first. Up to SIDE unknowns are solved for TILE_COLUMNS rows at once, one in each lane, by tiles.
 *
 * Every number is computed in an order that does not depend on the processor. */
#include "math/positive.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/portable.h"
#include "math/product.h"
#include "math/tile.h"

enum {
    GROUP = TILE_ROWS,
    SIDE = 8 * GROUP,
    ROWS_AT_ONCE = TILE_COLUMNS,
    SMALL = 18,
    WHOLE_SQUARE = 48,
    APART = 8
};

/* ---- a few unknowns, for ROWS_AT_ONCE rows at once */

/* L by groups of GROUP unknowns: -L against the unknowns that are known before the group, and its own triangle
 * with 1 / L[i][i]. What the last group lacks is zero. */
typedef struct Groups {
    int count;
    double known[SIDE / GROUP][SIDE * GROUP];
    double own[SIDE / GROUP][GROUP][GROUP];
} Groups;

INSIDE void read_groups(const int backward, int n, const double *l, size_t ld, Groups *groups) {
    groups->count = (n + GROUP - 1) / GROUP;
    for (int g = 0; g < groups->count; g++) {
        const int begin = backward ? GROUP * (g + 1) : 0, end = backward ? GROUP * groups->count : GROUP * g;
        for (int k = begin; k < end; k++) {
            for (int i = 0; i < GROUP; i++) {
                const int row = backward ? k : GROUP * g + i, column = backward ? GROUP * g + i : k;
                groups->known[g][GROUP * (k - begin) + i] =
                    row < n ? -l[(size_t)row * ld + (size_t)column] : 0;
            }
        }
        for (int i = 0; i < GROUP * GROUP; i++) {
            const int row = GROUP * g + i / GROUP, column = GROUP * g + i % GROUP;
            const double at = row < n && column <= row ? l[(size_t)row * ld + (size_t)column] : 0;
            groups->own[g][i / GROUP][i % GROUP] = row == column && row < n ? 1 / at : at;
        }
    }
}

/* x [GROUP][ROWS_AT_ONCE], what is known taken from it already; as many lanes as a vector has */
INSIDE void solve_vector(const int backward, double own[GROUP][GROUP], double *x) {
    Two lane[GROUP];
    for (int i = 0; i < GROUP; i++) {
        lane[i] = *(const Two *)(x + ROWS_AT_ONCE * i);
    }
    for (int step = 0; step < GROUP; step++) {
        const int i = backward ? GROUP - 1 - step : step;
        lane[i] *= own[i][i];
        for (int k = backward ? 0 : i + 1; k < (backward ? i : GROUP); k++) {
            lane[k] -= (backward ? own[i][k] : own[k][i]) * lane[i];
        }
    }
    for (int i = 0; i < GROUP; i++) {
        *(Two *)(x + ROWS_AT_ONCE * i) = lane[i];
    }
}

/* x [unknowns][ROWS_AT_ONCE] */
INSIDE void solve_lanes(const int backward, Groups *groups, double *x) {
    for (int step = 0; step < groups->count; step++) {
        const int g = backward ? groups->count - 1 - step : step;
        const double *known = backward ? x + ROWS_AT_ONCE * GROUP * (g + 1) : x;
        double *own = x + ROWS_AT_ONCE * GROUP * g;
        tile_sum(ROWS_AT_ONCE, GROUP * step, groups->known[g], known, own, ROWS_AT_ONCE);
        for (int r = 0; r < ROWS_AT_ONCE; r += (int)(sizeof(Two) / sizeof(double))) {
            solve_vector(backward, groups->own[g], own + r);
        }
    }
}

/* x [unknowns][ROWS_AT_ONCE] of rows of B; where there are no more, the last one stands again */
INSIDE void read_lanes(int n, int rows, const double *b, size_t ld, double *x) {
    const double *row[ROWS_AT_ONCE];
    for (int r = 0; r < ROWS_AT_ONCE; r++) {
        row[r] = b + (size_t)(r < rows ? r : rows - 1) * ld;
    }
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < ROWS_AT_ONCE; r++) {
            x[ROWS_AT_ONCE * i + r] = row[r][i];
        }
    }
}

INSIDE void write_lanes(int n, int rows, const double *x, double *b, size_t ld) {
    if (rows >= ROWS_AT_ONCE) {
        for (int i = 0; i < n; i++) {
            for (int r = 0; r < ROWS_AT_ONCE; r++) {
                b[(size_t)r * ld + (size_t)i] = x[ROWS_AT_ONCE * i + r];
            }
        }
        return;
    }
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < rows; r++) {
            b[(size_t)r * ld + (size_t)i] = x[ROWS_AT_ONCE * i + r];
        }
    }
}

INSIDE void solve_few(const int backward, int n, const double *l, size_t ldl, int rows, double *b,
                      size_t ldb) {
    Groups groups;
    double x[SIDE * ROWS_AT_ONCE] = {0};
    read_groups(backward, n, l, ldl, &groups);
    for (; rows > 0; rows -= ROWS_AT_ONCE, b += ROWS_AT_ONCE * ldb) {
        read_lanes(n, rows, b, ldb, x);
        solve_lanes(backward, &groups, x);
        write_lanes(n, rows, x, b, ldb);
    }
}

/* ---- by halves */

static int half_of(int n) {
    return (n / 2 + GROUP - 1) / GROUP * GROUP;
}

/* B [rows][n] becomes X of X L' = B, or backward of X L = B. */
static void solve_rows(int backward, int n, const double *l, size_t ldl, int rows, double *b, size_t ldb) {
    if (n <= SIDE && backward) {
        solve_few(1, n, l, ldl, rows, b, ldb);
        return;
    }
    if (n <= SIDE) {
        solve_few(0, n, l, ldl, rows, b, ldb);
        return;
    }
    const int half = half_of(n), rest = n - half;
    const double *below = l + (size_t)half * ldl;
    if (backward) {
        solve_rows(1, rest, below + half, ldl, rows, b + half, ldb);
        product_less_nn(rows, half, rest, b + half, ldb, below, ldl, b, ldb);
        solve_rows(1, half, l, ldl, rows, b, ldb);
    } else {
        solve_rows(0, half, l, ldl, rows, b, ldb);
        product_less_nt(rows, rest, half, b, ldb, below, ldl, b + half, ldb);
        solve_rows(0, rest, below + half, ldl, rows, b + half, ldb);
    }
}

/* C [n][n] -= A A', its lower triangle at least */
static void take_square(int n, int k, const double *a, double *c, size_t ld) {
    if (n <= WHOLE_SQUARE) {
        product_less_nt(n, n, k, a, ld, a, ld, c, ld);
        return;
    }
    const int half = half_of(n), rest = n - half;
    const double *below = a + (size_t)half * ld;
    double *under = c + (size_t)half * ld;
    take_square(half, k, a, c, ld);
    product_less_nt(rest, half, k, below, ld, a, ld, under, ld);
    take_square(rest, k, below, under + half, ld);
}

/* Column by column, what it takes from all later ones at once. */
static int factor_few(int n, double *a, size_t ld) {
    for (int j = 0; j < n; j++) {
        double *own = a + (size_t)j * (ld + 1), column[SMALL];
        if (!(*own > 0 && *own <= DBL_MAX)) {
            return 0;
        }
        *own = sqrt(*own);
        for (int i = j + 1; i < n; i++) {
            double *row = a + (size_t)i * ld;
            row[j] /= *own;
            column[i] = row[j];
            for (int k = j + 1; k <= i; k++) {
                row[k] -= column[i] * column[k];
            }
        }
    }
    return 1;
}

static int factor(int n, double *a, size_t ld) {
    if (n <= SMALL) {
        return factor_few(n, a, ld);
    }
    const int half = half_of(n), rest = n - half;
    double *below = a + (size_t)half * ld;
    if (!factor(half, a, ld)) {
        return 0;
    }
    solve_rows(0, half, a, ld, rest, below, ld);
    take_square(rest, half, below, below + half, ld);
    return factor(rest, below + half, ld);
}

int positive_factor(int n, double *a) {
    return !factor(n, a, (size_t)n);
}

void positive_solve_one(int n, const double *l, double *b) {
    for (int i = 0; i < n; i++) {
        const double *row = l + (size_t)i * (size_t)n;
        double sum[APART] = {0};
        int j = 0;
        for (; j + APART <= i; j += APART) {
            for (int k = 0; k < APART; k++) {
                sum[k] += row[j + k] * b[j + k];
            }
        }
        for (; j < i; j++) {
            sum[j % APART] += row[j] * b[j];
        }
        b[i] -= ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
        b[i] /= row[i];
    }
    for (int i = n - 1; i >= 0; i--) {
        const double *row = l + (size_t)i * (size_t)n;
        b[i] /= row[i];
        for (int j = 0; j < i; j++) {
            b[j] -= row[j] * b[i];
        }
    }
}

void positive_solve_rows(int n, const double *l, int rows, double *b) {
    const size_t ld = (size_t)n;
    solve_rows(0, n, l, ld, rows, b, ld);
    solve_rows(1, n, l, ld, rows, b, ld);
}

int positive_solve(int n, double *a, int rows, double *b) {
    if (positive_factor(n, a)) {
        return 1;
    }
    if (rows == 1) {
        positive_solve_one(n, a, b);
    } else {
        positive_solve_rows(n, a, rows, b);
    }
    return 0;
}
