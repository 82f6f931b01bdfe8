/* test_place_joints.c - a skeleton put into new bodies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "probe.h"
#include "test.h"

enum { SIDE = 20, LONG = 30, VERTICES = SIDE * LONG, BONES = 3, MOST_BODIES = 6, INFLUENCES = 2 };

/* Tubes along z, of three bones that blend into each other: the joints are in the middle of two of their rings. */
typedef struct Tubes {
    ossify_poses poses;
    ossify_settings settings;
    ossify_rig rig;
    ossify_bodies bodies;
    ossify_placed placed;
    ossify_info info;
    int32_t triangles[VERTICES * 6], bone[INFLUENCES * VERTICES], parents[BONES];
    float weight[INFLUENCES * VERTICES], known[3 * MOST_BODIES * VERTICES], rest[3 * MOST_BODIES * VERTICES];
    double transforms[12 * BONES], joints[3 * MOST_BODIES * BONES], truth[3 * MOST_BODIES * BONES];
    double found[3 * MOST_BODIES * BONES], shares[OSSIFY_JOINT_VERTICES * BONES];
    int32_t vertices[OSSIFY_JOINT_VERTICES * BONES];
} Tubes;

static const int RING[BONES] = {2, 10, 20};

static int add_triangle(int32_t *to, int a, int b, int c) {
    to[0] = a;
    to[1] = b;
    to[2] = c;
    return 3;
}

static void make_surface(Tubes *tubes) {
    int n = 0;
    for (int r = 0; r + 1 < LONG; r++) {
        for (int i = 0; i < SIDE; i++) {
            const int a = r * SIDE + i, b = r * SIDE + (i + 1) % SIDE;
            n += add_triangle(tubes->triangles + n, a, b, a + SIDE);
            n += add_triangle(tubes->triangles + n, b, b + SIDE, a + SIDE);
        }
    }
    tubes->poses.triangle_count = n / 3;
}

/* The middle of a ring of a body. */
static void middle(const float *rest, int ring, double joint[3]) {
    for (int a = 0; a < 3; a++) {
        joint[a] = 0;
        for (int i = 0; i < SIDE; i++) {
            joint[a] += (double)rest[3 * (ring * SIDE + i) + a] / SIDE;
        }
    }
}

/* A tube whose thickness and whose pitch differ from ring to ring, and from body to body. */
static void make_body(uint64_t *seed, float *rest, double *joints) {
    const double wave = random_unit(seed), size = 0.5 + 2 * random_unit(seed);
    const double upper = 0.5 + random_unit(seed), lower = 0.5 + random_unit(seed);
    double z = 5 * random_unit(seed);
    for (int r = 0; r < LONG; r++) {
        const double thick = size * (0.2 + 0.05 * sin(0.3 * r + 6 * wave));
        z += size * 0.1 * (r < RING[1] ? upper : r < RING[2] ? lower : 1);
        for (int i = 0; i < SIDE; i++) {
            float *p = rest + 3 * (r * SIDE + i);
            p[0] = (float)(thick * cos(2 * 3.14159265358979 * i / SIDE));
            p[1] = (float)(thick * sin(2 * 3.14159265358979 * i / SIDE));
            p[2] = (float)z;
        }
    }
    for (int b = 0; b < BONES; b++) {
        middle(rest, RING[b], joints + 3 * b);
    }
}

