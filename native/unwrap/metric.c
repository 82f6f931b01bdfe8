/* metric.c - the average metric of a motion, triangle by triangle.
 *
 * With I_f = (e1 e1, e1 e2, e2 e2) the first fundamental form of a triangle in frame f, A_f its area and S_f that of the
 * whole mesh, the mean of Sander's L2 stretch squared over the frames is
 *
 *     A_uv / 2  sum_T  tr(M (D'D)^-1),     M = mean_f  A_f I_f / S_f^2
 *
 * with D the edges in the map: three numbers a triangle are all that a motion asks for. The form is M / a with
 * a = mean_f A_f / S_f, the share of the area; the shares sum to 1.
 * METRIC_PLAIN is mean_f I_f / S_f, the L2,2 metric of sampled poses (Merry, Marais & Gain 2006, Eq. 12 and 14: the
 * mean inner products of the edges), poses scaled to an area of 1.
 *
 * A triangle that is a line or a point gets a width: without one nothing keeps it from flipping, and floats could not
 * hold it. */
#include "unwrap/metric.h"

#include <math.h>

enum { TRIANGLES_A_TASK = 1024 };

static const double THINNEST = 1e-6; /* of the square of a triangle's size: a width of a thousandth */
static const double SMALLEST = 1e-6; /* of the mean area: a thousandth of the mean size */
static const double LEAST_WEIGHT_SHARE = 1e-6; /* of the mean share */

const float *metric_pose(const ossify_poses *poses, int64_t p) {
    return p < poses->frame_count ? poses->frames + 3 * poses->vertex_count * p : poses->rest;
}

double metric_of_triangle(const float *pose, const int32_t corner[3], double form[3]) {
    const float *a = pose + 3 * (int64_t)corner[0], *b = pose + 3 * (int64_t)corner[1],
                *c = pose + 3 * (int64_t)corner[2];
    double e[3], g[3];
    for (int i = 0; i < 3; i++) {
        e[i] = (double)b[i] - (double)a[i];
        g[i] = (double)c[i] - (double)a[i];
    }
    form[0] = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
    form[1] = e[0] * g[0] + e[1] * g[1] + e[2] * g[2];
    form[2] = g[0] * g[0] + g[1] * g[1] + g[2] * g[2];
    const double n[3] = {e[1] * g[2] - e[2] * g[1], e[2] * g[0] - e[0] * g[2], e[0] * g[1] - e[1] * g[0]};
    return 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

typedef struct Pass {
    Call *call;
    const ossify_poses *poses;
    Metric *metric;
    MetricKind kind;
} Pass;

static void measure_pose(void *user, int p, int worker) {
    const Pass *pass = user;
    const float *pose = metric_pose(pass->poses, p);
    double sum = 0, form[3];
    if (worker == 0) {
        call_poll(pass->call, -1);
    }
    for (int64_t t = 0; t < pass->poses->triangle_count && !atomic_load(&pass->call->cancelled); t++) {
        sum += metric_of_triangle(pose, pass->poses->triangles + 3 * t, form);
    }
    pass->metric->total_area[p] = sum;
}

/* Adds up what the poses say of a triangle. */
static void average(const Pass *pass, int64_t t, int64_t counted) {
    const ossify_poses *poses = pass->poses;
    double *mean = pass->metric->form + 3 * t, share = 0, form[3];
    for (int64_t p = 0; p < pass->metric->poses; p++) {
        const double total = pass->metric->total_area[p];
        if (total > 0) {
            const double part =
                metric_of_triangle(metric_pose(poses, p), poses->triangles + 3 * t, form) / total;
            const double weight = pass->kind == METRIC_STRETCH ? part : 1;
            share += part;
            for (int i = 0; i < 3; i++) {
                mean[i] += weight * (form[i] / total);
            }
        }
    }
    const double by = pass->kind == METRIC_STRETCH ? share : (double)counted;
    for (int i = 0; i < 3; i++) {
        mean[i] = by > 0 ? mean[i] / by : 0;
    }
    pass->metric->share[t] = share / (double)counted;
}

/* Of an equilateral triangle, in proportion to the size of this one, and to that of the mean one. */
static void widen(double form[3], double mean_area) {
    const double own = form[0] + form[2] - form[1], more = THINNEST * own + SMALLEST * mean_area;
    form[0] += more;
    form[1] += 0.5 * more;
    form[2] += more;
}

static void average_some(void *user, int task, int worker) {
    const Pass *pass = user;
    const int64_t first = (int64_t)task * TRIANGLES_A_TASK, all = pass->metric->triangles;
    const int64_t end = first + TRIANGLES_A_TASK < all ? first + TRIANGLES_A_TASK : all;
    int64_t counted = 0;
    if (worker == 0) {
        call_poll(pass->call, -1);
    }
    for (int64_t p = 0; p < pass->metric->poses; p++) {
        counted += pass->metric->total_area[p] > 0;
    }
    for (int64_t t = first; t < end && counted > 0 && !atomic_load(&pass->call->cancelled); t++) {
        average(pass, t, counted);
        widen(pass->metric->form + 3 * t, 1.0 / (double)all);
        pass->metric->share[t] += LEAST_WEIGHT_SHARE / (double)all;
    }
}

int metric_has_area(const Metric *metric) {
    for (int64_t p = 0; p < metric->poses; p++) {
        if (metric->total_area[p] > 0) {
            return 1;
        }
    }
    return 0;
}

int metric_make(Call *call, const ossify_poses *poses, int with_rest, MetricKind kind, Metric *metric) {
    Pass pass = {call, poses, metric, kind};
    const int64_t t = poses->triangle_count;
    *metric = (Metric){.triangles = t, .poses = poses->frame_count + (with_rest && poses->rest != NULL)};
    metric->form = arena_take(&call->arena, 3 * (size_t)t, sizeof(double));
    metric->share = arena_take(&call->arena, (size_t)t, sizeof(double));
    metric->total_area = arena_take(&call->arena, (size_t)metric->poses, sizeof(double));
    if (call->arena.failed) {
        return 0;
    }
    parallel_run(call->pool, (int)metric->poses, measure_pose, &pass);
    parallel_run(call->pool, (int)((t + TRIANGLES_A_TASK - 1) / TRIANGLES_A_TASK), average_some, &pass);
    return !call_poll(call, 0.1) && metric_has_area(metric);
}
