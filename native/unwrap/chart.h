/* chart.h - one island as it is relaxed; see chart.c. */
#ifndef OSSIFY_UNWRAP_CHART_H
#define OSSIFY_UNWRAP_CHART_H

#include "unwrap/islands.h"
#include "unwrap/metric.h"

typedef struct Chart {
    int points, triangles;
    int *corner;    /* [triangles][3] points */
    double *inward; /* [triangles][3] x, y, z of R^-1 = (x y; 0 z), R the edges of the triangle laid flat */
    double *weight; /* [triangles] */
    double *uv;     /* [points][2] */
    double shear;   /* price of it, 0..1; see energy.c */
    int mirrored;   /* 1: u stands for -u: the map has the island's back */
} Chart;

/* F = D R^-1 of a triangle, row by row: how its metric becomes map; at the places uv [points][2] */
void chart_form(const Chart *chart, int t, const double *uv, double f[4]);

/* The island as it is in the map, scaled to the area that its metric has, its front up. 0 when memory is out. */
int chart_make(Arena *arena, const Metric *metric, const Islands *islands, int island, const float *uv,
               Chart *chart);
/* How many triangles are flipped or have no area. */
int chart_count_flipped(const Chart *chart);
/* sum of the areas in the map, flipped ones less */
double chart_area(const Chart *chart);
/* sum of weights times the area of the metric */
double chart_metric_area(const Chart *chart);
/* 1 when every triangle has three points of its own. */
int chart_is_whole(const Chart *chart);

#endif
