/* test_transforms.c - the bones' step: nothing near its answer is better, and what is held stays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "descent/transforms.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 4, FRAMES = 5 };

/* The true weights with noise on the frames, and the bones all where they rest, less those that are held
 * [FRAMES][BONES]. */
static Synthetic open_lost(Stage *stage, int flexible, const uint8_t *held) {
    SyntheticOptions options = {.vertices = 120,
                                .frames = FRAMES,
                                .bones = BONES,
                                .influences = 3,
                                .noise = 0.02,
                                .flexible = flexible,
                                .seed = 4};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(BONES);
    settings.influences = 3;
    settings.bone_kind = flexible ? OSSIFY_FLEXIBLE : OSSIFY_RIGID;
    s.truth.held_transforms = held;
    stage_open(stage, &s.poses, &s.truth, settings);
    for (int row = 0; row < 3 * FRAMES; row++) {
        for (int b = 0; b < BONES; b++) {
            for (int i = 0; i < 4 && !(held && held[row / 3 * BONES + b]); i++) {
                stage->model.transform[4 * (row * BONES + b) + i] = row % 3 == i;
            }
        }
    }
    return s;
}

static void update(Stage *stage, int flexible, int sweeps) {
    const PassPlan keep_all = {0};
    Moments moments;
    CHECK(pass_make(&stage->workshop.call, &stage->problem, &stage->model, &moments));
    pass_run(&stage->workshop.call, &stage->problem, &stage->model, &moments, &keep_all);
    CHECK(
        transforms_update(&stage->workshop.call, &stage->problem, &stage->model, &moments, flexible, sweeps));
}

static void close_lost(Stage *stage, Synthetic *s) {
    stage_close(stage);
    synthetic_free(s);
}

/* m <- exp[step about axis] m, or m moved along it: 3 rows of 4, `row` numbers apart. */
static void perturb(double *m, int row, int kind, double step) {
    int axis = kind % 3, a = (axis + 1) % 3, b = (axis + 2) % 3;
    if (kind >= 3) {
        m[axis * row + 3] += step;
        return;
    }
    for (int i = 0; i < 4; i++) {
        double x = m[a * row + i], y = m[b * row + i];
        m[a * row + i] = cos(step) * x - sin(step) * y;
        m[b * row + i] = sin(step) * x + cos(step) * y;
    }
}

static void check_no_better_rigid(Stage *stage, double slack) {
    double least = model_objective(&stage->problem, &stage->model);
    for (int f = 0; f < FRAMES; f++) {
        for (int b = 0; b < BONES && !test_failed(); b++) {
            for (int kind = 0; kind < 12; kind++) {
                double *m = stage->model.transform + 4 * (3 * f * BONES + b), copy[3][4];
                test_case("frame %d, bone %d, kind %d", f, b, kind);
                for (int i = 0; i < 3; i++) {
                    memcpy(copy[i], m + i * 4 * BONES, sizeof copy[i]);
                }
                perturb(m, 4 * BONES, kind % 6, kind < 6 ? 1e-3 : -1e-3);
                CHECK(model_objective(&stage->problem, &stage->model) >= least * (1 - slack));
                for (int i = 0; i < 3; i++) {
                    memcpy(m + i * 4 * BONES, copy[i], sizeof copy[i]);
                }
            }
        }
    }
}

TEST(rigid_bones_cannot_be_moved_to_a_lower_error) {
    Stage stage;
    Synthetic s = open_lost(&stage, 0, NULL);
    update(&stage, 0, 500);
    check_no_better_rigid(&stage, 1e-9);
    close_lost(&stage, &s);
}

/* The last bone of a sweep saw all others as they are: it is optimal after any sweep. */
TEST(each_sweep_lowers_the_error) {
    Stage stage;
    Synthetic s = open_lost(&stage, 0, NULL);
    double before = model_objective(&stage.problem, &stage.model);
    for (int sweep = 0; sweep < 10; sweep++) {
        double now;
        update(&stage, 0, 1);
        now = model_objective(&stage.problem, &stage.model);
        CHECK(now <= before * (1 + 1e-12));
        before = now;
    }
    close_lost(&stage, &s);
}

