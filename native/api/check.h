/* check.h - what is wrong with the arguments, said in info->message; see check.c. */
#ifndef OSSIFY_CHECK_H
#define OSSIFY_CHECK_H

#include "core/call.h"
#include "core/sentence.h"

/* Fourth powers of coordinates, summed, stay far below the largest double. */
#define LARGEST 1e30f

/* How far from 1 the length of a direction may be. */
#define UNIT_TOLERANCE 1e-6

/* Says what is wrong; 1. */
#define BAD(info, ...) ((int)(sentence_refuse((info), OSSIFY_BAD_ARGUMENT, __VA_ARGS__) != 0))

/* 1 when info can be written to; it is then emptied, its errors unknown (-1). */
int check_info(ossify_info *info);
/* Structs, sizes, settings and pointers: quick. 0, or OSSIFY_BAD_ARGUMENT. */
int64_t check_decompose(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                        ossify_info *info);
/* For verbs that read or change a whole rig, whatever `given` says. */
int64_t check_whole(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                    ossify_info *info);
int64_t check_added_bone(const ossify_poses *poses, const ossify_rig *rig, int64_t vertex, int64_t split,
                         ossify_info *info);
int64_t check_connect(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                      const ossify_skeleton *skeleton, ossify_info *info);
int64_t check_articulate(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                         const ossify_skeleton *skeleton, ossify_info *info);
int64_t check_evaluate(const ossify_poses *poses, const ossify_rig *rig, const ossify_settings *settings,
                       const ossify_evaluation *evaluation, ossify_info *info);
/* Every number of every array, after the above. 0, OSSIFY_BAD_ARGUMENT or OSSIFY_CANCELLED. */
int64_t check_arrays_decompose(Call *call, const ossify_poses *poses, const ossify_rig *rig);
int64_t check_arrays_connect(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                             const ossify_skeleton *skeleton);
int64_t check_arrays_articulate(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                                const ossify_skeleton *skeleton);
int64_t check_arrays_evaluate(Call *call, const ossify_poses *poses, const ossify_rig *rig);

/* Of a skeleton; 1 when something was said. */

/* The plane of a skeleton that gives one. */
int check_skeleton_plane(ossify_info *info, const ossify_skeleton *skeleton);

/* Demanded and forbidden edges. */
int check_skeleton_wishes(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones);
/* Parents, joints, kinds, axes and mirrors that come in. */
int check_skeleton_tree(ossify_info *info, const ossify_skeleton *skeleton, int64_t bones);

#endif
