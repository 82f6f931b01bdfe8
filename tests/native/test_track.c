/* test_track.c - transforms for given weights: exact motions come back, slopes vanish, nothing gets worse. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { FAIRNESS = 10, BONES = 6, FRAMES = 10, VERTICES = 300, MOST_VERTICES = 400 };

static uint8_t EVERYONE[MOST_VERTICES];

static Synthetic moving(double noise) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = VERTICES,
                                .frames = FRAMES,
                                .bones = BONES,
                                .influences = 3,
                                .motion = 2.0,
                                .noise = noise,
                                .seed = 3};
    return synthetic_make(options);
}

static ossify_settings track_settings(const Synthetic *s) {
    ossify_settings settings = plain_settings(s->truth.bones);
    settings.influences = s->truth.influences;
    settings.rest_mode = OSSIFY_REST_FIXED;
    return settings;
}

/* The true weights, held; transforms are given if `given` is not NULL. */
static Answer track_from(const Synthetic *s, const ossify_rig *given, ossify_settings settings) {
    Answer answer = answer_of(&s->poses, given ? given : &s->truth);
    CHECK(s->poses.vertex_count <= MOST_VERTICES);
    memset(EVERYONE, 1, sizeof EVERYONE);
    answer.rig.held_vertices = EVERYONE;
    answer.rig.held_transforms = given ? given->held_transforms : NULL;
    answer.rig.given = given ? OSSIFY_GIVEN_WEIGHTS | OSSIFY_GIVEN_TRANSFORMS : OSSIFY_GIVEN_WEIGHTS;
    if (!given) {
        memset(answer.rig.transforms, 0,
               (size_t)(12 * s->poses.frame_count * answer.rig.bone_capacity) * sizeof(double));
    }
    CHECK(ossify_decompose(&s->poses, &settings, &answer.rig, &answer.info) >= 0);
    check_rig(&s->poses, &answer.rig, 1);
    return answer;
}

/* Every bone of every frame turned and moved, each by another amount. */
static Answer strayed(const Synthetic *s, double off) {
    Answer answer = answer_of(&s->poses, &s->truth);
    for (int64_t i = 0; i < s->poses.frame_count * s->truth.bones; i++) {
        double *m = answer.rig.transforms + 12 * i, angle = off * sin((double)(3 * i + 1));
        int a = (int)(i % 3), b = (a + 1) % 3;
        for (int k = 0; k < 4; k++) {
            double x = m[4 * a + k], y = m[4 * b + k];
            m[4 * a + k] = cos(angle) * x - sin(angle) * y + (k == 3 ? 0.1 * angle : 0);
            m[4 * b + k] = sin(angle) * x + cos(angle) * y;
        }
    }
    return answer;
}

static void turned(const double *m, const float *p, double y[3]) {
    for (int a = 0; a < 3; a++) {
        y[a] = m[4 * a] * p[0] + m[4 * a + 1] * p[1] + m[4 * a + 2] * p[2];
    }
}

/* y - x of a vertex */
static void residual(const ossify_poses *poses, const ossify_rig *rig, int64_t f, int64_t v, double d[3]) {
    for (int a = 0; a < 3; a++) {
        d[a] = -(double)poses->frames[3 * (f * poses->vertex_count + v) + a];
    }
    for (int64_t k = v * rig->influences; k < (v + 1) * rig->influences; k++) {
        if (rig->influence_bones[k] >= 0) {
            const double *m = rig->transforms + 12 * (f * rig->bone_capacity + rig->influence_bones[k]);
            double y[3];
            turned(m, rig->rest + 3 * v, y);
            for (int a = 0; a < 3; a++) {
                d[a] += (double)rig->influence_weights[k] * (y[a] + m[4 * a + 3]);
            }
        }
    }
}

static double frame_error(const ossify_poses *poses, const ossify_rig *rig, int64_t f) {
    double sum = 0, d[3];
    for (int64_t v = 0; v < poses->vertex_count; v++) {
        residual(poses, rig, f, v, d);
        sum += d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    }
    return sum;
}

