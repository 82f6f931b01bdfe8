/* test_animation_space.c - a rest position for every bone of a vertex: planted ones come back, no others do better,
 * and what is held stays; recomputed here from the definition. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { MOST_SLOTS = 6 };

/* A rig, and room for its animation space. */
typedef struct Scene {
    Synthetic made;
    Answer answer;
    ossify_settings settings;
    ossify_space_fit fit;
    ossify_space space;
} Scene;

static void scene_open(Scene *s, SyntheticOptions options, int64_t slots) {
    memset(s, 0, sizeof *s);
    s->made = synthetic_make(options);
    s->answer = answer_of(&s->made.poses, &s->made.truth);
    s->settings = plain_settings(s->made.truth.bones);
    s->settings.bone_kind = options.flexible ? OSSIFY_FLEXIBLE : OSSIFY_RIGID;
    ossify_default_space_fit(&s->fit);
    const size_t count = (size_t)(s->made.poses.vertex_count * slots);
    s->space = (ossify_space){.struct_size = sizeof s->space,
                              .influences = slots,
                              .bones = calloc(count, sizeof(int32_t)),
                              .corrections = calloc(4 * count, sizeof(float))};
}

static void scene_close(Scene *s) {
    free(s->space.bones);
    free(s->space.corrections);
    answer_free(&s->answer);
    synthetic_free(&s->made);
}

static int64_t scene_run(Scene *s) {
    return ossify_animation_space(&s->made.poses, &s->settings, &s->answer.rig, &s->fit, &s->space,
                                  &s->answer.info);
}

static void scene_solve(Scene *s) {
    CHECK_INT(scene_run(s), OSSIFY_CONVERGED);
    CHECK_TEXT(s->answer.info.message, "");
}

/* ---- by definition ---- */

static void add_moved(const double *m, const double p[4], double y[3]) {
    for (int i = 0; i < 3; i++) {
        y[i] += m[4 * i] * p[0] + m[4 * i + 1] * p[1] + m[4 * i + 2] * p[2] + m[4 * i + 3] * p[3];
    }
}

static const double *transform_of(const ossify_rig *rig, int64_t f, int64_t b) {
    return rig->transforms + 12 * (f * rig->bone_capacity + b);
}

/* y = sum_k M (w (r, 1)) + sum_k M d */
static void replay(const ossify_rig *rig, const ossify_space *space, int64_t f, int64_t v, double y[3]) {
    memset(y, 0, 3 * sizeof *y);
    for (int64_t k = v * rig->influences; k < (v + 1) * rig->influences; k++) {
        const double w = (double)rig->influence_weights[k];
        const double p[4] = {w * (double)rig->rest[3 * v], w * (double)rig->rest[3 * v + 1],
                             w * (double)rig->rest[3 * v + 2], w};
        if (rig->influence_bones[k] >= 0) {
            add_moved(transform_of(rig, f, rig->influence_bones[k]), p, y);
        }
    }
    for (int64_t k = v * space->influences; k < (v + 1) * space->influences; k++) {
        const float *d = space->corrections + 4 * k;
        const double p[4] = {(double)d[0], (double)d[1], (double)d[2], (double)d[3]};
        if (space->bones[k] >= 0) {
            add_moved(transform_of(rig, f, space->bones[k]), p, y);
        }
    }
}

static double squared_error(const ossify_poses *poses, const ossify_rig *rig, const ossify_space *space) {
    double sum = 0;
    for (int64_t i = 0; i < poses->frame_count * poses->vertex_count; i++) {
        double y[3];
        replay(rig, space, i / poses->vertex_count, i % poses->vertex_count, y);
        for (int a = 0; a < 3; a++) {
            const double d = y[a] - (double)poses->frames[3 * i + a];
            sum += d * d;
        }
    }
    return sum;
}

static double root_mean_square(const Scene *s) {
    const ossify_poses *poses = &s->made.poses;
    return sqrt(squared_error(poses, &s->answer.rig, &s->space) /
                (double)(poses->vertex_count * poses->frame_count));
}

