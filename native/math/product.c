/* product.c - C[i][j] += s A[i][0] B[0][j] + s A[i][1] B[1][j] + ...,  s = 1 or -1.
 *
 * Each number of C is summed in this order (tile.c): the bits do not depend on the processor or on how the work
 * is cut.
 *
 * After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008: a part of B that
 * stays in cache is packed into panels of TILE_COLUMNS columns, TILE_ROWS rows of A are packed beside it, and
 * tiles of C are summed in registers. What a panel or the rows lack is made up by zeros that are summed but not kept. */
#include "math/product.h"

#include <string.h>

#include "base/portable.h"
#include "math/tile.h"

enum { DEPTH = 64, BREADTH = 12 * TILE_COLUMNS };

/* Element (i, j) is at[i * down + j * right], or likewise in floats. */
typedef struct Matrix {
    const double *at;
    const float *floats;
    size_t down, right;
} Matrix;

static int least(int a, int b) {
    return a < b ? a : b;
}

static Matrix part_of(Matrix a, int i, int j) {
    const size_t away = (size_t)i * a.down + (size_t)j * a.right;
    a.at = a.at ? a.at + away : NULL;
    a.floats = a.floats ? a.floats + away : NULL;
    return a;
}

/* to [depth][TILE_COLUMNS] */
INSIDE void pack_panel(Matrix b, int depth, int columns, double *to) {
    if (b.right == 1 && columns == TILE_COLUMNS) {
        for (int k = 0; k < depth; k++) {
            memcpy(to + TILE_COLUMNS * k, b.at + (size_t)k * b.down, TILE_COLUMNS * sizeof *to);
        }
        return;
    }
    for (int k = 0; k < depth; k++) {
        for (int j = 0; j < TILE_COLUMNS; j++) {
            to[TILE_COLUMNS * k + j] = j < columns ? b.at[(size_t)k * b.down + (size_t)j * b.right] : 0;
        }
    }
}

/* to [depth][TILE_ROWS] */
#define PACK_ROWS(name, Number)                                                                    \
    INSIDE void name(const Number *a, size_t down, size_t right, double sign, int rows, int depth, \
                     double *to) {                                                                 \
        for (int k = 0; k < depth && rows == TILE_ROWS; k++) {                                     \
            for (int i = 0; i < TILE_ROWS; i++) {                                                  \
                to[TILE_ROWS * k + i] = sign * (double)a[(size_t)k * right + (size_t)i * down];    \
            }                                                                                      \
        }                                                                                          \
        for (int k = 0; k < depth && rows < TILE_ROWS; k++) {                                      \
            for (int i = 0; i < TILE_ROWS; i++) {                                                  \
                to[TILE_ROWS * k + i] =                                                            \
                    i < rows ? sign * (double)a[(size_t)k * right + (size_t)i * down] : 0;         \
            }                                                                                      \
        }                                                                                          \
    }
PACK_ROWS(pack_doubles, double)
PACK_ROWS(pack_floats, float)

INSIDE void pack_rows(Matrix a, double sign, int rows, int depth, double *to) {
    if (a.floats) {
        pack_floats(a.floats, a.down, a.right, sign, rows, depth, to);
    } else {
        pack_doubles(a.at, a.down, a.right, sign, rows, depth, to);
    }
}

/* A tile that is not whole, summed aside. */
static void sum_cut_tile(int rows, int columns, int depth, const double *a, const double *b, double *c,
                         size_t ld) {
    double aside[TILE_ROWS * TILE_COLUMNS];
    for (int i = 0; i < TILE_ROWS; i++) {
        for (int j = 0; j < TILE_COLUMNS; j++) {
            aside[TILE_COLUMNS * i + j] = i < rows && j < columns ? c[(size_t)i * ld + (size_t)j] : 0;
        }
    }
    tile_sum(columns, depth, a, b, aside, TILE_COLUMNS);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            c[(size_t)i * ld + (size_t)j] = aside[TILE_COLUMNS * i + j];
        }
    }
}

/* With at most DEPTH columns of A and BREADTH of B. */
static void add_part(double sign, int m, int n, int k, Matrix a, Matrix b, double *c, size_t ld) {
    double panels[BREADTH * DEPTH], rows[TILE_ROWS * DEPTH];
    for (int j = 0; j < n; j += TILE_COLUMNS) {
        pack_panel(part_of(b, 0, j), k, least(n - j, TILE_COLUMNS), panels + DEPTH * j);
    }
    for (int i = 0; i < m; i += TILE_ROWS) {
        pack_rows(part_of(a, i, 0), sign, least(m - i, TILE_ROWS), k, rows);
        for (int j = 0; j < n; j += TILE_COLUMNS) {
            const int columns = least(n - j, TILE_COLUMNS);
            double *tile = c + (size_t)i * ld + (size_t)j;
            if (m - i >= TILE_ROWS && (columns == TILE_COLUMNS || columns == TILE_HALF)) {
                tile_sum(columns, k, rows, panels + DEPTH * j, tile, ld);
            } else {
                sum_cut_tile(least(m - i, TILE_ROWS), columns, k, rows, panels + DEPTH * j, tile, ld);
            }
        }
    }
}

static void add_product(double sign, int m, int n, int k, Matrix a, Matrix b, double *c, size_t ld) {
    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        for (int j0 = 0; j0 < n; j0 += BREADTH) {
            add_part(sign, m, least(n - j0, BREADTH), least(k - k0, DEPTH), part_of(a, 0, k0),
                     part_of(b, k0, j0), c + j0, ld);
        }
    }
}

void product_nn(int m, int n, int k, const double *a, size_t lda, const double *b, size_t ldb, double *c,
                size_t ldc) {
    add_product(1, m, n, k, (Matrix){a, NULL, lda, 1}, (Matrix){b, NULL, ldb, 1}, c, ldc);
}

void product_tn(int m, int n, int k, const double *a, size_t lda, const double *b, size_t ldb, double *c,
                size_t ldc) {
    add_product(1, m, n, k, (Matrix){a, NULL, 1, lda}, (Matrix){b, NULL, ldb, 1}, c, ldc);
}

void product_less_nn(int m, int n, int k, const double *a, size_t lda, const double *b, size_t ldb, double *c,
                     size_t ldc) {
    add_product(-1, m, n, k, (Matrix){a, NULL, lda, 1}, (Matrix){b, NULL, ldb, 1}, c, ldc);
}

void product_less_nt(int m, int n, int k, const double *a, size_t lda, const double *b, size_t ldb, double *c,
                     size_t ldc) {
    add_product(-1, m, n, k, (Matrix){a, NULL, lda, 1}, (Matrix){b, NULL, 1, ldb}, c, ldc);
}

void product_floats_nn(int m, int n, int k, const float *a, size_t lda, const double *b, size_t ldb,
                       double *c, size_t ldc) {
    add_product(1, m, n, k, (Matrix){NULL, a, lda, 1}, (Matrix){b, NULL, ldb, 1}, c, ldc);
}

void product_floats_tn(int m, int n, int k, const float *a, size_t lda, const double *b, size_t ldb,
                       double *c, size_t ldc) {
    add_product(1, m, n, k, (Matrix){NULL, a, 1, lda}, (Matrix){b, NULL, ldb, 1}, c, ldc);
}
