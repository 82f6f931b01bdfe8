/* test_correct.c - correctives: planted ones come back, no other fields or coefficients do better, and what is held
 * stays; recomputed here from the definition. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "correct/correct.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

/* A rig whose correctives are unknown, and where to put what is found. */
typedef struct Scene {
    Synthetic made;
    Answer answer;
    ossify_settings settings;
    ossify_correction correction;
    ossify_corrected corrected;
    int32_t joints[OSSIFY_MAX_CORRECTIVES];
    double gains[OSSIFY_MAX_CORRECTIVES];
} Scene;

static void scene_open(Scene *s, SyntheticOptions options, int64_t count) {
    memset(s, 0, sizeof *s);
    s->made = synthetic_make(options);
    s->answer = answer_of(&s->made.poses, &s->made.truth);
    answer_correctives(&s->made.poses, count, &s->answer);
    s->settings = plain_settings(s->made.truth.bones);
    s->settings.bone_kind = options.flexible ? OSSIFY_FLEXIBLE : OSSIFY_RIGID;
    ossify_default_correction(&s->correction);
    s->correction.count = count;
    s->corrected =
        (ossify_corrected){.struct_size = sizeof s->corrected, .joints = s->joints, .gains = s->gains};
}

static void scene_close(Scene *s) {
    answer_free(&s->answer);
    synthetic_free(&s->made);
}

static int64_t scene_run(Scene *s) {
    return ossify_correct(&s->made.poses, &s->settings, &s->answer.rig, &s->correction, &s->corrected,
                          &s->answer.info);
}

static void scene_solve(Scene *s) {
    CHECK_INT(scene_run(s), OSSIFY_CONVERGED);
    CHECK_TEXT(s->answer.info.message, "");
}

/* d[3] of a vertex: what the correctives of a rig do to its rest in a frame */
static void displacement(const ossify_poses *poses, const ossify_rig *rig, int64_t f, int64_t v,
                         double d[3]) {
    for (int i = 0; i < 3; i++) {
        d[i] = 0;
        for (int64_t n = 0; n < rig->correctives; n++) {
            d[i] += rig->coefficients[f * rig->corrective_capacity + n] *
                    (double)rig->fields[3 * (n * poses->vertex_count + v) + i];
        }
    }
}

static double largest_difference(const ossify_poses *poses, const ossify_rig *a, const ossify_rig *b) {
    double most = 0;
    for (int64_t f = 0; f < poses->frame_count; f++) {
        for (int64_t v = 0; v < poses->vertex_count; v++) {
            double x[3], y[3];
            displacement(poses, a, f, v, x);
            displacement(poses, b, f, v, y);
            for (int i = 0; i < 3; i++) {
                most = fmax(most, fabs(x[i] - y[i]));
            }
        }
    }
    return most;
}

/* The linear part of a vertex's blended matrix */
static void blended(const ossify_rig *rig, int64_t f, int64_t v, double l[9]) {
    memset(l, 0, 9 * sizeof *l);
    for (int64_t k = v * rig->influences; k < (v + 1) * rig->influences; k++) {
        const double *m = rig->transforms + 12 * (f * rig->bone_capacity + rig->influence_bones[k]);
        for (int i = 0; i < 9 && rig->influence_bones[k] >= 0; i++) {
            l[i] += (double)rig->influence_weights[k] * m[i / 3 * 4 + i % 3];
        }
    }
}

/* x - y of a vertex in a frame, with all correctives */
static void residual(const ossify_poses *poses, const ossify_rig *rig, int64_t f, int64_t v, double r[3]) {
    double l[9], p[3];
    displacement(poses, rig, f, v, p);
    blended(rig, f, v, l);
    for (int i = 0; i < 3; i++) {
        r[i] = (double)poses->frames[3 * (f * poses->vertex_count + v) + i];
        p[i] += (double)rig->rest[3 * v + i];
    }
    for (int i = 0; i < 9; i++) {
        r[i / 3] -= l[i] * p[i % 3];
    }
    for (int64_t k = v * rig->influences; k < (v + 1) * rig->influences; k++) {
        const double *m = rig->transforms + 12 * (f * rig->bone_capacity + rig->influence_bones[k]);
        for (int i = 0; i < 3 && rig->influence_bones[k] >= 0; i++) {
            r[i] -= (double)rig->influence_weights[k] * m[4 * i + 3];
        }
    }
}

