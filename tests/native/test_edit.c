/* test_edit.c - what a bone is worth and one bone more, against bones taken away and put back by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 5, K = 2 };

static Synthetic make_rig(double noise) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = 300,
                                .frames = 10,
                                .bones = BONES,
                                .influences = K,
                                .noise = noise,
                                .seed = 3};
    return synthetic_make(options);
}

static ossify_settings settings_of(void) {
    ossify_settings settings = plain_settings(BONES);
    settings.influences = K;
    settings.locality = 0;
    settings.rest_mode = OSSIFY_REST_FIXED;
    return settings;
}

/* A copy of the rig with room for `capacity` bones, less bone `gone` (-1: none); `gone` gives its weights to
 * `heir`. The last bone takes its number. */
static Answer rig_without(const Synthetic *s, int64_t capacity, int gone, int heir) {
    ossify_settings settings = settings_of();
    const int last = BONES - 1;
    Answer answer;
    settings.bones = capacity;
    answer = answer_start(&s->poses, &settings);
    answer.rig.bones = gone < 0 ? BONES : last;
    for (int64_t i = 0; i < K * s->poses.vertex_count; i++) {
        answer.rig.influence_bones[i] = -1;
    }
    answer.rig.given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    memcpy(answer.rig.rest, s->truth.rest, 3 * (size_t)s->poses.vertex_count * sizeof(float));
    for (int64_t f = 0; f < s->poses.frame_count; f++) {
        for (int b = 0; b < answer.rig.bones; b++) {
            memcpy(answer.rig.transforms + 12 * (f * capacity + b),
                   s->truth.transforms + 12 * (f * BONES + (b == gone ? last : b)), 12 * sizeof(double));
        }
    }
    for (int64_t v = 0; v < s->poses.vertex_count; v++) {
        int used = 0;
        for (int k = 0; k < K; k++) {
            int32_t b = s->truth.influence_bones[K * v + k];
            float w = s->truth.influence_weights[K * v + k];
            int at = used;
            b = b == gone ? heir : b;
            b = gone >= 0 && b == last ? gone : b;
            if (b < 0 || w <= 0) {
                continue;
            }
            for (int j = 0; j < used; j++) {
                at = answer.rig.influence_bones[K * v + j] == b ? j : at;
            }
            answer.rig.influence_bones[K * v + at] = b;
            answer.rig.influence_weights[K * v + at] += w;
            used += at == used;
        }
    }
    return answer;
}

static double percent(const Synthetic *s, double rms) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    for (int64_t i = 0; i < 3 * s->poses.vertex_count; i++) {
        low[i % 3] = fmin(low[i % 3], (double)s->rest[i]);
        high[i % 3] = fmax(high[i % 3], (double)s->rest[i]);
    }
    for (int i = 0; i < 3; i++) {
        square += (high[i] - low[i]) * (high[i] - low[i]);
    }
    return 100 * rms / sqrt(square);
}

/* With the bone gone and no transform changed, solving the weights gives the price; the price is a local search
 * and may be somewhat too high. */
TEST(a_bone_costs_what_its_loss_does) {
    Synthetic s = make_rig(0.01);
    ossify_settings settings = settings_of();
    ossify_info info = {.struct_size = sizeof info};
    double costs[BONES];
    const double now = percent(&s, replay_error(&s.poses, &s.truth, NULL));
    CHECK_INT(ossify_bone_costs(&s.poses, &settings, &s.truth, costs, &info), OSSIFY_CONVERGED);
    CHECK_NEAR(info.rms_percent, now, 1e-6 * now);
    for (int b = 0; b < BONES; b++) {
        Answer answer = rig_without(&s, BONES, b, (b + 1) % BONES);
        uint8_t held[10 * BONES];
        double without;
        memset(held, 1, sizeof held);
        answer.rig.held_transforms = held;
        settings.iterations = 30;
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        without = percent(&s, replay_error(&s.poses, &answer.rig, NULL)) - now;
        test_case("bone %d", b);
        CHECK(costs[b] > 0.98 * without);
        CHECK(costs[b] < 1.05 * without);
        answer_free(&answer);
    }
    synthetic_free(&s);
}

