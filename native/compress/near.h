/* near.h - what the two layers leave open, for all files of the room. */
#ifndef OSSIFY_NEAR_H
#define OSSIFY_NEAR_H

#define NEAR_BLEND 1e-9 /* of a form's mean diagonal: how strongly a blend stays where masters move alike */

#endif
