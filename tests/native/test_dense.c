/* test_dense.c - products, positive systems and eigenvectors against plain loops, and one another's bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/portable.h"
#include "base/random.h"
#include "math/eigen.h"
#include "math/positive.h"
#include "math/product.h"
#include "test.h"

typedef void Product(int m, int n, int k, const double *a, size_t lda, const double *b, size_t ldb, double *c,
                     size_t ldc);

static void fill(uint64_t *random, double *a, int count) {
    for (int i = 0; i < count; i++) {
        a[i] = 2 * random_unit(random) - 1;
    }
}

/* ---- products */

enum { MOST = 160, SPARE = 3, LD = MOST + SPARE };

static const struct {
    Product *run;
    double sign;
    int flip_a, flip_b;
} PRODUCTS[] = {
    {product_nn, 1, 0, 0}, {product_tn, 1, 1, 0}, {product_less_nn, -1, 0, 0}, {product_less_nt, -1, 0, 1}};

/* From left to right, each product and its sum rounded once. */
static double plain_sum(int way, int row, int column, int k, const double *a, const double *b, double sum) {
    for (int i = 0; i < k; i++) {
        const double x = a[PRODUCTS[way].flip_a ? LD * i + row : LD * row + i];
        sum = fma(PRODUCTS[way].sign * x, b[PRODUCTS[way].flip_b ? LD * column + i : LD * i + column], sum);
    }
    return sum;
}

static void check_product(int way, int m, int n, int k) {
    static double a[LD * LD], b[LD * LD], c[LD * LD], before[LD * LD];
    uint64_t random = 1;
    fill(&random, a, LD * LD);
    fill(&random, b, LD * LD);
    fill(&random, c, LD * LD);
    memcpy(before, c, sizeof c);
    PRODUCTS[way].run(m, n, k, a, LD, b, LD, c, LD);
    for (int i = 0; i < LD * LD; i++) {
        const int row = i / LD, column = i % LD, inside = row < m && column < n;
        CHECK(c[i] == (inside ? plain_sum(way, row, column, k, a, b, before[i]) : before[i]));
    }
}

/* To the bit, for all that is left over beside whole tiles and whole parts of them. */
TEST(products_have_the_bits_of_plain_loops) {
    static const int sizes[][3] = {{1, 1, 1},   {6, 8, 1},    {7, 5, 9},     {3, 4, 64},     {12, 12, 65},
                                   {13, 99, 3}, {60, 96, 64}, {64, 100, 30}, {159, 97, 129}, {5, MOST, MOST}};
    for (int wide = 0; wide < 2; wide++) {
        portable_allow_wide(wide);
        for (int i = 0; i < 4 * (int)(sizeof sizes / sizeof *sizes); i++) {
            const int *size = sizes[i / 4];
            test_case("wide %d, way %d, %d x %d x %d", wide, i % 4, size[0], size[1], size[2]);
            check_product(i % 4, size[0], size[1], size[2]);
        }
    }
    portable_allow_wide(1);
}

/* a b + c, rounded once. The fma() of Windows' C library goes through long double and rounds twice: there, the
 * processor's own is asked, if it has one. */
static double rounded_once(const double x[3], int wide) {
#ifdef _WIN32
    double c = x[2];
    portable_allow_wide(1);
    product_nn(1, 1, 1, x, 1, x + 1, 1, &c, 1);
    portable_allow_wide(wide);
    return c;
#else
    (void)wide;
    return fma(x[0], x[1], x[2]);
#endif
}

/* Numbers of all sizes, so that sums cancel, round to even and lose one side: where the processor does not fuse
 * products and sums, and where it does. */
