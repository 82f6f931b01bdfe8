/* turns.c - the rotation of each bone against its parent since the rest pose.
 *
 *     R = nearest rotation to A(parent)^-1 A(bone),     phi = entries of R - I
 *
 * Nine numbers, zero at rest, quadratic in the quaternion of a pose bone: what a driver without a script can compute.
 * Where the whole body stands says nothing about its shape, so bones without a parent have none. */
#include "correct/turns.h"

#include <math.h>
#include <string.h>

#include "math/rotation3.h"

static const double FLAT_BONE = 1e-12; /* of the largest product of axes: such a parent turns nothing */

/* The linear part of a bone in a frame. */
static void linear_part(const Skin *skin, int b, size_t f, double a[9]) {
    const size_t wide = (size_t)skin->wide;
    const double *m = skin->transform + 12 * (size_t)b * wide + f;
    for (size_t i = 0; i < 9; i++) {
        a[i] = m[(i / 3 * 4 + i % 3) * wide];
    }
}

/* h = a^-1 b; 0 when a has no inverse */
static int relative(const double a[9], const double b[9], double h[9]) {
    double adjugate[9], size = 0;
    rotation3_cross(a + 3, a + 6, adjugate); /* rows of the transpose */
    rotation3_cross(a + 6, a, adjugate + 3);
    rotation3_cross(a, a + 3, adjugate + 6);
    const double determinant = a[0] * adjugate[0] + a[1] * adjugate[1] + a[2] * adjugate[2];
    for (int i = 0; i < 9; i++) {
        size = fmax(size, fabs(a[i]));
        h[i] = 0;
    }
    if (!(fabs(determinant) > FLAT_BONE * size * size * size)) {
        return 0;
    }
    for (int i = 0; i < 27; i++) { /* h[r][c] += a^-1[r][k] b[k][c] */
        const int r = i / 9, k = i / 3 % 3, c = i % 3;
        h[3 * r + c] += adjugate[3 * k + r] * b[3 * k + c] / determinant;
    }
    return 1;
}

static void turn_of(const Skin *skin, int b, int parent, size_t f, double r[9]) {
    const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double a[9], own[9], h[9];
    linear_part(skin, parent, f, a);
    linear_part(skin, b, f, own);
    memcpy(r, identity, sizeof identity);
    if (relative(a, own, h)) {
        rotation3_nearest(h, r, r);
        rotation3_nearest(h, r, r); /* without the pull of the first guess */
    }
}

typedef struct Turning {
    Call *call;
    const Skin *skin;
    const int32_t *parents;
    Turns *turns;
} Turning;

static void turn_bone(void *user, int b, int worker) {
    const Turning *turning = user;
    const Skin *skin = turning->skin;
    const size_t wide = (size_t)skin->wide;
    if (turning->parents[b] < 0 || (worker == 0 && call_poll(turning->call, -1))) {
        return;
    }
    turning->turns->used[b] = 1;
    for (size_t f = 0; f < (size_t)skin->frames; f++) {
        double r[9];
        turn_of(skin, b, turning->parents[b], f, r);
        for (size_t i = 0; i < 9; i++) {
            turning->turns->phi[(TURN_NUMBERS * (size_t)b + i) * wide + f] = r[i] - (i % 4 == 0);
        }
    }
}

int turns_make(Call *call, const Skin *skin, const int32_t *parents, Turns *turns) {
    turns->rows = TURN_NUMBERS * skin->bones;
    turns->phi = arena_take(&call->arena, (size_t)turns->rows * (size_t)skin->wide, sizeof(double));
    turns->used = arena_take(&call->arena, (size_t)skin->bones, 1);
    Turning turning = {call, skin, parents, turns};
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
