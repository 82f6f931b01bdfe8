/* test_unwrap.c - native/unwrap/: maps with known answers, the energy and its optimum by code of the test's own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "probe.h"
#include "test.h"
#include "unwrap/conformal.h"
#include "unwrap/place.h"
#include "unwrap/relax.h"
#include "unwrap/start.h"
#include "unwrap/stretch.h"

enum {
    ACROSS = 13,
    ALONG = 9,
    FRAMES = 7,
    POINTS = ACROSS * ALONG,
    TRIANGLES = 2 * (ACROSS - 1) * (ALONG - 1)
};

typedef void (*Motion)(double x, double y, int f, double p[3]);
typedef void (*Map)(double x, double y, double uv[2]);

/* A sheet of 1.2 x 0.8, its motion and its map. */
typedef struct Sheet {
    float rest[3 * POINTS], frames[FRAMES * 3 * POINTS], uv[6 * TRIANGLES], out[6 * TRIANGLES],
        stretch[TRIANGLES];
    int32_t triangles[3 * TRIANGLES], islands[TRIANGLES];
    ossify_poses poses;
    ossify_settings settings;
    ossify_unwrapping wish;
    ossify_unwrapped found;
    ossify_info info;
} Sheet;

static void sheet_triangles(Sheet *s) {
    int32_t *to = s->triangles;
    for (int i = 0; i + 1 < ALONG; i++) {
        for (int j = 0; j + 1 < ACROSS; j++) {
            const int a = i * ACROSS + j, b = a + 1, c = a + ACROSS, d = c + 1;
            const int32_t two[6] = {a, b, d, a, d, c};
            memcpy(to, two, sizeof two);
            to += 6;
        }
    }
}

static Sheet *sheet_open(Motion motion, Map map) {
    Sheet *s = calloc(1, sizeof *s);
    sheet_triangles(s);
    for (int v = 0; v < POINTS; v++) {
        const double x = 0.1 * (v % ACROSS), y = 0.1 * (v / ACROSS);
        for (int f = -1; f < FRAMES; f++) {
            double p[3];
            motion(x, y, f, p);
            for (int a = 0; a < 3; a++) {
                (f < 0 ? s->rest : s->frames + 3 * POINTS * f)[3 * v + a] = (float)p[a];
            }
        }
    }
    for (int i = 0; i < 3 * TRIANGLES; i++) {
        double uv[2];
        map(0.1 * (s->triangles[i] % ACROSS), 0.1 * (s->triangles[i] / ACROSS), uv);
        s->uv[2 * i] = (float)uv[0];
        s->uv[2 * i + 1] = (float)uv[1];
    }
    s->poses = (ossify_poses){.struct_size = sizeof s->poses,
                              .vertex_count = POINTS,
                              .frame_count = FRAMES,
                              .triangle_count = TRIANGLES,
                              .rest = s->rest,
                              .frames = s->frames,
                              .triangles = s->triangles};
    s->settings = plain_settings(1);
    ossify_default_unwrapping(&s->wish);
    s->wish.uv = s->uv;
    s->wish.iterations = 200;
    s->found = (ossify_unwrapped){.struct_size = sizeof s->found,
                                  .uv = s->out,
                                  .triangle_stretch = s->stretch,
                                  .triangle_islands = s->islands};
    s->info.struct_size = sizeof s->info;
    return s;
}

static int64_t run(Sheet *s) {
    return ossify_unwrap(&s->poses, &s->settings, &s->wish, &s->found, &s->info);
}

static void flat(double x, double y, int f, double p[3]) {
    p[0] = x + 0.3 * f;
    p[1] = y;
    p[2] = 0.1 * f;
}

/* Rolled up along x, tighter from frame to frame; corners lie on the cylinder, so edges along x are the same chords. */
static void rolled(double x, double y, int f, double p[3]) {
    const double turn = 0.05 * (f + 2), radius = 0.05 / sin(turn / 2); /* a chord of 0.1 */
    p[0] = radius * sin(turn * 10 * x);
    p[1] = y;
    p[2] = radius * (1 - cos(turn * 10 * x));
}

/* The right half grows, and the middle bulges: no map is isometric. */
static void growing(double x, double y, int f, double p[3]) {
    const double more = f < 0 ? 0 : 0.15 * f;
    p[0] = x + (x > 0.6 ? more * (x - 0.6) : 0);
    p[1] = y * (1 + 0.2 * more * x);
    p[2] = more * 0.5 * exp(-20 * ((x - 0.5) * (x - 0.5) + (y - 0.4) * (y - 0.4)));
}

