/* model.h - a rig while it is being solved; see model.c. */
#ifndef OSSIFY_MODEL_H
#define OSSIFY_MODEL_H

#include "core/problem.h"

typedef struct Model {
    int bones, capacity, influences;
    double *transform;   /* [3 frames][capacity][4]: row 3f + i is row i of M[f][b], bone by bone */
    int *bone;           /* [v][influences], -1 unused, used ones first */
    double *weight;      /* [v][influences] */
    double *rest;        /* [v][3] */
    double *error;       /* [v] squared error over the frames */
    uint8_t *held;       /* [frames][capacity] transforms held */
    uint8_t *held_group; /* [capacity] weights held, on every vertex */
    uint8_t *stays;      /* [capacity] something of the bone is held: it may not leave its place */
} Model;

int model_make(Call *call, const Problem *problem, int capacity, int influences, Model *model);
/* As it was made: no bones, the rest as given. */
void model_clear(const Problem *problem, Model *model);
void model_copy(const Problem *problem, const Model *from, Model *to);
void model_copy_vertices(const Problem *problem, const Model *from, Model *to);
/* A bone of which nothing is held goes, and the last one takes its number. What its vertices had of it, their other
 * bones share, except held groups. */
void model_remove_bone(const Problem *problem, Model *model, int gone);
/* Numbers the bones of `to`, of which nothing is held, by those of `from` that move the same vertices; both have
 * the same count. 0 when the call must end. */
int model_number_alike(Call *call, const Problem *problem, const Model *from, Model *to);
/* Mass of the vertices a bone moves, by weight. */
double model_bone_mass(const Problem *problem, const Model *model, int b);
/* 1 when the vertex has some weight on the bone. */
int model_follows(const Model *model, int v, int b);
/* Finds the bones that stay: their group, a transform, or a vertex that has weight on them is held. */
void model_find_staying(const Problem *problem, Model *model);
/* 1 when no vertex follows the bone, and nothing of it is held. */
int model_bone_is_idle(const Problem *problem, const Model *model, int b);
double model_squared_error(const Problem *problem, const Model *model);

#endif
