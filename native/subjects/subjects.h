/* subjects.h - one skeleton for many bodies (Hasler et al. 2010); see unite.c, place_joints.c,
 * shape_bones.c, merge.c. */
#ifndef OSSIFY_SUBJECTS_H
#define OSSIFY_SUBJECTS_H

#include "core/call.h"

/* Say what they cannot work with. */
int subjects_refuses_subjects(const ossify_request *request, ossify_info *info);
int subjects_refuses_bodies(const ossify_request *request, ossify_info *info);
int subjects_refuses_shaping(const ossify_request *request, ossify_info *info);
int subjects_refuses_merging(const ossify_request *request, ossify_info *info);
/* Likewise of poses of several subjects; 0 of one body. */
int subjects_refuses_sharing(const ossify_request *request, ossify_info *info);
int subjects_refuses_correct(const ossify_request *request, ossify_info *info);
int subjects_refuses_connect(const ossify_request *request, ossify_info *info);
/* What a verb for one body does for several that share weights and tree. Return a status. */
int64_t subjects_decompose(Call *call, const ossify_poses *poses, ossify_rig *rig);
int64_t subjects_connect(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                         ossify_skeleton *skeleton);
int64_t subjects_articulate(Call *call, const ossify_poses *poses, ossify_rig *rig,
                            ossify_skeleton *skeleton);
int64_t subjects_correct(Call *call, const ossify_poses *poses, ossify_rig *rig,
                         const ossify_correction *correction, ossify_corrected *corrected);
/* Bones and tree in one call. Returns a status. */
int64_t subjects_unite(Call *call, const ossify_poses *poses, ossify_rig *rig,
                       const ossify_subjects *subjects, ossify_united *united);
/* Bones that turn a mean body into each of many. Returns a status. */
int64_t subjects_shape_bones(Call *call, const ossify_poses *poses, ossify_rig *rig,
                             const ossify_shaping *shaping);
/* Pose bones and shape bones in one tree. Returns a status. */
int64_t subjects_merge(Call *call, const ossify_poses *poses, ossify_rig *rig, const ossify_merging *merging,
                       const ossify_merged *merged);
/* Joints of bodies whose joints are known, put into others. Returns a status. */
int64_t subjects_place_joints(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                              const ossify_bodies *bodies, const ossify_placed *placed);

#endif
