/* pull.c - the motion of a bone that vertices ask for, each by its weight:
 *
 *     min over R, t of       sum_v |y_v - w (R p + t)|^2                    (Le & Deng 2012, Eq. 5-10)
 *     min over R, s, t of    sum_v |y_v - w (R diag(s) p + t)|^2            (Hasler et al. 2010, Eq. 9)
 *
 * The second, bone by bone along the axes of the rest, so that no scale is handed on and nothing shears (their Eq. 10):
 * with s held R is the rotation nearest to H diag(s), with R held s_a = (R'H)_aa / U_aa, in turns; H and U are the
 * centred sums of y p' and of p_a^2. Their t is the offset of a joint alone; here it is free, as for rigid bones. */
#include "subjects/pull.h"

#include <math.h>
#include <string.h>

#include "math/rotation3.h"

enum { SCALE_TURNS = 6 };

static const double SMALLEST_SCALE = 0.1, LARGEST_SCALE = 10; /* what is flat says nothing of its thickness */

void pull_add(Pull *pull, double square, const double *p, const double y[3]) {
    pull->mass += square;
    for (int a = 0; a < 3; a++) {
        pull->from[a] += square * p[a];
        pull->spread[a] += square * p[a] * p[a];
        pull->to[a] += y[a];
        for (int b = 0; b < 3; b++) {
            pull->cross[3 * a + b] += y[a] * p[b];
        }
    }
}

/* A guess [R diag(s)] taken apart. */
static void part(const double *m, double r[9], double s[3]) {
    for (int a = 0; a < 3; a++) {
        s[a] = sqrt(m[a] * m[a] + m[4 + a] * m[4 + a] + m[8 + a] * m[8 + a]);
        for (int i = 0; i < 3; i++) {
            r[3 * i + a] = m[4 * i + a] / s[a];
        }
    }
}

static void solve_scaled(const double h[9], const double u[3], double r[9], double s[3]) {
    for (int turn = 0; turn < SCALE_TURNS; turn++) {
        double scaled[9];
        for (int i = 0; i < 9; i++) {
            scaled[i] = h[i] * s[i % 3]; /* H diag(s) */
        }
        rotation3_nearest(scaled, r, r);
        for (int a = 0; a < 3; a++) {
            const double along = r[a] * h[a] + r[3 + a] * h[3 + a] + r[6 + a] * h[6 + a]; /* (R'H)_aa */
            s[a] = u[a] > 0 ? fmin(fmax(along / u[a], SMALLEST_SCALE), LARGEST_SCALE) : s[a];
        }
    }
}

void pull_solve(const Pull *pull, int scaled, double *m) {
    double h[9], r[9], u[3], s[3];
    if (!(pull->mass > 0)) {
        return;
    }
    for (int i = 0; i < 9; i++) {
        r[i] = m[4 * (i / 3) + i % 3];
        h[i] = pull->cross[i] - pull->to[i / 3] * pull->from[i % 3] / pull->mass;
    }
    for (int a = 0; a < 3; a++) {
        u[a] = pull->spread[a] - pull->from[a] * pull->from[a] / pull->mass;
    }
    if (scaled) {
        part(m, r, s);
        solve_scaled(h, u, r, s);
    } else {
        rotation3_nearest(h, r, r);
        s[0] = s[1] = s[2] = 1;
    }
    for (int a = 0; a < 3; a++) {
        double *row = m + 4 * a;
        for (int c = 0; c < 3; c++) {
            row[c] = r[3 * a + c] * s[c];
        }
        row[3] = (pull->to[a] - row[0] * pull->from[0] - row[1] * pull->from[1] - row[2] * pull->from[2]) /
                 pull->mass; /* t = (y - R p) / m */
    }
}
