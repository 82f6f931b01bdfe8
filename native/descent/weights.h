/* weights.h - one vertex's sparse convex weights; see weights.c. */
#ifndef OSSIFY_WEIGHTS_H
#define OSSIFY_WEIGHTS_H

#include "descent/pass.h"
#include "math/simplex_ls.h"

/* The least squares of one vertex over the n bones at hand, all from moments. */
typedef struct VertexView {
    int n, stride;          /* bones at hand; row length of the arrays below */
    const double *gram;     /* [n][MONOMIALS][stride] forms of p~' G[b,c] p~ */
    const double *diagonal; /* [MONOMIALS][stride]    the same for b = c */
    const uint8_t *allowed; /* [n] */
    double monomial[MONOMIALS];
    double *linear; /* [n] p~' D[b], plus smoothing times the neighbours' mean weight */
    double square;  /* |x|^2, plus what keeps the form positive under smoothing */
    double smoothing;
    double ridge;
    double *rows;   /* [n][stride] Q, row by row when asked for */
    uint8_t *ready; /* [n] rows present */
    double *own;    /* [n] Q[b][b] */
    double *slope;  /* [n] scratch: Q w */
} VertexView;

/* Bones that carry the vertex, and their weights. */
typedef struct Support {
    int count;
    int bone[SIMPLEX_MAX];
    double weight[SIMPLEX_MAX];
    double value; /* w' Q w */
} Support;

/* `held` carries the vertex as far as it goes, and what is left is to be solved: linear and square become
 * those of weights that are shares of what is left. Before weights_begin. */
void weights_hold(VertexView *view, const Support *held, double left);
/* Makes rows, own and linear valid for new monomials and linear terms. */
void weights_begin(VertexView *view);
/* Optimum on the support at hand, then on the best `most` of it. */
void weights_settle(VertexView *view, int most, Support *support);
/* Lowers support->value within `influences` bones; never raises it. With `search`, also from nothing. */
void weights_solve(VertexView *view, int influences, int search, Support *support);
/* What the vertex loses when the support's i-th bone may no longer carry it. */
double weights_loss(VertexView *view, int influences, const Support *support, int i);

#endif
