/* ties.h - neighbours that count together in a tracked clip; see ties.c. */
#ifndef OSSIFY_TIES_H
#define OSSIFY_TIES_H

#include "descent/pass.h"
#include "track/patches.h"

typedef struct Ties {
    double tie; /* mu / mean number of neighbours; 0: vertices count one by one, and nothing below is there */
    Graph graph;   /* of the faces */
    double *whole; /* for Moments.whole */
} Ties;

/* Of weights and a rest pose that are held, in the norm that the settings ask for; 0 when the call must end. */
int ties_make(Call *call, const ossify_poses *poses, const ossify_rig *rig, const Placement *placement,
              Ties *ties);
/* x [3][PATCH], a patch's vertices in a frame, become rows of S x; returns by how much sum x'Sx is more than
 * sum |x|^2 for them. */
double ties_stiffen(const Ties *ties, const ossify_poses *poses, const Patches *patches, const Patch *patch,
                    int64_t frame, double *x);

#endif