/* The same in the norm: sum |r|^2 + tie sum_edges |r_i - r_j|^2 */
static double frame_norm(const Synthetic *s, const ossify_rig *rig, int64_t f) {
    static int32_t edge[12 * MOST_VERTICES];
    static int64_t edges; /* of the one mesh that this is asked of */
    const int64_t n = s->poses.vertex_count;
    const double mu = FAIRNESS * fmin(1, (double)n / (200.0 * (double)rig->bones));
    double sum = frame_error(&s->poses, rig, f);
    edges = edges > 0 ? edges : edges_of_faces(&s->poses, edge);
    CHECK(n == VERTICES);
    for (int64_t e = 0; e < edges; e++) {
        double a[3], b[3];
        residual(&s->poses, rig, f, edge[2 * e], a);
        residual(&s->poses, rig, f, edge[2 * e + 1], b);
        for (int i = 0; i < 3; i++) {
            sum += mu * (double)n / (2.0 * (double)edges) * (a[i] - b[i]) * (a[i] - b[i]);
        }
    }
    return sum;
}

/* sum_v w d and sum_v w (R p) x d of one bone, against the sum of their sizes */
static void check_slope(const ossify_poses *poses, const ossify_rig *rig, int64_t f, int b) {
    const double *m = rig->transforms + 12 * (f * rig->bone_capacity + b);
    double slope[6] = {0}, size[2] = {0};
    for (int64_t k = 0; k < poses->vertex_count * rig->influences; k++) {
        if (rig->influence_bones[k] == b) {
            double w = (double)rig->influence_weights[k], d[3], y[3];
            residual(poses, rig, f, k / rig->influences, d);
            turned(m, rig->rest + 3 * (k / rig->influences), y);
            for (int a = 0; a < 3; a++) {
                int i = (a + 1) % 3, j = (a + 2) % 3;
                slope[a] += w * d[a];
                slope[3 + a] += w * (y[i] * d[j] - y[j] * d[i]);
            }
            size[0] += w * sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            size[1] += w * sqrt((y[0] * y[0] + y[1] * y[1] + y[2] * y[2]) *
                                (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
        }
    }
    test_case("frame %d, bone %d", (int)f, b);
    for (int i = 0; i < 6; i++) {
        CHECK_NEAR(slope[i] / size[i / 3], 0, 1e-5);
    }
}

/* The frames of `s` in another order, every `step`th and on from the start again, and each other one half turned. */
static void reorder(Synthetic *s, int64_t step) {
    const int64_t frame = 3 * s->poses.vertex_count, frames = s->poses.frame_count;
    float *copy = malloc((size_t)(frame * frames) * sizeof *copy);
    for (int64_t f = 0; f < frames; f++) {
        memcpy(copy + frame * f, s->frames + frame * (f * step % frames), (size_t)frame * sizeof *copy);
    }
    for (int64_t i = 0; i < frame * frames; i++) {
        s->frames[i] = i / frame % 2 == 1 && i % 3 < 2 ? -copy[i] : copy[i];
    }
    free(copy);
}

/* Other bones in every frame, and all of them in one. */
static uint8_t *some_held(void) {
    uint8_t *held = calloc(FRAMES * BONES, 1);
    for (int f = 1; f < FRAMES; f++) {
        for (int b = 0; b < BONES; b++) {
            held[f * BONES + b] = (uint8_t)(f == 4 || (f / 2 + b) % 3 == 0);
        }
    }
    return held;
}

TEST(an_exact_motion_is_tracked_exactly) {
    Synthetic s = moving(0);
    Answer answer = track_from(&s, NULL, track_settings(&s));
    CHECK_INT(answer.info.status, OSSIFY_CONVERGED);
    CHECK(replay_error(&s.poses, &answer.rig, NULL) < 1e-6);
    for (int i = 0; i < 12 * FRAMES * BONES; i++) {
        CHECK_NEAR(answer.rig.transforms[i], s.truth.transforms[i], 2e-6);
    }
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(slopes_vanish_where_a_clip_is_tracked) {
    Synthetic s = moving(0.05);
    Answer answer = track_from(&s, NULL, track_settings(&s));
    CHECK_INT(answer.info.status, OSSIFY_CONVERGED);
    for (int64_t f = 0; f < FRAMES; f++) {
        for (int b = 0; b < BONES; b++) {
            check_slope(&s.poses, &answer.rig, f, b);
        }
    }
    answer_free(&answer);
    synthetic_free(&s);
}

/* No rigid bone can follow a mesh that shrinks: what is left bends the error, and Newton's steps must know. */
TEST(a_mesh_that_shrinks_is_tracked_in_few_steps) {
    Synthetic s = moving(0);
    Answer answer;
    for (int64_t i = 0; i < 3 * FRAMES * s.poses.vertex_count; i++) {
        s.frames[i] *= 0.4f;
    }
    answer = track_from(&s, NULL, track_settings(&s));
    CHECK_INT(answer.info.status, OSSIFY_CONVERGED);
    CHECK(answer.info.iterations <= 20);
    for (int64_t f = 0; f < FRAMES; f++) {
        for (int b = 0; b < BONES; b++) {
            check_slope(&s.poses, &answer.rig, f, b);
        }
    }
    answer_free(&answer);
    synthetic_free(&s);
}

/* More frames than a run or a task of sums has: smooth, where each leads on to the next, and shuffled, where none
 * does. To a frame's error the order makes no difference, and neither does a turn. */
TEST(a_clip_is_tracked_in_any_order) {
    enum { LONG = 71, STEP = 26 };
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = VERTICES,
                                .frames = LONG,
                                .bones = BONES,
                                .influences = 3,
                                .motion = 2.0,
                                .noise = 0.01,
                                .seed = 5};
    Synthetic s = synthetic_make(options);
    Answer smooth = track_from(&s, NULL, track_settings(&s));
    double error[LONG];
    for (int64_t f = 0; f < LONG; f++) {
        error[f] = frame_error(&s.poses, &smooth.rig, f);
        for (int b = 0; b < BONES; b++) {
            check_slope(&s.poses, &smooth.rig, f, b);
        }
    }
    ossify_settings settings = track_settings(&s);
    settings.threads = 3;
    Answer threaded = track_from(&s, NULL, settings);
    CHECK(rigs_are_equal(&s.poses, &smooth.rig, &threaded.rig));
    CHECK_INT(threaded.info.iterations, smooth.info.iterations);
    CHECK(threaded.info.erms == smooth.info.erms);
    answer_free(&threaded);
    reorder(&s, STEP);
    Answer shuffled = track_from(&s, NULL, track_settings(&s));
    CHECK(shuffled.info.iterations <= 12); /* frames that do not lead on are not followed */
    for (int64_t f = 0; f < LONG; f++) {
        test_case("frame %d", (int)f);
        CHECK_NEAR(frame_error(&s.poses, &shuffled.rig, f) / error[f * STEP % LONG], 1, 1e-6);
    }
    answer_free(&smooth);
    answer_free(&shuffled);
    synthetic_free(&s);
}

/* Rotations that are led on from frame to frame stay rotations, to the last bit but a few. */
TEST(tracked_bones_stay_rigid) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = VERTICES,
                                .frames = 48,
                                .bones = BONES,
                                .motion = 1.0,
                                .noise = 0.01};
    Synthetic s = synthetic_make(options);
    Answer answer = track_from(&s, NULL, track_settings(&s));
    for (int i = 0; i < 48 * BONES; i++) {
        const double *m = answer.rig.transforms + 12 * i;
        for (int j = 0; j < 9; j++) {
            const double *a = m + 4 * (j / 3), *b = m + 4 * (j % 3);
            CHECK_NEAR(a[0] * b[0] + a[1] * b[1] + a[2] * b[2], j % 4 == 0, 3e-14);
        }
    }
    answer_free(&answer);
    synthetic_free(&s);
}

