/* cluster.h - first bones grown where the error is most; see cluster.c. */
#ifndef OSSIFY_CLUSTER_H
#define OSSIFY_CLUSTER_H

#include "core/model.h"

/* Up to `bones` first bones, every vertex on one of them; 0 when the call must end. */
int cluster(Call *call, const Problem *problem, int bones, Model *model);
/* Bones fitted to `clusters` given clusters, label [v], improved and grown to `bones`. */
int cluster_from(Call *call, const Problem *problem, const int *label, int clusters, int bones, Model *model);
/* settings.start_tolerance as face_cluster_collapse takes it. */
double cluster_tolerance(const Call *call, const Problem *problem);

#endif