/* Frames of an animation space: bones and weights of the truth, and corrections that vary smoothly. */
static void plant(Scene *s, double size) {
    const ossify_rig *rig = &s->made.truth;
    const ossify_poses *poses = &s->made.poses;
    const int64_t k = s->space.influences;
    for (int64_t v = 0; v < poses->vertex_count; v++) {
        double sum[4] = {0};
        int64_t last = -1;
        for (int64_t i = 0; i < k; i++) {
            const int64_t slot = v * k + i;
            const int used = i < rig->influences && rig->influence_bones[v * rig->influences + i] >= 0;
            s->space.bones[slot] = used ? rig->influence_bones[v * rig->influences + i] : -1;
            last = used ? i : last;
        }
        for (int64_t i = 0; i < last; i++) {
            float *d = s->space.corrections + 4 * (v * k + i);
            for (int j = 0; j < 4; j++) {
                const double phase = 3 * (double)poses->rest[3 * v + j % 3] + j;
                d[j] = (float)(size * sin(phase + (double)s->space.bones[v * k + i]));
                sum[j] += (double)d[j];
            }
        }
        for (int j = 0; j < 4 && last > 0; j++) {
            s->space.corrections[4 * (v * k + last) + j] = (float)-sum[j];
        }
    }
    for (int64_t i = 0; i < poses->frame_count * poses->vertex_count; i++) {
        double y[3];
        replay(rig, &s->space, i / poses->vertex_count, i % poses->vertex_count, y);
        for (int a = 0; a < 3; a++) {
            s->made.frames[3 * i + a] = (float)y[a];
        }
    }
}

static void forget(Scene *s) {
    const size_t count = (size_t)(s->made.poses.vertex_count * s->space.influences);
    memset(s->space.bones, 0xEE, count * sizeof(int32_t));
    memset(s->space.corrections, 0xEE, 4 * count * sizeof(float));
}

/* ---- known answers ---- */

TEST(corrections_that_were_planted_come_back) {
    for (int flexible = 0; flexible < 2; flexible++) {
        Scene s;
        scene_open(&s, (SyntheticOptions){.vertices = 500, .frames = 24, .bones = 4, .flexible = flexible},
                   4);
        plant(&s, 0.05);
        const size_t numbers = (size_t)(4 * s.made.poses.vertex_count * s.space.influences);
        float *planted = malloc(numbers * sizeof *planted);
        memcpy(planted, s.space.corrections, numbers * sizeof *planted);
        forget(&s);
        s.fit.smoothness = 0;
        s.fit.damping = 1e-9;
        scene_solve(&s);
        CHECK(root_mean_square(&s) < 2e-6);
        CHECK_INT(s.space.given, 1);
        for (size_t i = 0; i < numbers && !test_failed(); i++) {
            if (s.space.bones[i / 4] >= 0) {
                CHECK_NEAR(s.space.corrections[i], planted[i], 2e-3);
            }
        }
        free(planted);
        scene_close(&s);
    }
}

TEST(a_rig_that_misses_nothing_needs_no_corrections) {
    Scene s;
    scene_open(&s, (SyntheticOptions){.vertices = 300, .frames = 12, .bones = 4}, 3);
    scene_solve(&s);
    for (int64_t i = 0; i < 4 * s.made.poses.vertex_count * s.space.influences && !test_failed(); i++) {
        CHECK_NEAR(s.space.corrections[i], 0, 1e-5);
    }
    scene_close(&s);
}

TEST(info_and_evaluation_have_the_corrections_in) {
    Scene s;
    scene_open(&s, (SyntheticOptions){.vertices = 300, .frames = 10, .bones = 4, .noise = 0.02}, 3);
    scene_solve(&s);
    const double bare = replay_error(&s.made.poses, &s.answer.rig, NULL), error = root_mean_square(&s);
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    const ossify_request request = {.struct_size = sizeof request,
                                    .verb = OSSIFY_EVALUATE,
                                    .poses = &s.made.poses,
                                    .rig = &s.answer.rig,
                                    .space = &s.space,
                                    .evaluation = &evaluation};
    const double erms = s.answer.info.erms;
    CHECK(error < 0.98 * bare);
    CHECK_INT(ossify_run(&request, &s.answer.info), OSSIFY_CONVERGED);
    CHECK_NEAR(evaluation.rms, error, 1e-9);
    CHECK_NEAR(evaluation.erms, erms, 1e-9);
    scene_close(&s);
}

/* ---- optimality ---- */

/* The whole energy, as coordinates.c states it, in the caller's coordinates scaled to the unit sphere: recomputed from
 * the arrays alone. */
