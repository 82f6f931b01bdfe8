/* test_fair.c - the norm in which neighbours shall miss in the same way, by its definition: sums over vertices and edges
 * of what the model replays, from no moments and no residuals that were kept. */
#include "descent/fair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/portable.h"
#include "descent/fair_rows.h"
#include "descent/transforms.h"
#include "judge.h"
#include "probe.h"
#include "synthetic.h"
#include "test.h"

enum { BONES = 5, MOST = 3 };

static const double STIFFNESS = 40;

/* A rig that does not quite fit, on vertices that count differently. */
static Synthetic open_fair(Stage *stage, int64_t threads) {
    SyntheticOptions options = {
        .shape = SHAPE_TUBE, .vertices = 400, .frames = 6, .bones = BONES, .influences = MOST, .noise = 0.02};
    Synthetic s = synthetic_make(options);
    ossify_settings settings = plain_settings(BONES);
    settings.influences = MOST;
    settings.threads = threads;
    stage_open(stage, &s.poses, &s.truth, settings);
    stage->problem.total_mass = 0;
    for (int v = 0; v < stage->problem.vertices; v++) {
        stage->problem.mass[v] = 1 + v % 3;
        stage->problem.total_mass += stage->problem.mass[v];
    }
    return s;
}

static void close_fair(Stage *stage, Synthetic *s) {
    stage_close(stage);
    synthetic_free(s);
}

static double mean_beside(const Problem *problem) {
    return (double)problem->graph.first[problem->vertices] / problem->vertices;
}

/* [v][3F] replayed less observed */
static double *residuals(const Problem *problem, const Model *model) {
    const size_t rows = 3 * (size_t)problem->frames;
    double *r = calloc((size_t)problem->vertices * rows, sizeof *r), *x = calloc(rows, sizeof *x);
    for (int v = 0; v < problem->vertices; v++) {
        model_replay(problem, model, v, r + (size_t)v * rows);
        problem_read(problem, v, x);
        for (size_t i = 0; i < rows; i++) {
            r[(size_t)v * rows + i] -= x[i];
        }
    }
    free(x);
    return r;
}

/* pull sum_v mass |a_v|^2 + tie sum_edges |a_i - a_j|^2 of a [v][wide] */
static double energy_of(const Problem *problem, const double *a, size_t wide, double pull, double tie) {
    const Graph *graph = &problem->graph;
    double sum = 0;
    for (size_t v = 0; v < (size_t)problem->vertices; v++) {
        for (size_t i = 0; i < wide; i++) {
            sum += pull * problem->mass[v] * a[v * wide + i] * a[v * wide + i];
        }
        for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            const size_t u = (size_t)graph->neighbour[e];
            for (size_t i = 0; i < wide && u > v; i++) {
                sum += tie * pow(a[v * wide + i] - a[u * wide + i], 2);
            }
        }
    }
    return sum;
}

static double energy(const Problem *problem, const Model *model, double fairness) {
    double *r = residuals(problem, model);
    const double sum = energy_of(problem, r, 3 * (size_t)problem->frames, 1, fairness / mean_beside(problem));
    free(r);
    return sum;
}

static double rest_energy(const Problem *problem, const Model *model) {
    const size_t n = 3 * (size_t)problem->vertices;
    double *d = calloc(n, sizeof *d);
    for (size_t i = 0; i < n; i++) {
        d[i] = model->rest[i] - problem->rest[i];
    }
    const double sum = energy_of(problem, d, 3, 1, STIFFNESS / mean_beside(problem));
    free(d);
    return sum;
}

static double weight_of(const Model *model, int v, int b) {
    for (int k = 0; k < model->influences; k++) {
        if (model->bone[v * model->influences + k] == b) {
            return model->weight[v * model->influences + k];
        }
    }
    return 0;
}

/* P and S P, [v][4 bones] each */
static void make_rows(const Stage *stage, double tie, double *rows, double *norm) {
    const Problem *problem = &stage->problem;
    const Graph *graph = &problem->graph;
    const size_t wide = 4 * BONES, n = (size_t)problem->vertices;
    for (size_t i = 0; i < n * wide; i++) {
        const size_t v = i / wide, k = i % wide;
        rows[i] =
            weight_of(&stage->model, (int)v, (int)k / 4) * (k % 4 < 3 ? stage->model.rest[3 * v + k % 4] : 1);
    }
    for (size_t i = 0; i < n * wide; i++) {
        const size_t v = i / wide;
        norm[i] = problem->mass[v] * rows[i];
        for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            norm[i] += tie * (rows[i] - rows[(size_t)graph->neighbour[e] * wide + i % wide]);
        }
    }
}

