/* surface.c - how well a replay y keeps the surface that was observed as x, which a distance cannot tell:
 *
 *     normals    the angle between a face's normal in y and in x, root mean square over faces and frames, each
 *                face weighted by its area in x
 *     bumps      with r = y - x the length of r_v - (mean of r over the neighbours of v), root mean square over
 *                vertices and frames, in mean edge lengths of the rest
 *
 * A face that is a line or a point in y has no normal and counts as 90 degrees off; one that is so in x counts
 * for nothing. Vertices without edges have no bumps.
 *
 * Like evaluate.c it is written from the definitions and shares nothing with the solver, which has a graph of its
 * own. Faces and vertices are dealt out in chunks of a fixed size and sums run in the order of the chunks, so
 * that the figures do not depend on the number of threads. */
#include "core/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ABREAST = SURFACE_ABREAST,
    WIDTH = 6 * ABREAST, /* numbers of a vertex in the frames at hand */
    SURFACE_CHUNK = 512,
    FEW = 32,  /* neighbours */
    TERMS = 13 /* of the arctangent below tan 22.5 */
};

static const double RIGHT_ANGLE = 1.57079632679489661923;

struct Surface {
    int64_t vertices, faces;
    const int32_t *triangle; /* [t][3] */
    int64_t *first;          /* [v + 1] neighbours of v: neighbour[first[v]] to neighbour[first[v + 1] - 1] */
    int32_t *neighbour;
    float *seen;          /* [v][2][3][ABREAST] the frames at hand: x, and y - x */
    double *face_turn;    /* [t] sum over frames of area angle^2, */
    double *face_area;    /* and of area, twice */
    double *vertex_area;  /* [v] scratch */
    double *chunk_sum;    /* [chunks of vertices] */
    double bump;          /* sum of squares, */
    int64_t bumped;       /* and how many there are */
    const double *counts; /* [ABREAST] */
};

static int chunks_of(int64_t items) {
    return (int)((items + SURFACE_CHUNK - 1) / SURFACE_CHUNK);
}

