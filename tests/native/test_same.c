/* test_same.c - the same motion gives the same answer: on any number of threads and any processor to the
 * bit; moved, scaled or in another order, the moved, scaled or reordered answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/portable.h"
#include "base/random.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

/* ---- threads */

static void check_threads(const Synthetic *s, ossify_settings settings, const ossify_rig *given) {
    static const int threads[] = {2, 5};
    Answer first = given ? answer_of(&s->poses, given) : answer_start(&s->poses, &settings);
    settings.threads = 1;
    CHECK(ossify_decompose(&s->poses, &settings, &first.rig, &first.info) >= 0);
    for (int t = 0; t < 2; t++) {
        Answer other = given ? answer_of(&s->poses, given) : answer_start(&s->poses, &settings);
        settings.threads = threads[t];
        CHECK_INT(ossify_decompose(&s->poses, &settings, &other.rig, &other.info), first.info.status);
        CHECK(rigs_are_equal(&s->poses, &first.rig, &other.rig));
        CHECK(memcmp(&first.info.erms, &other.info.erms, sizeof(double)) == 0);
        CHECK_INT(other.info.iterations, first.info.iterations);
        answer_free(&other);
    }
    answer_free(&first);
}

TEST(any_number_of_threads_gives_the_same_bits) {
    for (int way = 0; way < 8; way++) {
        SyntheticOptions options = {.shape = (Shape)(way % 3),
                                    .vertices = 200,
                                    .frames = 9,
                                    .bones = 5,
                                    .influences = 4,
                                    .noise = 0.02,
                                    .flexible = way % 2,
                                    .shells = 1 + way / 4};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = plain_settings(6);
        settings.bone_kind = way % 2;
        settings.locality = way / 2 % 2;
        settings.rest_mode = way % 3;
        settings.quality = way < 6 ? OSSIFY_NORMAL : way == 6 ? OSSIFY_BEST : OSSIFY_DRAFT;
        settings.iterations = 10;
        settings.start = way % 4;
        settings.jointed = way == 0 || way == 6;
        test_case("quality %d, flexible %d, locality %d", (int)settings.quality, way % 2, way / 2 % 2);
        check_threads(&s, settings, NULL);
        synthetic_free(&s);
    }
}

TEST(any_number_of_threads_refits_to_the_same_bits) {
    SyntheticOptions options = {.vertices = 200, .frames = 9, .bones = 5, .noise = 0.02};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(5);
    settings.influences = 2;
    for (int given = 1; given <= 3; given++) {
        s.truth.given = given;
        test_case("given %d", given);
        check_threads(&s, settings, &s.truth);
    }
    synthetic_free(&s);
}

TEST(any_number_of_threads_finds_the_same_budget) {
    SyntheticOptions options = {.vertices = 200, .frames = 9, .bones = 5, .noise = 0.01};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(12);
    settings.quality = OSSIFY_DRAFT;
    settings.budget_kind = OSSIFY_BUDGET_RMS;
    settings.budget = 1;
    check_threads(&s, settings, NULL);
    synthetic_free(&s);
}

/* Enough vertices and frames to be thinned first. */
TEST(any_number_of_threads_thins_to_the_same_bits) {
    SyntheticOptions options = {.vertices = 1700, .frames = 30, .bones = 5, .noise = 0.02, .faceless = 1};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(5);
    settings.quality = OSSIFY_DRAFT;
    check_threads(&s, settings, NULL);
    synthetic_free(&s);
}

TEST(the_same_call_gives_the_same_bits_again) {
    SyntheticOptions options = {.vertices = 200, .frames = 9, .bones = 5, .noise = 0.02};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(6);
    Answer a = answer_start(&s.poses, &settings), b = answer_start(&s.poses, &settings);
    settings.quality = OSSIFY_BEST;
    settings.seed = -3;
    CHECK(ossify_decompose(&s.poses, &settings, &a.rig, &a.info) >= 0);
    CHECK(ossify_decompose(&s.poses, &settings, &b.rig, &b.info) >= 0);
    CHECK(rigs_are_equal(&s.poses, &a.rig, &b.rig));
    answer_free(&a);
    answer_free(&b);
    synthetic_free(&s);
}

/* ---- processors */

