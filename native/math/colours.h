/* colours.h - vertices in groups of which no two are neighbours; see colours.c. */
#ifndef OSSIFY_COLOURS_H
#define OSSIFY_COLOURS_H

#include "math/graph.h"

typedef struct Colours {
    int count;
    int *first; /* [count + 1] in */
    int *order; /* [v] the vertices, colour by colour */
} Colours;

/* 0 when memory is out. */
int colours_make(Arena *arena, const Graph *graph, Colours *colours);

#endif
