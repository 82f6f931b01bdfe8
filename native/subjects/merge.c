/* merge.c - pose bones and shape bones in one tree (Hasler et al. 2010, section 3.6).
 *
 * Which shape bones there are and where they hang is chosen by the weights of both skeletons: leaves.c, or the paper's
 * own tree, spanned.c. As the paper says that is a gross simplification, so transforms of the shape bones within each subject
 * (hung.c), weights and, unless it is fixed, the mean body (shares.c) are then solved again, in turns. The motion of the
 * pose bones stays as given: free ones swallow shape, and would no longer be what an animator turns.
 *
 * All is solved in the size of the mean body, large and small alike. The rest of every subject is one more frame. */
#include <string.h>

#include "subjects/align.h"
#include "subjects/grafts.h"
#include "subjects/hung.h"
#include "subjects/merging.h"
#include "subjects/rounds.h"
#include "subjects/subjects.h"

typedef struct Merge {
    Call *call;
    const ossify_poses *poses;
    const ossify_merging *merging;
    Grafts grafts;
    People people;
    Rounds rounds;
    Hung hung;
    double *joint; /* [pose_bones][3] in the mean body */
} Merge;

/* The frames of all, then the rest of each. */
static int make_people(Merge *merge) {
    Arena *arena = &merge->call->arena;
    const ossify_merging *merging = merge->merging;
    ossify_poses poses = *merge->poses;
    const size_t numbers = 3 * (size_t)poses.vertex_count, frames = (size_t)poses.frame_count;
    const size_t subjects = (size_t)merging->subject_count;
    float *x = arena_take(arena, numbers * (frames + subjects), sizeof *x);
    const PeopleBodies bodies = {1, poses.rest, NULL};
    if (x == NULL) {
        return 0;
    }
    memcpy(x, poses.frames, numbers * frames * sizeof *x);
    memcpy(x + numbers * frames, merging->subject_rest, numbers * subjects * sizeof *x);
    poses.frames = x;
    poses.frame_count = (int64_t)(frames + subjects);
    return people_make(merge->call, &poses, &bodies, (int)merge->call->settings->influences,
                       &merge->people) &&
           people_take_bones(&merge->people, merge->grafts.bones);
}

static int most_frames(const Merge *merge) {
    int most = 0;
    for (int s = 0; s < merge->hung.subjects; s++) {
        const int count = merge->hung.first[s + 1] - merge->hung.first[s];
        most = count > most ? count : most;
    }
    return most;
}

/* Whose frames are which. */
static int list_frames(Merge *merge) {
    Arena *arena = &merge->call->arena;
    const int subjects = (int)merge->merging->subject_count, frames = (int)merge->poses->frame_count;
    int *first = arena_take(arena, (size_t)subjects + 1, sizeof *first);
    int *frame = arena_take(arena, (size_t)(frames + subjects), sizeof *frame);
    if (arena->failed) {
        return 0;
    }
    int count = 0;
    for (int s = 0; s < subjects; s++) {
        first[s] = count;
        for (int f = 0; f < frames; f++) {
            if (merge->merging->subject[f] == s) {
                frame[count++] = f;
            }
        }
        frame[count++] = frames + s;
    }
    first[subjects] = count;
    merge->hung.first = first;
    merge->hung.frame = frame;
    return 1;
}

/* M [3][4] of the caller, from a point at `from` to one at `to`, in units: R, (R from + t - to) unit */
static void inside(const double *m, const double *from, const double *to, double unit, double *out) {
    for (int a = 0; a < 3; a++) {
        const double *row = m + 4 * a;
        memcpy(out + 4 * a, row, 3 * sizeof *row);
        out[4 * a + 3] = (row[0] * from[0] + row[1] * from[1] + row[2] * from[2] + row[3] - to[a]) * unit;
    }
}

