/* exchange.h - between the caller's correctives and a layer. See exchange.c. */
#ifndef OSSIFY_EXCHANGE_H
#define OSSIFY_EXCHANGE_H

#include "correct/layer.h"

/* The first `count` fields of the rig become those of the layer, and held. */
void exchange_read(const ossify_rig *rig, int count, Layer *layer);
/* The fields that are solved, scaled to largest coefficients of 1, behind those that are held; what is zero everywhere
 * is left out. Sets rig.correctives; source [n] is the layer's number of each. */
void exchange_write_fields(const Layer *layer, ossify_rig *rig, int *source);
/* The rest and what it moves by. */
void exchange_write_rest(const Layer *layer, ossify_rig *rig);
/* All coefficients of a layer with the fields of the rig. */
void exchange_write_coefficients(const Layer *layer, ossify_rig *rig);

#endif
