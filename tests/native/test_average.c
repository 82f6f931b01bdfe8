/* test_average.c - mean lengths over poses: against sums over the poses themselves, where joints that are independent
 * are given every pose with every other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 4, TURNS = 3, POSES = TURNS * TURNS * TURNS };

/* A chain with a side branch, in every combination of its joints' poses; two triangles. */
typedef struct Scene {
    double transforms[12 * BONES * 256];
    int32_t parents[BONES], bones[8];
    double joints[3 * BONES], products[16 * BONES * BONES], seen[16 * BONES * BONES], edges[6];
    float weights[8], rest[12];
    int32_t triangles[6];
    ossify_poses poses;
    ossify_settings settings;
    ossify_rig rig;
    ossify_pose_model model;
    ossify_average average;
    ossify_info info;
} Scene;

static Scene *scene_open(int frames) {
    static const double joints[3 * BONES] = {0.1, -0.2, 0.3, 1, 0.2, 0, 2, -0.1, 0.4, 0.9, 1.1, 0.2};
    static const int32_t parents[BONES] = {-1, 0, 1, 1}, corners[6] = {0, 1, 2, 2, 1, 3};
    Scene *s = calloc(1, sizeof *s);
    for (int i = 0; i < 4; i++) {
        s->bones[2 * i] = i;
        s->bones[2 * i + 1] = (i + 1) % BONES;
        s->weights[2 * i] = 0.75f;
        s->weights[2 * i + 1] = 0.25f;
        s->rest[3 * i] = (float)i * 0.7f;
        s->rest[3 * i + 1] = (float)(i % 2);
        s->rest[3 * i + 2] = (float)(i % 3) * 0.2f;
    }
    memcpy(s->joints, joints, sizeof joints);
    memcpy(s->parents, parents, sizeof parents);
    memcpy(s->triangles, corners, sizeof corners);
    OSSIFY_INIT_POSES(&s->poses);
    s->poses.vertex_count = 4;
    s->poses.frame_count = frames;
    s->poses.triangle_count = 2;
    s->poses.triangles = s->triangles;
    s->settings = plain_settings(BONES);
    s->rig = (ossify_rig){.struct_size = sizeof s->rig,
                          .bone_capacity = BONES,
                          .influences = 2,
                          .bones = BONES,
                          .transforms = s->transforms,
                          .influence_bones = s->bones,
                          .influence_weights = s->weights,
                          .rest = s->rest};
    s->model =
        (ossify_pose_model){.struct_size = sizeof s->model, .parents = s->parents, .joints = s->joints};
    s->info.struct_size = sizeof s->info;
    s->average =
        (ossify_average){.struct_size = sizeof s->average, .products = s->products, .edges = s->edges};
    return s;
}

static int64_t run(Scene *s, int64_t kind) {
    s->model.kind = kind;
    return ossify_average_poses(&s->poses, &s->settings, &s->rig, NULL, &s->model, &s->average, &s->info);
}

/* c = a b of (3, 4) matrices */
static void chain(const double *a, const double *b, double *c) {
    for (int i = 0; i < 12; i++) {
        double sum = i % 4 == 3 ? a[i] : 0;
        for (int m = 0; m < 3; m++) {
            sum += a[4 * (i / 4) + m] * b[4 * m + i % 4];
        }
        c[i] = sum;
    }
}

/* (R, l): a turn about a joint, of the linear part `r`, that moves the joint by `by` as the parent sees it */
static void about(const double r[9], const double joint[3], const double by[3], double *m) {
    for (int i = 0; i < 3; i++) {
        m[4 * i + 3] = joint[i] + by[i];
        for (int j = 0; j < 3; j++) {
            m[4 * i + j] = r[3 * i + j];
            m[4 * i + 3] -= r[3 * i + j] * joint[j];
        }
    }
}

static double number(uint64_t *random) {
    return 2 * random_unit(random) - 1;
}

static void turn(uint64_t *random, double r[9]) {
    double q[4], length = 0;
    for (int i = 0; i < 4; i++) {
        q[i] = number(random);
        length += q[i] * q[i];
    }
    for (int i = 0; i < 4; i++) {
        q[i] /= sqrt(length);
    }
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(r, m, sizeof m);
}

/* Every pose of a joint, [bone][pose][12], with every pose of the others; bone 0 moves about, and says nothing. */
static void combine(Scene *s, const double *local, int turns, uint64_t seed) {
    uint64_t random = seed;
    for (int f = 0; f < s->poses.frame_count; f++) {
        double *m = s->transforms + 12 * (size_t)(BONES * f), r[9], by[3];
        turn(&random, r);
        for (int i = 0; i < 3; i++) {
            by[i] = number(&random);
        }
        about(r, s->joints, by, m);
        const int choice[BONES] = {0, f % turns, f / turns % turns, f / turns / turns};
        for (int b = 1; b < BONES; b++) {
            chain(m + 12 * s->parents[b], local + 12 * (b * turns + choice[b]), m + 12 * b);
        }
    }
}

