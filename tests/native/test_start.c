/* test_start.c - the three ways to the first bones, in the same scenarios. */
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "starts/start.h"
#include "synthetic.h"
#include "test.h"

enum { STARTS = OSSIFY_START_SPECTRAL + 1 };

static ossify_settings settings_of(int start, int bones) {
    ossify_settings settings = plain_settings(bones);
    settings.influences = 1;
    settings.start = start;
    return settings;
}

/* A model of its own on the stage's problem, made by the start that its settings name. */
static Model started(Stage *stage, int bones, int influences) {
    const int start = (int)stage->workshop.settings.start;
    Model model;
    CHECK(model_make(&stage->workshop.call, &stage->problem, bones, influences, &model));
    CHECK(start_bones(&stage->workshop.call, &stage->problem, start, bones, &model));
    return model;
}

/* Every bone of the model is one part of the truth, and the other way round. */
static void check_parts(const Stage *stage, const Model *model, const ossify_rig *truth, int parts) {
    int part_of[64], bone_of[64];
    memset(part_of, -1, sizeof part_of);
    memset(bone_of, -1, sizeof bone_of);
    CHECK_INT(model->bones, parts);
    for (int v = 0; v < stage->problem.vertices && !test_failed(); v++) {
        const int b = model->bone[v * model->influences];
        const int part = truth->influence_bones[stage->problem.caller[v] * truth->influences];
        CHECK(b >= 0 && b < model->bones);
        part_of[b] = part_of[b] < 0 ? part : part_of[b];
        bone_of[part] = bone_of[part] < 0 ? b : bone_of[part];
        CHECK_INT(part_of[b], part);
        CHECK_INT(bone_of[part], b);
    }
}

static void check_one_influence(const Stage *stage, const Model *model) {
    const int k = model->influences;
    for (int v = 0; v < stage->problem.vertices && !test_failed(); v++) {
        CHECK(model->bone[k * v] >= 0 && model->bone[k * v] < model->bones && model->weight[k * v] == 1);
        for (int i = 1; i < k; i++) {
            CHECK(model->bone[k * v + i] == -1 && model->weight[k * v + i] == 0);
        }
    }
}

static int follows(const Stage *stage, const Model *model, int b) {
    int count = 0;
    for (int v = 0; v < stage->problem.vertices; v++) {
        count += model->bone[v * model->influences] == b;
    }
    return count;
}

TEST(starts_give_the_parts_of_a_rigid_rig) {
    for (int start = OSSIFY_START_FACES; start < STARTS; start++) {
        for (int shape = 0; shape < 3; shape++) {
            for (int shells = 1; shells <= 4; shells += 3) {
                for (int faceless = 0; faceless < 2; faceless++) {
                    SyntheticOptions options = {.shape = (Shape)shape,
                                                .vertices = 400,
                                                .frames = 10,
                                                .bones = 8,
                                                .influences = 1,
                                                .shells = shells,
                                                .faceless = faceless};
                    Synthetic s = synthetic_make(options);
                    Stage stage;
                    Model model;
                    stage_open(&stage, &s.poses, &s.truth, settings_of(start, 8));
                    model = started(&stage, 8, 3);
                    test_case("start %d, shape %d, %d shells, faceless %d", start, shape, shells, faceless);
                    check_parts(&stage, &model, &s.truth, 8);
                    check_one_influence(&stage, &model);
                    CHECK(problem_erms(&stage.problem, model_objective(&stage.problem, &model)) < 1e-3);
                    stage_close(&stage);
                    synthetic_free(&s);
                }
            }
        }
    }
}

TEST(starts_give_as_many_bones_as_asked_for) {
    for (int start = 0; start < STARTS; start++) {
        SyntheticOptions options = {
            .vertices = 200, .frames = 10, .bones = 6, .influences = 4, .noise = 0.02};
        Synthetic s = synthetic_make(options);
        Stage stage;
        stage_open(&stage, &s.poses, &s.truth, settings_of(start, 6));
        for (int bones = 1; bones <= 24; bones++) {
            Model model = started(&stage, bones, 1);
            test_case("start %d, %d bones", start, bones);
            CHECK_INT(model.bones, bones);
            for (int b = 0; b < bones; b++) {
                CHECK(follows(&stage, &model, b) > 0);
            }
        }
        stage_close(&stage);
        synthetic_free(&s);
    }
}

