/* positive.h - A = L L' of a symmetric positive definite A [n][n], of which the lower triangle of rows is read. */
#ifndef OSSIFY_POSITIVE_H
#define OSSIFY_POSITIVE_H

/* A becomes L, with anything above its diagonal. Returns 0, or 1 when A is not positive definite. */
int positive_factor(int n, double *a);
/* Solves L L' x = b in place. */
void positive_solve_one(int n, const double *factor, double *b);
/* The same for B [rows][n] in, X out: some rows at a time have the bits of all at once. */
void positive_solve_rows(int n, const double *factor, int rows, double *b);
/* Solves A X' = B' for B [rows][n] in, X out; A becomes L. Returns 0, or 1 when A is not positive definite and
 * B is as it was. */
int positive_solve(int n, double *a, int rows, double *b);

#endif
