/* place.h - where islands lie in the map; see place.c. */
#ifndef OSSIFY_UNWRAP_PLACE_H
#define OSSIFY_UNWRAP_PLACE_H

#include "unwrap/islands.h"

/* Turns and moves a relaxed island onto where it was: after, before [points][2]; after is scaled by `scale` first. */
void place_back(int points, const double *before, double scale, double *after);

/* Packs islands into the unit square, `margin` apart, all scaled alike: uv [islands->points][2]. 0 when memory is out. */
int place_pack(Arena *arena, const Islands *islands, double margin, double *uv);

#endif
