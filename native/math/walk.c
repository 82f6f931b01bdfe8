/* walk.c - shortest distances along a graph's edges from any number of sources (Dijkstra 1959),
 * with a binary heap that is reused from walk to walk without clearing. */
#include "math/walk.h"

#include <string.h>

int walk_make(Arena *arena, const Graph *graph, Walk *walk) {
    const size_t n = (size_t)graph->vertices;
    memset(walk, 0, sizeof *walk);
    walk->heap = arena_take(arena, n, sizeof(int));
    walk->place = arena_take(arena, n, sizeof(int));
    walk->far = arena_take(arena, n, sizeof(double));
    walk->stamp = arena_take(arena, n, sizeof(int));
    walk->reached = arena_take(arena, n, sizeof(int));
    walk->from = arena_take(arena, n, sizeof(int));
    return !arena->failed;
}

static void put(Walk *walk, int at, int v) {
    walk->heap[at] = v;
    walk->place[v] = at;
}

/* Ties go to the lower number, so that the order never depends on the heap's history. */
static int nearer(const Walk *walk, int a, int b) {
    return walk->far[a] < walk->far[b] || (walk->far[a] == walk->far[b] && a < b);
}

static void rise(Walk *walk, int at) {
    const int v = walk->heap[at];
    while (at > 0 && nearer(walk, v, walk->heap[(at - 1) / 2])) {
        put(walk, at, walk->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(walk, at, v);
}

static void sink(Walk *walk, int at) {
    const int v = walk->heap[at];
    for (int child = 2 * at + 1; child < walk->heap_count; child = 2 * at + 1) {
        if (child + 1 < walk->heap_count && nearer(walk, walk->heap[child + 1], walk->heap[child])) {
            child++;
        }
        if (!nearer(walk, walk->heap[child], v)) {
            break;
        }
        put(walk, at, walk->heap[child]);
        at = child;
    }
    put(walk, at, v);
}

static void offer(Walk *walk, int v, double far, int from) {
    if (walk->stamp[v] != walk->now) {
        walk->stamp[v] = walk->now;
        walk->far[v] = far;
        walk->from[v] = from;
        put(walk, walk->heap_count++, v);
        rise(walk, walk->heap_count - 1);
    } else if (walk->place[v] >= 0 && far < walk->far[v]) {
        walk->far[v] = far;
        walk->from[v] = from;
        rise(walk, walk->place[v]);
    }
}

void walk_begin(Walk *walk) {
    walk->now++;
    walk->heap_count = 0;
    walk->reached_count = 0;
}

void walk_source(Walk *walk, int v) {
    offer(walk, v, 0, v);
}

void walk_run(Walk *walk, const Graph *graph, int most, double limit) {
    while (walk->heap_count > 0 && walk->reached_count < most) {
        const int v = walk->heap[0];
        if (walk->far[v] > limit) {
            return;
        }
        walk->heap_count--;
        if (walk->heap_count > 0) {
            put(walk, 0, walk->heap[walk->heap_count]);
            sink(walk, 0);
        }
        walk->place[v] = -1;
        walk->reached[walk->reached_count++] = v;
        for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            offer(walk, graph->neighbour[e], walk->far[v] + (double)graph->length[e], walk->from[v]);
        }
    }
}
