/* test_simplex_ls.c - least squares on the simplex, against all supports tried one by one. */
#include "math/simplex_ls.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "test.h"

enum { N = 6 };

static const double RIDGE = 1e-13;

/* Q = D'D for n random columns of `rows` numbers, all shifted so that mixtures pay off. */
static void random_gram(uint64_t *random, int n, int rows, double shift, double *q) {
    double d[SIMPLEX_MAX][SIMPLEX_MAX];
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < rows; r++) {
            d[i][r] = 2 * random_unit(random) - 1 + shift;
        }
    }
    memset(q, 0, SIMPLEX_MAX * SIMPLEX_MAX * sizeof *q);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int r = 0; r < rows; r++) {
                q[i * SIMPLEX_MAX + j] += d[i][r] * d[j][r];
            }
        }
    }
}

/* Q z = 1 on a subset, by elimination with pivots; returns sum z, or 0 when it is singular. */
static long double solve_ones(const double *q, const int *at, int n, long double *z) {
    long double a[SIMPLEX_MAX][SIMPLEX_MAX + 1], sum = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            a[i][j] = q[at[i] * SIMPLEX_MAX + at[j]];
        }
        a[i][i] += RIDGE;
        a[i][n] = 1;
    }
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int i = c + 1; i < n; i++) {
            pivot = fabsl(a[i][c]) > fabsl(a[pivot][c]) ? i : pivot;
        }
        if (fabsl(a[pivot][c]) < 1e-30L) {
            return 0;
        }
        for (int j = 0; j <= n; j++) {
            long double t = a[c][j];
            a[c][j] = a[pivot][j];
            a[pivot][j] = t;
        }
        for (int i = 0; i < n; i++) {
            for (int j = n; i != c && j >= c; j--) {
                a[i][j] -= a[i][c] / a[c][c] * a[c][j];
            }
        }
    }
    for (int i = 0; i < n; i++) {
        sum += z[i] = a[i][n] / a[i][i];
    }
    return sum;
}

static int members(int mask, int n, int *at) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (mask >> i & 1) {
            at[count++] = i;
        }
    }
    return count;
}

/* The least w'Qw over all supports whose optimum is feasible. */
static double brute_force(int n, const double *q) {
    double best = INFINITY;
    for (int mask = 1; mask < 1 << n; mask++) {
        int at[SIMPLEX_MAX], count = members(mask, n, at), feasible = 1;
        long double z[SIMPLEX_MAX], sum = solve_ones(q, at, count, z);
        for (int i = 0; i < count; i++) {
            feasible &= z[i] * sum >= 0;
        }
        if (feasible && sum > 0) {
            best = fmin(best, (double)(1 / sum));
        }
    }
    return best;
}

static double value_of(int n, const double *q, const double *w) {
    double value = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            value += w[i] * q[i * SIMPLEX_MAX + j] * w[j];
        }
    }
    return value;
}

static void check_feasible(int n, const double *w) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        CHECK(w[i] >= 0);
        sum += w[i];
    }
    CHECK_NEAR(sum, 1, 1e-9);
}

TEST(simplex_optimum_is_that_of_all_supports) {
    uint64_t random = 1;
    for (int trial = 0; trial < 400 && !test_failed(); trial++) {
        int n = 1 + trial % N, rows = trial % 5 < 3 ? 20 : 2; /* also fewer rows than columns */
        double q[SIMPLEX_MAX * SIMPLEX_MAX], best;
        random_gram(&random, n, rows > SIMPLEX_MAX ? SIMPLEX_MAX : rows, trial % 3 * 0.4, q);
        best = brute_force(n, q);
        for (int start = -1; start < n; start++) { /* from the middle and from every corner */
            double w[SIMPLEX_MAX] = {0}, value;
            test_case("trial %d, %d columns of %d, start %d", trial, n, rows, start);
            for (int i = 0; i < n; i++) {
                w[i] = start < 0 ? 1.0 / n : i == start;
            }
            value = simplex_ls(n, q, RIDGE, w);
            check_feasible(n, w);
            CHECK_NEAR(value, value_of(n, q, w), 1e-10);
            CHECK_NEAR(value, best, 1e-9);
        }
    }
}

TEST(simplex_of_one_column_is_one) {
    double q[SIMPLEX_MAX * SIMPLEX_MAX] = {4}, w[1] = {1};
    CHECK_NEAR(simplex_ls(1, q, RIDGE, w), 4, 1e-12);
    CHECK_NEAR(w[0], 1, 1e-15);
}

TEST(simplex_of_two_opposite_columns_is_their_zero) {
    double q[SIMPLEX_MAX * SIMPLEX_MAX] = {0}, w[2] = {1, 0};
    q[0] = 1, q[1] = q[SIMPLEX_MAX] = -3, q[SIMPLEX_MAX + 1] = 9; /* columns 1 and -3 */
    CHECK_NEAR(simplex_ls(2, q, RIDGE, w), 0, 1e-12);
    CHECK_NEAR(w[0], 0.75, 1e-9);
}

/* The optimum on two of the three is 1e-400 each, which is zero. */
TEST(simplex_of_shares_too_small_for_a_number_ends) {
    double q[SIMPLEX_MAX * SIMPLEX_MAX] = {0}, w[3] = {0.2, 0.3, 0.5};
    q[0] = 1e-200;
    q[SIMPLEX_MAX + 1] = q[2 * SIMPLEX_MAX + 2] = 1e200;
    CHECK_NEAR(simplex_ls(3, q, 1e-300, w), 1e-200, 1e-210);
    CHECK_NEAR(w[0], 1, 1e-15);
}

