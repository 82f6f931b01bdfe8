/* test_graph.c - nearest points, the surface's graph and walks along it, against plain searches. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "math/tree.h"
#include "math/walk.h"
#include "probe.h"
#include "test.h"

enum { MOST = 300 };

/* Kind 0: anywhere; 1: on a lattice, with many ties; 2: all at one place; 3: on a line. */
static void make_points(int kind, int n, double *points) {
    uint64_t random = 17;
    for (int i = 0; i < 3 * n; i++) {
        double x = 2 * random_unit(&random) - 1;
        points[i] = kind == 0 ? x : kind == 1 ? rint(3 * x) : kind == 2 ? 0.5 : i / 3 * (i % 3 == 0);
    }
}

static double square_between(const double *points, int a, int b) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += (points[3 * a + i] - points[3 * b + i]) * (points[3 * a + i] - points[3 * b + i]);
    }
    return sum;
}

/* Nearest to v among those of another label (or all others), ties to the lower number, not `before`. */
static int plain_nearest(const double *points, int n, int v, const int *label, int before, double beyond) {
    int best = -1;
    for (int u = 0; u < n; u++) {
        double square = square_between(points, v, u);
        if (u == v || (label && label[u] == label[v]) || square < beyond ||
            (square == beyond && u <= before)) {
            continue;
        }
        if (best < 0 || square < square_between(points, v, best)) {
            best = u;
        }
    }
    return best;
}

TEST(nearest_points_are_those_of_a_plain_search) {
    static const int counts[] = {1, 2, 8, 9, 33, MOST};
    double points[3 * MOST];
    for (int kind = 0; kind < 4; kind++) {
        for (int c = 0; c < 6; c++) {
            int n = counts[c];
            Arena arena;
            Tree tree;
            arena_start(&arena, NULL);
            make_points(kind, n, points);
            CHECK(tree_make(&arena, n, points, &tree));
            for (int v = 0; v < n && !test_failed(); v++) {
                int near[5], found = tree_nearest(&tree, v, 5, near, (double[5]){0});
                double beyond = -1;
                test_case("kind %d, %d points, point %d", kind, n, v);
                CHECK_INT(found, n - 1 < 5 ? n - 1 : 5);
                for (int i = 0; i < found; i++) {
                    CHECK_INT(near[i], plain_nearest(points, n, v, NULL, i > 0 ? near[i - 1] : -1, beyond));
                    beyond = square_between(points, v, near[i]);
                }
            }
            arena_end(&arena);
        }
    }
}

TEST(nearest_of_another_label_is_that_of_a_plain_search) {
    double points[3 * MOST], square;
    int label[MOST];
    for (int kind = 0; kind < 4; kind++) {
        Arena arena;
        Tree tree;
        arena_start(&arena, NULL);
        make_points(kind, MOST, points);
        CHECK(tree_make(&arena, MOST, points, &tree));
        for (int v = 0; v < MOST; v++) {
            label[v] = points[3 * v] > 0.3 ? v % 3 : 7;
        }
        tree_label(&tree, label);
        for (int v = 0; v < MOST && !test_failed(); v++) {
            int found = tree_nearest_other(&tree, label, v, &square);
            test_case("kind %d, point %d", kind, v);
            CHECK_INT(found, plain_nearest(points, MOST, v, label, -1, -1));
            CHECK(found < 0 || square == square_between(points, v, found));
        }
        arena_end(&arena);
    }
}

/* ---- graphs */

typedef struct Lattice {
    int vertices;
    int64_t triangles;
    double points[3 * MOST];
    int32_t triangle[6 * MOST];
    int same[MOST]; /* renumbering that changes nothing */
} Lattice;

