/* regressor.c - where a joint is in any body, learnt from several: j = sum_i a_i p_i over at most 8 vertices,
 *
 *     min over a, sum a = 1, of  sum_s |sum_i a_i (p_si - j_s)|^2 + S sum_i (JOINT_RIDGE d_i / mean d)^2 a_i^2
 *
 * with s the bodies, in diagonals of their boxes, and d_i how far vertex i is from the joint. Hasler et al. 2010 leave
 * joints of new bodies open; the form is that of the joint regressors of statistical body models.
 *
 * Candidates are spread over the surface that follows one of the two bones, farthest points first. With H the form's
 * matrix and z = H^-1 1 the optimum is a = z / sum z and costs 1 / sum z; without i it costs
 * 1 / (sum z - z_i^2 / H^-1_ii): the cheapest goes, one after the other, until 8 are left. Signs are free: joints lie
 * within the body, but what tells a short thigh from a long one may lie beyond its ends, and on 20 bodies left out
 * free signs are better than non-negative ones by a tenth. */
#include "subjects/regressor.h"

#include <math.h>
#include <string.h>

#include "math/positive.h"

static const double FOLLOWS = 0.05;     /* of weights: who tells where a joint is */
static const double JOINT_RIDGE = 3e-3; /* diagonals: how far off a vertex may be from body to body */
static const double AT_JOINT = 1e-3;    /* of the mean distance: as if no vertex were nearer */

int regressor_take(Arena *arena, int64_t vertices, RegressorRoom *room) {
    const size_t most = REGRESSOR_CANDIDATES;
    room->away = arena_take(arena, (size_t)vertices, sizeof(double));
    room->distance = arena_take(arena, (size_t)vertices, sizeof(double));
    room->inverse = arena_take(arena, most * most, sizeof(double));
    room->form = arena_take(arena, most * most, sizeof(double));
    return !arena->failed;
}

static void measure_distances(const Around *around, const RegressorRoom *room) {
    for (int v = 0; v < around->vertices; v++) {
        room->distance[v] = 0;
        for (int s = 0; s < around->bodies; s++) {
            double d[3];
            around_offset(around, s, v, d);
            room->distance[v] += sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / around->bodies;
        }
    }
}

/* Mean squared distance of two vertices, over the bodies. */
static double apart(const Around *around, int v, int u) {
    double sum = 0;
    for (int s = 0; s < around->bodies; s++) {
        const float *p = around->rest[s] + 3 * (int64_t)v, *q = around->rest[s] + 3 * (int64_t)u;
        for (int a = 0; a < 3; a++) {
            const double d = ((double)p[a] - (double)q[a]) * around->unit[s];
            sum += d * d;
        }
    }
    return sum / around->bodies;
}

/* The nearest to the joint, then always the one farthest from those that are there. */
static int spread_candidates(const Around *around, const RegressorRoom *room, int *candidate) {
    int count = 0, next = -1;
    for (int v = 0; v < around->vertices; v++) {
        const int told = around->follows[v] > FOLLOWS;
        room->away[v] = told ? INFINITY : -1;
        next = told && (next < 0 || room->distance[v] < room->distance[next]) ? v : next;
    }
    while (count < REGRESSOR_CANDIDATES && next >= 0 && room->away[next] > 0) {
        const int from = candidate[count++] = next;
        room->away[from] = 0;
        for (int v = 0; v < around->vertices; v++) {
            if (room->away[v] > 0) {
                room->away[v] = fmin(room->away[v], apart(around, v, from));
            }
            next = room->away[v] > room->away[next] ? v : next;
        }
    }
    return count;
}

