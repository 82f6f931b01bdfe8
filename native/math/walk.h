/* walk.h - distances along the edges of a graph; see walk.c. */
#ifndef OSSIFY_WALK_H
#define OSSIFY_WALK_H

#include "math/graph.h"

/* Distances along edges from several sources at once (Dijkstra), within a limit. */
typedef struct Walk {
    int *heap;    /* vertices by distance */
    int *place;   /* [v] in heap */
    double *far;  /* [v], valid where stamp is current */
    int *stamp;   /* [v] */
    int *reached; /* vertices in the order of their distance */
    int *from;    /* [v] the source each came from */
    int now, heap_count, reached_count;
} Walk;

int walk_make(Arena *arena, const Graph *graph, Walk *walk);
void walk_begin(Walk *walk);
void walk_source(Walk *walk, int v);
/* Visits vertices nearest first until `most` of them or beyond `limit`; fills reached, far, from. */
void walk_run(Walk *walk, const Graph *graph, int most, double limit);

#endif
