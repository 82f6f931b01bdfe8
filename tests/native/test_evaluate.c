/* test_evaluate.c - replayed frames and errors against a plain recomputation in long double. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
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
            long double *y = r.frames + 3 * (f * vertices + v), square = 0, p[3];
            for (int i = 0; i < 3; i++) {
                p[i] = rig->rest[3 * v + i];
                for (int64_t n = 0; n < rig->correctives; n++) {
                    p[i] += (long double)rig->coefficients[f * rig->corrective_capacity + n] *
                            rig->fields[3 * (n * vertices + v) + i];
                }
            }
            for (int64_t k = 0; k < rig->influences; k++) {
                int32_t b = rig->influence_bones[v * rig->influences + k];
                long double w = rig->influence_weights[v * rig->influences + k];
                const double *m = rig->transforms + 12 * (f * rig->bone_capacity + (b < 0 ? 0 : b));
                for (int i = 0; i < 3 && b >= 0; i++) {
                    y[i] += w * (m[4 * i] * p[0] + m[4 * i + 1] * p[1] + m[4 * i + 2] * p[2] + m[4 * i + 3]);
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

/* Figures of a surface y against x, and by vertex. */
typedef struct Bent {
    double degrees, bumps;
    double *vertex; /* [v] */
} Bent;

typedef struct Side {
    int32_t low, high;
} Side;

static int compare_sides(const void *a, const void *b) {
    const Side *x = a, *y = b;
    return x->low != y->low ? (x->low > y->low ? 1 : -1) : (x->high > y->high) - (x->high < y->high);
}

static int64_t list_sides(const ossify_poses *poses, Side *side) {
    int64_t count = 0, kept = 0;
    for (int64_t i = 0; i < 3 * poses->triangle_count; i++) {
        const int32_t a = poses->triangles[i], b = poses->triangles[i % 3 == 2 ? i - 2 : i + 1];
        if (a != b) {
            side[count++] = (Side){a < b ? a : b, a < b ? b : a};
        }
    }
    qsort(side, (size_t)count, sizeof *side, compare_sides);
    for (int64_t i = 0; i < count; i++) {
        if (kept == 0 || compare_sides(&side[kept - 1], &side[i]) != 0) {
            side[kept++] = side[i];
        }
    }
    return kept;
}

static void plain_normal(const long double *x, const int32_t *t, long double n[3]) {
    const long double *p = x + 3 * t[0], *q = x + 3 * t[1], *r = x + 3 * t[2];
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        n[i] = (q[j] - p[j]) * (r[k] - p[k]) - (q[k] - p[k]) * (r[j] - p[j]);
    }
}

