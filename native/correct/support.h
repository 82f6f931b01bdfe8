/* support.h - which vertices belong to a joint. See support.c. */
#ifndef OSSIFY_SUPPORT_H
#define OSSIFY_SUPPORT_H

#include "correct/layer.h"

/* Joints go by the bone that hangs on them; a bone without parent and children stands for itself. */
typedef struct Support {
    const int32_t *parent; /* [bones] or NULL: every bone stands for itself */
    int *joints;           /* [bones] how many joints a bone has, at least 1 */
} Support;

int support_make(Call *call, const Skin *skin, const int32_t *parents, Support *support);
/* 1 when there is such a joint. */
int support_has(const Support *support, int joint);
/* How much of a vertex belongs to a joint, 0..1. */
double support_share(const Support *support, const Skin *skin, int v, int joint);
/* The fields of a layer from `first` on act around joint [fields - first]; 0 when memory is out. */
int support_reach(Call *call, const Support *support, const Skin *skin, const int *joint, int first,
                  Layer *layer);

#endif
