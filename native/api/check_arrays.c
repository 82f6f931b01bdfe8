/* check_arrays.c - looks at every number of the arrays that a verb reads (verb.h), and names the first one at fault. */
#include "api/check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/problem.h"

/* How large frames and transforms may be, by the size of the rest pose: poses.rest, else the rig's, else a frame. */
double check_arrays_reach(const ossify_request *request, int reads, double sizes) {
    const ossify_poses *poses = request->poses;
    const int has_rig = reads & READS_RIG || (reads & READS_GIVEN && request->rig->given);
    const float *rest = poses->rest;
    if (!(reads & READS_SETTINGS)) { /* what is only measured may be of any size */
        return (double)LARGEST;
    }
    if (!(reads & READS_REST) || rest == NULL) {
        rest = has_rig ? request->rig->rest
                       : poses->frames + 3 * poses->vertex_count * problem_middle_frame(poses);
    }
    const double size = scan_size(rest, poses->vertex_count);
    return size > 0 ? fmin(sizes * size, (double)LARGEST) : (double)LARGEST;
}

static int bad_frames(Call *call, int reads, const ossify_request *request) {
    const ossify_poses *poses = request->poses;
    const int64_t frame = 3 * poses->vertex_count;
    const double reach = check_arrays_reach(request, reads, FARTHEST);
    const int64_t i = scan_positions(call, poses->frames, frame * poses->frame_count, (float)reach);
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    const double x = (double)poses->frames[i];
    if (fabs(x) <= (double)LARGEST) {
        return BAD(call->info,
                   "frames[%" PRId64 "][%" PRId64 "][%" PRId64
                   "] is %s, but the rest pose is only %g across: take both from the same mesh, in the same "
                   "unit; frames must be within %g times its size",
                   i / frame, i % frame / 3, i % 3, sentence_number(x).letters, reach / FARTHEST, FARTHEST);
    }
    return BAD(call->info,
               "frames[%" PRId64 "][%" PRId64 "][%" PRId64
               "] is %s: every position must be finite and within "
               "%g; repair the cache or leave that frame out",
               i / frame, i % frame / 3, i % 3, sentence_number(x).letters, (double)LARGEST);
}

/* Of one body, or of every subject. */
static int bad_positions(Call *call, const char *name, const float *rest, const ossify_poses *poses) {
    const int64_t vertices = poses->vertex_count, rests = call_rests(poses);
    const int64_t i = rest == NULL ? -1 : scan_positions(call, rest, 3 * vertices * rests, LARGEST);
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    if (rests > 1) {
        return BAD(call->info,
                   "%s[%" PRId64 "][%" PRId64 "][%" PRId64
                   "] is %s: every position must be finite and within %g; repair the mesh of that subject",
                   name, i / 3 / vertices, i / 3 % vertices, i % 3, sentence_number((double)rest[i]).letters,
                   (double)LARGEST);
    }
    return BAD(call->info,
               "%s[%" PRId64 "][%" PRId64
               "] is %s: every position must be finite and within %g; repair the mesh",
               name, i / 3, i % 3, sentence_number((double)rest[i]).letters, (double)LARGEST);
}

static int bad_triangles(Call *call, int reads, const ossify_request *request) {
    const ossify_poses *poses = request->poses;
    const int64_t i = scan_corners(call, poses);
    (void)reads;
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    return BAD(call->info,
               "triangles[%" PRId64 "][%" PRId64 "] is %" PRId32 ": with %" PRId64 " vertices it must be "
               "0..%" PRId64 "; take triangles and frames from the same mesh",
               i / 3, i % 3, poses->triangles[i], poses->vertex_count, poses->vertex_count - 1);
}

static int bad_transforms(Call *call, int reads, const ossify_request *request) {
    const ossify_rig *rig = request->rig;
    const int64_t numbers = 12 * rig->bones;
    const double reach = check_arrays_reach(request, reads, FARTHEST_BONE);
    const int64_t found = scan_transforms(call, request->poses, rig, reach);
    const int64_t f = found / numbers, i = found % numbers;
    if (found < 0) {
        return atomic_load(&call->cancelled);
    }
    return BAD(call->info,
               "transforms[%" PRId64 "][%" PRId64 "][%" PRId64 "][%" PRId64
               "] is %s: every number of a given "
               "transform must be finite and within %g",
               f, i / 12, i % 12 / 4, i % 4,
               sentence_number(rig->transforms[f * 12 * rig->bone_capacity + i]).letters,
               i % 4 == 3 ? reach : (double)LARGEST);
}

