/* pose_fit.c - turns, ways and slides of every frame, joints given: damped Gauss-Newton on moments.
 *
 * With R_a <- exp[w_a] R_a and u_a = R_a q_a (linkage.h), S_ab = sum_v u_a u_b' = R_a N_ab R_b',
 *     turn a, turn b:  tr(S_ab) I - S_ab'
 *     turn a, way b:   (R_a N[q_a, s_b]) x g      g: the direction of a root's way, or of a slide
 *     way a, way b:    g_a . g_b N[s_a, s_b]
 * and with P = K - Z N = sum_v (x - y)(q, s)' the slope is sum_v u_a x (x - y), from P_a R_a', and g . P[s_a].
 * A frame's step is taken only if its misfit falls, else the damping grows (Levenberg 1944, Marquardt 1963).
 * Frames do not know of each other. */
#include "articulate/pose_fit.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "descent/tolerances.h"
#include "math/positive.h"
#include "math/rotation3.h"

enum { POSE_TRIES = 9 };

static const double POSE_DAMPING = 1e-6; /* of the diagonal: poses are near their best from the start */
static const double MISFIT_ROUNDING = 8 * DBL_EPSILON; /* of the misfit, a difference of large sums */

/* A slide moves the joint as the parent sees it: q_p += d_a l_a s_a, in rows and columns. */
static void slide_normal(const Linkage *linkage, Bench *bench) {
    const size_t n = 4 * (size_t)linkage->bones;
    memcpy(bench->normal, linkage->normal, n * n * sizeof(double));
    for (int way = 0; way < 2 && linkage->stretch; way++) {
        const size_t along = way ? 1 : n, across = way ? n : 1;
        for (int a = 0; a < linkage->bones; a++) {
            const int p = linkage->parent[a];
            const double *s = bench->normal + (4 * (size_t)a + 3) * along;
            for (size_t i = 0; i < 3 && p >= 0; i++) {
                const double by = linkage->axis[3 * a + (int)i] * bench->slide[a];
                double *q = bench->normal + (4 * (size_t)p + i) * along;
                for (size_t k = 0; k < n; k++) {
                    q[k * across] += by * s[k * across]; /* q_p += d_a l_a s_a */
                }
            }
        }
    }
}

/* The same for P. */
static void slide_left(const Linkage *linkage, Bench *bench) {
    const size_t n = 4 * (size_t)linkage->bones;
    for (int a = 0; a < linkage->bones && linkage->stretch; a++) {
        const int p = linkage->parent[a];
        for (size_t i = 0; i < 9 && p >= 0; i++) {
            bench->left[i / 3 * n + 4 * (size_t)p + i % 3] += bench->left[i / 3 * n + 4 * (size_t)a + 3] *
                                                              linkage->axis[3 * a + (int)(i % 3)] *
                                                              bench->slide[a];
        }
    }
}

static void rotation_at(const Linkage *linkage, const double *z, int b, double r[9]) {
    for (size_t i = 0; i < 3; i++) {
        memcpy(r + 3 * i, z + i * 4 * (size_t)linkage->bones + 4 * b, 3 * sizeof *r);
    }
}

/* R_a N[q_a, s_b] */
static void lever(const Linkage *linkage, const Bench *bench, const double r[9], int a, int b,
                  double arm[3]) {
    const size_t n = 4 * (size_t)linkage->bones;
    const double *q = bench->normal + 4 * (size_t)a * n + 4 * (size_t)b + 3;
    for (int i = 0; i < 3; i++) {
        arm[i] = r[3 * i] * q[0] + r[3 * i + 1] * q[n] + r[3 * i + 2] * q[2 * n]; /* R_a N[q_a, s_b] */
    }
}

