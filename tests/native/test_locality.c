/* test_locality.c - each bone's influence is one connected region of the surface. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "descent/descent.h"
#include "judge.h"
#include "math/walk.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

/* What may be used where. */
static int may_use(const Locality *locality, int v, int b) {
    return locality->candidates[v * locality->bytes + b / 8] >> b % 8 & 1;
}

/* Edges between v and u, or n when there is no way: a flood of the test's own. */
static void hops_from(const Problem *problem, const uint8_t *source, int *hops) {
    int changed = 1;
    for (int v = 0; v < problem->vertices; v++) {
        hops[v] = source[v] ? 0 : problem->vertices;
    }
    while (changed) {
        changed = 0;
        for (int v = 0; v < problem->vertices; v++) {
            for (int64_t e = problem->graph.first[v]; e < problem->graph.first[v + 1]; e++) {
                if (hops[problem->graph.neighbour[e]] > hops[v] + 1) {
                    hops[problem->graph.neighbour[e]] = hops[v] + 1;
                    changed = 1;
                }
            }
        }
    }
}

static Synthetic open_strip(Stage *stage, Locality *locality) {
    SyntheticOptions options = {.vertices = 200, .frames = 4, .bones = 2, .influences = 2};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(2);
    settings.influences = 2;
    stage_open(stage, &s.poses, &s.truth, settings);
    CHECK(locality_make(&stage->workshop.call, &stage->problem, 2, locality));
    return s;
}

/* All on bone 0, but for two islands of bone 1. */
static void make_islands(Stage *stage, uint8_t *large, uint8_t *small) {
    Model *model = &stage->model;
    for (int v = 0; v < stage->problem.vertices; v++) {
        const double *p = stage->problem.rest + 3 * v;
        double r = stage->problem.radius;
        large[v] = p[0] < -0.3 * r;
        small[v] = p[0] > 0.5 * r && p[1] > 0.1 * r;
        model->bone[2 * v] = large[v] || small[v];
        model->bone[2 * v + 1] = -1;
        model->weight[2 * v] = 1;
        model->weight[2 * v + 1] = 0;
    }
}

TEST(candidates_are_the_main_region_and_what_is_near) {
    for (int hops = 0; hops <= 3; hops++) {
        Stage stage;
        Locality locality;
        Synthetic s = open_strip(&stage, &locality);
        uint8_t large[400], small[400];
        int far[400];
        make_islands(&stage, large, small);
        hops_from(&stage.problem, large, far);
        CHECK(locality_update(&stage.workshop.call, &stage.problem, &stage.model, 0, hops, &locality));
        test_case("%d hops", hops);
        for (int v = 0; v < stage.problem.vertices; v++) {
            if (small[v] && hops == 0) { /* left without a bone, it may take its neighbours' */
                CHECK(may_use(&locality, v, 0) || may_use(&locality, v, 1));
            } else {
                CHECK_INT(may_use(&locality, v, 1), far[v] <= hops);
            }
        }
        stage_close(&stage);
        synthetic_free(&s);
    }
}

/* Weights of a thousandth on the first edges around a region: plain least squares ends it before them. */
TEST(faint_weights_belong_to_regions_where_skin_shall_be_smooth) {
    for (int fair = 0; fair < 2; fair++) {
        Descent descent;
        Stage stage;
        Locality unused;
        Synthetic s = open_strip(&stage, &unused);
        uint8_t large[400], small[400];
        int far[400];
        make_islands(&stage, large, small);
        hops_from(&stage.problem, large, far);
        for (int v = 0; v < stage.problem.vertices; v++) {
            if (!large[v] && far[v] <= 2) {
                stage.model.bone[2 * v + 1] = 1;
                stage.model.weight[2 * v] = 0.999;
                stage.model.weight[2 * v + 1] = 0.001;
            }
        }
        stage.workshop.settings.locality = 1;
        CHECK(descent_make(&stage.workshop.call, &stage.problem, &stage.model, &descent));
        if (fair) {
            descent_widen(&descent);
        }
        CHECK(locality_update(&stage.workshop.call, &stage.problem, &stage.model, 0, 1, &descent.locality));
        test_case("fair %d", fair);
        for (int v = 0; v < stage.problem.vertices; v++) {
            CHECK_INT(may_use(&descent.locality, v, 1), far[v] <= (fair ? 3 : 1));
        }
        stage_close(&stage);
        synthetic_free(&s);
    }
}