static int compare_numbers(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts a list and drops doubles; returns what is left. */
static int64_t tidy(int32_t *list, int64_t count) {
    int64_t kept = 0;
    if (count > FEW) {
        qsort(list, (size_t)count, sizeof *list, compare_numbers);
    }
    for (int64_t i = 1; i < count && count <= FEW; i++) {
        const int32_t v = list[i];
        int64_t at = i;
        for (; at > 0 && list[at - 1] > v; at--) {
            list[at] = list[at - 1];
        }
        list[at] = v;
    }
    for (int64_t i = 0; i < count; i++) {
        if (kept == 0 || list[kept - 1] != list[i]) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

/* Both ends of each side of each face, then each neighbour once. */
static void find_neighbours(Surface *surface) {
    int64_t *first = surface->first, *next = first + 1, kept = 0, begin = 0;
    for (int64_t i = 0; i < 3 * surface->faces; i++) {
        next[surface->triangle[i] + 1] += 2;
    }
    for (int64_t v = 0; v < surface->vertices; v++) {
        next[v + 1] += next[v];
    }
    for (int64_t i = 0; i < 3 * surface->faces; i++) {
        const int32_t *face = surface->triangle + i / 3 * 3;
        for (int64_t side = 1; side < 3; side++) {
            surface->neighbour[next[face[i % 3]]++] = face[(i + side) % 3];
        }
    }
    for (int64_t v = 0; v < surface->vertices; v++) {
        const int64_t end = first[v + 1], count = tidy(surface->neighbour + begin, end - begin);
        first[v] = kept;
        for (int64_t i = 0; i < count; i++) {
            if (surface->neighbour[begin + i] != v) { /* a face may have a corner twice */
                surface->neighbour[kept++] = surface->neighbour[begin + i];
            }
        }
        begin = end;
    }
    first[surface->vertices] = kept;
}

Surface *surface_take(Call *call, const ossify_poses *poses) {
    Arena *arena = &call->arena;
    Surface *surface = arena_take(arena, 1, sizeof *surface);
    const size_t n = (size_t)poses->vertex_count, faces = (size_t)poses->triangle_count;
    if (surface == NULL) {
        return NULL;
    }
    surface->vertices = poses->vertex_count;
    if (faces == 0) {
        return surface;
    }
    surface->faces = poses->triangle_count;
    surface->triangle = poses->triangles;
    surface->first = arena_take(arena, n + 2, sizeof *surface->first);
    surface->neighbour = arena_take(arena, 6 * faces, sizeof *surface->neighbour);
    surface->seen = arena_take(arena, n, WIDTH * sizeof *surface->seen);
    surface->face_turn = arena_take(arena, faces, sizeof *surface->face_turn);
    surface->face_area = arena_take(arena, faces, sizeof *surface->face_area);
    surface->vertex_area = arena_take(arena, n, sizeof *surface->vertex_area);
    surface->chunk_sum = arena_take(arena, (size_t)chunks_of(surface->vertices), sizeof *surface->chunk_sum);
    if (arena->failed) {
        return NULL;
    }
    find_neighbours(surface);
    return surface;
}

float *surface_seen(Surface *surface) {
    return surface->seen;
}

void surface_begin(Surface *surface) {
    surface->bump = 0;
    surface->bumped = 0;
    if (surface->faces > 0) {
        memset(surface->face_turn, 0, (size_t)surface->faces * sizeof *surface->face_turn);
        memset(surface->face_area, 0, (size_t)surface->faces * sizeof *surface->face_area);
    }
}

/* Edges of a face from its first corner, observed and as replayed. */
INSIDE void read_edges(const Surface *surface, const int32_t *face, double x[2][3][ABREAST],
                       double y[2][3][ABREAST]) {
    const float *from = surface->seen + WIDTH * (int64_t)face[0];
    for (int side = 0; side < 2; side++) {
        const float *to = surface->seen + WIDTH * (int64_t)face[1 + side];
        for (int a = 0; a < 3; a++) {
            for (int g = 0; g < ABREAST; g++) {
                const int i = a * ABREAST + g, r = 3 * ABREAST + i;
                x[side][a][g] = (double)to[i] - (double)from[i];
                y[side][a][g] = x[side][a][g] + ((double)to[r] - (double)from[r]);
            }
        }
    }
}

/* Normal of length 1, or 0, and the length that it had: twice the area. */
INSIDE void normal_of(double edge[2][3][ABREAST], double n[3][ABREAST], double length[ABREAST]) {
    for (int g = 0; g < ABREAST; g++) {
        const double *u0 = edge[0][0], *u1 = edge[0][1], *u2 = edge[0][2];
        const double *v0 = edge[1][0], *v1 = edge[1][1], *v2 = edge[1][2];
        const double x = u1[g] * v2[g] - u2[g] * v1[g], y = u2[g] * v0[g] - u0[g] * v2[g],
                     z = u0[g] * v1[g] - u1[g] * v0[g];
        const double far = sqrt(x * x + y * y + z * z), scale = far > 0 ? 1 / far : 0;
        n[0][g] = x * scale;
        n[1][g] = y * scale;
        n[2][g] = z * scale;
        length[g] = far;
    }
}

/* The angle between n and m of length 1, whose quarter's tangent is |n - m| / (2 + |n + m|); with half of that
 * the series of the arctangent is short. */
INSIDE double angle_between(double apart, double together) {
    const double quarter = apart / (2 + together), eighth = quarter / (1 + sqrt(1 + quarter * quarter));
    const double square = eighth * eighth;
    double sum = 0;
    for (int i = TERMS - 1; i >= 0; i--) {
        sum = 1 / (2.0 * i + 1) - square * sum;
    }
    return 8 * eighth * sum;
}

INSIDE void add_face(const Surface *surface, int64_t t) {
    double x[2][3][ABREAST], y[2][3][ABREAST], n[3][ABREAST], m[3][ABREAST];
    double area[ABREAST], replayed[ABREAST], turn[ABREAST];
    read_edges(surface, surface->triangle + 3 * t, x, y);
    normal_of(x, n, area);
    normal_of(y, m, replayed);
    for (int g = 0; g < ABREAST; g++) {
        const double d0 = n[0][g] - m[0][g], d1 = n[1][g] - m[1][g], d2 = n[2][g] - m[2][g];
        const double s0 = n[0][g] + m[0][g], s1 = n[1][g] + m[1][g], s2 = n[2][g] + m[2][g];
        const double angle =
            angle_between(sqrt(d0 * d0 + d1 * d1 + d2 * d2), sqrt(s0 * s0 + s1 * s1 + s2 * s2));
        const double counted = replayed[g] > 0 ? angle : RIGHT_ANGLE;
        area[g] *= surface->counts[g];
        turn[g] = area[g] * counted * counted;
    }
    for (int g = 0; g < ABREAST; g++) {
        surface->face_turn[t] += turn[g];
        surface->face_area[t] += area[g];
    }
}

INSIDE void add_faces(const Surface *surface, int chunk) {
    const int64_t begin = (int64_t)chunk * SURFACE_CHUNK, end = begin + SURFACE_CHUNK;
    for (int64_t t = begin; t < end && t < surface->faces; t++) {
        add_face(surface, t);
    }
}

static void add_face_chunk(void *user, int chunk, int worker) {
    (void)worker;
    add_faces(user, chunk);
}

WIDE static void add_face_chunk_wide(void *user, int chunk, int worker) {
    (void)worker;
    add_faces(user, chunk);
}

/* sums += (r_v - mean of the neighbours' r)^2, number by number of the frames at hand */
INSIDE void add_bump(const Surface *surface, int64_t v, double sums[3 * ABREAST]) {
    const int64_t begin = surface->first[v], end = surface->first[v + 1];
    const float *own = surface->seen + WIDTH * v + 3 * ABREAST;
    const float share = end > begin ? 1.0f / (float)(end - begin) : 0;
    float mean[3 * ABREAST] = {0};
    for (int64_t e = begin; e < end; e++) {
        const float *other = surface->seen + WIDTH * (int64_t)surface->neighbour[e] + 3 * ABREAST;
        for (int i = 0; i < 3 * ABREAST; i++) {
            mean[i] += share * other[i];
        }
    }
    for (int i = 0; i < 3 * ABREAST; i++) {
        const double bump = end > begin ? (double)(own[i] - mean[i]) : 0;
        sums[i] += bump * bump;
    }
}

INSIDE void add_bumps(const Surface *surface, int chunk) {
    const int64_t begin = (int64_t)chunk * SURFACE_CHUNK, end = begin + SURFACE_CHUNK;
    double sums[3 * ABREAST] = {0}, sum = 0;
    for (int64_t v = begin; v < end && v < surface->vertices; v++) {
        add_bump(surface, v, sums);
    }
    for (int i = 0; i < 3 * ABREAST; i++) {
        sum += sums[i];
    }
    surface->chunk_sum[chunk] = sum;
}

static void add_bump_chunk(void *user, int chunk, int worker) {
    (void)worker;
    add_bumps(user, chunk);
}

WIDE static void add_bump_chunk_wide(void *user, int chunk, int worker) {
    (void)worker;
    add_bumps(user, chunk);
}

void surface_add(Call *call, Surface *surface, const double *counts) {
    const int chunks = chunks_of(surface->vertices);
    if (surface->faces == 0) {
        return;
    }
    surface->counts = counts;
    parallel_run(call->pool, chunks_of(surface->faces),
                 portable_is_wide() ? add_face_chunk_wide : add_face_chunk, surface);
    parallel_run(call->pool, chunks, portable_is_wide() ? add_bump_chunk_wide : add_bump_chunk, surface);
    for (int chunk = 0; chunk < chunks; chunk++) {
        surface->bump += surface->chunk_sum[chunk];
    }
    int frames = 0;
    for (int g = 0; g < ABREAST; g++) {
        frames += counts[g] > 0;
    }
    for (int64_t v = 0; v < surface->vertices; v++) {
        surface->bumped += surface->first[v + 1] > surface->first[v] ? frames : 0;
    }
}

static double mean_edge(const Surface *surface, const float *rest) {
    double sum = 0;
    for (int64_t v = 0; v < surface->vertices; v++) {
        for (int64_t e = surface->first[v]; e < surface->first[v + 1]; e++) {
            double square = 0;
            for (int64_t a = 0; a < 3; a++) {
                const double d =
                    (double)rest[3 * v + a] - (double)rest[3 * (int64_t)surface->neighbour[e] + a];
                square += d * d;
            }
            sum += sqrt(square);
        }
    }
    return sum / fmax(1, (double)surface->first[surface->vertices]);
}

static double degrees_of(double turn, double area) {
    return area > 0 ? 90 / RIGHT_ANGLE * sqrt(turn / area) : 0;
}

SurfaceFigures surface_figures(const Surface *surface, const float *rest) {
    double turn = 0, area = 0;
    if (surface->faces == 0) {
        return (SurfaceFigures){-1, -1};
    }
    for (int64_t t = 0; t < surface->faces; t++) {
        turn += surface->face_turn[t];
        area += surface->face_area[t];
    }
    const double edge = mean_edge(surface, rest);
    const double bumps = surface->bumped > 0 ? sqrt(surface->bump / (double)surface->bumped) : 0;
    return (SurfaceFigures){degrees_of(turn, area), edge > 0 ? bumps / edge : bumps};
}

void surface_vertex_degrees(const Surface *surface, double *degrees) {
    double *area = surface->vertex_area;
    for (int64_t v = 0; v < surface->vertices; v++) {
        degrees[v] = surface->faces > 0 ? 0 : -1;
    }
    if (surface->faces == 0) {
        return;
    }
    memset(area, 0, (size_t)surface->vertices * sizeof *area);
    for (int64_t i = 0; i < 3 * surface->faces; i++) {
        degrees[surface->triangle[i]] += surface->face_turn[i / 3];
        area[surface->triangle[i]] += surface->face_area[i / 3];
    }
    for (int64_t v = 0; v < surface->vertices; v++) {
        degrees[v] = degrees_of(degrees[v], area[v]);
    }
}