/* tr(S) I - S' for S = R_a N_ab R_b' */
static void turn_turn(const Linkage *linkage, Bench *bench, int a, int b, const double ra[9],
                      const double rb[9]) {
    const size_t n = 4 * (size_t)linkage->bones, m = (size_t)linkage->unknowns;
    const double *q = bench->normal + 4 * (size_t)a * n + 4 * (size_t)b;
    double half[9], s[9];
    for (size_t i = 0; i < 9; i++) { /* R_a N_ab */
        const double *r = ra + 3 * (i / 3), *column = q + i % 3;
        half[i] = r[0] * column[0] + r[1] * column[n] + r[2] * column[2 * n];
    }
    for (size_t i = 0; i < 9; i++) {
        const double *h = half + 3 * (i / 3), *r = rb + 3 * (i % 3);
        s[i] = h[0] * r[0] + h[1] * r[1] + h[2] * r[2]; /* S = R_a N_ab R_b' */
    }
    double *to = bench->system + (size_t)linkage->first[a] * m + (size_t)linkage->first[b];
    for (size_t i = 0; i < 9; i++) {
        to[i / 3 * m + i % 3] = (i % 4 == 0 ? s[0] + s[4] + s[8] : 0) - s[3 * (i % 3) + i / 3];
    }
}

/* Rows of bone a, columns of bone b <= a. */
static void fill_pair(const Linkage *linkage, Bench *bench, int a, int b) {
    const size_t n = 4 * (size_t)linkage->bones, m = (size_t)linkage->unknowns;
    double ra[9], rb[9], way_a[3][3], way_b[3][3], arm[3], c[3];
    double *to = bench->system + (size_t)linkage->first[a] * m + (size_t)linkage->first[b];
    rotation_at(linkage, bench->z, a, ra);
    rotation_at(linkage, bench->z, b, rb);
    const int of_a = linkage_ways(linkage, bench->z, a, way_a),
              of_b = linkage_ways(linkage, bench->z, b, way_b);
    turn_turn(linkage, bench, a, b, ra, rb);
    lever(linkage, bench, ra, a, b, arm);
    for (int j = 0; j < of_b; j++) {
        rotation3_cross(arm, way_b[j], c);
        for (size_t i = 0; i < 3; i++) {
            to[i * m + 3 + (size_t)j] = c[i]; /* arm x g_b */
        }
    }
    lever(linkage, bench, rb, b, a, arm);
    for (int i = 0; i < of_a; i++) {
        rotation3_cross(arm, way_a[i], c);
        memcpy(to + (3 + (size_t)i) * m, c, sizeof c); /* arm x g_a */
        for (int j = 0; j < of_b; j++) {
            to[(3 + (size_t)i) * m + 3 + (size_t)j] =
                bench->normal[(4 * (size_t)a + 3) * n + 4 * (size_t)b + 3] *
                (way_a[i][0] * way_b[j][0] + way_a[i][1] * way_b[j][1] + way_a[i][2] * way_b[j][2]);
        }
    }
}

static void fill_gradient(const Linkage *linkage, Bench *bench, int a) {
    const size_t n = 4 * (size_t)linkage->bones;
    const double *p = bench->left + 4 * (size_t)a;
    double *g = bench->gradient + linkage->first[a], r[9], t[9], way[3][3];
    rotation_at(linkage, bench->z, a, r);
    for (size_t i = 0; i < 9; i++) { /* T = P_a R_a' */
        const double *x = p + i / 3 * n, *y = r + 3 * (i % 3);
        t[i] = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    }
    g[0] = t[7] - t[5];
    g[1] = t[2] - t[6];
    g[2] = t[3] - t[1];
    const int count = linkage_ways(linkage, bench->z, a, way);
    for (int k = 0; k < count; k++) {
        g[3 + k] = way[k][0] * p[3] + way[k][1] * p[n + 3] + way[k][2] * p[2 * n + 3];
    }
}

void pose_fit_system(const Linkage *linkage, Bench *bench) {
    const size_t m = (size_t)linkage->unknowns;
    double trace = 0;
    slide_normal(linkage, bench);
    slide_left(linkage, bench);
    for (int a = 0; a < linkage->bones; a++) {
        fill_gradient(linkage, bench, a);
        for (int b = 0; b <= a; b++) {
            fill_pair(linkage, bench, a, b);
        }
    }
    for (size_t i = 0; i < m; i++) {
        trace += bench->system[i * m + i];
    }
    for (size_t i = 0; i < m; i++) {
        bench->system[i * m + i] += BONE_RIDGE * trace / (double)m + DBL_MIN; /* H + ridge I */
    }
}