TEST(fair_pass_that_keeps_all_gives_moments_by_their_definition) {
    const PassPlan keep_all = {0};
    Stage stage;
    Synthetic s = open_fair(&stage, 1);
    const Problem *problem = &stage.problem;
    const Model *model = &stage.model;
    const size_t n = (size_t)problem->vertices, wide = 4 * BONES, rows_of_x = 3 * (size_t)problem->frames;
    Moments moments;
    Fair fair;
    double *rows = calloc(wide * n, sizeof *rows), *norm = calloc(wide * n, sizeof *norm);
    double *x = calloc(rows_of_x, sizeof *x), *c = calloc(rows_of_x * wide, sizeof *c);
    CHECK(pass_make(&stage.workshop.call, problem, model, &moments));
    CHECK(fair_make(&stage.workshop.call, problem, model, &moments, 10, &fair));
    const double value = fair_pass(&stage.workshop.call, problem, &stage.model, &moments, &keep_all, &fair);
    CHECK_NEAR(value, energy(problem, model, 10), 1e-6 * value);
    for (int v = 0; v < problem->vertices; v++) {
        CHECK_NEAR(model->error[v], model_distance(problem, model, v), 1e-6 * model->error[v] + 1e-12);
    }
    make_rows(&stage, 10 / mean_beside(problem), rows, norm);
    for (size_t i = 0; i < wide * wide; i++) {
        const size_t row = i / wide, column = i % wide;
        double sum = 0, pair[PAIR];
        for (size_t v = 0; v < n; v++) {
            sum += rows[v * wide + row] * norm[v * wide + column];
        }
        pass_pair(&moments, model->capacity, (int)row / 4, (int)column / 4, pair);
        CHECK_NEAR(pair[row % 4 * 4 + column % 4], sum, 1e-8);
    }
    for (size_t v = 0; v < n; v++) {
        problem_read(problem, (int)v, x);
        for (size_t i = 0; i < rows_of_x * wide; i++) {
            c[i] += x[i / wide] * norm[v * wide + i % wide];
        }
    }
    for (size_t i = 0; i < rows_of_x * wide; i++) {
        CHECK_NEAR(moments.c[i / wide * (size_t)model->capacity * 4 + i % wide], c[i], 1e-5);
    }
    free(rows);
    free(norm);
    free(x);
    free(c);
    close_fair(&stage, &s);
}