static void sheared(double x, double y, double uv[2]) {
    uv[0] = 0.3 * x + 0.25 * y + 0.1 * x * x + 0.2;
    uv[1] = 0.7 * y + 0.2 * x * y;
}

static void folded(double x, double y, double uv[2]) {
    uv[0] = x > 0.6 ? 1.2 - x : x;
    uv[1] = y;
}

static double twice_area(const float *uv, int t) {
    const float *a = uv + 6 * t;
    return ((double)a[2] - (double)a[0]) * ((double)a[5] - (double)a[1]) -
           ((double)a[4] - (double)a[0]) * ((double)a[3] - (double)a[1]);
}

static int count_flips(const Sheet *s) {
    int count = 0;
    for (int t = 0; t < TRIANGLES; t++) {
        count += !(twice_area(s->out, t) > 0);
    }
    return count;
}

/* ---- known answers ---- */

TEST(a_sheet_that_only_moves_comes_out_as_it_is) {
    Sheet *s = sheet_open(flat, sheared);
    CHECK_INT(run(s), OSSIFY_CONVERGED);
    CHECK(s->found.stretch_before > 10);
    CHECK_NEAR(s->found.stretch, 0, 1e-3);
    CHECK_NEAR(s->found.rest_stretch, 0, 1e-3);
    CHECK_INT(s->found.flipped, 0);
    CHECK_INT(s->found.islands, 1);
    CHECK_INT(s->found.restarted, 0);
    for (int t = 0; t < TRIANGLES; t++) {
        CHECK_NEAR(s->stretch[t], 1, 1e-3);
    }
    free(s);
}

TEST(a_sheet_that_is_rolled_up_is_not_stretched) {
    Sheet *s = sheet_open(rolled, sheared);
    CHECK(run(s) >= 0);
    CHECK(s->found.stretch_before > 10);
    CHECK_NEAR(s->found.stretch, 0, 1e-2);
    CHECK_NEAR(s->found.rest_stretch, 0, 1e-2);
    CHECK_INT(count_flips(s), 0);
    free(s);
}

/* A sheet that is twice as wide and as high half of the time: the map in between is the best, whatever its size. */
static void pulled(double x, double y, int f, double p[3]) {
    p[0] = f == 2 ? 2 * x : x;
    p[1] = f == 5 ? 2 * y : y;
    p[2] = 0;
}

TEST(pulls_both_ways_leave_a_square_a_square) {
    Sheet *s = sheet_open(pulled, sheared);
    CHECK(run(s) >= 0);
    for (int t = 0; t < TRIANGLES; t++) {
        const float *a = s->out + 6 * t;
        const double u = hypot((double)a[2] - (double)a[0], (double)a[3] - (double)a[1]),
                     v = hypot((double)a[4] - (double)a[2], (double)a[5] - (double)a[3]);
        if (t % 2 == 0) { /* along x, then along y */
            CHECK_NEAR(u / v, 1, 1e-3);
        }
    }
    free(s);
}

TEST(a_map_that_is_only_measured_stays) {
    Sheet *s = sheet_open(growing, sheared);
    s->wish.iterations = 0;
    CHECK(run(s) >= 0);
    CHECK(memcmp(s->uv, s->out, sizeof s->uv) == 0);
    CHECK_NEAR(s->found.stretch, s->found.stretch_before, 0);
    CHECK_NEAR(s->found.rest_stretch, s->found.rest_stretch_before, 0);
    free(s);
}

/* ---- stretch and metric, from their definitions ---- */

/* Singular values of the map from the texture to the surface, by J = E D^-1 and the eigenvalues of J'J. */
static void singular_values(const float *pose, const int32_t *corner, const float *uv, double s[2],
                            double *area) {
    double e[3][2], d[2][2], j[3][2];
    for (int c = 0; c < 2; c++) {
        for (int a = 0; a < 3; a++) {
            e[a][c] = (double)pose[3 * corner[c + 1] + a] - (double)pose[3 * corner[0] + a];
        }
        for (int a = 0; a < 2; a++) {
            d[a][c] = (double)uv[2 * (c + 1) + a] - (double)uv[a];
        }
    }
    const double det = d[0][0] * d[1][1] - d[0][1] * d[1][0];
    for (int a = 0; a < 3; a++) {
        j[a][0] = (e[a][0] * d[1][1] - e[a][1] * d[1][0]) / det;
        j[a][1] = (e[a][1] * d[0][0] - e[a][0] * d[0][1]) / det;
    }
    double p = 0, q = 0, r = 0;
    for (int a = 0; a < 3; a++) {
        p += j[a][0] * j[a][0];
        q += j[a][0] * j[a][1];
        r += j[a][1] * j[a][1];
    }
    const double root = sqrt(0.25 * (p - r) * (p - r) + q * q);
    s[0] = sqrt(0.5 * (p + r) + root);
    s[1] = sqrt(0.5 * (p + r) - root);
    *area = 0.5 * fabs(det) * s[0] * s[1];
}

