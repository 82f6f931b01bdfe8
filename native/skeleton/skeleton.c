/* skeleton.c - bones that float to a tree with joints and a root.
 *
 * Edges: the maximal spanning tree over how much speaks for a joint between two bones (joint.c), which
 * brings Schaefer & Yuksel's overlap of weights (2007, section 5.1) and Hasler et al.'s joint stability
 * (2010, section 3.3) together; settings.connect asks for one of them alone, as the papers have it. Demanded
 * edges come first, forbidden ones never. With a plane of symmetry an edge counts as much as its mirror image, and
 * joints are mirrored exactly.
 *
 * Root: Schaefer takes the bone at the centre of mass, Hasler the centre of the graph. Both miss on
 * creatures whose limbs differ; what an animator calls the root is what turns least in space, and by itself
 * (sway.c):
 *     argmin over b of rms |R_b - I| sqrt(1 + longest path from b) sway_b^(1/4),
 * the first not below a hundredth of the largest: of bones that do not turn, the one in the middle is the root.
 * A bone with a mirror image on the other side is a root only when all of a tree have one.
 *
 * Where several bones meet in a point any of them can join any other. Seen from the root, the one whose other
 * joints are elsewhere is the parent; the papers have no such rule, and their trees stay as they are. */
#include "skeleton/skeleton.h"

#include <math.h>
#include <string.h>

#include "core/sentence.h"
#include "skeleton/joint.h"
#include "skeleton/paths.h"
#include "skeleton/sway.h"
#include "skeleton/symmetry.h"

static const double DEMANDED = 1e6, FORBIDDEN = -1e6; /* scores beyond any that is measured */

static const double NO_LENGTH = 0.005;   /* diagonals: joints nearer to each other are one */
static const double AS_WELL = 5e-4;      /* diagonals: drift that any joint may have */
static const double STILL = 1e-3;        /* rms |R - I|: what turns less does not turn, */
static const double STILL_BESIDE = 0.01; /* nor what turns by less of what turns most */

typedef struct Growth {
    Call *call;
    Body body;
    ossify_skeleton *skeleton;
    Symmetry symmetry;
    int symmetric;
    double *score; /* [bones][bones] */
    double *sway;  /* [bones] */
    double *best;  /* [bones] score of the edge that would join the bone to the tree */
    int *link;     /* [bones] the other end of the edge that joined it, -1: the first of its tree */
    int *parent;   /* [bones] */
    int *queue;    /* [bones] */
    int *far[3];   /* [bones] edges from one end of the tree, from the other, from anywhere */
    int trees;
} Growth;

static int grow_take(Growth *growth) {
    Arena *arena = &growth->call->arena;
    const size_t n = (size_t)growth->body.bones;
    growth->score = arena_take(arena, n * n, sizeof(double));
    growth->sway = arena_take(arena, n, sizeof(double));
    growth->best = arena_take(arena, n, sizeof(double));
    growth->link = arena_take(arena, n, sizeof(int));
    growth->parent = arena_take(arena, n, sizeof(int));
    growth->queue = arena_take(arena, n, sizeof(int));
    for (int i = 0; i < 3; i++) {
        growth->far[i] = arena_take(arena, n, sizeof(int));
    }
    return !arena->failed;
}

static double *score_of(const Growth *growth, int b, int c) {
    return growth->score + (size_t)b * (size_t)growth->body.bones + (size_t)c;
}

/* Two bones whose surfaces do not touch are joined only for want of better, and never in a forest. */
static double measured_score(const Growth *growth, int b, int c) {
    Joint joint;
    joint_between(&growth->body, b, c, &joint);
    return growth->skeleton->forest && !(joint.share > 0)
               ? FORBIDDEN
               : joint_score(&joint, growth->call->settings->connect);
}

/* 0 when the call must end. Without faces there are no ways, and bones of one shell are asked as before. */
static int measure_traffic(Growth *growth, const ossify_poses *poses) {
    Body *body = &growth->body;
    Paths paths;
    if (poses->triangle_count == 0 || growth->call->settings->connect != OSSIFY_CONNECT_BOTH) {
        return 1;
    }
    if (!paths_measure(growth->call, poses, body->rest, body->owner, body->bones, &paths)) {
        return 0;
    }
    body->traffic = paths.traffic;
    return 1;
}

