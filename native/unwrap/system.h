/* system.h - sparse symmetric systems over the points of an island, 2 x 2 numbers a pair; see system.c. */
#ifndef OSSIFY_UNWRAP_SYSTEM_H
#define OSSIFY_UNWRAP_SYSTEM_H

#include "unwrap/chart.h"

typedef struct System {
    int points;
    int *first;          /* [points + 1] */
    int *middle;         /* [points] where a row's neighbours beyond its own number begin */
    int *beside;         /* neighbours of each point, ascending */
    int *slot;           /* [triangles][6] where the pairs 01 02 10 12 20 21 of a triangle's corners stand */
    double *pair;        /* [neighbours][4] */
    double *own;         /* [points][4] */
    double *inverse;     /* [points][4] of own */
    double *room;        /* [4][points][2] of the solver */
    const uint8_t *held; /* [points] not 0: it does not move; NULL: all do */
} System;

/* 0 when memory is out. */
int system_make(Arena *arena, const Chart *chart, System *system);
void system_clear(System *system);
/* Adds h [6][6] of triangle t, over the u and v of its corners. */
void system_add(System *system, const Chart *chart, int t, const double h[36]);
/* x = A^-1 b, b [points][2], from x = 0 on, until the residual is `near` of what it was, or `most` steps; x is a way
 * down after any number of steps. Rows of points that are held count as x = 0. Returns the steps, or -1 when the call
 * is cancelled. */
int system_solve(Call *call, System *system, const double *b, double near, int most, double *x);

#endif
