/* rotation3.h - rotations of space as 3 x 3 matrices, row-major. */
#ifndef OSSIFY_ROTATION3_H
#define OSSIFY_ROTATION3_H

#include <stddef.h>

static inline void rotation3_cross(const double a[3], const double b[3], double c[3]) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* r = the rotation (orthonormal, det +1) that maximises trace(r' h); where h leaves an axis
 * undetermined, the answer stays near `guess`, which should be a rotation: one that is not costs time
 * and, where h is zero, comes back. r may be guess. */
void rotation3_nearest(const double h[9], const double guess[9], double r[9]);
/* Takes rounding off a rotation; 0 when r was none. */
int rotation3_clean(double r[9]);
/* r <- exp[w] r; rows of r are `stride` numbers apart */
void rotation3_turn(const double w[3], double *r, size_t stride);

#endif