/* Up to a tolerance that is large enough all patches are one, and all bones but one grow. */
TEST(a_start_to_a_tolerance_merges_on) {
    SyntheticOptions options = {.vertices = 400, .frames = 10, .bones = 6, .influences = 4, .noise = 0.02};
    Synthetic s = synthetic_make(options);
    for (int start = OSSIFY_START_FACES; start < STARTS; start++) {
        for (int wide = 0; wide < 2; wide++) {
            ossify_settings settings = settings_of(start, 6);
            Stage merged, grown;
            settings.start_tolerance = wide ? 1e6 : 1e-3;
            stage_open(&merged, &s.poses, &s.truth, settings);
            stage_open(&grown, &s.poses, &s.truth, settings_of(OSSIFY_START_GROWN, 6));
            Model one = started(&merged, 6, 1), other = started(&grown, 6, 1);
            test_case("start %d, %s", start, wide ? "to a tolerance" : "to the count");
            CHECK_INT(one.bones, 6);
            CHECK_INT(memcmp(one.bone, other.bone, (size_t)merged.problem.vertices * sizeof *one.bone) == 0,
                      wide);
            stage_close(&merged);
            stage_close(&grown);
        }
    }
    synthetic_free(&s);
}

TEST(starts_of_a_mesh_that_does_not_move_are_one_bone) {
    for (int start = 0; start < STARTS; start++) {
        SyntheticOptions options = {.vertices = 100, .frames = 4, .motion = 1e-12};
        Synthetic s = synthetic_make(options);
        Stage stage;
        stage_open(&stage, &s.poses, &s.truth, settings_of(start, 4));
        Model model = started(&stage, 10, 2);
        test_case("start %d", start);
        CHECK_INT(model.bones, 1);
        stage_close(&stage);
        synthetic_free(&s);
    }
}

TEST(starts_give_the_same_bits_on_any_number_of_threads) {
    for (int start = 0; start < STARTS; start++) {
        SyntheticOptions options = {
            .vertices = 700, .frames = 7, .bones = 6, .influences = 3, .noise = 0.02, .shells = 2};
        Synthetic s = synthetic_make(options);
        Stage stage[3];
        Model model[3];
        for (int i = 0; i < 3; i++) {
            ossify_settings settings = settings_of(start, 9);
            settings.threads = i + 1;
            stage_open(&stage[i], &s.poses, &s.truth, settings);
            model[i] = started(&stage[i], 9, 1);
        }
        for (int i = 1; i < 3; i++) {
            const size_t n = (size_t)stage[0].problem.vertices;
            test_case("start %d, %d threads", start, i + 1);
            CHECK_INT(model[i].bones, model[0].bones);
            CHECK(memcmp(model[i].bone, model[0].bone, n * sizeof(int)) == 0);
            CHECK(memcmp(model[i].transform, model[0].transform,
                         12 * 7 * (size_t)model[0].capacity * sizeof(double)) == 0);
        }
        for (int i = 0; i < 3; i++) {
            stage_close(&stage[i]);
        }
        synthetic_free(&s);
    }
}

TEST(whole_solves_from_every_start_find_the_rig) {
    for (int start = 0; start <= OSSIFY_START_TRIED; start++) {
        SyntheticOptions options = {
            .shape = SHAPE_TUBE, .vertices = 400, .frames = 12, .bones = 6, .influences = 2};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = plain_settings(6);
        settings.influences = 2;
        settings.start = start;
        settings.quality = OSSIFY_BEST;
        Answer answer = answer_start(&s.poses, &settings);
        test_case("start %d", start);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        check_rig(&s.poses, &answer.rig, 1);
        CHECK_INT(answer.rig.bones, 6);
        CHECK(answer.info.erms < 0.02);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(starts_take_the_smallest_meshes) {
    for (int start = 0; start <= OSSIFY_START_TRIED; start++) {
        for (int vertices = 1; vertices <= 5; vertices++) {
            const float rest[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1};
            const float frames[30] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1,
                                      0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 5, 1, 1, 1};
            float moved[30];
            ossify_poses poses;
            ossify_settings settings = settings_of(start, 4);
            OSSIFY_INIT_POSES(&poses);
            poses.vertex_count = vertices;
            poses.frame_count = 2;
            poses.rest = rest;
            poses.frames = moved;
            for (int f = 0; f < 2; f++) {
                memcpy(moved + 3 * f * vertices, frames + 15 * f, 3 * (size_t)vertices * sizeof(float));
            }
            Answer answer = answer_start(&poses, &settings);
            test_case("start %d, %d vertices", start, vertices);
            CHECK(ossify_decompose(&poses, &settings, &answer.rig, &answer.info) >= 0);
            check_rig(&poses, &answer.rig, 1);
            answer_free(&answer);
        }
    }
}
