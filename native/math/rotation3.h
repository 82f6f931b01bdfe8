/* rotation3.h - rotations of space as 3 x 3 matrices, row-major. */
#ifndef OSSIFY_ROTATION3_H
#define OSSIFY_ROTATION3_H

/* r = the rotation (orthonormal, det +1) that maximises trace(r' h); where h leaves an axis
 * undetermined, the answer stays near `guess`, which should be a rotation: one that is not costs time
 * and, where h is zero, comes back. r may be guess. */
void rotation_nearest(const double h[9], const double guess[9], double r[9]);

#endif
