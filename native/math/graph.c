/* graph.c - builds the surface's graph.
 *
 * A rigger's "near" is along the surface: the edges of the faces. Where there are several shells
 * or no faces, the 8 nearest neighbours in the rest pose join in, and what is still apart is tied
 * at the closest pairs (Boruvka's spanning tree), so that every vertex is reachable. */
#include "math/graph.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "math/tree.h"

enum { NEIGHBOURS = 8, FEW = 32, GRAPH_CHUNK = 1024 /* vertices between two questions to the watcher */ };

typedef struct Edge {
    int low, high;
} Edge;

typedef struct Edges {
    Edge *edge;
    int64_t count;
} Edges;

static void add_edge(Edges *edges, int a, int b) {
    if (a != b) {
        edges->edge[edges->count++] = (Edge){a < b ? a : b, a < b ? b : a};
    }
}

static float distance(const double *points, int a, int b) {
    const double *p = points + 3 * (size_t)a, *q = points + 3 * (size_t)b;
    return (float)sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) +
                       (p[2] - q[2]) * (p[2] - q[2]));
}

/* Where each vertex's list begins, doubles counted. */
static void count_edges(const Edges *edges, int vertices, int64_t *first) {
    int64_t *next = first + 1; /* shifted by one, it ends up where the lists begin */
    for (int64_t e = 0; e < edges->count; e++) {
        next[edges->edge[e].low + 1]++;
        next[edges->edge[e].high + 1]++;
    }
    for (int v = 0; v < vertices; v++) {
        next[v + 1] += next[v];
    }
}

static void fill_lists(const Edges *edges, int64_t *first, int *neighbour) {
    int64_t *next = first + 1;
    for (int64_t e = 0; e < edges->count; e++) {
        neighbour[next[edges->edge[e].low]++] = edges->edge[e].high;
        neighbour[next[edges->edge[e].high]++] = edges->edge[e].low;
    }
}

