/* vertex.h - one vertex of a pass: weights, rest pose, error and moments; see vertex.c. */
#ifndef OSSIFY_VERTEX_H
#define OSSIFY_VERTEX_H

#include "descent/pass.h"
#include "descent/weights.h"

/* What one worker needs for a block. */
typedef struct Scratch {
    double *x;  /* [3F][BLOCK] */
    double *m;  /* [3F][n][4] transforms of the bones at hand */
    double *d;  /* [BLOCK][n][4] */
    double *wp; /* [BLOCK][n][4] mass w p~ */
    double *c;  /* [3F][n][4] */
    double *gram, *diagonal;
    int *at_hand; /* [n] */
    int *local;   /* [bones] index among at_hand, or -1 */
    VertexView view;
    double *mean; /* [n] neighbours' mean weights */
    double *full; /* with a norm: [n][4][n][4] G, */
    double *near; /* [n][4] sum of the neighbours' w p~, zero but while a vertex is at hand, */
    int *touched; /* [n] the bones of these, */
    double *goal; /* [n][4] D for where the vertex shall go */
    uint8_t *allowed;
} Scratch;

typedef struct Pass {
    Call *call;
    const Problem *problem;
    Model *model;
    Moments *moments;
    const PassPlan *plan;
    const double *gram, *diagonal; /* of all bones */
    const double *full;            /* with a norm: [bones][4][bones][4] */
    int fair;                      /* 1: the problem's norm counts */
    int colour;                    /* with a norm: of the blocks at hand */
    const int *old_bone;           /* weights before the pass, for the neighbours' means */
    const double *old_weight;
    int stride;
    int holds_groups; /* 1: some bone's weights are held */
    double *frame_sum; /* [frames] */
    Scratch *scratch;  /* [workers] */
} Pass;

/* 1 when a vertex's weights are not to be solved. */
static inline int keeps_weights(const Pass *pass, int v) {
    return !pass->plan->solve_weights || (pass->problem->held && pass->problem->held[v]);
}

/* Where a vertex shall go, and rest. */
typedef struct Goal {
    const double *d;  /* [n][4] D[b] = sum_f M[b,f]' t */
    double square;    /* |t|^2 */
    double stiffness; /* what a squared distance to t counts */
    double pull;      /* in these: a squared distance of the rest position to */
    double rest[3];
} Goal;

/* n bones are at hand in s, d [n][4] is the vertex's D */

/* The goal of one vertex, its neighbours being as they are. */
void vertex_goal(const Pass *pass, Scratch *s, int n, int v, const double *d, Goal *goal);

/* Weights and rest pose of one vertex; the support, in local numbers, goes out. Returns |y - t|^2. */
double vertex_solve(const Pass *pass, Scratch *s, int n, int v, const Goal *goal, Support *support);
/* |y - t|^2 of the weights and the rest position as they are. */
double vertex_distance(const Pass *pass, const Scratch *s, int v, const Goal *goal);
/* A vertex's share of the objective: its squared error, and how far its rest pose has moved. */
double vertex_objective(const Pass *pass, int v);
/* Adds to cost [bones] what the vertex loses with each of its bones. */
void vertex_removal_costs(const Pass *pass, Scratch *s, int n, int v, const Goal *goal,
                          const Support *support, double *cost);
/* Adds mass w_b w_c p~ p~' to u, but not with a norm, and writes mass w p~ to the vertex's row wp [n][4]. */
void vertex_moments(const Pass *pass, const Scratch *s, int v, const Support *support, double *wp, double *u);
/* With a norm, once all vertices are solved: adds w_b p~ (S w_c p~)' for c <= b to u [bones][bones][PAIR]; near [bones][4]
 * is scratch, zero. Returns what the rest position counts. */
double vertex_pairs(const Pass *pass, int v, double *near, int *touched, double *u);

#endif