TEST(products_and_sums_are_rounded_once) {
    enum { COUNT = 40000 };
    uint64_t random = 9;
    for (int wide = 0; wide < 2; wide++) {
        portable_allow_wide(wide);
        for (int i = 0; i < COUNT && !test_failed(); i++) {
            double x[3], c;
            for (int j = 0; j < 3; j++) {
                const int digits = 1 + random_below(&random, 53); /* few, for ties */
                x[j] =
                    ldexp(rint(ldexp(2 * random_unit(&random) - 1, digits)), random_below(&random, 120) - 60);
            }
            if (i % 3 == 0) {
                x[2] = -x[0] * x[1]; /* what is left is the product's rounding */
            }
            c = x[2];
            product_nn(1, 1, 1, x, 1, x + 1, 1, &c, 1);
            test_case("wide %d, %a %a %a", wide, x[0], x[1], x[2]);
            CHECK(c == rounded_once(x, wide));
        }
    }
    portable_allow_wide(1);
}

TEST(products_that_overflow_are_infinite) {
    for (int wide = 0; wide < 2; wide++) {
        double a[1] = {1e300}, b[1] = {-1e300}, c[1] = {1};
        portable_allow_wide(wide);
        product_nn(1, 1, 1, a, 1, b, 1, c, 1);
        CHECK(c[0] == -INFINITY);
        b[0] = NAN;
        product_nn(1, 1, 1, a, 1, b, 1, c, 1);
        CHECK(isnan(c[0]));
    }
    portable_allow_wide(1);
}

TEST(products_of_floats_are_those_of_doubles) {
    enum { ROWS = 50, DEEP = 70, COLUMNS = 13 };
    static float floats[ROWS * DEEP];
    static double a[ROWS * DEEP], b[DEEP * COLUMNS], c[2][ROWS * COLUMNS];
    uint64_t random = 3;
    fill(&random, b, DEEP * COLUMNS);
    for (int i = 0; i < ROWS * DEEP; i++) {
        floats[i] = (float)random_unit(&random);
        a[i] = (double)floats[i];
    }
    product_nn(ROWS, COLUMNS, DEEP, a, DEEP, b, COLUMNS, c[0], COLUMNS);
    product_floats_nn(ROWS, COLUMNS, DEEP, floats, DEEP, b, COLUMNS, c[1], COLUMNS);
    CHECK(memcmp(c[0], c[1], sizeof c[0]) == 0);
    product_tn(ROWS, COLUMNS, DEEP, a, ROWS, b, COLUMNS, c[0], COLUMNS);
    product_floats_tn(ROWS, COLUMNS, DEEP, floats, ROWS, b, COLUMNS, c[1], COLUMNS);
    CHECK(memcmp(c[0], c[1], sizeof c[0]) == 0);
}

TEST(a_product_over_nothing_changes_nothing) {
    double a[1] = {NAN}, b[1] = {NAN}, c[1] = {3};
    product_nn(1, 1, 0, a, 1, b, 1, c, 1);
    product_nn(1, 0, 1, a, 1, b, 1, c, 1);
    product_nn(0, 1, 1, a, 1, b, 1, c, 1);
    CHECK(c[0] == 3);
}

/* ---- positive systems */

typedef struct System {
    int n, rows;
    double *a, *b; /* [n][n] and [rows][n] */
} System;

static System random_system(int n, int rows) {
    System s = {n, rows, malloc((size_t)(n * n) * sizeof(double)),
                malloc((size_t)(rows * n) * sizeof(double))};
    double *root = malloc((size_t)(n * n) * sizeof(double));
    uint64_t random = (uint64_t)n;
    fill(&random, root, n * n);
    fill(&random, s.b, rows * n);
    for (int i = 0; i < n * n; i++) {
        s.a[i] = i % (n + 1) == 0;
        for (int k = 0; k < n; k++) {
            s.a[i] += root[n * (i / n) + k] * root[n * (i % n) + k];
        }
    }
    free(root);
    return s;
}

static void system_free(System *s) {
    free(s->a);
    free(s->b);
}