static int score_pairs(Growth *growth) {
    const int n = growth->body.bones;
    for (int b = 0; b < n; b++) {
        if (call_poll(growth->call, -1)) {
            return 0;
        }
        for (int c = 0; c < b; c++) {
            *score_of(growth, b, c) = *score_of(growth, c, b) = measured_score(growth, b, c);
        }
    }
    return 1;
}

/* An edge that may not be stays so, whatever its mirror image is worth. */
static void mirror_score(Growth *growth, int b, int c, int d, int e) {
    const double own = *score_of(growth, b, c), other = *score_of(growth, d, e);
    if (own > FORBIDDEN && other > FORBIDDEN) {
        *score_of(growth, b, c) = *score_of(growth, c, b) = 0.5 * (own + other);
        *score_of(growth, d, e) = *score_of(growth, e, d) = 0.5 * (own + other);
    }
}

static void mirror_scores(Growth *growth) {
    const int n = growth->body.bones, *mirror = growth->symmetry.mirror;
    for (int b = 0; b < n; b++) {
        for (int c = 0; c < b; c++) {
            if (mirror[b] >= 0 && mirror[c] >= 0 && mirror[b] != mirror[c]) {
                mirror_score(growth, b, c, mirror[b], mirror[c]);
            }
        }
    }
}

static void set_scores(Growth *growth, int64_t count, const int32_t *pairs, double score) {
    for (int64_t i = 0; i < count; i++) {
        *score_of(growth, pairs[2 * i], pairs[2 * i + 1]) =
            *score_of(growth, pairs[2 * i + 1], pairs[2 * i]) = score;
    }
}

/* Prim 1957; a bone that nothing may join begins a tree of its own. */
static void grow_trees(Growth *growth) {
    const int n = growth->body.bones;
    int *seen = growth->queue;
    memset(seen, 0, (size_t)n * sizeof *seen);
    for (int b = 0; b < n; b++) {
        growth->best[b] = FORBIDDEN;
        growth->link[b] = -1;
    }
    for (int step = 0; step < n; step++) {
        int next = -1;
        for (int b = 0; b < n; b++) {
            if (!seen[b] && (next < 0 || growth->best[b] > growth->best[next])) {
                next = b;
            }
        }
        seen[next] = 1;
        growth->trees += growth->link[next] < 0;
        for (int b = 0; b < n; b++) {
            if (!seen[b] && *score_of(growth, next, b) > growth->best[b]) {
                growth->best[b] = *score_of(growth, next, b);
                growth->link[b] = next;
            }
        }
    }
}

/* Breadth first over the tree of `from`: far in edges, parents on the way; returns how many bones it has
 * and leaves them in the queue, the farthest last. */
static int spread(Growth *growth, int from, int *far) {
    const int n = growth->body.bones;
    int count = 1;
    growth->queue[0] = from;
    growth->parent[from] = -1;
    far[from] = 0;
    for (int i = 0; i < count; i++) {
        const int b = growth->queue[i];
        for (int c = 0; c < n; c++) {
            if (c != growth->parent[b] && (growth->link[c] == b || growth->link[b] == c)) {
                growth->parent[c] = b;
                far[c] = far[b] + 1;
                growth->queue[count++] = c;
            }
        }
    }
    return count;
}

static int is_paired(const Growth *growth, int b) {
    return growth->symmetric && growth->symmetry.mirror[b] >= 0 && growth->symmetry.mirror[b] != b;
}

/* Mean |R - I|^2 below which bones all turn as little. */
static double stillness(const Growth *growth) {
    double most = 0;
    for (int b = 0; b < growth->body.bones; b++) {
        most = fmax(most, growth->body.turn[b]);
    }
    return fmax(STILL * STILL, STILL_BESIDE * STILL_BESIDE * most);
}

/* rms |R_b - I| sway_b^(1/4); what does not turn does not sway. */
static double restlessness(const Growth *growth, int b, double still) {
    const double turn = growth->body.turn[b];
    return sqrt(turn > still ? turn * sqrt(growth->sway[b]) : still);
}

