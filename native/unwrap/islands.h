/* islands.h - a map cut into islands; see islands.c. */
#ifndef OSSIFY_UNWRAP_ISLANDS_H
#define OSSIFY_UNWRAP_ISLANDS_H

#include "core/call.h"

/* Points of the map, and which triangles hang together by them. */
typedef struct Islands {
    int count;
    int points;       /* of all islands */
    int *point;       /* [t][3] of each corner, counted from its island's first */
    int *triangle;    /* [t] island by island, each in the order of the mesh */
    int *first;       /* [count + 1] in triangle */
    int *first_point; /* [count + 1] */
} Islands;

/* Corners of uv [t][3][2] are one point where two triangles meet in an edge, at the same place at both ends and the
 * same way round. 0 when memory is out. */
int islands_cut(Arena *arena, const ossify_poses *poses, const float *uv, Islands *islands);

#endif
