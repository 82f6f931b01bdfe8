/* energy.c - what a map costs:
 *
 *     E = sum_T  a (|F^-1|^2 + 2 det F + c (s1 - s2)^2)
 *
 * with F from the triangle's metric to the map (chart.c), s its singular values, a its weight and c the price of shear;
 * 4 a where the map is isometric and never less, infinite where it flips.
 *
 *     c = 1    the symmetric Dirichlet energy |F|^2 + |F^-1|^2 (Smith & Schaefer 2015, Bijective Parameterization with
 *              Free Boundaries)
 *     c = 0    2 A + S with A the map's area and S = sum a |F^-1|^2: of all sizes of a map the best has 2 A = S, and there
 *              E is least where A S is, which is Sander's stretch squared (stretch.c)
 *
 * Below c = 1/2 flips get curvatures below 0 where the map is large, and rows of triangles become wide and narrow in turns:
 * less stretch as a number, ugly as a texture.
 *
 * The Hessian is projected to its positive part in closed form (Smith, de Goes & Kim 2019, Analytic Eigensystems for
 * Isotropic Distortion Energies): in 2D it has the eigenvectors
 *
 *     (u2 v1' + u1 v2') / sqrt 2  4 c - 2 + 2 (s1^2 + s1 s2 + s2^2) / (s1 s2)^3    a flip
 *     (u2 v1' - u1 v2') / sqrt 2  2 - 2 (s1^2 - s1 s2 + s2^2) / (s1 s2)^3          a twist
 *
 * and in the plane of u1 v1' and u2 v2' the matrix (p q; q r), p = 2 c + 6 / s1^4, r = 2 c + 6 / s2^4, q = 2 - 2 c, of
 * which q is held to what p and r carry.
 *
 * With F = (a -b; b a) + (c d; d -c), e = (a, b) / |a, b| and g = (c, d) / |c, d| they are linear forms of a, b, c, d,
 * and no angle is needed: s1,2 = |a, b| +- |c, d|. */
#include "unwrap/energy.h"

#include <math.h>
#include <string.h>

double energy_value(const Chart *chart, const double *uv) {
    double sum = 0, f[4];
    for (int t = 0; t < chart->triangles; t++) {
        chart_form(chart, t, uv, f);
        const double det = f[0] * f[3] - f[1] * f[2];
        const double square = f[0] * f[0] + f[1] * f[1] + f[2] * f[2] + f[3] * f[3];
        if (!(det > 0)) {
            return INFINITY;
        }
        sum +=
            chart->weight[t] * (chart->shear * square + 2 * (1 - chart->shear) * det + square / (det * det));
    }
    return sum;
}

int energy_resists_folds(const Chart *chart) {
    double f[4];
    for (int t = 0; t < chart->triangles; t++) {
        chart_form(chart, t, chart->uv, f);
        const double det = f[0] * f[3] - f[1] * f[2];
        const double square = f[0] * f[0] + f[1] * f[1] + f[2] * f[2] + f[3] * f[3];
        if (!(4 * chart->shear - 2 + 2 * (square + det) / (det * det * det) > 0)) {
            return 0;
        }
    }
    return 1;
}

/* Rows of corners 0, 1, 2 by which F = sum u_i b_i'. */
static void corner_rows(const double inward[3], double b[3][2]) {
    b[1][0] = inward[0];
    b[1][1] = inward[1];
    b[2][0] = 0;
    b[2][1] = inward[2];
    b[0][0] = -b[1][0];
    b[0][1] = -b[1][1] - b[2][1];
}

void energy_add_mode(double factor, const double m[6], double h[36]) {
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            h[6 * i + j] += factor * m[i] * m[j];
        }
    }
}