/* The longest path from a bone ends at an end of the tree's longest path. */
static int quietest(Growth *growth, int from) {
    const int count = spread(growth, from, growth->far[2]);
    const int end = growth->queue[count - 1];
    spread(growth, end, growth->far[0]);
    spread(growth, growth->queue[count - 1], growth->far[1]);
    const double still = stillness(growth);
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < count; i++) {
        const int b = growth->queue[i];
        const int longest = growth->far[0][b] > growth->far[1][b] ? growth->far[0][b] : growth->far[1][b];
        const double turns = restlessness(growth, b, still) * sqrt(1.0 + longest);
        const int unpairs = best < 0 ? 1 : is_paired(growth, best) - is_paired(growth, b);
        if (unpairs > 0 || (!unpairs && (turns < least || (turns == least && b < best)))) {
            least = turns;
            best = b;
        }
    }
    return best;
}

static int has_bone(const int *bones, int count, int b) {
    for (int i = 0; i < count; i++) {
        if (bones[i] == b) {
            return 1;
        }
    }
    return 0;
}

/* Hangs every tree by its root; returns the root of the largest. */
static int hang_trees(Growth *growth) {
    const int n = growth->body.bones, asked = (int)growth->skeleton->root;
    int largest = 0, root = 0;
    for (int b = 0; b < n; b++) {
        if (growth->link[b] >= 0) {
            continue; /* every tree has one bone that was its first */
        }
        int top = quietest(growth, b);
        const int count = spread(growth, top, growth->far[2]);
        if (asked >= 0 && has_bone(growth->queue, count, asked)) {
            top = asked;
            spread(growth, top, growth->far[2]);
        }
        if (count > largest) {
            largest = count;
            root = top;
        }
    }
    return asked >= 0 ? asked : root;
}

/* Whether b meets its grandparent where its parent does, as well as it meets the parent. */
static int is_sibling(const Growth *growth, int b) {
    const int parent = growth->parent[b], above = parent < 0 ? -1 : growth->parent[parent];
    if (above < 0 || *score_of(growth, b, parent) >= DEMANDED || *score_of(growth, b, above) <= FORBIDDEN) {
        return 0;
    }
    Joint own, upper, other;
    double x[3], y[3], square = 0;
    joint_between(&growth->body, b, parent, &own);
    joint_between(&growth->body, parent, above, &upper);
    joint_between(&growth->body, b, above, &other);
    joint_place(&own, x);
    joint_place(&upper, y);
    for (int a = 0; a < 3; a++) {
        square += (x[a] - y[a]) * (x[a] - y[a]);
    }
    return square < NO_LENGTH * NO_LENGTH &&
           joint_drift(&other, x) < fmax(AS_WELL * AS_WELL, 2 * joint_drift(&own, x));
}

/* A bone has a length: what hangs from where its parent itself hangs is the parent's sibling, although the
 * spanning tree cannot tell which of the bones that meet in a point it joins. */
static void hang_siblings(Growth *growth) {
    for (int changed = 1; changed;) { /* every change brings a bone nearer to its root */
        changed = 0;
        for (int b = 0; b < growth->body.bones; b++) {
            if (is_sibling(growth, b)) {
                growth->parent[b] = growth->parent[growth->parent[b]];
                changed = 1;
            }
        }
    }
}

static void place_joints(const Growth *growth, double *x) {
    for (int b = 0; b < growth->body.bones; b++) {
        if (growth->parent[b] < 0) {
            memcpy(x + 3 * b, growth->body.centre + 3 * b, 3 * sizeof *x);
        } else {
            Joint joint;
            joint_between(&growth->body, b, growth->parent[b], &joint);
            joint_place(&joint, x + 3 * b);
        }
    }
}

static void write_joint(const Growth *growth, int b, const double x[3]) {
    ossify_skeleton *to = growth->skeleton;
    const Body *body = &growth->body;
    to->parents[b] = growth->parent[b];
    to->mirrors[b] = growth->symmetric ? growth->symmetry.mirror[b] : -1;
    to->joint_kinds[b] = OSSIFY_JOINT_ROOT;
    to->angles[b] = to->drifts[b] = 0;
    memset(to->axes + 3 * b, 0, 3 * sizeof *to->axes);
    for (int a = 0; a < 3; a++) {
        to->joints[3 * b + a] = body->origin[a] + body->unit * x[a];
    }
    if (growth->parent[b] >= 0) {
        Joint joint;
        joint_between(body, b, growth->parent[b], &joint);
        to->joint_kinds[b] = joint_kind(&joint, x, to->axes + 3 * b, &to->angles[b]);
        to->drifts[b] = 100 * sqrt(joint_drift(&joint, x));
    }
}

