/* face_cluster.c - the first bones by collapsing edges between clusters (Schaefer & Yuksel 2007, 3.2).
 *
 * Every vertex begins as a cluster: its star, that is itself and its neighbours in the graph, each of
 * which spreads its mass evenly over the stars it is part of. An edge of the graph costs what its two
 * clusters, united, cannot follow by one rigid motion a frame,
 *
 *     key(a, b) = E(a + b)                                  (rigid_error.c; the paper's sort key)
 *
 * and the cheapest edge is collapsed, again and again. Since E(a + b + c) >= E(a + b), a key that is out
 * of date is a lower bound: edges of a new cluster are only marked, and worked out again when they come
 * up as the cheapest (the paper's dirty edges).
 *
 * Deviations: clusters of vertices along the problem's graph, not of faces across edges, so that meshes
 * without faces, several shells (the graph ties them) and samples with a mass a vertex are served alike; a
 * star has a rotation as a face has one. Unions within rounding cost nothing, and the lightest of them comes
 * first, which keeps clusters of a rigid part of like size and the number of evaluations low. Lloyd's
 * rounds (optional in the paper) follow in cluster.c, where every vertex, no longer its star, takes the
 * bone that moves it best. */
#include "starts/face_cluster.h"

#include <math.h>
#include <string.h>

#include "core/tolerances.h"
#include "starts/cluster.h"

enum { EDGES_A_TASK = 32, FRAMES_A_POLL = 4096 };

typedef struct Edge {
    int a, b;       /* clusters as they were at first */
    double key;     /* squared error of the union when it was last worked out */
    double mass;    /* of the union, then */
    int version[2]; /* of the two clusters, then; -1: the edge is gone */
} Edge;

typedef struct Collapse {
    Call *call;
    RigidErrors *errors;
    double tolerance;
    Edge *edge;
    int *heap; /* edges, cheapest first */
    int heap_count;
    int *parent;       /* [cluster] towards the one it was merged into */
    int *version;      /* [cluster] the merge that it came from */
    int *first, *last; /* [cluster] its list of edge ends; 2e and 2e + 1 are those of edge e */
    int *next;         /* [edge end] or -1 */
    int *seen;         /* [cluster] the merge that met it last */
    int clusters, merges;
    int64_t evaluated;
} Collapse;

static int root_of(Collapse *collapse, int cluster) {
    int *parent = collapse->parent;
    while (parent[cluster] != cluster) {
        parent[cluster] = parent[parent[cluster]];
        cluster = parent[cluster];
    }
    return cluster;
}

static void work_out(const Collapse *collapse, Edge *edge, int a, int b) {
    const RigidErrors *errors = collapse->errors;
    const double error = rigid_error(errors, a, b);
    edge->mass = rigid_error_mass(errors, a) + rigid_error_mass(errors, b);
    edge->key = error <= FLOAT_NOISE * errors->frames * edge->mass ? 0 : error;
    edge->version[0] = collapse->version[a];
    edge->version[1] = collapse->version[b];
}

/* ---- the heap */

static int comes_before(const Collapse *collapse, int e, int g) {
    const Edge *x = collapse->edge + e, *y = collapse->edge + g;
    if (x->key != y->key) {
        return x->key < y->key;
    }
    return x->mass != y->mass ? x->mass < y->mass : e < g;
}

static void sink(Collapse *collapse, int at) {
    const int e = collapse->heap[at];
    for (int child = 2 * at + 1; child < collapse->heap_count; child = 2 * at + 1) {
        if (child + 1 < collapse->heap_count &&
            comes_before(collapse, collapse->heap[child + 1], collapse->heap[child])) {
            child++;
        }
        if (!comes_before(collapse, collapse->heap[child], e)) {
            break;
        }
        collapse->heap[at] = collapse->heap[child];
        at = child;
    }
    collapse->heap[at] = e;
}

static void drop_cheapest(Collapse *collapse) {
    collapse->heap[0] = collapse->heap[--collapse->heap_count];
    if (collapse->heap_count > 0) {
        sink(collapse, 0);
    }
}

