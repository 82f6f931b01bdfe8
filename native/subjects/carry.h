/* carry.h - the frames of all subjects as if one body had made them; see carry.c. */
#ifndef OSSIFY_CARRY_H
#define OSSIFY_CARRY_H

#include "subjects/people.h"

/* The subject that moves most, in all its frames together. */
int carry_richest(const People *people);
/* frames [f][v][3]: those of all subjects on the body of one. */
void carry_frames(const People *people, int onto, float *frames);

#endif
