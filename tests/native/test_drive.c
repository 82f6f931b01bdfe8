/* test_drive.c - correctives that follow the bones: planted ones come back, what cannot follow is told, and the map gives
 * what it says; turns are recomputed here from the transforms. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 5, FIELDS = 8, TURNS = 1, SHIFTS = 2 };

typedef struct Scene {
    Synthetic made;
    Answer answer;
    ossify_settings settings;
    ossify_driving driving;
    ossify_driven driven;
    int32_t joints[FIELDS];
    double map[FIELDS * BONES * 9];
    double shifts[FIELDS * BONES * 3];
} Scene;

/* R(parent)' R(bone) - I of rigid bones */
static void turn_of(const Scene *s, int64_t f, int b, double phi[9]) {
    const double *own = s->made.truth.transforms + 12 * (f * BONES + b);
    const double *parent = s->made.truth.transforms + 12 * (f * BONES + s->made.skeleton.parents[b]);
    for (int i = 0; i < 9; i++) {
        phi[i] = -(i % 4 == 0);
        for (int k = 0; k < 3; k++) {
            phi[i] += parent[4 * k + i / 3] * own[4 * k + i % 3];
        }
    }
}

/* A(parent)' (M(bone) p~ - t(parent)) - p of rigid bones */
static void shift_of(const Scene *s, int64_t f, int b, double shift[3]) {
    const double *own = s->made.truth.transforms + 12 * (f * BONES + b), *p = s->made.skeleton.joints + 3 * b;
    const double *parent = s->made.truth.transforms + 12 * (f * BONES + s->made.skeleton.parents[b]);
    for (int i = 0; i < 3; i++) {
        shift[i] = -p[i];
        for (int k = 0; k < 3; k++) {
            const double *row = own + 4 * k;
            shift[i] += parent[4 * k + i] *
                        (row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3] - parent[4 * k + 3]);
        }
    }
}

static double driven_coefficient(const Scene *s, int64_t f, const double *map, const double *shifts) {
    double sum = 0;
    for (int b = 0; b < BONES; b++) {
        double phi[9], shift[3];
        if (s->made.skeleton.parents[b] >= 0) {
            shift_of(s, f, b, shift);
            for (int i = 0; i < 3; i++) {
                sum += shifts[3 * b + i] * shift[i];
            }
            turn_of(s, f, b, phi);
            for (int i = 0; i < 9; i++) {
                sum += map[9 * b + i] * phi[i];
            }
        }
    }
    return sum;
}

/* The frames that the truth replays. */
static void replay_truth(Scene *s) {
    const ossify_rig *rig = &s->made.truth;
    const int64_t vertices = s->made.poses.vertex_count;
    for (int64_t i = 0; i < s->made.poses.frame_count * vertices; i++) {
        const int64_t f = i / vertices, v = i % vertices;
        double p[3], y[3] = {0};
        for (int a = 0; a < 3; a++) {
            p[a] = rig->rest[3 * v + a];
            for (int64_t n = 0; n < rig->correctives; n++) {
                p[a] += rig->coefficients[f * rig->corrective_capacity + n] *
                        (double)rig->fields[3 * (n * vertices + v) + a];
            }
        }
        for (int64_t k = v * rig->influences; k < (v + 1) * rig->influences; k++) {
            const double *m = rig->transforms +
                              12 * (f * BONES + (rig->influence_bones[k] < 0 ? 0 : rig->influence_bones[k]));
            for (int a = 0; a < 3; a++) {
                y[a] += (double)rig->influence_weights[k] *
                        (m[4 * a] * p[0] + m[4 * a + 1] * p[1] + m[4 * a + 2] * p[2] + m[4 * a + 3]);
            }
        }
        for (int a = 0; a < 3; a++) {
            s->made.frames[3 * i + a] = (float)y[a];
        }
    }
}

/* follows: planted coefficients are a map of the turns, or, where joints slide, of the shifts; else they are drawn by
 * chance. near: each field is that of one joint, and acts on its bone alone. */
