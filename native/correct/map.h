/* map.h - linear maps from turns to coefficients. See map.c. */
#ifndef OSSIFY_MAP_H
#define OSSIFY_MAP_H

#include "correct/layer.h"
#include "correct/turns.h"

/* Of all joints: map [fields][rows] so that the driven coefficients are nearest to `wanted` [fields][wide] in the frames
 * that the layer sees. 0 when the call must end; so below. */
int map_fit_columns(Call *call, const Layer *layer, const Turns *turns, const double *wanted, double ridge,
                    double *map);
/* Of one joint [fields] each: so that the error of the layer's fields is least, from its sums. */
int map_fit_joints(Call *call, const Layer *layer, const Turns *turns, const int *joint, double ridge,
                   double *map);

#endif
