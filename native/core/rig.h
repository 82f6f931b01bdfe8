/* rig.h - the caller's rig to a model, and back; see rig.c. */
#ifndef OSSIFY_RIG_H
#define OSSIFY_RIG_H

#include "core/model.h"

/* With `rigid`, bones that are not held become rotations.
 * fixed_rest: written as it is, or NULL */
void rig_read(const Problem *problem, const Placement *placement, const ossify_rig *rig, int rigid,
              Model *model);
/* 1 when a given rig could be an answer as it is: weights, influences and bones of the kind asked for. */
int rig_is_lawful(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig);
/* Of them, the transforms. */
void rig_read_transforms(const Problem *problem, const Placement *placement, const ossify_rig *rig, int rigid,
                         Model *model);
void rig_write(const Problem *problem, const Placement *placement, const Model *model,
               const float *fixed_rest, ossify_rig *rig);
/* Of them, the transforms of bones from `first` on and the weights of one vertex. */
void rig_write_transforms(const Problem *problem, const Placement *placement, const Model *model, int first,
                          ossify_rig *rig);
void rig_write_vertex(const Problem *problem, const Model *model, int v, ossify_rig *rig);

/* The edges of the faces, as long as they are at rest. 0 when memory is out. */
int rig_graph(Arena *arena, const ossify_poses *poses, const ossify_rig *rig, Graph *graph);

/* An influence on its way out. */
typedef struct RigShare {
    int bone, held; /* held: its weight goes out as it is, to the bit; others in whole steps */
    double weight;
} RigShare;
/* The weights of the caller's vertex v, whose sum is 1; the order of `share` changes. */
void rig_write_shares(RigShare *share, int count, size_t v, ossify_rig *rig);

#endif