/* Vectors of two doubles or of four: whatever the processor has, other ones have less. */
TEST(narrow_and_wide_vectors_give_the_same_bits) {
    for (int way = 0; way < 6; way++) {
        SyntheticOptions options = {.shape = (Shape)(way % 3),
                                    .vertices = 300,
                                    .frames = 11,
                                    .bones = 6,
                                    .influences = 4,
                                    .noise = 0.02,
                                    .flexible = way % 2};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = plain_settings(7);
        settings.bone_kind = way % 2;
        settings.start = way % 4;
        settings.jointed = way == 0;
        Answer wide = answer_start(&s.poses, &settings), narrow = answer_start(&s.poses, &settings);
        test_case("way %d", way);
        CHECK(ossify_decompose(&s.poses, &settings, &wide.rig, &wide.info) >= 0);
        portable_allow_wide(0);
        CHECK_INT(ossify_decompose(&s.poses, &settings, &narrow.rig, &narrow.info), wide.info.status);
        portable_allow_wide(1);
        CHECK(rigs_are_equal(&s.poses, &wide.rig, &narrow.rig));
        CHECK(memcmp(&wide.info.erms, &narrow.info.erms, sizeof(double)) == 0);
        answer_free(&wide);
        answer_free(&narrow);
        synthetic_free(&s);
    }
}

/* ---- places, sizes, orders */

enum { BONES = 4, FRAMES = 10 };

static Synthetic known_rig(double noise) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = 200,
                                .frames = FRAMES,
                                .bones = BONES,
                                .influences = 2,
                                .noise = noise,
                                .seed = 11};
    return synthetic_make(options);
}

static ossify_settings known_settings(void) {
    ossify_settings settings = plain_settings(BONES);
    settings.influences = 2;
    return settings;
}

static Answer solve(const Synthetic *s, ossify_settings settings) {
    Answer answer = answer_start(&s->poses, &settings);
    CHECK(ossify_decompose(&s->poses, &settings, &answer.rig, &answer.info) >= 0);
    check_rig(&s->poses, &answer.rig, settings.bone_kind == OSSIFY_RIGID);
    return answer;
}

/* p <- size p + place, for the rest and, each with a place of its own, for the frames. */
static void transform_poses(Synthetic *s, double size, double place, double frame_place) {
    int64_t n = 3 * s->poses.vertex_count;
    for (int64_t i = 0; i < n; i++) {
        s->rest[i] = (float)(size * s->rest[i] + place * (double)(i % 3 - 1));
    }
    for (int64_t i = 0; i < n * FRAMES; i++) {
        s->frames[i] = (float)(size * s->frames[i] + frame_place * (double)(i % 3 - 1));
    }
}

/* Powers of two round nothing: the answer is the scaled one to the bit. */
TEST(a_mesh_scaled_by_powers_of_two_gives_the_scaled_bits) {
    static const double sizes[] = {0x1p-60, 0x1p-20, 2, 0x1p60};
    for (int local = 0; local < 2; local++) {
        ossify_settings settings = known_settings();
        Synthetic s = known_rig(0.01);
        Answer plain;
        settings.locality = local;
        plain = solve(&s, settings);
        for (int i = 0; i < 4; i++) {
            Synthetic t = known_rig(0.01);
            Answer scaled;
            transform_poses(&t, sizes[i], 0, 0);
            test_case("size %g, locality %d", sizes[i], local);
            scaled = solve(&t, settings);
            CHECK_INT(scaled.rig.bones, plain.rig.bones);
            CHECK(scaled.info.erms == plain.info.erms);
            CHECK(memcmp(scaled.rig.influence_weights, plain.rig.influence_weights,
                         2 * (size_t)s.poses.vertex_count * sizeof(float)) == 0);
            for (int j = 0; j < FRAMES * BONES * 12; j++) {
                CHECK(scaled.rig.transforms[j] == plain.rig.transforms[j] * (j % 4 == 3 ? sizes[i] : 1));
            }
            for (int64_t v = 0; v < 3 * s.poses.vertex_count; v++) {
                CHECK(scaled.rig.rest[v] == (float)(plain.rig.rest[v] * sizes[i]));
            }
            answer_free(&scaled);
            synthetic_free(&t);
        }
        answer_free(&plain);
        synthetic_free(&s);
    }
}