/* Sander's L2 of a frame as he has it: singular values, weighted by area, against the map's own scale. */
static double sander(const Sheet *s, const float *pose, const float *uv) {
    double sum = 0, whole = 0, map = 0;
    for (int t = 0; t < TRIANGLES; t++) {
        double value[2], area;
        singular_values(pose, s->triangles + 3 * t, uv + 6 * t, value, &area);
        sum += 0.5 * (value[0] * value[0] + value[1] * value[1]) * area;
        whole += area;
        map += 0.5 * fabs(twice_area(uv, t));
    }
    return sqrt(sum / whole) * sqrt(map / whole);
}

TEST(stretch_is_what_sander_says) {
    Sheet *s = sheet_open(growing, sheared);
    double mean = 0;
    CHECK(run(s) >= 0);
    for (int f = 0; f < FRAMES; f++) {
        mean += 100 * (sander(s, s->frames + 3 * POINTS * f, s->out) - 1) / FRAMES;
    }
    CHECK_NEAR(s->found.stretch, mean, 1e-8);
    CHECK_NEAR(s->found.rest_stretch, 100 * (sander(s, s->rest, s->out) - 1), 1e-8);
    free(s);
}

TEST(three_numbers_a_triangle_know_the_stretch_of_all_frames) {
    Sheet *s = sheet_open(growing, sheared);
    Workshop w;
    Metric metric;
    double squared = 0, by_metric = 0, map = 0;
    workshop_open(&w, s->settings);
    CHECK(metric_make(&w.call, &s->poses, 0, METRIC_STRETCH, &metric));
    for (int t = 0; t < TRIANGLES; t++) {
        const float *a = s->uv + 6 * t;
        const double du = (double)a[2] - (double)a[0], dv = (double)a[3] - (double)a[1],
                     eu = (double)a[4] - (double)a[0], ev = (double)a[5] - (double)a[1];
        const double det = twice_area(s->uv, t), *g = metric.form + 3 * t;
        by_metric +=
            metric.share[t] *
            (g[0] * (eu * eu + ev * ev) - 2 * g[1] * (du * eu + dv * ev) + g[2] * (du * du + dv * dv)) /
            (det * det);
        map += 0.5 * det;
    }
    for (int f = 0; f < FRAMES; f++) {
        const double l2 = sander(s, s->frames + 3 * POINTS * f, s->uv);
        squared += l2 * l2 / FRAMES;
    }
    CHECK_NEAR(0.5 * map * by_metric / squared, 1, 1e-4); /* thin triangles are widened a little */
    workshop_close(&w);
    free(s);
}

/* ---- the energy ---- */

/* An island without a mesh: triangles of some metric at some places. */
static Chart *chart_of(Workshop *w, Sheet *s, double shear) {
    Metric *metric = calloc(1, sizeof *metric);
    Islands *islands = calloc(1, sizeof *islands);
    Chart *chart = calloc(1, sizeof *chart);
    CHECK(metric_make(&w->call, &s->poses, 0, METRIC_STRETCH, metric));
    CHECK(islands_cut(&w->call.arena, &s->poses, s->uv, islands));
    CHECK_INT(islands->count, 1);
    CHECK_INT(islands->points, POINTS);
    CHECK(chart_make(&w->call.arena, metric, islands, 0, s->uv, chart));
    chart->shear = shear;
    free(metric);
    free(islands);
    return chart;
}

/* From the definition, with |F|^2 = tr(G^-1 C), |F^-1|^2 = tr(G C^-1), C = D'D, det F^2 = det C / det G, in the coordinates
 * of the corners: sum of a (|F^-1|^2 + 2 det F + shear (|F|^2 - 2 det F)) */
