/* refine.h - masters and rest that suit the weights of all bones that vertices have; see refine.c. */
#ifndef OSSIFY_REFINE_BONES_H
#define OSSIFY_REFINE_BONES_H

#include "compress/layers.h"

/* The bones' step and the rest's, for w = D alpha, or for the target's dense weights when layers is NULL. 0 when the
 * call must end. */
int refine_bones(Call *call, const Problem *problem, const Target *target, const Layers *layers,
                 Model *model);

#endif
