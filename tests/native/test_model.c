/* test_model.c - bones that come and go leave their vertices in order. */
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 5, K = 3 };

static Synthetic open_model(Stage *stage) {
    SyntheticOptions options = {.vertices = 100, .frames = 3, .bones = BONES, .influences = K};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(BONES);
    settings.influences = K;
    stage_open(stage, &s.poses, &s.truth, settings);
    return s;
}

TEST(a_new_model_has_no_bones_and_the_given_rest) {
    Stage stage;
    Synthetic s = open_model(&stage);
    Model model;
    CHECK(model_make(&stage.workshop.call, &stage.problem, 7, 2, &model));
    CHECK_INT(model.bones, 0);
    CHECK_INT(model.capacity, 7);
    for (int i = 0; i < 2 * stage.problem.vertices; i++) {
        CHECK(model.bone[i] == -1 && model.weight[i] == 0);
    }
    CHECK(memcmp(model.rest, stage.problem.rest, 3 * (size_t)stage.problem.vertices * sizeof(double)) == 0);
    stage_close(&stage);
    synthetic_free(&s);
}

/* The weight of a vertex on a bone when bone `gone` has left: held groups keep theirs, the others share what is
 * left of one. */
static double share_without(const Model *model, int v, int b, int gone) {
    double own = 0, left = 1, others = 0;
    for (int i = K * v; i < K * v + K; i++) {
        const double w = model->bone[i] >= 0 ? model->weight[i] : 0;
        own = model->bone[i] == b ? w : own;
        if (model->bone[i] >= 0 && model->held_group[model->bone[i]]) {
            left -= w;
        } else if (model->bone[i] != gone) {
            others += w;
        }
    }
    return model->held_group[b] || others <= 0 ? own : own * left / others;
}

TEST(a_removed_bone_leaves_its_share_to_the_others) {
    for (int gone = 0; gone < BONES; gone += 2) { /* the first, one between, the last */
        Stage stage;
        Synthetic s = open_model(&stage);
        Model *model = &stage.model, before;
        const int held = gone == BONES - 1 ? 1 : BONES - 1, now = gone == BONES - 1 ? 1 : gone;
        int lost = 0;
        CHECK(model_make(&stage.workshop.call, &stage.problem, BONES, K, &before));
        model->held[2 * BONES + held] = model->held_group[held] = model->stays[held] = 1;
        model_copy(&stage.problem, model, &before);
        CHECK(memcmp(before.transform, model->transform, 9 * BONES * 4 * sizeof(double)) == 0);
        model_remove_bone(&stage.problem, model, gone);
        test_case("bone %d", gone);
        CHECK_INT(model->bones, BONES - 1);
        for (int row = 0; row < 9; row++) { /* the last bone has taken the place */
            for (int b = 0; b < BONES - 1; b++) {
                CHECK(memcmp(model->transform + 4 * (row * BONES + b),
                             before.transform + 4 * (row * BONES + (b == gone ? BONES - 1 : b)),
                             4 * sizeof(double)) == 0);
            }
        }
        for (int b = 0; b < BONES; b++) { /* and nothing is held where it was */
            CHECK_INT(model->held_group[b], b == now);
            CHECK_INT(model->stays[b], b == now);
            for (int f = 0; f < 3; f++) {
                CHECK_INT(model->held[f * BONES + b], f == 2 && b == now);
            }
        }
        for (int v = 0; v < stage.problem.vertices && !test_failed(); v++) {
            int used = 0;
            for (int k = 0; k < K; k++) {
                int b = before.bone[K * v + k];
                if (b < 0 || b == gone) {
                    continue;
                }
                CHECK_INT(model->bone[K * v + used], b == BONES - 1 ? gone : b);
                CHECK_NEAR(model->weight[K * v + used], share_without(&before, v, b, gone), 1e-12);
                CHECK(b != held || model->weight[K * v + used] == before.weight[K * v + k]);
                used++;
            }
            lost += used == 0;
            for (int k = used; k < K; k++) {
                CHECK(model->bone[K * v + k] == -1 && model->weight[K * v + k] == 0);
            }
        }
        CHECK(lost > 0); /* its own patch has no bone until the next pass */
        stage_close(&stage);
        synthetic_free(&s);
    }
}

