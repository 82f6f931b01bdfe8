/* vertex.h - one vertex of a pass: weights, rest pose, error and moments; see vertex.c. */
#ifndef OSSIFY_VERTEX_H
#define OSSIFY_VERTEX_H

#include "descent/pass.h"
#include "descent/weights.h"

/* What one worker needs for a block. */
typedef struct Scratch {
    double *m;  /* [3F][n][4] transforms of the bones at hand */
    double *d;  /* [BLOCK][n][4] */
    double *wp; /* [BLOCK][n][4] mass w p~ */
    double *c;  /* [3F][n][4] */
    double *gram, *diagonal;
    int *at_hand; /* [n] */
    int *local;   /* [bones] index among at_hand, or -1 */
    VertexView view;
    double *mean; /* [n] neighbours' mean weights */
    uint8_t *allowed;
    double square, pull, given[3]; /* of the vertex at hand: |x|^2, and what holds its rest position, where */
} Scratch;

typedef struct Pass {
    Call *call;
    const Problem *problem;
    Model *model;
    Moments *moments;
    const PassPlan *plan;
    const double *gram, *diagonal; /* of all bones */
    const int *old_bone;           /* weights before the pass, for the neighbours' means */
    const double *old_weight;
    int stride;
    int holds_groups; /* 1: some bone's weights are held */
    Scratch *scratch; /* [workers] */
} Pass;

/* 1 when a vertex's weights are not to be solved. */
static inline int vertex_keeps_weights(const Pass *pass, int v) {
    return !pass->plan->solve_weights || (pass->problem->held && pass->problem->held[v]);
}

/* n bones are at hand in s, d [n][4] is the vertex's D */

/* The vertex is to follow its own positions, its rest as the plan says. */
void vertex_expect(const Pass *pass, int v, Scratch *s);
/* The bones that carry a vertex, in local numbers: all of them, or those that it may use, summing to one. */
void vertex_load(const Pass *pass, const Scratch *s, int v, int keep, Support *support);
/* Weights, rest pose and error of one vertex, for what s expects of it; the support, in local numbers, goes out. */
void vertex_solve(const Pass *pass, Scratch *s, int n, int v, const double *d, Support *support);
/* A vertex's share of the objective: its squared error, and how far its rest pose has moved. */
double vertex_objective(const Pass *pass, int v);
/* Adds to cost [bones] what the vertex loses with each of its bones. */
void vertex_removal_costs(const Pass *pass, Scratch *s, int n, int v, const double *d, const Support *support,
                          double *cost);
/* Adds mass w_b w_c p~ p~' to u and writes mass w p~ to the vertex's row wp [n][4]. */
void vertex_moments(const Pass *pass, const Scratch *s, int v, const Support *support, double *wp, double *u);

#endif
