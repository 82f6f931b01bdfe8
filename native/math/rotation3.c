/* rotation3.c - argmax over rotations R of trace(R' H): Kabsch 1978, SSDR Eq. 9-10.
 *
 * Newton's method on the rotation group from a good guess, because the descent asks for the
 * same bone again and again: with S = R' H and R <- R exp[w],
 *     (trace(S) I - sym S) w = (S32 - S23, S13 - S31, S21 - S12),
 * and a positive definite left side where the gradient vanishes is the global maximum. When
 * Newton does not get there: the largest eigenvector of Horn's 4 x 4 quaternion matrix. */
#include "math/rotation3.h"

#include <math.h>
#include <string.h>

#include "math/elementary.h"

enum { NEWTON_STEPS = 12, JACOBI_SWEEPS = 30 };

static const double CLOSE_ENOUGH = 1e-8; /* of a Newton step, radians: the next one is below rounding */
static const double GUESS_PULL = 1e-10;  /* of |h|: decides on axes that h does not determine */
static const double DETERMINED = 1e-9;   /* of trace S: smaller pivots are left to the eigenvector */
static const double NEARLY = 1e-6;       /* of r' r - I: one step of rotation3_clean takes it off */

static void multiply_transposed(const double a[9], const double b[9], double ab[9]) {
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            ab[3 * i + j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j]; /* (A' B)_ij */
        }
    }
}

/* r <- r (3 I - r' r) / 2: one Newton-Schulz step */
int rotation3_clean(double r[9]) {
    double s[9], old[9], off = 0;
    multiply_transposed(r, r, s);
    for (int i = 0; i < 9; i++) {
        off = fmax(off, fabs(s[i] - (i % 4 == 0)));
    }
    memcpy(old, r, sizeof old);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            const double t = old[3 * i] * s[j] + old[3 * i + 1] * s[3 + j] + old[3 * i + 2] * s[6 + j];
            r[3 * i + j] = 1.5 * old[3 * i + j] - 0.5 * t; /* R (3 I - R' R) / 2 */
        }
    }
    return off < NEARLY;
}

static void from_quaternion(const double q[4], double r[9]) {
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double s = 2.0 / (w * w + x * x + y * y + z * z);
    r[0] = 1 - s * (y * y + z * z), r[1] = s * (x * y - w * z), r[2] = s * (x * z + w * y);
    r[3] = s * (x * y + w * z), r[4] = 1 - s * (x * x + z * z), r[5] = s * (y * z - w * x);
    r[6] = s * (x * z - w * y), r[7] = s * (y * z + w * x), r[8] = 1 - s * (x * x + y * y);
}

/* r <- r exp[w], by the quaternion (1, w/2), which is exp to second order and always a rotation */
static void turn(double r[9], const double w[3]) {
    const double q[4] = {1.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};
    double step[9], old[9];
    from_quaternion(q, step);
    memcpy(old, r, sizeof old);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            r[3 * i + j] = old[3 * i] * step[j] + old[3 * i + 1] * step[3 + j] + old[3 * i + 2] * step[6 + j];
        }
    }
}

/* Solves the Newton system by Cholesky; 0 when it is not safely positive definite. */
static int newton_step(const double s[9], double w[3]) {
    const double trace = s[0] + s[4] + s[8]; /* A = trace(S) I - sym S */
    const double least = DETERMINED * fabs(trace);
    const double a = trace - s[0], b = -0.5 * (s[1] + s[3]), c = -0.5 * (s[2] + s[6]);
    const double d = trace - s[4], e = -0.5 * (s[5] + s[7]), f = trace - s[8];
    if (!(a > least)) {
        return 0;
    }
    const double l10 = b / a, l20 = c / a; /* A = L D L' */
    const double d1 = d - l10 * b;
    if (!(d1 > least)) {
        return 0;
    }
    const double l21 = (e - l20 * b) / d1;
    const double d2 = f - l20 * c - l21 * l21 * d1;
    if (!(d2 > least)) {
        return 0;
    }
    const double y0 = s[7] - s[5], y1 = (s[2] - s[6]) - l10 * y0, y2 = (s[3] - s[1]) - l20 * y0 - l21 * y1;
    w[2] = y2 / d2;
    w[1] = y1 / d1 - l21 * w[2];
    w[0] = y0 / a - l10 * w[1] - l20 * w[2]; /* w = L'^-1 D^-1 L^-1 g */
    return 1;
}