/* `shells` sheets of side x side vertices, one above the other, and some vertices without a face. */
static Lattice *make_lattice(int side, int shells, int loose, int faces) {
    Lattice *l = calloc(1, sizeof *l);
    for (int s = 0; s < shells; s++) {
        for (int i = 0; i < side * side; i++) {
            int v = l->vertices++;
            l->points[3 * v] = i / side, l->points[3 * v + 1] = i % side, l->points[3 * v + 2] = 10.0 * s;
            if (faces && i / side + 1 < side && i % side + 1 < side) {
                int32_t quad[6] = {v, v + 1, v + side, v + 1, v + side + 1, v + side};
                for (int k = 0; k < 6; k++) {
                    l->triangle[3 * l->triangles + k] = quad[k];
                }
                l->triangles += 2;
            }
        }
    }
    for (int i = 0; i < loose; i++) {
        int v = l->vertices++;
        l->points[3 * v] = -50.0 * (i + 1);
    }
    for (int v = 0; v < l->vertices; v++) {
        l->same[v] = v;
    }
    return l;
}

static int has_edge(const Graph *graph, int a, int b) {
    int found = 0;
    for (int64_t e = graph->first[a]; e < graph->first[a + 1]; e++) {
        found += graph->neighbour[e] == b;
    }
    return found;
}

static int reachable(const Graph *graph) {
    int *queue = calloc((size_t)graph->vertices, sizeof *queue), count = 1;
    uint8_t *seen = calloc((size_t)graph->vertices, 1);
    seen[0] = 1;
    for (int head = 0; head < count; head++) {
        for (int64_t e = graph->first[queue[head]]; e < graph->first[queue[head] + 1]; e++) {
            if (!seen[graph->neighbour[e]]) {
                seen[graph->neighbour[e]] = 1;
                queue[count++] = graph->neighbour[e];
            }
        }
    }
    free(queue);
    free(seen);
    return count;
}

static void check_graph(const Graph *graph, int vertices, const double *points) {
    CHECK_INT(graph->vertices, vertices);
    CHECK_INT(graph->first[0], 0);
    CHECK_INT(reachable(graph), vertices);
    for (int v = 0; v < vertices && !test_failed(); v++) {
        for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            int u = graph->neighbour[e];
            CHECK(u >= 0 && u < vertices && u != v);
            CHECK_INT(has_edge(graph, v, u), 1);
            CHECK_INT(has_edge(graph, u, v), 1);
            CHECK_NEAR(graph->length[e], sqrt(square_between(points, u, v)), 1e-6 * graph->length[e]);
        }
    }
}

static Graph graph_of(Workshop *w, const Lattice *l) {
    Graph graph;
    CHECK(graph_of_surface(&w->call.arena, w->call.pool, NULL, l->vertices, l->points, l->triangles,
                           l->triangle, l->same, &graph));
    return graph;
}

TEST(graph_of_one_shell_has_the_edges_of_its_faces) {
    Workshop w;
    Lattice *l = make_lattice(6, 1, 0, 1);
    Graph graph;
    workshop_open(&w, plain_settings(1));
    graph = graph_of(&w, l);
    check_graph(&graph, 36, l->points);
    CHECK_INT(graph.first[36], 2 * (2 * 6 * 5 + 5 * 5)); /* rows, columns, diagonals; both ways */
    CHECK_INT(has_edge(&graph, 0, 1) + has_edge(&graph, 0, 6) + has_edge(&graph, 1, 6), 3);
    CHECK_INT(has_edge(&graph, 0, 7), 0);
    workshop_close(&w);
    free(l);
}

TEST(graph_joins_shells_and_loose_vertices) {
    for (int faces = 0; faces < 2; faces++) {
        for (int shells = 1; shells <= 3; shells++) {
            for (int loose = 0; loose <= 9; loose += 3) {
                Workshop w;
                Lattice *l = make_lattice(5, shells, loose, faces);
                Graph graph;
                test_case("%d faces, %d shells, %d loose", (int)l->triangles, shells, loose);
                workshop_open(&w, plain_settings(1));
                graph = graph_of(&w, l);
                check_graph(&graph, l->vertices, l->points);
                for (int64_t i = 0; i < 3 * l->triangles; i++) {
                    CHECK_INT(has_edge(&graph, l->triangle[i], l->triangle[i % 3 == 2 ? i - 2 : i + 1]), 1);
                }
                workshop_close(&w);
                free(l);
            }
        }
    }
}

