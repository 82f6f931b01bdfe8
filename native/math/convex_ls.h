/* convex_ls.h - least squares of any size on the simplex: min w'Hw - 2g'w, w >= 0, sum w = 1. */
#ifndef OSSIFY_CONVEX_LS_H
#define OSSIFY_CONVEX_LS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Scratch for up to n unknowns. */
typedef struct ConvexRoom {
    double *factor; /* [n][n] */
    double *pivot, *a, *b, *gradient;
    int *free_at;
    uint8_t *is_free;
} ConvexRoom;

/* 0 when memory is out. */
int convex_ls_room(Arena *arena, int n, ConvexRoom *room);

/* H [n][n] symmetric positive semidefinite; w feasible on entry, 0 where `barred` [n] (which may be NULL) says so.
 * near > 0 adds near |w - w0|^2 with w0 the w that came: what H leaves open stays, and the answer is never worse.
 * Returns w'Hw - 2g'w. */
double convex_ls(int n, const double *h, const double *g, double near, const uint8_t *barred, double *w,
                 const ConvexRoom *room);
/* The same without w >= 0, over the n unknowns that are not barred. */
double convex_ls_signed(int n, const double *h, const double *g, double near, const uint8_t *barred,
                        double *w, const ConvexRoom *room);
/* w'Hw - 2g'w */
double convex_ls_value(int n, const double *h, const double *g, const double *w);

#endif
