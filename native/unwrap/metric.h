/* metric.h - how long and wide each triangle is over the whole motion; see metric.c. */
#ifndef OSSIFY_UNWRAP_METRIC_H
#define OSSIFY_UNWRAP_METRIC_H

#include "core/call.h"

/* Which first fundamental form a triangle gets of its poses. */
typedef enum MetricKind {
    METRIC_STRETCH, /* mean of area times form, by the mean area: what the L2 stretch over the frames asks for */
    METRIC_PLAIN    /* mean of the form: the L2,2 metric of Merry et al. */
} MetricKind;

/* A first fundamental form in the coordinates of the corners: with edges e1 and e2 from corner 0, (e1 e1, e1 e2, e2 e2). */
typedef struct Metric {
    int64_t triangles, poses;
    double *form;       /* [t][3] */
    double *share;      /* [t] mean share of the area; sum 1 */
    double *total_area; /* [poses] of the frames and, last, of the rest if it counts */
} Metric;

/* Of pose p (the frames, then the rest) the positions [v][3]. */
const float *metric_pose(const ossify_poses *poses, int64_t p);
/* The form of a triangle in a pose; returns its area. */
double metric_of_triangle(const float *pose, const int32_t corner[3], double form[3]);

/* 0 when memory is out, the call is cancelled, or no pose has an area (then all of total_area is 0). */
int metric_make(Call *call, const ossify_poses *poses, int with_rest, MetricKind kind, Metric *metric);
/* 1 when some pose has an area. */
int metric_has_area(const Metric *metric);

#endif