TEST(a_bone_that_nobody_follows_costs_nothing) {
    Synthetic s = make_rig(0.01);
    ossify_settings settings = settings_of();
    Answer answer = rig_without(&s, BONES, 2, 3);
    double costs[BONES];
    answer.rig.bones = BONES; /* the last one is there, and idle */
    for (int64_t f = 0; f < s.poses.frame_count; f++) {
        memcpy(answer.rig.transforms + 12 * (f * BONES + 4), s.truth.transforms + 12 * (f * BONES + 2),
               12 * sizeof(double));
    }
    for (int local = 0; local < 2; local++) {
        settings.locality = local;
        CHECK(ossify_bone_costs(&s.poses, &settings, &answer.rig, costs, &answer.info) >= 0);
        CHECK(costs[4] == 0);
        for (int b = 0; b < 4; b++) {
            CHECK(costs[b] > 0);
        }
    }
    answer_free(&answer);
    synthetic_free(&s);
}

static int64_t changed_vertices(const Synthetic *s, const ossify_rig *a, const ossify_rig *b) {
    int64_t changed = 0;
    for (int64_t v = 0; v < s->poses.vertex_count; v++) {
        changed +=
            memcmp(a->influence_weights + K * v, b->influence_weights + K * v, K * sizeof(float)) != 0 ||
            memcmp(a->influence_bones + K * v, b->influence_bones + K * v, K * sizeof(int32_t)) != 0;
    }
    return changed;
}

/* A bone is taken away, its neighbour carrying its vertices: asked for one more, the worst place is there, and
 * after a refit the rig is as good as before. */
TEST(a_bone_is_added_where_one_is_missing) {
    for (int gone = 0; gone < BONES; gone++) {
        Synthetic s = make_rig(0);
        ossify_settings settings = settings_of();
        Answer before = rig_without(&s, BONES, gone, (gone + 1) % BONES);
        Answer answer = answer_of(&s.poses, &before.rig);
        double without = replay_error(&s.poses, &before.rig, NULL);
        test_case("bone %d", gone);
        CHECK_INT(ossify_add_bone(&s.poses, &settings, &answer.rig, -1, -1, &answer.info), 0);
        CHECK_INT(answer.rig.bones, BONES);
        check_rig(&s.poses, &answer.rig, 1);
        CHECK_NEAR(answer.info.rms_percent, percent(&s, replay_error(&s.poses, &answer.rig, NULL)), 1e-9);
        for (int64_t f = 0; f < s.poses.frame_count; f++) { /* no other bone has moved */
            CHECK(memcmp(answer.rig.transforms + 12 * f * BONES, before.rig.transforms + 12 * f * BONES,
                         12 * (BONES - 1) * sizeof(double)) == 0);
        }
        CHECK(changed_vertices(&s, &answer.rig, &before.rig) < s.poses.vertex_count / 2);
        settings.iterations = 200;
        settings.quality = OSSIFY_BEST;
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        CHECK(replay_error(&s.poses, &answer.rig, NULL) < 0.02 * without);
        answer_free(&answer);
        answer_free(&before);
        synthetic_free(&s);
    }
}

/* On a rig that leaves no error there is nothing to gain, and nothing is lost. */
TEST(a_bone_added_to_a_perfect_rig_costs_nothing) {
    for (int place = 0; place < 2; place++) {
        Synthetic s = make_rig(0);
        ossify_settings settings = settings_of();
        Answer answer = rig_without(&s, BONES + 1, -1, -1);
        const double before = replay_error(&s.poses, &answer.rig, NULL);
        CHECK(ossify_add_bone(&s.poses, &settings, &answer.rig, place ? 17 : -1, -1, &answer.info) >= 0);
        CHECK_INT(answer.rig.bones, BONES + 1);
        check_rig(&s.poses, &answer.rig, 1);
        CHECK(replay_error(&s.poses, &answer.rig, NULL) <= before + 1e-7);
        answer_free(&answer);
        synthetic_free(&s);
    }
}

/* Two true bones that were made one are parted along the line between them. */
TEST(a_split_parts_what_moves_apart) {
    for (int named = 0; named < 2; named++) {
        Synthetic s = make_rig(0.001);
        ossify_settings settings = settings_of();
        Answer answer = rig_without(&s, BONES, 4, 3);
        int64_t vertex = -1, right = 0, all = 0;
        for (int64_t v = 0; v < s.poses.vertex_count && named; v++) {
            vertex = s.truth.influence_bones[K * v] == 4 ? v : vertex;
        }
        CHECK(ossify_add_bone(&s.poses, &settings, &answer.rig, vertex, 3, &answer.info) >= 0);
        check_rig(&s.poses, &answer.rig, 1);
        for (int64_t v = 0; v < s.poses.vertex_count; v++) {
            int32_t was = s.truth.influence_bones[K * v], is = answer.rig.influence_bones[K * v];
            if (s.truth.influence_weights[K * v] < 0.9f) {
                continue;
            }
            if (was < 3) { /* not asked for */
                CHECK_INT(is, was);
                continue;
            }
            CHECK(is == 3 || is == 4);
            right += is == was;
            all++;
        }
        test_case("vertex %d", (int)vertex);
        CHECK(all > 20);
        CHECK(right == all || (right == 0 && !named)); /* unless named, either may be the new one */
        answer_free(&answer);
        synthetic_free(&s);
    }
}