/* A bone of a frame turned and moved, a little */
static void nudge(ossify_rig *rig, int64_t f, int b, int a, double turn, double way) {
    double *m = rig->transforms + 12 * (f * rig->bone_capacity + b);
    double *x = m + 4 * ((a + 1) % 3), *y = m + 4 * ((a + 2) % 3);
    for (int k = 0; k < 3; k++) {
        const double before = x[k];
        x[k] = cos(turn) * before - sin(turn) * y[k];
        y[k] = sin(turn) * before + cos(turn) * y[k];
    }
    m[4 * a + 3] += way;
}

TEST(bones_tracked_in_the_norm_cannot_be_moved_to_less_of_it) {
    Synthetic s = moving(0.05);
    ossify_settings settings = track_settings(&s);
    Answer plain = track_from(&s, NULL, settings), start = strayed(&s, 0.2);
    settings.fairness = FAIRNESS;
    for (int given = 0; given < 2; given++) {
        Answer fair = track_from(&s, given ? &start.rig : NULL, settings);
        CHECK_INT(fair.info.status, OSSIFY_CONVERGED);
        for (int64_t f = 0; f < FRAMES; f++) {
            const double least = frame_norm(&s, &fair.rig, f);
            CHECK(least < 0.9999 * frame_norm(&s, &plain.rig, f));
            for (int i = 0; i < 12 * BONES && f % 3 == 0; i++) {
                const double step = i / 3 % 2 ? 1e-3 : -1e-3;
                Answer moved = answer_of(&s.poses, &fair.rig);
                nudge(&moved.rig, f, i / 12, i % 3, i / 6 % 2 ? step : 0, i / 6 % 2 ? 0 : step);
                test_case("given %d, frame %d, bone %d, nudge %d", given, (int)f, i / 12, i % 12);
                CHECK(frame_norm(&s, &moved.rig, f) >= least * (1 - 1e-8));
                answer_free(&moved);
            }
        }
        answer_free(&fair);
    }
    answer_free(&plain);
    answer_free(&start);
    synthetic_free(&s);
}