/* In every frame the error does not change with any coefficient: sum_v B' L' r = 0. */
static void judge_coefficients(const ossify_poses *poses, const ossify_rig *rig) {
    for (int64_t f = 0; f < poses->frame_count && !test_failed(); f++) {
        for (int64_t n = 0; n < rig->correctives; n++) {
            double slope = 0, effect = 0, left = 0;
            for (int64_t v = 0; v < poses->vertex_count; v++) {
                const float *d = rig->fields + 3 * (n * poses->vertex_count + v);
                double l[9], r[3];
                blended(rig, f, v, l);
                residual(poses, rig, f, v, r);
                for (int i = 0; i < 3; i++) {
                    const double moved = l[3 * i] * d[0] + l[3 * i + 1] * d[1] + l[3 * i + 2] * d[2];
                    slope += moved * r[i];
                    effect += moved * moved;
                    left += r[i] * r[i];
                }
            }
            CHECK(fabs(slope) <= 1e-6 * sqrt(effect * left) + 1e-7 * effect);
        }
    }
}

/* No field of one vertex, moved a little along any axis, lowers the error by more than `slack` of what is there. */
static void judge_fields(const ossify_poses *poses, const ossify_rig *rig, double slack) {
    for (int64_t v = 0; v < poses->vertex_count && !test_failed(); v += 7) {
        for (int64_t n = 0; n < rig->correctives; n++) {
            double slope[3] = {0}, bend[3] = {0}, left = 0;
            for (int64_t f = 0; f < poses->frame_count; f++) {
                const double c = rig->coefficients[f * rig->corrective_capacity + n];
                double l[9], r[3];
                blended(rig, f, v, l);
                residual(poses, rig, f, v, r);
                for (int i = 0; i < 9; i++) {
                    slope[i % 3] += c * l[i] * r[i / 3];
                    bend[i % 3] += c * c * l[i] * l[i];
                }
                left += r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
            }
            for (int i = 0; i < 3; i++) { /* the best step lowers the error by slope^2 / bend */
                CHECK(slope[i] * slope[i] <= slack * left * bend[i] + 1e-30);
            }
        }
    }
}

TEST(correctives_that_were_planted_come_back) {
    for (int kind = 0; kind < 4; kind++) {
        SyntheticOptions options = {.shape = kind % 2 ? SHAPE_TUBE : SHAPE_GRID,
                                    .vertices = 500,
                                    .frames = 14,
                                    .bones = 5,
                                    .influences = 3,
                                    .flexible = kind >= 2,
                                    .correctives = 3,
                                    .seed = (uint64_t)kind};
        Scene s;
        scene_open(&s, options, 3);
        test_case("kind %d", kind);
        scene_solve(&s);
        CHECK_INT(s.answer.rig.correctives, 3);
        CHECK(s.corrected.bare_erms > 10);
        CHECK(s.answer.info.erms < 1e-3 * s.corrected.bare_erms);
        CHECK(largest_difference(&s.made.poses, &s.answer.rig, &s.made.truth) < 2e-3);
        CHECK_NEAR(replay_error(&s.made.poses, &s.answer.rig, NULL), 0, 2e-4);
        scene_close(&s);
    }
}

TEST(correctives_are_scaled_to_sliders_and_sorted_by_what_they_are_worth) {
    SyntheticOptions options = {.vertices = 400, .frames = 12, .bones = 4, .noise = 0.01, .correctives = 4};
    Scene s;
    scene_open(&s, options, 4);
    scene_solve(&s);
    CHECK_INT(s.answer.rig.correctives, 4);
    for (int n = 0; n < 4; n++) {
        double most = 0;
        for (int f = 0; f < 12; f++) {
            most = fmax(most, fabs(s.answer.rig.coefficients[4 * f + n]));
        }
        CHECK_NEAR(most, 1, 1e-3);
        CHECK_INT(s.joints[n], -1);
        CHECK(n == 0 || s.gains[n] < 1.2 * s.gains[n - 1]);
    }
    scene_close(&s);
}

/* The gain of a corrective is what its absence costs, measured by the verb for measuring. */
TEST(gain_of_a_corrective_is_the_rise_without_it) {
    SyntheticOptions options = {.vertices = 400, .frames = 12, .bones = 4, .noise = 0.02, .correctives = 3};
    Scene s;
    scene_open(&s, options, 3);
    scene_solve(&s);
    for (int n = 0; n < 3; n++) {
        Answer without = answer_of(&s.made.poses, &s.answer.rig);
        ossify_evaluation e = {.struct_size = sizeof e};
        for (int f = 0; f < 12; f++) {
            without.rig.coefficients[3 * f + n] = 0;
        }
        CHECK_INT(ossify_evaluate(&s.made.poses, &without.rig, NULL, &e, &without.info), OSSIFY_CONVERGED);
        CHECK_NEAR(without.info.rms_percent - s.answer.info.rms_percent, s.gains[n],
                   1e-6 + 1e-4 * s.gains[n]);
        answer_free(&without);
    }
    scene_close(&s);
}

