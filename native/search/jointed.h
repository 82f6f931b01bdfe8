/* jointed.h - what a model is worth as a body whose bones hang together; see jointed.c. */
#ifndef OSSIFY_JOINTED_H
#define OSSIFY_JOINTED_H

#include "core/model.h"

typedef struct Jointed {
    double error; /* squared, of the model hung on the skeleton that its bones make */
    int loosest;  /* the bone that holds least, -1: all hold */
} Jointed;

/* The error is infinite when the call must end. */
Jointed jointed_measure(Call *call, const Problem *problem, const Model *model);

#endif
