/* joined.c - one tree for the bones of several subjects, and the joints of each.
 *
 * What speaks for a joint between two bones is what they share and how well it holds in all subjects (Hasler et al.
 * 2010, section 3.3, here with a joint for each subject):
 *
 *     q^2 = 1/F sum_s F_s min over x of r2_s(x) + pull |x - x^_s|^2       (skeleton/joint.c for one)
 *
 * The maximal spanning tree is then demanded of skeleton/skeleton.c, which finds the root from all frames. A joint of a
 * subject is where its two bones hold it best; as far as its own motion does not say, it is where the others have it: those
 * who move it teach a regressor (regressor.c; one alone, local_frame.c), whose answer is the anchor of a second round. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/sentence.h"
#include "skeleton/joint.h"
#include "skeleton/skeleton.h"
#include "subjects/local_frame.h"
#include "subjects/regressor.h"
#include "subjects/subjects.h"

static const double TELLS = 0.1; /* of who tells most: who tells less is told */

typedef struct Joining {
    const ossify_poses *poses;
    const ossify_rig *rig;
    ossify_skeleton *skeleton; /* out */
    const int32_t *subject;    /* [f] */
    int subjects;
    float *rest;      /* [s][v][3] */
    int32_t *parents; /* [bones] out */
    double *joints;   /* [s][bone_capacity][3] out */
} Joining;

typedef struct Bodies {
    Call *call;
    Joining *joining;
    Body *body;     /* [s] */
    double *frames; /* [s] how many each has */
    double *score;  /* [bones][bones] */
    int32_t *edge;  /* [bones - 1][2] */
    double *known;  /* [s] how much its frames say of the joint at hand */
    double *anchor; /* [s][3] where the others have it */
    double *area;   /* [v] */
    Around around;
    RegressorRoom room;
} Bodies;

static int count_frames(const Joining *joining, int s) {
    int count = 0;
    for (int64_t f = 0; f < joining->poses->frame_count; f++) {
        count += joining->subject[f] == s;
    }
    return count;
}

/* The frames of a subject; one in which nothing moves where there are none. */
static double *transforms_of(Call *call, const Joining *joining, int s, int count) {
    const size_t bones = (size_t)joining->rig->bones, wide = 12 * (size_t)joining->rig->bone_capacity;
    double *own = arena_take(&call->arena, 12 * bones * (size_t)(count > 0 ? count : 1), sizeof *own);
    double *to = own;
    if (own == NULL) {
        return NULL;
    }
    for (size_t f = 0; f < (size_t)joining->poses->frame_count; f++) {
        if (joining->subject[f] == s) {
            memcpy(to, joining->rig->transforms + f * wide, 12 * bones * sizeof *to);
            to += 12 * bones;
        }
    }
    for (size_t b = 0; b < bones && count == 0; b++) {
        own[12 * b] = own[12 * b + 5] = own[12 * b + 10] = 1;
    }
    return own;
}

static int make_body(Bodies *bodies, int s) {
    const Joining *joining = bodies->joining;
    ossify_poses poses = *joining->poses;
    ossify_rig *rig = arena_take(&bodies->call->arena, 1, sizeof *rig); /* which the body points to */
    const int count = count_frames(joining, s);
    double *own = transforms_of(bodies->call, joining, s, count);
    if (rig == NULL || own == NULL) {
        return 0;
    }
    *rig = *joining->rig;
    rig->bone_capacity = rig->bones;
    rig->rest = joining->rest + 3 * (int64_t)s * poses.vertex_count;
    rig->transforms = own;
    poses.frame_count = count > 0 ? count : 1;
    bodies->frames[s] = count;
    return body_make(bodies->call, &poses, rig, &bodies->body[s]);
}

static int make_bodies(Bodies *bodies) {
    Arena *arena = &bodies->call->arena;
    const Joining *joining = bodies->joining;
    const size_t n = (size_t)joining->rig->bones, s = (size_t)joining->subjects;
    const int64_t vertices = joining->poses->vertex_count;
    bodies->body = arena_take(arena, s, sizeof(Body));
    bodies->frames = arena_take(arena, s, sizeof(double));
    bodies->score = arena_take(arena, n * n, sizeof(double));
    bodies->edge = arena_take(arena, 2 * n, sizeof(int32_t));
    bodies->known = arena_take(arena, s, sizeof(double));
    bodies->anchor = arena_take(arena, 3 * s, sizeof(double));
    bodies->area = arena_take(arena, (size_t)vertices, sizeof(double));
    around_take(arena, vertices, joining->subjects, bodies->area, &bodies->around);
    if (!regressor_take(arena, vertices, &bodies->room)) {
        return 0;
    }
    around_areas(joining->poses, joining->rest, bodies->area);
    for (int i = 0; i < joining->subjects; i++) {
        if (call_poll(bodies->call, -1) || !make_body(bodies, i)) {
            return 0;
        }
    }
    return 1;
}