TEST(no_other_fields_or_coefficients_do_better) {
    for (int flexible = 0; flexible < 2; flexible++) {
        SyntheticOptions options = {.vertices = 300,
                                    .frames = 16,
                                    .bones = 4,
                                    .influences = 3,
                                    .noise = 0.02,
                                    .flexible = flexible,
                                    .correctives = 6};
        Scene s;
        scene_open(&s, options, 3);
        test_case("flexible %d", flexible);
        scene_solve(&s);
        judge_coefficients(&s.made.poses, &s.answer.rig);
        judge_fields(&s.made.poses, &s.answer.rig, 0.02);
        scene_close(&s);
    }
}

TEST(more_correctives_never_raise_the_error) {
    SyntheticOptions options = {.vertices = 300, .frames = 12, .bones = 3, .noise = 0.03, .correctives = 5};
    double last = INFINITY;
    for (int64_t count = 0; count <= 12; count++) {
        Scene s;
        scene_open(&s, options, count);
        scene_solve(&s);
        test_case("%d", (int)count);
        CHECK_INT(s.answer.rig.correctives, count);
        CHECK(s.answer.info.erms < last);
        CHECK(count > 0 || s.answer.info.erms == s.corrected.bare_erms ||
              fabs(s.answer.info.erms - s.corrected.bare_erms) < 1e-9 * s.corrected.bare_erms);
        last = s.answer.info.erms;
        scene_close(&s);
    }
    CHECK(last < 1e-2); /* as many as frames leave nothing */
}

TEST(fields_are_zero_where_nothing_is_missed) {
    SyntheticOptions options = {.vertices = 400, .frames = 12, .bones = 4, .correctives = 2, .halved = 1};
    Scene s;
    scene_open(&s, options, 2);
    scene_solve(&s);
    const int64_t vertices = s.made.poses.vertex_count;
    CHECK_INT(s.answer.rig.correctives, 2);
    for (int64_t n = 0; n < 2; n++) {
        for (int64_t i = 0; i < vertices / 2 * 3 && !test_failed(); i++) {
            CHECK(s.answer.rig.fields[3 * n * vertices + i] == 0);
        }
    }
    scene_close(&s);
}

TEST(a_rig_that_misses_nothing_gets_no_correctives) {
    SyntheticOptions options = {.vertices = 200, .frames = 6, .bones = 3};
    Scene s;
    scene_open(&s, options, 4);
    memset(s.made.frames, 0,
           3 * sizeof(float) * (size_t)(s.made.poses.frame_count * s.made.poses.vertex_count));
    for (int64_t i = 0; i < s.made.poses.frame_count * s.made.truth.bones * 12; i++) {
        s.answer.rig.transforms[i] = 0; /* all that is observed is the origin, and so is what is replayed */
    }
    scene_solve(&s);
    CHECK_INT(s.answer.rig.correctives, 0);
    CHECK_NEAR(s.answer.info.erms, 0, 0);
    CHECK_NEAR(s.corrected.bare_erms, 0, 0);
    scene_close(&s);
}

TEST(correctives_of_tiny_inputs) {
    for (int kind = 0; kind < 5; kind++) {
        SyntheticOptions options = {.vertices = 60, .frames = kind == 0 ? 1 : 3, .bones = 2, .noise = 0.05};
        Scene s;
        scene_open(&s, options, kind == 3 ? 40 : 2);
        test_case("kind %d", kind);
        if (kind == 1) {
            s.made.poses.vertex_count = 1;
            s.made.poses.triangle_count = 0;
        }
        if (kind == 2) { /* a mesh without size */
            for (int64_t i = 0; i < 3 * s.made.poses.vertex_count; i++) {
                s.made.rest[i] = s.answer.rig.rest[i] = 1;
            }
        }
        if (kind == 4) {
            s.made.poses.rest = NULL;
        }
        scene_solve(&s);
        CHECK(s.answer.rig.correctives <= s.made.poses.frame_count);
        CHECK(kind == 2 || s.answer.info.erms < 0.7 * s.corrected.bare_erms);
        CHECK(isfinite(s.answer.info.erms));
        scene_close(&s);
    }
}

static void scale_scene(Scene *s, double size, double away) {
    const int64_t vertices = s->made.poses.vertex_count, frames = s->made.poses.frame_count;
    for (int64_t i = 0; i < 3 * vertices; i++) {
        s->made.rest[i] = s->answer.rig.rest[i] = (float)(size * (double)s->made.rest[i]);
    }
    for (int64_t i = 0; i < 3 * vertices * frames; i++) {
        s->made.frames[i] = (float)(size * ((double)s->made.frames[i] + away));
    }
    for (int64_t i = 0; i < 3 * frames * s->made.truth.bones; i++) {
        s->answer.rig.transforms[4 * i + 3] = size * (s->answer.rig.transforms[4 * i + 3] + away);
    }
}

