/* paths.h - shortest ways over the surface: what they cross, and how far it is; see paths.c. */
#ifndef OSSIFY_PATHS_H
#define OSSIFY_PATHS_H

#include "core/call.h"
#include "math/graph.h"

typedef struct Paths {
    double *
        traffic; /* [bones][bones] of the ways that visit the one or the other region, whichever are fewer, those
                      * that cross from one to the other */
    double *remote; /* [v] mean distance to the ends of all ways */
    Graph graph;    /* edges of the faces */
} Paths;

/* Over the faces of `rest` [v][3]; owner [v]: the region that a vertex is in. 0 when the call must end. */
int paths_measure(Call *call, const ossify_poses *poses, const double *rest, const int *owner, int bones,
                  Paths *paths);

#endif
