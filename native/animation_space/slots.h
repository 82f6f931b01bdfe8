/* slots.h - which bones a vertex has coordinates for. See slots.c. */
#ifndef OSSIFY_SLOTS_H
#define OSSIFY_SLOTS_H

#include "animation_space/coordinates.h"

/* Room for so many bones a vertex, the graph of the faces with its lengths in all frames. 0 when the call must end. */
int slots_make(Call *call, const Skin *skin, int slots, Coordinates *coordinates);
/* The skin's own bones. */
void slots_take_own(Coordinates *coordinates);
/* Free slots get the bones that neighbours have and the vertex has not, the heaviest first. */
int slots_fill_up(Call *call, Coordinates *coordinates);
/* Those of the caller, with their corrections. */
void slots_take_given(Coordinates *coordinates, const ossify_space *space);
/* To the caller. */
void slots_write(const Coordinates *coordinates, ossify_space *space);
/* Once the bones are known: their centres, and which slots face each other across an edge. */
void slots_match(Coordinates *coordinates);

#endif
