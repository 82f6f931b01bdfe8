/* simplex_ls.h - least squares on the simplex: min w' Q w, w >= 0, sum w = 1, for a few w. */
#ifndef OSSIFY_SIMPLEX_LS_H
#define OSSIFY_SIMPLEX_LS_H

#include "ossify.h"

enum { SIMPLEX_MAX = OSSIFY_MAX_INFLUENCES + 4 };

/* Q [n][SIMPLEX_MAX] symmetric positive semidefinite, n <= SIMPLEX_MAX; w feasible on entry.
 * `ridge` > 0 is added to the diagonal: it must cover the rounding of Q. Returns w' Q w. */
double simplex_ls(int n, const double *q, double ridge, double *w);

/* Q^-1, z = Q^-1 1 and sum z of a support whose optimum is known. */
typedef struct SimplexInverse {
    int n;
    double inverse[SIMPLEX_MAX][SIMPLEX_MAX], z[SIMPLEX_MAX], sum;
} SimplexInverse;

void simplex_ls_invert(int n, const double *q, double ridge, SimplexInverse *of);

/* The optimum, signs aside, when a column enters (q[i] its products with the support, `own` with itself)
 * and, if `full`, the column leaves whose loss then costs least: a lower bound of what a solve would give.
 * INFINITY when the newcomer would not carry a positive weight. */
double simplex_ls_after_entry(const SimplexInverse *of, const double *q, double own, int full);

/* The index whose removal raises the optimum least, all others staying non-negative or not:
 * with z = Q^-1 1 the optimum is 1 / sum z, without i it is 1 / (sum z - z_i^2 / Q^-1_ii).
 * `w` must be the optimum with all entries positive. */
int simplex_ls_cheapest(int n, const double *q, double ridge);

#endif