TEST(candidates_reach_as_far_as_the_radius) {
    Stage stage;
    Locality locality;
    Synthetic s = open_strip(&stage, &locality);
    uint8_t large[400], small[400];
    Walk walk;
    double radius = 0.4 * stage.problem.radius;
    make_islands(&stage, large, small);
    CHECK(walk_make(&stage.workshop.call.arena, &stage.problem.graph, &walk));
    walk_begin(&walk);
    for (int v = 0; v < stage.problem.vertices; v++) {
        if (large[v]) {
            walk_source(&walk, v);
        }
    }
    walk_run(&walk, &stage.problem.graph, stage.problem.vertices, INFINITY);
    CHECK(locality_update(&stage.workshop.call, &stage.problem, &stage.model, radius, 0, &locality));
    for (int v = 0; v < stage.problem.vertices; v++) {
        if (!small[v]) {
            CHECK_INT(may_use(&locality, v, 1), walk.far[v] <= radius);
        }
    }
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(stripping_forbids_islands) {
    Stage stage;
    Locality locality;
    Synthetic s = open_strip(&stage, &locality);
    uint8_t large[400], small[400];
    int islands = 0;
    make_islands(&stage, large, small);
    CHECK(locality_update(&stage.workshop.call, &stage.problem, &stage.model, 9, 0, &locality));
    for (int v = 0; v < stage.problem.vertices; v++) {
        islands += small[v];
        CHECK(may_use(&locality, v, 0) && may_use(&locality, v, 1));
    }
    CHECK(islands > 0);
    CHECK(locality_strip(&stage.workshop.call, &stage.problem, &stage.model, 0, &locality) >= islands);
    for (int v = 0; v < stage.problem.vertices; v++) {
        CHECK_INT(may_use(&locality, v, 1), !small[v]);
    }
    stage_close(&stage);
    synthetic_free(&s);
}

/* Weights that stay where they were stripped are found again, others are not looked for. */
TEST(stripping_again_finds_what_is_left) {
    Stage stage;
    Locality locality;
    Synthetic s = open_strip(&stage, &locality);
    uint8_t large[400], small[400];
    int stripped;
    make_islands(&stage, large, small);
    CHECK(locality_update(&stage.workshop.call, &stage.problem, &stage.model, 9, 0, &locality));
    stripped = locality_strip(&stage.workshop.call, &stage.problem, &stage.model, 0, &locality);
    CHECK(stripped > 0);
    CHECK_INT(locality_strip(&stage.workshop.call, &stage.problem, &stage.model, 1, &locality), stripped);
    for (int v = 0; v < stage.problem.vertices; v++) {
        stage.model.bone[2 * v] = small[v] ? 0 : stage.model.bone[2 * v];
    }
    CHECK_INT(locality_strip(&stage.workshop.call, &stage.problem, &stage.model, 1, &locality), 0);
    CHECK_INT(locality_strip(&stage.workshop.call, &stage.problem, &stage.model, 0, &locality), 0);
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(stripping_forbids_faint_weights_but_not_held_ones) {
    Stage stage;
    Locality locality;
    Synthetic s = open_strip(&stage, &locality);
    uint8_t large[400], small[400], held[400] = {0};
    make_islands(&stage, large, small);
    held[9] = 1;
    stage.problem.held = held;
    CHECK(locality_update(&stage.workshop.call, &stage.problem, &stage.model, 9, 0, &locality));
    for (int v = 5; v < 10; v++) {
        stage.model.bone[2 * v + 1] = !stage.model.bone[2 * v];
        stage.model.weight[2 * v] = 0.995;
        stage.model.weight[2 * v + 1] = 0.005;
    }
    CHECK_INT(locality_strip_faint(&stage.problem, &stage.model, &locality), 4);
    for (int v = 0; v < 20; v++) {
        CHECK_INT(may_use(&locality, v, !stage.model.bone[2 * v]), v < 5 || v > 8);
    }
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(nothing_is_stripped_where_all_is_local) {
    Stage stage;
    Locality locality;
    Synthetic s = open_strip(&stage, &locality);
    CHECK(locality_update(&stage.workshop.call, &stage.problem, &stage.model, 0, 1, &locality));
    CHECK_INT(locality_strip(&stage.workshop.call, &stage.problem, &stage.model, 0, &locality), 0);
    stage_close(&stage);
    synthetic_free(&s);
}

static void swap_bones(const Stage *stage) {
    for (int i = 0; i < 2 * stage->problem.vertices; i++) {
        if (stage->model.bone[i] >= 0) {
            stage->model.bone[i] = 1 - stage->model.bone[i];
        }
    }
}

TEST(regions_that_lose_their_place_bring_the_last_model_back) {
    Stage stage;
    Locality unused;
    Descent descent;
    int bone[800];
    double weight[800];
    Synthetic s = open_strip(&stage, &unused);
    const size_t all = 2 * (size_t)stage.problem.vertices;
    CHECK(descent_make(&stage.workshop.call, &stage.problem, &stage.model, &descent));
    descent_restart(&descent);
    CHECK_INT(descent_run(&descent, 1, 0, -1), DESCENT_UNFINISHED);
    const double objective = descent.objective;
    memcpy(bone, stage.model.bone, all * sizeof *bone);
    memcpy(weight, stage.model.weight, all * sizeof *weight);
    swap_bones(&stage);
    descent.keep = 0;
    CHECK_INT(descent_run(&descent, 5, 0, -1), DESCENT_CONVERGED);
    CHECK(descent.objective == objective);
    CHECK(memcmp(bone, stage.model.bone, all * sizeof *bone) == 0);
    CHECK(memcmp(weight, stage.model.weight, all * sizeof *weight) == 0);
    stage_close(&stage);
    synthetic_free(&s);
}

TEST(a_model_without_weights_may_use_every_bone) {
    Stage stage;
    Locality locality;
    Synthetic s = open_strip(&stage, &locality);
    for (int i = 0; i < 2 * stage.problem.vertices; i++) {
        stage.model.bone[i] = -1;
        stage.model.weight[i] = 0;
    }
    CHECK(locality_update(&stage.workshop.call, &stage.problem, &stage.model, 0, 1, &locality));
    for (int v = 0; v < stage.problem.vertices; v++) {
        CHECK(may_use(&locality, v, 0) && may_use(&locality, v, 1));
    }
    stage_close(&stage);
    synthetic_free(&s);
}

/* ---- of a whole call */

static void solve_and_judge(SyntheticOptions options, ossify_settings settings) {
    Synthetic s = synthetic_make(options);
    Answer answer = answer_start(&s.poses, &settings);
    CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
    check_rig(&s.poses, &answer.rig, settings.bone_kind == OSSIFY_RIGID);
    judge_locality(&s.poses, &answer.rig);
    CHECK(faint_share(&s.poses, &answer.rig) < 0.03);
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(influence_is_local_on_every_kind_of_mesh) {
    for (int shape = 0; shape < 3; shape++) {
        for (int shells = 1; shells <= 3; shells += 2) {
            for (int faceless = 0; faceless < 2; faceless++) {
                SyntheticOptions options = {.shape = (Shape)shape,
                                            .vertices = 240,
                                            .frames = 10,
                                            .bones = 6,
                                            .influences = 4,
                                            .noise = 0.02,
                                            .shells = shells,
                                            .faceless = faceless,
                                            .seed = 2};
                test_case("shape %d, %d shells, faceless %d", shape, shells, faceless);
                solve_and_judge(options, plain_settings(8));
            }
        }
    }
}

TEST(influence_is_local_for_every_setting) {
    for (int quality = OSSIFY_DRAFT; quality <= OSSIFY_BEST; quality++) {
        for (int kind = OSSIFY_RIGID; kind <= OSSIFY_FLEXIBLE; kind++) {
            for (int smooth = 0; smooth < 3; smooth++) {
                SyntheticOptions options = {.shape = SHAPE_TUBE,
                                            .vertices = SLOW_BUILD ? 120 : 240,
                                            .frames = 8,
                                            .bones = 5,
                                            .influences = 3,
                                            .noise = 0.05,
                                            .seed = 3};
                ossify_settings settings = plain_settings(7);
                settings.quality = quality;
                settings.bone_kind = kind;
                settings.smoothness = smooth == 0 ? 0 : pow(20, smooth - 1);
                test_case("quality %d, kind %d, smoothness %g", quality, kind, settings.smoothness);
                solve_and_judge(options, settings);
            }
        }
    }
}

/* Mean squared difference of weights across the edges of the faces. */
static double roughness(const ossify_poses *poses, const ossify_rig *rig) {
    double sum = 0;
    for (int64_t i = 0; i < 3 * poses->triangle_count; i++) {
        int64_t v = poses->triangles[i], u = poses->triangles[i % 3 == 2 ? i - 2 : i + 1];
        for (int64_t b = 0; b < rig->bones; b++) {
            double apart = 0;
            for (int64_t k = 0; k < rig->influences; k++) {
                apart += rig->influence_bones[v * rig->influences + k] == b
                             ? rig->influence_weights[v * rig->influences + k]
                             : 0;
                apart -= rig->influence_bones[u * rig->influences + k] == b
                             ? rig->influence_weights[u * rig->influences + k]
                             : 0;
            }
            sum += apart * apart;
        }
    }
    return sum / (3 * (double)poses->triangle_count);
}

TEST(more_smoothness_gives_smoother_weights) {
    SyntheticOptions options = {
        .vertices = 300, .frames = 12, .bones = 4, .influences = 2, .noise = 0.1, .seed = 5};
    Synthetic s = synthetic_make(options);
    double last = INFINITY;
    for (int step = 0; step < 3; step++) {
        ossify_settings settings = plain_settings(4);
        Answer answer = answer_start(&s.poses, &settings);
        double now;
        settings.smoothness = step == 0 ? 0 : pow(30, step - 1);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        now = roughness(&s.poses, &answer.rig);
        test_case("smoothness %g", settings.smoothness);
        CHECK(now < last);
        last = now;
        answer_free(&answer);
    }
    synthetic_free(&s);
}