static long double dot(const long double a[3], const long double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Frame after frame, x and y [frames][v][3]; edges are measured on rest. */
static Bent plain_bent(const ossify_poses *poses, int64_t frames, const long double *x, const long double *y,
                       const float *rest) {
    const int64_t n = poses->vertex_count, faces = poses->triangle_count;
    Side *side = calloc((size_t)(3 * faces + 1), sizeof *side);
    long double *sum = calloc((size_t)(4 * n), sizeof *sum),
                *turned = calloc((size_t)(2 * n), sizeof *turned);
    long double turn = 0, area = 0, bump = 0, edge = 0, bumped = 0;
    const int64_t sides = list_sides(poses, side);
    Bent bent = {-1, -1, calloc((size_t)n, sizeof(double))};
    for (int64_t i = 0; i < sides; i++) {
        long double square = 0;
        for (int a = 0; a < 3; a++) {
            const long double d = (long double)rest[3 * side[i].low + a] - rest[3 * side[i].high + a];
            square += d * d;
        }
        edge += sqrtl(square) / (long double)sides;
    }
    for (int64_t f = 0; f < frames; f++, x += 3 * n, y += 3 * n) {
        for (int64_t t = 0; t < faces; t++) {
            long double a[3], b[3];
            plain_normal(x, poses->triangles + 3 * t, a);
            plain_normal(y, poses->triangles + 3 * t, b);
            const long double size = sqrtl(dot(a, a)), other = sqrtl(dot(b, b));
            const long double cosine = other > 0 && size > 0 ? dot(a, b) / size / other : 0;
            const long double angle = acosl(fminl(fmaxl(cosine, -1), 1));
            turn += size * angle * angle;
            area += size;
            for (int k = 0; k < 3; k++) {
                turned[2 * poses->triangles[3 * t + k]] += size * angle * angle;
                turned[2 * poses->triangles[3 * t + k] + 1] += size;
            }
        }
        memset(sum, 0, (size_t)(4 * n) * sizeof *sum);
        for (int64_t i = 0; i < sides; i++) {
            for (int a = 0; a < 4; a++) {
                const int64_t p = side[i].low, q = side[i].high;
                sum[4 * p + a] += a == 3 ? 1 : y[3 * q + a] - x[3 * q + a];
                sum[4 * q + a] += a == 3 ? 1 : y[3 * p + a] - x[3 * p + a];
            }
        }
        for (int64_t v = 0; v < n; v++) {
            bumped += sum[4 * v + 3] > 0;
            for (int a = 0; a < 3 && sum[4 * v + 3] > 0; a++) {
                const long double d = y[3 * v + a] - x[3 * v + a] - sum[4 * v + a] / sum[4 * v + 3];
                bump += d * d;
            }
        }
    }
    const long double degrees = 180 / acosl(-1);
    if (faces > 0) {
        bent.degrees = (double)(area > 0 ? degrees * sqrtl(turn / area) : 0);
        bent.bumps = (double)(bumped > 0 ? sqrtl(bump / bumped) / (edge > 0 ? edge : 1) : 0);
    }
    for (int64_t v = 0; v < n; v++) {
        bent.vertex[v] = faces == 0 ? -1
                         : turned[2 * v + 1] > 0
                             ? (double)(degrees * sqrtl(turned[2 * v] / turned[2 * v + 1]))
                             : 0;
    }
    free(side);
    free(sum);
    free(turned);
    return bent;
}

static long double *widened(const float *x, int64_t count) {
    long double *wide = calloc((size_t)count, sizeof *wide);
    for (int64_t i = 0; i < count; i++) {
        wide[i] = x[i];
    }
    return wide;
}

static void check_surface(const ossify_poses *poses, const ossify_rig *rig, const Replay *r,
                          const ossify_evaluation *e, const ossify_info *info) {
    const int64_t n = poses->vertex_count, frames = poses->frame_count;
    const float *given = poses->rest ? poses->rest : rig->rest;
    long double *x = widened(poses->frames, 3 * n * frames);
    long double *rest = widened(given, 3 * n), *moved = widened(rig->rest, 3 * n);
    Bent all = plain_bent(poses, frames, x, r->frames, given),
         still = plain_bent(poses, 1, rest, moved, given);
    const int known = poses->rest != NULL && poses->triangle_count > 0;
    CHECK_NEAR(e->normal_degrees, all.degrees, 1e-5 + 1e-6 * all.degrees);
    CHECK_NEAR(e->bumps, all.bumps, 1e-6 + 1e-6 * all.bumps);
    CHECK_NEAR(e->rest_normal_degrees, known ? still.degrees : -1, 1e-5 + 1e-6 * still.degrees);
    CHECK_NEAR(e->rest_bumps, known ? still.bumps : -1, 1e-6 + 1e-6 * still.bumps);
    for (int64_t v = 0; v < n && !test_failed(); v++) {
        CHECK_NEAR(e->vertex_degrees[v], all.vertex[v], 1e-5 + 1e-6 * all.vertex[v]);
    }
    CHECK_NEAR(info->normal_degrees, e->normal_degrees, 0);
    CHECK_NEAR(info->bumps, e->bumps, 0);
    CHECK_NEAR(info->rest_normal_degrees, e->rest_normal_degrees, 0);
    CHECK_NEAR(info->rest_bumps, e->rest_bumps, 0);
    free(all.vertex);
    free(still.vertex);
    free(x);
    free(rest);
    free(moved);
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
    e.vertex_degrees = calloc((size_t)vertices, sizeof(double));
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
    check_surface(poses, rig, &r, &e, &info);
    free(e.vertex_degrees);
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

TEST(evaluation_has_the_correctives_in) {
    for (int frames = 1; frames < 20; frames += 6) {
        SyntheticOptions options = {
            .vertices = 500, .frames = frames, .bones = 5, .noise = 0.02, .correctives = 3};
        Synthetic s = synthetic_make(options);
        test_case("%d frames", frames);
        check_evaluation(&s.poses, &s.truth);
        s.truth.correctives = 1; /* of more that there is room for */
        check_evaluation(&s.poses, &s.truth);
        synthetic_free(&s);
    }
}

/* Whatever the processor has, other ones have less. */
TEST(evaluation_by_narrow_and_by_wide_vectors_is_that_of_a_plain_replay) {
    SyntheticOptions options = {.vertices = 700, .frames = 13, .bones = 6, .influences = 3, .noise = 0.05};
    Synthetic s = synthetic_make(options);
    Replay r = plain_replay(&s.poses, &s.truth);
    const double rms = (double)sqrtl(r.total / (long double)(s.poses.vertex_count * s.poses.frame_count));
    double first = 0;
    for (int wide = 0; wide < 2; wide++) {
        ossify_evaluation e = {.struct_size = sizeof e};
        Workshop workshop;
        workshop_open(&workshop, plain_settings(6));
        portable_allow_wide(wide);
        test_case("wide %d", wide);
        Measure *measure = evaluate_take(&workshop.call, &s.poses, s.truth.bones);
        CHECK_INT(evaluate(&workshop.call, measure, &s.poses, &s.truth, NULL, &e), OSSIFY_CONVERGED);
        CHECK_NEAR(e.rms, rms, 1e-9 * rms);
        CHECK(wide == 0 || e.rms == first);
        first = e.rms;
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

/* A rest pose that is not the given one, a face that is a line, a corner that stands twice in one, a vertex without
 * faces, and sides that two faces do not share in the same order. */
TEST(evaluation_of_a_torn_surface_is_that_of_a_plain_replay) {
    SyntheticOptions options = {.vertices = 200, .frames = 11, .bones = 4, .noise = 0.02, .seed = 5};
    for (int way = 0; way < 6; way++) {
        Synthetic s = synthetic_make(options);
        uint64_t random = 3;
        test_case("way %d", way);
        for (int64_t i = 0; i < 3 * s.poses.vertex_count && way == 0; i++) {
            s.truth.rest[i] += 0.03f * (float)random_unit(&random);
        }
        for (int64_t i = 0; i < 9 && way == 1; i++) {
            s.triangles[i] = (int32_t)(i / 3);
        }
        for (int64_t i = 0; i < 3 * s.poses.triangle_count && way == 2; i++) {
            s.triangles[i] = s.triangles[i] == 7 ? 8 : s.triangles[i];
        }
        s.poses.triangle_count = way == 3 ? 1 : s.poses.triangle_count;
        for (int64_t t = 0; t < s.poses.triangle_count && way == 4; t += 2) {
            const int32_t swapped = s.triangles[3 * t];
            s.triangles[3 * t] = s.triangles[3 * t + 1];
            s.triangles[3 * t + 1] = swapped;
        }
        for (int64_t i = 0; i < 12 * s.truth.bones * s.poses.frame_count && way == 5; i++) {
            s.truth.transforms[i] = i % 12 == 3; /* all at one point: no normals are left */
        }
        check_evaluation(&s.poses, &s.truth);
        synthetic_free(&s);
    }
}

TEST(surface_figures_do_not_depend_on_scale_or_threads) {
    SyntheticOptions options = {.vertices = 1300, .frames = 10, .bones = 4, .noise = 0.02};
    double degrees = 0, bumps = 0;
    for (int scale = -40; scale <= 40; scale += 40) {
        Synthetic s = synthetic_make(options);
        ossify_evaluation e = {.struct_size = sizeof e};
        ossify_info info = {.struct_size = sizeof info};
        for (int64_t i = 0; i < 3 * s.poses.vertex_count * s.poses.frame_count; i++) {
            s.frames[i] = ldexpf(s.frames[i], scale);
        }
        for (int64_t i = 0; i < 3 * s.poses.vertex_count; i++) {
            s.rest[i] = ldexpf(s.rest[i], scale);
            s.truth.rest[i] = ldexpf(s.truth.rest[i], scale);
        }
        for (int64_t i = 3; i < 12 * s.truth.bones * s.poses.frame_count; i += 4) {
            s.truth.transforms[i] = ldexp(s.truth.transforms[i], scale);
        }
        test_case("scale 2^%d", scale);
        CHECK_INT(ossify_evaluate(&s.poses, &s.truth, NULL, &e, &info), OSSIFY_CONVERGED);
        CHECK(e.normal_degrees > 0.01 && e.bumps > 0.01);
        CHECK(scale == -40 || (e.normal_degrees == degrees && e.bumps == bumps));
        degrees = e.normal_degrees;
        bumps = e.bumps;
        for (int threads = 1; threads <= 3; threads += 2) {
            Workshop workshop;
            ossify_settings settings = plain_settings(4);
            settings.threads = threads;
            workshop_open(&workshop, settings);
            Measure *measure = evaluate_take(&workshop.call, &s.poses, s.truth.bones);
            CHECK_INT(evaluate(&workshop.call, measure, &s.poses, &s.truth, NULL, &e), OSSIFY_CONVERGED);
            CHECK(e.normal_degrees == degrees && e.bumps == bumps);
            workshop_close(&workshop);
        }
        synthetic_free(&s);
    }
}

TEST(evaluation_of_one_vertex_counts_its_size_as_one) {
    SyntheticOptions options = {.vertices = 100, .frames = 4, .noise = 0.1};
    Synthetic s = synthetic_make(options);
    s.poses.vertex_count = 1;
    s.poses.triangle_count = 0;
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
