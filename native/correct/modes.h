/* modes.h - coefficients to start correctives from. See modes.c. */
#ifndef OSSIFY_MODES_H
#define OSSIFY_MODES_H

#include "correct/layer.h"
#include "correct/support.h"

typedef struct Modes {
    int count;
    double *coefficient; /* [count][wide], the one that explains most first */
    int *joint;          /* [count] whose it is; -1: of all */
} Modes;

/* Up to `wanted` modes of what the rig misses beside the held fields of a layer, in the frames that it sees. support:
 * around each joint by itself; NULL: of the whole. 0 when the call must end. */
int modes_make(Call *call, const Layer *layer, const Support *support, int wanted, Modes *modes);

#endif
