/* check.h - what is wrong with the arguments, said in info->message; see check.c. */
#ifndef OSSIFY_CHECK_H
#define OSSIFY_CHECK_H

#include "api/scan.h"
#include "api/verb.h"
#include "core/sentence.h"

/* How far from 1 the length of a direction may be. */
#define UNIT_TOLERANCE 1e-6

/* 1 when info can be written to; it is then emptied, its errors unknown (-1). */
int check_info(ossify_info *info);
/* 1 when the request is one, of a verb that there is. */
int check_request(const ossify_request *request, ossify_info *info);
/* Structs, sizes, settings and pointers: quick. 0, or OSSIFY_BAD_ARGUMENT. */
int64_t check_structs(const Verb *verb, const ossify_request *request, ossify_info *info);

/* Every number that the verb reads, after the above. 0, OSSIFY_BAD_ARGUMENT or OSSIFY_CANCELLED. */
int64_t check_arrays(Call *call, const Verb *verb, const ossify_request *request);
/* How large a length may be that is `sizes` rest poses long. */
double check_arrays_reach(const ossify_request *request, int reads, double sizes);
/* Every number that the verb wrote. 0, OSSIFY_NO_ANSWER or OSSIFY_CANCELLED. */
int64_t check_answer(Call *call, const Verb *verb, const ossify_request *request);

/* Of a skeleton; 1 when something was said. */

/* The plane of a skeleton that gives one. */
int check_skeleton_plane(ossify_info *info, const ossify_skeleton *skeleton);
/* Demanded and forbidden edges; 1 also where there is no memory to compare them. */
int check_skeleton_wishes(Call *call, const ossify_skeleton *skeleton, int64_t bones);
/* Parents, joints of as many bodies as there are rests, kinds, axes and mirrors that come in. */
int check_skeleton_tree(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones, int64_t rests);

#endif
