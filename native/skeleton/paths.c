/* paths.c - shortest ways along edges between points all over the surface.
 *
 * The weights of two bones can overlap, and a point can seem to hold between them, although nobody would call them
 * neighbours: a foreleg and a belly, two thighs. The surface knows: the ways from anywhere to a foot go through its
 * shank, so almost all ways that visit the foot cross between the two regions, and next to none cross from one thigh to
 * the other. Ends are points as far from each other as can be (Gonzalez 1985), each the farthest from all before it; a
 * way from an end goes back to each earlier one where the distance (Dijkstra 1959) falls by the length of the edge. */
#include "skeleton/paths.h"

#include <math.h>
#include <string.h>

#include "math/walk.h"

enum { ENDS = 64 };

typedef struct Tour {
    Call *call;
    Paths *paths;
    const int *owner;
    int bones, vertices;
    Walk walk;
    double *nearest; /* [v] distance to the nearest end so far */
    int end[ENDS];
    int ends;
    int ways;     /* how many were gone: the number of the last */
    int *visits;  /* [bones] ways that visit a region */
    int *crosses; /* [bones][bones] and that cross a border */
    int *visited; /* [bones] number of the last way that did, */
    int *crossed; /* [bones][bones] likewise */
    int *reached; /* [v] ends that reach a vertex */
} Tour;

static int tour_take(Tour *tour) {
    Arena *arena = &tour->call->arena;
    const size_t b = (size_t)tour->bones, v = (size_t)tour->vertices;
    tour->nearest = arena_take(arena, v, sizeof(double));
    tour->reached = arena_take(arena, v, sizeof(int));
    tour->visits = arena_take(arena, b, sizeof(int));
    tour->visited = arena_take(arena, b, sizeof(int));
    tour->crosses = arena_take(arena, b * b, sizeof(int));
    tour->crossed = arena_take(arena, b * b, sizeof(int));
    return walk_make(arena, &tour->paths->graph, &tour->walk);
}

static int is_reached(const Tour *tour, int v) {
    return tour->walk.stamp[v] == tour->walk.now;
}

/* One step back to where the walk began; -1 there. */
static int step_back(const Tour *tour, int v) {
    const Graph *graph = &tour->paths->graph;
    double least = tour->walk.far[v];
    int back = -1;
    for (int64_t e = graph->first[v]; e < graph->first[v + 1] && tour->walk.far[v] > 0; e++) {
        const int u = graph->neighbour[e];
        const double far = tour->walk.far[u] + (double)graph->length[e];
        if (is_reached(tour, u) && tour->walk.far[u] < tour->walk.far[v] && (back < 0 || far < least)) {
            least = far;
            back = u;
        }
    }
    return back;
}

static void visit(Tour *tour, int b) {
    tour->visits[b] += tour->visited[b] != tour->ways;
    tour->visited[b] = tour->ways;
}

static void cross(Tour *tour, int b, int c) {
    const size_t at = (size_t)(b < c ? b : c) * (size_t)tour->bones + (size_t)(b < c ? c : b);
    tour->crosses[at] += tour->crossed[at] != tour->ways;
    tour->crossed[at] = tour->ways;
}

static void go_back(Tour *tour, int v) {
    tour->ways++;
    visit(tour, tour->owner[v]);
    for (int u = step_back(tour, v); u >= 0; v = u, u = step_back(tour, v)) {
        if (tour->owner[u] != tour->owner[v]) {
            visit(tour, tour->owner[u]);
            cross(tour, tour->owner[u], tour->owner[v]);
        }
    }
}

/* The vertex farthest from all ends, the first of several; -1: there is none with a face. */
static int farthest(const Tour *tour) {
    int best = -1;
    for (int v = 0; v < tour->vertices; v++) {
        const int has_edges = tour->paths->graph.first[v] < tour->paths->graph.first[v + 1];
        if (has_edges && (best < 0 || tour->nearest[v] > tour->nearest[best])) {
            best = v;
        }
    }
    return best >= 0 && tour->nearest[best] > 0 ? best : -1;
}

static void add_end(Tour *tour, int end) {
    walk_begin(&tour->walk);
    walk_source(&tour->walk, end);
    walk_run(&tour->walk, &tour->paths->graph, tour->vertices, INFINITY);
    for (int v = 0; v < tour->vertices; v++) {
        if (is_reached(tour, v)) {
            tour->nearest[v] = fmin(tour->nearest[v], tour->walk.far[v]);
            tour->paths->remote[v] += tour->walk.far[v];
            tour->reached[v]++;
        }
    }
    for (int i = 0; i < tour->ends; i++) {
        if (is_reached(tour, tour->end[i])) {
            go_back(tour, tour->end[i]);
        }
    }
    tour->end[tour->ends++] = end;
}

static void write_shares(const Tour *tour) {
    for (int b = 0; b < tour->bones; b++) {
        for (int c = b + 1; c < tour->bones; c++) {
            const size_t at = (size_t)b * (size_t)tour->bones + (size_t)c,
                         back = (size_t)c * (size_t)tour->bones + (size_t)b;
            const int fewer = tour->visits[b] < tour->visits[c] ? tour->visits[b] : tour->visits[c];
            tour->paths->traffic[at] = tour->paths->traffic[back] =
                fewer > 0 ? (double)tour->crosses[at] / fewer : 0;
        }
    }
    for (int v = 0; v < tour->vertices; v++) {
        tour->paths->remote[v] /= tour->reached[v] > 0 ? tour->reached[v] : 1;
    }
}

int paths_measure(Call *call, const ossify_poses *poses, const double *rest, const int *owner, int bones,
                  Paths *paths) {
    Tour tour = {.call = call, .paths = paths, .owner = owner, .bones = bones};
    tour.vertices = (int)poses->vertex_count;
    paths->traffic = arena_take(&call->arena, (size_t)bones * (size_t)bones, sizeof(double));
    paths->remote = arena_take(&call->arena, (size_t)tour.vertices, sizeof(double));
    if (!graph_of_faces(&call->arena, tour.vertices, rest, poses->triangle_count, poses->triangles,
                        &paths->graph) ||
        !tour_take(&tour)) {
        return 0;
    }
    for (int v = 0; v < tour.vertices; v++) {
        tour.nearest[v] = INFINITY;
    }
    for (int end = farthest(&tour); end >= 0 && tour.ends < ENDS; end = farthest(&tour)) {
        if (call_poll(call, -1)) {
            return 0;
        }
        add_end(&tour, end);
    }
    write_shares(&tour);
    return 1;
}