TEST(an_exact_motion_is_tracked_exactly_in_the_norm) {
    Synthetic s = moving(0);
    ossify_settings settings = track_settings(&s);
    settings.fairness = FAIRNESS;
    Answer answer = track_from(&s, NULL, settings);
    CHECK_INT(answer.info.status, OSSIFY_CONVERGED);
    CHECK(replay_error(&s.poses, &answer.rig, NULL) < 1e-6);
    answer_free(&answer);
    synthetic_free(&s);
}

static double left_in(const Synthetic *s, const ossify_rig *rig, int64_t f, double fairness) {
    return fairness > 0 ? frame_norm(s, rig, f) : frame_error(&s->poses, rig, f);
}

TEST(no_iteration_of_tracking_raises_a_frames_error) {
    static const double offs[] = {0, 0.01, 0.3, 2.0};
    for (int i = 0; i < 8; i++) {
        Synthetic s = moving(0.03);
        ossify_settings settings = track_settings(&s);
        settings.fairness = i < 4 ? 0 : FAIRNESS;
        Answer start = strayed(&s, offs[i % 4]);
        double error[FRAMES];
        for (int64_t f = 0; f < FRAMES; f++) {
            error[f] = left_in(&s, &start.rig, f, settings.fairness);
        }
        for (settings.iterations = 1; settings.iterations < 16; settings.iterations++) {
            Answer answer = track_from(&s, &start.rig, settings);
            test_case("off by %g, fairness %g, %d iterations", offs[i % 4], settings.fairness,
                      (int)settings.iterations);
            CHECK(answer.info.iterations <= settings.iterations);
            for (int64_t f = 0; f < FRAMES; f++) {
                double now = left_in(&s, &answer.rig, f, settings.fairness);
                CHECK(now <= error[f] * (1 + 1e-9));
                error[f] = now;
            }
            answer_free(&answer);
        }
        answer_free(&start);
        synthetic_free(&s);
    }
}

