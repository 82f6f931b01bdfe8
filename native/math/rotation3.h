/* rotation3.h - rotations of space as 3 x 3 matrices, row-major. */
#ifndef OSSIFY_ROTATION3_H
#define OSSIFY_ROTATION3_H

/* r = the rotation (orthonormal, det +1) that maximises trace(r' h); where h leaves an axis
 * undetermined, the answer stays near `guess`, which must be a rotation. r may be guess. */
void rotation_nearest(const double h[9], const double guess[9], double r[9]);

#endif