TEST(correctives_do_not_depend_on_size_or_place) {
    SyntheticOptions options = {.vertices = 300, .frames = 10, .bones = 4, .correctives = 3, .noise = 0.01};
    const double sizes[] = {1, 1e-15, 1e12, 1}, aways[] = {0, 0, 0, 50};
    double first = 0;
    for (int i = 0; i < 4; i++) {
        Scene s;
        scene_open(&s, options, 3);
        scale_scene(&s, sizes[i], aways[i]);
        scene_solve(&s);
        test_case("size %g, %g away", sizes[i], aways[i]);
        first = i == 0 ? s.answer.info.erms : first;
        CHECK_NEAR(s.answer.info.erms, first, 1e-3 * first);
        scene_close(&s);
    }
}

TEST(correctives_are_the_same_on_any_number_of_threads) {
    SyntheticOptions options = {
        .vertices = 2000, .frames = 11, .bones = 4, .noise = 0.02, .correctives = 3, .jointed = 1};
    for (int kind = 0; kind < 5; kind++) {
        Scene first, other;
        for (int threads = 1; threads <= 3; threads++) {
            Scene *s = threads == 1 ? &first : &other;
            scene_open(s, options, 4);
            s->settings.threads = threads;
            s->correction.support = kind == 1 ? OSSIFY_SUPPORT_JOINTS : OSSIFY_SUPPORT_WHOLE;
            s->correction.parents = kind == 1 ? s->made.skeleton.parents : NULL;
            s->correction.smoothness = kind == 2 ? 5 : 0;
            s->correction.solve_rest = kind == 3;
            s->correction.refine = kind == 4;
            scene_solve(s);
            test_case("kind %d, %d threads", kind, threads);
            if (threads > 1) {
                CHECK(rigs_are_equal(&s->made.poses, &s->answer.rig, &first.answer.rig));
                CHECK(s->answer.info.erms == first.answer.info.erms);
                scene_close(s);
            }
        }
        scene_close(&first);
    }
}

TEST(correctives_by_narrow_vectors_are_as_good) {
    SyntheticOptions options = {.vertices = 300, .frames = 10, .bones = 4, .correctives = 4, .noise = 0.01};
    for (int refine = 0; refine < 2; refine++) {
        Scene s;
        Workshop workshop;
        scene_open(&s, options, 3);
        s.correction.refine = refine;
        workshop_open(&workshop, s.settings);
        CHECK_INT(correct(&workshop.call, &s.made.poses, &s.answer.rig, &s.correction, &s.corrected),
                  OSSIFY_CONVERGED);
        const double narrow = replay_error(&s.made.poses, &s.answer.rig, NULL);
        workshop_close(&workshop);
        scene_close(&s);
        scene_open(&s, options, 3);
        s.correction.refine = refine;
        scene_solve(&s);
        CHECK_NEAR(replay_error(&s.made.poses, &s.answer.rig, NULL), narrow, 1e-6 * narrow);
        scene_close(&s);
    }
}

/* Brings the first `held` of the planted fields. */
static void bring_fields(Scene *s, int64_t held) {
    const int64_t row = s->made.truth.corrective_capacity, room = s->answer.rig.corrective_capacity;
    s->answer.rig.correctives = held;
    memcpy(s->answer.rig.fields, s->made.truth.fields,
           (size_t)(3 * held * s->made.poses.vertex_count) * sizeof(float));
    for (int64_t f = 0; f < s->made.poses.frame_count; f++) {
        for (int64_t n = 0; n < held; n++) {
            s->answer.rig.coefficients[f * room + n] = s->made.truth.coefficients[f * row + n];
        }
    }
}

