/* test_evaluate.c - replayed frames and errors against a plain recomputation in long double. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/evaluate.h"
#include "math/sphere.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

typedef struct Replay {
    long double *frames, *vertex, *frame; /* positions; squared errors summed */
    long double total, most;
    int64_t worst_vertex, worst_frame;
} Replay;

static Replay plain_replay(const ossify_poses *poses, const ossify_rig *rig) {
    int64_t vertices = poses->vertex_count, frames = poses->frame_count;
    Replay r = {.most = -1};
    r.frames = calloc((size_t)(3 * vertices * frames), sizeof *r.frames);
    r.vertex = calloc((size_t)vertices, sizeof *r.vertex);
    r.frame = calloc((size_t)frames, sizeof *r.frame);
    for (int64_t f = 0; f < frames; f++) {
        for (int64_t v = 0; v < vertices; v++) {
            long double *y = r.frames + 3 * (f * vertices + v), square = 0;
            for (int64_t k = 0; k < rig->influences; k++) {
                int32_t b = rig->influence_bones[v * rig->influences + k];
                long double w = rig->influence_weights[v * rig->influences + k];
                const double *m = rig->transforms + 12 * (f * rig->bone_capacity + (b < 0 ? 0 : b));
                for (int i = 0; i < 3 && b >= 0; i++) {
                    y[i] += w * ((long double)m[4 * i] * rig->rest[3 * v] +
                                 (long double)m[4 * i + 1] * rig->rest[3 * v + 1] +
                                 (long double)m[4 * i + 2] * rig->rest[3 * v + 2] + m[4 * i + 3]);
                }
            }
            for (int i = 0; i < 3; i++) {
                square += (y[i] - poses->frames[3 * (f * vertices + v) + i]) *
                          (y[i] - poses->frames[3 * (f * vertices + v) + i]);
            }
            r.vertex[v] += square;
            r.frame[f] += square;
            r.total += square;
            if (square > r.most) {
                r.most = square;
                r.worst_vertex = v;
                r.worst_frame = f;
            }
        }
    }
    return r;
}

static void free_replay(Replay *r) {
    free(r->frames);
    free(r->vertex);
    free(r->frame);
}

static double diagonal_of(const float *points, int64_t n) {
    double square = 0;
    for (int a = 0; a < 3; a++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t v = 0; v < n; v++) {
            low = fmin(low, points[3 * v + a]);
            high = fmax(high, points[3 * v + a]);
        }
        square += (high - low) * (high - low);
    }
    return sqrt(square);
}