typedef struct Judge {
    double unit, centre[3]; /* of the rest's sphere, a power of two near its radius */
    double *bone_centre;    /* [b][3] */
} Judge;

static Judge judge_open(const Scene *s, double unit, const double centre[3]) {
    const ossify_rig *rig = &s->answer.rig;
    Judge judge = {.unit = unit, .bone_centre = calloc((size_t)(3 * rig->bones), sizeof(double))};
    double *mass = calloc((size_t)rig->bones, sizeof *mass);
    memcpy(judge.centre, centre, sizeof judge.centre);
    for (int64_t i = 0; i < s->made.poses.vertex_count * rig->influences; i++) {
        const int64_t b = rig->influence_bones[i], v = i / rig->influences;
        const double w = (double)rig->influence_weights[i];
        for (int a = 0; a < 3 && b >= 0; a++) {
            judge.bone_centre[3 * b + a] += w * w * ((double)rig->rest[3 * v + a] - centre[a]) / unit;
        }
        mass[b >= 0 ? b : 0] += b >= 0 ? w * w : 0;
    }
    for (int64_t i = 0; i < 3 * rig->bones; i++) {
        judge.bone_centre[i] /= mass[i / 3] > 0 ? mass[i / 3] : 1;
    }
    free(mass);
    return judge;
}

/* (q, w) about the bone's centre, in units of the sphere; zero where the vertex has not the bone */
static void own_correction(const Judge *judge, const ossify_space *space, int64_t v, int64_t bone,
                           double d[4]) {
    memset(d, 0, 4 * sizeof *d);
    for (int64_t k = v * space->influences; k < (v + 1) * space->influences; k++) {
        const float *from = space->corrections + 4 * k;
        for (int a = 0; a < 3 && space->bones[k] == bone; a++) {
            d[a] = ((double)from[a] - (double)from[3] * judge->centre[a]) / judge->unit -
                   (double)from[3] * judge->bone_centre[3 * bone + a];
        }
        d[3] = space->bones[k] == bone ? (double)from[3] : d[3];
    }
}

static double mean_length(const ossify_poses *poses, int64_t a, int64_t b) {
    double sum = 0;
    for (int64_t f = 0; f < poses->frame_count; f++) {
        const float *x = poses->frames + 3 * (f * poses->vertex_count + a);
        const float *y = poses->frames + 3 * (f * poses->vertex_count + b);
        sum += hypot(hypot((double)x[0] - (double)y[0], (double)x[1] - (double)y[1]),
                     (double)x[2] - (double)y[2]);
    }
    return sum / (double)poses->frame_count;
}

/* Each edge once: of a triangle's side that stands in two triangles, the one that goes up. */
static double penalties(const Scene *s, const Judge *judge) {
    const ossify_poses *poses = &s->made.poses;
    const int64_t n = poses->vertex_count;
    uint8_t *seen = calloc((size_t)(n * n), 1);
    double sum = 0;
    for (int64_t i = 0; i < 3 * poses->triangle_count; i++) {
        const int64_t a = poses->triangles[i], b = poses->triangles[i / 3 * 3 + (i + 1) % 3];
        const int64_t pair = a < b ? a * n + b : b * n + a;
        for (int64_t bone = 0; bone < s->answer.rig.bones && !seen[pair]; bone++) {
            double x[4], y[4], square = 0;
            own_correction(judge, &s->space, a, bone, x);
            own_correction(judge, &s->space, b, bone, y);
            for (int j = 0; j < 4; j++) {
                square += (x[j] - y[j]) * (x[j] - y[j]);
            }
            sum += s->fit.smoothness * square * judge->unit / mean_length(poses, a, b);
        }
        seen[pair] = 1;
    }
    for (int64_t i = 0; i < n * s->answer.rig.bones; i++) {
        double d[4];
        own_correction(judge, &s->space, i / s->answer.rig.bones, i % s->answer.rig.bones, d);
        sum += s->fit.damping * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3]);
    }
    free(seen);
    return sum;
}

/* How far the rest moves, as one more pose. */
static double moved_rest(const Scene *s) {
    double square = 0;
    for (int64_t i = 0; i < 3 * s->made.poses.vertex_count; i++) {
        double sum = 0;
        for (int64_t k = i / 3 * s->space.influences; k < (i / 3 + 1) * s->space.influences; k++) {
            sum += s->space.bones[k] >= 0 ? (double)s->space.corrections[4 * k + i % 3] : 0;
        }
        square += sum * sum;
    }
    return square;
}