TEST(graph_ties_shells_at_their_closest_vertices) {
    Workshop w;
    Lattice *l = make_lattice(4, 2, 0, 1);
    Graph graph;
    int ties = 0;
    l->points[3 * 5 + 2] = 9.5; /* the first sheet has a spike just below vertex 5 of the second */
    workshop_open(&w, plain_settings(1));
    graph = graph_of(&w, l);
    for (int v = 0; v < 16; v++) {
        for (int u = 16; u < 32; u++) {
            ties += has_edge(&graph, v, u);
        }
    }
    CHECK(ties > 0);
    CHECK_INT(has_edge(&graph, 5, 16 + 5), 1);
    workshop_close(&w);
    free(l);
}

TEST(graph_of_coincident_vertices_is_connected) {
    Workshop w;
    Lattice *l = make_lattice(6, 1, 0, 0);
    Graph graph;
    for (int i = 0; i < 3 * l->vertices; i++) {
        l->points[i] = 1;
    }
    workshop_open(&w, plain_settings(1));
    graph = graph_of(&w, l);
    check_graph(&graph, l->vertices, l->points);
    workshop_close(&w);
    free(l);
}

TEST(graph_of_faces_without_area_has_no_loops) {
    Workshop w;
    Lattice *l = make_lattice(2, 1, 0, 0);
    Graph graph;
    const int32_t odd[] = {0, 0, 0, 0, 1, 1, 0, 1, 2, 2, 1, 0, 3, 2, 3};
    for (int i = 0; i < 15; i++) {
        l->triangle[i] = odd[i];
    }
    l->triangles = 5;
    workshop_open(&w, plain_settings(1));
    graph = graph_of(&w, l);
    check_graph(&graph, 4, l->points);
    CHECK_INT(graph.first[4], 2 * 4); /* 01 12 02 23 */
    workshop_close(&w);
    free(l);
}

TEST(graph_of_one_vertex_has_no_edge) {
    Workshop w;
    Lattice *l = make_lattice(1, 1, 0, 0);
    Graph graph;
    workshop_open(&w, plain_settings(1));
    graph = graph_of(&w, l);
    check_graph(&graph, 1, l->points);
    workshop_close(&w);
    free(l);
}

TEST(graph_follows_the_renumbering) {
    Workshop w;
    Lattice *l = make_lattice(5, 1, 0, 1);
    Graph plain, turned;
    double points[3 * MOST];
    workshop_open(&w, plain_settings(1));
    plain = graph_of(&w, l);
    for (int v = 0; v < 25; v++) {
        l->same[v] = 24 - v;
        for (int a = 0; a < 3; a++) {
            points[3 * (24 - v) + a] = l->points[3 * v + a];
        }
    }
    CHECK(graph_of_surface(&w.call.arena, w.call.pool, NULL, 25, points, l->triangles, l->triangle, l->same,
                           &turned));
    for (int a = 0; a < 25; a++) {
        for (int b = 0; b < 25; b++) {
            CHECK_INT(has_edge(&turned, 24 - a, 24 - b), has_edge(&plain, a, b));
        }
    }
    workshop_close(&w);
    free(l);
}

TEST(graph_of_cells_joins_cells_that_touch) {
    Workshop w;
    Lattice *l = make_lattice(6, 1, 0, 1);
    Graph graph, coarse;
    int cell[36];
    const double points[9] = {0, 0, 0, 3, 0, 0, 5, 0, 0};
    workshop_open(&w, plain_settings(1));
    graph = graph_of(&w, l);
    for (int v = 0; v < 36; v++) { /* three strips: the outer two do not touch */
        cell[v] = v / 12;
    }
    CHECK(graph_of_cells(&w.call.arena, &graph, 3, cell, points, &coarse));
    check_graph(&coarse, 3, points);
    CHECK_INT(has_edge(&coarse, 0, 1) + has_edge(&coarse, 1, 2), 2);
    CHECK_INT(has_edge(&coarse, 0, 2), 0);
    workshop_close(&w);
    free(l);
}