static Tubes *tubes_open(int known, int count) {
    Tubes *tubes = calloc(1, sizeof *tubes);
    uint64_t seed = 5;
    make_surface(tubes);
    tubes->settings = plain_settings(1);
    tubes->settings.influences = 1;
    for (int v = 0; v < VERTICES; v++) {
        const int r = v / SIDE, b = (r > RING[1]) + (r > RING[2]), beside = b > 0 ? b - 1 : 1;
        tubes->bone[INFLUENCES * v] = b;
        tubes->bone[INFLUENCES * v + 1] = beside;
        tubes->weight[INFLUENCES * v] = 0.75f;
        tubes->weight[INFLUENCES * v + 1] = 0.25f;
    }
    for (int b = 0; b < BONES; b++) {
        for (int i = 0; i < 3; i++) {
            tubes->transforms[12 * b + 5 * i] = 1;
        }
        tubes->parents[b] = b - 1;
    }
    for (int s = 0; s < MOST_BODIES; s++) {
        make_body(&seed, tubes->known + 3 * s * VERTICES, tubes->joints + 3 * s * BONES);
    }
    for (int s = 0; s < MOST_BODIES; s++) {
        make_body(&seed, tubes->rest + 3 * s * VERTICES, tubes->truth + 3 * s * BONES);
    }
    OSSIFY_INIT_POSES(&tubes->poses);
    make_surface(tubes);
    tubes->poses.vertex_count = VERTICES;
    tubes->poses.frame_count = 1;
    tubes->poses.triangles = tubes->triangles;
    tubes->rig = (ossify_rig){.struct_size = sizeof tubes->rig,
                              .bone_capacity = BONES,
                              .influences = INFLUENCES,
                              .bones = BONES,
                              .transforms = tubes->transforms,
                              .influence_bones = tubes->bone,
                              .influence_weights = tubes->weight,
                              .rest = tubes->known};
    tubes->bodies = (ossify_bodies){.struct_size = sizeof tubes->bodies,
                                    .known_count = known,
                                    .count = count,
                                    .parents = tubes->parents,
                                    .known = tubes->known,
                                    .joints = tubes->joints,
                                    .rest = tubes->rest};
    tubes->placed = (ossify_placed){.struct_size = sizeof tubes->placed,
                                    .joints = tubes->found,
                                    .vertices = tubes->vertices,
                                    .shares = tubes->shares};
    tubes->info = (ossify_info){.struct_size = sizeof tubes->info};
    return tubes;
}

static int64_t place(Tubes *tubes) {
    return ossify_place_joints(&tubes->poses, &tubes->settings, &tubes->rig, &tubes->bodies, &tubes->placed,
                               &tubes->info);
}

/* The largest distance from the truth, by the body's length. */
static double farthest(const Tubes *tubes, const double *truth) {
    double most = 0;
    for (int i = 0; i < tubes->bodies.count * BONES; i++) {
        const float *rest = tubes->bodies.rest + 3 * (i / BONES) * VERTICES;
        const double length = (double)rest[3 * (VERTICES - 1) + 2] - (double)rest[2];
        double square = 0;
        for (int a = 0; a < 3; a++) {
            square += pow(tubes->found[3 * i + a] - truth[3 * i + a], 2);
        }
        most = fmax(most, sqrt(square) / length);
    }
    return most;
}

TEST(joints_learnt_from_several_bodies) {
    Tubes *tubes = tubes_open(MOST_BODIES, MOST_BODIES);
    CHECK_INT(place(tubes), OSSIFY_CONVERGED);
    CHECK_TEXT(tubes->info.message, "");
    CHECK(farthest(tubes, tubes->truth) < 2e-3);
    for (int b = 0; b < BONES; b++) { /* few vertices, whose sum the joint is */
        double sum = 0, joint[3] = {0, 0, 0};
        for (int i = 0; i < OSSIFY_JOINT_VERTICES; i++) {
            const int v = tubes->vertices[OSSIFY_JOINT_VERTICES * b + i];
            const double share = tubes->shares[OSSIFY_JOINT_VERTICES * b + i];
            sum += share;
            CHECK(v >= 0 && v < VERTICES);
            for (int a = 0; a < 3; a++) {
                joint[a] += share * (double)tubes->rest[3 * (5 * VERTICES + v) + a];
            }
        }
        CHECK_NEAR(sum, 1, 1e-12);
        for (int a = 0; a < 3; a++) {
            CHECK_NEAR(tubes->found[3 * (5 * BONES + b) + a], joint[a], 1e-12);
        }
    }
    free(tubes);
}

TEST(joints_from_more_bodies_are_nearer) {
    double off[3];
    const int known[3] = {1, 2, MOST_BODIES};
    for (int i = 0; i < 3; i++) {
        Tubes *tubes = tubes_open(known[i], MOST_BODIES);
        CHECK_INT(place(tubes), OSSIFY_CONVERGED);
        off[i] = farthest(tubes, tubes->truth);
        free(tubes);
    }
    CHECK(off[0] < 0.02);
    CHECK(off[2] < 0.5 * off[1]);
}