static int mirrors_none(const Growth *growth) {
    for (int b = 0; b < growth->body.bones && growth->symmetric; b++) {
        if (growth->symmetry.mirror[b] >= 0) {
            return 0;
        }
    }
    return growth->symmetric;
}

static void write_skeleton(Growth *growth, int root, const double *x) {
    ossify_skeleton *skeleton = growth->skeleton;
    for (int b = 0; b < growth->body.bones; b++) {
        write_joint(growth, b, x + 3 * b);
    }
    skeleton->root = root;
    if (growth->symmetric) {
        const double *n = growth->symmetry.plane, *o = growth->body.origin;
        memcpy(skeleton->plane, n, 3 * sizeof *n);
        skeleton->plane[3] = growth->body.unit * n[3] + n[0] * o[0] + n[1] * o[1] + n[2] * o[2];
    } else {
        skeleton->symmetry = OSSIFY_SYMMETRY_NONE;
        memset(skeleton->plane, 0, sizeof skeleton->plane);
    }
    if (skeleton->symmetry == OSSIFY_SYMMETRY_GIVEN && mirrors_none(growth)) {
        sentence_refuse(growth->call->info, OSSIFY_CONVERGED,
                        "skeleton.plane mirrors no bone onto another or itself: no bone has a mirror image");
    }
    if (growth->trees > 1 && !skeleton->forest) {
        sentence_refuse(growth->call->info, OSSIFY_CONVERGED, "the forbidden edges leave %d trees",
                        growth->trees);
    }
}

/* < 0 when the call must end. */
static int find_symmetry(Growth *growth) {
    const ossify_skeleton *skeleton = growth->skeleton;
    const Body *body = &growth->body;
    if (skeleton->symmetry == OSSIFY_SYMMETRY_NONE) {
        return 0;
    }
    if (skeleton->symmetry == OSSIFY_SYMMETRY_GIVEN) {
        const double *n = skeleton->plane, *o = body->origin;
        memcpy(growth->symmetry.plane, n, 3 * sizeof *n);
        growth->symmetry.plane[3] = (n[3] - n[0] * o[0] - n[1] * o[1] - n[2] * o[2]) / body->unit;
    }
    return symmetry_find(growth->call, body, skeleton->symmetry == OSSIFY_SYMMETRY_GIVEN, &growth->symmetry);
}

int64_t skeleton_connect(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                         ossify_skeleton *skeleton) {
    Growth growth = {.call = call, .skeleton = skeleton};
    if (!body_make(call, poses, rig, &growth.body) || !grow_take(&growth)) {
        return call_ended(call);
    }
    double *x = arena_take(&call->arena, 3 * (size_t)growth.body.bones, sizeof *x);
    growth.symmetric = find_symmetry(&growth);
    if (!x || growth.symmetric < 0 || !sway_measure(call, rig, growth.body.frames, growth.sway) ||
        !measure_traffic(&growth, poses) || !score_pairs(&growth)) {
        return call_ended(call);
    }
    if (growth.symmetric) {
        mirror_scores(&growth);
    }
    set_scores(&growth, skeleton->forbidden_count, skeleton->forbidden, FORBIDDEN);
    set_scores(&growth, skeleton->demanded_count, skeleton->demanded, DEMANDED);
    grow_trees(&growth);
    const int root = hang_trees(&growth);
    if (call->settings->connect == OSSIFY_CONNECT_BOTH) {
        hang_siblings(&growth);
    }
    place_joints(&growth, x);
    if (growth.symmetric) {
        symmetry_part(growth.symmetry.mirror, growth.parent, growth.body.bones);
        symmetry_mirror_joints(growth.symmetry.plane, growth.symmetry.mirror, growth.parent,
                               growth.body.bones, x);
    }
    write_skeleton(&growth, root, x);
    return OSSIFY_CONVERGED;
}
