/* rigid_error.c - how far a cluster is from moving rigidly, as sums that can be added up.
 *
 * Schaefer & Yuksel 2007, section 3.1. For points p of mass m that are seen at x[f] in frame f
 *
 *     E = sum_f min over R, t of sum m |R p + t - x|^2,       t = xbar - R pbar  (Eq. 2, 3)
 *       = sum_f ( sum m |p|^2 + sum m |x|^2 - M (|pbar|^2 + |xbar|^2) - 2 trace(R' H) ),
 *     H = sum m x p' - M xbar pbar',                          M = sum m          (Eq. 4)
 *
 * with R the rotation that maximises trace(R' H). All of it follows from sum m, sum m p, sum m x,
 * sum m x p' and sum m (|p|^2 + |x|^2); those of a union are the sums of its parts', so the error of a
 * union costs no vertex, and is at least the sum of the parts' errors.
 *
 * Deviations: points with a mass instead of integrals over triangles, because a mesh may have no faces
 * and a sample has none; Newton's method from a cluster's present rotation (math/rotation3) instead of
 * Horn's 4 x 4 eigenvector alone, which is what it falls back on. */
#include "starts/rigid_error.h"

#include <math.h>
#include <string.h>

#include "math/rotation3.h"

enum {
    MASS = 0,
    POINT = 1,  /* sum m p */
    SQUARE = 4, /* sum over points and frames of m (|p|^2 + |x|^2) */
    WHOLE = 5,
    SEEN = 0,      /* sum m x */
    PRODUCT = 3,   /* sum m x p' */
    SUMS = 12,     /* how many of a part are sums */
    ROTATION = 12, /* the best */
    PART = 21
};

int rigid_error_make(Call *call, int clusters, int frames, RigidErrors *errors) {
    const size_t parts = (size_t)clusters * (size_t)frames;
    errors->clusters = clusters;
    errors->frames = frames;
    errors->whole = arena_take(&call->arena, (size_t)clusters * WHOLE, sizeof(double));
    errors->part = arena_take(&call->arena, parts * PART, sizeof(double));
    if (call->arena.failed) {
        return 0;
    }
    for (size_t i = 0; i < parts; i++) {
        double *r = errors->part + i * PART + ROTATION;
        r[0] = r[4] = r[8] = 1;
    }
    return 1;
}

static double *whole_of(const RigidErrors *errors, int cluster) {
    return errors->whole + (size_t)cluster * WHOLE;
}

static double *part_of(const RigidErrors *errors, int cluster, int frame) {
    return errors->part + ((size_t)cluster * (size_t)errors->frames + (size_t)frame) * PART;
}

static double square3(const double *a) {
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
}

void rigid_error_add(RigidErrors *errors, int cluster, double mass, const double *p, const double *x) {
    double *whole = whole_of(errors, cluster);
    whole[MASS] += mass;
    for (int a = 0; a < 3; a++) {
        whole[POINT + a] += mass * p[a];
    }
    for (int f = 0; f < errors->frames; f++, x += 3) {
        double *part = part_of(errors, cluster, f);
        whole[SQUARE] += mass * (square3(p) + square3(x));
        for (int i = 0; i < 3; i++) {
            part[SEEN + i] += mass * x[i];
            for (int j = 0; j < 3; j++) {
                part[PRODUCT + 3 * i + j] += mass * x[i] * p[j];
            }
        }
    }
}

double rigid_error_mass(const RigidErrors *errors, int cluster) {
    return whole_of(errors, cluster)[MASS];
}

/* H of the sums of one frame */
static void centred_product(const double sums[SUMS], const double point[3], double mass, double h[9]) {
    for (int i = 0; i < 9; i++) {
        h[i] = sums[PRODUCT + i] - sums[SEEN + i / 3] * point[i % 3] / mass;
    }
}

void rigid_error_fit(RigidErrors *errors, int cluster) {
    const double *whole = whole_of(errors, cluster);
    if (!(whole[MASS] > 0)) {
        return;
    }
    for (int f = 0; f < errors->frames; f++) {
        double *part = part_of(errors, cluster, f), h[9];
        centred_product(part, whole + POINT, whole[MASS], h);
        rotation3_nearest(h, part + ROTATION, part + ROTATION);
    }
}

const double *rigid_error_rotation(const RigidErrors *errors, int cluster, int frame) {
    return part_of(errors, cluster, frame) + ROTATION;
}

void rigid_error_merge(RigidErrors *errors, int into, int from) {
    double *whole = whole_of(errors, into);
    const double *other = whole_of(errors, from);
    const int keeps = whole[MASS] >= other[MASS]; /* the heavier one's rotation is the better guess */
    for (int i = 0; i < WHOLE; i++) {
        whole[i] += other[i];
    }
    for (int f = 0; f < errors->frames; f++) {
        double *part = part_of(errors, into, f);
        const double *more = part_of(errors, from, f);
        for (int i = 0; i < SUMS; i++) {
            part[i] += more[i];
        }
        if (!keeps) {
            memcpy(part + ROTATION, more + ROTATION, 9 * sizeof(double));
        }
    }
    rigid_error_fit(errors, into);
}

double rigid_error(const RigidErrors *errors, int a, int b) {
    const double *one = whole_of(errors, a), *two = b < 0 ? NULL : whole_of(errors, b);
    double whole[WHOLE], error;
    for (int i = 0; i < WHOLE; i++) {
        whole[i] = one[i] + (two ? two[i] : 0);
    }
    const double mass = whole[MASS];
    if (!(mass > 0)) {
        return 0;
    }
    const int guess = two && two[MASS] > one[MASS] ? b : a;
    error = whole[SQUARE] - errors->frames * square3(whole + POINT) / mass;
    for (int f = 0; f < errors->frames; f++) {
        const double *first = part_of(errors, a, f), *second = two ? part_of(errors, b, f) : NULL;
        double sums[SUMS], h[9], r[9];
        for (int i = 0; i < SUMS; i++) {
            sums[i] = first[i] + (second ? second[i] : 0);
        }
        centred_product(sums, whole + POINT, mass, h);
        rotation3_nearest(h, part_of(errors, guess, f) + ROTATION, r);
        error -= square3(sums + SEEN) / mass;
        for (int i = 0; i < 9; i++) {
            error -= 2 * r[i] * h[i];
        }
    }
    return fmax(error, 0);
}