/* Positions are rounded anew, so that bits differ; errors do not. */
TEST(a_mesh_scaled_by_anything_gives_the_same_error) {
    static const double sizes[] = {1e-18, 1e-3, 3, 1e18, 1e28};
    for (int noisy = 0; noisy < 2; noisy++) {
        ossify_settings settings = known_settings();
        Synthetic s = known_rig(noisy * 0.01);
        Answer plain;
        settings.locality = 0;
        settings.quality = OSSIFY_BEST;
        plain = solve(&s, settings);
        for (int i = 0; i < 5; i++) {
            Synthetic t = known_rig(noisy * 0.01);
            Answer scaled;
            transform_poses(&t, sizes[i], 0, 0);
            test_case("size %g, noisy %d", sizes[i], noisy);
            scaled = solve(&t, settings);
            CHECK_NEAR(scaled.info.erms, plain.info.erms, 0.01 * plain.info.erms + 1e-3);
            CHECK_NEAR(scaled.info.rms_percent, plain.info.rms_percent, 0.01 * plain.info.rms_percent + 1e-4);
            answer_free(&scaled);
            synthetic_free(&t);
        }
        answer_free(&plain);
        synthetic_free(&s);
    }
}

/* On a lattice of sixteenths, 1000 across, a million away is as exact as here. */
TEST(a_mesh_far_from_the_origin_loses_nothing) {
    for (int kind = OSSIFY_RIGID; kind <= OSSIFY_FLEXIBLE; kind++) {
        ossify_settings settings = known_settings();
        Synthetic s = known_rig(0), t = known_rig(0);
        Answer near, far;
        settings.bone_kind = kind;
        settings.locality = 0;
        settings.quality = OSSIFY_BEST;
        settings.rest_mode = OSSIFY_REST_FIXED; /* a corrected one would be rounded to sixteenths */
        transform_poses(&s, 1000, 0, 0);
        for (int64_t i = 0; i < 3 * s.poses.vertex_count; i++) {
            s.rest[i] = rintf(s.rest[i] * 16) / 16;
        }
        for (int64_t i = 0; i < 3 * s.poses.vertex_count * FRAMES; i++) {
            s.frames[i] = rintf(s.frames[i] * 16) / 16;
        }
        memcpy(t.rest, s.rest, 3 * (size_t)s.poses.vertex_count * sizeof(float));
        memcpy(t.frames, s.frames, 3 * (size_t)s.poses.vertex_count * FRAMES * sizeof(float));
        transform_poses(&t, 1, 1e6, -1e6);
        near = solve(&s, settings);
        far = solve(&t, settings);
        test_case("kind %d", kind);
        CHECK(near.info.erms < 0.1);
        CHECK_NEAR(far.info.erms, near.info.erms, 0.02 * near.info.erms);
        CHECK_NEAR(replay_error(&t.poses, &far.rig, NULL), replay_error(&s.poses, &near.rig, NULL),
                   0.02 * replay_error(&s.poses, &near.rig, NULL));
        answer_free(&near);
        answer_free(&far);
        synthetic_free(&s);
        synthetic_free(&t);
    }
}

/* Away from the origin by far more than its size, where positions are coarse: as good as they allow. */
TEST(a_small_mesh_far_from_the_origin_is_solved_to_its_rounding) {
    ossify_settings settings = known_settings();
    Synthetic s = known_rig(0);
    Answer answer;
    settings.rest_mode = OSSIFY_REST_FIXED;
    transform_poses(&s, 10, 1e6, 1e6); /* positions are multiples of 1/16 */
    answer = solve(&s, settings);
    CHECK(replay_error(&s.poses, &answer.rig, NULL) < 0.08);
    answer_free(&answer);
    synthetic_free(&s);
}