static double energy(const Scene *s, const Judge *judge) {
    const double square = squared_error(&s->made.poses, &s->answer.rig, &s->space) + moved_rest(s);
    return square / (judge->unit * judge->unit) + penalties(s, judge);
}

/* A step that keeps the sums of a vertex that must be kept: what one bone gains, another loses. */
static void shift(Scene *s, int64_t v, int j, double by) {
    float *d = s->space.corrections + 4 * v * s->space.influences + j;
    d[0] = (float)((double)d[0] + by);
    d[4] = j == 3 || s->fit.rest_exact ? (float)((double)d[4] - by) : d[4];
}

static void check_best(int rest_exact) {
    Scene s;
    const double centre[3] = {0, 0, 0};
    scene_open(&s, (SyntheticOptions){.vertices = 90, .frames = 9, .bones = 3, .noise = 0.05}, 2);
    s.fit.smoothness = 0.2;
    s.fit.damping = 1;
    s.fit.rest_exact = rest_exact;
    scene_solve(&s);
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    ossify_info info = {.struct_size = sizeof info};
    ossify_evaluate(&s.made.poses, &s.answer.rig, NULL, &evaluation, &info);
    int exponent = 0;
    frexp(evaluation.radius, &exponent);
    /* where the origin lies changes nothing: sum w = 0 */
    const Judge judge = judge_open(&s, ldexp(1, exponent), centre);
    const double least = energy(&s, &judge), step = 0.02;
    int tried = 0;
    for (int64_t v = 0; v < s.made.poses.vertex_count && !test_failed(); v += 5) {
        for (int j = 0; j < 4 && s.space.bones[2 * v + 1] >= 0; j++, tried++) {
            shift(&s, v, j, step);
            const double up = energy(&s, &judge);
            shift(&s, v, j, -2 * step);
            const double down = energy(&s, &judge);
            shift(&s, v, j, step);
            const double slope = (up - down) / (2 * step), bend = (up + down - 2 * least) / (step * step);
            test_case("vertex %d, number %d: slope %g, bend %g of %g", (int)v, j, slope, bend, least);
            CHECK(bend > 0);
            CHECK(slope * slope / bend < 1e-8 * least); /* what the best step would gain, twice */
        }
    }
    CHECK(tried > 20);
    free(judge.bone_centre);
    scene_close(&s);
}

TEST(no_other_corrections_do_better) {
    check_best(1);
    check_best(0);
}

/* ---- the rest, the sums ---- */

TEST(corrections_vanish_in_the_rest_pose_unless_it_may_move) {
    for (int exact = 0; exact < 2; exact++) {
        Scene s;
        scene_open(&s, (SyntheticOptions){.vertices = 300, .frames = 10, .bones = 4, .noise = 0.03}, 3);
        s.fit.rest_exact = exact;
        scene_solve(&s);
        double most[4] = {0};
        for (int64_t v = 0; v < s.made.poses.vertex_count; v++) {
            for (int j = 0; j < 4; j++) {
                double sum = 0;
                for (int64_t k = v * 3; k < v * 3 + 3; k++) {
                    sum += s.space.bones[k] >= 0 ? (double)s.space.corrections[4 * k + j] : 0;
                }
                most[j] = fmax(most[j], fabs(sum));
            }
        }
        CHECK(most[3] < 1e-6);
        CHECK(exact ? most[0] < 1e-6 && most[1] < 1e-6 && most[2] < 1e-6 : most[0] > 1e-3);
        CHECK(exact ? s.answer.info.rest_percent < 1e-4 : s.answer.info.rest_percent > 0.05);
        scene_close(&s);
    }
}

TEST(free_slots_are_filled_with_bones_of_neighbours) {
    Scene own, padded;
    const SyntheticOptions options = {.vertices = 500, .frames = 14, .bones = 6, .noise = 0.03};
    scene_open(&own, options, 4);
    scene_open(&padded, options, 4);
    padded.fit.bones = OSSIFY_SPACE_PADDED;
    scene_solve(&own);
    scene_solve(&padded);
    int64_t few = 0;
    for (int64_t i = 0; i < own.made.poses.vertex_count * 4; i++) {
        const int64_t influences = own.answer.rig.influences;
        const int32_t bone =
            i % 4 < influences ? own.answer.rig.influence_bones[i / 4 * influences + i % 4] : -1;
        CHECK_INT(own.space.bones[i], bone);
        CHECK(bone < 0 || padded.space.bones[i] == bone);
        few += padded.space.bones[i] < 0;
    }
    CHECK_INT(few, 0);
    CHECK(padded.answer.info.erms < 0.97 * own.answer.info.erms);
    scene_close(&own);
    scene_close(&padded);
}

