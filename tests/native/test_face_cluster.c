/* test_face_cluster.c - Rigid Error Functions and the collapse of edges by them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "probe.h"
#include "starts/cluster.h"
#include "starts/face_cluster.h"
#include "synthetic.h"
#include "test.h"

enum { POINTS = 12, FRAMES = 3 };

typedef struct Cloud {
    double mass[POINTS], p[POINTS][3], x[POINTS][3 * FRAMES];
} Cloud;

/* Points that turn and shift rigidly, by a quaternion a frame, and then are shaken. */
static Cloud cloud_of(uint64_t seed, double shaken) {
    Cloud cloud;
    for (int i = 0; i < POINTS; i++) {
        cloud.mass[i] = 0.5 + random_unit(&seed);
        for (int a = 0; a < 3; a++) {
            cloud.p[i][a] = 2 * random_unit(&seed) - 1;
        }
    }
    for (int f = 0; f < FRAMES; f++) {
        double q[4], t[3], length = 0;
        for (int i = 0; i < 4; i++) {
            q[i] = 2 * random_unit(&seed) - 1;
            length += q[i] * q[i];
        }
        for (int i = 0; i < 4; i++) {
            q[i] /= sqrt(length);
        }
        for (int i = 0; i < 3; i++) {
            t[i] = random_unit(&seed);
        }
        for (int i = 0; i < POINTS; i++) {
            const double *p = cloud.p[i], *u = q + 1; /* p + 2 w u x p + 2 u x (u x p) */
            const double c[3] = {u[1] * p[2] - u[2] * p[1], u[2] * p[0] - u[0] * p[2],
                                 u[0] * p[1] - u[1] * p[0]};
            const double d[3] = {u[1] * c[2] - u[2] * c[1], u[2] * c[0] - u[0] * c[2],
                                 u[0] * c[1] - u[1] * c[0]};
            for (int a = 0; a < 3; a++) {
                cloud.x[i][3 * f + a] =
                    p[a] + 2 * q[0] * c[a] + 2 * d[a] + t[a] + shaken * (2 * random_unit(&seed) - 1);
            }
        }
    }
    return cloud;
}

static void add_cloud(RigidErrors *errors, int cluster, const Cloud *cloud, int from, int to) {
    for (int i = from; i < to; i++) {
        rigid_error_add(errors, cluster, cloud->mass[i], cloud->p[i], cloud->x[i]);
    }
    rigid_error_fit(errors, cluster);
}

/* ---- the same error, found by walking downhill over turns and shifts instead of from sums */

static double error_of_motion(const Cloud *cloud, int f, const double q[4], const double t[3]) {
    double sum = 0, length = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    for (int i = 0; i < POINTS; i++) {
        const double *p = cloud->p[i], *u = q + 1;
        const double c[3] = {u[1] * p[2] - u[2] * p[1], u[2] * p[0] - u[0] * p[2], u[0] * p[1] - u[1] * p[0]};
        const double d[3] = {u[1] * c[2] - u[2] * c[1], u[2] * c[0] - u[0] * c[2], u[0] * c[1] - u[1] * c[0]};
        for (int a = 0; a < 3; a++) {
            const double y = p[a] + 2 * (q[0] * c[a] + d[a]) / length + t[a];
            sum += cloud->mass[i] * (y - cloud->x[i][3 * f + a]) * (y - cloud->x[i][3 * f + a]);
        }
    }
    return sum;
}

/* Along one coordinate after another, in ever smaller steps, from several first turns. */
static double least_error_of_frame(const Cloud *cloud, int f) {
    double least = INFINITY;
    for (int first = 0; first < 4; first++) {
        double z[7] = {first == 0, first == 1, first == 2, first == 3, 0, 0, 0};
        double now = error_of_motion(cloud, f, z, z + 4);
        for (double step = 0.5; step > 1e-9;) {
            int better = 0;
            for (int i = 0; i < 14; i++) {
                const double old = z[i / 2];
                z[i / 2] += i % 2 ? step : -step;
                const double next = error_of_motion(cloud, f, z, z + 4);
                if (next < now) {
                    now = next;
                    better = 1;
                } else {
                    z[i / 2] = old;
                }
            }
            step *= better ? 1 : 0.5;
        }
        least = fmin(least, now);
    }
    return least;
}

TEST(the_error_of_points_that_move_rigidly_is_zero) {
    for (int seed = 0; seed < 20; seed++) {
        const Cloud cloud = cloud_of((uint64_t)seed, 0);
        Workshop workshop;
        RigidErrors errors;
        workshop_open(&workshop, plain_settings(1));
        CHECK(rigid_error_make(&workshop.call, 2, FRAMES, &errors));
        add_cloud(&errors, 0, &cloud, 0, POINTS / 2);
        add_cloud(&errors, 1, &cloud, POINTS / 2, POINTS);
        test_case("seed %d", seed);
        CHECK_NEAR(rigid_error(&errors, 0, -1), 0, 1e-12);
        CHECK_NEAR(rigid_error(&errors, 0, 1), 0, 1e-12);
        rigid_error_merge(&errors, 0, 1);
        CHECK_NEAR(rigid_error(&errors, 0, -1), 0, 1e-12);
        workshop_close(&workshop);
    }
}