TEST(fields_that_come_in_are_held_and_the_others_solved_around_them) {
    for (int64_t held = 1; held <= 3; held++) {
        SyntheticOptions options = {.vertices = 400, .frames = 12, .bones = 4, .correctives = 3};
        Scene s;
        scene_open(&s, options, 3);
        bring_fields(&s, held);
        for (int64_t i = 0; i < 3 * s.made.poses.frame_count; i++) {
            s.answer.rig.coefficients[i] = NAN; /* whatever they are, they are solved */
        }
        test_case("%d held", (int)held);
        scene_solve(&s);
        CHECK_INT(s.answer.rig.correctives, 3);
        CHECK(memcmp(s.answer.rig.fields, s.made.truth.fields,
                     (size_t)(3 * held * s.made.poses.vertex_count) * sizeof(float)) == 0);
        CHECK(s.answer.info.erms < 1e-3 * s.corrected.bare_erms);
        judge_coefficients(&s.made.poses, &s.answer.rig);
        for (int64_t f = 0; f < s.made.poses.frame_count && held == 3;
             f++) { /* then those are what was planted */
            for (int64_t n = 0; n < 3; n++) {
                CHECK_NEAR(s.answer.rig.coefficients[3 * f + n], s.made.truth.coefficients[3 * f + n], 1e-4);
            }
        }
        scene_close(&s);
    }
}

TEST(coefficients_that_are_held_stay) {
    SyntheticOptions options = {.vertices = 400, .frames = 12, .bones = 4, .correctives = 3, .noise = 0.01};
    const uint8_t held[2] = {0, 1};
    Scene s;
    scene_open(&s, options, 4);
    bring_fields(&s, 2);
    s.correction.held_coefficients = held;
    for (int f = 0; f < 12; f++) {
        s.answer.rig.coefficients[4 * f] = s.answer.rig.coefficients[4 * f + 1] = 0.01 * f;
    }
    scene_solve(&s);
    CHECK_INT(s.answer.rig.correctives, 4);
    for (int f = 0; f < 12; f++) {
        CHECK(s.answer.rig.coefficients[4 * f + 1] == 0.01 * f);
        CHECK(s.answer.rig.coefficients[4 * f] != 0.01 * f);
    }
    CHECK(s.answer.info.erms < 0.7 * s.corrected.bare_erms);
    scene_close(&s);
}

TEST(a_budget_is_met_by_the_fewest_correctives) {
    for (int kind = OSSIFY_BUDGET_RMS; kind <= OSSIFY_BUDGET_MAXIMUM; kind++) {
        SyntheticOptions options = {
            .vertices = 300, .frames = 16, .bones = 4, .correctives = 9, .noise = 0.001};
        double left[12];
        for (int64_t count = 0; count < 12; count++) {
            Scene s;
            scene_open(&s, options, count);
            scene_solve(&s);
            left[count] =
                kind == OSSIFY_BUDGET_RMS ? s.answer.info.rms_percent : s.answer.info.maximum_percent;
            scene_close(&s);
        }
        for (int64_t count = 0; count < 10; count += 3) {
            Scene s;
            scene_open(&s, options, 12);
            s.correction.budget_kind = kind;
            s.correction.budget =
                count == 0 ? 2 * left[0] : sqrt(left[count] * fmin(left[count - 1], 2 * left[count]));
            scene_solve(&s);
            test_case("kind %d, %d", kind, (int)count);
            const double found =
                kind == OSSIFY_BUDGET_RMS ? s.answer.info.rms_percent : s.answer.info.maximum_percent;
            CHECK(found <= s.correction.budget);
            CHECK(s.answer.rig.correctives == count || kind == OSSIFY_BUDGET_MAXIMUM);
            CHECK(s.answer.rig.correctives <= 12);
            scene_close(&s);
        }
    }
}

TEST(a_budget_that_cannot_be_met_is_told) {
    SyntheticOptions options = {.vertices = 200, .frames = 30, .bones = 3, .noise = 0.05};
    Scene s;
    scene_open(&s, options, 3);
    s.correction.budget_kind = OSSIFY_BUDGET_RMS;
    s.correction.budget = 1e-4;
    CHECK_INT(scene_run(&s), OSSIFY_OUT_OF_ITERATIONS);
    CHECK_INT(s.answer.rig.correctives, 3);
    CHECK_SAYS(s.answer.info.message, "3 correctives leave ");
    CHECK_SAYS(s.answer.info.message, "above the budget of 0.0001 %");
    scene_close(&s);
}

TEST(the_rest_is_solved_with_the_fields_where_it_is_free) {
    SyntheticOptions options = {.vertices = 300, .frames = 12, .bones = 4, .correctives = 5, .noise = 0.01};
    double errors[3];
    for (int kind = 0; kind < 3; kind++) {
        Scene s;
        scene_open(&s, options, 2);
        uint8_t *held = calloc((size_t)s.made.poses.vertex_count, 1);
        s.correction.solve_rest = kind > 0;
        s.settings.rest_mode = kind == 1 ? OSSIFY_REST_KEPT : OSSIFY_REST_FREE;
        for (int64_t v = 0; v < s.made.poses.vertex_count; v += 2) {
            held[v] = 1;
        }
        s.answer.rig.held_rest = held;
        scene_solve(&s);
        errors[kind] = s.answer.info.erms;
        for (int64_t v = 0; v < s.made.poses.vertex_count && !test_failed(); v++) {
            const int same = memcmp(s.answer.rig.rest + 3 * v, s.made.rest + 3 * v, 3 * sizeof(float)) == 0;
            CHECK_INT(same, kind == 0 || held[v]);
        }
        free(held);
        scene_close(&s);
    }
    CHECK(errors[1] < errors[0] && errors[2] < errors[1]);
}

