/* tile.c - C[i][j] <- fma(A[k][i], B[k][j], C[i][j]) for k = 0, 1, ...
 *
 * Each number is summed in this order, and each product and its sum are rounded once: the bits depend neither on
 * the processor nor on the width of its vectors. Processors that do not fuse the two do it in steps (Boldo and
 * Melquiond, "Emulation of FMA and Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd", 2008):
 *     u + u' = a b,   t + t' = c + u',   v + v' = u + t,   v + odd(t' + v')
 * where the letters without a dash are rounded, those with it the rest, and odd() rounds what is not exact to the
 * neighbour whose last bit is 1. That takes thirty times as long, where only the oldest processors pay for it. */
#include "math/tile.h"

#include <math.h>
#include <stdint.h>

#include "base/portable.h"

/* ---- a b + c, rounded once */

#ifdef HAS_FUSED_TWO

INSIDE Two fused(double a, Two b, Two c) {
    return portable_fuse_two(a, b, c);
}

#else

typedef int64_t Bits __attribute__((vector_size(16)));

/* a + b = sum + rest (Knuth) */
INSIDE Two sum_of(Two a, Two b, Two *rest) {
    const Two sum = a + b, of_b = sum - a;
    *rest = (a - (sum - of_b)) + (b - of_b);
    return sum;
}

/* The upper half of the digits (Veltkamp) */
INSIDE Two upper(Two a) {
    const Two far = 134217729.0 * a; /* 2^27 + 1 */
    return far - (far - a);
}

/* a b = product + rest (Dekker) */
INSIDE Two product_of(Two a, Two b, Two *rest) {
    const Two product = a * b, p = upper(a), q = upper(b), r = a - p, s = b - q;
    *rest = ((p * q - product) + p * s + r * q) + r * s;
    return product;
}

INSIDE Two odd_sum(Two a, Two b) {
    Two rest;
    const Two sum = sum_of(a, b, &rest);
    const Bits bits = (Bits)sum, one = {1, 1}, even = (bits & one) == 0;
    const Bits towards = (((Bits)rest ^ bits) < 0) | one; /* 1 away from zero, -1 to it */
    return (Two)(bits + (towards & even & (rest != 0)));
}

INSIDE Two fused(double a, Two b, Two c) {
    Two product_rest, low_rest, rest;
    const Two wide = {a, a}, plain = a * b + c;
    const Two product = product_of(wide, b, &product_rest);
    const Two low = sum_of(c, product_rest, &low_rest);
    const Two high = sum_of(product, low, &rest);
    const Two sum = high + odd_sum(low_rest, rest);
    const Bits finite = sum - sum == 0; /* what overflows is not worth more */
    return (Two)(((Bits)sum & finite) | ((Bits)plain & ~finite));
}

#endif

/* ---- tiles */

/* As many columns as `count` vectors hold. */
#define SUM_VECTORS(target, name, Vector, fuse)                                                             \
    target static inline void name(const int count, int depth, const double *a, const double *b, double *c, \
                                   size_t ld) {                                                             \
        enum { PER_VECTOR = sizeof(Vector) / sizeof(double) };                                              \
        Vector sum[TILE_ROWS][2];                                                                           \
        for (int i = 0; i < TILE_ROWS; i++) {                                                               \
            for (int j = 0; j < count; j++) {                                                               \
                sum[i][j] = *(const Vector *)(c + (size_t)i * ld + PER_VECTOR * j);                         \
            }                                                                                               \
        }                                                                                                   \
        for (; depth > 0; depth--, a += TILE_ROWS, b += TILE_COLUMNS) {                                     \
            for (int i = 0; i < TILE_ROWS; i++) {                                                           \
                for (int j = 0; j < count; j++) {                                                           \
                    sum[i][j] = fuse(a[i], *(const Vector *)(b + PER_VECTOR * j), sum[i][j]);               \
                }                                                                                           \
            }                                                                                               \
        }                                                                                                   \
        for (int i = 0; i < TILE_ROWS; i++) {                                                               \
            for (int j = 0; j < count; j++) {                                                               \
                *(Vector *)(c + (size_t)i * ld + PER_VECTOR * j) = sum[i][j];                               \
            }                                                                                               \
        }                                                                                                   \
    }
SUM_VECTORS(, sum_twos, Two, fused)
#ifdef HAS_WIDE
SUM_VECTORS(WIDE, sum_fours, Four, portable_fuse_four)

WIDE static void sum_wide(int columns, int depth, const double *a, const double *b, double *c, size_t ld) {
    if (columns > TILE_HALF) {
        sum_fours(2, depth, a, b, c, ld);
    } else {
        sum_fours(1, depth, a, b, c, ld);
    }
}
#endif

static void sum_narrow(int columns, int depth, const double *a, const double *b, double *c, size_t ld) {
    for (int j = 0; j < columns; j += 2 * (int)(sizeof(Two) / sizeof(double))) {
        sum_twos(2, depth, a, b + j, c + j, ld);
    }
}

void tile_sum(int columns, int depth, const double *a, const double *b, double *c, size_t ld) {
#ifdef HAS_WIDE
    if (portable_is_wide()) {
        sum_wide(columns, depth, a, b, c, ld);
        return;
    }
#endif
    sum_narrow(columns, depth, a, b, c, ld);
}
