/* turns.c - how each bone has moved against its parent since the rest pose.
 *
 *     R = nearest rotation to A(parent)^-1 A(bone),     phi = entries of R - I
 *     s = M(parent)^-1 M(bone) p~ - p,                  phi = SHIFT_WEIGHT s / radius
 *
 * Nine numbers, zero at rest, quadratic in the quaternion of a pose bone, and where there is a pivot p three more, its
 * location: what a driver without a script can compute. Bones that are free to slide slide by little, but how far says
 * more about the pose than how they turn: a twentieth of the radius counts as much as a radian. Where the whole body
 * stands says nothing about its shape, so bones without a parent have none. */
#include "correct/turns.h"

#include <math.h>
#include <string.h>

#include "math/rotation3.h"

static const double SHIFT_WEIGHT = 20; /* of a shift by the radius, against a turn by a radian */
static const double UNSHIFTED = 1e-6;  /* of the radius: less is rounding, and such a bone only turns */
static const double FLAT_BONE = 1e-12; /* of the largest product of axes: such a parent turns nothing */

/* The linear part of a bone in a frame. */
static void linear_part(const Skin *skin, int b, size_t f, double a[9]) {
    const size_t wide = (size_t)skin->wide;
    const double *m = skin->transform + 12 * (size_t)b * wide + f;
    for (size_t i = 0; i < 9; i++) {
        a[i] = m[(i / 3 * 4 + i % 3) * wide];
    }
}

/* inverse = a^-1; 0 when there is none */
static int invert(const double a[9], double inverse[9]) {
    double adjugate[9], size = 0;
    rotation3_cross(a + 3, a + 6, adjugate); /* rows of the transpose */
    rotation3_cross(a + 6, a, adjugate + 3);
    rotation3_cross(a, a + 3, adjugate + 6);
    const double determinant = a[0] * adjugate[0] + a[1] * adjugate[1] + a[2] * adjugate[2];
    for (int i = 0; i < 9; i++) {
        size = fmax(size, fabs(a[i]));
    }
    if (!(fabs(determinant) > FLAT_BONE * size * size * size)) {
        return 0;
    }
    for (int i = 0; i < 9; i++) {
        inverse[i] = adjugate[i % 3 * 3 + i / 3] / determinant;
    }
    return 1;
}

/* R nearest to H = A(parent)^-1 A(bone) */
static void turn_of(const double inverse[9], const double own[9], double r[9]) {
    double h[9] = {0};
    for (int i = 0; i < 27; i++) { /* h[r][c] += inverse[r][k] own[k][c] */
        h[i / 9 * 3 + i % 3] += inverse[i / 9 * 3 + i / 3 % 3] * own[i / 3 % 3 * 3 + i % 3];
    }
    rotation3_nearest(h, r, r);
    rotation3_nearest(h, r, r); /* without the pull of the first guess */
}

/* s = A(parent)^-1 (A(bone) p + t(bone) - t(parent)) - p */
static void shift_of(const Skin *skin, const int bones[2], size_t f, const double inverse[9],
                     const double own[9], const double p[3], double s[3]) {
    const size_t wide = (size_t)skin->wide;
    const double *m = skin->transform + 12 * (size_t)bones[0] * wide + f;
    const double *above = skin->transform + 12 * (size_t)bones[1] * wide + f;
    double moved[3];
    for (size_t i = 0; i < 3; i++) {
        moved[i] = own[3 * i] * p[0] + own[3 * i + 1] * p[1] + own[3 * i + 2] * p[2] + m[(4 * i + 3) * wide] -
                   above[(4 * i + 3) * wide];
    }
    for (int i = 0; i < 3; i++) {
        s[i] =
            inverse[3 * i] * moved[0] + inverse[3 * i + 1] * moved[1] + inverse[3 * i + 2] * moved[2] - p[i];
    }
}

typedef struct Turning {
    Call *call;
    const Skin *skin;
    const int32_t *parents;
    const double *pivots;
    Turns *turns;
} Turning;

static void move_bone(const Turning *turning, int b, size_t f) {
    const Skin *skin = turning->skin;
    const Turns *turns = turning->turns;
    const size_t wide = (size_t)skin->wide;
    const int both[2] = {b, turning->parents[b]};
    double a[9], own[9], inverse[9], r[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, p[3], s[3];
    linear_part(skin, both[1], f, a);
    linear_part(skin, b, f, own);
    if (!invert(a, inverse)) {
        return;
    }
    turn_of(inverse, own, r);
    for (size_t i = 0; i < TURN_NUMBERS; i++) {
        turns->phi[(TURN_NUMBERS * (size_t)b + i) * wide + f] = r[i] - (i % 4 == 0);
    }
    if (turning->pivots) {
        for (int i = 0; i < 3; i++) {
            p[i] = (turning->pivots[3 * b + i] - skin->centre[i]) / skin->unit;
        }
        shift_of(skin, both, f, inverse, own, p, s);
        for (size_t i = 0; i < SHIFT_NUMBERS; i++) {
            turns->phi[((size_t)turns->turned + SHIFT_NUMBERS * (size_t)b + i) * wide + f] =
                s[i] * skin->unit * turns_shift_unit(skin);
        }
    }
}

/* Rounding drives nothing. */
static void clear_rounding(const Turning *turning, int b) {
    const size_t wide = (size_t)turning->skin->wide;
    double *phi = turning->turns->phi + ((size_t)turning->turns->turned + SHIFT_NUMBERS * (size_t)b) * wide;
    double most = 0;
    for (size_t i = 0; i < SHIFT_NUMBERS * wide; i++) {
        most = fmax(most, fabs(phi[i]));
    }
    if (most < UNSHIFTED * SHIFT_WEIGHT) {
        memset(phi, 0, SHIFT_NUMBERS * wide * sizeof *phi);
    }
}

static void turn_bone(void *user, int b, int worker) {
    const Turning *turning = user;
    if (turning->parents[b] < 0 || (worker == 0 && call_poll(turning->call, -1))) {
        return;
    }
    turning->turns->used[b] = 1;
    for (size_t f = 0; f < (size_t)turning->skin->frames; f++) {
        move_bone(turning, b, f);
    }
    if (turning->pivots) {
        clear_rounding(turning, b);
    }
}

double turns_shift_unit(const Skin *skin) {
    return SHIFT_WEIGHT / (skin->radius > 0 ? skin->radius : 1);
}

int turns_make(Call *call, const Skin *skin, const int32_t *parents, const double *pivots, Turns *turns) {
    turns->turned = TURN_NUMBERS * skin->bones;
    turns->rows = turns->turned + (pivots ? SHIFT_NUMBERS * skin->bones : 0);
    turns->phi = arena_take(&call->arena, (size_t)turns->rows * (size_t)skin->wide, sizeof(double));
    turns->used = arena_take(&call->arena, (size_t)skin->bones, 1);
    Turning turning = {call, skin, parents, pivots, turns};
    if (call->arena.failed) {
        return 0;
    }
    parallel_run(call->pool, skin->bones, turn_bone, &turning);
    return !call_poll(call, -1);
}

void turns_drive(const Turns *turns, const Skin *skin, const double *map, double *c) {
    const size_t wide = (size_t)skin->wide;
    memset(c, 0, wide * sizeof *c);
    for (size_t row = 0; row < (size_t)turns->rows; row++) {
        const double *phi = turns->phi + row * wide, w = map[row];
        for (size_t f = 0; f < wide && w != 0; f++) {
            c[f] += w * phi[f];
        }
    }
}