static int bad_influence(ossify_info *info, const ossify_rig *rig, int64_t v, int64_t k) {
    const int32_t bone = rig->influence_bones[v * rig->influences + k];
    const double weight = (double)rig->influence_weights[v * rig->influences + k];
    switch (scan_influence(rig, v, k)) {
    case BONE_UNKNOWN:
        return BAD(info,
                   "influence_bones[%" PRId64 "][%" PRId64 "] is %" PRId32 ": it must be -1 (unused) or a "
                   "bone, 0..%" PRId64,
                   v, k, bone, rig->bones - 1);
    case BONE_TWICE:
        return BAD(info,
                   "influence_bones[%" PRId64 "][%" PRId64 "] is %" PRId32 ", which that vertex already "
                   "has: add the two weights and set the second bone to -1",
                   v, k, bone);
    case WEIGHT_OUT_OF_RANGE:
        return BAD(info, "influence_weights[%" PRId64 "][%" PRId64 "] is %s: a weight must be 0..1", v, k,
                   sentence_number(weight).letters);
    case WEIGHT_WITHOUT_BONE:
        return BAD(info,
                   "influence_weights[%" PRId64 "][%" PRId64 "] is %s, but its bone is -1 (unused): name "
                   "the bone or set the weight to 0",
                   v, k, sentence_number(weight).letters);
    default:
        return 0;
    }
}

static int bad_weights(Call *call, const ossify_poses *poses, const ossify_rig *rig, int only_held) {
    const int64_t v = scan_weights(call, poses, rig, only_held);
    if (v < 0) {
        return atomic_load(&call->cancelled);
    }
    for (int64_t k = 0; k < rig->influences; k++) {
        if (bad_influence(call->info, rig, v, k)) {
            return 1;
        }
    }
    return BAD(call->info,
               "influence_weights[%" PRId64 "] sum to %s: the weights of a vertex must sum to 1; "
               "normalise them",
               v, sentence_number(scan_weight_sum(rig, v)).letters);
}

static int64_t bones_of(const ossify_rig *rig, int64_t v) {
    int64_t count = 0;
    for (int64_t k = 0; k < rig->influences; k++) {
        count += rig->influence_weights[v * rig->influences + k] > 0;
    }
    return count;
}

static int bad_held_vertices(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int64_t most = call->settings->influences;
    if (rig->held_vertices == NULL) {
        return 0;
    }
    for (int64_t v = 0; v < poses->vertex_count; v++) {
        if (rig->held_vertices[v] && bones_of(rig, v) > most) {
            return BAD(call->info,
                       "held_vertices[%" PRId64 "] is set, but that vertex has %" PRId64 " bones and "
                       "settings.influences is %" PRId64 ": allow more, or do not hold it",
                       v, bones_of(rig, v), most);
        }
    }
    return 0;
}

/* Held groups of one vertex: how many, and their sum. */
static int64_t held_groups_of(const ossify_rig *rig, int64_t v, double *sum) {
    int64_t count = 0;
    *sum = 0;
    for (int64_t i = v * rig->influences; i < (v + 1) * rig->influences; i++) {
        if (rig->influence_weights[i] > 0 && rig->held_groups[rig->influence_bones[i]]) {
            count++;
            *sum += (double)rig->influence_weights[i];
        }
    }
    return count;
}

static int bad_held_groups(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    const int64_t most = call->settings->influences;
    const int all = rig->held_groups != NULL && memchr(rig->held_groups, 0, (size_t)rig->bones) == NULL;
    for (int64_t v = 0; rig->held_groups != NULL && v < poses->vertex_count; v++) {
        double sum;
        const int64_t count = held_groups_of(rig, v, &sum);
        if (rig->held_vertices != NULL && rig->held_vertices[v]) {
            continue;
        }
        if (count > most) {
            return BAD(call->info,
                       "vertex %" PRId64 " has %" PRId64 " held groups and settings.influences is %" PRId64
                       ": allow more, or hold fewer",
                       v, count, most);
        }
        if (sum > 1 + SUM_TOLERANCE) {
            return BAD(call->info,
                       "the held groups of vertex %" PRId64 " sum to %s: they must leave room, 1 at most; "
                       "normalise them",
                       v, sentence_number(sum).letters);
        }
        if ((count == most || all) && sum < 1 - SUM_TOLERANCE) {
            return BAD(call->info,
                       "the %" PRId64 " held groups of vertex %" PRId64 " sum to %s and leave no room for "
                       "another bone: allow more influences, hold fewer, or normalise them",
                       count, v, sentence_number(sum).letters);
        }
    }
    return 0;
}

