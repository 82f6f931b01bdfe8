/* lapack.c - names of BLAS and LAPACK routines live here and nowhere else.
 * scipy-openblas32 prefixes its symbols, so that it cannot meet another copy in the process. */
#include "math/lapack.h"

#ifdef OSSIFY_SYSTEM_OPENBLAS
#define BLAS(name) name
#else
#define BLAS(name) scipy_##name
#endif

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112, LOWER = 122, NOT_UNIT = 131 };

void BLAS(openblas_set_num_threads)(int threads);
void BLAS(cblas_dgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                       const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
void BLAS(cblas_dtrsv)(int order, int uplo, int transpose, int diagonal, int n, const double *a, int lda,
                       double *x, int step);
void BLAS(dpotrf_)(const char *uplo, const int *n, double *a, const int *lda, int *info);
void BLAS(dpotrs_)(const char *uplo, const int *n, const int *nrhs, const double *a, const int *lda,
                   double *b, const int *ldb, int *info);
void BLAS(dsyevr_)(const char *jobz, const char *range, const char *uplo, const int *n, double *a,
                   const int *lda, const double *vl, const double *vu, const int *il, const int *iu,
                   const double *abstol, int *m, double *w, double *z, const int *ldz, int *isuppz,
                   double *work, const int *lwork, int *iwork, const int *liwork, int *info);

void lapack_use_one_thread(void) {
    BLAS(openblas_set_num_threads)(1);
}

void lapack_multiply_tn(int m, int n, int k, const double *a, int lda, const double *b, int ldb, double beta,
                        double *c, int ldc) {
    BLAS(cblas_dgemm)(ROW_MAJOR, TRANSPOSE, NO_TRANSPOSE, m, n, k, 1.0, a, lda, b, ldb, beta, c, ldc);
}

void lapack_multiply_nn(int m, int n, int k, const double *a, int lda, const double *b, int ldb, double beta,
                        double *c, int ldc) {
    BLAS(cblas_dgemm)(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1.0, a, lda, b, ldb, beta, c, ldc);
}

int lapack_factor_positive(int n, double *a) {
    int info = 0;
    BLAS(dpotrf_)("U", &n, a, &n, &info);
    return info != 0;
}

/* LAPACK's own would copy the whole factor for a single row. */
void lapack_solve_factored(int n, const double *factor, double *b) {
    BLAS(cblas_dtrsv)(ROW_MAJOR, LOWER, NO_TRANSPOSE, NOT_UNIT, n, factor, n, b, 1);
    BLAS(cblas_dtrsv)(ROW_MAJOR, LOWER, TRANSPOSE, NOT_UNIT, n, factor, n, b, 1);
}

int lapack_solve_positive(int n, double *a, int rows, double *b) {
    int info = 0;
    if (lapack_factor_positive(n, a)) {
        return 1;
    }
    BLAS(dpotrs_)("U", &n, &rows, a, &n, b, &n, &info);
    return info != 0;
}

int lapack_largest_eigenvectors(int n, double *a, int count, double *value, double *vector, double *room,
                                int *places) {
    const int first = n - count + 1, room_size = EIGEN_ROOM * n, places_size = (EIGEN_PLACES - 2) * n;
    const double none = 0;
    int found = 0, info = 0;
    BLAS(dsyevr_)("V", "I", "U", &n, a, &n, &none, &none, &first, &n, &none, &found, value, vector, &n,
                  places + places_size, room, &room_size, places, &places_size, &info);
    return info != 0 || found != count;
}