static double score(const Bodies *bodies, int b, int c) {
    double strain = 0, share = 0, all = 0;
    for (int s = 0; s < bodies->joining->subjects; s++) {
        Joint joint;
        joint_between(&bodies->body[s], b, c, &joint);
        strain += bodies->frames[s] * joint_strain(&joint);
        share += bodies->frames[s] * joint.share;
        all += bodies->frames[s];
    }
    return joint_rate(strain / all, share / all);
}

/* Prim 1957; the edges are demanded of whoever hangs the tree. */
static int span(Bodies *bodies) {
    const int n = (int)bodies->joining->rig->bones;
    double *best = arena_take(&bodies->call->arena, (size_t)n, sizeof *best);
    int *link = arena_take(&bodies->call->arena, (size_t)n, sizeof *link);
    if (link == NULL || best == NULL) {
        return 0;
    }
    for (int b = 1; b < n; b++) {
        best[b] = bodies->score[b];
    }
    for (int step = 0; step + 1 < n; step++) {
        int next = -1;
        for (int b = 1; b < n; b++) {
            if (link[b] >= 0 && (next < 0 || best[b] > best[next])) {
                next = b;
            }
        }
        bodies->edge[2 * step] = link[next];
        bodies->edge[2 * step + 1] = next;
        link[next] = -1; /* it is in the tree */
        for (int b = 1; b < n; b++) {
            if (link[b] >= 0 && bodies->score[next * n + b] > best[b]) {
                best[b] = bodies->score[next * n + b];
                link[b] = next;
            }
        }
    }
    return 1;
}

/* What is demanded comes first and what is forbidden last. */
static void heed(Bodies *bodies) {
    const ossify_skeleton *skeleton = bodies->joining->skeleton;
    const int64_t n = bodies->joining->rig->bones;
    for (int64_t i = 0; i < skeleton->demanded_count + skeleton->forbidden_count; i++) {
        const int demanded = i < skeleton->demanded_count;
        const int32_t *pair =
            demanded ? skeleton->demanded + 2 * i : skeleton->forbidden + 2 * (i - skeleton->demanded_count);
        bodies->score[pair[0] * n + pair[1]] = bodies->score[pair[1] * n + pair[0]] =
            demanded ? INFINITY : -1;
    }
}

static int score_all(Bodies *bodies) {
    const int n = (int)bodies->joining->rig->bones;
    for (int b = 0; b < n; b++) {
        if (call_poll(bodies->call, -1)) {
            return 0;
        }
        for (int c = 0; c < b; c++) {
            bodies->score[b * n + c] = bodies->score[c * n + b] = score(bodies, b, c);
        }
    }
    heed(bodies);
    return span(bodies);
}

/* Root, parents and what joints are like, from all frames. */
static int64_t hang(Bodies *bodies) {
    Joining *joining = bodies->joining;
    ossify_rig rig = *joining->rig;
    ossify_poses poses = *joining->poses;
    ossify_skeleton skeleton = *joining->skeleton;
    rig.rest = joining->rest; /* that of the first */
    poses.subject_count = 0;
    skeleton.demanded_count = joining->rig->bones - 1;
    skeleton.demanded = bodies->edge;
    skeleton.forbidden_count = 0;
    skeleton.joints = arena_take(&bodies->call->arena, 3 * (size_t)rig.bones, sizeof(double));
    if (skeleton.joints == NULL) {
        return OSSIFY_OUT_OF_MEMORY;
    }
    const int64_t status = skeleton_connect(bodies->call, &poses, &rig, &skeleton);
    if (status >= 0) {
        joining->skeleton->root = skeleton.root;
        joining->skeleton->symmetry = skeleton.symmetry;
        memcpy(joining->skeleton->plane, skeleton.plane, sizeof skeleton.plane);
    }
    return status;
}

static double *joint_of(const Joining *joining, int s, int b) {
    return joining->joints + 3 * ((int64_t)s * joining->skeleton->bone_capacity + b);
}