TEST(positions_as_printed_are_smoother_and_worse) {
    Scene own, printed;
    const SyntheticOptions options = {.vertices = 300, .frames = 12, .bones = 4, .noise = 0.03};
    scene_open(&own, options, 3);
    scene_open(&printed, options, 3);
    printed.fit.form = OSSIFY_SPACE_POSITIONS;
    printed.fit.smoothness = 0.05;
    printed.fit.rest_exact = 0;
    scene_solve(&own);
    scene_solve(&printed);
    CHECK(printed.answer.info.erms > own.answer.info.erms);
    scene_close(&own);
    scene_close(&printed);
}

/* ---- bones ---- */

TEST(bones_and_corrections_in_turns_lower_the_error_and_leave_what_is_held) {
    for (int flexible = 0; flexible < 2; flexible++) {
        double before = INFINITY;
        for (int rounds = 0; rounds <= 4; rounds += 2) {
            Scene s;
            scene_open(&s,
                       (SyntheticOptions){
                           .vertices = 400, .frames = 9, .bones = 4, .noise = 0.04, .flexible = flexible},
                       3);
            uint8_t held[9 * 4] = {0};
            held[5] = held[18] = 1;
            s.answer.rig.held_transforms = held;
            s.fit.rounds = rounds;
            const Answer start = answer_of(&s.made.poses, &s.answer.rig);
            scene_solve(&s);
            test_case("flexible %d, %d rounds", flexible, rounds);
            CHECK(s.answer.info.erms < before);
            before = s.answer.info.erms;
            for (int64_t i = 0; i < 9 * 4; i++) {
                const int same = memcmp(start.rig.transforms + 12 * i, s.answer.rig.transforms + 12 * i,
                                        12 * sizeof(double)) == 0;
                CHECK(held[i] || rounds == 0 ? same : !same);
            }
            s.answer.rig.held_transforms = NULL;
            check_rig(&s.made.poses, &s.answer.rig, !flexible);
            Answer end = start;
            answer_free(&end);
            scene_close(&s);
        }
    }
}

TEST(new_frames_are_tracked_with_corrections_that_stay) {
    for (int flexible = 0; flexible < 2; flexible++) {
        Scene s;
        uint64_t random = 3;
        scene_open(&s, (SyntheticOptions){.vertices = 400, .frames = 8, .bones = 4, .flexible = flexible}, 3);
        plant(&s, 0.03);
        s.space.given = 1;
        const size_t numbers = (size_t)(4 * s.made.poses.vertex_count * s.space.influences);
        float *planted = malloc(numbers * sizeof *planted);
        memcpy(planted, s.space.corrections, numbers * sizeof *planted);
        for (int64_t i = 0; i < 8 * 4; i++) { /* bones a little off */
            double *m = s.answer.rig.transforms + 12 * i;
            for (int a = 3; a < 12; a += 4) {
                m[a] += 0.05 * (random_unit(&random) - 0.5);
            }
        }
        CHECK(root_mean_square(&s) > 5e-3);
        scene_solve(&s);
        CHECK(root_mean_square(&s) < 1e-4);
        CHECK(memcmp(planted, s.space.corrections, numbers * sizeof *planted) == 0);
        free(planted);
        scene_close(&s);
    }
}

/* ---- bones about joints ---- */

/* The farthest that two bones put their joint apart, in all frames. */
static double gap_at_joints(const Scene *s) {
    const ossify_skeleton *skeleton = &s->made.skeleton;
    double most = 0;
    for (int64_t f = 0; f < s->made.poses.frame_count; f++) {
        for (int64_t b = 0; b < s->answer.rig.bones; b++) {
            const double *j = skeleton->joints + 3 * b;
            const double p[4] = {j[0], j[1], j[2], 1};
            double own[3] = {0}, above[3] = {0};
            if (skeleton->parents[b] >= 0) {
                add_moved(transform_of(&s->answer.rig, f, b), p, own);
                add_moved(transform_of(&s->answer.rig, f, skeleton->parents[b]), p, above);
                for (int i = 0; i < 3; i++) {
                    most = fmax(most, fabs(own[i] - above[i]));
                }
            }
        }
    }
    return most;
}

