/* regressor.h - a joint as an affine sum of a few vertices; see regressor.c. */
#ifndef OSSIFY_REGRESSOR_H
#define OSSIFY_REGRESSOR_H

#include "subjects/around.h"

enum { REGRESSOR_CANDIDATES = 128 };

/* Scratch of one joint at a time. */
typedef struct RegressorRoom {
    double *away;     /* [v] squared distance to the nearest candidate; < 0: none */
    double *distance; /* [v] mean over the bodies, to the joint */
    double *inverse;  /* [CANDIDATES][CANDIDATES] */
    double *form;     /* [CANDIDATES][CANDIDATES] */
} RegressorRoom;

typedef struct Regressor {
    int count;
    int vertex[OSSIFY_JOINT_VERTICES];
    double share[OSSIFY_JOINT_VERTICES]; /* sum 1, of any sign */
} Regressor;

/* 0 when memory is out. */
int regressor_take(Arena *arena, int64_t vertices, RegressorRoom *room);
void regressor_learn(const Around *around, const RegressorRoom *room, Regressor *regressor);
/* The joint in a body, [v][3]. */
void regressor_place(const Regressor *regressor, const float *rest, double joint[3]);

#endif
