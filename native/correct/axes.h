/* axes.h - the principal axes of a layer. See axes.c. */
#ifndef OSSIFY_AXES_H
#define OSSIFY_AXES_H

#include "correct/layer.h"

/* The fields that are solved and their coefficients, written anew with the same product; 0 when memory is out. */
int axes_turn(Call *call, const Layer *layer);

#endif