static double energy_of(const Chart *chart, const double *uv) {
    double sum = 0;
    for (int t = 0; t < chart->triangles; t++) {
        const int *c = chart->corner + 3 * t;
        const double *b = chart->inward + 3 * t;
        const double r11 = 1 / b[0], r22 = 1 / b[2], r12 = -b[1] * r11 * r22;
        const double g[3] = {r11 * r11, r11 * r12, r12 * r12 + r22 * r22};
        double d[2][2], k[3];
        for (int a = 0; a < 2; a++) {
            d[a][0] = uv[2 * c[1] + a] - uv[2 * c[0] + a];
            d[a][1] = uv[2 * c[2] + a] - uv[2 * c[0] + a];
        }
        k[0] = d[0][0] * d[0][0] + d[1][0] * d[1][0];
        k[1] = d[0][0] * d[0][1] + d[1][0] * d[1][1];
        k[2] = d[0][1] * d[0][1] + d[1][1] * d[1][1];
        const double dg = g[0] * g[2] - g[1] * g[1], dk = k[0] * k[2] - k[1] * k[1];
        const double both = g[2] * k[0] - 2 * g[1] * k[1] + g[0] * k[2], det = sqrt(dk / dg);
        sum += chart->weight[t] * (both / dk + 2 * det + chart->shear * (both / dg - 2 * det));
    }
    return sum;
}

static void check_slope(double shear) {
    Sheet *s = sheet_open(growing, sheared);
    Workshop w;
    workshop_open(&w, s->settings);
    Chart *chart = chart_of(&w, s, shear);
    System system;
    double gradient[2 * POINTS], h = 1e-7;
    CHECK(system_make(&w.call.arena, chart, &system));
    CHECK_NEAR(energy_value(chart, chart->uv) / energy_of(chart, chart->uv), 1, 1e-12);
    energy_derive(chart, gradient, &system);
    for (int i = 0; i < 2 * POINTS; i++) {
        const double at = chart->uv[i];
        chart->uv[i] = at + h;
        const double above = energy_of(chart, chart->uv);
        chart->uv[i] = at - h;
        const double below = energy_of(chart, chart->uv);
        chart->uv[i] = at;
        CHECK_NEAR(gradient[i], (above - below) / (2 * h), 1e-5);
    }
    free(chart);
    workshop_close(&w);
    free(s);
}

TEST(the_energy_and_its_slope_are_those_of_the_definition) {
    check_slope(1);
    check_slope(0.1);
    check_slope(0);
}

static void check_curvature(double shear, double larger) {
    Sheet *s = sheet_open(growing, sheared);
    Workshop w;
    workshop_open(&w, s->settings);
    Chart *chart = chart_of(&w, s, shear);
    System system;
    double gradient[2 * POINTS], above[2 * POINTS], below[2 * POINTS];
    const double h = 1e-6;
    CHECK(system_make(&w.call.arena, chart, &system));
    for (int i = 0; i < 2 * POINTS; i++) {
        chart->uv[i] *= larger;
    }
    for (int i = 0; i < 2 * POINTS; i += 5) {
        const double at = chart->uv[i];
        chart->uv[i] = at + h;
        energy_derive(chart, above, &system);
        chart->uv[i] = at - h;
        energy_derive(chart, below, &system);
        chart->uv[i] = at;
        energy_derive(chart, gradient, &system);
        const double own[2] = {(above[i] - below[i]) / (2 * h), (above[i ^ 1] - below[i ^ 1]) / (2 * h)};
        CHECK_NEAR(system.own[4 * (i / 2) + 3 * (i % 2)], own[0], 1e-6);
        CHECK_NEAR(system.own[4 * (i / 2) + 1], own[1], 1e-6);
        for (int k = system.first[i / 2]; k < system.first[i / 2 + 1]; k++) {
            for (int a = 0; a < 2; a++) {
                const int other = 2 * system.beside[k] + a;
                CHECK_NEAR(system.pair[4 * k + 2 * (i % 2) + a], (above[other] - below[other]) / (2 * h),
                           1e-6);
            }
        }
    }
    free(chart);
    workshop_close(&w);
    free(s);
}

/* Where the map is larger than the metric no curvature is negative, and nothing of the Hessian is left out: with little
 * price on shear the area of the map then bends the energy down. */
TEST(the_curvature_is_that_of_the_energy_where_none_is_negative) {
    check_curvature(1, 4);
    check_curvature(0.5, 4);
}

static void check_least(double shear) {
    Sheet *s = sheet_open(growing, sheared);
    Workshop w;
    workshop_open(&w, s->settings);
    Chart *chart = chart_of(&w, s, shear);
    uint64_t random = 7;
    double tried[2 * POINTS];
    const double before = energy_of(chart, chart->uv);
    CHECK(relax(&w.call, chart, 200, 0, 1) > 2);
    const double least = energy_of(chart, chart->uv);
    CHECK(least < before);
    for (int i = 0; i < 2 * POINTS; i++) { /* each point by itself */
        for (int sign = -1; sign <= 1; sign += 2) {
            memcpy(tried, chart->uv, sizeof tried);
            tried[i] += sign * 1e-4;
            CHECK(energy_of(chart, tried) > least - 1e-7 * (before - least));
        }
    }
    for (int trial = 0; trial < 200; trial++) { /* all of them, as waves do */
        const double ku = 8 * random_unit(&random), kv = 8 * random_unit(&random),
                     size = 1e-3 * random_unit(&random), turn = 6.28 * random_unit(&random);
        for (int i = 0; i < POINTS; i++) {
            const double wave = size * sin(ku * chart->uv[2 * i] + kv * chart->uv[2 * i + 1] + turn);
            tried[2 * i] = chart->uv[2 * i] + wave * cos(turn);
            tried[2 * i + 1] = chart->uv[2 * i + 1] + wave * sin(turn);
        }
        CHECK(energy_of(chart, tried) > least - 1e-4 * (before - least));
    }
    free(chart);
    workshop_close(&w);
    free(s);
}

