/* locality.c - which bones a vertex may use, so that each bone moves one connected region.
 *
 * The idea of influence maps (Schaefer & Yuksel 2007, section 4) in a form that costs almost no
 * accuracy: a bone's main region is the heaviest connected part of {w > REGION_WEIGHT} and what joins it; the bone may
 * be used there, within `radius` along the surface, and `hops` edges further. The radius shrinks
 * while bones find their places, so that they can still wander; at the end what lies outside a main
 * region is stripped until nothing does. */
#include "descent/locality.h"

#include <math.h>
#include <string.h>

#include "descent/tolerances.h"
#include "math/walk.h"

static const double JOINS = 0.02; /* weights that belong to a region if they join what holds it together */

static const double FAINT = 0.01; /* weights: confetti, not worth an artist's time */

enum { BITS = 8 };

typedef struct Region {
    double *weight; /* [v] of the bone at hand */
    int *queue;     /* vertices of the part at hand */
    int *seen;      /* [v] = stamp */
    int stamp;
    Walk walk;
} Region;

typedef struct Growth {
    Call *call;
    const Problem *problem;
    const Model *model;
    Locality *locality;
    double radius;
    int hops;
    const int *first, *member; /* vertices of each bone, and */
    const double *share;       /* their weights */
} Growth;

int locality_make(Call *call, const Problem *problem, int capacity, Locality *locality) {
    const size_t n = (size_t)problem->vertices, workers = (size_t)parallel_workers(call->pool);
    Arena *arena = &call->arena;
    locality->bytes = (capacity + BITS - 1) / BITS;
    locality->joins = JOINS;
    locality->candidates = arena_take(arena, n * (size_t)locality->bytes, 1);
    locality->kept = arena_take(arena, n * (size_t)locality->bytes, 1);
    locality->touched = arena_take(arena, (size_t)problem->blocks, 1);
    locality->lost = arena_take(arena, (size_t)locality->bytes, 1);
    locality->regions = arena_take(arena, workers, sizeof(Region));
    for (size_t i = 0; i < workers && !arena->failed; i++) {
        Region *region = (Region *)locality->regions + i;
        region->weight = arena_take(arena, n, sizeof(double));
        region->queue = arena_take(arena, n, sizeof(int));
        region->seen = arena_take(arena, n, sizeof(int));
        walk_make(arena, &problem->graph, &region->walk);
    }
    return !arena->failed;
}

/* The bone at hand is b; afterwards, none. */
static void spread_weights(const Growth *growth, Region *region, int b) {
    for (int i = growth->first[b]; i < growth->first[b + 1]; i++) {
        region->weight[growth->member[i]] = growth->share[i];
    }
}

static void wipe_weights(const Growth *growth, Region *region, int b) {
    for (int i = growth->first[b]; i < growth->first[b + 1]; i++) {
        region->weight[growth->member[i]] = 0;
    }
}

/* Appends to the queue the part of {w > threshold} around what queue[begin..tail) holds, entering
 * only vertices not seen; returns the new tail. */
static int collect_part(const Growth *growth, Region *region, double threshold, int begin, int tail) {
    const Graph *graph = &growth->problem->graph;
    for (int head = begin; head < tail; head++) {
        const int u = region->queue[head];
        for (int64_t e = graph->first[u]; e < graph->first[u + 1]; e++) {
            const int v = graph->neighbour[e];
            if (region->seen[v] != region->stamp && region->weight[v] > threshold) {
                region->seen[v] = region->stamp;
                region->queue[tail++] = v;
            }
        }
    }
    return tail;
}

static double part_weight(const Growth *growth, const Region *region, int begin, int end) {
    double sum = 0;
    for (int i = begin; i < end; i++) {
        sum += growth->problem->mass[region->queue[i]] * region->weight[region->queue[i]];
    }
    return sum;
}

/* All parts of {w > threshold}; the heaviest is queue[begin..end), the others stand before and
 * behind it. Returns how many vertices there are in all. */
static int find_parts(const Growth *growth, Region *region, int b, double threshold, int *begin, int *end) {
    int tail = 0;
    double heaviest = -1;
    region->stamp++;
    *begin = *end = 0;
    for (int i = growth->first[b]; i < growth->first[b + 1]; i++) {
        const int v = growth->member[i];
        if (region->seen[v] != region->stamp && region->weight[v] > threshold) {
            const int start = tail;
            region->seen[v] = region->stamp;
            region->queue[tail++] = v;
            tail = collect_part(growth, region, threshold, start, tail);
            const double weight = part_weight(growth, region, start, tail);
            if (weight > heaviest) {
                heaviest = weight;
                *begin = start;
                *end = tail;
            }
        }
    }
    return tail;
}

/* The main region as queue[0..count): the heaviest part of {w > REGION_WEIGHT} and what joins it in {w > JOINS}.
 * The other parts of {w > REGION_WEIGHT} stay marked as seen: bridges of faint weight do not lead to them. */
