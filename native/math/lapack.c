/* lapack.c - names of BLAS and LAPACK routines live here and nowhere else.
 * scipy-openblas32 prefixes its symbols, so that it cannot meet another copy in the process. */
#include "lapack.h"

#ifdef OSSIFY_SYSTEM_OPENBLAS
#define BLAS(name) name
#else
#define BLAS(name) scipy_##name
#endif

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

void BLAS(openblas_set_num_threads)(int threads);
void BLAS(cblas_dgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                       const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
void BLAS(dpotrf_)(const char *uplo, const int *n, double *a, const int *lda, int *info);
void BLAS(dpotrs_)(const char *uplo, const int *n, const int *nrhs, const double *a, const int *lda,
                   double *b, const int *ldb, int *info);

void blas_use_one_thread(void) {
    BLAS(openblas_set_num_threads)(1);
}

void multiply_tn(int m, int n, int k, const double *a, int lda, const double *b, int ldb, double beta,
                 double *c, int ldc) {
    BLAS(cblas_dgemm)(ROW_MAJOR, TRANSPOSE, NO_TRANSPOSE, m, n, k, 1.0, a, lda, b, ldb, beta, c, ldc);
}

void multiply_nn(int m, int n, int k, const double *a, int lda, const double *b, int ldb, double beta,
                 double *c, int ldc) {
    BLAS(cblas_dgemm)(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1.0, a, lda, b, ldb, beta, c, ldc);
}

int solve_positive(int n, double *a, int rows, double *b) {
    int info = 0;
    BLAS(dpotrf_)("U", &n, a, &n, &info);
    if (info != 0) {
        return 1;
    }
    BLAS(dpotrs_)("U", &n, &rows, a, &n, b, &n, &info);
    return info != 0;
}