static int bad_rest(Call *call, int reads, const ossify_request *request) {
    (void)reads;
    return bad_positions(call, "rest", request->poses->rest, request->poses);
}

/* What is given, or all of it. A rig that starts a solve need be right only where it is held. */
static int bad_rig(Call *call, int reads, const ossify_request *request) {
    const ossify_poses *poses = request->poses;
    const ossify_rig *rig = request->rig;
    const int solves = reads & READS_GIVEN;
    const int64_t given = solves ? rig->given : OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    return (given && bad_positions(call, "rig.rest", rig->rest, poses)) ||
           (given & OSSIFY_GIVEN_TRANSFORMS && bad_transforms(call, reads, request)) ||
           (given & OSSIFY_GIVEN_WEIGHTS && bad_weights(call, poses, rig, solves)) ||
           (solves && given & OSSIFY_GIVEN_WEIGHTS &&
            (bad_held_vertices(call, poses, rig) || bad_held_groups(call, poses, rig)));
}

static int bad_fields(Call *call, int reads, const ossify_request *request) {
    const ossify_rig *rig = request->rig;
    const int64_t field = 3 * request->poses->vertex_count;
    const int64_t i = scan_positions(call, rig->fields, rig->correctives * field, LARGEST);
    (void)reads;
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    return BAD(call->info,
               "fields[%" PRId64 "][%" PRId64 "][%" PRId64
               "] is %s: every number of a corrective must be finite and within %g; solve or sculpt it anew",
               i / field, i % field / 3, i % 3, sentence_number((double)rig->fields[i]).letters,
               (double)LARGEST);
}

static int bad_coefficients(Call *call, int reads, const ossify_request *request) {
    const ossify_rig *rig = request->rig;
    const int64_t i = scan_coefficients(call, request->poses, rig);
    (void)reads;
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    const int64_t f = i / rig->correctives, n = i % rig->correctives;
    return BAD(call->info, "coefficients[%" PRId64 "][%" PRId64 "] is %s: it must be finite and within %g", f,
               n, sentence_number(rig->coefficients[f * rig->corrective_capacity + n]).letters,
               (double)LARGEST);
}

static int bad_space(Call *call, int reads, const ossify_request *request) {
    const ossify_space *space = request->space;
    const int64_t vertices = request->poses->vertex_count;
    (void)reads;
    if (space == NULL || !space->given) {
        return 0;
    }
    const int64_t k = space->influences, b = scan_space_bones(call, request->poses, request->rig, space);
    if (b >= 0) {
        return BAD(call->info,
                   "space.bones[%" PRId64 "][%" PRId64 "] is %" PRId32
                   ": it must be -1 (unused) or a bone, 0..%" PRId64 ", and each bone once a vertex",
                   b / k, b % k, space->bones[b], request->rig->bones - 1);
    }
    const int64_t i = scan_positions(call, space->corrections, 4 * k * vertices, LARGEST);
    if (i < 0) {
        return atomic_load(&call->cancelled);
    }
    return BAD(call->info,
               "space.corrections[%" PRId64 "][%" PRId64 "][%" PRId64
               "] is %s: every number must be finite and within %g; fit them anew",
               i / (4 * k), i / 4 % k, i % 4, sentence_number((double)space->corrections[i]).letters,
               (double)LARGEST);
}

static int bad_wishes(Call *call, int reads, const ossify_request *request) {
    (void)reads;
    return check_skeleton_wishes(call, request->skeleton, request->rig->bones);
}

static int bad_tree(Call *call, int reads, const ossify_request *request) {
    (void)reads;
    return check_skeleton_tree(call->info, request->skeleton, request->rig->bones,
                               call_rests(request->poses));
}

typedef struct Reading {
    int reads; /* any of these */
    int (*bad)(Call *call, int reads, const ossify_request *request);
} Reading;

int64_t check_arrays(Call *call, const Verb *verb, const ossify_request *request) {
    static const Reading ALL[] = {
        {READS_REST, bad_rest},     {READS_TRIANGLES, bad_triangles},
        {READS_FRAMES, bad_frames}, {READS_GIVEN | READS_RIG, bad_rig},
        {READS_WISHES, bad_wishes}, {READS_TREE, bad_tree},
        {READS_FIELDS, bad_fields}, {READS_COEFFICIENTS, bad_coefficients},
        {READS_SPACE, bad_space},
    };
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
        if (verb->reads & ALL[i].reads && ALL[i].bad(call, verb->reads, request)) {
            return call->arena.failed || atomic_load(&call->cancelled) ? call_ended(call)
                                                                       : OSSIFY_BAD_ARGUMENT;
        }
    }
    return 0;
}