TEST(an_added_bone_leaves_alone_what_is_held) {
    Synthetic s = make_rig(0.02);
    ossify_settings settings = settings_of();
    Answer before = rig_without(&s, BONES, 2, 3), answer = answer_of(&s.poses, &before.rig);
    uint8_t held[400] = {0};
    const uint8_t groups[BONES] = {0, 1, 0, 0, 0};
    for (int v = 0; v < 400; v += 2) {
        held[v] = 1;
    }
    answer.rig.held_vertices = held;
    answer.rig.held_groups = groups;
    CHECK(ossify_add_bone(&s.poses, &settings, &answer.rig, -1, -1, &answer.info) >= 0);
    CHECK(changed_vertices(&s, &answer.rig, &before.rig) > 0);
    for (int64_t i = 0; i < K * s.poses.vertex_count; i++) {
        CHECK(!held[i / K] || answer.rig.influence_bones[i] == before.rig.influence_bones[i]);
        if (before.rig.influence_bones[i] == 1) {
            float kept = -1;
            for (int64_t j = i / K * K; j < i / K * K + K; j++) {
                kept = answer.rig.influence_bones[j] == 1 ? answer.rig.influence_weights[j] : kept;
            }
            CHECK(kept == before.rig.influence_weights[i]);
        }
    }
    answer_free(&answer);
    answer_free(&before);
    synthetic_free(&s);
}

/* One thing wrong at a time. */
TEST(edits_that_cannot_be_are_refused) {
    Synthetic s = make_rig(0.02);
    uint8_t all[400];
    ossify_settings settings = settings_of();
    double costs[BONES];
    memset(all, 1, sizeof all);
    for (int what = 0; what < 7; what++) {
        Answer answer = rig_without(&s, what == 2 ? BONES - 1 : BONES, 2, 3),
               before = answer_of(&s.poses, &answer.rig);
        int64_t vertex = what == 0 ? s.poses.vertex_count : -1, split = what == 1 ? 4 : what == 3 ? 0 : -1;
        static const char *const SAYS[7] = {"vertex is ",
                                            "split is 4",
                                            "rig.bones is 4 and so is rig.bone_capacity",
                                            "rig.held_groups[0] is set: a bone that keeps its weights",
                                            "no vertex is free to follow a new bone",
                                            "costs is NULL",
                                            "influence_weights[7] sum to"};
        if (what == 3) {
            answer.rig.held_groups = all;
        }
        if (what == 4) {
            answer.rig.held_vertices = all;
        }
        if (what == 6) {
            answer.rig.influence_weights[K * 7] = before.rig.influence_weights[K * 7] = 0.25f;
        }
        test_case("%s", SAYS[what]);
        CHECK_INT(what < 5 ? ossify_add_bone(&s.poses, &settings, &answer.rig, vertex, split, &answer.info)
                           : ossify_bone_costs(&s.poses, &settings, &answer.rig, what == 5 ? NULL : costs,
                                               &answer.info),
                  OSSIFY_BAD_ARGUMENT);
        CHECK_SAYS(answer.info.message, SAYS[what]);
        CHECK(rigs_are_equal(&s.poses, &answer.rig, &before.rig));
        answer_free(&answer);
        answer_free(&before);
    }
    synthetic_free(&s);
}

/* A triangle of another mesh. */
TEST(edits_refuse_triangles_without_such_a_vertex) {
    Synthetic s = make_rig(0.02);
    ossify_settings settings = settings_of();
    Answer answer = rig_without(&s, BONES, 2, 3);
    double costs[BONES];
    s.triangles[5] = 3000000;
    CHECK_INT(ossify_bone_costs(&s.poses, &settings, &answer.rig, costs, &answer.info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(answer.info.message, "triangles[1][2] is 3000000");
    CHECK_INT(ossify_add_bone(&s.poses, &settings, &answer.rig, -1, -1, &answer.info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(answer.info.message, "triangles[1][2] is 3000000");
    answer_free(&answer);
    synthetic_free(&s);
}