static int newton(const double h[9], double r[9]) {
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double s[9], w[3];
        multiply_transposed(r, h, s); /* S = R' H */
        if (!newton_step(s, w)) {
            return 0;
        }
        const double size = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
        if (size > 4.0) { /* a wild step: let the eigenvector decide */
            return 0;
        }
        turn(r, w); /* R <- R exp[w] */
        if (size < CLOSE_ENOUGH * CLOSE_ENOUGH) {
            return rotation3_clean(r);
        }
    }
    return 0;
}

/* One Jacobi rotation that makes a[p][q] zero; v collects the eigenvectors as columns. */
static void jacobi_rotate(double a[4][4], double v[4][4], int p, int q) {
    if (a[p][q] == 0.0) {
        return;
    }
    const double theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);                             /* cot 2 phi */
    const double t = (theta >= 0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0)); /* tan phi */
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (int k = 0; k < 4; k++) {
        const double x = a[k][p], y = a[k][q];
        a[k][p] = c * x - s * y, a[k][q] = s * x + c * y; /* A <- A J */
    }
    for (int k = 0; k < 4; k++) {
        const double x = a[p][k], y = a[q][k];
        a[p][k] = c * x - s * y, a[q][k] = s * x + c * y; /* A <- J' A */
    }
    for (int k = 0; k < 4; k++) {
        const double x = v[k][p], y = v[k][q];
        v[k][p] = c * x - s * y, v[k][q] = s * x + c * y; /* V <- V J */
    }
}

static void largest_eigenvector(double a[4][4], double q[4]) {
    double v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    for (int sweep = 0; sweep < JACOBI_SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                all += a[i][j] * a[i][j];
                off += i != j ? a[i][j] * a[i][j] : 0.0;
            }
        }
        if (off <= 1e-34 * all) {
            break;
        }
        for (int i = 0; i < 3; i++) {
            for (int j = i + 1; j < 4; j++) {
                jacobi_rotate(a, v, i, j);
            }
        }
    }
    int best = 0;
    for (int i = 1; i < 4; i++) {
        best = a[i][i] > a[best][best] ? i : best;
    }
    for (int i = 0; i < 4; i++) {
        q[i] = v[i][best];
    }
}

/* Horn 1987: trace(R' H) = q' N q for a unit quaternion q */
static void horn(const double h[9], double r[9]) {
    double n[4][4];
    n[0][0] = h[0] + h[4] + h[8];
    n[1][1] = h[0] - h[4] - h[8];
    n[2][2] = -h[0] + h[4] - h[8];
    n[3][3] = -h[0] - h[4] + h[8];
    n[0][1] = n[1][0] = h[7] - h[5];
    n[0][2] = n[2][0] = h[2] - h[6];
    n[0][3] = n[3][0] = h[3] - h[1];
    n[1][2] = n[2][1] = h[1] + h[3];
    n[1][3] = n[3][1] = h[2] + h[6];
    n[2][3] = n[3][2] = h[5] + h[7];
    double q[4];
    largest_eigenvector(n, q);
    from_quaternion(q, r);
    rotation3_clean(r);
}

void rotation3_nearest(const double h[9], const double guess[9], double r[9]) {
    double largest = 0;
    for (int i = 0; i < 9; i++) {
        largest = fmax(largest, fabs(h[i]));
    }
    if (!(largest > 0.0)) {
        memmove(r, guess, 9 * sizeof *r);
        return;
    }
    double scaled[9], turned[9];
    for (int i = 0; i < 9; i++) {
        scaled[i] = h[i] / largest + GUESS_PULL * guess[i];
        turned[i] = guess[i];
    }
    if (!newton(scaled, turned)) {
        horn(scaled, turned);
    }
    memcpy(r, turned, sizeof turned);
}

/* By Rodrigues, accurate also for the smallest of turns. */
void rotation3_turn(const double w[3], double *r, size_t stride) {
    const double square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2], angle = sqrt(square);
    double sine, cosine;
    elementary_sincos(angle, &sine, &cosine);
    const double s = angle > 1e-4 ? sine / angle : 1 - square / 6,
                 c = angle > 1e-4 ? (1 - cosine) / square : 0.5 - square / 24;
    for (size_t j = 0; j < 3; j++) {
        const double x[3] = {r[j], r[stride + j], r[2 * stride + j]};
        double once[3], twice[3];
        rotation3_cross(w, x, once);     /* [w] x */
        rotation3_cross(w, once, twice); /* [w]^2 x */
        for (size_t i = 0; i < 3; i++) {
            r[i * stride + j] = x[i] + s * once[i] + c * twice[i]; /* exp[w] x */
        }
    }
}
