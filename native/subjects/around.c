/* around.c - what of a body tells where a joint is: the surface that follows one of its two bones.
 *
 * Bodies are compared in units of the diagonal of their boxes, and a vertex counts by the area around it, so that
 * neither size nor resolution matters. */
#include "subjects/around.h"

#include <math.h>

#include "math/rotation3.h"

static const double LOOSE_AREA = 1e-3; /* of the mean: what vertices without faces have */

int around_take(Arena *arena, int64_t vertices, int64_t bodies, const double *area, Around *around) {
    *around = (Around){.vertices = (int)vertices,
                       .bodies = (int)bodies,
                       .area = area,
                       .rest = arena_take(arena, (size_t)bodies, sizeof(float *)),
                       .unit = arena_take(arena, (size_t)bodies, sizeof(double)),
                       .joints = arena_take(arena, (size_t)bodies, sizeof(double *)),
                       .follows = arena_take(arena, (size_t)vertices, sizeof(double))};
    return !arena->failed;
}

double around_unit(const float *rest, int64_t vertices) {
    double square = 0;
    for (int a = 0; a < 3; a++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t v = 0; v < vertices; v++) {
            low = fmin(low, (double)rest[3 * v + a]);
            high = fmax(high, (double)rest[3 * v + a]);
        }
        square += (high - low) * (high - low);
    }
    return square > 0 ? 1 / sqrt(square) : 1;
}

static double third_of(const float *p, const float *q, const float *r) {
    double u[3], v[3], n[3];
    for (int a = 0; a < 3; a++) {
        u[a] = (double)q[a] - (double)p[a];
        v[a] = (double)r[a] - (double)p[a];
    }
    rotation3_cross(u, v, n);
    return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / 6;
}

void around_areas(const ossify_poses *poses, const float *rest, double *area) {
    double all = 0;
    for (int64_t t = 0; t < poses->triangle_count; t++) {
        const int32_t *corner = poses->triangles + 3 * t;
        const double third = third_of(rest + 3 * (int64_t)corner[0], rest + 3 * (int64_t)corner[1],
                                      rest + 3 * (int64_t)corner[2]);
        for (int k = 0; k < 3; k++) {
            area[corner[k]] += third;
        }
        all += 3 * third;
    }
    const double mean = all / (double)poses->vertex_count;
    for (int64_t v = 0; v < poses->vertex_count; v++) {
        area[v] = mean > 0 ? area[v] / mean + LOOSE_AREA : 1;
    }
}

void around_follow(const ossify_rig *rig, int bone, int parent, Around *around) {
    double all = 0;
    for (int v = 0; v < around->vertices; v++) {
        around->follows[v] = 0;
        for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
            const int32_t b = rig->influence_bones[i];
            around->follows[v] +=
                b >= 0 && (b == bone || b == parent) ? (double)rig->influence_weights[i] : 0;
        }
        all += around->follows[v];
    }
    for (int v = 0; v < around->vertices && !(all > 0); v++) {
        around->follows[v] = 1;
    }
}