static void scene_open_jointed(Scene *s, double noise, uint64_t seed) {
    scene_open(s,
               (SyntheticOptions){
                   .vertices = 400, .frames = 9, .bones = 6, .jointed = 1, .noise = noise, .seed = seed},
               3);
    s->fit.parents = s->made.skeleton.parents;
    s->fit.joints = s->made.skeleton.joints;
}

TEST(joints_hold_while_bones_and_corrections_take_turns) {
    double before = INFINITY;
    for (int rounds = 0; rounds <= 4; rounds += 2) {
        Scene s;
        scene_open_jointed(&s, 0.04, 5);
        s.fit.rounds = rounds;
        scene_solve(&s);
        test_case("%d rounds", rounds);
        CHECK(s.answer.info.erms < before);
        before = s.answer.info.erms;
        CHECK(gap_at_joints(&s) < 1e-9);
        check_rig(&s.made.poses, &s.answer.rig, 1);
        scene_close(&s);
    }
}

/* A bone and all below it turned about its joint. */
static void turn_limb(const Scene *s, int64_t f, int64_t b, const double turn[9]) {
    const double *j = s->made.skeleton.joints + 3 * b, p[4] = {j[0], j[1], j[2], 1};
    double at[3] = {0};
    add_moved(transform_of(&s->answer.rig, f, b), p, at);
    for (int64_t c = 0; c < s->answer.rig.bones; c++) {
        int64_t up = c;
        while (up != b && up >= 0) {
            up = s->made.skeleton.parents[up];
        }
        double *m = s->answer.rig.transforms + 12 * (f * s->answer.rig.bone_capacity + c), old[12];
        memcpy(old, m, sizeof old);
        for (int i = 0; i < 12 && up == b; i++) {
            m[i] = i % 4 == 3 ? at[i / 4] : 0;
            for (int k = 0; k < 3; k++) {
                m[i] += turn[3 * (i / 4) + k] * (old[4 * k + i % 4] - (i % 4 == 3 ? at[k] : 0));
            }
        }
    }
}

TEST(new_frames_are_tracked_about_joints_and_no_turn_does_better) {
    Scene s;
    uint64_t random = 9;
    scene_open_jointed(&s, 0, 6);
    plant(&s, 0.03);
    s.space.given = 1;
    for (int64_t i = 0; i < 9 * 6; i++) { /* limbs a little off */
        const double a = 0.2 * (random_unit(&random) - 0.5);
        turn_limb(&s, i / 6, i % 6, (double[9]){cos(a), -sin(a), 0, sin(a), cos(a), 0, 0, 0, 1});
    }
    CHECK(root_mean_square(&s) > 5e-3);
    scene_solve(&s);
    CHECK(root_mean_square(&s) < 1e-4);
    CHECK(gap_at_joints(&s) < 1e-9);
    for (int64_t i = 0; i < 4 * s.made.poses.vertex_count * 9; i++) { /* and where nothing fits */
        s.made.frames[i % (3 * s.made.poses.vertex_count * 9)] +=
            (float)(0.03 * (random_unit(&random) - 0.5));
    }
    scene_solve(&s);
    const double best = root_mean_square(&s);
    for (int64_t b = 0; b < 6; b++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            const double a = 5e-3 * sign;
            turn_limb(&s, 4, b, (double[9]){cos(a), 0, -sin(a), 0, 1, 0, sin(a), 0, cos(a)});
            CHECK(root_mean_square(&s) > best);
            turn_limb(&s, 4, b, (double[9]){cos(a), 0, sin(a), 0, 1, 0, -sin(a), 0, cos(a)});
        }
    }
    scene_close(&s);
}

