/* layer.h - corrective fields and coefficients while they are being solved. See layer.c. */
#ifndef OSSIFY_LAYER_H
#define OSSIFY_LAYER_H

#include "correct/skin.h"
#include "math/graph.h"

typedef struct Layer {
    const Skin *skin;
    int fields; /* n */
    int held;   /* the first so many fields stay as they are */
    int step;   /* every so manieth block of vertices is seen; 1: all of them */

    double *field;        /* [v][fields + 1][3] inside; the last is what the rest moves by */
    double *coefficient;  /* [fields + 1][wide]; the last is 1 in every frame that is seen */
    uint8_t *known;       /* [fields] 1: its coefficients stay as they are */
    const uint8_t *blind; /* [frames] 1: not seen by the fields; NULL: all are seen */
    const float *reach;   /* [v][fields] 0..1: how far a field may act at a vertex; NULL: everywhere */

    double ridge;      /* pull of a field towards zero, */
    double smoothness; /* and, times that, towards its neighbours */
    const Graph *graph;
    double *before; /* [v][fields + 1][3] the fields that neighbours see; NULL without smoothness */

    int solves_rest;
    double rest_pull;         /* frames that the given rest counts for */
    const uint8_t *held_rest; /* [v] or NULL */

    /* of each frame, after a sweep: the error is s - 2 c'b + c'A c */
    double *a; /* [n (n + 1) / 2][wide] sum_v d_n' L'L d_m, m <= n */
    double *b; /* [n][wide]             sum_v d_n' L'r         */
    double *s; /* [wide]                sum_v |r|^2            */
    int lanes;
    double *lane_sums; /* [lanes][n (n + 1) / 2 + n + 1][wide] */
} Layer;

/* Room for `fields` of them, all zero; solves_rest and reach are the caller's to set. 0 when memory is out. */
int layer_make(Call *call, const Skin *skin, int fields, Layer *layer);
/* The fields are smooth over the graph. */
int layer_smooth(Call *call, Layer *layer, const Graph *graph, double smoothness);
/* Pass over the vertices: the best fields for the coefficients, unless `keep`; then the sums. 0: the call must end. */
int layer_sweep(Call *call, Layer *layer, int keep);
/* The best coefficients [fields][wide] for the fields, from the sums, those that are known staying, in the frames that
 * are seen, or with `blind` in the others; returns the squared error there, < 0 when the call must end. */
double layer_fit_coefficients(Call *call, const Layer *layer, double *coefficient, int blind);
/* That without fields, after a sweep. */
double layer_bare(const Layer *layer);
/* The squared error of coefficients [n][wide], from the sums. */
double layer_error(const Layer *layer, const double *coefficient, int blind);
/* Coefficients of fields that are solved: independent of each other, each 1 on the average. */
void layer_normalise(const Layer *layer);
/* Rounds of both until the error no longer falls; returns it, or < 0 when the call must end. */
double layer_solve(Call *call, Layer *layer, int rounds);
/* Field n by what it would cost to do without it, as a squared error. */
double layer_worth(const Layer *layer, int n);

#endif