TEST(no_other_map_near_by_is_better) {
    check_least(1);
    check_least(0.5);
}

/* Sander's, of the mean metric, up to a constant: the map's area times what each triangle has of stretch, squared. */
static double stretch_of(const Chart *chart, const double *uv) {
    double area = 0, sum = 0;
    for (int t = 0; t < chart->triangles; t++) {
        double f[4];
        chart_form(chart, t, uv, f);
        const double det = f[0] * f[3] - f[1] * f[2];
        area += chart->weight[t] * det;
        sum += chart->weight[t] * (f[0] * f[0] + f[1] * f[1] + f[2] * f[2] + f[3] * f[3]) / (det * det);
    }
    return area * sum;
}

TEST(with_shear_for_nothing_the_least_stretch_is_found) {
    Sheet *s = sheet_open(growing, sheared);
    Workshop w;
    workshop_open(&w, s->settings);
    Chart *chart = chart_of(&w, s, 0);
    double tried[2 * POINTS];
    const double before = stretch_of(chart, chart->uv);
    CHECK(relax(&w.call, chart, 500, 0, 1) > 2);
    const double least = stretch_of(chart, chart->uv);
    CHECK(least < before);
    for (int i = 0; i < 2 * POINTS; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            memcpy(tried, chart->uv, sizeof tried);
            tried[i] += sign * 1e-3;
            CHECK(stretch_of(chart, tried) > least - 1e-6 * (before - least));
        }
    }
    free(chart);
    workshop_close(&w);
    free(s);
}

/* A triangle that is s1 by s2 of its size: the second difference of the energy against a flip, from the definition. */
TEST(folds_are_seen_where_the_energy_bends_down) {
    int corner[3] = {0, 1, 2}, resisted = 0;
    double inward[3] = {1, 0, 1}, weight = 1, uv[6] = {0};
    Chart chart = {
        .points = 3, .triangles = 1, .corner = corner, .inward = inward, .weight = &weight, .uv = uv};
    for (int i = 0; i < 100; i++) {
        const double s1 = 0.3 + 0.35 * (i % 10), s2 = 0.3 + 0.35 * (i / 10), h = 1e-3;
        double energy[3];
        for (int k = 0; k < 3; k++) {
            const double map[6] = {0, 0, s1, h * (k - 1), h * (k - 1), s2};
            energy[k] = energy_of(&chart, map);
        }
        memcpy(uv, (double[6]){0, 0, s1, 0, 0, s2}, sizeof uv);
        const double bend = (energy[0] - 2 * energy[1] + energy[2]) / (h * h);
        CHECK(fabs(bend) < 1e-3 || energy_resists_folds(&chart) == (bend > 0));
        resisted += energy_resists_folds(&chart);
        chart.shear = 0.5;
        CHECK(energy_resists_folds(&chart));
        chart.shear = 0;
    }
    CHECK(resisted > 10 && resisted < 90);
}

TEST(a_step_goes_as_far_as_the_first_flip) {
    Sheet *s = sheet_open(growing, sheared);
    Workshop w;
    workshop_open(&w, s->settings);
    Chart *chart = chart_of(&w, s, 1);
    uint64_t random = 3;
    double way[2 * POINTS], from[2 * POINTS];
    memcpy(from, chart->uv, sizeof from);
    for (int trial = 0; trial < 50; trial++) {
        for (int i = 0; i < 2 * POINTS; i++) {
            way[i] = random_unit(&random) - 0.5;
        }
        memcpy(chart->uv, from, sizeof from);
        const double reach = relax_reach(chart, way);
        CHECK(reach > 0 && isfinite(reach));
        for (int past = 0; past < 2; past++) {
            for (int i = 0; i < 2 * POINTS; i++) {
                chart->uv[i] = from[i] + (past ? 1.0001 : 0.9999) * reach * way[i];
            }
            CHECK_INT(chart_count_flipped(chart) > 0, past);
        }
    }
    memcpy(chart->uv, from, sizeof from);
    for (int i = 0; i < POINTS; i++) { /* a map that is only moved never flips */
        way[2 * i] = 1;
        way[2 * i + 1] = 2;
    }
    CHECK(relax_reach(chart, way) > 1e6);
    free(chart);
    workshop_close(&w);
    free(s);
}

