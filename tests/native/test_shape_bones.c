/* test_shape_bones.c - bones that turn a mean body into each of many. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BODIES = 9, BONES = 4 };

typedef struct Shapes {
    Synthetic made;
    ossify_settings settings;
    ossify_shaping shaping;
    Answer answer;
} Shapes;

/* Bodies that the bones of the truth make, scaled along the axes of the rest if asked for. */
static Shapes *shapes_open(int vertices, int scaled) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .vertices = vertices, .frames = BODIES, .bones = BONES, .motion = 0.2};
    Shapes *shapes = calloc(1, sizeof *shapes);
    shapes->made = synthetic_make(options);
    const int64_t n = shapes->made.poses.vertex_count;
    const ossify_rig *truth = &shapes->made.truth;
    for (int64_t i = 0; i < 12 * BODIES * BONES && scaled; i++) {
        truth->transforms[i] *= i % 4 == 3 ? 1 : 1 + 0.3 * sin(1.7 * (double)(i / 12) + (double)(i % 4));
    }
    for (int64_t i = 0; i < BODIES * n && scaled; i++) {
        double y[3] = {0};
        for (int k = 0; k < 2; k++) {
            const int64_t at = i % n * 2 + k, b = truth->influence_bones[at];
            for (int a = 0; a < 3 && b >= 0; a++) {
                const double *row = truth->transforms + 12 * (i / n * BONES + b) + 4 * a;
                const float *p = truth->rest + 3 * (i % n);
                y[a] += (double)truth->influence_weights[at] *
                        (row[0] * (double)p[0] + row[1] * (double)p[1] + row[2] * (double)p[2] + row[3]);
            }
        }
        for (int a = 0; a < 3; a++) {
            shapes->made.frames[3 * i + a] = (float)y[a];
        }
    }
    shapes->settings = plain_settings(BONES);
    shapes->settings.influences = 2;
    shapes->settings.rest_mode = OSSIFY_REST_FIXED;
    shapes->shaping = (ossify_shaping){.struct_size = sizeof shapes->shaping};
    shapes->answer = answer_start(&shapes->made.poses, &shapes->settings);
    return shapes;
}

static void shapes_close(Shapes *shapes) {
    answer_free(&shapes->answer);
    synthetic_free(&shapes->made);
    free(shapes);
}

static int64_t shape(Shapes *shapes) {
    return ossify_shape_bones(&shapes->made.poses, &shapes->settings, &shapes->answer.rig, &shapes->shaping,
                              &shapes->answer.info);
}

/* Weights of the truth, and its rest. */
static void give_truth(Shapes *shapes) {
    answer_free(&shapes->answer);
    shapes->answer = answer_of(&shapes->made.poses, &shapes->made.truth);
    shapes->answer.info = (ossify_info){.struct_size = sizeof shapes->answer.info};
    shapes->answer.rig.given = OSSIFY_GIVEN_WEIGHTS;
    memset(shapes->answer.rig.transforms, 0, 12 * BODIES * BONES * sizeof(double));
    shapes->shaping.held = 1;
}

TEST(shape_bones_of_bodies_that_bones_made) {
    Shapes *shapes = shapes_open(400, 0);
    CHECK(shape(shapes) >= 0);
    check_rig(&shapes->made.poses, &shapes->answer.rig, 1);
    CHECK(shapes->answer.info.rms_percent < 0.1);
    CHECK_NEAR(replay_error(&shapes->made.poses, &shapes->answer.rig, NULL), 0, 0.005);
    shapes_close(shapes);
}

TEST(scaled_bones_show_what_rigid_ones_cannot) {
    double percent[2];
    for (int kind = 0; kind < 2; kind++) {
        Shapes *shapes = shapes_open(400, 1);
        shapes->shaping.kind = kind;
        CHECK(shape(shapes) >= 0);
        percent[kind] = shapes->answer.info.rms_percent;
        for (int64_t i = 0; i < BODIES * BONES; i++) { /* columns of R diag(s) are perpendicular */
            const double *m = shapes->answer.rig.transforms + 12 * i;
            for (int a = 0; a < 3; a++) {
                const int b = (a + 1) % 3;
                CHECK_NEAR(m[a] * m[b] + m[4 + a] * m[4 + b] + m[8 + a] * m[8 + b], 0, 1e-9);
            }
        }
        shapes_close(shapes);
    }
    CHECK(percent[1] < 0.2 * percent[0]);
}

/* With the true weights held the true bones are found, and no turn of any of them would do better. */
TEST(bones_of_other_bodies_with_weights_held) {
    for (int kind = 0; kind < 2; kind++) {
        Shapes *shapes = shapes_open(300, kind);
        give_truth(shapes);
        shapes->shaping.kind = kind;
        CHECK(shape(shapes) >= 0);
        const ossify_rig *rig = &shapes->answer.rig, *truth = &shapes->made.truth;
        const size_t n = (size_t)shapes->made.poses.vertex_count;
        CHECK(memcmp(rig->influence_weights, truth->influence_weights, 2 * n * sizeof(float)) == 0);
        CHECK(memcmp(rig->rest, truth->rest, 3 * n * sizeof(float)) == 0);
        for (int64_t i = 0; i < 12 * BODIES * BONES; i++) {
            CHECK_NEAR(rig->transforms[i], truth->transforms[i], 0.02);
        }
        shapes_close(shapes);
    }
}

