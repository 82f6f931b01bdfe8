/* chart.c - one island: its triangles laid flat in the metric of the motion, and where its points are.
 *
 * A triangle of the metric (g11, g12, g22) laid flat has the edges R = (r11 r12; 0 r22), R'R = G (Merry, Marais & Gain
 * 2006, Eq. 23 and 24, with the area positive: wound counterclockwise). With D its edges in the map, F = D R^-1. */
#include "unwrap/chart.h"

#include <math.h>

void chart_form(const Chart *chart, int t, const double *uv, double f[4]) {
    const int *corner = chart->corner + 3 * t;
    const double *b = chart->inward + 3 * t;
    const double *o = uv + 2 * corner[0], *p = uv + 2 * corner[1], *q = uv + 2 * corner[2];
    const double pu = p[0] - o[0], pv = p[1] - o[1], qu = q[0] - o[0], qv = q[1] - o[1];
    f[0] = pu * b[0];
    f[1] = pu * b[1] + qu * b[2];
    f[2] = pv * b[0];
    f[3] = pv * b[1] + qv * b[2];
}

static void lay_flat(const double form[3], double inward[3]) {
    const double r11 = sqrt(form[0]), r12 = form[1] / r11;
    const double r22 = sqrt(fmax(form[2] - r12 * r12, 1e-12 * form[2]));
    inward[0] = 1 / r11;
    inward[1] = -r12 / (r11 * r22);
    inward[2] = 1 / r22;
}

double chart_area(const Chart *chart) {
    double sum = 0, f[4];
    for (int t = 0; t < chart->triangles; t++) {
        const double *b = chart->inward + 3 * t;
        chart_form(chart, t, chart->uv, f);
        sum += 0.5 * (f[0] * f[3] - f[1] * f[2]) / (b[0] * b[2]);
    }
    return sum;
}

double chart_metric_area(const Chart *chart) {
    double sum = 0;
    for (int t = 0; t < chart->triangles; t++) {
        sum += 0.5 / (chart->inward[3 * t] * chart->inward[3 * t + 2]);
    }
    return sum;
}

int chart_count_flipped(const Chart *chart) {
    int count = 0;
    for (int t = 0; t < chart->triangles; t++) {
        double f[4];
        chart_form(chart, t, chart->uv, f);
        count += !(f[0] * f[3] - f[1] * f[2] > 0);
    }
    return count;
}

int chart_is_whole(const Chart *chart) {
    for (int t = 0; t < chart->triangles; t++) {
        const int *c = chart->corner + 3 * t;
        if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) {
            return 0;
        }
    }
    return 1;
}

/* Of two islands that are each other's back, both have their front up here. */
static void turn_up(Chart *chart) {
    chart->mirrored = chart_area(chart) < 0;
    for (int i = 0; i < chart->points && chart->mirrored; i++) {
        chart->uv[2 * i] = -chart->uv[2 * i];
    }
}

static void scale(Chart *chart) {
    const double area = chart_area(chart), by = sqrt(chart_metric_area(chart) / area);
    for (int i = 0; i < 2 * chart->points && area > 0 && isfinite(by); i++) {
        chart->uv[i] *= by;
    }
}

int chart_make(Arena *arena, const Metric *metric, const Islands *islands, int island, const float *uv,
               Chart *chart) {
    const int first = islands->first[island], count = islands->first[island + 1] - first;
    const int points = islands->first_point[island + 1] - islands->first_point[island];
    *chart = (Chart){.points = points, .triangles = count};
    chart->corner = arena_take(arena, 3 * (size_t)count, sizeof(int));
    chart->inward = arena_take(arena, 3 * (size_t)count, sizeof(double));
    chart->weight = arena_take(arena, (size_t)count, sizeof(double));
    chart->uv = arena_take(arena, 2 * (size_t)points, sizeof(double));
    if (arena->failed) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        const int t = islands->triangle[first + i];
        lay_flat(metric->form + 3 * (size_t)t, chart->inward + 3 * i);
        chart->weight[i] = metric->share[t];
        for (int c = 0; c < 3; c++) {
            const int point = chart->corner[3 * i + c] = islands->point[3 * t + c];
            chart->uv[2 * point] = (double)uv[2 * (3 * (size_t)t + (size_t)c)];
            chart->uv[2 * point + 1] = (double)uv[2 * (3 * (size_t)t + (size_t)c) + 1];
        }
    }
    turn_up(chart);
    scale(chart);
    return 1;
}