/* ---- islands and starts ---- */

TEST(a_folded_map_begins_anew_and_has_no_flips) {
    Sheet *s = sheet_open(rolled, folded);
    CHECK(run(s) >= 0);
    CHECK_INT(s->found.restarted, 1);
    CHECK(s->found.flipped_before > TRIANGLES / 4);
    CHECK_INT(s->found.flipped, 0);
    CHECK_INT(count_flips(s) % TRIANGLES, 0);
    CHECK_NEAR(s->found.stretch, 0, 0.05);
    free(s);
}

/* A sheet without its middle, folded: two borders. */
TEST(a_folded_ring_begins_anew) {
    Sheet *s = sheet_open(rolled, folded);
    int64_t kept = 0;
    for (int t = 0; t < TRIANGLES; t++) {
        const int cell = t / 2, column = cell % (ACROSS - 1), row = cell / (ACROSS - 1);
        if (!(column >= 4 && column < 8 && row >= 3 && row < 5)) {
            memmove(s->triangles + 3 * kept, s->triangles + 3 * t, 3 * sizeof(int32_t));
            memmove(s->uv + 6 * kept, s->uv + 6 * t, 6 * sizeof(float));
            kept++;
        }
    }
    s->poses.triangle_count = kept;
    CHECK(run(s) >= 0);
    CHECK_INT(s->found.restarted, 1);
    CHECK_INT(s->found.flipped, 0);
    CHECK_NEAR(s->found.stretch, 0, 0.1);
    free(s);
}

/* The same sheet cut along a column: its right half lies beside, mirrored. */
static void cut_in_two(Sheet *s) {
    for (int t = 0; t < TRIANGLES; t++) {
        if (t / 2 % (ACROSS - 1) >= 6) {
            for (int c = 0; c < 3; c++) {
                s->uv[6 * t + 2 * c] = 4 - 2 * s->uv[6 * t + 2 * c];
            }
        }
    }
}

TEST(seams_are_where_corners_lie_apart) {
    Sheet *s = sheet_open(rolled, sheared);
    cut_in_two(s);
    CHECK(run(s) >= 0);
    CHECK_INT(s->found.islands, 2);
    CHECK_INT(s->found.flipped, 0);
    CHECK_NEAR(s->found.stretch, 0, 0.01);
    for (int t = 0; t < TRIANGLES; t++) {
        const int right = t / 2 % (ACROSS - 1) >= 6;
        CHECK_INT(s->islands[t], right);
        CHECK(right ? twice_area(s->out, t) < 0 : twice_area(s->out, t) > 0); /* which stays mirrored */
    }
    free(s);
}

TEST(islands_stay_where_they_were) {
    Sheet *s = sheet_open(rolled, sheared);
    double area[2] = {0, 0}, middle[2][2] = {{0, 0}, {0, 0}};
    cut_in_two(s);
    CHECK(run(s) >= 0);
    for (int after = 0; after < 2; after++) {
        const float *uv = after ? s->out : s->uv;
        for (int t = 0; t < TRIANGLES; t++) {
            area[after] += 0.5 * fabs(twice_area(uv, t));
            middle[after][0] += (double)uv[6 * t] / TRIANGLES;
            middle[after][1] += (double)uv[6 * t + 1] / TRIANGLES;
        }
    }
    CHECK_NEAR(area[1] / area[0], 1, 1e-5);
    CHECK_NEAR(middle[1][0], middle[0][0], 0.1);
    CHECK_NEAR(middle[1][1], middle[0][1], 0.1);
    free(s);
}

TEST(packed_islands_lie_in_the_unit_square_and_apart) {
    Sheet *s = sheet_open(flat, sheared);
    double low[2][2] = {{9, 9}, {9, 9}}, high[2][2] = {{-9, -9}, {-9, -9}}, area[2] = {0, 0};
    cut_in_two(s);
    s->wish.place = OSSIFY_UNWRAP_PACKED;
    CHECK(run(s) >= 0);
    CHECK_INT(s->found.flipped, 0);
    for (int i = 0; i < 6 * TRIANGLES; i++) {
        const int island = s->islands[i / 6];
        const double x = (double)s->out[i];
        CHECK(x >= 0 && x <= 1);
        low[island][i % 2] = fmin(low[island][i % 2], x);
        high[island][i % 2] = fmax(high[island][i % 2], x);
        area[island] += i % 6 == 0 ? 0.5 * fabs(twice_area(s->out, i / 6)) : 0;
    }
    CHECK(low[0][0] > high[1][0] || low[1][0] > high[0][0] || low[0][1] > high[1][1] ||
          low[1][1] > high[0][1]);
    CHECK_NEAR(area[1] / area[0], 1, 1e-3); /* both halves are as large */
    free(s);
}

