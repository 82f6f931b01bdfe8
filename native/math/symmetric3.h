/* symmetric3.h - symmetric 3 x 3 matrices, row-major. */
#ifndef OSSIFY_SYMMETRIC3_H
#define OSSIFY_SYMMETRIC3_H

/* x = (a + ridge I)^-1 y, a positive semidefinite, ridge > 0 */
void symmetric3_solve(const double a[9], double ridge, const double y[3], double x[3]);
/* Eigenvalues, smallest first, and unit eigenvectors in the rows of `vector`. */
void symmetric3_eigen(const double a[9], double value[3], double vector[9]);

#endif
