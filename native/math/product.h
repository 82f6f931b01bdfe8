/* product.h - products of dense matrices, row by row, double. A matrix stands in rows of `ld` numbers. */
#ifndef OSSIFY_PRODUCT_H
#define OSSIFY_PRODUCT_H

#include <stddef.h>

/* C += A B;  A [m][k], B [k][n], C [m][n] */
void product_nn(int m, int n, int k, const double *a, size_t lda, const double *b, size_t ldb, double *c,
                size_t ldc);
/* C += A' B;  A [k][m], B [k][n], C [m][n] */
void product_tn(int m, int n, int k, const double *a, size_t lda, const double *b, size_t ldb, double *c,
                size_t ldc);
/* C -= A B;  A [m][k], B [k][n], C [m][n] */
void product_less_nn(int m, int n, int k, const double *a, size_t lda, const double *b, size_t ldb, double *c,
                     size_t ldc);
/* C -= A B';  A [m][k], B [n][k], C [m][n] */
void product_less_nt(int m, int n, int k, const double *a, size_t lda, const double *b, size_t ldb, double *c,
                     size_t ldc);
/* The first two with an A of floats */
void product_floats_nn(int m, int n, int k, const float *a, size_t lda, const double *b, size_t ldb,
                       double *c, size_t ldc);
void product_floats_tn(int m, int n, int k, const float *a, size_t lda, const double *b, size_t ldb,
                       double *c, size_t ldc);

#endif
