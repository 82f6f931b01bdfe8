/* bones.h - bones for coordinates that stay. See bones.c. */
#ifndef OSSIFY_SPACE_BONES_H
#define OSSIFY_SPACE_BONES_H

#include "animation_space/coordinates.h"
#include "animation_space/hanging.h"

/* Sweeps over the bones of every frame, until none moves the surface any more; what the rig holds stays, and so do
 * the joints that bones hang in. Changes the skin's transforms. 0 when the call must end. */
int bones_solve(Call *call, Skin *skin, const Coordinates *coordinates, const ossify_rig *rig,
                const Hanging *hanging, int sweeps);

#endif
