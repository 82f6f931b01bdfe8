/* draft.h - the rig and the skeleton that a verb writes, until they are known to be whole; see draft.c. */
#ifndef OSSIFY_DRAFT_H
#define OSSIFY_DRAFT_H

#include "api/verb.h"

typedef struct Draft {
    ossify_request request; /* what the verb gets */
    ossify_rig rig;
    ossify_skeleton skeleton;
    ossify_space space;
} Draft;

/* Copies of what the verb writes; all else is the caller's. 0 when memory is out. */
int draft_take(Call *call, const Verb *verb, const ossify_request *request, Draft *draft);
/* The caller gets what was written. */
void draft_keep(const Verb *verb, const Draft *draft, const ossify_request *request);

#endif
