/* hang.h - the bone step of bones that hang together; see hang.c. */
#ifndef OSSIFY_HANG_H
#define OSSIFY_HANG_H

#include "articulate/linkage.h"
#include "descent/descent.h"

/* Poses and joints for the moments at hand; 0 when the call must end. */
int hang_update(Linkage *linkage, const Moments *moments);
/* The same as a step of a descent. */
BoneStep hang_step(Linkage *linkage);

#endif