TEST(joints_of_a_body_put_into_itself) {
    for (int known = 1; known <= 3; known += 2) {
        Tubes *tubes = tubes_open(known, known);
        test_case("%d known", known);
        tubes->bodies.rest = tubes->known;
        CHECK_INT(place(tubes), OSSIFY_CONVERGED);
        CHECK(farthest(tubes, tubes->joints) < (known == 1 ? 1e-12 : 2e-3));
        CHECK_INT(tubes->vertices[0] < 0, known == 1);
        free(tubes);
    }
}

/* Size and place of a body do not matter: joints go along. */
TEST(joints_go_along_with_size_and_place) {
    for (int known = 1; known <= 3; known += 2) {
        Tubes *tubes = tubes_open(known, 1), *moved = tubes_open(known, 1);
        const float by[3] = {3, -2, 7};
        for (int i = 0; i < 3 * VERTICES; i++) {
            moved->rest[i] = 4 * moved->rest[i] + by[i % 3];
        }
        test_case("%d known", known);
        place(tubes);
        place(moved);
        for (int i = 0; i < 3 * BONES; i++) {
            CHECK_NEAR(moved->found[i], 4 * tubes->found[i] + (double)by[i % 3], 1e-5);
        }
        free(tubes);
        free(moved);
    }
}

/* Exact but for what keeps thin surfaces apart. */
TEST(joints_from_one_body_follow_an_affine_one) {
    Tubes *tubes = tubes_open(1, 1);
    const double map[9] = {1.1, 0.05, 0, -0.04, 0.95, 0.1, 0.02, 0, 1.05};
    for (int v = 0; v < VERTICES; v++) {
        for (int a = 0; a < 3; a++) {
            const float *p = tubes->known + 3 * v;
            tubes->rest[3 * v + a] = (float)(map[3 * a] * (double)p[0] + map[3 * a + 1] * (double)p[1] +
                                             map[3 * a + 2] * (double)p[2]);
        }
    }
    for (int b = 0; b < BONES; b++) {
        for (int a = 0; a < 3; a++) {
            const double *j = tubes->joints + 3 * b;
            tubes->truth[3 * b + a] = map[3 * a] * j[0] + map[3 * a + 1] * j[1] + map[3 * a + 2] * j[2];
        }
    }
    CHECK_INT(place(tubes), OSSIFY_CONVERGED);
    CHECK(farthest(tubes, tubes->truth) < 1e-3);
    free(tubes);
}

static int nearest_to(const float *rest, const double *joint) {
    int nearest = 0;
    double least = INFINITY;
    for (int v = 0; v < VERTICES; v++) {
        double square = 0;
        for (int a = 0; a < 3; a++) {
            square += pow((double)rest[3 * v + a] - joint[a], 2);
        }
        nearest = square < least ? v : nearest;
        least = fmin(square, least);
    }
    return nearest;
}

/* A wart on the skin nearest to a joint deep in thick flesh hardly moves it. */
TEST(a_joint_looks_as_far_as_it_lies_deep) {
    Tubes *tubes = tubes_open(1, 1);
    double *joint = tubes->joints + 3;
    for (int i = 0; i < 3 * VERTICES; i++) {
        tubes->known[i] *= i % 3 == 2 ? 1.0f : 8.0f;
    }
    middle(tubes->known, RING[1], joint);
    joint[0] += 0.3 * (double)tubes->known[3 * RING[1] * SIDE];
    memcpy(tubes->rest, tubes->known, sizeof tubes->rest);
    const double wart = 0.1;
    tubes->rest[3 * nearest_to(tubes->known, joint)] += (float)wart;
    CHECK_INT(place(tubes), OSSIFY_CONVERGED);
    CHECK(fabs(tubes->found[3] - joint[0]) < 0.06 * wart);
    free(tubes);
}

