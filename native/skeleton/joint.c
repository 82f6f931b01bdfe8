/* joint.c - what two bones say about a joint between them.
 *
 * A joint is a point that both bones take to the same place in every frame (Schaefer & Yuksel 2007,
 * section 5.2; Hasler et al. 2010, Eq. 4-6). With D_f = M_b - M_c the mean squared drift of x is
 *     r2(x) = x~' (1/F sum_f D_f' D_f) x~,
 * a form that comes from the Gram matrix of all transforms, without a frame or a vertex.
 *
 * Where: argmin r2(x) + lambda |x - x^|^2, x^ the middle of the surface both move. Schaefer cuts small
 * singular values and takes the point nearest to the boundary; a fixed cut fails on hinges with noise
 * or on balls, so here lambda grows with the drift that no point avoids: max(1e-5, min r2 / (0.02)^2),
 * lengths in diagonals of the rest's box.
 *
 * Likelihood: -log(q + 1e-4) + a log(n + 1e-3), q = sqrt(min r2 + 1e-4 |x - x^|^2), n the share of the
 * smaller bone that both move. The first term is Hasler's joint stability with a pull to the anchor, which
 * the paper does not have; the second Schaefer's overlap of weights, but as a share, and of any two bones of a
 * vertex, sum_v area min(w_b, w_c): the paper adds w_c to the edge to b only where b is the vertex's strongest.
 * A joint that does not hold (q) is judged by the surface, too, + b min(1, q / 0.01) log(traffic + 0.01), traffic the
 * share of ways over the surface from one bone's region to the other's (paths.c): where motion says little, a limb
 * hangs from what its skin hangs from. Without the factor of q exact rigs lose edges.
 * Each alone can be asked for as in the papers: min r2, and sum_v area w_c with b strongest (logarithms of
 * them, which leave a spanning tree as it is). */
#include "skeleton/joint.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "math/elementary.h"
#include "math/symmetric3.h"

static const double DRIFT_TRUST = 0.02; /* diagonals: drift at which anchor and motion count the same */
static const double SCORE_PULL =
    1e-4; /* of the anchor: a joint far from the surface they share scores less */
static const double LEAST_DRIFT = 1e-4;      /* diagonals: below it all joints are equally good */
static const double LEAST_SHARE = 1e-3;      /* of the smaller bone: below it all share nothing */
static const double OVERLAP_EXPONENT = 0.35; /* of the share, against the drift: docs/skeleton.md */
static const double TRAFFIC_EXPONENT = 0.5;  /* of the traffic, likewise, */
static const double UNSURE_DRIFT = 0.01;     /* diagonals: from this drift on all of it, */
static const double LEAST_TRAFFIC = 0.01;    /* below which all have none */
static const double NO_PULL = 1e-9;          /* of the anchor: only so that there is one lowest point */

static const double HINGE = 0.02;        /* least over largest eigenvalue: other axes turn a tenth as much */
static const double STIFF_ANGLE = 0.02;  /* radians, about one degree */
static const double STIFF_DRIFT = 0.005; /* diagonals, */
static const double LOOSE_DRIFT = 0.02;  /* likewise: beyond it there is no point in common */

void joint_between(const Body *body, int b, int c, Joint *joint) {
    const size_t n = 4 * (size_t)body->bones, at_b = 4 * (size_t)b, at_c = 4 * (size_t)c;
    const double *g = body->gram;
    const size_t pair = (size_t)b * (size_t)body->bones + (size_t)c;
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 4; j++) {
            joint->drift[4 * i + j] = g[(at_b + i) * n + at_b + j] + g[(at_c + i) * n + at_c + j] -
                                      g[(at_b + i) * n + at_c + j] - g[(at_c + i) * n + at_b + j];
        }
    }
    memcpy(joint->anchor, body->boundary + 3 * pair, sizeof joint->anchor);
    const double smaller = fmin(body->mass[b], body->mass[c]);
    joint->share = smaller > 0 ? body->overlap[pair] / smaller : 0;
    joint->beside = body->beside[pair];
    joint->traffic = body->traffic ? body->traffic[pair] : -1;
}