TEST(the_error_is_that_of_the_best_rigid_motion) {
    for (int seed = 0; seed < 6; seed++) {
        const Cloud cloud = cloud_of((uint64_t)seed, 0.3);
        double wanted = 0;
        Workshop workshop;
        RigidErrors errors;
        for (int f = 0; f < FRAMES; f++) {
            wanted += least_error_of_frame(&cloud, f);
        }
        workshop_open(&workshop, plain_settings(1));
        CHECK(rigid_error_make(&workshop.call, 3, FRAMES, &errors));
        add_cloud(&errors, 0, &cloud, 0, POINTS);
        add_cloud(&errors, 1, &cloud, 0, 5);
        add_cloud(&errors, 2, &cloud, 5, POINTS);
        test_case("seed %d", seed);
        CHECK_NEAR(rigid_error(&errors, 0, -1), wanted, 1e-6 * wanted);
        CHECK_NEAR(rigid_error(&errors, 1, 2), wanted, 1e-6 * wanted);
        CHECK(rigid_error(&errors, 1, 2) >=
              rigid_error(&errors, 1, -1) + rigid_error(&errors, 2, -1)); /* what the lazy queue rests on */
        rigid_error_merge(&errors, 2, 1);
        CHECK_NEAR(rigid_error(&errors, 2, -1), wanted, 1e-6 * wanted);
        CHECK_NEAR(rigid_error_mass(&errors, 2), rigid_error_mass(&errors, 0), 1e-12);
        workshop_close(&workshop);
    }
}

TEST(a_point_of_mass_three_counts_as_three_points) {
    Cloud cloud = cloud_of(7, 0.3);
    Workshop workshop;
    RigidErrors errors;
    workshop_open(&workshop, plain_settings(1));
    CHECK(rigid_error_make(&workshop.call, 2, FRAMES, &errors));
    for (int i = 0; i < POINTS; i++) {
        rigid_error_add(&errors, 0, i % 2 ? 3 : 1, cloud.p[i], cloud.x[i]);
        for (int times = 0; times < (i % 2 ? 3 : 1); times++) {
            rigid_error_add(&errors, 1, 1, cloud.p[i], cloud.x[i]);
        }
    }
    rigid_error_fit(&errors, 0);
    rigid_error_fit(&errors, 1);
    CHECK(rigid_error(&errors, 0, -1) > 0.1);
    CHECK_NEAR(rigid_error(&errors, 0, -1), rigid_error(&errors, 1, -1), 1e-11);
    workshop_close(&workshop);
}

TEST(a_cluster_of_nothing_has_no_error) {
    Workshop workshop;
    RigidErrors errors;
    workshop_open(&workshop, plain_settings(1));
    CHECK(rigid_error_make(&workshop.call, 2, FRAMES, &errors));
    rigid_error_fit(&errors, 0);
    CHECK_NEAR(rigid_error(&errors, 0, 1), 0, 0);
    workshop_close(&workshop);
}

/* ---- collapse: beads on a string, each a rigid cloud in a motion of its own or its neighbour's */

enum { BEADS = 6 };

typedef struct Beads {
    Workshop workshop;
    Graph graph;
    RigidErrors errors;
    Cloud cloud;
    int64_t first[BEADS + 1];
    int neighbour[2 * BEADS];
    int label[BEADS];
} Beads;

/* Bead i is seen where motion[i] times a small shift takes its point; two points a bead. */
static void beads_open(Beads *beads, const double motion[BEADS]) {
    memset(beads, 0, sizeof *beads);
    workshop_open(&beads->workshop, plain_settings(1));
    beads->cloud = cloud_of(1, 0);
    beads->graph = (Graph){BEADS, beads->first, beads->neighbour, NULL};
    CHECK(rigid_error_make(&beads->workshop.call, BEADS, FRAMES, &beads->errors));
    for (int i = 0, e = 0; i < BEADS; i++) {
        for (int j = 2 * i; j < 2 * i + 2; j++) {
            for (int k = 0; k < 3 * FRAMES; k++) {
                beads->cloud.x[j][k] += motion[i] * (1 + k % 2);
            }
            rigid_error_add(&beads->errors, i, 1, beads->cloud.p[j], beads->cloud.x[j]);
        }
        rigid_error_fit(&beads->errors, i);
        beads->first[i] = e;
        if (i > 0) {
            beads->neighbour[e++] = i - 1;
        }
        if (i + 1 < BEADS) {
            beads->neighbour[e++] = i + 1;
        }
        beads->first[i + 1] = e;
    }
}