/* Frames that fill no, some and all of the last vectors; a vertex without neighbours, and one with two. */
TEST(rows_of_residuals_are_summed_as_defined_with_the_same_bits_on_any_processor) {
    enum { FRAMES = 9, LONGEST = 32 };
    int64_t first[] = {0, 0, 2, 3, 4};
    int neighbour[] = {2, 3, 1, 1};
    const Graph graph = {.vertices = 4, .first = first, .neighbour = neighbour};
    for (int frames = 1; frames <= FRAMES; frames++) {
        const size_t used = 3 * (size_t)frames, rows = fair_rows_padded(frames);
        float residual[4 * LONGEST] = {0}, to[2][LONGEST], moved[2][LONGEST];
        double turned[2 * 4 * LONGEST] = {0}, sums[2][3];
        CHECK(rows >= used && rows <= LONGEST);
        for (size_t i = 0; i < used; i++) {
            for (size_t v = 0; v < 4; v++) {
                residual[v * rows + i] = (float)sin(1.0 + (double)(v + 7 * i));
            }
            for (size_t j = 0; j < 8; j++) {
                turned[j * rows + i] = cos(2.0 + (double)(j + 5 * i));
            }
        }
        const FairMove move = {
            .count = 2, .turned = {turned, turned + 4 * rows}, .q = {{.1, .2, .3, .4}, {.5, -.6, .7, -.8}}};
        for (int v = 0; v < 2; v++) {
            for (int wide = 0; wide < 2; wide++) {
                portable_allow_wide(wide);
                sums[wide][0] = fair_rows_square(&graph, v, rows, residual, 1, 0.25F, to[wide]);
                sums[wide][1] = fair_rows_product(&graph, v, rows, residual, 1, 0.25F, to[wide]);
                memcpy(moved[wide], residual + (size_t)v * rows, rows * sizeof(float));
                sums[wide][2] = fair_rows_move(&move, rows, moved[wide]);
            }
            double expected[3] = {0};
            for (size_t i = 0; i < used; i++) {
                const double r = residual[(size_t)v * rows + i];
                const double beside = v == 0 ? 0 : residual[2 * rows + i] + residual[3 * rows + i];
                double now = r;
                for (size_t j = 0; j < 8; j++) {
                    now += move.q[j / 4][j % 4] * turned[j * rows + i];
                }
                expected[0] += (r - beside / 4) * (r - beside / 4);
                expected[1] += r * (r - beside / 4);
                expected[2] += now * now;
                CHECK_NEAR(to[0][i], r - beside / 4, 1e-6);
                CHECK_NEAR(moved[0][i], now, 1e-6);
            }
            for (int i = 0; i < 3; i++) {
                CHECK_NEAR(sums[0][i], expected[i], 1e-5);
            }
            CHECK(memcmp(sums[0], sums[1], sizeof sums[0]) == 0);
            CHECK(memcmp(to[0], to[1], rows * sizeof(float)) == 0);
            CHECK(memcmp(moved[0], moved[1], rows * sizeof(float)) == 0);
        }
    }
    portable_allow_wide(1);
}

TEST(fairness_is_weaker_by_the_share_of_two_hundred_vertices_that_a_bone_has) {
    CHECK_NEAR(fair_strength(10, 3000, 30), 5, 1e-12);
    CHECK_NEAR(fair_strength(10, 3000, 15), 10, 0);
    CHECK_NEAR(fair_strength(10, 3000, 1), 10, 0);
}

TEST(fair_passes_and_bone_steps_never_raise_the_objective) {
    for (int way = 0; way < 8; way++) {
        const double fairness = way % 4 == 0 ? 0 : way % 4 == 1 ? 1 : way % 4 == 2 ? 10 : 300;
        PassPlan plan = {
            .solve_weights = 1, .solve_rest = way / 4, .rest_pull = 1, .rest_stiffness = STIFFNESS};
        Stage stage;
        Synthetic s = open_fair(&stage, 1);
        Call *call = &stage.workshop.call;
        Moments moments;
        Fair fair;
        double last = energy(&stage.problem, &stage.model, fairness);
        test_case("fairness %g, rest %d", fairness, way / 4);
        CHECK(pass_make(call, &stage.problem, &stage.model, &moments));
        CHECK(fair_make(call, &stage.problem, &stage.model, &moments, fairness, &fair));
        for (int i = 0; i < 8; i++) {
            plan.search = i == 0;
            fair.fresh = 0;
            const double value = fair_pass(call, &stage.problem, &stage.model, &moments, &plan, &fair);
            const double plain =
                energy(&stage.problem, &stage.model, fairness) + rest_energy(&stage.problem, &stage.model);
            CHECK_NEAR(value, plain, 1e-6 * plain);
            CHECK(plain <= last * (1 + 1e-9));
            CHECK(transforms_update(call, &stage.problem, &stage.model, &moments, i >= 5, 2));
            last = energy(&stage.problem, &stage.model, fairness) + rest_energy(&stage.problem, &stage.model);
            CHECK(last <= plain * (1 + 1e-9));
        }
        close_fair(&stage, &s);
    }
}

/* Moves `step` of the weight of one of a vertex's bones to another. */
static void shift(Model *model, int v, int from, int to, double step) {
    model->weight[v * model->influences + from] -= step;
    model->weight[v * model->influences + to] += step;
}

