/* rest_pose.c - where a vertex should rest: min over p of |sum_b w_b M_b p~ - x|^2 + mu |p - p0|^2.
 *
 * SSDR line 6 of Algorithm 1 (after Kavan et al. 2010), a 3 x 3 system a vertex:
 *     (N33 + mu I) p = d - n + mu p0,   N = sum w_b w_c G[b,c],  d = sum w_b D[b],  n = N[0..2][3].
 * Deviation: the paper corrects once at the end; here it is part of every pass, where it lowers the
 * error most. mu = 0 is the paper's; mu = 1 counts the given rest p0 as one more frame, so that
 * it stays where the artist put it. */
#include "descent/rest_pose.h"

static const double UNDETERMINED = 1e-9; /* of the trace: directions weaker than this stay as they are */

void rest_pose_solve(const double form[MONOMIALS], const double blend[4], double pull, const double given[3],
                     double p[3]) {
    const double hold = UNDETERMINED * (form[0] + form[1] + form[2]) + 1e-300;
    const double a = form[0] + pull + hold, b = 0.5 * form[3], c = 0.5 * form[4];
    const double d = form[1] + pull + hold, e = 0.5 * form[5], f = form[2] + pull + hold;
    double y[3];
    for (int i = 0; i < 3; i++) {
        y[i] = blend[i] - 0.5 * form[6 + i] + pull * given[i] + hold * p[i]; /* d - n + mu p0 */
    }
    const double l10 = b / a, l20 = c / a, d1 = d - l10 * b; /* N33 + mu I = L D L' */
    if (!(d1 > 0)) {
        return;
    }
    const double l21 = (e - l20 * b) / d1, d2 = f - l20 * c - l21 * l21 * d1;
    if (!(d2 > 0)) {
        return;
    }
    y[1] -= l10 * y[0];
    y[2] -= l20 * y[0] + l21 * y[1]; /* y = L^-1 y */
    p[2] = y[2] / d2;
    p[1] = y[1] / d1 - l21 * p[2];
    p[0] = y[0] / a - l10 * p[1] - l20 * p[2]; /* p = L'^-1 D^-1 y */
}