/* Bones that nothing follows, joints far from all, bodies without size. */
TEST(joints_where_little_tells) {
    for (int known = 1; known <= 3; known += 2) {
        Tubes *tubes = tubes_open(known, 2);
        test_case("%d known", known);
        for (int v = 0; v < VERTICES; v++) {
            tubes->bone[INFLUENCES * v] = 0;
            tubes->bone[INFLUENCES * v + 1] = -1;
            tubes->weight[INFLUENCES * v] = 1;
            tubes->weight[INFLUENCES * v + 1] = 0;
        }
        tubes->parents[1] = -1;
        tubes->joints[2] = 1e6;
        memset(tubes->rest + 3 * VERTICES, 0, 3 * VERTICES * sizeof(float));
        tubes->poses.triangle_count = 0;
        CHECK_INT(place(tubes), OSSIFY_CONVERGED);
        for (int i = 0; i < 6 * BONES; i++) {
            CHECK(isfinite(tubes->found[i]));
        }
        memset(tubes->known, 0, sizeof tubes->known);
        memset(tubes->joints, 0, sizeof tubes->joints);
        CHECK_INT(place(tubes), OSSIFY_CONVERGED);
        for (int i = 0; i < 6 * BONES; i++) {
            CHECK(isfinite(tubes->found[i]));
        }
        free(tubes);
    }
}

TEST(joints_do_not_depend_on_the_threads) {
    Tubes *one = tubes_open(4, 3), *four = tubes_open(4, 3);
    four->settings.threads = 4;
    CHECK_INT(place(one), place(four));
    CHECK(memcmp(one->found, four->found, sizeof one->found) == 0);
    CHECK(memcmp(one->shares, four->shares, sizeof one->shares) == 0);
    free(one);
    free(four);
}

static void check_refused(Tubes *tubes, const char *says) {
    CHECK_INT(place(tubes), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(tubes->info.message, says);
    CHECK(tubes->found[0] == 0);
    free(tubes);
}

TEST(bodies_that_cannot_be_are_refused) {
    Tubes *tubes = tubes_open(1, 1);
    tubes->bodies.known_count = 0;
    check_refused(tubes, "bodies.known_count is 0");
    tubes = tubes_open(1, 1);
    tubes->bodies.count = OSSIFY_MAX_SUBJECTS + 1;
    check_refused(tubes, "bodies.count is 4097");
    tubes = tubes_open(1, 1);
    tubes->bodies.rest = NULL;
    check_refused(tubes, "bodies.rest is NULL");
    tubes = tubes_open(1, 1);
    tubes->placed.shares = NULL;
    check_refused(tubes, "placed.shares is NULL");
    tubes = tubes_open(1, 1);
    tubes->parents[2] = 2;
    check_refused(tubes, "bodies.parents[2] is 2");
    tubes = tubes_open(2, 1);
    tubes->known[3 * VERTICES + 4] = NAN;
    check_refused(tubes, "bodies.known[1][1][1] is nan");
    tubes = tubes_open(1, 1);
    tubes->rest[7] = INFINITY;
    check_refused(tubes, "bodies.rest[0][2][1] is inf");
    tubes = tubes_open(2, 1);
    tubes->joints[3 * BONES + 5] = NAN;
    check_refused(tubes, "bodies.joints[1][1][2] is nan");
}

TEST(placing_ends_at_any_allocation_and_poll) {
    for (int known = 1; known <= 2; known++) {
        Ledger all = {0};
        Watcher watched = {0};
        Tubes *tubes = tubes_open(known, 1);
        ledger_join(&all, &tubes->settings);
        watcher_join(&watched, &tubes->settings);
        CHECK_INT(place(tubes), OSSIFY_CONVERGED);
        CHECK_INT(all.given, all.taken);
        free(tubes);
        for (int64_t i = 1; i <= all.asked && !test_failed(); i++) {
            Ledger ledger = {.refuse_at = i};
            tubes = tubes_open(known, 1);
            ledger_join(&ledger, &tubes->settings);
            CHECK_INT(place(tubes), OSSIFY_OUT_OF_MEMORY);
            CHECK_INT(ledger.given, ledger.taken);
            CHECK(tubes->found[0] == 0 && tubes->shares[0] == 0);
            free(tubes);
        }
        for (int64_t i = 1; i <= watched.calls && !test_failed(); i++) {
            Watcher watcher = {.cancel_at = i};
            tubes = tubes_open(known, 1);
            watcher_join(&watcher, &tubes->settings);
            const int64_t status = place(tubes);
            CHECK(status == OSSIFY_CANCELLED || i == watched.calls);
            CHECK(status >= 0 || (tubes->found[0] == 0 && tubes->shares[0] == 0));
            free(tubes);
        }
    }
}