TEST(a_collapse_to_a_count_joins_what_moves_alike) {
    const double motion[BEADS] = {0, 0, 1, 1, 3, 3.01};
    const int wanted[BEADS] = {0, 0, 1, 1, 2, 2};
    Beads beads;
    beads_open(&beads, motion);
    CHECK_INT(face_cluster_collapse(&beads.workshop.call, &beads.graph, &beads.errors, 3, 0, beads.label), 3);
    CHECK(memcmp(beads.label, wanted, sizeof wanted) == 0);
    workshop_close(&beads.workshop);
}

TEST(a_collapse_goes_below_the_count_where_it_costs_nothing) {
    const double motion[BEADS] = {0, 0, 0, 0, 3, 3};
    const int wanted[BEADS] = {0, 0, 0, 0, 1, 1};
    Beads beads;
    beads_open(&beads, motion);
    CHECK_INT(face_cluster_collapse(&beads.workshop.call, &beads.graph, &beads.errors, 5, 0, beads.label), 2);
    CHECK(memcmp(beads.label, wanted, sizeof wanted) == 0);
    workshop_close(&beads.workshop);
}

TEST(a_collapse_to_a_tolerance_stops_above_it) {
    const double motion[BEADS] = {0, 0.001, 1, 1.001, 3, 3.001};
    const int wanted[BEADS] = {0, 0, 1, 1, 2, 2};
    Beads beads;
    beads_open(&beads, motion);
    CHECK_INT(
        face_cluster_collapse(&beads.workshop.call, &beads.graph, &beads.errors, BEADS, 1e-4, beads.label),
        3);
    CHECK(memcmp(beads.label, wanted, sizeof wanted) == 0);
    workshop_close(&beads.workshop);
    beads_open(&beads, motion);
    CHECK_INT(face_cluster_collapse(&beads.workshop.call, &beads.graph, &beads.errors, BEADS, 0, beads.label),
              BEADS);
    workshop_close(&beads.workshop);
    beads_open(&beads, motion);
    CHECK_INT(
        face_cluster_collapse(&beads.workshop.call, &beads.graph, &beads.errors, BEADS, 100, beads.label), 1);
    workshop_close(&beads.workshop);
}

/* Without a lazy queue: all unions of neighbours worked out anew before every merge. */
static int plain_collapse(const Graph *graph, RigidErrors *errors, int most, int *root) {
    int clusters = graph->vertices;
    for (int v = 0; v < graph->vertices; v++) {
        root[v] = v;
    }
    while (clusters > most) {
        double least = INFINITY;
        int a = -1, b = -1;
        for (int v = 0; v < graph->vertices; v++) {
            for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
                const int one = root[v], two = root[graph->neighbour[e]];
                const double error = one < two ? rigid_error(errors, one, two) : INFINITY;
                if (error < least) {
                    least = error;
                    a = one;
                    b = two;
                }
            }
        }
        rigid_error_merge(errors, a, b);
        for (int v = 0; v < graph->vertices; v++) {
            root[v] = root[v] == b ? a : root[v];
        }
        clusters--;
    }
    return clusters;
}

TEST(the_lazy_queue_merges_as_the_plain_rule_does) {
    for (int seed = 0; seed < 4; seed++) {
        SyntheticOptions options = {
            .vertices = 80, .frames = 4, .bones = 6, .influences = 4, .noise = 0.05, .seed = (uint64_t)seed};
        Synthetic s = synthetic_make(options);
        RigidErrors errors[2];
        double x[12];
        int label[200], root[200];
        Stage stage;
        stage_open(&stage, &s.poses, &s.truth, plain_settings(6));
        for (int i = 0; i < 2; i++) {
            CHECK(rigid_error_make(&stage.workshop.call, stage.problem.vertices, 4, &errors[i]));
            for (int v = 0; v < stage.problem.vertices; v++) {
                problem_read(&stage.problem, v, x);
                rigid_error_add(&errors[i], v, 1, stage.problem.rest + 3 * v, x);
                rigid_error_fit(&errors[i], v);
            }
        }
        test_case("seed %d", seed);
        CHECK_INT(face_cluster_collapse(&stage.workshop.call, &stage.problem.graph, &errors[0], 5, 0, label),
                  5);
        CHECK_INT(plain_collapse(&stage.problem.graph, &errors[1], 5, root), 5);
        for (int v = 0; v < stage.problem.vertices; v++) {
            for (int w = 0; w < v; w++) {
                CHECK((label[v] == label[w]) == (root[v] == root[w]));
            }
        }
        stage_close(&stage);
        synthetic_free(&s);
    }
}
