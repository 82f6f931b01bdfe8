/* levels.h - the same problem at three sizes, and models between them; see levels.c. */
#ifndef OSSIFY_LEVELS_H
#define OSSIFY_LEVELS_H

#include "core/model.h"
#include "search/effort.h"

/* The same problem at three sizes; equal ones share their arrays. */
typedef struct Levels {
    Problem sample; /* fewer vertices, all frames */
    Problem few;    /* fewer vertices and frames */
    int *cell;      /* [v of the whole] */
    int *chosen;    /* [f of the few] frames of the whole */
    int *nearest;   /* [f of the whole] among the few */
} Levels;

int levels_make(Call *call, const Problem *whole, const Effort *effort, Levels *levels);
/* Takes a given model of the whole to levels->few. */
void levels_lower(const Problem *whole, const Levels *levels, const Model *model, Model *few);
/* Takes a model of levels->few to the whole: transforms for the other frames, weights for the other
 * vertices, both ready for a descent. Returns 0 when the call must end. With `given`, model is what was lowered:
 * what is held of it stays, and so does its rest pose. */
int levels_carry(Call *call, const Problem *whole, const Levels *levels, Model *few, int given, Model *model);

#endif
