/* test_parts.c - an automatic count of bones finds the number of parts of a made-up body. */
#include "probe.h"
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
    if (erms)
        *erms = answer.info.erms;
    answer_free(&answer);
    return bones;
}

TEST(the_number_of_parts_is_found) {
    static const Shape shapes[] = {SHAPE_TUBE, SHAPE_GRID, SHAPE_BLOBS};
    for (int i = 0; i < 3; i++) {
        for (int parts = 2; parts <= (SLOW_BUILD ? 5 : 14); parts += 3) {
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
    for (uint64_t seed = 1; seed <= (SLOW_BUILD ? 1 : 2); seed++) {
        SyntheticOptions options = {.shape = SHAPE_BLOBS,
                                    .vertices = 840,
                                    .frames = 30,
                                    .bones = 14,
                                    .influences = 4,
                                    .jointed = 1,
                                    .seed = seed};
        Synthetic made = synthetic_make(options);
        test_case("seed %d", (int)seed);
        CHECK_INT(bones_found(&made, 60, 4, NULL), 14);
        synthetic_free(&made);
    }
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
