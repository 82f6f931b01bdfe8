/* test_lapack.c - products and the solver against plain loops. */
#include "math/lapack.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "test.h"

enum { M = 7, N = 5, K = 9, WIDE = 12 };

static void fill(uint64_t *random, double *a, int count) {
    for (int i = 0; i < count; i++) {
        a[i] = 2 * random_unit(random) - 1;
    }
}

TEST(products_are_those_of_plain_loops) {
    static const double betas[] = {0, 1, -0.5};
    uint64_t random = 1;
    for (int transposed = 0; transposed < 2; transposed++) {
        for (int i = 0; i < 3; i++) {
            double a[WIDE * WIDE], b[WIDE * WIDE], c[WIDE * WIDE], before[WIDE * WIDE];
            fill(&random, a, WIDE * WIDE);
            fill(&random, b, WIDE * WIDE);
            fill(&random, c, WIDE * WIDE);
            memcpy(before, c, sizeof c);
            test_case("transposed %d, beta %g", transposed, betas[i]);
            lapack_use_one_thread();
            (transposed ? lapack_multiply_tn : lapack_multiply_nn)(M, N, K, a, WIDE, b, WIDE, betas[i], c,
                                                                   WIDE);
            for (int row = 0; row < WIDE; row++) {
                for (int column = 0; column < WIDE; column++) {
                    double sum = betas[i] * before[WIDE * row + column];
                    for (int k = 0; k < K; k++) {
                        sum += a[transposed ? WIDE * k + row : WIDE * row + k] * b[WIDE * k + column];
                    }
                    if (row < M && column < N) {
                        CHECK_NEAR(c[WIDE * row + column], sum, 1e-13);
                    } else {
                        CHECK(c[WIDE * row + column] == before[WIDE * row + column]);
                    }
                }
            }
        }
    }
}

TEST(product_with_beta_zero_overwrites_what_is_not_a_number) {
    double a[1] = {2}, b[1] = {3}, c[1] = {NAN};
    lapack_multiply_nn(1, 1, 1, a, 1, b, 1, 0, c, 1);
    CHECK_NEAR(c[0], 6, 0);
}

TEST(positive_systems_are_solved_for_every_row) {
    enum { ROWS = 4 };
    uint64_t random = 2;
    double root[N * N], a[N * N], copy[N * N], b[ROWS * N], x[ROWS * N];
    fill(&random, root, N * N);
    fill(&random, b, ROWS * N);
    for (int i = 0; i < N * N; i++) {
        a[i] = i % (N + 1) == 0;
        for (int k = 0; k < N; k++) {
            a[i] += root[N * (i / N) + k] * root[N * (i % N) + k];
        }
    }
    memcpy(copy, a, sizeof a);
    memcpy(x, b, sizeof b);
    CHECK_INT(lapack_solve_positive(N, copy, ROWS, x), 0);
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < N; i++) {
            double sum = 0;
            for (int j = 0; j < N; j++) {
                sum += a[N * i + j] * x[N * row + j];
            }
            CHECK_NEAR(sum, b[N * row + i], 1e-12);
        }
    }
    for (int i = 0; i < N; i++) { /* what stands above the diagonal is not looked at */
        for (int j = i + 1; j < N; j++) {
            a[N * i + j] = NAN;
        }
    }
    CHECK_INT(lapack_factor_positive(N, a), 0);
    for (int row = 0; row < ROWS; row++) {
        lapack_solve_factored(N, a, b + N * row);
        for (int i = 0; i < N; i++) {
            CHECK_NEAR(b[N * row + i], x[N * row + i], 1e-12);
        }
    }
}

TEST(a_system_that_is_not_positive_is_refused) {
    double a[4] = {1, 2, 2, 1}, b[2] = {1, 1};
    CHECK_INT(lapack_solve_positive(2, a, 1, b), 1);
    CHECK(b[0] == 1 && b[1] == 1);
}

TEST(the_largest_eigenvectors_are_those_of_the_matrix) {
    enum { SIZE = 20, COUNT = 6 };
    double root[SIZE * SIZE], a[SIZE * SIZE], copy[SIZE * SIZE], value[SIZE], vector[COUNT * SIZE];
    double room[EIGEN_ROOM * SIZE], trace = 0, sum = 0;
    int places[EIGEN_PLACES * SIZE];
    uint64_t random = 5;
    fill(&random, root, SIZE * SIZE);
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = root[i] + root[i % SIZE * SIZE + i / SIZE];
    }
    memcpy(copy, a, sizeof a);
    CHECK_INT(lapack_largest_eigenvectors(SIZE, a, COUNT, value, vector, room, places), 0);
    for (int e = 0; e < COUNT; e++) {
        CHECK(e == 0 || value[e] >= value[e - 1]);
        for (int i = 0; i < SIZE; i++) {
            double row = 0;
            for (int j = 0; j < SIZE; j++) {
                row += copy[SIZE * i + j] * vector[SIZE * e + j];
            }
            CHECK_NEAR(row, value[e] * vector[SIZE * e + i], 1e-12);
        }
        for (int g = 0; g <= e; g++) {
            double dot = 0;
            for (int i = 0; i < SIZE; i++) {
                dot += vector[SIZE * e + i] * vector[SIZE * g + i];
            }
            CHECK_NEAR(dot, e == g, 1e-12);
        }
    }
    /* they are the largest: all of them, found one way, hold those found the other way on top */
    memcpy(a, copy, sizeof a);
    double all[SIZE], vectors[SIZE * SIZE];
    CHECK_INT(lapack_largest_eigenvectors(SIZE, a, SIZE, all, vectors, room, places), 0);
    for (int e = 0; e < COUNT; e++) {
        CHECK_NEAR(value[e], all[SIZE - COUNT + e], 1e-12);
    }
    for (int i = 0; i < SIZE; i++) {
        trace += copy[(SIZE + 1) * i];
        sum += all[i];
    }
    CHECK_NEAR(sum, trace, 1e-11);
}