/* The mean of |G s|^2, from its definition; s [BONES][4] */
static double mean_of(const Scene *s, const double *at) {
    double sum = 0;
    for (int f = 0; f < s->poses.frame_count; f++) {
        double y[3] = {0, 0, 0};
        for (int i = 0; i < 12 * BONES; i++) {
            y[i % 12 / 4] += s->transforms[(size_t)(12 * BONES * f + i)] * at[4 * (i / 12) + i % 4];
        }
        sum += y[0] * y[0] + y[1] * y[1] + y[2] * y[2];
    }
    return sum / (double)s->poses.frame_count;
}

static double norm_of(const Scene *s, const double *at) {
    double sum = 0;
    for (int i = 0; i < 16 * BONES * BONES; i++) {
        sum += at[i / (4 * BONES)] * s->products[i] * at[i % (4 * BONES)];
    }
    return sum;
}

/* A difference of two places: its weights sum to 0. */
static void random_vector(uint64_t *random, double at[4 * BONES]) {
    double sum = 0;
    for (int i = 0; i < 4 * BONES; i++) {
        at[i] = number(random);
        sum += i % 4 == 3 ? at[i] : 0;
    }
    at[3] -= sum;
}

static void check_symmetric(const Scene *s) {
    for (int i = 0; i < 16 * BONES * BONES; i++) {
        const int row = i / (4 * BONES), column = i % (4 * BONES);
        CHECK_NEAR(s->products[i], s->products[column * 4 * BONES + row], 1e-12);
    }
}

static void check_model(Scene *s, int64_t kind) {
    uint64_t random = 99;
    CHECK_INT(run(s, kind), OSSIFY_CONVERGED);
    check_symmetric(s);
    for (int i = 0; i < 20; i++) {
        double at[4 * BONES];
        random_vector(&random, at);
        CHECK_NEAR(norm_of(s, at), mean_of(s, at), 1e-10 * (1 + mean_of(s, at)));
    }
    for (int e = 0; e < 6; e++) {
        double at[4 * BONES] = {0};
        for (int side = 0; side < 2; side++) {
            const int v = s->triangles[e / 3 * 3 + (e + side) % 3];
            for (int k = 0; k < 2; k++) {
                double *to = at + 4 * s->bones[2 * v + k],
                       w = (side ? 1 : -1) * (double)s->weights[2 * v + k];
                for (int i = 0; i < 4; i++) {
                    to[i] += w * (i < 3 ? (double)s->rest[3 * v + i] : 1);
                }
            }
        }
        CHECK_NEAR(s->edges[e], mean_of(s, at), 1e-10);
    }
}

static void random_locals(const Scene *s, uint64_t *random, int scaled, int moved, double *local) {
    for (int i = 0; i < BONES * TURNS; i++) {
        double r[9], by[3];
        turn(random, r);
        for (int j = 0; j < 9 && scaled; j++) {
            r[j] += 0.3 * number(random);
        }
        for (int j = 0; j < 3; j++) {
            by[j] = moved ? number(random) : 0;
        }
        about(r, s->joints + 3 * (i / TURNS), by, local + 12 * i);
    }
}

TEST(average_of_poses_that_were_seen) {
    Scene *s = scene_open(POSES);
    uint64_t random = 1;
    for (int i = 0; i < 12 * BONES * POSES; i++) {
        s->transforms[i] = number(&random);
    }
    check_model(s, OSSIFY_POSES_SEEN);
    double place[4 * BONES];
    for (int i = 0; i < 4 * BONES; i++) {
        place[i] = number(&random);
    }
    CHECK_NEAR(norm_of(s, place), mean_of(s, place), 1e-10 * mean_of(s, place));
    free(s);
}

TEST(average_over_joints_that_are_independent) {
    Scene *s = scene_open(POSES);
    uint64_t random = 2;
    double local[12 * BONES * TURNS];
    random_locals(s, &random, 1, 1, local);
    combine(s, local, TURNS, 3);
    check_model(s, OSSIFY_POSES_JOINTS);
    free(s);
}

TEST(average_over_rotations_with_fixed_translations) {
    Scene *s = scene_open(POSES);
    uint64_t random = 4;
    double local[12 * BONES * TURNS];
    random_locals(s, &random, 0, 0, local);
    combine(s, local, TURNS, 5);
    for (int64_t kind = OSSIFY_POSES_JOINTS; kind <= OSSIFY_POSES_ROTATIONS; kind++) {
        check_model(s, kind);
    }
    free(s);
}

TEST(average_over_fixed_translations_with_scale) {
    Scene *s = scene_open(POSES);
    uint64_t random = 6;
    double local[12 * BONES * TURNS];
    random_locals(s, &random, 1, 0, local);
    combine(s, local, TURNS, 7);
    check_model(s, OSSIFY_POSES_COMPONENTS);
    check_model(s, OSSIFY_POSES_TRANSLATIONS);
    free(s);
}

