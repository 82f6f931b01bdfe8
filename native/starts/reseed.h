/* reseed.h - bones inserted and removed; see reseed.c. */
#ifndef OSSIFY_RESEED_H
#define OSSIFY_RESEED_H

#include "core/model.h"

/* Adds up to `count` bones at the worst places, by model->error; fewer when there is no room or the rest
 * is rounding. With `random`, places are drawn: worse ones are likelier. Returns how many, or -1 when
 * memory is out. */
int reseed_insert(Call *call, const Problem *problem, Model *model, int count, uint64_t *random);
/* Adds one bone at a vertex, fitted to what is left unexplained there; or, `doubled`, one that moves as the
 * strongest there and takes its vertices over, so that the motion stays as it was. Returns 0 when memory is
 * out. */
int reseed_at(Call *call, const Problem *problem, Model *model, int vertex, int doubled);
/* The vertex whose surroundings have most of the error and may change, or -1; of a bone's own vertices if
 * `of` >= 0. */
int reseed_worst(const Problem *problem, const Model *model, int of);
/* Bone b becomes the rigid motion that takes vertex[0..count) to their positions, read into x [count][3F]. */
void reseed_fit(const Problem *problem, Model *model, const int *vertex, int count, double *x, int b);
/* Squared distance of bone b's motion of the vertex from x [3F]. */
double reseed_distance(const Problem *problem, const Model *model, int v, int b, const double *x);
/* 1 when a vertex's squared error is rounding that no bone can lower. */
int reseed_is_explained(const Problem *problem, double squared);
/* The bone that may leave and costs least to lose, or -1. */
int reseed_cheapest(const Model *model, const double *cost);

#endif