TEST(no_small_turn_of_a_shape_bone_does_better) {
    Shapes *shapes = shapes_open(200, 0);
    for (int64_t i = 0; i < 3 * BODIES * shapes->made.poses.vertex_count; i++) {
        shapes->made.frames[i] += 0.02f * (float)sin(0.37 * (double)i); /* which no bone explains */
    }
    give_truth(shapes);
    CHECK(shape(shapes) >= 0);
    const double best = replay_error(&shapes->made.poses, &shapes->answer.rig, NULL);
    for (int64_t i = 0; i < 2 * BONES; i++) {
        double *m = shapes->answer.rig.transforms + 12 * (i / 2), old[12];
        const double c = cos(i % 2 ? 2e-2 : -2e-2), s = sin(i % 2 ? 2e-2 : -2e-2);
        memcpy(old, m, sizeof old);
        for (int j = 0; j < 4; j++) {
            m[j] = c * old[j] - s * old[4 + j];
            m[4 + j] = s * old[j] + c * old[4 + j];
        }
        CHECK(replay_error(&shapes->made.poses, &shapes->answer.rig, NULL) > best);
        memcpy(m, old, sizeof old);
    }
    shapes_close(shapes);
}

/* Where bodies stand and how they are turned says nothing of their shape. */
TEST(the_mean_is_found_wherever_bodies_stand) {
    double percent[2];
    for (int moved = 0; moved < 2; moved++) {
        Shapes *shapes = shapes_open(300, 0);
        const int64_t n = shapes->made.poses.vertex_count;
        for (int64_t i = 0; i < BODIES * n && moved; i++) {
            float *x = shapes->made.frames + 3 * i;
            const double turn = 0.9 * (double)(i / n), y[3] = {(double)x[0], (double)x[1], (double)x[2]};
            x[0] = (float)(cos(turn) * y[0] - sin(turn) * y[1] + (double)(i / n));
            x[1] = (float)(sin(turn) * y[0] + cos(turn) * y[1]);
        }
        shapes->made.poses.rest = NULL;
        shapes->settings.rest_mode = OSSIFY_REST_KEPT;
        CHECK(shape(shapes) >= 0);
        percent[moved] = shapes->answer.info.rms_percent;
        shapes_close(shapes);
    }
    CHECK(percent[0] < 0.5);
    CHECK_NEAR(percent[0], percent[1], 0.3 * percent[0]);
}

static void check_refused(Shapes *shapes, const char *says) {
    CHECK_INT(shape(shapes), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(shapes->answer.info.message, says);
    shapes_close(shapes);
}

TEST(shapes_that_cannot_be_are_refused) {
    static const uint8_t HELD[BODIES * BONES] = {1};
    Shapes *shapes = shapes_open(100, 0);
    shapes->shaping.kind = 2;
    check_refused(shapes, "shaping.kind is 2");
    shapes = shapes_open(100, 0);
    shapes->shaping.held = 1;
    check_refused(shapes, "weights and rest must be given");
    shapes = shapes_open(100, 0);
    give_truth(shapes);
    shapes->answer.rig.given |= OSSIFY_GIVEN_TRANSFORMS;
    shapes->answer.rig.held_transforms = HELD;
    check_refused(shapes, "the rig holds something");
    shapes = shapes_open(100, 0);
    shapes->shaping.kind = OSSIFY_SHAPE_SCALED;
    shapes->settings.budget_kind = OSSIFY_BUDGET_RMS;
    shapes->settings.budget = 1;
    check_refused(shapes, "scaled bones are counted");
}

TEST(shape_bones_whatever_the_threads) {
    Shapes *one = shapes_open(200, 1), *four = shapes_open(200, 1);
    four->settings.threads = 4;
    one->shaping.kind = four->shaping.kind = OSSIFY_SHAPE_SCALED;
    CHECK_INT(shape(one), shape(four));
    CHECK(rigs_are_equal(&one->made.poses, &one->answer.rig, &four->answer.rig));
    shapes_close(one);
    shapes_close(four);
}

static Shapes *small_shapes(void) {
    Shapes *shapes = shapes_open(48, 1);
    shapes->shaping.kind = OSSIFY_SHAPE_SCALED;
    shapes->settings.quality = OSSIFY_DRAFT;
    shapes->settings.rest_mode = OSSIFY_REST_KEPT;
    shapes->settings.iterations = 2;
    shapes->made.poses.rest = NULL;
    return shapes;
}

TEST(shaping_ends_at_any_allocation_and_poll) {
    Ledger all = {0};
    Watcher watched = {0};
    Shapes *shapes = small_shapes();
    ledger_join(&all, &shapes->settings);
    watcher_join(&watched, &shapes->settings);
    CHECK(shape(shapes) >= 0);
    CHECK_INT(all.given, all.taken);
    shapes_close(shapes);
    for (int64_t i = 1; i <= all.asked && !test_failed(); i = trial_after(i, all.asked)) {
        Ledger ledger = {.refuse_at = i};
        shapes = small_shapes();
        ledger_join(&ledger, &shapes->settings);
        CHECK_INT(shape(shapes), OSSIFY_OUT_OF_MEMORY);
        CHECK_INT(ledger.given, ledger.taken);
        CHECK(shapes->answer.rig.rest[0] == 0);
        shapes_close(shapes);
    }
    for (int64_t i = 1; i < watched.calls && !test_failed(); i = trial_after(i, watched.calls)) {
        Watcher watcher = {.cancel_at = i};
        shapes = small_shapes();
        watcher_join(&watcher, &shapes->settings);
        const int64_t status = shape(shapes);
        CHECK(status == OSSIFY_CANCELLED || status >= 0);
        CHECK(status >= 0 || shapes->answer.rig.rest[0] == 0);
        shapes_close(shapes);
    }
}