/* `anchor`: where the joint should be, in the caller's coordinates; NULL: amid what both bones move. */
static void place(const Bodies *bodies, int s, int b, const double *anchor, double *joint) {
    const Body *body = &bodies->body[s];
    const int parent = bodies->joining->parents[b];
    double x[3];
    Joint held;
    if (parent >= 0) {
        joint_between(body, b, parent, &held);
        for (int a = 0; a < 3 && anchor != NULL; a++) {
            held.anchor[a] = (anchor[a] - body->origin[a]) / body->unit;
        }
        joint_place(&held, x);
    } else {
        memcpy(x, body->centre + 3 * b, sizeof x);
    }
    for (int a = 0; a < 3; a++) {
        joint[a] = body->origin[a] + body->unit * x[a];
    }
}

/* F |R_b - R_parent|^2: how much the frames of a subject say of the joint. */
static double told(const Bodies *bodies, int s, int b) {
    Joint joint;
    joint_between(&bodies->body[s], b, bodies->joining->parents[b], &joint);
    return bodies->frames[s] * (joint.drift[0] + joint.drift[5] + joint.drift[10]);
}

/* The subjects whose own motion says where the joint is, to learn from. */
static void gather_known(Bodies *bodies, int b) {
    const Joining *joining = bodies->joining;
    Around *around = &bodies->around;
    double most = 0;
    for (int s = 0; s < joining->subjects; s++) {
        bodies->known[s] = told(bodies, s, b);
        most = fmax(most, bodies->known[s]);
    }
    around->bodies = 0;
    for (int s = 0; s < joining->subjects; s++) {
        if (bodies->known[s] >= TELLS * most) {
            const float *rest = joining->rest + 3 * (int64_t)s * around->vertices;
            around->rest[around->bodies] = rest;
            around->unit[around->bodies] = around_unit(rest, around->vertices);
            around->joints[around->bodies++] = joint_of(joining, s, b);
        }
    }
    around_follow(joining->rig, b, joining->parents[b], around);
}

/* Where the others have the joint of a subject. */
static void anchor_of(const Bodies *bodies, const Regressor *regressor, int s, double anchor[3]) {
    const Around *around = &bodies->around;
    const float *rest = bodies->joining->rest + 3 * (int64_t)s * around->vertices;
    if (around->bodies > 1) {
        regressor_place(regressor, rest, anchor);
    } else {
        local_frame_place(around, rest, around_unit(rest, around->vertices), anchor);
    }
}

static void learn_joint(Bodies *bodies, int b) {
    const Joining *joining = bodies->joining;
    Regressor regressor = {0};
    gather_known(bodies, b);
    if (bodies->around.bodies > 1) {
        regressor_learn(&bodies->around, &bodies->room, &regressor);
    }
    for (int s = 0; s < joining->subjects; s++) {
        anchor_of(bodies, &regressor, s, bodies->anchor + 3 * s);
    }
    for (int s = 0; s < joining->subjects; s++) {
        place(bodies, s, b, bodies->anchor + 3 * s, joint_of(joining, s, b));
    }
}

static void place_joints(Bodies *bodies) {
    const Joining *joining = bodies->joining;
    for (int b = 0; b < joining->rig->bones && !call_poll(bodies->call, -1); b++) {
        for (int s = 0; s < joining->subjects; s++) {
            place(bodies, s, b, NULL, joint_of(joining, s, b));
        }
        if (joining->parents[b] >= 0 && joining->subjects > 1) {
            learn_joint(bodies, b);
        }
    }
}

int subjects_refuses_connect(const ossify_request *request, ossify_info *info) {
    if (call_rests(request->poses) > 1 && request->skeleton->forest) {
        return BAD(info, "skeleton.forest is 1: several subjects share one tree; set it to 0");
    }
    return 0;
}

int64_t subjects_connect(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                         ossify_skeleton *skeleton) {
    Joining joining = {.poses = poses,
                       .rig = rig,
                       .skeleton = skeleton,
                       .subject = poses->subject,
                       .subjects = (int)call_rests(poses),
                       .rest = rig->rest,
                       .parents = skeleton->parents,
                       .joints = skeleton->joints};
    Bodies bodies = {.call = call, .joining = &joining};
    if (!make_bodies(&bodies) || !score_all(&bodies)) {
        return call_ended(call);
    }
    const int64_t status = hang(&bodies);
    if (status < 0) {
        return status;
    }
    place_joints(&bodies);
    return atomic_load(&call->cancelled) ? OSSIFY_CANCELLED : OSSIFY_CONVERGED;
}
