/* face_cluster.h - first bones by merging patches; see face_cluster.c. */
#ifndef OSSIFY_FACE_CLUSTER_H
#define OSSIFY_FACE_CLUSTER_H

#include "core/model.h"
#include "starts/rigid_error.h"

/* As start_bones. */
int face_cluster(Call *call, const Problem *problem, int bones, Model *model);

/* Merges neighbours in `graph`, whose vertices are the clusters of `errors`, cheapest union first, while there are
 * more than `most` or a union's mean squared distance from moving rigidly is at most `tolerance`. label [cluster]
 * goes out, 0..result-1; < 0 when the call must end. */
int face_cluster_collapse(Call *call, const Graph *graph, RigidErrors *errors, int most, double tolerance,
                          int *label);

#endif