TEST(rigid_bones_of_known_weights_come_back) {
    SyntheticOptions options = {.vertices = 120, .frames = FRAMES, .bones = BONES, .influences = 2};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(BONES);
    Stage stage;
    double *truth = malloc(12 * FRAMES * BONES * sizeof *truth);
    stage_open(&stage, &s.poses, &s.truth, settings);
    memcpy(truth, stage.model.transform, 12 * FRAMES * BONES * sizeof *truth);
    for (int row = 0; row < 3 * FRAMES; row++) {
        for (int i = 0; i < 4 * BONES; i++) {
            stage.model.transform[4 * row * BONES + i] = row % 3 == i % 4;
        }
    }
    update(&stage, 0, 2000);
    for (int i = 0; i < 12 * FRAMES * BONES; i++) {
        CHECK_NEAR(stage.model.transform[i], truth[i], 1e-4);
    }
    free(truth);
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(rigid_bones_stay_rotations) {
    Stage stage;
    Synthetic s = open_lost(&stage, 0, NULL);
    update(&stage, 0, 50);
    rig_write(&stage.problem, &stage.placement, &stage.model, NULL, &s.truth);
    check_rig(&s.poses, &s.truth, 1);
    close_lost(&stage, &s);
}

/* At the affine optimum of all bones, sum_v w_b (x - y) p~' vanishes for each bone. */
TEST(flexible_bones_leave_no_slope) {
    for (int hold = 0; hold < 2; hold++) {
        const uint8_t held[FRAMES * BONES] = {0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 1};
        Stage stage;
        Synthetic s = open_lost(&stage, 1, hold ? held : NULL);
        double x[3 * FRAMES], y[3 * FRAMES];
        update(&stage, 1, 1);
        for (int b = 0; b < BONES; b++) {
            for (int row = 0; row < 3 * FRAMES; row++) {
                for (int i = 0; i < 4 && !(hold && held[row / 3 * BONES + b]); i++) {
                    double slope = 0;
                    for (int v = 0; v < stage.problem.vertices; v++) {
                        problem_read(&stage.problem, v, x);
                        model_replay(&stage.problem, &stage.model, v, y);
                        for (int k = 0; k < 3; k++) {
                            if (stage.model.bone[3 * v + k] == b) {
                                slope += stage.model.weight[3 * v + k] * (x[row] - y[row]) *
                                         (i < 3 ? stage.model.rest[3 * v + i] : 1);
                            }
                        }
                    }
                    test_case("held %d, bone %d, row %d", hold, b, row);
                    CHECK_NEAR(slope, 0, 1e-6);
                }
            }
        }
        close_lost(&stage, &s);
    }
}

TEST(held_transforms_keep_their_bits) {
    for (int flexible = 0; flexible < 2; flexible++) {
        for (int all = 0; all < 2; all++) {
            const uint8_t x = (uint8_t)all;
            const uint8_t held[FRAMES * BONES] = {1, x, 1, x, x, x, x, x, 1, x, 1, x, x, 1, 1, x, 1, 1, 1, 1};
            Stage stage;
            Synthetic s = open_lost(&stage, flexible, held);
            double before[12 * FRAMES * BONES];
            int moved = 0;
            memcpy(before, stage.model.transform, sizeof before);
            update(&stage, flexible, 5);
            test_case("flexible %d, all %d", flexible, all);
            for (int row = 0; row < 3 * FRAMES; row++) {
                for (int b = 0; b < BONES; b++) {
                    int same = memcmp(stage.model.transform + 4 * (row * BONES + b),
                                      before + 4 * (row * BONES + b), 4 * sizeof(double)) == 0;
                    CHECK(same || !held[row / 3 * BONES + b]);
                    moved += !same;
                }
            }
            CHECK(all ? moved == 0 : moved > 0);
            close_lost(&stage, &s);
        }
    }
}

TEST(bones_without_vertices_stay) {
    for (int flexible = 0; flexible < 2; flexible++) {
        Stage stage;
        Synthetic s = open_lost(&stage, flexible, NULL);
        double before[12 * FRAMES * BONES];
        for (int v = 0; v < stage.problem.vertices; v++) {
            memcpy(stage.model.bone + 3 * v, (int[3]){0, -1, -1}, 3 * sizeof(int));
            memcpy(stage.model.weight + 3 * v, (double[3]){1, 0, 0}, 3 * sizeof(double));
        }
        memcpy(before, stage.model.transform, sizeof before);
        update(&stage, flexible, 5);
        for (int i = 0; i < 12 * FRAMES * BONES; i++) {
            CHECK(i / 4 % BONES == 0 || fabs(stage.model.transform[i] - before[i]) < 1e-12);
        }
        close_lost(&stage, &s);
    }
}

/* A flat patch does not say on which side its bone stands: it must not flip or shrink. */
TEST(flexible_bones_of_flat_patches_stay_finite) {
    Stage stage;
    Synthetic s = open_lost(&stage, 1, NULL);
    for (int v = 0; v < stage.problem.vertices; v++) {
        stage.model.rest[3 * v + 2] = 0;
    }
    update(&stage, 1, 1);
    for (int i = 0; i < 12 * FRAMES * BONES; i++) {
        CHECK(fabs(stage.model.transform[i]) < 100);
    }
    close_lost(&stage, &s);
}
