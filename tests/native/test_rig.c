/* test_rig.c - a rig goes into the solver and comes out again as it was. */
#include <math.h>
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 4, K = 3 };

static Synthetic make_rig(int flexible) {
    SyntheticOptions options = {
        .vertices = 130, .frames = 4, .bones = BONES, .influences = K, .flexible = flexible, .shells = 2};
    return synthetic_make(options);
}

static ossify_settings settings_for(int flexible) {
    ossify_settings settings = plain_settings(BONES);
    settings.influences = K;
    settings.bone_kind = flexible ? OSSIFY_FLEXIBLE : OSSIFY_RIGID;
    return settings;
}

TEST(a_rig_read_and_written_is_the_same) {
    for (int flexible = 0; flexible < 2; flexible++) {
        Synthetic s = make_rig(flexible);
        ossify_settings settings = settings_for(flexible);
        Answer answer = answer_start(&s.poses, &settings);
        Stage stage;
        for (int64_t i = 0; i < 3 * s.poses.vertex_count;
             i++) { /* away from the origin, and of another size */
            s.rest[i] = s.truth.rest[i] = 100 * s.rest[i] + 300;
        }
        stage_open(&stage, &s.poses, &s.truth, settings);
        rig_write(&stage.problem, &stage.placement, &stage.model, NULL, &answer.rig);
        test_case("flexible %d", flexible);
        check_rig(&s.poses, &answer.rig, !flexible);
        CHECK_INT(answer.rig.bones, BONES);
        for (int i = 0; i < 4 * BONES * 12; i++) {
            CHECK_NEAR(answer.rig.transforms[i], s.truth.transforms[i],
                       1e-12 * (1 + 500 * fabs(s.truth.transforms[i])));
        }
        for (int64_t i = 0; i < s.poses.vertex_count * K; i++) {
            CHECK_INT(answer.rig.influence_bones[i], s.truth.influence_bones[i]);
            CHECK_NEAR(answer.rig.influence_weights[i], s.truth.influence_weights[i], 4e-7);
        }
        for (int64_t i = 0; i < 3 * s.poses.vertex_count; i++) {
            CHECK_NEAR(answer.rig.rest[i], s.rest[i], 1e-4);
        }
        stage_close(&stage);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(a_model_replays_what_its_rig_replays) {
    Synthetic s = make_rig(0);
    Stage stage;
    double *frames, y[12];
    stage_open(&stage, &s.poses, &s.truth, settings_for(0));
    frames = stage.placement.frame_centre;
    for (int v = 0; v < stage.problem.vertices; v++) {
        const float *x = s.frames + 3 * stage.problem.caller[v];
        model_replay(&stage.problem, &stage.model, v, y);
        for (int i = 0; i < 12; i++) {
            CHECK_NEAR(frames[i] + stage.placement.unit * y[i], x[i / 3 * 3 * s.poses.vertex_count + i % 3],
                       1e-6);
        }
    }
    stage_close(&stage);
    synthetic_free(&s);
}

/* Multiples of 2^-24 that sum to exactly 1, in any order of addition. */
TEST(weights_are_written_as_exact_shares) {
    Synthetic s = synthetic_make((SyntheticOptions){
        .vertices = 130, .frames = 4, .bones = OSSIFY_MAX_INFLUENCES, .influences = K, .shells = 2});
    ossify_settings settings = plain_settings(OSSIFY_MAX_INFLUENCES);
    Answer answer;
    Stage stage;
    settings.influences = OSSIFY_MAX_INFLUENCES;
    answer = answer_start(&s.poses, &settings);
    stage_open(&stage, &s.poses, &s.truth, settings);
    for (int v = 0; v < stage.problem.vertices; v++) {
        int used = 1 + v % OSSIFY_MAX_INFLUENCES;
        for (int k = 0; k < OSSIFY_MAX_INFLUENCES; k++) {
            stage.model.bone[OSSIFY_MAX_INFLUENCES * v + k] = k < used ? k : -1;
            stage.model.weight[OSSIFY_MAX_INFLUENCES * v + k] = k < used ? 1.0 / used : 0;
        }
        if (v % 3 == 0 && used > 2) { /* a weight too small to be written, at the front */
            stage.model.weight[OSSIFY_MAX_INFLUENCES * v] = 1e-9;
            stage.model.weight[OSSIFY_MAX_INFLUENCES * v + 1] += 1.0 / used - 1e-9;
        }
    }
    rig_write(&stage.problem, &stage.placement, &stage.model, NULL, &answer.rig);
    for (int64_t v = 0; v < s.poses.vertex_count && !test_failed(); v++) {
        const float *w = answer.rig.influence_weights + v * OSSIFY_MAX_INFLUENCES;
        float up = 0, down = 0;
        for (int k = 0; k < OSSIFY_MAX_INFLUENCES; k++) {
            up += w[k];
            down += w[OSSIFY_MAX_INFLUENCES - 1 - k];
            CHECK(w[k] * 16777216.0 == rint(w[k] * 16777216.0));
            CHECK(k == 0 || w[k] <= w[k - 1]);
            CHECK((w[k] > 0) == (answer.rig.influence_bones[v * OSSIFY_MAX_INFLUENCES + k] >= 0));
        }
        CHECK(up == 1 && down == 1);
    }
    stage_close(&stage);
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(what_is_held_is_not_written) {
    Synthetic s = make_rig(0);
    ossify_settings settings = settings_for(0);
    Answer answer = answer_start(&s.poses, &settings);
    uint8_t transforms[4 * BONES] = {0};
    uint8_t vertices[200] = {0, 0, 1};
    Stage stage;
    for (int f = 0; f < 3; f++) { /* and not the last */
        transforms[f * BONES + 1] = 1;
    }
    s.truth.held_transforms = transforms;
    s.truth.held_vertices = vertices;
    stage_open(&stage, &s.poses, &s.truth, settings);
    rig_write(&stage.problem, &stage.placement, &stage.model, s.rest, &answer.rig);
    for (int f = 0; f < 4; f++) {
        for (int i = 0; i < 12; i++) {
            CHECK(answer.rig.transforms[12 * (f * BONES + 1) + i] == 0 || f == 3);
        }
    }
    CHECK(answer.rig.transforms[12 * (3 * BONES + 1)] != 0);
    for (int v = 0; v < 4; v++) {
        CHECK((answer.rig.influence_weights[K * v] == 0) == (v == 2));
    }
    CHECK(memcmp(answer.rig.rest, s.rest, 3 * (size_t)s.poses.vertex_count * sizeof(float)) == 0);
    stage_close(&stage);
    answer_free(&answer);
    synthetic_free(&s);
}

/* More influences than the solver may use, in any order: the strongest are read, and sum to one. */
TEST(given_weights_are_cut_to_the_strongest) {
    Synthetic s = make_rig(0);
    ossify_settings settings = settings_for(0);
    uint8_t held[200] = {0, 0, 1};
    Stage stage;
    settings.influences = 2;
    for (int64_t v = 0; v < s.poses.vertex_count; v++) {
        memcpy(s.truth.influence_bones + K * v, (int32_t[K]){2, 0, 3}, sizeof(int32_t[K]));
        memcpy(s.truth.influence_weights + K * v, (float[K]){0.25f, 0.125f, 0.625f}, sizeof(float[K]));
    }
    memcpy(s.truth.influence_weights + K * 2, (float[K]){0.499f, 0.5f, 0}, sizeof(float[K]));
    s.truth.held_vertices = held;
    stage_open(&stage, &s.poses, &s.truth, settings);
    for (int v = 0; v < stage.problem.vertices; v++) {
        const double *w = stage.model.weight + 2 * v;
        int other = stage.problem.caller[v] == 2;
        CHECK_INT(stage.model.bone[2 * v], other ? 0 : 3);
        CHECK_INT(stage.model.bone[2 * v + 1], 2);
        CHECK_NEAR(w[0], other ? 0.5f : 0.625 / 0.875, 1e-12);
        CHECK_NEAR(w[1], other ? 0.499f : 0.25 / 0.875, 1e-12); /* held: not even normalised */
    }
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(given_bones_that_are_not_rigid_are_made_so) {
    static const double odd[][9] = {{2, 0, 0, 0, 2, 0, 0, 0, 2},
                                    {0, 0, 0, 0, 0, 0, 0, 0, 0},
                                    {1, 0, 0, 0, 1, 0, 0, 0, -1},
                                    {1, 0.5, 0, 0, 1, 0.5, 0, 0, 1}};
    Synthetic s = make_rig(0);
    ossify_settings settings = settings_for(0);
    uint8_t held[4 * BONES] = {0};
    Answer answer = answer_start(&s.poses, &settings);
    Stage stage;
    for (int f = 0; f < 4; f++) {
        for (int b = 0; b < BONES; b++) {
            for (int i = 0; i < 9; i++) {
                s.truth.transforms[12 * (f * BONES + b) + i / 3 * 4 + i % 3] = odd[b][i];
            }
        }
    }
    for (int f = 0; f < 4; f++) {
        held[f * BONES + 3] = 1;
    }
    s.truth.held_transforms = held;
    stage_open(&stage, &s.poses, &s.truth, settings);
    for (int i = 0; i < 3; i++) { /* held: as it is */
        CHECK(memcmp(stage.model.transform + 4 * (i * BONES + 3), s.truth.transforms + 12 * 3 + 4 * i,
                     3 * sizeof(double)) == 0);
    }
    memset(stage.model.held, 0, 4 * BONES);
    stage.model.bones = 3;
    for (int v = 0; v < stage.problem.vertices; v++) {
        memcpy(stage.model.bone + K * v, (int[K]){0, -1, -1}, sizeof(int[K]));
    }
    for (int v = 0; v < stage.problem.vertices; v++) {
        memcpy(stage.model.weight + K * v, (double[K]){1, 0, 0}, sizeof(double[K]));
    }
    rig_write(&stage.problem, &stage.placement, &stage.model, NULL, &answer.rig);
    check_rig(&s.poses, &answer.rig, 1);
    stage_close(&stage);
    answer_free(&answer);
    synthetic_free(&s);
}
