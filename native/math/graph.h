/* graph.h - the surface as a graph: who is beside whom, and how far. */
#ifndef OSSIFY_GRAPH_H
#define OSSIFY_GRAPH_H

#include <stdint.h>

#include "base/arena.h"
#include "base/parallel.h"

/* Neighbours of vertex v: neighbour[first[v] .. first[v + 1] - 1], each edge in both lists. */
typedef struct Graph {
    int vertices;
    int64_t *first;
    int *neighbour;
    float *length;
} Graph;

/* Asked on the calling thread, every few milliseconds of work, whether the graph is still wanted. */
typedef struct GraphWatch {
    int (*wanted)(void *user);
    void *user;
} GraphWatch;

/* Edges of the triangles [t][3], whose indices `renumber` translates; with several shells or none,
 * also the 8 nearest neighbours in `points` [v][3] and the shortest ties between what is still
 * apart: always one component. Returns 0 when memory is out or `watch`, which may be NULL, wants no more. */
int graph_of_surface(Arena *arena, Pool *pool, const GraphWatch *watch, int vertices, const double *points,
                     int64_t triangles, const int32_t *triangle, const int *renumber, Graph *graph);

/* The edges of the triangles alone: shells stay apart, and loose vertices have no neighbours. 0 when memory is out. */
int graph_of_faces(Arena *arena, int vertices, const double *points, int64_t triangles,
                   const int32_t *triangle, Graph *graph);

/* The graph of cells: cell [v] in 0..cells-1; lengths between `points` [cells][3]. */
int graph_of_cells(Arena *arena, const Graph *graph, int cells, const int *cell, const double *points,
                   Graph *coarse);

#endif
