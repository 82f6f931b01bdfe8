/* spectral.h - first bones by spectral clustering of rotations; see spectral.c. */
#ifndef OSSIFY_SPECTRAL_H
#define OSSIFY_SPECTRAL_H

#include "core/model.h"

/* As start_bones. */
int spectral(Call *call, const Problem *problem, int bones, Model *model);

#endif