/* H of some vertices */
static void make_form(const Around *around, const RegressorRoom *room, int n, const int *vertex, double mean,
                      double *h) {
    memset(h, 0, (size_t)n * (size_t)n * sizeof *h);
    for (int s = 0; s < around->bodies; s++) {
        double d[REGRESSOR_CANDIDATES][3];
        for (int i = 0; i < n; i++) {
            around_offset(around, s, vertex[i], d[i]);
            for (int j = 0; j <= i; j++) {
                h[i * n + j] += d[i][0] * d[j][0] + d[i][1] * d[j][1] + d[i][2] * d[j][2];
            }
        }
    }
    for (int i = 0; i < n; i++) {
        const double pull = JOINT_RIDGE * (mean > 0 ? room->distance[vertex[i]] / mean + AT_JOINT : 1);
        h[i * n + i] += around->bodies * pull * pull;
        for (int j = 0; j < i; j++) {
            h[j * n + i] = h[i * n + j];
        }
    }
}

/* H^-1, 0 when rounding leaves none */
static int invert(int n, double *h, double *inverse) {
    memset(inverse, 0, (size_t)n * (size_t)n * sizeof *inverse);
    for (int i = 0; i < n; i++) {
        inverse[i * n + i] = 1;
    }
    return positive_solve(n, h, n, inverse) == 0;
}

static int cheapest(int n, int stride, const double *inverse) {
    int least = 0;
    double least_loss = INFINITY;
    for (int i = 0; i < n; i++) {
        double z = 0;
        for (int j = 0; j < n; j++) {
            z += inverse[i * stride + j];
        }
        const double loss = z * z / inverse[i * stride + i];
        if (loss < least_loss) {
            least_loss = loss;
            least = i;
        }
    }
    return least;
}

/* H^-1 without row and column g; the last takes their place. */
static void remove_one(int n, int stride, int g, double *inverse, int *vertex) {
    double column[REGRESSOR_CANDIDATES];
    const double pivot = inverse[g * stride + g];
    for (int i = 0; i < n; i++) {
        column[i] = inverse[i * stride + g];
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            inverse[i * stride + j] -= column[i] * column[j] / pivot;
        }
    }
    for (int i = 0; i < n; i++) {
        inverse[i * stride + g] = inverse[i * stride + n - 1];
    }
    for (int j = 0; j < n; j++) {
        inverse[g * stride + j] = inverse[(n - 1) * stride + j];
    }
    vertex[g] = vertex[n - 1];
}

static void weigh(const Around *around, const RegressorRoom *room, double mean, Regressor *regressor) {
    const int n = regressor->count;
    double sum = 0;
    make_form(around, room, n, regressor->vertex, mean, room->form);
    for (int i = 0; i < n; i++) {
        regressor->share[i] = 1;
    }
    const int singular = positive_solve(n, room->form, 1, regressor->share); /* z = H^-1 1 */
    for (int i = 0; i < n; i++) {
        sum += regressor->share[i];
    }
    for (int i = 0; i < n; i++) {
        regressor->share[i] = singular ? 1.0 / n : regressor->share[i] / sum;
    }
}

void regressor_learn(const Around *around, const RegressorRoom *room, Regressor *regressor) {
    int candidate[REGRESSOR_CANDIDATES];
    double mean = 0;
    measure_distances(around, room);
    const int all = spread_candidates(around, room, candidate);
    for (int i = 0; i < all; i++) {
        mean += room->distance[candidate[i]] / all;
    }
    make_form(around, room, all, candidate, mean, room->form);
    const int inverted = invert(all, room->form, room->inverse);
    int n = all;
    for (; n > OSSIFY_JOINT_VERTICES && inverted; n--) {
        remove_one(n, all, cheapest(n, all, room->inverse), room->inverse, candidate);
    }
    regressor->count = n < OSSIFY_JOINT_VERTICES ? n : OSSIFY_JOINT_VERTICES;
    memcpy(regressor->vertex, candidate, (size_t)regressor->count * sizeof *candidate);
    weigh(around, room, mean, regressor);
}

void regressor_place(const Regressor *regressor, const float *rest, double joint[3]) {
    for (int a = 0; a < 3; a++) {
        joint[a] = 0;
        for (int i = 0; i < regressor->count; i++) {
            joint[a] += regressor->share[i] * (double)rest[3 * (int64_t)regressor->vertex[i] + a];
        }
    }
}