/* Evaluates into all arrays and compares everything. */
static void check_evaluation(const ossify_poses *poses, const ossify_rig *rig) {
    int64_t vertices = poses->vertex_count, frames = poses->frame_count;
    const float *rest = poses->rest ? poses->rest : rig->rest;
    ossify_evaluation e = {.struct_size = sizeof e};
    ossify_info info = {.struct_size = sizeof info};
    Replay r = plain_replay(poses, rig);
    double rms = (double)sqrtl(r.total / (long double)(vertices * frames));
    double size = diagonal_of(rest, vertices), radius = sphere_smallest(rest, vertices).radius;
    e.frames = calloc((size_t)(3 * vertices * frames), sizeof(float));
    e.vertex_error = calloc((size_t)vertices, sizeof(double));
    e.frame_error = calloc((size_t)frames, sizeof(double));
    CHECK_INT(ossify_evaluate(poses, rig, NULL, &e, &info), OSSIFY_CONVERGED);
    CHECK_INT(info.status, OSSIFY_CONVERGED);
    CHECK_INT(info.bones, rig->bones);
    for (int64_t i = 0; i < 3 * vertices * frames && !test_failed(); i++) {
        CHECK_NEAR(e.frames[i], (double)r.frames[i], 1e-6 * (size + fabs((double)r.frames[i])));
    }
    for (int64_t v = 0; v < vertices && !test_failed(); v++) {
        CHECK_NEAR(e.vertex_error[v], (double)sqrtl(r.vertex[v] / (long double)frames), 1e-9 * rms + 1e-15);
    }
    for (int64_t f = 0; f < frames && !test_failed(); f++) {
        CHECK_NEAR(e.frame_error[f], (double)sqrtl(r.frame[f] / (long double)vertices), 1e-9 * rms + 1e-15);
    }
    CHECK_NEAR(e.rms, rms, 1e-9 * rms);
    CHECK_NEAR(e.maximum, (double)sqrtl(r.most), 1e-9 * (double)sqrtl(r.most) + 1e-15);
    CHECK_INT(e.worst_vertex, r.worst_vertex);
    CHECK_INT(e.worst_frame, r.worst_frame);
    CHECK_NEAR(e.diagonal, size, 1e-12 * size);
    CHECK_NEAR(e.radius, radius, 1e-12 * radius);
    CHECK_NEAR(e.erms, 1000 * rms / sqrt(3) / (radius > 0 ? radius : 1), 1e-9 * e.erms);
    CHECK_NEAR(info.erms, e.erms, 0);
    CHECK_NEAR(info.rms_percent, 100 * e.rms / (size > 0 ? size : 1), 1e-9 * info.rms_percent);
    CHECK_NEAR(info.maximum_percent, 100 * e.maximum / (size > 0 ? size : 1), 1e-9 * info.maximum_percent);
    free(e.frames);
    free(e.vertex_error);
    free(e.frame_error);
    free_replay(&r);
}

TEST(evaluation_is_that_of_a_plain_replay) {
    for (int k = 1; k <= OSSIFY_MAX_INFLUENCES; k += 5) {
        for (int flexible = 0; flexible < 2; flexible++) {
            SyntheticOptions options = {.vertices = 300 * k,
                                        .frames = 9,
                                        .bones = 7,
                                        .influences = k,
                                        .flexible = flexible,
                                        .noise = 0.05,
                                        .seed = (uint64_t)k};
            Synthetic s = synthetic_make(options);
            test_case("%d influences, flexible %d", k, flexible);
            check_evaluation(&s.poses, &s.truth);
            s.poses.rest = NULL; /* the rig's then says how large the mesh is */
            check_evaluation(&s.poses, &s.truth);
            synthetic_free(&s);
        }
    }
}

/* Whatever the processor has, other ones have less. */
TEST(evaluation_by_narrow_and_by_wide_vectors_is_that_of_a_plain_replay) {
    SyntheticOptions options = {.vertices = 700, .frames = 13, .bones = 6, .influences = 3, .noise = 0.05};
    Synthetic s = synthetic_make(options);
    Replay r = plain_replay(&s.poses, &s.truth);
    const double rms = (double)sqrtl(r.total / (long double)(s.poses.vertex_count * s.poses.frame_count));
    for (int wide = 0; wide <= processor_is_wide(); wide++) {
        ossify_evaluation e = {.struct_size = sizeof e};
        Workshop workshop;
        workshop_open(&workshop, plain_settings(6));
        workshop.call.wide = wide;
        test_case("wide %d", wide);
        Measure *measure = evaluate_take(&workshop.call, &s.poses, s.truth.bones);
        CHECK_INT(evaluate(&workshop.call, measure, &s.poses, &s.truth, &e), OSSIFY_CONVERGED);
        CHECK_NEAR(e.rms, rms, 1e-9 * rms);
        CHECK_NEAR(e.maximum, (double)sqrtl(r.most), 1e-9 * (double)sqrtl(r.most));
        CHECK_INT(e.worst_vertex, r.worst_vertex);
        CHECK_INT(e.worst_frame, r.worst_frame);
        workshop_close(&workshop);
    }
    free_replay(&r);
    synthetic_free(&s);
}

