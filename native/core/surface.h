/* surface.h - how well a replay keeps the surface; see surface.c. */
#ifndef OSSIFY_SURFACE_H
#define OSSIFY_SURFACE_H

#include "core/call.h"

enum { SURFACE_ABREAST = 8 }; /* frames that are looked at together */

typedef struct Surface Surface;

/* All its memory, or NULL when that is out. Without triangles there is no surface, and all figures are -1. */
Surface *surface_take(Call *call, const ossify_poses *poses);

/* [v][2][3][SURFACE_ABREAST] to be filled in: a vertex in the frames at hand, as observed, and replayed less observed;
 * NULL: there is no surface. */
float *surface_seen(Surface *surface);

/* Forgets the frames that were added. */
void surface_begin(Surface *surface);

/* Adds the frames at hand; counts [SURFACE_ABREAST]: 0 for a frame that is not there, which then replays as it is
 * observed. */
void surface_add(Call *call, Surface *surface, const double *counts);

/* What was added, of a surface whose mean edge is to be measured on `rest`: root mean square angle between the
 * normals in degrees, and of the bumps in edges. */
typedef struct SurfaceFigures {
    double normal_degrees, bumps;
} SurfaceFigures;
SurfaceFigures surface_figures(const Surface *surface, const float *rest);

/* [v] root mean square angle of the faces around each vertex, 0 without any, or -1 without a surface. */
void surface_vertex_degrees(const Surface *surface, double *degrees);

#endif
