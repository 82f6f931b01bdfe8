/* start.h - a map without flips to begin with; see start.c. */
#ifndef OSSIFY_UNWRAP_START_H
#define OSSIFY_UNWRAP_START_H

#include "unwrap/chart.h"

typedef enum Start {
    START_GIVEN, /* the map as it is has no flips */
    START_ROUND, /* it had, and begins as a disc */
    START_NONE,  /* it had, and the island is no disc, with or without holes: it stays as it is */
    START_ENDED  /* memory is out, or the call is cancelled */
} Start;

Start start_find(Call *call, Chart *chart);

#endif