/* More positions than are replayed between two polls, and more vertices than a chunk. */
TEST(evaluation_of_many_frames_is_whole) {
    SyntheticOptions options = {.vertices = 1500, .frames = 800, .bones = 3, .noise = 0.01};
    Synthetic s = synthetic_make(options);
    check_evaluation(&s.poses, &s.truth);
    synthetic_free(&s);
}

TEST(evaluation_of_one_vertex_counts_its_size_as_one) {
    SyntheticOptions options = {.vertices = 100, .frames = 4, .noise = 0.1};
    Synthetic s = synthetic_make(options);
    s.poses.vertex_count = 1;
    check_evaluation(&s.poses, &s.truth);
    synthetic_free(&s);
}

TEST(evaluation_fills_only_the_arrays_that_are_given) {
    SyntheticOptions options = {.vertices = 100, .frames = 4, .noise = 0.1};
    Synthetic s = synthetic_make(options);
    ossify_evaluation none = {.struct_size = sizeof none}, one = {.struct_size = sizeof one};
    ossify_info info = {.struct_size = sizeof info};
    double frame_error[4] = {-1, -1, -1, -1};
    one.frame_error = frame_error;
    CHECK_INT(ossify_evaluate(&s.poses, &s.truth, NULL, &none, &info), OSSIFY_CONVERGED);
    CHECK_INT(ossify_evaluate(&s.poses, &s.truth, NULL, &one, &info), OSSIFY_CONVERGED);
    CHECK(none.rms == one.rms && none.rms > 0);
    CHECK(frame_error[3] > 0);
    synthetic_free(&s);
}

/* A float cannot hold it: it is cut to the largest, and the error is that of the true position. */
TEST(evaluation_beyond_the_range_of_floats_is_finite) {
    SyntheticOptions options = {.vertices = 100, .frames = 2};
    Synthetic s = synthetic_make(options);
    ossify_evaluation e = {.struct_size = sizeof e};
    ossify_info info = {.struct_size = sizeof info};
    e.frames = calloc((size_t)(6 * s.poses.vertex_count), sizeof(float));
    for (int64_t i = 0; i < 2 * s.truth.bones * 12; i++) {
        s.truth.transforms[i] = i % 2 ? 1e30 : -1e30;
    }
    for (int64_t i = 0; i < 3 * s.poses.vertex_count; i++) {
        s.truth.rest[i] = 1e29f * (float)(i % 5);
    }
    CHECK_INT(ossify_evaluate(&s.poses, &s.truth, NULL, &e, &info), OSSIFY_CONVERGED);
    CHECK(isfinite(e.rms) && isfinite(e.maximum) && isfinite(e.erms) && e.maximum > 1e30);
    for (int64_t i = 0; i < 6 * s.poses.vertex_count; i++) {
        CHECK(fabsf(e.frames[i]) <= FLT_MAX);
    }
    free(e.frames);
    synthetic_free(&s);
}

TEST(evaluation_takes_its_memory_from_the_settings) {
    SyntheticOptions options = {.vertices = 100, .frames = 4};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(1);
    ossify_evaluation e = {.struct_size = sizeof e};
    ossify_info info = {.struct_size = sizeof info};
    Ledger ledger = {0};
    int64_t needed;
    ledger_join(&ledger, &settings);
    settings.bones = settings.quality = -7; /* not looked at */
    CHECK_INT(ossify_evaluate(&s.poses, &s.truth, &settings, &e, &info), OSSIFY_CONVERGED);
    CHECK(ledger.taken > 0 && ledger.taken == ledger.given);
    needed = ledger.asked;
    for (int64_t i = 1; i <= needed; i++) {
        ledger = (Ledger){.refuse_at = i};
        test_case("allocation %d", (int)i);
        CHECK_INT(ossify_evaluate(&s.poses, &s.truth, &settings, &e, &info), OSSIFY_OUT_OF_MEMORY);
        CHECK_SAYS(info.message, "out of memory");
        CHECK_INT(ledger.taken, ledger.given);
    }
    synthetic_free(&s);
}