static void check_solution(const System *s, const double *x, int rows) {
    for (int row = 0; row < rows; row++) {
        for (int i = 0; i < s->n; i++) {
            double sum = 0;
            for (int j = 0; j < s->n; j++) {
                sum += s->a[s->n * i + j] * x[s->n * row + j];
            }
            CHECK_NEAR(sum, s->b[s->n * row + i], 1e-11);
        }
    }
}

static double *copied(const double *from, int count) {
    double *to = malloc((size_t)count * sizeof *to);
    memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

static void check_system(int n, int rows) {
    System s = random_system(n, rows);
    double *factor = copied(s.a, n * n), *again = copied(s.a, n * n), *x = copied(s.b, rows * n);
    double *narrow = copied(s.b, rows * n);
    for (int i = 0; i < n; i++) { /* what stands above the diagonal is not looked at */
        for (int j = i + 1; j < n; j++) {
            factor[n * i + j] = NAN;
        }
    }
    CHECK_INT(positive_solve(n, factor, rows, x), 0);
    check_solution(&s, x, rows);
    portable_allow_wide(0);
    CHECK_INT(positive_solve(n, again, rows, narrow), 0);
    portable_allow_wide(1);
    CHECK(memcmp(x, narrow, (size_t)(rows * n) * sizeof *x) == 0);
    for (int i = 0; i < n * n; i++) {
        CHECK(i % n > i / n || factor[i] == again[i]);
    }
    memcpy(narrow, s.b, (size_t)(rows * n) * sizeof *narrow);
    for (int row = 0, some = 1; rows > 1 && row < rows; row += some, some = rows - row > 3 ? 3 : 1) {
        positive_solve_rows(n, factor, some, narrow + row * n);
    }
    CHECK(rows == 1 || memcmp(x, narrow, (size_t)(rows * n) * sizeof *x) == 0);
    memcpy(x, s.b, (size_t)n * sizeof *x);
    positive_solve_one(n, factor, x);
    check_solution(&s, x, 1);
    free(factor);
    free(again);
    free(x);
    free(narrow);
    system_free(&s);
}

TEST(positive_systems_are_solved_for_every_row) {
    static const int sizes[] = {1, 2, 5, 6, 7, 17, 18, 19, 47, 48, 49, 60, 97, 131, 200};
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        for (int rows = 1; rows < 30; rows += 7) {
            test_case("%d unknowns, %d rows", sizes[i], rows);
            check_system(sizes[i], rows);
        }
    }
}

TEST(a_system_that_is_not_positive_is_refused) {
    for (int n = 2; n < 100; n += 7) {
        for (int at = 0; at < n; at += 3) {
            System s = random_system(n, 2);
            double *b = copied(s.b, 2 * n);
            s.a[(n + 1) * at] = at % 2 ? -1 : NAN;
            test_case("%d unknowns, at %d", n, at);
            CHECK_INT(positive_solve(n, s.a, 2, s.b), 1);
            CHECK(memcmp(b, s.b, 2 * (size_t)n * sizeof *b) == 0);
            free(b);
            system_free(&s);
        }
    }
}

/* ---- eigenvectors */

TEST(the_largest_eigenvectors_are_those_of_the_matrix) {
    enum { SIZE = 20, COUNT = 6 };
    double root[SIZE * SIZE], a[SIZE * SIZE], copy[SIZE * SIZE], value[SIZE], vector[COUNT * SIZE];
    double room[10 * SIZE], trace = 0, sum = 0;
    uint64_t random = 5;
    CHECK(eigen_room(SIZE) == sizeof room / sizeof *room);
    fill(&random, root, SIZE * SIZE);
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = root[i] + root[i % SIZE * SIZE + i / SIZE];
    }
    memcpy(copy, a, sizeof a);
    CHECK_INT(eigen_largest(SIZE, a, COUNT, value, vector, room), 0);
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
    CHECK_INT(eigen_largest(SIZE, a, SIZE, all, vectors, room), 0);
    for (int e = 0; e < COUNT; e++) {
        CHECK_NEAR(value[e], all[SIZE - COUNT + e], 1e-12);
    }
    for (int i = 0; i < SIZE; i++) {
        trace += copy[(SIZE + 1) * i];
        sum += all[i];
    }
    CHECK_NEAR(sum, trace, 1e-11);
}

