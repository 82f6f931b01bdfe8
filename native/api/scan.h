/* scan.h - the first number at fault of an array; see scan.c. -1: there is none, or the call was cancelled. */
#ifndef OSSIFY_SCAN_H
#define OSSIFY_SCAN_H

#include "core/call.h"

/* Fourth powers of coordinates, summed, stay far below the largest double. */
#define LARGEST 1e30f

/* Sizes of the rest pose: what frames may measure beside it. Floats beside one that is this much larger are nothing
 * but rounding, and its powers run out of range where the rest pose is the unit of length. */
#define FARTHEST 1e22
/* and bones that turn about what is far off */
#define FARTHEST_BONE (1e3 * FARTHEST)

/* How far from 1 the weights of a vertex may sum. */
#define SUM_TOLERANCE 1e-3

/* The longest side of the box of x [vertices][3]; 0 where that is no number. */
double scan_size(const float *x, int64_t vertices);
/* Of x [count] the first that is not finite and within largest. */
int64_t scan_positions(Call *call, const float *x, int64_t count, float largest);
/* Of triangles [t][3] the first that is no vertex. */
int64_t scan_corners(Call *call, const ossify_poses *poses);
/* Among the 12 * bones numbers of each frame the first that is not finite and within LARGEST, or a translation beyond
 * `farthest`. */
int64_t scan_transforms(Call *call, const ossify_poses *poses, const ossify_rig *rig, double farthest);
/* Among the coefficients [f][correctives] the first that is not finite and within LARGEST. */
int64_t scan_coefficients(Call *call, const ossify_poses *poses, const ossify_rig *rig);
/* The first vertex with an influence at fault, or whose weights do not sum to 1; only_held: if it is held. */
int64_t scan_weights(Call *call, const ossify_poses *poses, const ossify_rig *rig, int only_held);

/* The first slot of a space whose bone is none, or twice at its vertex. */
int64_t scan_space_bones(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                         const ossify_space *space);

typedef enum Fault { NO_FAULT, BONE_UNKNOWN, BONE_TWICE, WEIGHT_OUT_OF_RANGE, WEIGHT_WITHOUT_BONE } Fault;

/* Of influence k of vertex v. */
Fault scan_influence(const ossify_rig *rig, int64_t v, int64_t k);
double scan_weight_sum(const ossify_rig *rig, int64_t v);

#endif
