/* symmetric3.c - Cholesky's solution and Jacobi's eigenvalues of symmetric 3 x 3 matrices. */
#include "math/symmetric3.h"

#include <math.h>
#include <string.h>

enum { EIGEN_SWEEPS = 20 };

void symmetric3_solve(const double a[9], double ridge, const double y[3], double x[3]) {
    const double d0 = fmax(a[0] + ridge, ridge); /* A + ridge I = L D L' */
    const double l10 = a[1] / d0, l20 = a[2] / d0;
    const double d1 = fmax(a[4] + ridge - l10 * a[1], ridge); /* rounding may take it below */
    const double l21 = (a[5] - l20 * a[1]) / d1;
    const double d2 = fmax(a[8] + ridge - l20 * a[2] - l21 * l21 * d1, ridge);
    const double z1 = y[1] - l10 * y[0], z2 = y[2] - l20 * y[0] - l21 * z1; /* z = L^-1 y */
    x[2] = z2 / d2;
    x[1] = z1 / d1 - l21 * x[2];
    x[0] = y[0] / d0 - l10 * x[1] - l20 * x[2]; /* x = L'^-1 D^-1 z */
}

/* Makes a[p][q] zero; the rows of v follow. */
static void rotate(double a[3][3], double v[3][3], int p, int q) {
    if (a[p][q] == 0.0) {
        return;
    }
    const double theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);                             /* cot 2 phi */
    const double t = (theta >= 0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0)); /* tan phi */
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (int k = 0; k < 3; k++) {
        const double x = a[k][p], y = a[k][q];
        a[k][p] = c * x - s * y, a[k][q] = s * x + c * y; /* A <- A J */
    }
    for (int k = 0; k < 3; k++) {
        const double x = a[p][k], y = a[q][k], m = v[p][k], n = v[q][k];
        a[p][k] = c * x - s * y, a[q][k] = s * x + c * y; /* A <- J' A */
        v[p][k] = c * m - s * n, v[q][k] = s * m + c * n; /* V <- J' V */
    }
}

void symmetric3_eigen(const double a[9], double value[3], double vector[9]) {
    double work[3][3], v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    int order[3] = {0, 1, 2};
    memcpy(work, a, sizeof work);
    for (int sweep = 0; sweep < EIGEN_SWEEPS; sweep++) {
        rotate(work, v, 0, 1);
        rotate(work, v, 0, 2);
        rotate(work, v, 1, 2);
    }
    for (int i = 1; i < 3; i++) {
        for (int j = i; j > 0 && work[order[j]][order[j]] < work[order[j - 1]][order[j - 1]]; j--) {
            const int swapped = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swapped;
        }
    }
    for (int i = 0; i < 3; i++) {
        value[i] = work[order[i]][order[i]];
        memcpy(vector + 3 * i, v[order[i]], sizeof v[0]);
    }
}