TEST(simplex_of_equal_columns_ends) {
    double q[SIMPLEX_MAX * SIMPLEX_MAX], w[SIMPLEX_MAX];
    for (int i = 0; i < SIMPLEX_MAX * SIMPLEX_MAX; i++) {
        q[i] = 2;
    }
    for (int i = 0; i < SIMPLEX_MAX; i++) {
        w[i] = 1.0 / SIMPLEX_MAX;
    }
    CHECK_NEAR(simplex_ls(SIMPLEX_MAX, q, RIDGE, w), 2, 1e-9);
    check_feasible(SIMPLEX_MAX, w);
}

TEST(simplex_of_a_perfect_fit_is_zero) {
    double q[SIMPLEX_MAX * SIMPLEX_MAX] = {0}, w[3] = {0.2, 0.3, 0.5};
    CHECK_NEAR(simplex_ls(3, q, RIDGE, w), 0, 1e-15);
    check_feasible(3, w);
}

TEST(simplex_inverse_times_the_matrix_is_one) {
    uint64_t random = 2;
    for (int n = 1; n <= SIMPLEX_MAX; n++) {
        double q[SIMPLEX_MAX * SIMPLEX_MAX], sum = 0;
        SimplexInverse of;
        random_gram(&random, n, SIMPLEX_MAX, 0, q);
        for (int i = 0; i < n; i++) {
            q[i * SIMPLEX_MAX + i] += 1;
        }
        simplex_ls_invert(n, q, RIDGE, &of);
        for (int i = 0; i < n; i++) {
            double row = 0;
            for (int j = 0; j < n; j++) {
                double product = 0;
                for (int k = 0; k < n; k++) {
                    product += of.inverse[i][k] * q[k * SIMPLEX_MAX + j];
                }
                CHECK_NEAR(product, i == j, 1e-9);
                row += of.inverse[i][j];
            }
            CHECK_NEAR(of.z[i], row, 1e-9);
            sum += of.z[i];
        }
        CHECK_NEAR(of.sum, sum, 1e-9);
    }
}

/* Without the signs, the optimum on a subset is 1 / sum z. */
TEST(simplex_cheapest_is_the_least_loss) {
    uint64_t random = 3;
    for (int trial = 0; trial < 200 && !test_failed(); trial++) {
        int n = 2 + trial % 7, at[SIMPLEX_MAX], cheapest;
        double q[SIMPLEX_MAX * SIMPLEX_MAX], least = INFINITY, chosen = 0;
        long double z[SIMPLEX_MAX];
        random_gram(&random, n, SIMPLEX_MAX, 0.5, q);
        cheapest = simplex_ls_cheapest(n, q, RIDGE);
        for (int gone = 0; gone < n; gone++) {
            int count = members(((1 << n) - 1) & ~(1 << gone), n, at);
            double without = (double)(1 / solve_ones(q, at, count, z));
            least = fmin(least, without);
            chosen = gone == cheapest ? without : chosen;
        }
        CHECK_NEAR(chosen, least, 1e-9 * least);
    }
}

/* The promise of an entry: the optimum, signs aside, over the support with it, or with one less. */
TEST(simplex_entry_promises_what_a_solve_would_give) {
    uint64_t random = 4;
    int entered = 0;
    for (int trial = 0; trial < 300 && !test_failed(); trial++) {
        int n = 2 + trial % 5, full = trial % 2, at[SIMPLEX_MAX];
        double q[SIMPLEX_MAX * SIMPLEX_MAX], column[SIMPLEX_MAX], promise, wanted;
        long double z[SIMPLEX_MAX], sum;
        SimplexInverse of;
        test_case("trial %d", trial);
        random_gram(&random, n, SIMPLEX_MAX, 0.3, q);
        for (int i = 0; i < n - 1; i++) {
            column[i] = q[i * SIMPLEX_MAX + n - 1];
        }
        simplex_ls_invert(n - 1, q, RIDGE, &of);
        promise = simplex_ls_after_entry(&of, column, q[(n - 1) * SIMPLEX_MAX + n - 1] + RIDGE, full);
        sum = solve_ones(q, at, members((1 << n) - 1, n, at), z);
        if (z[n - 1] <= 0) { /* the newcomer would pull the wrong way */
            CHECK(isinf(promise));
            continue;
        }
        entered++;
        wanted = full ? INFINITY : (double)(1 / sum);
        for (int gone = 0; gone < n - 1 && full; gone++) {
            int count = members(((1 << n) - 1) & ~(1 << gone), n, at);
            wanted = fmin(wanted, (double)(1 / solve_ones(q, at, count, z)));
        }
        CHECK_NEAR(promise, wanted, 1e-8 * wanted);
    }
    CHECK(entered > 50);
}

/* The columns (1, 0) and (0, 2), and (1/4, 1/2) between them and zero: together they reach zero. */
TEST(simplex_entry_within_the_span_is_left_to_a_solve) {
    double q[SIMPLEX_MAX * SIMPLEX_MAX] = {0}, column[2] = {0.25, 1};
    SimplexInverse of;
    q[0] = 1, q[SIMPLEX_MAX + 1] = 4;
    simplex_ls_invert(2, q, 0, &of);
    CHECK_NEAR(simplex_ls_after_entry(&of, column, 0.3125, 0), 0, 0);
}

TEST(simplex_entry_of_a_mixture_is_worth_nothing) {
    double q[SIMPLEX_MAX * SIMPLEX_MAX] = {0}, column[2] = {0.5, 2}; /* the mean of (1, 0) and (0, 2) */
    SimplexInverse of;
    q[0] = 1, q[SIMPLEX_MAX + 1] = 4;
    simplex_ls_invert(2, q, 0, &of);
    CHECK(isinf(simplex_ls_after_entry(&of, column, 1.25, 0)));
}