/* ---- walks */

/* Distances by relaxing every edge until nothing changes (Bellman and Ford). */
static void plain_distances(const Graph *graph, int sources, const int *source, double *far) {
    int changed = 1;
    for (int v = 0; v < graph->vertices; v++) {
        far[v] = INFINITY;
    }
    for (int i = 0; i < sources; i++) {
        far[source[i]] = 0;
    }
    while (changed) {
        changed = 0;
        for (int v = 0; v < graph->vertices; v++) {
            for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
                if (far[v] + (double)graph->length[e] < far[graph->neighbour[e]]) {
                    far[graph->neighbour[e]] = far[v] + (double)graph->length[e];
                    changed = 1;
                }
            }
        }
    }
}

TEST(walks_find_the_shortest_ways) {
    static const int source[3] = {3, 40, 77};
    Workshop w;
    Lattice *l = make_lattice(9, 2, 3, 1);
    Graph graph;
    Walk walk;
    uint64_t random = 5;
    for (int i = 0; i < 3 * 162; i++) {
        l->points[i] += 0.4 * random_unit(&random);
    }
    workshop_open(&w, plain_settings(1));
    graph = graph_of(&w, l);
    CHECK(walk_make(&w.call.arena, &graph, &walk));
    for (int sources = 1; sources <= 3; sources++) { /* the same walk again and again */
        double far[MOST], last = 0;
        test_case("%d sources", sources);
        plain_distances(&graph, sources, source, far);
        walk_begin(&walk);
        for (int i = 0; i < sources; i++) {
            walk_source(&walk, source[i]);
        }
        walk_source(&walk, source[0]); /* twice is once */
        walk_run(&walk, &graph, l->vertices, INFINITY);
        CHECK_INT(walk.reached_count, l->vertices);
        for (int i = 0; i < walk.reached_count; i++) {
            int v = walk.reached[i], from = walk.from[v];
            double direct[MOST];
            CHECK_NEAR(walk.far[v], far[v], 1e-9);
            CHECK(walk.far[v] >= last);
            last = walk.far[v];
            CHECK(from == source[0] || (sources > 1 && from == source[1]) ||
                  (sources > 2 && from == source[2]));
            if (i % 16 == 0) {
                plain_distances(&graph, 1, &from, direct);
                CHECK_NEAR(direct[v], far[v], 1e-9);
            }
        }
    }
    workshop_close(&w);
    free(l);
}

TEST(walks_stop_at_their_limits) {
    Workshop w;
    Lattice *l = make_lattice(9, 1, 0, 1);
    Graph graph;
    Walk walk;
    int within = 0;
    double far[MOST];
    const int source = 40;
    workshop_open(&w, plain_settings(1));
    graph = graph_of(&w, l);
    CHECK(walk_make(&w.call.arena, &graph, &walk));
    plain_distances(&graph, 1, &source, far);
    for (int v = 0; v < 81; v++) {
        within += far[v] <= 2.5;
    }
    walk_begin(&walk);
    walk_source(&walk, source);
    walk_run(&walk, &graph, 81, 2.5);
    CHECK_INT(walk.reached_count, within);
    walk_begin(&walk);
    walk_source(&walk, source);
    walk_run(&walk, &graph, 10, INFINITY);
    CHECK_INT(walk.reached_count, 10);
    CHECK_INT(walk.reached[0], source);
    walk_begin(&walk);
    walk_run(&walk, &graph, 10, INFINITY); /* from nowhere */
    CHECK_INT(walk.reached_count, 0);
    workshop_close(&w);
    free(l);
}