TEST(joints_that_cannot_hold_are_refused) {
    static const char *const SAYS[] = {
        "space_fit.joints is NULL",      "space_fit.parents[1] is 6",    "in a circle",
        "space_fit.joints[2][1] is nan", "bones about joints are rigid", "set rig.held_transforms to NULL"};
    for (int what = 0; what < 6; what++) {
        Scene s;
        uint8_t held[9 * 6] = {0};
        int32_t parents[6] = {-1, 0, 1, 2, 3, 4};
        double joints[18] = {0};
        scene_open_jointed(&s, 0, 1);
        s.fit.parents = parents;
        s.fit.joints = what == 0 ? NULL : joints;
        parents[1] = what == 1 ? 6 : 0;
        parents[0] = what == 2 ? 5 : -1;
        joints[7] = what == 3 ? NAN : 0;
        s.settings.bone_kind = what == 4 ? OSSIFY_FLEXIBLE : OSSIFY_RIGID;
        s.answer.rig.held_transforms = what == 5 ? held : NULL;
        CHECK_INT(scene_run(&s), OSSIFY_BAD_ARGUMENT);
        CHECK_SAYS(s.answer.info.message, SAYS[what]);
        s.answer.rig.held_transforms = NULL;
        scene_close(&s);
    }
}

/* ---- the frame around it ---- */

static int spaces_are_equal(const Scene *a, const Scene *b) {
    const size_t slots = (size_t)(a->made.poses.vertex_count * a->space.influences);
    return memcmp(a->space.bones, b->space.bones, slots * sizeof(int32_t)) == 0 &&
           memcmp(a->space.corrections, b->space.corrections, 4 * slots * sizeof(float)) == 0;
}

TEST(corrections_are_the_same_on_any_number_of_threads) {
    Scene first, other;
    for (int threads = 1; threads <= 3; threads++) {
        Scene *s = threads == 1 ? &first : &other;
        scene_open(s, (SyntheticOptions){.vertices = 1500, .frames = 11, .bones = 5, .noise = 0.02}, 4);
        s->settings.threads = threads;
        s->fit.bones = OSSIFY_SPACE_PADDED;
        s->fit.rounds = 1;
        scene_solve(s);
        if (threads > 1) {
            CHECK(spaces_are_equal(s, &first));
            CHECK(rigs_are_equal(&s->made.poses, &s->answer.rig, &first.answer.rig));
            scene_close(s);
        }
    }
    scene_close(&first);
}

TEST(corrections_do_not_depend_on_size_or_place) {
    Scene near, far;
    const SyntheticOptions options = {.vertices = 300, .frames = 10, .bones = 4, .noise = 0.03};
    const double size = 512, place[3] = {4096, -2048, 1024};
    scene_open(&near, options, 3);
    scene_open(&far, options, 3);
    ossify_rig *rig = &far.answer.rig;
    for (int64_t i = 0; i < 3 * far.made.poses.vertex_count; i++) {
        far.made.rest[i] = (float)(size * (double)far.made.rest[i] + place[i % 3]);
        rig->rest[i] = (float)(size * (double)rig->rest[i] + place[i % 3]);
    }
    for (int64_t i = 0; i < 3 * far.made.poses.vertex_count * far.made.poses.frame_count; i++) {
        far.made.frames[i] = (float)(size * (double)far.made.frames[i] + place[i % 3]);
    }
    for (int64_t i = 0; i < rig->bones * far.made.poses.frame_count; i++) {
        double *m = rig->transforms + 12 * i;
        for (int a = 0; a < 3; a++, m += 4) {
            m[3] = size * m[3] + place[a] - m[0] * place[0] - m[1] * place[1] - m[2] * place[2];
        }
    }
    scene_solve(&near);
    scene_solve(&far);
    CHECK_NEAR(far.answer.info.erms, near.answer.info.erms, 1e-3 * near.answer.info.erms);
    scene_close(&near);
    scene_close(&far);
}

TEST(corrections_of_tiny_inputs) {
    for (int vertices = 1; vertices <= 4; vertices++) {
        for (int frames = 1; frames <= 2; frames++) {
            Scene s;
            scene_open(&s, (SyntheticOptions){.vertices = 60, .frames = frames, .bones = 2}, 2);
            s.made.poses.vertex_count = vertices;
            s.made.poses.triangle_count = 0;
            s.fit.rounds = 1;
            test_case("%d vertices, %d frames", vertices, frames);
            CHECK_INT(scene_run(&s), OSSIFY_CONVERGED);
            scene_close(&s);
        }
    }
}

