/* eigen.h - eigenvectors of a symmetric matrix. */
#ifndef OSSIFY_EIGEN_H
#define OSSIFY_EIGEN_H

#include <stddef.h>

/* Numbers that eigen_largest needs as scratch. */
size_t eigen_room(int n);
/* The `count` largest eigenvalues of a symmetric A [n][n] (both halves are read, and destroyed), ascending, into
 * value [count], and their eigenvectors of length 1 into vector [count][n]. Returns 0, or 1 when it did not get there. */
int eigen_largest(int n, double *a, int count, double *value, double *vector, double *room);

#endif
