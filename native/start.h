/* start.h - the first bones, three ways; see start.c. */
#ifndef OSSIFY_START_H
#define OSSIFY_START_H

#include "rigid_error.h"
#include "rooms.h"

/* `bones` first bones by `start` (OSSIFY_START_GROWN and on), every vertex on one of them; fewer only when fewer explain all
 * there is. Returns 0 when the call must end. */
int start_bones(Call *call, const Problem *problem, int start, int bones, Model *model);

/* settings.start_tolerance as collapse_clusters takes it. */
double start_tolerance(const Call *call, const Problem *problem);

/* The ways, as start_bones. */
int face_cluster(Call *call, const Problem *problem, int bones, Model *model);
int spectral(Call *call, const Problem *problem, int bones, Model *model);

/* cluster.c: bones fitted to `clusters` given clusters, label [v], improved and grown to `bones`. */
int cluster_from(Call *call, const Problem *problem, const int *label, int clusters, int bones, Model *model);

/* face_cluster.c: merges neighbours in `graph`, whose vertices are the clusters of `errors`, cheapest
 * union first, while there are more than `most` or a union's mean squared distance from moving rigidly
 * is at most `tolerance`. label [cluster] goes out, 0..result-1; < 0 when the call must end. */
int collapse_clusters(Call *call, const Graph *graph, RigidErrors *errors, int most, double tolerance,
                      int *label);

/* Mean squared distance a frame that no bone can explain: rounding of floats. */
#define START_NOISE 1e-13

#endif
