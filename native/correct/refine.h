/* refine.h - bones, weights and fields solved together. See refine.c. */
#ifndef OSSIFY_REFINE_H
#define OSSIFY_REFINE_H

#include "correct/layer.h"

/* Rounds over weights, bones and fields; what the rig holds stays. Changes the skin and the layer; returns the squared
 * error, or < 0 when the call must end. */
double refine_run(Call *call, Skin *skin, Layer *layer, const ossify_rig *rig, int rounds);

#endif