static int main_region(const Growth *growth, Region *region, int b) {
    int begin, end;
    if (find_parts(growth, region, b, REGION_WEIGHT, &begin, &end) == 0) {
        find_parts(growth, region, b, JOINS, &begin, &end);
    }
    memmove(region->queue, region->queue + begin, (size_t)(end - begin) * sizeof(int));
    return collect_part(growth, region, growth->locality->joins, 0, end - begin);
}

static void allow(const Growth *growth, int v, int b) {
    growth->locality->candidates[(size_t)v * (size_t)growth->locality->bytes + (size_t)(b / BITS)] |=
        (uint8_t)(1u << (b % BITS));
}

static void forbid(const Growth *growth, int v, int b) {
    growth->locality->touched[v / BLOCK] = 1;
    growth->locality->lost[b / BITS] |= (uint8_t)(1u << (b % BITS));
    growth->locality->candidates[(size_t)v * (size_t)growth->locality->bytes + (size_t)(b / BITS)] &=
        (uint8_t)~(1u << (b % BITS));
}

/* Widens the main region by radius along the surface; bones that still wander may go anywhere in it. */
static int widen_by_radius(const Growth *growth, Region *region, int count) {
    walk_begin(&region->walk);
    for (int i = 0; i < count; i++) {
        walk_source(&region->walk, region->queue[i]);
    }
    walk_run(&region->walk, &growth->problem->graph, growth->problem->vertices, growth->radius);
    region->stamp++;
    for (int i = 0; i < region->walk.reached_count; i++) {
        region->queue[i] = region->walk.reached[i];
        region->seen[region->queue[i]] = region->stamp;
    }
    return region->walk.reached_count;
}

static int widen_by_hops(const Growth *growth, Region *region, int count) {
    const Graph *graph = &growth->problem->graph;
    for (int hop = 0, head = 0; hop < growth->hops; hop++) {
        for (const int tail = count; head < tail; head++) {
            const int v = region->queue[head];
            for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
                const int u = graph->neighbour[e];
                if (region->seen[u] != region->stamp) {
                    region->seen[u] = region->stamp;
                    region->queue[count++] = u;
                }
            }
        }
    }
    return count;
}

/* One task for the bones of one byte, so that no two tasks write the same byte. */
static void grow_regions(void *user, int task, int worker) {
    const Growth *growth = user;
    Region *region = (Region *)growth->locality->regions + worker;
    for (int b = BITS * task; b < BITS * (task + 1) && b < growth->model->bones; b++) {
        if (growth->call->cancelled || (worker == 0 && call_poll(growth->call, -1))) {
            return;
        }
        spread_weights(growth, region, b);
        int count = main_region(growth, region, b);
        wipe_weights(growth, region, b);
        count = growth->radius > 0 ? widen_by_radius(growth, region, count) : count;
        count = widen_by_hops(growth, region, count);
        for (int i = 0; i < count; i++) {
            allow(growth, region->queue[i], b);
        }
    }
}

/* 1 when the vertex may use a bone whose weights are not held; open [bytes]: one bit for each of these. */
static int has_candidate(const Locality *locality, const uint8_t *open, int v) {
    const uint8_t *bits = locality->candidates + (size_t)v * (size_t)locality->bytes;
    for (int i = 0; i < locality->bytes; i++) {
        if (bits[i] & open[i]) {
            return 1;
        }
    }
    return 0;
}

/* When no bone's weights are free, all count as such. */
static void find_open(const Model *model, uint8_t *open) {
    const int closed = memchr(model->held_group, 0, (size_t)model->bones) == NULL;
    memset(open, 0, OSSIFY_MAX_BONES / BITS);
    for (int b = 0; b < model->bones; b++) {
        if (closed || !model->held_group[b]) {
            open[b / BITS] |= (uint8_t)(1u << (b % BITS));
        }
    }
}

/* A vertex without a candidate takes its neighbours' union, wave after wave. */
static void fill_gaps(const Growth *growth) {
    const Problem *problem = growth->problem;
    Locality *locality = growth->locality;
    int *queue = ((Region *)locality->regions)->queue, count = 0;
    uint8_t open[OSSIFY_MAX_BONES / BITS];
    find_open(growth->model, open);
    for (int v = 0; v < problem->vertices; v++) {
        if (!has_candidate(locality, open, v)) {
            queue[count++] = v;
        }
    }
    for (int i = 0; i < count && count == problem->vertices; i++) { /* no bone has a vertex: start anew */
        for (int b = 0; b < growth->model->bones; b++) {
            allow(growth, queue[i], b);
        }
    }
    for (int wave = 0; count > 0 && wave < problem->vertices && !call_poll(growth->call, -1); wave++) {
        int left = 0;
        for (int i = 0; i < count; i++) {
            const int v = queue[i];
            uint8_t *bits = locality->candidates + (size_t)v * (size_t)locality->bytes;
            for (int64_t e = problem->graph.first[v]; e < problem->graph.first[v + 1]; e++) {
                const uint8_t *other =
                    locality->candidates + (size_t)problem->graph.neighbour[e] * (size_t)locality->bytes;
                for (int j = 0; j < locality->bytes; j++) {
                    bits[j] |= other[j];
                }
            }
            if (!has_candidate(locality, open, v)) {
                queue[left++] = v;
            }
        }
        count = left;
    }
}