static void read_motion(const Merge *merge, double *motion) {
    static const double STILL[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    const People *people = &merge->people;
    const int pose = (int)merge->merging->pose_bones, frames = (int)merge->poses->frame_count;
    for (int f = 0; f < people->frames; f++) {
        for (int b = 0; b < pose; b++) {
            const size_t at = 12 * ((size_t)f * (size_t)pose + (size_t)b);
            inside(f < frames ? merge->merging->pose_transforms + at : STILL, people->centre,
                   people->frame_centre + 3 * f, people->unit[0], motion + at);
        }
    }
}

/* Joints of the mean body are where those of all are, each seen from there; a pose bone of a subject goes from the
 * one to the other without turning but as the body as a whole does. */
static void place_pose_bones(const Merge *merge) {
    const ossify_merging *merging = merge->merging;
    const int vertices = merge->people.vertices, bones = (int)merging->pose_bones;
    const double *mean = merge->people.given, *centre = merge->people.centre, unit = merge->people.unit[0];
    memset(merge->joint, 0, 3 * (size_t)bones * sizeof(double));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t s = 0; s < merging->subject_count; s++) {
            double m[12];
            align_onto(mean, merging->subject_rest + 3 * s * vertices, vertices,
                       m); /* from units of the mean */
            for (int b = 0; b < bones; b++) {
                const double *j = merging->pose_joints + 3 * (s * bones + b);
                double *to = merge->joint + 3 * b;
                double *grown =
                    merge->hung.grown + 12 * ((size_t)s * (size_t)merge->people.bones + (size_t)b);
                for (int a = 0; a < 3; a++) {
                    if (pass == 0) {
                        const double d[3] = {j[0] - m[3], j[1] - m[7], j[2] - m[11]};
                        to[a] += (m[a] * d[0] + m[4 + a] * d[1] + m[8 + a] * d[2]) * unit /
                                 (double)merging->subject_count;
                    } else {
                        memcpy(grown + 4 * a, m + 4 * a, 3 * sizeof *m);
                        grown[4 * a + 3] = (j[a] - centre[a]) * unit - m[4 * a] * to[0] -
                                           m[4 * a + 1] * to[1] - m[4 * a + 2] * to[2];
                    }
                }
            }
        }
    }
}

static int make_hung(Merge *merge) {
    Arena *arena = &merge->call->arena;
    People *people = &merge->people;
    const ossify_merging *merging = merge->merging;
    const int workers = parallel_workers(merge->call->pool);
    const size_t pose = (size_t)merging->pose_bones, bones = (size_t)people->bones;
    int *carrier = arena_take(arena, bones, sizeof *carrier);
    double *motion = arena_take(arena, 12 * (size_t)people->frames * pose, sizeof *motion);
    merge->joint = arena_take(arena, 3 * pose, sizeof(double));
    merge->hung =
        (Hung){.people = people,
               .subjects = (int)merging->subject_count,
               .pose_bones = (int)pose,
               .carrier = carrier,
               .motion = motion,
               .grown = arena_take(arena, 12 * bones * (size_t)merging->subject_count, sizeof(double)),
               .room = arena_take(arena, (size_t)workers, sizeof(double *))};
    if (arena->failed || !list_frames(merge)) {
        return 0;
    }
    const size_t most = 3 * (size_t)people->vertices * (size_t)most_frames(merge);
    for (int i = 0; i < workers; i++) {
        merge->hung.room[i] = arena_take(arena, most, sizeof(double));
    }
    for (size_t b = 0; b < bones; b++) {
        carrier[b] = merge->grafts.carrier[b];
    }
    read_motion(merge, motion);
    place_pose_bones(merge);
    return !arena->failed;
}

static int choose(Merge *merge) {
    Arena *arena = &merge->call->arena;
    const int leaves = merge->merging->tree == OSSIFY_MERGE_LEAVES;
    merge->grafts = (Grafts){.merging = merge->merging,
                             .vertices = (int)merge->poses->vertex_count,
                             .parent = arena_take(arena, OSSIFY_MAX_BONES, sizeof(int32_t)),
                             .carrier = arena_take(arena, OSSIFY_MAX_BONES, sizeof(int32_t))};
    if (arena->failed) {
        return 0;
    }
    for (int b = 0; b < merge->merging->pose_bones; b++) {
        merge->grafts.parent[b] = merge->merging->pose_parents[b];
        merge->grafts.carrier[b] = b;
    }
    return leaves ? leaves_choose(merge->call, &merge->grafts) : spanned_choose(merge->call, &merge->grafts);
}

