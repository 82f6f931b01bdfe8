/* newton.h - damped Newton steps for the rigid bones of one frame; see newton.c. */
#ifndef OSSIFY_NEWTON_H
#define OSSIFY_NEWTON_H

#include "core/model.h"
#include "descent/pass.h"

/* What is solved for, and from what. */
typedef struct Newton {
    Model *model;
    const Moments *moments;
    const double *square; /* [f] sum |x|^2 */
} Newton;

/* A worker's scratch; n bones are free, and matrices of rotations are 3 x 3n. */
typedef struct Bench {
    int n, made_for; /* the frame whose free bones these are; -1: none yet */
    int *bone;       /* [n] */
    double error;    /* of the frame at hand */
    double fall;     /* by which the last step lowered it; 0: there was none */
    double damping;
    int age;                            /* steps taken with the factor; -1: there is none */
    double *mass;                       /* [n][n] m */
    double *lever;                      /* [4n][n] X, and W below it */
    double *arm;                        /* [4n][n] s, and I below it */
    double *form;                       /* [3n][3n] F */
    double *system, *factor;            /* [3n][3n] and that of the damped system */
    double *diagonal, *slope, *step;    /* [3n]; the diagonal is Gauss-Newton's */
    double *start, *r, *tried, *change; /* R0, R, exp[w] R and its difference to R */
    double *left, *more, *half;         /* G, (change) F, and R_b F_b of one bone */
    double *left_way, *way;             /* [3][n] G_t, and d */
} Bench;

void newton_take(Arena *arena, size_t bones, Bench *bench);
/* Which bones are free in a frame, and F, X and W for them; 0 when there is nothing to solve. */
int newton_make(const Newton *newton, int frame, Bench *bench);
/* Drops the Cholesky factor, so that the next step has its own. */
void newton_forget(Bench *bench);
/* R0 and G of a frame, its ways at their best, and its error then. */
void newton_read(const Newton *newton, int frame, Bench *bench);
/* One accepted step; returns by how much the error fell, 0 if no step lowers it. */
double newton_step(Bench *bench);
void newton_write(const Newton *newton, int frame, Bench *bench);

#endif