/* Every turn of a joint with every translation of it */
TEST(average_over_components_that_are_independent) {
    Scene *s = scene_open(4 * 4 * 4);
    uint64_t random = 8;
    double local[12 * BONES * 4];
    for (int b = 0; b < BONES; b++) {
        double r[2][9], by[2][3];
        for (int i = 0; i < 2; i++) {
            turn(&random, r[i]);
            for (int j = 0; j < 3; j++) {
                by[i][j] = number(&random);
            }
        }
        for (int i = 0; i < 4; i++) {
            about(r[i % 2], s->joints + 3 * b, by[i / 2], local + 12 * (4 * b + i));
        }
    }
    combine(s, local, 4, 9);
    check_model(s, OSSIFY_POSES_COMPONENTS);
    CHECK_INT(run(s, OSSIFY_POSES_TRANSLATIONS), OSSIFY_CONVERGED);
    double at[4 * BONES];
    random_vector(&random, at);
    CHECK(fabs(norm_of(s, at) - mean_of(s, at)) > 1e-3); /* joints that move are not those of the skeleton */
    free(s);
}

/* Half turns about the axes, and none: their mean is 0, as that of all rotations */
TEST(average_over_uniform_rotations) {
    static const double half[4][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 1},
                                      {1, 0, 0, 0, -1, 0, 0, 0, -1},
                                      {-1, 0, 0, 0, 1, 0, 0, 0, -1},
                                      {-1, 0, 0, 0, -1, 0, 0, 0, 1}};
    static const double still[3] = {0, 0, 0};
    Scene *s = scene_open(4 * 4 * 4);
    double local[12 * BONES * 4];
    for (int i = 0; i < 4 * BONES; i++) {
        about(half[i % 4], s->joints + 3 * (i / 4), still, local + 12 * i);
    }
    combine(s, local, 4, 10);
    check_model(s, OSSIFY_POSES_UNIFORM);
    memset(local, 0, sizeof local);
    for (int i = 0; i < 4 * BONES; i++) {
        about(half[0], s->joints + 3 * (i / 4), still, local + 12 * i);
    }
    memcpy(s->seen, s->products, sizeof s->seen);
    combine(s, local, 4, 11); /* what was seen says nothing */
    CHECK_INT(run(s, OSSIFY_POSES_UNIFORM), OSSIFY_CONVERGED);
    for (int i = 0; i < 16 * BONES * BONES; i++) {
        CHECK_NEAR(s->products[i], s->seen[i], 1e-10);
    }
    free(s);
}

TEST(average_of_joints_that_depend_is_not_that_of_the_frames) {
    Scene *s = scene_open(TURNS);
    uint64_t random = 12;
    double local[12 * BONES * TURNS], at[4 * BONES];
    random_locals(s, &random, 0, 0, local);
    combine(s, local, TURNS, 13);
    for (int f = 0; f < TURNS; f++) { /* one bone turns when its parent does */
        double *m = s->transforms + 12 * (size_t)(BONES * f);
        chain(m + 12, local + 12 * (2 * TURNS + f), m + 24);
    }
    random_vector(&random, at);
    CHECK_INT(run(s, OSSIFY_POSES_SEEN), OSSIFY_CONVERGED);
    CHECK_NEAR(norm_of(s, at), mean_of(s, at), 1e-10 * mean_of(s, at));
    CHECK_INT(run(s, OSSIFY_POSES_JOINTS), OSSIFY_CONVERGED);
    CHECK(fabs(norm_of(s, at) - mean_of(s, at)) > 1e-3 * mean_of(s, at));
    free(s);
}

TEST(average_refuses_what_cannot_be) {
    Scene *s = scene_open(POSES);
    for (int i = 0; i < BONES * POSES; i++) {
        for (int j = 0; j < 3; j++) {
            s->transforms[12 * i + 5 * j] = 1;
        }
    }
    CHECK_INT(run(s, OSSIFY_POSES_ROTATIONS), OSSIFY_CONVERGED);
    CHECK_INT(run(s, 6), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(s->info.message, "pose_model.kind");
    s->parents[2] = -1;
    CHECK_INT(run(s, OSSIFY_POSES_JOINTS), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(s->info.message, "2 roots");
    CHECK_INT(run(s, OSSIFY_POSES_SEEN), OSSIFY_CONVERGED);
    s->parents[2] = 1;
    s->joints[4] = NAN;
    CHECK_INT(run(s, OSSIFY_POSES_JOINTS), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(s->info.message, "joints[1][1]");
    s->joints[4] = 0;
    s->model.parents = NULL;
    CHECK_INT(run(s, OSSIFY_POSES_JOINTS), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(s->info.message, "pose_model.parents");
    s->model.parents = s->parents;
    memset(s->transforms, 0, 12 * sizeof(double));
    CHECK_INT(run(s, OSSIFY_POSES_JOINTS), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(s->info.message, "flat");
    free(s);
}