/* The step of the damped system, no turn larger than allowed; 0 when there is none. */
static int find_step(const Linkage *linkage, Bench *bench, double damping) {
    const size_t m = (size_t)linkage->unknowns;
    double most = 0;
    memcpy(bench->damped, bench->system, m * m * sizeof(double));
    memcpy(bench->step, bench->gradient, m * sizeof(double));
    for (size_t i = 0; i < m; i++) {
        bench->damped[i * m + i] *= 1 + damping; /* H + damping diag H */
    }
    if (positive_solve((int)m, bench->damped, 1, bench->step)) {
        return 0;
    }
    for (int b = 0; b < linkage->bones; b++) {
        const double *w = bench->step + linkage->first[b];
        most = fmax(most, w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    }
    const double scale = most > LARGEST_TURN * LARGEST_TURN ? LARGEST_TURN / sqrt(most) : 1;
    for (size_t i = 0; i < m; i++) {
        bench->step[i] *= scale;
    }
    return isfinite(most);
}

static void take_step(const Linkage *linkage, Bench *bench) {
    const size_t n = 4 * (size_t)linkage->bones;
    memcpy(bench->tried, bench->z, 3 * n * sizeof(double));
    memcpy(bench->tried_slide, bench->slide, (size_t)linkage->bones * sizeof(double));
    for (int b = 0; b < linkage->bones; b++) {
        const double *step = bench->step + linkage->first[b];
        rotation3_turn(step, bench->tried + 4 * b, n); /* R <- exp[w] R */
        if (linkage->parent[b] < 0) {
            for (size_t i = 0; i < 3; i++) {
                bench->tried[i * n + 4 * (size_t)b + 3] += step[3 + i]; /* e += step */
            }
        } else if (linkage->stretch) {
            bench->tried_slide[b] += step[3]; /* l += step */
        }
    }
    linkage_slide(linkage, bench->tried_slide, bench->tried);
}

/* One accepted step; returns the misfit after it, which is the one before if there is none. */
static double improve(const Linkage *linkage, Bench *bench, int frame, double misfit, double *damping) {
    pose_fit_system(linkage, bench);
    for (int try = 0; try < POSE_TRIES && !linkage->call->cancelled; try++, *damping *= MORE_DAMPING) {
        if (!find_step(linkage, bench, *damping)) {
            continue;
        }
        take_step(linkage, bench);
        const double now = linkage_misfit(linkage, frame, bench->tried, bench->left);
        if (now < misfit) {
            memcpy(bench->z, bench->tried, 12 * (size_t)linkage->bones * sizeof(double));
            memcpy(bench->slide, bench->tried_slide, (size_t)linkage->bones * sizeof(double));
            *damping *= LESS_DAMPING;
            return now;
        }
    }
    return misfit;
}

static void fit_frame(void *user, int frame, int worker) {
    Linkage *linkage = user;
    Bench *bench = &linkage->bench[worker];
    double damping = POSE_DAMPING;
    linkage_read(linkage, frame, bench->slide, bench->z);
    double misfit = linkage_misfit(linkage, frame, bench->z, bench->left);
    for (int step = 0; step < linkage->steps && !linkage->call->cancelled; step++) {
        if (worker == 0) {
            call_poll(linkage->call, -1);
        }
        const double before = misfit;
        misfit = improve(linkage, bench, frame, before, &damping);
        if (before - misfit <= linkage->fine + MISFIT_ROUNDING * fabs(before)) {
            break;
        }
    }
    linkage->misfit[frame] = misfit;
    linkage_write(linkage, frame, bench->slide, bench->z);
}

double pose_fit(Linkage *linkage) {
    double sum = 0;
    parallel_run(linkage->call->pool, linkage->frames, fit_frame, linkage);
    for (int f = 0; f < linkage->frames; f++) {
        sum += linkage->misfit[f];
    }
    return sum;
}
