/* islands.c - cuts a map into islands along its seams.
 *
 * Two triangles that share an edge of the mesh hang together where the map has both of its ends at the same places and
 * the two go round it in opposite directions; an edge of more than two has one such pair for each two that fit. All
 * else is a seam. Corners that are joined so, one edge after another, are one point of the map; points that only touch
 * stay two. */
#include "unwrap/islands.h"

#include <math.h>
#include <string.h>

enum { MOST_AT_AN_EDGE = 16 }; /* triangles; an edge of more is a seam */

static const double SAME_PLACE =
    1e-6; /* in the map, where 1 is the side of a texture, or of the map if larger */

static int root_of(int *parent, int i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The lower number leads. */
static void join(int *parent, int a, int b) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a < b) {
        parent[b] = a;
    } else {
        parent[a] = b;
    }
}

/* Edge i begins at corner i and ends at the next of its triangle. */
static int next_corner(int i) {
    return i % 3 == 2 ? i - 2 : i + 1;
}

static int lower_end(const int32_t *vertex, int i) {
    const int32_t a = vertex[i], b = vertex[next_corner(i)];
    return a < b ? a : b;
}

static int upper_end(const int32_t *vertex, int i) {
    const int32_t a = vertex[i], b = vertex[next_corner(i)];
    return a < b ? b : a;
}

/* order -> sorted, by an end, equal ones as they came */
static void sort_edges(const int32_t *vertex, int edges, int vertices, int (*end)(const int32_t *, int),
                       const int *order, int *sorted, int *count) {
    memset(count, 0, ((size_t)vertices + 1) * sizeof *count);
    for (int i = 0; i < edges; i++) {
        count[end(vertex, i) + 1]++;
    }
    for (int v = 0; v < vertices; v++) {
        count[v + 1] += count[v];
    }
    for (int i = 0; i < edges; i++) {
        const int e = order == NULL ? i : order[i];
        sorted[count[end(vertex, e)]++] = e;
    }
}

typedef struct Cut {
    const int32_t *vertex;
    const float *uv;
    double near;
    int *parent;
} Cut;

static int same_place(const Cut *cut, int a, int b) {
    return fabs((double)cut->uv[2 * a] - (double)cut->uv[2 * b]) <= cut->near &&
           fabs((double)cut->uv[2 * a + 1] - (double)cut->uv[2 * b + 1]) <= cut->near;
}

static int fit(const Cut *cut, int e, int g) {
    return cut->vertex[e] == cut->vertex[next_corner(g)] && cut->vertex[next_corner(e)] == cut->vertex[g] &&
           cut->vertex[e] != cut->vertex[g] && e / 3 != g / 3 && same_place(cut, e, next_corner(g)) &&
           same_place(cut, next_corner(e), g);
}

/* Pairs of the edges that lie between the same two vertices. */
static void join_edges(const Cut *cut, const int *edge, int count) {
    int taken[MOST_AT_AN_EDGE] = {0};
    if (count > MOST_AT_AN_EDGE) {
        return;
    }
    for (int i = 0; i < count; i++) {
        for (int j = i + 1; j < count && !taken[i]; j++) {
            if (!taken[j] && fit(cut, edge[i], edge[j])) {
                join(cut->parent, edge[i], next_corner(edge[j]));
                join(cut->parent, next_corner(edge[i]), edge[j]);
                taken[i] = taken[j] = 1;
            }
        }
    }
}

static void join_all(const Cut *cut, const int *edge, int edges) {
    for (int first = 0, end; first < edges; first = end) {
        end = first + 1;
        while (end < edges && lower_end(cut->vertex, edge[end]) == lower_end(cut->vertex, edge[first]) &&
               upper_end(cut->vertex, edge[end]) == upper_end(cut->vertex, edge[first])) {
            end++;
        }
        join_edges(cut, edge + first, end - first);
    }
}

static double size_of(const float *uv, int numbers) {
    double largest = 1;
    for (int i = 0; i < numbers; i++) {
        largest = fmax(largest, fabs((double)uv[i]));
    }
    return largest;
}

/* Triangles by island, islands in the order of their first triangles; parent leads corners to points. */
static void number_islands(int triangles, int *parent, int *joined, int *island, Islands *out) {
    for (int i = 0; i < 3 * triangles; i++) {
        joined[i] = i;
    }
    for (int i = 0; i < 3 * triangles; i++) {
        join(joined, i, root_of(parent, i));
        join(joined, i, i - i % 3);
    }
    for (int t = 0; t < triangles; t++) {
        const int lead = root_of(joined, 3 * t) / 3; /* lowest of its island: seen already, or t */
        island[t] = lead == t ? out->count++ : island[lead];
        out->first[island[t] + 1]++;
    }
    for (int i = 0; i < out->count; i++) {
        out->first[i + 1] += out->first[i];
    }
    for (int t = triangles - 1; t >= 0; t--) {
        out->triangle[--out->first[island[t] + 1]] = t;
    }
    for (int i = 0; i < out->count; i++) { /* each slot i + 1 has come to the island's first */
        out->first[i] = out->first[i + 1];
    }
    out->first[out->count] = triangles;
}

/* Points of each island from 0 on; number [3t] is by the corner that leads. */
static void number_points(int *parent, int *number, Islands *out) {
    for (int island = 0; island < out->count; island++) {
        int count = 0;
        out->first_point[island] = out->points;
        for (int i = out->first[island]; i < out->first[island + 1]; i++) {
            for (int c = 3 * out->triangle[i]; c < 3 * out->triangle[i] + 3; c++) {
                const int lead = root_of(parent, c);
                number[lead] = lead == c ? count++ : number[lead];
                out->point[c] = number[lead];
            }
        }
        out->points += count;
    }
    out->first_point[out->count] = out->points;
}

int islands_cut(Arena *arena, const ossify_poses *poses, const float *uv, Islands *islands) {
    const int triangles = (int)poses->triangle_count, corners = 3 * triangles;
    const int vertices = (int)poses->vertex_count;
    *islands = (Islands){0};
    islands->point = arena_take(arena, (size_t)corners, sizeof(int));
    islands->triangle = arena_take(arena, (size_t)triangles, sizeof(int));
    islands->first = arena_take(arena, (size_t)triangles + 1, sizeof(int));
    islands->first_point = arena_take(arena, (size_t)triangles + 1, sizeof(int));
    ArenaPiece *mark = arena_mark(arena);
    int *parent = arena_take(arena, (size_t)corners, sizeof(int));
    int *edge = arena_take(arena, (size_t)corners, sizeof(int));
    int *sorted = arena_take(arena, (size_t)corners, sizeof(int));
    int *count = arena_take(arena, (size_t)vertices + 1, sizeof(int));
    if (arena->failed) {
        return 0;
    }
    const Cut cut = {poses->triangles, uv, SAME_PLACE * size_of(uv, 2 * corners), parent};
    for (int i = 0; i < corners; i++) {
        parent[i] = i;
    }
    sort_edges(cut.vertex, corners, vertices, upper_end, NULL, edge, count);
    sort_edges(cut.vertex, corners, vertices, lower_end, edge, sorted, count);
    join_all(&cut, sorted, corners);
    number_islands(triangles, parent, edge, sorted, islands);
    number_points(parent, edge, islands);
    arena_return(arena, mark);
    return 1;
}
