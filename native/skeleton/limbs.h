/* limbs.h - the limbs of a surface; see limbs.c. */
#ifndef OSSIFY_LIMBS_H
#define OSSIFY_LIMBS_H

#include "skeleton/paths.h"

/* limb [v]: which one a vertex is in, the one that reaches farthest first, or -1. Returns how many there are, < 0 when
 * memory is out. */
int limbs_find(Call *call, const Paths *paths, int *limb);

#endif