TEST(a_field_of_a_joint_acts_on_its_two_bones_alone) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .vertices = 600, .frames = 14, .bones = 5, .correctives = 6, .jointed = 1};
    Scene s;
    scene_open(&s, options, 10);
    s.correction.support = OSSIFY_SUPPORT_JOINTS;
    s.correction.parents = s.made.skeleton.parents;
    scene_solve(&s);
    const ossify_rig *rig = &s.answer.rig;
    CHECK(rig->correctives == 10);
    CHECK(s.answer.info.erms < 0.6 * s.corrected.bare_erms);
    judge_coefficients(&s.made.poses, rig);
    for (int64_t n = 0; n < rig->correctives; n++) {
        const int32_t joint = s.joints[n], parent = joint < 0 ? -1 : s.made.skeleton.parents[joint];
        CHECK(joint >= 0 && joint < 5 && parent >= 0);
        for (int64_t v = 0; v < s.made.poses.vertex_count && !test_failed(); v++) {
            const float *d = rig->fields + 3 * (n * s.made.poses.vertex_count + v);
            int near = 0;
            for (int64_t k = v * rig->influences; k < (v + 1) * rig->influences; k++) {
                near |= rig->influence_weights[k] > 0 &&
                        (rig->influence_bones[k] == joint || rig->influence_bones[k] == parent);
            }
            CHECK(near || (d[0] == 0 && d[1] == 0 && d[2] == 0));
        }
    }
    scene_close(&s);
}

/* In noise, fields that follow their neighbours are nearer to what was there before it. */
TEST(smooth_fields_are_nearer_to_the_truth_in_noise) {
    SyntheticOptions options = {.vertices = 900, .frames = 8, .bones = 3, .correctives = 2, .noise = 0.04};
    double away[2];
    for (int smooth = 0; smooth < 2; smooth++) {
        Scene s;
        double sum = 0;
        scene_open(&s, options, 2);
        s.correction.smoothness = 20 * smooth;
        scene_solve(&s);
        for (int64_t f = 0; f < s.made.poses.frame_count; f++) {
            for (int64_t v = 0; v < s.made.poses.vertex_count; v++) {
                double a[3], b[3];
                displacement(&s.made.poses, &s.answer.rig, f, v, a);
                displacement(&s.made.poses, &s.made.truth, f, v, b);
                for (int i = 0; i < 3; i++) {
                    sum += (a[i] - b[i]) * (a[i] - b[i]);
                }
            }
        }
        away[smooth] = sqrt(sum);
        scene_close(&s);
    }
    CHECK(away[1] < 0.8 * away[0]);
}

/* Bones of a wrong place, and weights, are found again together with the fields. */
TEST(refining_lowers_the_error_and_leaves_what_is_held) {
    for (int kind = 0; kind < 3; kind++) {
        SyntheticOptions options = {.vertices = 400,
                                    .frames = 10,
                                    .bones = 4,
                                    .influences = 3,
                                    .correctives = 3,
                                    .noise = 0.004,
                                    .flexible = kind == 1};
        const int holds = kind == 2;
        Scene s;
        double plain;
        uint8_t transforms[40] = {0}, groups[4] = {0, 0, 1, 0}, *vertices;
        scene_open(&s, options, 3);
        vertices = calloc((size_t)s.made.poses.vertex_count, 1);
        for (int64_t i = 0; i < 3 * s.made.poses.frame_count * s.made.truth.bones; i++) {
            s.answer.rig.transforms[4 * i + 3] += 0.02 * sin((double)(7 * i));
        }
        Answer before = answer_of(&s.made.poses, &s.answer.rig);
        scene_solve(&s);
        plain = s.answer.info.erms;
        answer_free(&s.answer);
        s.answer = answer_of(&s.made.poses, &before.rig);
        transforms[4 * 3 + 1] = transforms[4 * 5 + 2] = vertices[17] = 1;
        s.answer.rig.held_transforms = holds ? transforms : NULL;
        s.answer.rig.held_groups = holds ? groups : NULL;
        s.answer.rig.held_vertices = holds ? vertices : NULL;
        s.correction.refine = 1;
        test_case("kind %d", kind);
        scene_solve(&s);
        CHECK(s.answer.info.erms < 0.7 * plain);
        check_rig(&s.made.poses, &s.answer.rig, kind != 1);
        judge_coefficients(&s.made.poses, &s.answer.rig);
        for (int i = 0; i < 40 && holds; i++) {
            const int same = memcmp(s.answer.rig.transforms + 12 * i, before.rig.transforms + 12 * i,
                                    12 * sizeof(double)) == 0;
            CHECK_INT(same, transforms[i]);
        }
        for (int64_t v = 0; v < s.made.poses.vertex_count && holds; v++) {
            int grouped = 0;
            for (int64_t k = 3 * v; k < 3 * v + 3; k++) {
                grouped |= before.rig.influence_bones[k] == 2 && before.rig.influence_weights[k] > 0;
            }
            CHECK(!(grouped || vertices[v]) ||
                  memcmp(s.answer.rig.influence_weights + 3 * v, before.rig.influence_weights + 3 * v,
                         3 * sizeof(float)) == 0);
        }
        free(vertices);
        answer_free(&before);
        scene_close(&s);
    }
}