static void scene_open(Scene *s, int frames, int follows, int near) {
    SyntheticOptions options = {.shape = SHAPE_TUBE,
                                .vertices = 400,
                                .frames = frames,
                                .bones = BONES,
                                .jointed = 1,
                                .stretch = follows == SHIFTS,
                                .correctives = 2,
                                .seed = 3};
    memset(s, 0, sizeof *s);
    s->made = synthetic_make(options);
    ossify_rig *truth = &s->made.truth;
    for (int64_t f = 0; f < frames && follows; f++) {
        for (int n = 0; n < 2; n++) {
            double map[BONES * 9] = {0}, shifts[BONES * 3] = {0};
            for (int i = 0; i < BONES * 9 && follows == TURNS; i++) {
                map[i] = near && i / 9 != n + 1 ? 0 : sin(3.0 * i + n);
            }
            for (int i = 0; i < BONES * 3 && follows == SHIFTS; i++) {
                shifts[i] = 20 * sin(3.0 * i + n);
            }
            truth->coefficients[2 * f + n] = driven_coefficient(s, f, map, shifts);
        }
    }
    for (int64_t i = 0; i < 2 * s->made.poses.vertex_count && near; i++) {
        const int64_t n = i / s->made.poses.vertex_count, v = i % s->made.poses.vertex_count;
        double weight = 0;
        for (int64_t k = v * truth->influences; k < (v + 1) * truth->influences; k++) {
            weight += truth->influence_bones[k] == n + 1 ? (double)truth->influence_weights[k] : 0;
        }
        for (int a = 0; a < 3; a++) {
            truth->fields[3 * i + a] *= (float)weight;
        }
    }
    replay_truth(s);
    s->answer = answer_of(&s->made.poses, truth);
    answer_correctives(&s->made.poses, FIELDS, &s->answer);
    s->settings = plain_settings(BONES);
    ossify_default_driving(&s->driving);
    s->driving.count = 2;
    s->driving.joint_count = FIELDS;
    s->driving.parents = s->made.skeleton.parents;
    s->driven = (ossify_driven){
        .struct_size = sizeof s->driven, .joints = s->joints, .map = s->map, .shifts = s->shifts};
}

static void scene_close(Scene *s) {
    answer_free(&s->answer);
    synthetic_free(&s->made);
}

static int64_t scene_run(Scene *s) {
    return ossify_drive(&s->made.poses, &s->settings, &s->answer.rig, &s->driving, &s->driven,
                        &s->answer.info);
}

static void scene_solve(Scene *s) {
    memset(s->shifts, -1, sizeof s->shifts); /* NAN */
    CHECK_INT(scene_run(s), OSSIFY_CONVERGED);
    CHECK_TEXT(s->answer.info.message, "");
}

/* The coefficients of every frame are what the map makes of its turns and shifts. */
static void check_map(const Scene *s) {
    const ossify_rig *rig = &s->answer.rig;
    for (int64_t n = 0; n < rig->correctives; n++) {
        double most = 0;
        for (int64_t f = 0; f < s->made.poses.frame_count; f++) {
            const double c = rig->coefficients[f * rig->corrective_capacity + n];
            CHECK_NEAR(driven_coefficient(s, f, s->map + 9 * BONES * n, s->shifts + 3 * BONES * n), c, 1e-6);
            most = fmax(most, fabs(c));
        }
        CHECK_NEAR(most, 1, 1e-9);
        for (int b = 0; b < BONES; b++) {
            for (int i = 0; i < 9; i++) {
                CHECK(s->map[9 * (BONES * n + b) + i] == 0 ||
                      (s->made.skeleton.parents[b] >= 0 && (s->joints[n] < 0 || s->joints[n] == b)));
            }
        }
    }
}

TEST(correctives_that_follow_all_joints_come_back) {
    Scene s;
    scene_open(&s, 60, 1, 0);
    s.driving.form = OSSIFY_DRIVEN_WHOLE;
    scene_solve(&s);
    CHECK_INT(s.driven.form, OSSIFY_DRIVEN_WHOLE);
    CHECK_INT(s.answer.rig.correctives, 2);
    CHECK(s.driven.bare_erms > 5);
    CHECK(s.driven.keyed_erms < 0.02 * s.driven.bare_erms);
    CHECK(s.driven.whole_erms < 0.2 * s.driven.bare_erms);
    CHECK(s.answer.info.erms < 0.05 * s.driven.bare_erms);
    check_map(&s);
    scene_close(&s);
}