static int compare_numbers(const void *a, const void *b) {
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Sorts a vertex's neighbours, as a rule few, and drops doubles; returns how many are left. */
static int64_t tidy_list(int *list, int64_t count) {
    int64_t kept = 0;
    if (count > FEW) {
        qsort(list, (size_t)count, sizeof *list, compare_numbers);
    }
    for (int64_t i = 1; i < count && count <= FEW; i++) {
        const int v = list[i];
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

/* Edges to neighbour lists. */
static int lists_of(Arena *arena, int vertices, const double *points, const Edges *edges, Graph *graph) {
    graph->vertices = vertices;
    graph->first = arena_take(arena, (size_t)vertices + 2, sizeof *graph->first);
    graph->neighbour = arena_take(arena, 2 * (size_t)edges->count, sizeof *graph->neighbour);
    graph->length = arena_take(arena, 2 * (size_t)edges->count, sizeof *graph->length);
    if (arena->failed) {
        return 0;
    }
    count_edges(edges, vertices, graph->first);
    fill_lists(edges, graph->first, graph->neighbour);
    int64_t kept = 0, begin = 0;
    for (int v = 0; v < vertices; v++) {
        const int64_t end = graph->first[v + 1], count = tidy_list(graph->neighbour + begin, end - begin);
        for (int64_t i = 0; i < count; i++) {
            graph->neighbour[kept + i] = graph->neighbour[begin + i];
            graph->length[kept + i] = distance(points, v, graph->neighbour[begin + i]);
        }
        graph->first[v] = kept;
        kept += count;
        begin = end;
    }
    graph->first[vertices] = kept;
    return 1;
}

static int find(int *parent, int v) {
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    return v;
}

/* The lower number becomes the root: no dependence on the order of calls. */
static int unite(int *parent, int a, int b) {
    const int x = find(parent, a), y = find(parent, b);
    parent[x < y ? y : x] = x < y ? x : y;
    return x != y;
}

static int unite_edges(int *parent, int vertices, const Edges *edges) {
    int components = vertices;
    for (int v = 0; v < vertices; v++) {
        parent[v] = v;
    }
    for (int64_t e = 0; e < edges->count; e++) {
        components -= unite(parent, edges->edge[e].low, edges->edge[e].high);
    }
    return components;
}

static int wanted(const GraphWatch *watch) {
    return watch == NULL || watch->wanted(watch->user);
}

typedef struct NearTask {
    const Tree *tree;
    int *near; /* [v][NEIGHBOURS], -1 unused */
    const GraphWatch *watch;
    atomic_int stopped;
} NearTask;

static void find_nearest(void *user, int task, int worker) {
    NearTask *job = user;
    const int end = (task + 1) * GRAPH_CHUNK < job->tree->count ? (task + 1) * GRAPH_CHUNK : job->tree->count;
    if (worker == 0 && !wanted(job->watch)) {
        atomic_store(&job->stopped, 1);
    }
    for (int v = task * GRAPH_CHUNK; v < end && !atomic_load(&job->stopped); v++) {
        double square[NEIGHBOURS];
        int *near = job->near + (size_t)v * NEIGHBOURS;
        for (int i = tree_nearest(job->tree, v, NEIGHBOURS, near, square); i < NEIGHBOURS; i++) {
            near[i] = -1;
        }
    }
}

static int add_nearest(Arena *arena, Pool *pool, const GraphWatch *watch, const Tree *tree, Edges *edges) {
    NearTask job = {tree, arena_take(arena, (size_t)tree->count * NEIGHBOURS, sizeof(int)), watch, 0};
    if (!job.near) {
        return 0;
    }
    parallel_run(pool, (tree->count + GRAPH_CHUNK - 1) / GRAPH_CHUNK, find_nearest, &job);
    for (int v = 0; v < tree->count && !job.stopped; v++) {
        for (int i = 0; i < NEIGHBOURS && job.near[(size_t)v * NEIGHBOURS + (size_t)i] >= 0; i++) {
            add_edge(edges, v, job.near[(size_t)v * NEIGHBOURS + (size_t)i]);
        }
    }
    arena_give(arena, job.near);
    return !job.stopped;
}

/* One round of Boruvka: every component is tied to its nearest other one. Returns how many ties there
 * are, 0 when the graph is no longer wanted. */
static int tie_round(const GraphWatch *watch, Tree *tree, int *parent, int *label, int *tie, double *shortest,
                     Edges *edges) {
    const int n = tree->count;
    for (int v = 0; v < n; v++) {
        label[v] = find(parent, v);
        tie[v] = -1;
        shortest[v] = INFINITY;
    }
    tree_label(tree, label);
    for (int v = 0; v < n; v++) {
        if (v % GRAPH_CHUNK == 0 && !wanted(watch)) {
            return 0;
        }
        if (tree_nearer_other(tree, label, v, &shortest[label[v]])) {
            tie[label[v]] = v;
        }
    }
    int united = 0;
    for (int c = 0; c < n; c++) {
        double square = 0;
        if (tie[c] >= 0) {
            const int other = tree_nearest_other(tree, label, tie[c], &square);
            if (unite(parent, tie[c], other)) {
                add_edge(edges, tie[c], other);
                united++;
            }
        }
    }
    return united;
}

static int tie_components(Arena *arena, const GraphWatch *watch, Tree *tree, int *parent, int components,
                          Edges *edges) {
    const size_t n = (size_t)tree->count;
    int *label = arena_take(arena, n, sizeof *label);
    int *tie = arena_take(arena, n, sizeof *tie);
    double *shortest = arena_take(arena, n, sizeof *shortest);
    if (arena->failed) {
        return 0;
    }
    for (int tied = 1; components > 1 && tied > 0; components -= tied) {
        tied = tie_round(watch, tree, parent, label, tie, shortest, edges);
    }
    return components == 1;
}

int graph_of_surface(Arena *arena, Pool *pool, const GraphWatch *watch, int vertices, const double *points,
                     int64_t triangles, const int32_t *triangle, const int *renumber, Graph *graph) {
    /* The lists outlive this call; what they are made from does not. */
    Edges edges = {
        arena_take(arena, 3 * (size_t)triangles + (NEIGHBOURS + 1) * (size_t)vertices, sizeof(Edge)), 0};
    int *parent = arena_take(arena, (size_t)vertices, sizeof *parent);
    if (arena->failed) {
        return 0;
    }
    for (int64_t t = 0; t < triangles; t++) {
        const int a = renumber[triangle[3 * t]], b = renumber[triangle[3 * t + 1]],
                  c = renumber[triangle[3 * t + 2]];
        add_edge(&edges, a, b);
        add_edge(&edges, b, c);
        add_edge(&edges, c, a);
    }
    if (unite_edges(parent, vertices, &edges) > 1) {
        ArenaPiece *mark = arena_mark(arena);
        Tree tree;
        const int ready =
            tree_make(arena, vertices, points, &tree) && add_nearest(arena, pool, watch, &tree, &edges);
        const int components = ready ? unite_edges(parent, vertices, &edges) : 0;
        const int tied = ready && tie_components(arena, watch, &tree, parent, components, &edges);
        arena_return(arena, mark);
        if (!tied) {
            return 0;
        }
    }
    const int made = wanted(watch) && lists_of(arena, vertices, points, &edges, graph);
    arena_give(arena, edges.edge);
    arena_give(arena, parent);
    return made;
}

int graph_of_faces(Arena *arena, int vertices, const double *points, int64_t triangles,
                   const int32_t *triangle, Graph *graph) {
    Edges edges = {arena_take(arena, 3 * (size_t)triangles + 1, sizeof(Edge)), 0};
    if (!edges.edge) {
        return 0;
    }
    for (int64_t i = 0; i < 3 * triangles; i++) {
        add_edge(&edges, triangle[i], triangle[i % 3 == 2 ? i - 2 : i + 1]);
    }
    const int made = lists_of(arena, vertices, points, &edges, graph);
    arena_give(arena, edges.edge);
    return made;
}

int graph_of_cells(Arena *arena, const Graph *graph, int cells, const int *cell, const double *points,
                   Graph *coarse) {
    Edges edges = {arena_take(arena, (size_t)graph->first[graph->vertices], sizeof(Edge)), 0};
    if (!edges.edge) {
        return 0;
    }
    for (int v = 0; v < graph->vertices; v++) {
        for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            add_edge(&edges, cell[v], cell[graph->neighbour[e]]);
        }
    }
    const int made = lists_of(arena, cells, points, &edges, coarse);
    arena_give(arena, edges.edge);
    return made;
}
