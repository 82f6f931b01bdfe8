/* hanging.h - bones that only turn about joints that hold. See hanging.c. */
#ifndef OSSIFY_HANGING_H
#define OSSIFY_HANGING_H

#include "correct/skin.h"

typedef struct Hanging {
    int bones;
    const int32_t *parents; /* [b], -1 at a root; NULL: no joint holds */
    double *joint;          /* [b][3] inside */
    int *order;             /* [b] parents first */
} Hanging;

/* From what the caller wishes for; 0 when the call must end. */
int hanging_make(Call *call, const Skin *skin, const ossify_space_fit *wish, Hanging *hanging);
/* 1 when the bone only turns. */
int hanging_turns(const Hanging *hanging, int b);
/* s [b][b][16] and c [b][12][wide] of free bones become those of bones with joints. */
void hanging_join(const Hanging *hanging, int wide, double *s, double *c);
/* pose [b][12] T becomes X, and back. */
void hanging_release(const Hanging *hanging, double *pose);
void hanging_hang(const Hanging *hanging, double *pose);

#endif
