/* pass.h - the vertex step, Eq. 3-4, with rest pose and moments; see pass.c. */
#ifndef OSSIFY_PASS_H
#define OSSIFY_PASS_H

#include <string.h>

#include "core/model.h"

enum {
    MONOMIALS = 10, /* xx yy zz xy xz yz x y z 1: a symmetric form in p~ */
    PAIR = 16,      /* U[b,c] in full */
    MAX_LANES = 32  /* partial sums of a pass, fixed so that threads cannot change them */
};

/* Moments of a model, all that the transforms need to know of the vertices. */
typedef struct Moments {
    int lanes;
    double *c; /* [3 frames][capacity][4]   sum_v w x p~'          */
    double *u; /* [bones][bones][MONOMIALS] sum_v w_b w_c p~ p~'   */
    double *lane_c, *lane_u, *lane_sums;
    double
        *whole; /* [bones][bones][PAIR] of neighbours that count together (fair.h), where U is not symmetric:
                    * U[b,c] in rows; NULL: u is all */
} Moments;

/* What one pass over the vertices shall do. */
typedef struct PassPlan {
    int search;                /* 1: look for each vertex's support from nothing, too */
    int solve_weights;         /* 0: weights stay */
    int solve_rest;            /* 0: the rest pose stays */
    double rest_pull;          /* frames that the given rest counts for */
    double rest_stiffness;     /* of a fair pass: how strongly neighbours' rest positions move together */
    double smoothing;          /* lambda: pull of the neighbours' mean weights; 0: none */
    const uint8_t *candidates; /* [v][bytes] one bit a bone that a vertex may use */
    int bytes;                 /* 0: all bones */
    const uint8_t *only;       /* [blocks] 0: vertices stay; NULL: all. With it no moments are made */
    double *removal_cost;      /* [bones] out: rise of the error when a bone goes, or NULL */
    double *given_error;       /* [v] out: squared error before anything is solved, or NULL */
} PassPlan;

/* U[b,c] of a model with `capacity` bones */
static inline void pass_pair(const Moments *moments, int capacity, int b, int c, double pair[PAIR]) {
    const size_t at = (size_t)b * (size_t)capacity + (size_t)c;
    if (moments->whole) {
        memcpy(pair, moments->whole + at * PAIR, PAIR * sizeof *pair);
        return;
    }
    const double *form = moments->u + at * MONOMIALS;
    const double all[PAIR] = {form[0], form[3], form[4], form[6], form[3], form[1], form[5], form[7],
                              form[4], form[5], form[2], form[8], form[6], form[7], form[8], form[9]};
    memcpy(pair, all, sizeof all);
}

int pass_make(Call *call, const Problem *problem, const Model *model, Moments *moments);
/* Returns the mass-weighted squared error plus the rest pose's own term. */
double pass_run(Call *call, const Problem *problem, Model *model, Moments *moments, const PassPlan *plan);

#endif
