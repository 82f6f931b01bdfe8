/* relax.h - an island relaxed; see relax.c. */
#ifndef OSSIFY_UNWRAP_RELAX_H
#define OSSIFY_UNWRAP_RELAX_H

#include "unwrap/energy.h"

/* From a map without flips, at most `most` steps; the progress goes from `from` to `to`. Returns how many, or -1 when
 * memory is out or the call is cancelled. */
int relax(Call *call, Chart *chart, int most, double from, double to);
/* How far along `way` [points][2] the map can go before a triangle has no area; INFINITY: as far as one likes. */
double relax_reach(const Chart *chart, const double *way);

#endif
