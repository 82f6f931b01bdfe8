/* grow.h - virtual bones that come, where they are missed most; see grow.c. */
#ifndef OSSIFY_GROW_H
#define OSSIFY_GROW_H

#include "compress/coefficients.h"

typedef struct GrowVisit {
    int vertex, atom[MOST_BLENDED];
} GrowVisit;

typedef struct Grow {
    Call *call;
    const Target *target;
    const Graph *graph;
    Layers *layers;
    CoefficientsRoom room;
    double *w;        /* [bones] */
    GrowVisit *stack; /* of the search at hand */
    int *winner; /* [2 leaves] of each pair of vertices, and of pairs of pairs, the one that is missed most */
    int leaves, visits;
    int most; /* virtual bones a vertex */
} Grow;

/* 0 when memory is out. */
int grow_make(Call *call, const Target *target, const Graph *graph, int most, Layers *layers, Grow *grow);
/* Who is missed most, when the layers know their errors of a target. */
void grow_rank(Grow *grow, const Target *target);
/* Those errors first. 0 when the call must end; so below. */
int grow_look(Grow *grow, const Target *target);
/* Algorithm 1, lines 1 and 2: the first two, and everybody's coefficients. */
int grow_first(Grow *grow);
/* Lines 4-8: up to `more`; fewer where nothing is missed. *added: how many. */
int grow_more(Grow *grow, int more, int *added);
/* Algorithm 2: coefficients from a vertex on, if what it has suits it better than it did, or `atom` beside it, which
 * may be -1. */
int grow_follow(Grow *grow, int v, int atom);

#endif
