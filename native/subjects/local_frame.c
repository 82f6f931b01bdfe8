/* local_frame.c - where a joint is in another body, from one body alone: the surface around it carries it along. With
 *
 *     g_v = (r / (|p_v - j|^2 + r))^4 area_v (w_bone + w_parent),   sum g = 1,  p^, q^ the means of both bodies,
 *     r = min_v |p_v - j|^2 / (w_bone + w_parent),
 *     D = sum_v g (p - p^)(p - p^)',   C = sum_v g (q - q^)(p - p^)',   e = EVEN tr D / 3,
 *     j' = q^ + (C + e I)(D + e I)^-1 (j - p^)
 *
 * an affine frame; where the surface is flat or thin, e lets it be the identity. Lengths are in diagonals of both
 * bodies' boxes. How far a joint looks is how deep it lies in what follows it: a hip sees the whole pelvis, a finger
 * its own knuckle, and a joint that is nowhere near goes with all. */
#include "subjects/local_frame.h"

#include <math.h>
#include <string.h>

#include "math/symmetric3.h"

static const double SKIN_DEEP = 0.005; /* diagonals: a joint in the skin itself looks that far */
static const double EVEN = 1e-3;       /* of the mean square extent */
static const double NO_EXTENT = 1e-30; /* squared diagonals */

static double square_to(const Around *around, int v) {
    double d[3];
    around_offset(around, 0, v, d);
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

static double reach(const Around *around) {
    double least = INFINITY;
    for (int v = 0; v < around->vertices; v++) {
        if (around->follows[v] > 0) {
            least = fmin(least, square_to(around, v) / around->follows[v]);
        }
    }
    return fmax(least, SKIN_DEEP * SKIN_DEEP);
}

static double sight(const Around *around, int v, double reach) {
    const double near = reach / (square_to(around, v) + reach);
    return near * near * near * near * around->area[v] * around->follows[v];
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
    const double far = reach(around);
    double seen = 0, p[2][3];
    for (int v = 0; v < around->vertices; v++) {
        seen += sight(around, v, far);
    }
    memset(spread, 0, sizeof *spread);
    for (int v = 0; v < around->vertices; v++) {
        const double g = sight(around, v, far) / seen;
        read_pair(around, rest, unit, v, p);
        for (int a = 0; a < 6; a++) {
            spread->mean[a / 3][a % 3] += g * p[a / 3][a % 3];
        }
    }
    for (int v = 0; v < around->vertices; v++) {
        const double g = sight(around, v, far) / seen;
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
