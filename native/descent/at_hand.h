/* at_hand.h - the bones at hand for a few vertices; see at_hand.c. */
#ifndef OSSIFY_AT_HAND_H
#define OSSIFY_AT_HAND_H

#include "descent/vertex.h"

static inline size_t at_hand_padded(int n) {
    return ((size_t)n + 3) & ~(size_t)3;
}

/* G[b,c] of all bones as forms; whole [4b][4b]: as it is, too, or NULL. 0 when memory is out; so below. */
int at_hand_gram(Call *call, const Problem *problem, const Model *model, double *whole, double *gram,
                 double *diagonal, size_t stride);
int at_hand_scratch(Call *call, const Problem *problem, const Model *model, int packed, Scratch *scratch);
/* Lists the bones that vertices may use or keep, at least one; returns their number. The vertices: which [count], or,
 * if that is NULL, `count` from `first` on; old: also the bones that they have and may no longer use. */
int at_hand_list(const Pass *pass, Scratch *s, const int *which, int first, int count, int old);
int at_hand_all(const Pass *pass, Scratch *s);
/* Gathers what n bones at hand need. */
void at_hand_pack(const Pass *pass, Scratch *s, int n);

#endif