TEST(held_bones_of_a_tracked_clip_stay_and_the_others_are_best) {
    Synthetic s = moving(0.05);
    Answer start = strayed(&s, 0.2), answer;
    uint8_t *held = some_held();
    start.rig.held_transforms = held;
    answer = track_from(&s, &start.rig, track_settings(&s));
    for (int i = 0; i < FRAMES * BONES; i++) {
        if (held[i]) {
            CHECK(memcmp(answer.rig.transforms + 12 * i, start.rig.transforms + 12 * i,
                         12 * sizeof(double)) == 0);
        } else {
            check_slope(&s.poses, &answer.rig, i / BONES, i % BONES);
        }
    }
    free(held);
    answer_free(&start);
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(any_number_of_threads_tracks_to_the_same_bits) {
    Synthetic s = moving(0.05);
    ossify_settings settings = track_settings(&s);
    Answer start = strayed(&s, 0.2);
    uint8_t *held = some_held();
    start.rig.held_transforms = held;
    for (int way = 0; way < 4; way++) {
        const ossify_rig *given = way % 2 ? &start.rig : NULL;
        settings.fairness = way < 2 ? 0 : FAIRNESS;
        settings.threads = 1;
        Answer first = track_from(&s, given, settings);
        for (settings.threads = 2; settings.threads <= 3; settings.threads++) {
            Answer other = track_from(&s, given, settings);
            CHECK(rigs_are_equal(&s.poses, &first.rig, &other.rig));
            CHECK_INT(other.info.iterations, first.info.iterations);
            answer_free(&other);
        }
        answer_free(&first);
    }
    free(held);
    answer_free(&start);
    synthetic_free(&s);
}

/* Half of bone 0's weights go to bone 1, which has no others: only the sum of their motions is determined. */
TEST(twins_are_tracked_as_well_as_one_bone) {
    Synthetic s = moving(0.05);
    Answer one, two, twins = answer_of(&s.poses, &s.truth);
    for (int64_t k = 0; k < s.poses.vertex_count * s.truth.influences; k++) {
        if (s.truth.influence_bones[k] == 1) {
            s.truth.influence_bones[k] = 0;
        }
    }
    for (int64_t v = 0; v < s.poses.vertex_count; v++) {
        int32_t *bones = s.truth.influence_bones + 3 * v;
        float *weights = s.truth.influence_weights + 3 * v, zero = 0;
        for (int i = 0; i < 3; i++) {
            zero += bones[i] == 0 ? weights[i] : 0;
        }
        for (int i = 0; i < 3; i++) { /* all or nothing, so that there is room for both */
            bones[i] = zero > 0 ? (i == 0 ? 0 : -1) : bones[i];
            weights[i] = zero > 0 ? (i == 0 ? 1.0f : 0) : weights[i];
        }
        memcpy(twins.rig.influence_bones + 3 * v, bones, 3 * sizeof *bones);
        memcpy(twins.rig.influence_weights + 3 * v, weights, 3 * sizeof *weights);
        if (zero > 0) {
            twins.rig.influence_bones[3 * v + 1] = 1;
            twins.rig.influence_weights[3 * v] = twins.rig.influence_weights[3 * v + 1] = 0.5f;
        }
    }
    one = track_from(&s, NULL, track_settings(&s));
    memcpy(s.truth.influence_bones, twins.rig.influence_bones,
           3 * (size_t)s.poses.vertex_count * sizeof(int32_t));
    memcpy(s.truth.influence_weights, twins.rig.influence_weights,
           3 * (size_t)s.poses.vertex_count * sizeof(float));
    two = track_from(&s, NULL, track_settings(&s));
    CHECK(replay_error(&s.poses, &two.rig, NULL) <= replay_error(&s.poses, &one.rig, NULL) * (1 + 1e-6));
    answer_free(&one);
    answer_free(&two);
    answer_free(&twins);
    synthetic_free(&s);
}

/* More than are solved at once. */
TEST(a_hundred_bones_are_tracked) {
    SyntheticOptions options = {.vertices = 400, .frames = 3, .bones = 100, .influences = 2, .noise = 0.001};
    Synthetic s = synthetic_make(options);
    Answer answer = track_from(&s, NULL, track_settings(&s));
    CHECK_INT(answer.info.status, OSSIFY_CONVERGED);
    CHECK(replay_error(&s.poses, &answer.rig, NULL) < replay_error(&s.poses, &s.truth, NULL));
    answer_free(&answer);
    synthetic_free(&s);
}

/* How often a wish to cancel would be heard. */
static int64_t polls_of(int vertices) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .vertices = vertices, .frames = 5, .bones = BONES};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = track_settings(&s);
    Answer answer = answer_of(&s.poses, &s.truth);
    uint8_t *held = malloc((size_t)s.poses.vertex_count);
    Watcher watcher = {0};
    memset(held, 1, (size_t)s.poses.vertex_count);
    answer.rig.held_vertices = held;
    answer.rig.given = OSSIFY_GIVEN_WEIGHTS;
    watcher_join(&watcher, &settings);
    CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
    free(held);
    answer_free(&answer);
    synthetic_free(&s);
    return watcher.calls;
}

