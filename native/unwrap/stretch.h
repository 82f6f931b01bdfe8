/* stretch.h - how much a map is stretched by a motion; see stretch.c. */
#ifndef OSSIFY_UNWRAP_STRETCH_H
#define OSSIFY_UNWRAP_STRETCH_H

#include "core/call.h"

/* Percent of how far Sander's L2 stretch of uv [t][3][2] is above 1: mean over the frames, and of the rest; -1: there is
 * no such pose, or it has no area. by_triangle [t], which may be NULL: root mean square over the frames, 1 at best. */
typedef struct Stretch {
    double frames, rest;
    int64_t flipped; /* triangles whose sign is not that of the island at hand, see stretch_measure */
} Stretch;

/* island [t] of each triangle, `islands` of them. 0 when memory is out or the call is cancelled. */
int stretch_measure(Call *call, const ossify_poses *poses, const float *uv, const int *island, int islands,
                    float *by_triangle, Stretch *stretch);

#endif