/* Vertices of each bone, with any weight. */
static int list_members(Call *call, const Problem *problem, const Model *model, Growth *growth) {
    const size_t all = (size_t)problem->vertices * (size_t)model->influences;
    int *first = arena_take(&call->arena, (size_t)model->bones + 2, sizeof *first);
    int *member = arena_take(&call->arena, all, sizeof *member);
    double *share = arena_take(&call->arena, all, sizeof *share);
    if (call->arena.failed) {
        return 0;
    }
    int *next = first + 1;
    for (size_t i = 0; i < all; i++) {
        if (model->bone[i] >= 0) {
            next[model->bone[i] + 1]++;
        }
    }
    for (int b = 0; b < model->bones; b++) {
        next[b + 1] += next[b];
    }
    for (size_t i = 0; i < all; i++) {
        if (model->bone[i] >= 0) {
            const int at = next[model->bone[i]]++;
            member[at] = (int)(i / (size_t)model->influences);
            share[at] = model->weight[i];
        }
    }
    growth->first = first;
    growth->member = member;
    growth->share = share;
    return 1;
}

int locality_update(Call *call, const Problem *problem, const Model *model, double radius, int hops,
                    Locality *locality) {
    ArenaPiece *mark = arena_mark(&call->arena);
    Growth growth = {call, problem, model, locality, radius, hops, NULL, NULL, NULL};
    const int ready = list_members(call, problem, model, &growth);
    if (ready) {
        memset(locality->candidates, 0, (size_t)problem->vertices * (size_t)locality->bytes);
        parallel_run(call->pool, (model->bones + BITS - 1) / BITS, grow_regions, &growth);
        fill_gaps(&growth);
    }
    arena_return(&call->arena, mark);
    return ready;
}

/* 1 when the bone's weight on the vertex stays, wherever that is. */
static int is_held(const Problem *problem, const Model *model, int v, int b) {
    return (problem->held && problem->held[v]) || model->held_group[b];
}

static int strip_strays(const Growth *growth, int b, double threshold) {
    Region *region = growth->locality->regions;
    int begin, end, stripped = 0;
    const int all = find_parts(growth, region, b, threshold, &begin, &end);
    for (int i = 0; i < all; i++) {
        const int v = region->queue[i];
        if ((i < begin || i >= end) && !is_held(growth->problem, growth->model, v, b)) {
            forbid(growth, v, b);
            stripped++;
        }
    }
    return stripped;
}

/* One bit for each bone whose weights can have changed since the last strip; `again` as below. */
static void find_changed(const Problem *problem, const Locality *locality, int again, uint8_t *changed) {
    const size_t bytes = (size_t)locality->bytes;
    memset(changed, again ? 0 : 0xff, bytes);
    for (size_t i = 0; i < bytes; i++) {
        changed[i] |= locality->lost[i];
    }
    for (int v = 0; v < problem->vertices && again; v++) {
        for (size_t i = 0; i < bytes && locality->touched[v / BLOCK]; i++) {
            changed[i] |= locality->candidates[(size_t)v * bytes + i];
        }
    }
}

int locality_strip(Call *call, const Problem *problem, const Model *model, int again, Locality *locality) {
    ArenaPiece *mark = arena_mark(&call->arena);
    Growth growth = {call, problem, model, locality, 0, 0, NULL, NULL, NULL};
    uint8_t changed[OSSIFY_MAX_BONES / BITS];
    int stripped = -1;
    find_changed(problem, locality, again, changed);
    memset(locality->touched, 0, (size_t)problem->blocks);
    memset(locality->lost, 0, (size_t)locality->bytes);
    if (list_members(call, problem, model, &growth)) {
        stripped = 0;
        for (int b = 0; b < model->bones && !call_poll(call, -1); b++) {
            if (!(changed[b / BITS] >> (b % BITS) & 1)) {
                continue;
            }
            spread_weights(&growth, locality->regions, b);
            stripped += strip_strays(&growth, b, JOINS) + strip_strays(&growth, b, REGION_WEIGHT);
            wipe_weights(&growth, locality->regions, b);
        }
        fill_gaps(&growth);
    }
    arena_return(&call->arena, mark);
    return stripped;
}

int locality_strip_faint(const Problem *problem, const Model *model, Locality *locality) {
    const Growth growth = {.problem = problem, .model = model, .locality = locality};
    int stripped = 0;
    memset(locality->touched, 0, (size_t)problem->blocks);
    memset(locality->lost, 0, (size_t)locality->bytes);
    for (int v = 0; v < problem->vertices; v++) {
        const size_t at = (size_t)v * (size_t)model->influences;
        for (int k = 0; k < model->influences; k++) {
            const int b = model->bone[at + (size_t)k];
            if (b >= 0 && model->weight[at + (size_t)k] > 0 && model->weight[at + (size_t)k] < FAINT &&
                !is_held(problem, model, v, b)) {
                forbid(&growth, v, b);
                stripped++;
            }
        }
    }
    return stripped;
}