/* Weights that sum to one only nearly, as those of held vertices may, are not touched by a bone they do not know. */
TEST(a_removed_bone_changes_its_own_vertices_alone) {
    Stage stage;
    Synthetic s = open_model(&stage);
    Model *model = &stage.model, before;
    int others = 0;
    CHECK(model_make(&stage.workshop.call, &stage.problem, BONES, K, &before));
    for (int i = 0; i < K * stage.problem.vertices; i++) {
        model->weight[i] *= 0.9995;
    }
    model_copy(&stage.problem, model, &before);
    model_remove_bone(&stage.problem, model, BONES - 1);
    for (int v = 0; v < stage.problem.vertices; v++) {
        if (!model_follows(&before, v, BONES - 1)) {
            CHECK(memcmp(model->weight + K * v, before.weight + K * v, K * sizeof(double)) == 0);
            others++;
        }
    }
    CHECK(others > 0);
    stage_close(&stage);
    synthetic_free(&s);
}

/* One thing held at a time: a group, a transform in one frame, a vertex. */
TEST(a_bone_stays_if_anything_of_it_is_held) {
    for (int b = 0; b < BONES; b++) {
        for (int thing = 0; thing < 3; thing++) {
            SyntheticOptions options = {.vertices = 100, .frames = 3, .bones = BONES, .influences = K};
            Synthetic s = synthetic_make(options);
            ossify_settings settings = plain_settings(BONES);
            uint8_t groups[BONES] = {0}, transforms[3 * BONES] = {0}, vertices[200] = {0};
            Stage stage;
            int held = 0;
            while (s.truth.influence_bones[K * held] != b || s.truth.influence_weights[K * held] < 1) {
                held++;
            }
            groups[b] = transforms[BONES + b] = vertices[held] = 1;
            s.truth.held_groups = thing == 0 ? groups : NULL;
            s.truth.held_transforms = thing == 1 ? transforms : NULL;
            s.truth.held_vertices = thing == 2 ? vertices : NULL;
            settings.influences = K;
            stage_open(&stage, &s.poses, &s.truth, settings);
            test_case("thing %d of bone %d", thing, b);
            for (int other = 0; other < BONES; other++) {
                CHECK_INT(stage.model.stays[other], other == b);
            }
            stage_close(&stage);
            synthetic_free(&s);
        }
    }
}

TEST(squared_error_counts_vertices_by_their_mass) {
    Stage stage;
    Synthetic s = open_model(&stage);
    double sum = 0;
    for (int v = 0; v < stage.problem.vertices; v++) {
        stage.model.error[v] = 0.5 * v;
        stage.problem.mass[v] = 1 + v % 4;
        sum += 0.5 * v * (1 + v % 4);
    }
    CHECK_NEAR(model_squared_error(&stage.problem, &stage.model), sum, 1e-9);
    stage_close(&stage);
    synthetic_free(&s);
}

/* The same model under other numbers gets the old ones back. */
TEST(bones_are_numbered_by_those_they_resemble) {
    static const int other[BONES] = {3, 0, 4, 2, 1};
    Stage stage;
    Synthetic s = open_model(&stage);
    const Model *model = &stage.model;
    const size_t all = (size_t)stage.problem.vertices * K;
    Model copy;
    CHECK(model_make(&stage.workshop.call, &stage.problem, BONES, K, &copy));
    model_copy(&stage.problem, model, &copy);
    for (size_t i = 0; i < all; i++) {
        copy.bone[i] = model->bone[i] < 0 ? -1 : other[model->bone[i]];
    }
    for (int i = 0; i < 9 * BONES; i++) {
        memcpy(copy.transform + 4 * (i / BONES * BONES + other[i % BONES]), model->transform + 4 * i,
               4 * sizeof(double));
    }
    CHECK(model_number_alike(&stage.workshop.call, &stage.problem, model, &copy));
    CHECK(memcmp(copy.bone, model->bone, all * sizeof(int)) == 0);
    CHECK(memcmp(copy.transform, model->transform, 9 * BONES * 4 * sizeof(double)) == 0);
    stage_close(&stage);
    synthetic_free(&s);
}

/* A thousand bones make a thousand million comparisons: between any two pairs a wish to cancel is heard. */
TEST(numbering_bones_can_be_cancelled_between_any_two) {
    for (int at = 1; at <= BONES; at++) {
        Stage stage;
        Synthetic s = open_model(&stage);
        Watcher watcher = {.cancel_at = at};
        Model copy;
        CHECK(model_make(&stage.workshop.call, &stage.problem, BONES, K, &copy));
        model_copy(&stage.problem, &stage.model, &copy);
        watcher_join(&watcher, &stage.workshop.settings);
        CHECK(!model_number_alike(&stage.workshop.call, &stage.problem, &stage.model, &copy));
        CHECK(memcmp(copy.bone, stage.model.bone, K * (size_t)stage.problem.vertices * sizeof(int)) == 0);
        CHECK(memcmp(copy.transform, stage.model.transform, 9 * BONES * 4 * sizeof(double)) == 0);
        stage_close(&stage);
        synthetic_free(&s);
    }
}
