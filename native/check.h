/* check.h - what the files that look at arguments share: the sentence of a refusal, and how large a number may be. */
#ifndef OSSIFY_CHECK_H
#define OSSIFY_CHECK_H

#include "rooms.h"

/* Fourth powers of coordinates, summed, stay far below the largest double. */
#define LARGEST 1e30f

/* How far from 1 the length of a direction may be. */
#define UNIT_TOLERANCE 1e-6

/* Says what is wrong; 1. */
#define BAD(info, ...) ((int)(refuse((info), OSSIFY_BAD_ARGUMENT, __VA_ARGS__) != 0))

typedef struct Text {
    char letters[32];
} Text;

/* C runtimes differ in how they print what is not finite. */
Text number(double x);

/* The plane of a skeleton that gives one. */
int bad_plane(ossify_info *info, const ossify_skeleton *skeleton);

/* check_skeleton.c; 1 when something was said */

/* Demanded and forbidden edges. */
int bad_wishes(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones);
/* Parents, joints, kinds, axes and mirrors that come in. */
int bad_tree(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones);

#endif
