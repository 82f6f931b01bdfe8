/* tolerances.h - what counts as rounding, for all rooms. */
#ifndef OSSIFY_CORE_TOLERANCES_H
#define OSSIFY_CORE_TOLERANCES_H

/* Squared distance in a frame, the mesh in the unit sphere; or of |x|^2. Positions come as floats, 1e-7 of their size
 * apart: no bone can explain less, and no sum of squares knows it. */
#define FLOAT_NOISE 1e-13

#endif