TEST(weights_and_rest_of_settled_vertices_cannot_be_moved_to_a_lower_objective) {
    const PassPlan plan = {.solve_weights = 1, .solve_rest = 1, .rest_pull = 1, .rest_stiffness = STIFFNESS};
    Stage stage;
    Synthetic s = open_fair(&stage, 2);
    Problem *problem = &stage.problem;
    Model *model = &stage.model;
    Moments moments;
    Fair fair;
    double value = 0;
    CHECK(pass_make(&stage.workshop.call, problem, model, &moments));
    CHECK(fair_make(&stage.workshop.call, problem, model, &moments, 10, &fair));
    for (int i = 0; i < 400; i++) {
        fair.fresh = 0;
        value = fair_pass(&stage.workshop.call, problem, model, &moments, &plan, &fair);
    }
    const double settled = energy(problem, model, 10) + rest_energy(problem, model);
    CHECK_NEAR(value, settled, 1e-6 * settled);
    for (int v = 0; v < problem->vertices; v += 7) {
        for (int k = 0; k < MOST * MOST; k++) {
            const int from = k / MOST, to = k % MOST, at = v * model->influences;
            const double step = 1e-3;
            if (from != to && model->bone[at + to] >= 0 && model->weight[at + from] > step) {
                shift(model, v, from, to, step);
                CHECK(energy(problem, model, 10) + rest_energy(problem, model) >= settled * (1 - 1e-7));
                shift(model, v, to, from, step);
            }
        }
        for (int i = 0; i < 6; i++) {
            model->rest[3 * v + i / 2] += i % 2 ? 1e-4 : -1e-4;
            CHECK(energy(problem, model, 10) + rest_energy(problem, model) >= settled * (1 - 1e-7));
            model->rest[3 * v + i / 2] -= i % 2 ? 1e-4 : -1e-4;
        }
    }
    close_fair(&stage, &s);
}

/* ---- of a whole call */

static ossify_settings fair_settings(int64_t bones) {
    ossify_settings settings = plain_settings(bones);
    settings.fairness = 10;
    settings.rest_mode = OSSIFY_REST_FIXED;
    return settings;
}

static const SyntheticOptions ROUGH = {
    .shape = SHAPE_TUBE, .vertices = 500, .frames = 10, .bones = 9, .influences = 3, .seed = 4};

/* So many frames that the norm begins on some of them. */
static const SyntheticOptions LONG = {
    .shape = SHAPE_TUBE, .vertices = 300, .frames = 90, .bones = 9, .influences = 3, .seed = 4};

TEST(a_fair_rig_has_fewer_bumps_and_no_strays) {
    for (int quality = OSSIFY_DRAFT; quality <= OSSIFY_BEST; quality++) {
        for (int kind = OSSIFY_RIGID; kind <= OSSIFY_FLEXIBLE; kind++) {
            Synthetic s = synthetic_make(ROUGH);
            double bumps[2];
            test_case("quality %d, kind %d", quality, kind);
            for (int fair = 0; fair < 2; fair++) {
                ossify_settings settings = fair_settings(6);
                settings.quality = quality;
                settings.bone_kind = kind;
                settings.fairness = fair ? 10 : 0;
                Answer answer = answer_start(&s.poses, &settings);
                CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
                check_rig(&s.poses, &answer.rig, kind == OSSIFY_RIGID);
                judge_locality(&s.poses, &answer.rig);
                bumps[fair] = answer.info.bumps;
                answer_free(&answer);
            }
            CHECK(bumps[1] < bumps[0]);
            synthetic_free(&s);
        }
    }
}

static double erms_of(const ossify_poses *poses, const ossify_settings *settings) {
    Answer answer = answer_start(poses, settings);
    CHECK(ossify_decompose(poses, settings, &answer.rig, &answer.info) >= 0);
    const double erms = answer.info.erms;
    answer_free(&answer);
    return erms;
}

TEST(fair_rigs_that_are_known_come_back) {
    for (int influences = 1; influences <= 4; influences++) {
        SyntheticOptions options = {.vertices = 300, .frames = 15, .bones = 5, .influences = influences};
        Synthetic s = synthetic_make(options);
        ossify_settings settings = fair_settings(5);
        settings.influences = influences;
        const double fair = erms_of(&s.poses, &settings);
        settings.locality = 0;
        settings.quality = OSSIFY_BEST;
        settings.iterations = 400;
        const double hard = erms_of(&s.poses, &settings);
        settings = fair_settings(5);
        settings.influences = influences;
        settings.fairness = 0;
        test_case("%d influences", influences);
        CHECK(fair < 1.02 * erms_of(&s.poses, &settings) + 0.001);
        CHECK(hard < 0.02);
        synthetic_free(&s);
    }
}