/* ---- the steps */

static void work_out_some(void *user, int task, int worker) {
    Collapse *collapse = user;
    const int begin = task * EDGES_A_TASK, end = begin + EDGES_A_TASK;
    for (int e = begin; e < end && e < collapse->heap_count && !collapse->call->cancelled; e++) {
        work_out(collapse, collapse->edge + e, collapse->edge[e].a, collapse->edge[e].b);
        if (worker == 0) {
            call_poll(collapse->call, -1);
        }
    }
}

static void append_end(Collapse *collapse, int cluster, int end) {
    collapse->next[end] = -1;
    if (collapse->first[cluster] < 0) {
        collapse->first[cluster] = end;
    } else {
        collapse->next[collapse->last[cluster]] = end;
    }
    collapse->last[cluster] = end;
}

static int begin(Collapse *collapse, const Graph *graph) {
    Arena *arena = &collapse->call->arena;
    const size_t n = (size_t)graph->vertices, edges = (size_t)graph->first[graph->vertices] / 2;
    collapse->edge = arena_take(arena, edges, sizeof(Edge));
    collapse->heap = arena_take(arena, edges, sizeof(int));
    collapse->next = arena_take(arena, 2 * edges, sizeof(int));
    collapse->parent = arena_take(arena, n, sizeof(int));
    collapse->version = arena_take(arena, n, sizeof(int));
    collapse->first = arena_take(arena, n, sizeof(int));
    collapse->last = arena_take(arena, n, sizeof(int));
    collapse->seen = arena_take(arena, n, sizeof(int));
    if (arena->failed) {
        return 0;
    }
    collapse->clusters = graph->vertices;
    for (int v = 0; v < graph->vertices; v++) {
        collapse->parent[v] = v;
        collapse->first[v] = -1;
    }
    for (int v = 0; v < graph->vertices; v++) {
        for (int64_t i = graph->first[v]; i < graph->first[v + 1]; i++) {
            if (v < graph->neighbour[i]) {
                const int e = collapse->heap_count++;
                collapse->edge[e] = (Edge){.a = v, .b = graph->neighbour[i]};
                collapse->heap[e] = e;
                append_end(collapse, v, 2 * e);
                append_end(collapse, graph->neighbour[i], 2 * e + 1);
            }
        }
    }
    parallel_run(collapse->call->pool, (collapse->heap_count + EDGES_A_TASK - 1) / EDGES_A_TASK,
                 work_out_some, collapse);
    for (int at = collapse->heap_count / 2 - 1; at >= 0; at--) {
        sink(collapse, at);
    }
    return !atomic_load(&collapse->call->cancelled);
}

/* Of several edges to the same neighbour one is enough. */
static void drop_doubles(Collapse *collapse, int cluster) {
    int end = collapse->first[cluster];
    collapse->first[cluster] = -1;
    collapse->seen[cluster] = collapse->merges;
    while (end >= 0) {
        const int following = collapse->next[end];
        Edge *edge = collapse->edge + end / 2;
        if (edge->version[0] >= 0) {
            const int other = root_of(collapse, end % 2 ? edge->a : edge->b);
            if (collapse->seen[other] == collapse->merges) {
                edge->version[0] = -1;
            } else {
                collapse->seen[other] = collapse->merges;
                append_end(collapse, cluster, end);
            }
        }
        end = following;
    }
}

static void unite(Collapse *collapse, int a, int b) {
    const int into = a < b ? a : b, from = a < b ? b : a;
    rigid_error_merge(collapse->errors, into, from);
    collapse->parent[from] = into;
    collapse->version[into] = ++collapse->merges;
    collapse->clusters--;
    if (collapse->first[from] >= 0) {
        collapse->next[collapse->last[into]] = collapse->first[from];
        collapse->last[into] = collapse->last[from];
    }
    drop_doubles(collapse, into);
}