/* ---- what is refused ---- */

static void refused(Scene *s, const char *sentence) {
    Answer before = answer_of(&s->made.poses, &s->answer.rig);
    CHECK_INT(scene_run(s), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(s->answer.info.message, sentence);
    CHECK(rigs_are_equal(&s->made.poses, &s->answer.rig, &before.rig));
    answer_free(&before);
}

TEST(corrections_that_cannot_be_are_refused) {
    SyntheticOptions options = {.vertices = 60, .frames = 4, .bones = 3, .correctives = 2};
    const int32_t circle[3] = {1, 2, 0}, beyond[3] = {-1, 0, 3};
    Scene s;
    scene_open(&s, options, 2);
    s.correction.struct_size--;
    refused(&s, "ossify_correction has size");
    s.correction.struct_size++;
    s.corrected.struct_size--;
    refused(&s, "ossify_corrected has size");
    s.corrected.struct_size++;
    s.correction.count = 3;
    refused(&s, "correction.count is 3, but the rig's arrays have room for 2");
    s.correction.count = -1;
    refused(&s, "correction.count is -1: it must be 0..256");
    s.correction.count = 1;
    bring_fields(&s, 2);
    refused(&s, "rig.correctives is 2, but correction.count is 1");
    s.correction.count = 2;
    s.answer.rig.fields[7] = NAN;
    refused(&s, "fields[0][2][1] is nan");
    bring_fields(&s, 1);
    const uint8_t held = 1;
    s.correction.held_coefficients = &held;
    s.answer.rig.coefficients[2] = INFINITY;
    refused(&s, "coefficients[1][0] is inf and held");
    bring_fields(&s, 0);
    s.correction.held_coefficients = NULL;
    s.correction.support = 2;
    refused(&s, "correction.support is 2");
    s.correction.support = OSSIFY_SUPPORT_JOINTS;
    s.correction.parents = circle;
    refused(&s, "in a circle");
    s.correction.parents = beyond;
    refused(&s, "correction.parents[2] is 3");
    s.correction.parents = NULL;
    s.correction.smoothness = NAN;
    refused(&s, "correction.smoothness is nan");
    s.correction.smoothness = 0;
    s.correction.budget_kind = OSSIFY_BUDGET_RMS;
    refused(&s, "correction.budget is 0");
    s.correction.budget_kind = OSSIFY_BUDGET_PARTS;
    refused(&s, "correction.budget_kind is 3");
    s.correction.budget_kind = OSSIFY_BUDGET_NONE;
    s.correction.solve_rest = 1;
    s.settings.rest_mode = OSSIFY_REST_FIXED;
    refused(&s, "correction.solve_rest is 1 and settings.rest_mode is OSSIFY_REST_FIXED");
    s.correction.solve_rest = 0;
    s.made.frames[5] = NAN;
    refused(&s, "frames[0][1][2] is nan");
    s.made.frames[5] = 0;
    scene_close(&s);
}

TEST(correctives_of_huge_transforms_are_finite_or_refused) {
    SyntheticOptions options = {.vertices = 60, .frames = 4, .bones = 3};
    for (int huge = 0; huge < 3; huge++) {
        Scene s;
        scene_open(&s, options, 2);
        s.correction.refine = huge == 2;
        for (int i = 0; i < 4 * 3 * 12; i++) {
            s.answer.rig.transforms[i] = (i * 7 % 5 - 2) * (huge > 0 ? 5e29 : 1e-30);
        }
        for (int64_t i = 0; i < 3 * s.made.poses.vertex_count; i++) {
            s.answer.rig.rest[i] = (float)(i * 3 % 7) * 1e29f;
        }
        const int64_t status = scene_run(&s);
        CHECK(status == OSSIFY_NO_ANSWER || isfinite(s.answer.info.erms));
        for (int64_t n = 0; n < s.answer.rig.correctives && status >= 0; n++) {
            CHECK(isfinite(s.answer.rig.coefficients[n]) && isfinite(s.answer.rig.fields[n]));
        }
        scene_close(&s);
    }
}

TEST(verbs_that_solve_bones_refuse_a_rig_with_correctives) {
    SyntheticOptions options = {.vertices = 60, .frames = 4, .bones = 3, .correctives = 2};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(3);
    ossify_info info = {.struct_size = sizeof info};
    double costs[3];
    settings.influences = 2;
    CHECK_INT(ossify_decompose(&s.poses, &settings, &s.truth, &info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info.message, "rig.correctives is 2: bones are solved without correctives");
    CHECK_INT(ossify_bone_costs(&s.poses, &settings, &s.truth, costs, &info), OSSIFY_BAD_ARGUMENT);
    s.truth.correctives = 3;
    CHECK_INT(ossify_decompose(&s.poses, &settings, &s.truth, &info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info.message, "rig.correctives is 3: it must be 0..2");
    s.truth.correctives = 2;
    double *coefficients = s.truth.coefficients;
    s.truth.coefficients = NULL;
    CHECK_INT(ossify_decompose(&s.poses, &settings, &s.truth, &info), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(info.message, "rig.coefficients is NULL");
    s.truth.coefficients = coefficients;
    synthetic_free(&s);
}

/* ---- a call that fails at any point leaves nothing behind ---- */

static void scene_way(Scene *s, int way) {
    SyntheticOptions options = {
        .vertices = 90, .frames = 5, .bones = 3, .correctives = 3, .noise = 0.01, .jointed = 1};
    scene_open(s, options, 3);
    s->correction.support = way == 1 ? OSSIFY_SUPPORT_JOINTS : OSSIFY_SUPPORT_WHOLE;
    s->correction.parents = s->made.skeleton.parents;
    s->correction.smoothness = way == 2;
    s->correction.refine = way == 3;
    s->correction.solve_rest = way == 3;
    s->correction.budget_kind = way == 4 ? OSSIFY_BUDGET_RMS : OSSIFY_BUDGET_NONE;
    s->correction.budget = 0.5;
    s->settings.threads = way == 5 ? 2 : 1;
    if (way == 5) {
        bring_fields(s, 1);
    }
}

TEST(correctives_with_every_allocation_refused) {
    for (int way = 0; way < 6; way++) {
        int64_t needed = 1;
        for (int64_t i = 0; i <= needed && !test_failed(); i = trial_after(i, needed)) {
            Ledger ledger = {.refuse_at = i};
            Scene s;
            scene_way(&s, way);
            Answer before = answer_of(&s.made.poses, &s.answer.rig);
            ledger_join(&ledger, &s.settings);
            const int64_t status = scene_run(&s);
            test_case("way %d, allocation %d of %d", way, (int)i, (int)needed);
            CHECK(i == 0 ? status >= 0 : status == OSSIFY_OUT_OF_MEMORY);
            CHECK(i == 0 || rigs_are_equal(&s.made.poses, &s.answer.rig, &before.rig));
            CHECK_INT(ledger.taken, ledger.given);
            needed = i == 0 ? ledger.asked : needed;
            answer_free(&before);
            scene_close(&s);
        }
        CHECK(needed > 20);
    }
}

TEST(correctives_cancelled_at_every_poll) {
    for (int way = 0; way < 5; way++) {
        int64_t polls = 1;
        for (int64_t i = 0; i <= polls && !test_failed(); i = trial_after(i, polls)) {
            Watcher watcher = {.cancel_at = i};
            Scene s;
            scene_way(&s, way);
            Answer before = answer_of(&s.made.poses, &s.answer.rig);
            watcher_join(&watcher, &s.settings);
            const int64_t status = scene_run(&s);
            test_case("way %d, poll %d of %d", way, (int)i, (int)polls);
            if (i == 0) {
                CHECK(status >= 0);
                CHECK_NEAR(watcher.last.fraction, 1, 1e-12);
                polls = watcher.calls;
            } else if (watcher.last.fraction < 1) {
                CHECK_INT(status, OSSIFY_CANCELLED);
                CHECK(rigs_are_equal(&s.made.poses, &s.answer.rig, &before.rig));
            }
            answer_free(&before);
            scene_close(&s);
        }
        CHECK(polls > 10);
    }
}
