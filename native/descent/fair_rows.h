/* fair_rows.h - residuals of a vertex in all frames, as floats; see fair_rows.c. */
#ifndef OSSIFY_FAIR_ROWS_H
#define OSSIFY_FAIR_ROWS_H

#include "math/graph.h"
#include "ossify.h"

/* 3F rows and empty ones that fill them up; they are 0 in all that comes in */
size_t fair_rows_padded(int frames);

/* What the replay of a vertex moves by in bones b: M_b q_b. */
typedef struct FairMove {
    int count;
    const double *turned[2 * OSSIFY_MAX_INFLUENCES]; /* [4][rows] the columns of a bone */
    double q[2 * OSSIFY_MAX_INFLUENCES][4];
} FairMove;

/* to = own r_v - others sum_{j in N(v)} r_j; returns |to|^2, or its product with r_v */
double fair_rows_square(const Graph *graph, int v, size_t rows, const float *residual, float own,
                        float others, float *to);
double fair_rows_product(const Graph *graph, int v, size_t rows, const float *residual, float own,
                         float others, float *to);
/* r += sum_b M_b q_b; returns |r|^2 */
double fair_rows_move(const FairMove *move, size_t rows, float *r);

#endif