static void shuffle(int64_t n, uint64_t seed, int64_t *order) {
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = random_below(&seed, (int)i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

static Synthetic reordered_vertices(const Synthetic *s, double noise, const int64_t *order) {
    Synthetic t = known_rig(noise);
    int64_t n = s->poses.vertex_count;
    int32_t *where = malloc((size_t)n * sizeof *where);
    for (int64_t v = 0; v < n; v++) { /* vertex v of the new mesh is order[v] of the old one */
        where[order[v]] = (int32_t)v;
        memcpy(t.rest + 3 * v, s->rest + 3 * order[v], 3 * sizeof(float));
        for (int64_t f = 0; f < FRAMES; f++) {
            memcpy(t.frames + 3 * (f * n + v), s->frames + 3 * (f * n + order[v]), 3 * sizeof(float));
        }
    }
    for (int64_t i = 0; i < 3 * s->poses.triangle_count; i++) {
        t.triangles[i] = where[s->triangles[i]];
    }
    free(where);
    return t;
}

/* Sums over vertices that run in the caller's order are rounded differently: the frames' centres. */
TEST(vertices_in_another_order_give_the_same_answer) {
    for (int noisy = 0; noisy < 2; noisy++) {
        double noise = noisy * 0.01;
        Synthetic s = known_rig(noise), t;
        int64_t n = s.poses.vertex_count, *order = malloc((size_t)n * sizeof *order);
        ossify_settings settings = known_settings();
        Answer plain, other;
        shuffle(n, 3, order);
        t = reordered_vertices(&s, noise, order);
        plain = solve(&s, settings);
        other = solve(&t, settings);
        test_case("noisy %d", noisy);
        CHECK_INT(other.rig.bones, plain.rig.bones);
        CHECK_NEAR(other.info.erms, plain.info.erms, 1e-4 * plain.info.erms + 1e-5);
        for (int64_t v = 0; v < n && !test_failed(); v++) {
            for (int k = 0; k < 2; k++) {
                CHECK_INT(other.rig.influence_bones[2 * v + k], plain.rig.influence_bones[2 * order[v] + k]);
                CHECK_NEAR(other.rig.influence_weights[2 * v + k],
                           plain.rig.influence_weights[2 * order[v] + k], 1e-3);
            }
        }
        answer_free(&plain);
        answer_free(&other);
        free(order);
        synthetic_free(&s);
        synthetic_free(&t);
    }
}

/* The bone of `b` that moves the middle of the mesh as bone a of `a` does, in all frames; or -1. */
static int64_t twin_of(const ossify_rig *a, int64_t bone, const ossify_rig *b, const int64_t *order) {
    for (int64_t twin = 0; twin < b->bones; twin++) {
        double apart = 0;
        for (int64_t f = 0; f < FRAMES; f++) {
            for (int i = 0; i < 12; i++) {
                apart = fmax(apart, fabs(a->transforms[12 * (order[f] * a->bone_capacity + bone) + i] -
                                         b->transforms[12 * (f * b->bone_capacity + twin) + i]));
            }
        }
        if (apart < 1e-3) {
            return twin;
        }
    }
    return -1;
}

TEST(frames_in_another_order_give_the_same_bones) {
    Synthetic s = known_rig(0), t = known_rig(0);
    size_t size = 3 * (size_t)s.poses.vertex_count;
    ossify_settings settings = known_settings();
    int64_t order[FRAMES];
    Answer plain, other;
    settings.locality = 0;
    settings.quality = OSSIFY_BEST;
    shuffle(FRAMES, 4, order);
    for (int64_t f = 0; f < FRAMES; f++) {
        memcpy(t.frames + (size_t)f * size, s.frames + (size_t)order[f] * size, size * sizeof(float));
    }
    plain = solve(&s, settings);
    other = solve(&t, settings);
    CHECK(plain.info.erms < 1e-3 && other.info.erms < 1e-3);
    for (int64_t b = 0; b < BONES; b++) {
        CHECK(twin_of(&plain.rig, b, &other.rig, order) >= 0);
    }
    answer_free(&plain);
    answer_free(&other);
    synthetic_free(&s);
    synthetic_free(&t);
}

/* Each frame carried somewhere else as a whole: the bones follow, the error stays. */
TEST(frames_moved_as_a_whole_give_the_same_error) {
    Synthetic s = known_rig(0.01), t = known_rig(0.01);
    int64_t n = s.poses.vertex_count;
    ossify_settings settings = known_settings();
    Answer plain, moved;
    for (int64_t i = 0; i < 3 * n * FRAMES; i++) {
        double far = 20.0 * (double)(i / (3 * n)) - 100;
        t.frames[i] = (float)(s.frames[i] + far);
        s.frames[i] = (float)((double)t.frames[i] - far); /* rounded alike */
    }
    plain = solve(&s, settings);
    moved = solve(&t, settings);
    CHECK_NEAR(moved.info.erms, plain.info.erms, 0.02 * plain.info.erms);
    answer_free(&plain);
    answer_free(&moved);
    synthetic_free(&s);
    synthetic_free(&t);
}