/* Of a matrix that needs no reflection, has one value many times, and is next to nothing or huge. */
TEST(eigenvectors_of_matrices_that_are_nearly_done) {
    enum { SIZE = 9 };
    static const double scales[] = {1, 1e-300, 1e300};
    for (int i = 0; i < 3; i++) {
        double a[SIZE * SIZE] = {0}, value[SIZE], vector[SIZE * SIZE], room[10 * SIZE];
        for (int j = 0; j < SIZE; j++) {
            a[(SIZE + 1) * j] = scales[i] * (j < 5 ? 1 : 2);
        }
        test_case("scale %g", scales[i]);
        CHECK_INT(eigen_largest(SIZE, a, SIZE, value, vector, room), 0);
        for (int j = 0; j < SIZE; j++) {
            double square = 0;
            CHECK_NEAR(value[j], scales[i] * (j < 5 ? 1 : 2), 1e-14 * scales[i]);
            for (int k = 0; k < SIZE; k++) {
                square += vector[SIZE * j + k] * vector[SIZE * j + k];
            }
            CHECK_NEAR(square, 1, 1e-14);
        }
    }
}

static void check_eigen(int n, const double *a, double tolerance) {
    const size_t size = (size_t)n;
    double *copy = copied(a, n * n), *value = malloc(size * sizeof *value);
    double *vector = malloc(size * size * sizeof *vector), *room = malloc(eigen_room(n) * sizeof *room);
    CHECK_INT(eigen_largest(n, copy, n, value, vector, room), 0);
    for (int e = 0; e < n; e++) {
        CHECK(e == 0 || value[e] >= value[e - 1]);
        for (int i = 0; i < n; i++) {
            double row = 0, dot = 0;
            for (int j = 0; j < n; j++) {
                row += a[n * i + j] * vector[n * e + j];
                dot += vector[n * i + j] * vector[n * e + j];
            }
            CHECK_NEAR(row, value[e] * vector[n * e + i], tolerance);
            CHECK_NEAR(dot, i == e, 1e-12);
        }
    }
    free(copy);
    free(value);
    free(vector);
    free(room);
}

/* Values that are many times the same, or as good as: parts that know nothing of each other, and Wilkinson's
 * matrix, whose values come in pairs that differ in the last digit. */
TEST(eigenvectors_of_values_that_are_the_same_are_apart) {
    enum { SIZE = 42, PART = 7 };
    static double parts[SIZE * SIZE], ones[SIZE * SIZE], wilkinson[SIZE * SIZE], nothing[SIZE * SIZE];
    for (int i = 0; i < SIZE * SIZE; i++) {
        const int row = i / SIZE, column = i % SIZE;
        ones[i] = 1;
        parts[i] = row / PART == column / PART ? 1.0 / PART : 0;
        wilkinson[i] = row == column ? abs(row - SIZE / 2) : abs(row - column) == 1;
    }
    test_case("parts");
    check_eigen(SIZE, parts, 1e-13);
    test_case("ones");
    check_eigen(SIZE, ones, 1e-12);
    test_case("Wilkinson's");
    check_eigen(SIZE, wilkinson, 1e-12);
    test_case("nothing");
    check_eigen(SIZE, nothing, 0);
}

TEST(a_matrix_with_what_is_no_number_has_no_eigenvectors) {
    enum { SIZE = 5 };
    double a[SIZE * SIZE], value[SIZE], vector[SIZE * SIZE], room[10 * SIZE];
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = i % 6 == 0 ? NAN : 1;
    }
    CHECK_INT(eigen_largest(SIZE, a, SIZE, value, vector, room), 1);
}
