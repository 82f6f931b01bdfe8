/* explore.h - looks for good bones where an iteration is cheap; see explore.c. */
#ifndef OSSIFY_EXPLORE_H
#define OSSIFY_EXPLORE_H

#include "descent/descent.h"
#include "search/effort.h"

/* Bones for `problem` from nothing; stops early when the squared error is at or below `enough`.
 * Returns 0 when the call must end. */
int explore(Call *call, const Problem *problem, int bones, const Effort *effort, double enough, Model *model);

/* descent_complete; then, unless the number of bones is given (descent->wanted is 0), a new place for bones that
 * no vertex follows any more and, with `effort`, repairs when the cut to connected regions cost much. */
DescentEnd explore_complete(Descent *descent, int most, double tolerance, double enough,
                            const Effort *effort);

/* From a model that is given: the descent goes first, then bones of which nothing is held may leave for a place where
 * they are worth more. The others keep their numbers, and one that left gives its number to the one that came.
 * The model needs explore_capacity() bones of room. Returns 0 when the call must end; *moved: 1 when it was
 * worth while. */
int explore_relocate(Call *call, const Problem *problem, int cycles, const Effort *effort, Model *model,
                     int *moved);

/* Room that a model needs while it is explored. */
int explore_capacity(int bones, const Effort *effort);

#endif
