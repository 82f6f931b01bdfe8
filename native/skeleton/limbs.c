/* limbs.c - legs, arms, head and tail, from the surface alone.
 *
 * r(v), the mean distance over the surface to points all over it (paths.c), is largest at the tips of limbs and least in
 * the middle of the body. From the top down, vertices are added one by one: a tip begins a component, which grows down
 * its limb, until two components meet (the merge tree of r; Edelsbrunner, Letscher & Zomorodian 2002). Where two meet
 * that both came down far enough, at least PROMINENCE of what r spans, each that is not yet a body is a limb, all of it,
 * and the two go on as a body. An ear that meets the head soon after its tip is a part of the head. */
#include "skeleton/limbs.h"

#include <math.h>
#include <stdlib.h>

static const double PROMINENCE = 0.12; /* of what r spans */

typedef struct Rank {
    double height;
    int vertex;
} Rank;

typedef struct Merging {
    const Paths *paths;
    int vertices, limbs;
    double prominence;
    Rank *rank;    /* [v] highest first */
    int *above;    /* [v] towards its component's first vertex, which is its own; -1: not added */
    int *next;     /* [v] the next vertex of the component, -1: the last */
    int *last;     /* [first vertex] */
    double *tip;   /* [first vertex] height */
    char *is_body; /* [first vertex] */
    int *limb;
} Merging;

static int compare(const void *a, const void *b) {
    const Rank *one = a, *two = b;
    return one->height != two->height ? (one->height < two->height) - (one->height > two->height)
                                      : (one->vertex > two->vertex) - (one->vertex < two->vertex);
}

static int first_of(Merging *merging, int v) {
    while (merging->above[v] != v) {
        merging->above[v] = merging->above[merging->above[v]];
        v = merging->above[v];
    }
    return v;
}

static int stands_out(const Merging *merging, int component, double height) {
    return merging->is_body[component] || merging->tip[component] - height >= merging->prominence;
}

static void make_limb(Merging *merging, int component) {
    if (merging->is_body[component]) {
        return;
    }
    for (int v = component; v >= 0; v = merging->next[v]) {
        merging->limb[v] = merging->limbs;
    }
    merging->limbs++;
}

static void join(Merging *merging, int a, int b, double height) {
    if (stands_out(merging, a, height) && stands_out(merging, b, height)) {
        make_limb(merging, merging->tip[a] >= merging->tip[b] ? a : b);
        make_limb(merging, merging->tip[a] >= merging->tip[b] ? b : a);
        merging->is_body[a] = merging->is_body[b] = 1;
    }
    merging->above[b] = a;
    merging->next[merging->last[a]] = b;
    merging->last[a] = merging->last[b];
    merging->tip[a] = fmax(merging->tip[a], merging->tip[b]);
    merging->is_body[a] |= merging->is_body[b];
}

static void add(Merging *merging, int v, double height) {
    const Graph *graph = &merging->paths->graph;
    int own = v;
    merging->above[v] = merging->last[v] = v;
    merging->next[v] = -1;
    merging->tip[v] = height;
    for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
        if (merging->above[graph->neighbour[e]] >= 0) {
            const int other = first_of(merging, graph->neighbour[e]);
            if (other != own) { /* the vertex itself came down from nowhere, and is no limb */
                join(merging, other, own, height);
                own = other;
            }
        }
    }
}

static int merging_take(Call *call, Merging *merging) {
    const size_t n = (size_t)merging->vertices;
    merging->rank = arena_take(&call->arena, n, sizeof(Rank));
    merging->above = arena_take(&call->arena, n, sizeof(int));
    merging->next = arena_take(&call->arena, n, sizeof(int));
    merging->last = arena_take(&call->arena, n, sizeof(int));
    merging->tip = arena_take(&call->arena, n, sizeof(double));
    merging->is_body = arena_take(&call->arena, n, 1);
    return !call->arena.failed;
}

int limbs_find(Call *call, const Paths *paths, int *limb) {
    Merging merging = {.paths = paths, .vertices = paths->graph.vertices, .limb = limb};
    double low = INFINITY, high = 0;
    if (!merging_take(call, &merging)) {
        return -1;
    }
    for (int v = 0; v < merging.vertices; v++) {
        const int has_edges = paths->graph.first[v] < paths->graph.first[v + 1];
        merging.rank[v] = (Rank){.height = has_edges ? paths->remote[v] : -1, .vertex = v};
        merging.above[v] = limb[v] = -1;
        low = has_edges ? fmin(low, paths->remote[v]) : low;
        high = fmax(high, paths->remote[v]);
    }
    merging.prominence = PROMINENCE * (high - low);
    qsort(merging.rank, (size_t)merging.vertices, sizeof(Rank), compare);
    for (int i = 0; i < merging.vertices && merging.rank[i].height >= 0 && high > low; i++) {
        add(&merging, merging.rank[i].vertex, merging.rank[i].height);
    }
    return merging.limbs;
}
