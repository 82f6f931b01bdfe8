/* as_printed.h - the paper's own algorithm, to compare with; see as_printed.c. */
#ifndef OSSIFY_AS_PRINTED_H
#define OSSIFY_AS_PRINTED_H

#include "compress/layers.h"

/* 0 when the call must end. */
int as_printed(Call *call, const Target *target, const Graph *graph, double tolerance, Layers *layers);

#endif
