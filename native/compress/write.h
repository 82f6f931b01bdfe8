/* write.h - the layers for the caller, and what they are worth; see write.c. */
#ifndef OSSIFY_WRITE_H
#define OSSIFY_WRITE_H

#include "compress/layers.h"

/* Virtual bones that no vertex follows are left out. 0 when the call must end. */
int write_layers(Call *call, const Problem *problem, const Layers *layers,
                 const ossify_compression *compression, ossify_layers *to);
/* Dense weights to the rig. 0 when the call must end. */
int write_dense(Call *call, const Problem *problem, const Target *target, ossify_rig *rig);
/* What the layers replay as they were written, to info. 0 when the call must end. */
int write_figures(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                  const ossify_compression *compression, const ossify_layers *layers);
/* The same of a rig. */
int write_rig_figures(Call *call, const ossify_poses *poses, const ossify_rig *rig);

#endif