/* A ball whose map is its shadow: there is no border to open it at. */
TEST(what_cannot_be_laid_flat_stays_and_is_named) {
    static const float corners[12] = {1, 1, 1, -1, -1, 1, -1, 1, -1, 1, -1, -1};
    static const int32_t faces[12] = {0, 1, 3, 0, 2, 1, 0, 3, 2, 1, 2, 3};
    float uv[24], out[24];
    ossify_poses poses = {.struct_size = sizeof poses,
                          .vertex_count = 4,
                          .frame_count = 1,
                          .triangle_count = 4,
                          .rest = corners,
                          .frames = corners,
                          .triangles = faces};
    ossify_settings settings = plain_settings(1);
    ossify_unwrapping wish;
    ossify_unwrapped found = {.struct_size = sizeof found, .uv = out};
    ossify_info info = {.struct_size = sizeof info};
    ossify_default_unwrapping(&wish);
    wish.uv = uv;
    for (int i = 0; i < 24; i++) {
        uv[i] = corners[3 * faces[i / 2] + i % 2];
    }
    for (int method = OSSIFY_UNWRAP_STRETCH; method <= OSSIFY_UNWRAP_CONFORMAL; method++) {
        wish.method = method;
        CHECK(ossify_unwrap(&poses, &settings, &wish, &found, &info) >= 0);
        CHECK_INT(found.left, method != OSSIFY_UNWRAP_CONFORMAL);
    }
    wish.method = OSSIFY_UNWRAP_STRETCH;
    CHECK(ossify_unwrap(&poses, &settings, &wish, &found, &info) >= 0);
    CHECK_SAYS(info.message, "1 of 1 islands have flips and cannot be laid flat: mark seams");
    CHECK(memcmp(uv, out, sizeof uv) == 0);
}

/* ---- conformal maps ---- */

TEST(a_conformal_map_of_what_can_be_laid_flat_is_exact) {
    Sheet *s = sheet_open(rolled, sheared);
    s->wish.method = OSSIFY_UNWRAP_CONFORMAL;
    CHECK(run(s) >= 0);
    CHECK_NEAR(s->found.stretch, 0, 0.01);
    CHECK_INT(count_flips(s), 0);
    free(s);
}

TEST(a_map_that_must_not_be_squeezed_either_stretches_more) {
    Sheet *s = sheet_open(growing, sheared);
    CHECK(run(s) >= 0);
    const double least = s->found.stretch;
    s->wish.method = OSSIFY_UNWRAP_ISOMETRIC;
    CHECK(run(s) >= 0);
    CHECK_INT(count_flips(s), 0);
    CHECK(s->found.stretch > least);
    free(s);
}

TEST(a_conformal_map_stretches_more) {
    Sheet *s = sheet_open(growing, sheared);
    CHECK(run(s) >= 0);
    const double least = s->found.stretch;
    s->wish.method = OSSIFY_UNWRAP_CONFORMAL;
    CHECK(run(s) >= 0);
    CHECK(s->found.stretch > least);
    free(s);
}

/* ---- the call ---- */

TEST(maps_are_the_same_on_any_number_of_threads) {
    Sheet *one = sheet_open(growing, folded), *three = sheet_open(growing, folded);
    three->settings.threads = 3;
    CHECK(run(one) >= 0 && run(three) >= 0);
    CHECK(memcmp(one->out, three->out, sizeof one->out) == 0);
    CHECK(memcmp(one->stretch, three->stretch, sizeof one->stretch) == 0);
    CHECK(one->found.stretch == three->found.stretch);
    free(one);
    free(three);
}

static Sheet *sheet_way(int way) {
    Sheet *s = sheet_open(growing, way == 1 ? folded : sheared);
    s->wish.iterations = 3;
    s->wish.method = way == 2 ? OSSIFY_UNWRAP_CONFORMAL : OSSIFY_UNWRAP_STRETCH;
    s->wish.place = way == 1;
    return s;
}