TEST(fits_that_cannot_be_are_refused) {
    static const char *const SAYS[] = {"space_fit.bones is 2",
                                       "space_fit.form is -1",
                                       "space_fit.rest_exact is 2",
                                       "space_fit.rounds is 101",
                                       "space_fit.smoothness is nan",
                                       "space_fit.damping is -1",
                                       "space.influences is 1",
                                       "space.bones is NULL",
                                       "space.given is 2",
                                       "ossify_space has size 3",
                                       "space is NULL"};
    for (int what = 0; what < 11; what++) {
        Scene s;
        scene_open(&s, (SyntheticOptions){.vertices = 60, .frames = 3, .bones = 2}, 3);
        const ossify_space kept = s.space;
        ossify_space *space = &s.space;
        switch (what) {
        case 0:
            s.fit.bones = 2;
            break;
        case 1:
            s.fit.form = -1;
            break;
        case 2:
            s.fit.rest_exact = 2;
            break;
        case 3:
            s.fit.rounds = 101;
            break;
        case 4:
            s.fit.smoothness = NAN;
            break;
        case 5:
            s.fit.damping = -1;
            break;
        case 6:
            s.space.influences = 1;
            break;
        case 7:
            s.space.bones = NULL;
            break;
        case 8:
            s.space.given = 2;
            break;
        case 9:
            s.space.struct_size = 3;
            break;
        default:
            space = NULL;
        }
        CHECK_INT(
            ossify_animation_space(&s.made.poses, &s.settings, &s.answer.rig, &s.fit, space, &s.answer.info),
            OSSIFY_BAD_ARGUMENT);
        CHECK_SAYS(s.answer.info.message, SAYS[what]);
        s.space = kept;
        scene_close(&s);
    }
}

static void scene_way(Scene *s, int way) {
    scene_open(
        s, (SyntheticOptions){.vertices = 120, .frames = 5, .bones = 3, .noise = 0.02, .jointed = way == 4},
        3);
    if (way == 4) {
        s->fit.parents = s->made.skeleton.parents;
        s->fit.joints = s->made.skeleton.joints;
    }
    if (way == 2) {
        plant(s, 0.02);
        s->space.given = 1;
    } else {
        forget(s);
    }
    s->fit.bones = way == 1 ? OSSIFY_SPACE_PADDED : OSSIFY_SPACE_OWN;
    s->fit.form = way == 3 ? OSSIFY_SPACE_POSITIONS : OSSIFY_SPACE_CORRECTIONS;
    s->fit.rounds = way == 1 || way == 4;
}

TEST(corrections_with_every_allocation_refused) {
    for (int way = 0; way < 5; way++) {
        int64_t needed = 1;
        for (int64_t i = 0; i <= needed && !test_failed(); i = trial_after(i, needed)) {
            Ledger ledger = {.refuse_at = i};
            Scene s, before;
            scene_way(&s, way);
            scene_way(&before, way);
            ledger_join(&ledger, &s.settings);
            const int64_t status = scene_run(&s);
            test_case("way %d, allocation %d of %d", way, (int)i, (int)needed);
            CHECK(i == 0 ? status >= 0 : status == OSSIFY_OUT_OF_MEMORY);
            CHECK(i == 0 || (rigs_are_equal(&s.made.poses, &s.answer.rig, &before.answer.rig) &&
                             spaces_are_equal(&s, &before)));
            CHECK_INT(ledger.taken, ledger.given);
            needed = i == 0 ? ledger.asked : needed;
            scene_close(&s);
            scene_close(&before);
        }
        CHECK(needed > 20);
    }
}

TEST(corrections_cancelled_at_every_poll) {
    for (int way = 0; way < 5; way++) {
        int64_t polls = 1;
        for (int64_t i = 0; i <= polls && !test_failed(); i = trial_after(i, polls)) {
            Watcher watcher = {.cancel_at = i};
            Scene s, before;
            scene_way(&s, way);
            scene_way(&before, way);
            watcher_join(&watcher, &s.settings);
            const int64_t status = scene_run(&s);
            test_case("way %d, poll %d of %d", way, (int)i, (int)polls);
            if (i == 0) {
                CHECK(status >= 0);
                CHECK_NEAR(watcher.last.fraction, 1, 1e-12);
                polls = watcher.calls;
            } else if (watcher.last.fraction < 1) {
                CHECK_INT(status, OSSIFY_CANCELLED);
                CHECK(rigs_are_equal(&s.made.poses, &s.answer.rig, &before.answer.rig));
                CHECK(spaces_are_equal(&s, &before));
            }
            scene_close(&s);
            scene_close(&before);
        }
        CHECK(polls > 10);
    }
}
