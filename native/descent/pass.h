/* pass.h - the vertex step, Eq. 3-4, with rest pose and moments; see pass.c. */
#ifndef OSSIFY_PASS_H
#define OSSIFY_PASS_H

#include "core/model.h"

enum {
    MONOMIALS = 10, /* xx yy zz xy xz yz x y z 1: a symmetric form in p~ */
    PAIR = 16,      /* numbers of a 4x4 matrix for two bones, its rows those of p~ of the first */
    MAX_LANES = 32  /* partial sums of a pass, fixed so that threads cannot change them */
};

/* Moments of a model, all that the transforms need to know of the vertices. */
typedef struct Moments {
    int lanes;
    double *c; /* [3 frames][capacity][4]   sum_v w x p~'          */
    double *u; /* [capacity][capacity][PAIR] sum_v w_b w_c p~ p~'  */
    double *lane_c, *lane_u, *lane_sums;
} Moments;

/* What one pass over the vertices shall do. */
typedef struct PassPlan {
    int search;                /* 1: look for each vertex's support from nothing, too */
    int solve_weights;         /* 0: weights stay */
    int solve_rest;            /* 0: the rest pose stays */
    double rest_pull;          /* frames that the given rest counts for */
    double rest_tie;           /* what an edge counts in these: it moves as a smooth field */
    int plain;                 /* 1: least squares of the distances, whatever the problem's norm */
    int backwards;             /* 1: with a norm, from the last vertex to the first */
    double before;             /* with a norm and `only`: the objective before the pass */
    double smoothing;          /* lambda: pull of the neighbours' mean weights; 0: none */
    const uint8_t *candidates; /* [v][bytes] one bit a bone that a vertex may use */
    int bytes;                 /* 0: all bones */
    const uint8_t *only;       /* [blocks] 0: vertices stay; NULL: all. With it no moments are made */
    int no_moments;            /* 1: none are made */
    double *removal_cost;      /* [bones] out: rise of the error when a bone goes, or NULL */
    double *given_error;       /* [v] out: squared error before anything is solved, or NULL */
} PassPlan;

/* A symmetric form as a matrix. */
void pass_spread(const double form[MONOMIALS], double pair[PAIR]);

int pass_make(Call *call, const Problem *problem, const Model *model, Moments *moments);
/* Returns the mass-weighted squared error plus the rest pose's own term. */
double pass_run(Call *call, const Problem *problem, Model *model, Moments *moments, const PassPlan *plan);

#endif