/* P = dE/dF, to the corners */
static void add_gradient(const Chart *chart, int t, const double f[4], double b[3][2], double *gradient) {
    const double det = f[0] * f[3] - f[1] * f[2];
    const double square = f[0] * f[0] + f[1] * f[1] + f[2] * f[2] + f[3] * f[3];
    const double along = 2 * (chart->shear + 1 / (det * det)),
                 across = 2 * (1 - chart->shear) - 2 * square / (det * det * det);
    const double p[4] = {along * f[0] + across * f[3], along * f[1] - across * f[2],
                         along * f[2] - across * f[1], along * f[3] + across * f[0]};
    for (int c = 0; c < 3; c++) {
        double *to = gradient + 2 * chart->corner[3 * t + c];
        to[0] += chart->weight[t] * (p[0] * b[c][0] + p[1] * b[c][1]);
        to[1] += chart->weight[t] * (p[2] * b[c][0] + p[3] * b[c][1]);
    }
}

/* (x, y) / its length, which is returned; any direction of nothing */
static double direction(double x, double y, double to[2]) {
    const double length = sqrt(x * x + y * y);
    to[0] = length > 0 ? x / length : 1;
    to[1] = length > 0 ? y / length : 0;
    return length;
}

static void hessian_of(const double f[4], double weight, double shear, double b[3][2], double h[36]) {
    double e[2], g[2], m[4][6];
    const double alike = direction(0.5 * (f[0] + f[3]), 0.5 * (f[2] - f[1]), e);
    const double unlike = direction(0.5 * (f[0] - f[3]), 0.5 * (f[2] + f[1]), g);
    const double s1 = alike + unlike, s2 = fmax(alike - unlike, 1e-9 * s1), both = s1 * s2;
    const double cube = both * both * both;
    for (int c = 0; c < 3; c++) {
        const double x = 0.5 * b[c][0], y = 0.5 * b[c][1];
        const double p[2] = {e[0] * x - e[1] * y, e[0] * y + e[1] * x};
        const double q[2] = {g[0] * x + g[1] * y, g[1] * x - g[0] * y};
        for (int i = 0; i < 2; i++) {
            m[0][2 * c + i] = p[i] + q[i];
            m[1][2 * c + i] = p[i] - q[i];
        }
        m[2][2 * c] = g[0] * y - g[1] * x;
        m[2][2 * c + 1] = g[0] * x + g[1] * y;
        m[3][2 * c] = -e[1] * x - e[0] * y;
        m[3][2 * c + 1] = e[0] * x - e[1] * y;
    }
    const double p = 2 * shear + 6 / (s1 * s1 * s1 * s1), r = 2 * shear + 6 / (s2 * s2 * s2 * s2);
    const double q = fmin(2 - 2 * shear, sqrt(p * r));
    const double flip = 4 * shear - 2 + 2 * (s1 * s1 + both + s2 * s2) / cube;
    const double twist = 2 - 2 * (s1 * s1 - both + s2 * s2) / cube;
    for (int i = 0; i < 6; i++) {
        m[0][i] += q / p * m[1][i]; /* (p q; q r) = p m m' + (r - q^2 / p) of the second */
    }
    memset(h, 0, 36 * sizeof *h);
    energy_add_mode(weight * p, m[0], h);
    energy_add_mode(weight * fmax(r - q * q / p, 0), m[1], h);
    energy_add_mode(weight * 2 * fmax(flip, 0), m[2], h);
    energy_add_mode(weight * 2 * fmax(twist, 0), m[3], h);
}

void energy_derive(const Chart *chart, double *gradient, System *system) {
    memset(gradient, 0, 2 * (size_t)chart->points * sizeof *gradient);
    system_clear(system);
    for (int t = 0; t < chart->triangles; t++) {
        double f[4], b[3][2], h[36];
        chart_form(chart, t, chart->uv, f);
        corner_rows(chart->inward + 3 * t, b);
        add_gradient(chart, t, f, b, gradient);
        hessian_of(f, chart->weight[t], chart->shear, b, h);
        system_add(system, chart, t, h);
    }
}