/* Turns do not tell how far joints have slid. */
TEST(correctives_that_follow_how_joints_slide_need_pivots) {
    double without = 0;
    for (int pivots = 0; pivots < 2; pivots++) {
        Scene s;
        scene_open(&s, 60, SHIFTS, 0);
        s.driving.form = OSSIFY_DRIVEN_WHOLE;
        s.driving.pivots = pivots ? s.made.skeleton.joints : NULL;
        scene_solve(&s);
        test_case("pivots %d", pivots);
        check_map(&s);
        without = pivots ? without : s.driven.whole_erms;
        CHECK(s.driven.keyed_erms < 0.05 * s.driven.bare_erms);
        CHECK(!pivots || s.driven.whole_erms < fmin(0.2 * s.driven.bare_erms, 0.5 * without));
        for (int i = 0; i < 3 * BONES && !pivots; i++) {
            CHECK(s.shifts[i] == 0);
        }
        scene_close(&s);
    }
}

TEST(correctives_that_follow_one_joint_each_come_back) {
    Scene s;
    scene_open(&s, 60, 1, 1);
    s.driving.form = OSSIFY_DRIVEN_JOINTS;
    scene_solve(&s);
    const ossify_rig *rig = &s.answer.rig;
    CHECK_INT(s.driven.form, OSSIFY_DRIVEN_JOINTS);
    CHECK(rig->correctives >= 2);
    CHECK(s.driven.joints_erms < 0.3 * s.driven.bare_erms);
    CHECK(s.answer.info.erms < 0.3 * s.driven.bare_erms);
    check_map(&s);
    for (int64_t n = 0; n < rig->correctives; n++) {
        const int joint = s.joints[n], parent = joint < 0 ? -1 : s.made.skeleton.parents[joint];
        CHECK(joint > 0 && parent >= 0);
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

TEST(the_better_form_is_found) {
    for (int near = 0; near < 2; near++) {
        Scene s;
        scene_open(&s, 48, 1, near);
        scene_solve(&s);
        test_case("near %d", near);
        CHECK_INT(s.driven.form, s.driven.joints_erms < s.driven.whole_erms);
        check_map(&s);
        scene_close(&s);
    }
}

/* Whoever calls sees that nothing is gained on frames that were left out. */
TEST(coefficients_that_follow_nothing_are_told) {
    Scene s;
    scene_open(&s, 60, 0, 0);
    scene_solve(&s);
    CHECK(s.driven.keyed_erms < 0.05 * s.driven.bare_erms);
    CHECK(s.driven.whole_erms > 0.9 * s.driven.bare_erms);
    CHECK(s.driven.joints_erms > 0.9 * s.driven.bare_erms);
    scene_close(&s);
}

TEST(driven_correctives_of_few_frames) {
    for (int frames = 1; frames <= 5; frames++) {
        Scene s;
        scene_open(&s, frames, 1, 0);
        test_case("%d frames", frames);
        scene_solve(&s);
        CHECK_INT(s.driven.bare_erms >= 0, frames > 1);
        CHECK(isfinite(s.answer.info.erms));
        check_map(&s);
        scene_close(&s);
    }
}

TEST(driven_correctives_of_a_rig_without_joints_are_none) {
    const int32_t roots[BONES] = {-1, -1, -1, -1, -1};
    Scene s;
    scene_open(&s, 12, 1, 0);
    s.driving.parents = roots;
    scene_solve(&s);
    CHECK_INT(s.answer.rig.correctives, 0);
    CHECK_NEAR(s.driven.whole_erms, s.driven.bare_erms, 1e-9 * s.driven.bare_erms);
    scene_close(&s);
}

TEST(driven_correctives_are_the_same_on_any_number_of_threads) {
    for (int form = OSSIFY_DRIVEN_WHOLE; form <= OSSIFY_DRIVEN_JOINTS; form++) {
        Scene first, other;
        for (int threads = 1; threads <= 3; threads++) {
            Scene *s = threads == 1 ? &first : &other;
            scene_open(s, 14, 1, 0);
            s->settings.threads = threads;
            s->driving.form = form;
            scene_solve(s);
            test_case("form %d, %d threads", form, threads);
            if (threads > 1) {
                CHECK(rigs_are_equal(&s->made.poses, &s->answer.rig, &first.answer.rig));
                CHECK(memcmp(s->map, first.map, sizeof s->map) == 0);
                CHECK(s->driven.whole_erms == first.driven.whole_erms &&
                      s->driven.joints_erms == first.driven.joints_erms);
                scene_close(s);
            }
        }
        scene_close(&first);
    }
}

static void refused(Scene *s, const char *sentence) {
    CHECK_INT(scene_run(s), OSSIFY_BAD_ARGUMENT);
    CHECK_SAYS(s->answer.info.message, sentence);
}

TEST(drivers_that_cannot_be_are_refused) {
    const int32_t circle[BONES] = {-1, 2, 1, 0, 0};
    const double nowhere[3 * BONES] = {[3 * BONES - 1] = NAN};
    Scene s;
    scene_open(&s, 4, 1, 0);
    s.driving.count = 300;
    refused(&s, "driving.count is 300: it must be 0..256");
    s.driving.count = FIELDS + 1;
    refused(&s, "room for 8");
    s.driving.count = 2;
    s.driving.form = 3;
    refused(&s, "driving.form is 3");
    s.driving.form = OSSIFY_DRIVEN_FOUND;
    s.driving.parents = NULL;
    refused(&s, "driving.parents is NULL");
    s.driving.parents = circle;
    refused(&s, "driving.parents lead from bone 1 in a circle");
    s.driving.parents = s.made.skeleton.parents;
    s.driving.pivots = nowhere;
    refused(&s, "driving.pivots: number 2 of bone 4 is not finite");
    s.driving.pivots = NULL;
    s.answer.rig.correctives = 1;
    refused(&s, "rig.correctives is 1: driven fields are solved anew");
    scene_close(&s);
}

TEST(drivers_with_every_allocation_refused) {
    int64_t needed = 1;
    for (int64_t i = 0; i <= needed && !test_failed(); i = trial_after(i, needed)) {
        Ledger ledger = {.refuse_at = i};
        Scene s;
        scene_open(&s, 5, 1, 0);
        Answer before = answer_of(&s.made.poses, &s.answer.rig);
        ledger_join(&ledger, &s.settings);
        const int64_t status = scene_run(&s);
        test_case("allocation %d of %d", (int)i, (int)needed);
        CHECK(i == 0 ? status >= 0 : status == OSSIFY_OUT_OF_MEMORY);
        CHECK(i == 0 || rigs_are_equal(&s.made.poses, &s.answer.rig, &before.rig));
        CHECK_INT(ledger.taken, ledger.given);
        needed = i == 0 ? ledger.asked : needed;
        answer_free(&before);
        scene_close(&s);
    }
    CHECK(needed > 60);
}

TEST(drivers_cancelled_at_every_poll) {
    int64_t polls = 1;
    for (int64_t i = 0; i <= polls && !test_failed(); i = trial_after(i, polls)) {
        Watcher watcher = {.cancel_at = i};
        Scene s;
        scene_open(&s, 5, 1, 0);
        Answer before = answer_of(&s.made.poses, &s.answer.rig);
        watcher_join(&watcher, &s.settings);
        const int64_t status = scene_run(&s);
        test_case("poll %d of %d", (int)i, (int)polls);
        if (i == 0) {
            CHECK(status >= 0);
            polls = watcher.calls;
        } else if (watcher.last.fraction < 1) {
            CHECK_INT(status, OSSIFY_CANCELLED);
            CHECK(rigs_are_equal(&s.made.poses, &s.answer.rig, &before.rig));
        }
        answer_free(&before);
        scene_close(&s);
    }
    CHECK(polls > 40);
}
