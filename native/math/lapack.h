/* lapack.h - the only door to BLAS and LAPACK. Row-major, double, one thread a call. */
#ifndef OSSIFY_LAPACK_H
#define OSSIFY_LAPACK_H

/* Before the first product of a call: our own loops are parallel, OpenBLAS must not be. */
void lapack_use_one_thread(void);

/* C = A' B + beta C;  A [k][m], B [k][n], C [m][n] */
void lapack_multiply_tn(int m, int n, int k, const double *a, int lda, const double *b, int ldb, double beta,
                        double *c, int ldc);
/* C = A B + beta C;  A [m][k], B [k][n], C [m][n] */
void lapack_multiply_nn(int m, int n, int k, const double *a, int lda, const double *b, int ldb, double beta,
                        double *c, int ldc);
/* Solves A X' = B' for a symmetric positive definite A [n][n] (destroyed), B [rows][n] in, X out.
 * Returns 0, or 1 when A is not positive definite. */
int lapack_solve_positive(int n, double *a, int rows, double *b);
/* The same in two steps, for one row of B at a time: A becomes its Cholesky factor, and that solves A x = b. */
int lapack_factor_positive(int n, double *a);
void lapack_solve_factored(int n, const double *factor, double *b);
/* The `count` largest eigenvalues of a symmetric A [n][n] (destroyed), ascending, into value [n], and their
 * eigenvectors of length 1 into vector [count][n]; room [EIGEN_ROOM n] and places [EIGEN_PLACES n] are
 * scratch. Returns 0, or 1 when it did not get there. */
enum { EIGEN_ROOM = 40, EIGEN_PLACES = 12 };
int lapack_largest_eigenvectors(int n, double *a, int count, double *value, double *vector, double *room,
                                int *places);

#endif