/* Takes the cheapest edge: gone, to be worked out again, or collapsed. Returns 0 when none is worth it. */
static int step(Collapse *collapse, int most) {
    Edge *edge = collapse->edge + collapse->heap[0];
    if (edge->version[0] < 0) {
        drop_cheapest(collapse);
        return 1;
    }
    const int a = root_of(collapse, edge->a), b = root_of(collapse, edge->b);
    if (edge->version[0] != collapse->version[a] || edge->version[1] != collapse->version[b]) {
        work_out(collapse, edge, a, b);
        collapse->evaluated += collapse->errors->frames;
        sink(collapse, 0);
        return 1;
    }
    if (collapse->clusters <= most &&
        edge->key > collapse->tolerance * collapse->errors->frames * edge->mass) {
        return 0;
    }
    drop_cheapest(collapse);
    edge->version[0] = -1;
    unite(collapse, a, b);
    return 1;
}

static void number_clusters(Collapse *collapse, int n, int *label) {
    int count = 0;
    for (int v = 0; v < n; v++) { /* a root is the lowest of its cluster */
        const int root = root_of(collapse, v);
        label[v] = root == v ? count++ : label[root];
    }
}

int face_cluster_collapse(Call *call, const Graph *graph, RigidErrors *errors, int most, double tolerance,
                          int *label) {
    ArenaPiece *mark = arena_mark(&call->arena);
    Collapse collapse = {.call = call, .errors = errors, .tolerance = fmax(tolerance, FLOAT_NOISE)};
    int going = begin(&collapse, graph);
    int64_t polled = 0;
    while (going && collapse.heap_count > 0 && step(&collapse, most)) {
        if (collapse.evaluated - polled > FRAMES_A_POLL) {
            polled = collapse.evaluated;
            going = !call_poll(call, -1);
        }
    }
    if (going) {
        number_clusters(&collapse, graph->vertices, label);
    }
    arena_return(&call->arena, mark);
    return going ? collapse.clusters : -1;
}

/* ---- the clusters at first */

typedef struct Stars {
    Call *call;
    const Problem *problem;
    RigidErrors *errors;
    double *x; /* [worker][3F] */
} Stars;

static double share_of(const Problem *problem, int v) {
    const Graph *graph = &problem->graph;
    return problem->mass[v] / (double)(graph->first[v + 1] - graph->first[v] + 1);
}

static void gather_stars(void *user, int block, int worker) {
    const Stars *stars = user;
    const Problem *problem = stars->problem;
    const Graph *graph = &problem->graph;
    double *x = stars->x + 3 * (size_t)worker * (size_t)problem->frames;
    const int end = (block + 1) * BLOCK < problem->vertices ? (block + 1) * BLOCK : problem->vertices;
    for (int v = block * BLOCK; v < end && !stars->call->cancelled; v++) {
        for (int64_t i = graph->first[v] - 1; i < graph->first[v + 1]; i++) {
            const int w = i < graph->first[v] ? v : graph->neighbour[i];
            problem_read(problem, w, x);
            rigid_error_add(stars->errors, v, share_of(problem, w), problem->rest + 3 * (size_t)w, x);
        }
        rigid_error_fit(stars->errors, v);
        if (worker == 0) {
            call_poll(stars->call, -1);
        }
    }
}

int face_cluster(Call *call, const Problem *problem, int bones, Model *model) {
    ArenaPiece *mark = arena_mark(&call->arena);
    RigidErrors errors;
    Stars stars = {call, problem, &errors, NULL};
    int clusters = -1;
    int *label = arena_take(&call->arena, (size_t)problem->vertices, sizeof *label);
    stars.x = arena_take(&call->arena, 3 * (size_t)problem->frames * (size_t)parallel_workers(call->pool),
                         sizeof(double));
    if (rigid_error_make(call, problem->vertices, problem->frames, &errors)) {
        parallel_run(call->pool, problem->blocks, gather_stars, &stars);
        clusters = face_cluster_collapse(call, &problem->graph, &errors, bones,
                                         cluster_tolerance(call, problem), label);
    }
    const int done = clusters > 0 && cluster_from(call, problem, label, clusters, bones, model);
    arena_return(&call->arena, mark);
    return done;
}
