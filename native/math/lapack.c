/* lapack.c - names of LAPACK's routines live here and nowhere else.
 * scipy-openblas32 prefixes its symbols, so that it cannot meet another copy in the process. */
#include "math/lapack.h"

#ifdef OSSIFY_SYSTEM_OPENBLAS
#define LAPACK(name) name
#else
#define LAPACK(name) scipy_##name
#endif

void LAPACK(dsterf_)(const int *n, double *diagonal, double *beside, int *info);

int lapack_tridiagonal_values(int n, double *diagonal, double *beside) {
    int info = 0;
    LAPACK(dsterf_)(&n, diagonal, beside, &info);
    return info != 0;
}
