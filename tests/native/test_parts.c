/* test_parts.c - an automatic count of bones finds the number of parts of a made-up body. */
#include <math.h>
#include <string.h>

#include "probe.h"
#include "search/shed.h"
#include "synthetic.h"
#include "test.h"

static int64_t bones_found(const Synthetic *made, int most, int influences, double *erms) {
    ossify_settings settings = plain_settings(most);
    settings.budget_kind = OSSIFY_BUDGET_PARTS;
    settings.influences = influences;
    Answer answer = answer_start(&made->poses, &settings);
    CHECK(ossify_decompose(&made->poses, &settings, &answer.rig, &answer.info) >= 0);
    check_rig(&made->poses, &answer.rig, 1);
    const int64_t bones = answer.rig.bones;
    CHECK_INT(answer.info.bones, bones);
    if (erms) {
        *erms = answer.info.erms;
    }
    answer_free(&answer);
    return bones;
}

TEST(the_number_of_parts_is_found) {
    static const Shape shapes[] = {SHAPE_TUBE, SHAPE_GRID, SHAPE_BLOBS};
    for (int i = 0; i < 3; i++) {
        for (int parts = 2; parts <= (SLOW_BUILD ? 6 : 10); parts += 4) {
            SyntheticOptions options = {.shape = shapes[i], .vertices = 100 * parts, .bones = parts};
            Synthetic made = synthetic_make(options);
            double erms;
            test_case("shape %d, %d parts", i, parts);
            CHECK_INT(bones_found(&made, 40, 2, &erms), parts);
            CHECK(erms < 0.5);
            synthetic_free(&made);
        }
    }
}

TEST(bones_between_the_parts_are_none) {
    SyntheticOptions options = {.shape = SHAPE_BLOBS,
                                .vertices = 840,
                                .frames = 30,
                                .bones = 14,
                                .influences = 4,
                                .jointed = 1,
                                .seed = 1};
    Synthetic made = synthetic_make(options);
    CHECK_INT(bones_found(&made, 60, 4, NULL), 14);
    synthetic_free(&made);
}

/* The truth in a model with room for one bone more. */
static void copy_truth(const Stage *stage, Model *model) {
    const Model *truth = &stage->model;
    const size_t to = (size_t)model->influences, from = (size_t)truth->influences;
    model->bones = truth->bones;
    memcpy(model->rest, truth->rest, 3 * (size_t)stage->problem.vertices * sizeof(double));
    for (size_t row = 0; row < 3 * (size_t)stage->problem.frames; row++) {
        memcpy(model->transform + row * 4 * (size_t)model->capacity,
               truth->transform + row * 4 * (size_t)truth->capacity,
               4 * (size_t)truth->bones * sizeof(double));
    }
    for (size_t i = 0; i < (size_t)stage->problem.vertices * to; i++) {
        const int known = i % to < from;
        model->bone[i] = known ? truth->bone[i / to * from + i % to] : -1;
        model->weight[i] = known ? truth->weight[i / to * from + i % to] : 0;
    }
}

/* M <- M A, A turns by `angle` about the line through `middle` along z. */
static void swing(const Model *model, int frame, int b, const double middle[3], double angle) {
    const double c = cos(angle), s = sin(angle);
    for (int i = 0; i < 3; i++) {
        double *m =
            model->transform + (3 * (size_t)frame + (size_t)i) * 4 * (size_t)model->capacity + 4 * (size_t)b;
        const double at = m[0] * middle[0] + m[1] * middle[1] + m[3], x = m[0] * c + m[1] * s;
        m[1] = m[1] * c - m[0] * s;
        m[0] = x;
        m[3] = at - m[0] * middle[0] - m[1] * middle[1];
    }
}

/* The part's vertices get `share` from a new bone and the rest from the one they had; the two swing to either side
 * of the part's motion, so that together they come to about the same. */
static void put_between(const Problem *problem, Model *model, int b, double share) {
    const size_t k = (size_t)model->influences;
    const int added = model->bones++;
    double middle[3] = {0}, mass = 0;
    for (size_t v = 0; v < (size_t)problem->vertices; v++) {
        for (size_t i = v * k; i < (v + 1) * k; i++) {
            if (model->bone[i] != b) {
                continue;
            }
            for (size_t a = 0; a < 3; a++) {
                middle[a] += model->weight[i] * model->rest[3 * v + a];
            }
            mass += model->weight[i];
            model->bone[v * k + k - 1] = added;
            model->weight[v * k + k - 1] = share * model->weight[i];
            model->weight[i] *= 1 - share;
        }
    }
    for (int a = 0; a < 3; a++) {
        middle[a] /= mass;
    }
    for (int f = 0; f < problem->frames; f++) {
        const double angle = 0.5 * sin(6.2831853 * f / problem->frames);
        for (int i = 0; i < 3; i++) {
            double *row = model->transform + (3 * (size_t)f + (size_t)i) * 4 * (size_t)model->capacity;
            memcpy(row + 4 * added, row + 4 * b, 4 * sizeof *row);
        }
        swing(model, f, b, middle, share * angle);
        swing(model, f, added, middle, (share - 1) * angle);
    }
}

/* It owns nothing, and the bone that was bent to it has to find its way back: united, the two do so at once. */
TEST(a_bone_between_others_that_owns_nothing_is_united_with_its_part) {
    const int parts = 16;
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .vertices = 40 * parts, .bones = parts, .frames = 24, .jointed = 1};
    Synthetic made = synthetic_make(options);
    const PassPlan keep_all = {0};
    Stage stage;
    Model model;
    Shed shed;
    stage_open(&stage, &made.poses, &made.truth, plain_settings(parts));
    Call *call = &stage.workshop.call;
    CHECK(model_make(call, &stage.problem, parts + 1, 4, &model));
    copy_truth(&stage, &model);
    put_between(&stage.problem, &model, parts / 2, 0.4);
    CHECK(shed_make(call, &stage.problem, &model, &shed));
    pass_run(call, &stage.problem, &model, &shed.descent.moments, &keep_all);
    CHECK(shed_all(&shed));
    CHECK_INT(model.bones, parts);
    CHECK(shed_squared(&shed) < SHED_UNSEEN);
    stage_close(&stage);
    synthetic_free(&made);
}

TEST(noise_is_no_part) {
    for (int parts = 3; parts <= (SLOW_BUILD ? 3 : 9); parts += 3) {
        SyntheticOptions options = {
            .shape = SHAPE_TUBE, .vertices = 100 * parts, .bones = parts, .noise = 0.001};
        Synthetic made = synthetic_make(options);
        test_case("%d parts", parts);
        CHECK_INT(bones_found(&made, 40, 2, NULL), parts);
        synthetic_free(&made);
    }
}

TEST(a_body_of_one_part_gets_one_bone) {
    for (int noisy = 0; noisy < 2; noisy++) {
        SyntheticOptions options = {.vertices = 300, .bones = 1, .influences = 1, .noise = 0.001 * noisy};
        Synthetic made = synthetic_make(options);
        test_case("noisy %d", noisy);
        CHECK_INT(bones_found(&made, 20, 4, NULL), 1);
        synthetic_free(&made);
    }
}

TEST(there_are_never_more_bones_than_allowed) {
    SyntheticOptions options = {.vertices = 600, .bones = 8, .noise = 0.01};
    Synthetic made = synthetic_make(options);
    for (int most = 1; most <= 5; most += 2) {
        test_case("at most %d", most);
        CHECK(bones_found(&made, most, 2, NULL) <= most);
    }
    synthetic_free(&made);
}
