/* tile.h - what all products and solutions of dense systems come down to: a tile of a product that fits into the
 * processor's registers. */
#ifndef OSSIFY_TILE_H
#define OSSIFY_TILE_H

#include <stddef.h>

enum { TILE_ROWS = 6, TILE_COLUMNS = 8, TILE_HALF = TILE_COLUMNS / 2 };

/* C += A' B, as it would be by C's fma(), k by k:  A [depth][TILE_ROWS], B [depth][TILE_COLUMNS],
 * C [TILE_ROWS][ld]. At most TILE_HALF columns are asked for, or all. */
void tile_sum(int columns, int depth, const double *a, const double *b, double *c, size_t ld);

#endif
