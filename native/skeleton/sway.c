/* sway.c - whether a bone swings by itself.
 *
 * What swings by itself does so about axes of its own, each with its own period: the acceleration of its
 * rotation vector w is a linear function of w. What hangs from it does that and something more, turned along,
 * and no such function exists. With steps of h frames and least squares over all of them,
 *
 *     sway = min over A, c of  sum_f |w(f + h) - 2 w(f) + w(f - h) - A w(f) - c|^2
 *                              / sum_f |w(f + h) - 2 w(f) + w(f - h)|^2,         about their mean,
 *
 * is 0 for the first and grows with every joint between. Of a body that also turns or walks about, where nothing
 * swings by itself, or of poses in no order, it would say little and mislead: unless some bone's is nearly 0, all count
 * the same. */
#include "skeleton/sway.h"

#include <math.h>

#include "math/elementary.h"
#include "math/symmetric3.h"

enum { ENOUGH_FRAMES = 20, STEPS = 8 };

static const double SWAY_RIDGE = 1e-12; /* of the rotation vectors' squares: a hinge leaves two axes open */
static const double SWAY_LEAST = 1e-4;  /* a smaller sway is rounding */
static const double BY_ITSELF = 0.01;   /* what swings by itself has less, with noise, too */

/* Axis times angle. */
static void rotation_vector(const double *m, double w[3]) {
    w[0] = 0.5 * (m[9] - m[6]);
    w[1] = 0.5 * (m[2] - m[8]);
    w[2] = 0.5 * (m[4] - m[1]);
    const double sine = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    const double angle = elementary_atan2(sine, 0.5 * (m[0] + m[5] + m[10] - 1));
    for (int i = 0; i < 3 && sine > 0; i++) {
        w[i] *= angle / sine;
    }
}

typedef struct Sums {
    double w[3], a[3], ww[9], wa[9], aa; /* a: the acceleration; wa [3 of a][3 of w] */
} Sums;

static void add_frame(const double *before, const double *w, const double *after, Sums *sums) {
    for (int i = 0; i < 3; i++) {
        const double a = after[i] - 2 * w[i] + before[i];
        sums->w[i] += w[i];
        sums->a[i] += a;
        sums->aa += a * a;
        for (int j = 0; j < 3; j++) {
            sums->ww[3 * i + j] += w[i] * w[j];
            sums->wa[3 * i + j] += a * w[j];
        }
    }
}

/* A turn that never changes would hide a motion that is small beside it. */
static void take_mean(double *w, int frames) {
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int f = 0; f < frames; f++) {
            sum += w[3 * f + i];
        }
        for (int f = 0; f < frames; f++) {
            w[3 * f + i] -= sum / frames;
        }
    }
}

/* From sums to sums about the mean. */
static void centre(Sums *sums, double count) {
    for (int i = 0; i < 3; i++) {
        sums->aa -= sums->a[i] * sums->a[i] / count;
        for (int j = 0; j < 3; j++) {
            sums->ww[3 * i + j] -= sums->w[i] * sums->w[j] / count;
            sums->wa[3 * i + j] -= sums->a[i] * sums->w[j] / count;
        }
    }
}

/* w [frames][3] */
static double sway_of(const double *w, int frames) {
    const int step = frames / STEPS;
    Sums sums = {0};
    for (int f = step; f + step < frames; f++) {
        add_frame(w + 3 * (f - step), w + 3 * f, w + 3 * (f + step), &sums);
    }
    centre(&sums, frames - 2 * step);
    const double size = sums.ww[0] + sums.ww[4] + sums.ww[8];
    if (!(size > 0 && sums.aa > 0)) {
        return 1;
    }
    double left = sums.aa;
    for (int i = 0; i < 3; i++) {
        double x[3];
        symmetric3_solve(sums.ww, SWAY_RIDGE * size, sums.wa + 3 * i, x);
        left -= x[0] * sums.wa[3 * i] + x[1] * sums.wa[3 * i + 1] + x[2] * sums.wa[3 * i + 2];
    }
    return fmin(fmax(left / sums.aa, SWAY_LEAST), 1);
}

static double sway_of_bone(const ossify_rig *rig, int frames, int b, double *w) {
    for (int f = 0; f < frames; f++) {
        rotation_vector(rig->transforms + 12 * ((size_t)f * (size_t)rig->bone_capacity + (size_t)b),
                        w + 3 * f);
    }
    take_mean(w, frames);
    return sway_of(w, frames);
}

int sway_measure(Call *call, const ossify_rig *rig, int frames, double *sway) {
    double *w = arena_take(&call->arena, 3 * (size_t)frames, sizeof *w);
    double least = 1;
    for (int b = 0; b < rig->bones && w; b++) {
        if (call_poll(call, -1)) {
            arena_give(&call->arena, w);
            return 0;
        }
        sway[b] = frames < ENOUGH_FRAMES ? 1 : sway_of_bone(rig, frames, b, w);
        least = fmin(least, sway[b]);
    }
    for (int b = 0; b < rig->bones && least > BY_ITSELF; b++) {
        sway[b] = 1;
    }
    arena_give(&call->arena, w);
    return w != NULL;
}
