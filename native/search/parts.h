/* parts.h - how many parts an articulated body has; see parts.c. */
#ifndef OSSIFY_PARTS_H
#define OSSIFY_PARTS_H

#include "core/model.h"

/* As many bones as there are parts, at most model->capacity. Returns 0 when the call must end. */
int parts_find(Call *call, const Problem *problem, Model *model);

#endif