/* While vertices are gathered, and while frames are summed. */
TEST(a_larger_mesh_is_not_deaf_for_longer) {
    CHECK(polls_of(24000) - polls_of(4000) >= 2 * 20000 / 1024);
}

/* Weights spread over bones that no neighbour has: of three bones, or of as many as a vertex may have. */
static void scatter(Synthetic *s, int64_t used) {
    ossify_rig *rig = &s->truth;
    for (int64_t i = 0; i < s->poses.vertex_count * rig->influences; i++) {
        const int64_t v = i / rig->influences, k = i % rig->influences;
        rig->influence_bones[i] = k < used ? (int32_t)((7 * v + k * (v % 2 + 1)) % rig->bones) : -1;
        rig->influence_weights[i] = k < used ? 1.0F / (float)used : 0;
    }
}

/* The frames become what the rig makes of the rest. */
static void play(Synthetic *s) {
    const ossify_rig *rig = &s->truth;
    const int64_t n = s->poses.vertex_count;
    for (int64_t j = 0; j < 3 * n * s->poses.frame_count; j++) {
        const int64_t f = j / (3 * n), v = j / 3 % n, a = j % 3;
        const float *p = s->rest + 3 * v;
        double y = 0;
        for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
            const int64_t b = rig->influence_bones[i];
            const double *m = rig->transforms + 12 * (f * rig->bone_capacity + (b < 0 ? 0 : b)) + 4 * a;
            if (b >= 0) {
                y += (double)rig->influence_weights[i] *
                     (m[0] * (double)p[0] + m[1] * (double)p[1] + m[2] * (double)p[2] + m[3]);
            }
        }
        s->frames[j] = (float)y;
    }
}

/* Wherever vertices are put together by their bones, patches of one bone or of a few vertices, none is lost: from the
 * truth, the motion does not move. */
TEST(any_mixture_of_bones_is_tracked) {
    static const int64_t used[] = {0, 3, 16}; /* 0: as it was made, one bone a patch */
    for (int way = 0; way < 3; way++) {
        SyntheticOptions options = {
            .vertices = 2500, .frames = 3, .bones = 40, .influences = way == 0 ? 1 : 16, .seed = 8};
        Synthetic s = synthetic_make(options);
        if (way > 0) {
            scatter(&s, used[way]);
        }
        play(&s);
        ossify_settings settings = track_settings(&s);
        Answer answer = answer_of(&s.poses, &s.truth);
        uint8_t *held = malloc((size_t)s.poses.vertex_count);
        double most;
        memset(held, 1, (size_t)s.poses.vertex_count);
        answer.rig.held_vertices = held;
        test_case("%d bones a vertex", (int)used[way]);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        CHECK(replay_error(&s.poses, &answer.rig, &most) < 2e-7);
        free(held);
        answer_free(&answer);
        synthetic_free(&s);
    }
}