double joint_drift(const Joint *joint, const double x[3]) {
    const double *d = joint->drift;
    double sum = d[15];
    for (int i = 0; i < 3; i++) {
        sum += 2 * d[4 * i + 3] * x[i];
        for (int j = 0; j < 3; j++) {
            sum += d[4 * i + j] * x[i] * x[j];
        }
    }
    return fmax(sum, 0);
}

/* argmin r2(x) + pull |x - anchor|^2 */
static void pulled_point(const Joint *joint, double pull, double x[3]) {
    double a[9], y[3];
    for (int i = 0; i < 9; i++) {
        a[i] = joint->drift[4 * (i / 3) + i % 3];
    }
    for (int i = 0; i < 3; i++) { /* from the anchor on: what the pull decides stays there exactly */
        y[i] = -joint->drift[4 * i + 3];
        for (int j = 0; j < 3; j++) {
            y[i] -= a[3 * i + j] * joint->anchor[j];
        }
    }
    symmetric3_solve(a, pull, y, x);
    for (int i = 0; i < 3; i++) {
        x[i] += joint->anchor[i];
    }
}

static double square_from_anchor(const Joint *joint, const double x[3]) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += (x[i] - joint->anchor[i]) * (x[i] - joint->anchor[i]);
    }
    return sum;
}

double joint_strain(const Joint *joint) {
    double x[3];
    pulled_point(joint, SCORE_PULL, x);
    return joint_drift(joint, x) + SCORE_PULL * square_from_anchor(joint, x);
}

double joint_rate(double strain, double share) {
    return -elementary_log(sqrt(strain) + LEAST_DRIFT) +
           OVERLAP_EXPONENT * elementary_log(share + LEAST_SHARE);
}

double joint_score(const Joint *joint, int64_t connect) {
    double x[3];
    if (connect == OSSIFY_CONNECT_OVERLAP) {
        return elementary_log(joint->beside + DBL_MIN);
    }
    if (connect == OSSIFY_CONNECT_STABLE) {
        pulled_point(joint, NO_PULL, x);
        return -elementary_log(joint_drift(joint, x) + DBL_MIN);
    }
    pulled_point(joint, SCORE_PULL, x);
    const double q = sqrt(joint_drift(joint, x) + SCORE_PULL * square_from_anchor(joint, x));
    const double crossed =
        joint->traffic < 0 ? 0 : fmin(1, q / UNSURE_DRIFT) * elementary_log(joint->traffic + LEAST_TRAFFIC);
    return -elementary_log(q + LEAST_DRIFT) + OVERLAP_EXPONENT * elementary_log(joint->share + LEAST_SHARE) +
           TRAFFIC_EXPONENT * crossed;
}

void joint_place(const Joint *joint, double x[3]) {
    pulled_point(joint, NO_PULL, x);
    pulled_point(joint, fmax(ANCHOR_PULL, joint_drift(joint, x) / (DRIFT_TRUST * DRIFT_TRUST)), x);
}

int joint_kind(const Joint *joint, const double x[3], double axis[3], double *angle) {
    double a[9], value[3], vector[9];
    const double drift = sqrt(joint_drift(joint, x));
    for (int i = 0; i < 9; i++) {
        a[i] = joint->drift[4 * (i / 3) + i % 3];
    }
    symmetric3_eigen(a, value, vector);
    /* |R_b - R_c|^2 = 8 sin^2(angle / 2), and it is the trace */
    *angle = 2 * elementary_asin(sqrt(fmin(1, fmax(0, value[0] + value[1] + value[2]) / 8)));
    memset(axis, 0, 3 * sizeof *axis);
    if (*angle < STIFF_ANGLE && drift < STIFF_DRIFT) {
        return OSSIFY_JOINT_STIFF;
    }
    if (drift > LOOSE_DRIFT) {
        return OSSIFY_JOINT_LOOSE;
    }
    if (value[0] < HINGE * value[2]) {
        memcpy(axis, vector, 3 * sizeof *axis);
        return OSSIFY_JOINT_HINGE;
    }
    return OSSIFY_JOINT_BALL;
}
