/* around.h - a joint and the surface around it, in several bodies; see around.c. */
#ifndef OSSIFY_AROUND_H
#define OSSIFY_AROUND_H

#include "core/call.h"

/* What tells where a joint is. Lengths are in diagonals of each body's box. */
typedef struct Around {
    int vertices, bodies;
    const float **rest;    /* [bodies] of [v][3] as the caller has them */
    double *unit;          /* [bodies] one by the diagonal */
    const double *area;    /* [v] */
    double *follows;       /* [v] how much a vertex follows the bone or its parent */
    const double **joints; /* [bodies] the joint, as the caller has it */
} Around;

/* Room for so many bodies; 0 when memory is out. */
int around_take(Arena *arena, int64_t vertices, int64_t bodies, const double *area, Around *around);
/* One by the diagonal of a body's box; 1 for one without size. */
double around_unit(const float *rest, int64_t vertices);
/* A third of each triangle to each of its corners, and a little to all. */
void around_areas(const ossify_poses *poses, const float *rest, double *area);
/* w_b + w_parent; where nothing follows either, all follow. */
void around_follow(const ossify_rig *rig, int bone, int parent, Around *around);
/* The vertex as seen from the joint, in diagonals. */
static inline void around_offset(const Around *around, int body, int v, double d[3]) {
    const float *p = around->rest[body] + 3 * (int64_t)v;
    for (int a = 0; a < 3; a++) {
        d[a] = ((double)p[a] - around->joints[body][a]) * around->unit[body];
    }
}

#endif
