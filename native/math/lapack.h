/* lapack.h - the only door to OpenBLAS, and what may go through it.
 *
 * What OpenBLAS computes by kernels of its own depends on the processor in its bits, and takes memory by means of
 * its own, ending the process where there is none. So only routines of LAPACK go through here that do neither:
 * they compute by loops of their own, in memory of the caller's, and call nothing of BLAS. */
#ifndef OSSIFY_LAPACK_H
#define OSSIFY_LAPACK_H

/* The eigenvalues of a symmetric tridiagonal matrix, ascending, over diagonal [n]; beside [n - 1] is destroyed.
 * Returns 0, or 1 when it did not get there. */
int lapack_tridiagonal_values(int n, double *diagonal, double *beside);

#endif
