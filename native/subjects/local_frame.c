/* local_frame.c - where a joint is in another body, from one body alone: the surface around it carries it along. With
 *
 *     g_v = exp(-|p_v - j|^2 / 2 sigma^2) area_v (w_bone + w_parent),   sum g = 1,  p^, q^ the means of both bodies,
 *     D = sum_v g (p - p^)(p - p^)',   C = sum_v g (q - q^)(p - p^)',   e = EVEN tr D / 3,
 *     j' = q^ + (C + e I)(D + e I)^-1 (j - p^)
 *
 * an affine frame; where the surface is flat or thin, e lets it be the identity. Lengths are in diagonals of both
 * bodies' boxes. A joint far from all that follows it looks farther: sigma is doubled until something is in sight,
 * and a joint that is nowhere near goes with all of it. */
#include "subjects/local_frame.h"

#include <math.h>
#include <string.h>

#include "math/elementary.h"
#include "math/symmetric3.h"

static const double SIGMA = 0.02;      /* diagonals */
static const double IN_SIGHT = 1e-12;  /* of what there is */
static const double EVEN = 1e-3;       /* of the mean square extent */
static const double NO_EXTENT = 1e-30; /* squared diagonals */

static double sight(const Around *around, int v, double sigma) {
    double d[3];
    around_offset(around, 0, v, d);
    const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    return elementary_exp(-square / (2 * sigma * sigma)) * around->area[v] * around->follows[v];
}

static double widen(const Around *around, double *sigma) {
    double all = 0;
    for (int v = 0; v < around->vertices; v++) {
        all += around->area[v] * around->follows[v];
    }
    for (*sigma = SIGMA;; *sigma *= 2) {
        double seen = 0;
        for (int v = 0; v < around->vertices; v++) {
            seen += sight(around, v, *sigma);
        }
        if (seen > IN_SIGHT * all) {
            return seen;
        }
        if (*sigma > 1 / IN_SIGHT) {
            *sigma = INFINITY;
            return all;
        }
    }
}

/* p - j in the known body and q in the other, weighed */
typedef struct Spread {
    double mean[2][3];
    double own[9], across[9]; /* D, C */
} Spread;

static void read_pair(const Around *around, const float *rest, double unit, int v, double p[2][3]) {
    around_offset(around, 0, v, p[0]);
    for (int a = 0; a < 3; a++) {
        p[1][a] = (double)rest[3 * (int64_t)v + a] * unit;
    }
}

static void gather(const Around *around, const float *rest, double unit, Spread *spread) {
    double sigma, p[2][3];
    const double seen = widen(around, &sigma);
    memset(spread, 0, sizeof *spread);
    for (int v = 0; v < around->vertices; v++) {
        const double g = sight(around, v, sigma) / seen;
        read_pair(around, rest, unit, v, p);
        for (int a = 0; a < 6; a++) {
            spread->mean[a / 3][a % 3] += g * p[a / 3][a % 3];
        }
    }
    for (int v = 0; v < around->vertices; v++) {
        const double g = sight(around, v, sigma) / seen;
        read_pair(around, rest, unit, v, p);
        for (int i = 0; i < 9; i++) {
            const double along = p[0][i % 3] - spread->mean[0][i % 3];
            spread->own[i] += g * (p[0][i / 3] - spread->mean[0][i / 3]) * along;
            spread->across[i] += g * (p[1][i / 3] - spread->mean[1][i / 3]) * along;
        }
    }
}

void local_frame_place(const Around *around, const float *rest, double unit, double joint[3]) {
    Spread spread;
    gather(around, rest, unit, &spread);
    const double even = EVEN * (spread.own[0] + spread.own[4] + spread.own[8]) / 3 + NO_EXTENT;
    const double from[3] = {-spread.mean[0][0], -spread.mean[0][1], -spread.mean[0][2]}; /* j - p^ */
    double x[3];
    symmetric3_solve(spread.own, even, from, x); /* (D + e I)^-1 (j - p^) */
    for (int a = 0; a < 3; a++) {
        const double *c = spread.across + 3 * a;
        joint[a] = (spread.mean[1][a] + c[0] * x[0] + c[1] * x[1] + c[2] * x[2] + even * x[a]) / unit;
    }
}