static void check_threads(SyntheticOptions options) {
    Synthetic s = synthetic_make(options);
    Answer first = {0};
    for (int threads = 1; threads <= 4; threads++) {
        ossify_settings settings = fair_settings(6);
        settings.threads = threads;
        settings.rest_mode = OSSIFY_REST_SMOOTH;
        Answer answer = answer_start(&s.poses, &settings);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        if (threads == 1) {
            first = answer;
            continue;
        }
        const size_t n = (size_t)s.poses.vertex_count, k = (size_t)answer.rig.influences;
        const size_t m = 12 * (size_t)(s.poses.frame_count * answer.rig.bone_capacity);
        CHECK(memcmp(first.rig.transforms, answer.rig.transforms, m * sizeof(double)) == 0);
        CHECK(memcmp(first.rig.influence_weights, answer.rig.influence_weights, n * k * sizeof(float)) == 0);
        CHECK(memcmp(first.rig.rest, answer.rig.rest, 3 * n * sizeof(float)) == 0);
        answer_free(&answer);
    }
    answer_free(&first);
    synthetic_free(&s);
}

TEST(any_number_of_threads_gives_the_same_fair_bits) {
    check_threads(ROUGH);
    check_threads(LONG);
}

TEST(long_sequences_are_as_fair_as_short_ones) {
    Synthetic s = synthetic_make(LONG);
    double bumps[2], erms[2];
    for (int fair = 0; fair < 2; fair++) {
        ossify_settings settings = fair_settings(6);
        settings.fairness = fair ? 10 : 0;
        Answer answer = answer_start(&s.poses, &settings);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        judge_locality(&s.poses, &answer.rig);
        bumps[fair] = answer.info.bumps;
        erms[fair] = answer.info.erms;
        answer_free(&answer);
    }
    CHECK(bumps[1] < bumps[0]);
    CHECK(erms[1] < 1.1 * erms[0]);
    synthetic_free(&s);
}

TEST(a_smooth_rest_moves_and_stays_smoother_than_a_kept_one) {
    Synthetic s = synthetic_make(ROUGH);
    double erms[3], bumps[3];
    for (int way = 0; way < 3; way++) {
        ossify_settings settings = fair_settings(5);
        settings.rest_mode = way == 0 ? OSSIFY_REST_FIXED : way == 1 ? OSSIFY_REST_SMOOTH : OSSIFY_REST_KEPT;
        Answer answer = answer_start(&s.poses, &settings);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        erms[way] = answer.info.erms;
        bumps[way] = answer.info.rest_bumps;
        answer_free(&answer);
    }
    CHECK_NEAR(bumps[0], 0, 1e-9);
    CHECK(bumps[1] > 0 && bumps[1] < 0.7 * bumps[2]);
    CHECK(erms[1] < erms[0]);
    synthetic_free(&s);
}

TEST(a_fair_rig_is_left_as_it_is_by_a_refit_in_its_norm) {
    Synthetic s = synthetic_make(ROUGH);
    ossify_settings settings = fair_settings(6);
    settings.quality = OSSIFY_BEST;
    Answer answer = answer_start(&s.poses, &settings);
    CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
    const double bumps = answer.info.bumps, erms = answer.info.erms;
    answer.rig.given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
    CHECK(answer.info.bumps < 1.02 * bumps);
    CHECK(answer.info.erms < 1.02 * erms);
    answer_free(&answer);
    synthetic_free(&s);
}

TEST(iterations_of_a_fair_call_are_bounded_as_asked) {
    Synthetic s = synthetic_make(LONG);
    for (int64_t most = 1; most <= 33; most += 8) {
        ossify_settings settings = fair_settings(6);
        settings.iterations = most;
        Answer answer = answer_start(&s.poses, &settings);
        CHECK(ossify_decompose(&s.poses, &settings, &answer.rig, &answer.info) >= 0);
        CHECK(answer.info.iterations <= most);
        judge_locality(&s.poses, &answer.rig);
        answer_free(&answer);
    }
    synthetic_free(&s);
}