/* Amid what the bone moves, in units of the mean. */
static void middle_of(const People *people, int b, double middle[3]) {
    double sum = 0;
    memset(middle, 0, 3 * sizeof *middle);
    for (int i = people->first[b]; i < people->first[b + 1]; i++) {
        sum += people->share[i];
        for (int a = 0; a < 3; a++) {
            middle[a] += people->share[i] * people->rest[3 * people->member[i] + a];
        }
    }
    for (int a = 0; a < 3 && sum > 0; a++) {
        middle[a] /= sum;
    }
}

static void write_joints(const Merge *merge, double *joints) {
    const People *people = &merge->people;
    const int pose = (int)merge->merging->pose_bones;
    for (int b = 0; b < people->bones; b++) {
        double middle[3];
        if (b < pose) {
            memcpy(middle, merge->joint + 3 * b, sizeof middle);
        } else if (people->first[b + 1] > people->first[b]) {
            middle_of(people, b, middle);
        } else { /* it moves nothing: with whom it goes */
            memcpy(middle, merge->joint + 3 * merge->hung.carrier[b], sizeof middle);
        }
        for (int a = 0; a < 3; a++) {
            joints[3 * b + a] = people->centre[a] + middle[a] / people->unit[0];
        }
    }
}

static void write_shapes(const Merge *merge, int64_t capacity, double *shapes) {
    const People *people = &merge->people;
    const double *c = people->centre, unit = people->unit[0];
    for (int s = 0; s < merge->hung.subjects; s++) {
        for (int b = 0; b < people->bones; b++) {
            const double *grown = merge->hung.grown + 12 * ((size_t)s * (size_t)people->bones + (size_t)b);
            double *out = shapes + 12 * (s * capacity + b);
            for (int a = 0; a < 3; a++) { /* q = c + (R (p - c) u + t) / u */
                const double *row = grown + 4 * a;
                memcpy(out + 4 * a, row, 3 * sizeof *row);
                out[4 * a + 3] = c[a] + row[3] / unit - row[0] * c[0] - row[1] * c[1] - row[2] * c[2];
            }
        }
    }
}

static void write_merged(const Merge *merge, const ossify_rig *rig, const ossify_merged *merged) {
    for (int b = 0; b < merge->people.bones; b++) {
        merged->parents[b] = merge->grafts.parent[b];
        merged->carriers[b] = merge->grafts.carrier[b];
    }
    write_joints(merge, merged->joints);
    write_shapes(merge, rig->bone_capacity, merged->shapes);
}

static void write_rig(const Merge *merge, ossify_rig *rig) {
    rig->bones = merge->people.bones;
    people_write_transforms(&merge->people, (int)merge->poses->frame_count, rig);
    people_write_weights(&merge->people, rig);
    if (merge->rounds.hold >= 0) {
        people_write_rests(&merge->people, rig->rest);
    } else {
        memcpy(rig->rest, merge->poses->rest, 3 * (size_t)merge->poses->vertex_count * sizeof(float));
    }
}

int64_t subjects_merge(Call *call, const ossify_poses *poses, ossify_rig *rig, const ossify_merging *merging,
                       const ossify_merged *merged) {
    Merge merge = {.call = call, .poses = poses, .merging = merging};
    call_stage(call, OSSIFY_STAGE_START);
    if (merging_is_bad(call->info, poses, merging)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    if (!choose(&merge) || !make_people(&merge) || !make_hung(&merge) ||
        !rounds_take(&merge.people, &merge.rounds)) {
        return call_ended(call);
    }
    if (merging->tree == OSSIFY_MERGE_LEAVES) {
        leaves_share(&merge.grafts, &merge.people);
    } else {
        spanned_share(&merge.grafts, &merge.people);
    }
    merge.rounds.turn = hung_update;
    merge.rounds.user = &merge.hung;
    call_stage(call, OSSIFY_STAGE_REFINE);
    if (!rounds_descend(&merge.rounds)) {
        return call_ended(call);
    }
    write_rig(&merge, rig);
    call->written = 1; /* the tree goes out with the rig, or not at all */
    write_merged(&merge, rig, merged);
    return merge.rounds.left_over ? OSSIFY_OUT_OF_ITERATIONS : OSSIFY_CONVERGED;
}