TEST(maps_with_every_allocation_refused) {
    for (int way = 0; way < 3; way++) {
        int64_t needed = 1;
        for (int64_t i = 0; i <= needed && !test_failed(); i++) {
            Ledger ledger = {.refuse_at = i};
            Sheet *s = sheet_way(way), *before = sheet_way(way);
            ledger_join(&ledger, &s->settings);
            const int64_t status = run(s);
            test_case("way %d, allocation %d of %d", way, (int)i, (int)needed);
            CHECK(i == 0 ? status >= 0 : status == OSSIFY_OUT_OF_MEMORY);
            CHECK(i == 0 || memcmp(s->out, before->out, sizeof s->out) == 0);
            CHECK_INT(ledger.taken, ledger.given);
            needed = i == 0 ? ledger.asked : needed;
            free(s);
            free(before);
        }
        CHECK(needed > 20);
    }
}

TEST(maps_cancelled_at_every_poll) {
    for (int way = 0; way < 3; way++) {
        int64_t polls = 1;
        for (int64_t i = 0; i <= polls && !test_failed(); i++) {
            Watcher watcher = {.cancel_at = i};
            Sheet *s = sheet_way(way), *before = sheet_way(way);
            watcher_join(&watcher, &s->settings);
            const int64_t status = run(s);
            test_case("way %d, poll %d of %d", way, (int)i, (int)polls);
            if (i == 0) {
                CHECK(status >= 0);
                CHECK_NEAR(watcher.last.fraction, 1, 1e-12);
                polls = watcher.calls;
            } else if (watcher.last.fraction < 1) {
                CHECK_INT(status, OSSIFY_CANCELLED);
                CHECK(memcmp(s->out, before->out, sizeof s->out) == 0);
            }
            free(s);
            free(before);
        }
        CHECK(polls > 10);
    }
}

TEST(maps_that_cannot_be_are_refused) {
    static const char *const SAYS[] = {"uv[1][0][1] is nan: every place in the map must be finite",
                                       "uv[1][0][1] is 1e+10",
                                       "poses.triangle_count is 0: only a surface can be unwrapped",
                                       "unwrapping.method is 3: it must be 0..2",
                                       "unwrapping.place is -1: it must be 0..1",
                                       "unwrapping.iterations is 10001: it must be 0..10000",
                                       "unwrapping.with_rest is 2: it must be 0..1",
                                       "unwrapping.margin is nan: it must be 0..0.1",
                                       "unwrapping.uv is NULL",
                                       "unwrapped.uv is NULL",
                                       "no triangle has an area in any frame"};
    for (int what = 0; what < (int)(sizeof SAYS / sizeof *SAYS); what++) {
        Sheet *s = sheet_open(growing, sheared);
        s->uv[7] = what == 0 ? NAN : what == 1 ? 1e10f : s->uv[7];
        s->poses.triangle_count = what == 2 ? 0 : TRIANGLES;
        s->wish.method = what == 3 ? 3 : 0;
        s->wish.place = what == 4 ? -1 : 0;
        s->wish.iterations = what == 5 ? 10001 : 10;
        s->wish.with_rest = what == 6 ? 2 : 1;
        s->wish.margin = what == 7 ? NAN : 0.01;
        s->wish.uv = what == 8 ? NULL : s->uv;
        s->found.uv = what == 9 ? NULL : s->out;
        if (what == 10) {
            memset(s->frames, 0, sizeof s->frames);
            memset(s->rest, 0, sizeof s->rest);
        }
        test_case("%s", SAYS[what]);
        CHECK_INT(run(s), OSSIFY_BAD_ARGUMENT);
        CHECK_SAYS(s->info.message, SAYS[what]);
        free(s);
    }
}

TEST(triangles_without_any_area_do_no_harm) {
    Sheet *s = sheet_open(growing, sheared);
    for (int t = 0; t < TRIANGLES; t += 7) { /* two corners are one vertex, at one place */
        s->triangles[3 * t + 1] = s->triangles[3 * t];
        s->uv[6 * t + 2] = s->uv[6 * t];
        s->uv[6 * t + 3] = s->uv[6 * t + 1];
    }
    for (int method = OSSIFY_UNWRAP_STRETCH; method <= OSSIFY_UNWRAP_CONFORMAL; method++) {
        s->wish.method = method;
        CHECK(run(s) >= 0);
        for (int i = 0; i < 6 * TRIANGLES; i++) {
            CHECK(isfinite(s->out[i]));
        }
    }
    free(s);
}

TEST(a_map_in_one_point_begins_anew) {
    Sheet *s = sheet_open(growing, sheared);
    memset(s->uv, 0, sizeof s->uv);
    CHECK(run(s) >= 0);
    CHECK_INT(s->found.restarted, 1);
    CHECK_INT(s->found.flipped, 0);
    free(s);
}
