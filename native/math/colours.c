/* colours.c - a graph's vertices coloured greedily: each in its turn takes the lowest colour that no neighbour has.
 * Vertices of one colour can be solved side by side, each with its neighbours as they are (Gauss-Seidel), with the same
 * answer on any number of threads. */
#include "math/colours.h"

static int lowest_free(const Graph *graph, int v, const int *colour, int *seen) {
    int lowest = 0;
    for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
        if (graph->neighbour[e] < v) {
            seen[colour[graph->neighbour[e]]] = v + 1;
        }
    }
    while (seen[lowest] == v + 1) {
        lowest++;
    }
    return lowest;
}

int colours_make(Arena *arena, const Graph *graph, Colours *colours) {
    const size_t n = (size_t)graph->vertices;
    int *colour = arena_take(arena, n, sizeof *colour);
    int *seen = arena_take(arena, n + 1, sizeof *seen);
    *colours = (Colours){.first = arena_take(arena, n + 2, sizeof *colours->first),
                         .order = arena_take(arena, n, sizeof *colours->order)};
    if (arena->failed) {
        return 0;
    }
    for (int v = 0; v < graph->vertices; v++) {
        colour[v] = lowest_free(graph, v, colour, seen);
        colours->count = colour[v] < colours->count ? colours->count : colour[v] + 1;
        colours->first[colour[v] + 1]++;
    }
    for (int c = 0; c < colours->count; c++) {
        colours->first[c + 1] += colours->first[c];
        seen[c] = colours->first[c];
    }
    for (int v = 0; v < graph->vertices; v++) {
        colours->order[seen[colour[v]]++] = v;
    }
    arena_give(arena, colour);
    arena_give(arena, seen);
    return 1;
}
