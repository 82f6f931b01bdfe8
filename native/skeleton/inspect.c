/* inspect.c - what an animator sees of a skeleton that plays, and the error does not tell.
 *
 *     flight    max over frames of the distance from the posed head M_bf c_b to the nearest observed vertex that the
 *               bone is strongest on; of a bone that is strongest nowhere, to the nearest at all
 *     excess    the same less the distance in rest: a deep joint of a torso is far from the skin without flying
 *     idle      strongest on less than a thousandth of the vertices
 *     drift     rms over frames of |(M_b - M_p) c~_b|
 *     foreign   on the way to the torso there is a bone of another limb (limbs.c) that its own does not grow from,
 *               although the surface goes another way; a bone is in the limb that has most of the surface it is
 *               strongest on, if that is more than half, and if its mirror image is in one, too; a limb grows from the
 *               bone that has most of the surface beside it (a jaw from a head); what lies behind a limb on every way
 *               over the surface (ears on a head, legs at the end of a body) hangs from it by right
 *     torso     of the bones that own at least half as much in no limb as any does, and are none of a pair if one is
 *               not, the one that leaves the fewest foreign; of those the one that owns the most there
 *
 * The papers measure none of that. */
#include "skeleton/inspect.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/sentence.h"
#include "skeleton/body.h"
#include "skeleton/limbs.h"

static const double IDLE = 1e-3;   /* of the vertices */
static const double AS_MUCH = 0.5; /* of the most: a torso has so much of the body without limbs */

typedef struct Look {
    Call *call;
    const ossify_poses *poses;
    const ossify_rig *rig;
    const ossify_skeleton *skeleton;
    ossify_conduct *conduct;
    Body body;
    int *count;   /* [bones] vertices that it is strongest on */
    double *area; /* [bones] and their area, */
    double *bare; /* [bones] and that of those in no limb */
    int *limb;    /* [v] */
    int limbs;
    int *from;       /* [limb] the limb that it grows from, -1: the body */
    uint8_t *above;  /* [bones] 1: the torso at hand, or above it */
    uint8_t *beside; /* [bones][bones] 1: what the two are strongest on meets */
    uint8_t *seen;   /* [bones] on a walk over such borders */
    int *queue;      /* [bones] */
} Look;

static void count_owned(Look *look) {
    for (int v = 0; v < look->body.vertices; v++) {
        look->count[look->body.owner[v]]++;
        look->area[look->body.owner[v]] += look->body.area[v];
    }
}

static double square_to(const float *p, const double x[3]) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += ((double)p[i] - x[i]) * ((double)p[i] - x[i]);
    }
    return sum;
}

/* To the nearest of the bone's own among the points [v][3], or of all. */
static double nearest(const Look *look, int b, const float *points, const double x[3]) {
    double least = INFINITY;
    for (int64_t v = 0; v < look->poses->vertex_count; v++) {
        if (look->body.owner[v] == b || look->count[b] == 0) {
            least = fmin(least, square_to(points + 3 * v, x));
        }
    }
    return sqrt(least);
}

static void move(const double *m, const double c[3], double x[3]) {
    for (int i = 0; i < 3; i++) {
        x[i] = m[4 * i] * c[0] + m[4 * i + 1] * c[1] + m[4 * i + 2] * c[2] + m[4 * i + 3];
    }
}

static void inspect_bone(void *user, int b, int worker) {
    const Look *look = user;
    const ossify_rig *rig = look->rig;
    const double *c = look->skeleton->joints + 3 * b, percent = 100 / look->body.unit;
    const int parent = look->skeleton->parents[b];
    const int64_t vertices = look->poses->vertex_count, frames = look->poses->frame_count;
    double most = 0, square = 0;
    for (int64_t f = 0; f < frames; f++) {
        const double *m = rig->transforms + 12 * f * rig->bone_capacity;
        double own[3], other[3];
        if (worker == 0 ? call_poll(look->call, -1) : atomic_load(&look->call->cancelled)) {
            return;
        }
        move(m + 12 * b, c, own);
        move(m + 12 * (parent < 0 ? b : parent), c, other);
        most = fmax(most, nearest(look, b, look->poses->frames + 3 * f * vertices, own));
        for (int i = 0; i < 3; i++) {
            square += (own[i] - other[i]) * (own[i] - other[i]);
        }
    }
    look->conduct->flights[b] = percent * most;
    look->conduct->excesses[b] = percent * fmax(0, most - nearest(look, b, rig->rest, c));
    look->conduct->drifts[b] = percent * sqrt(square / (double)frames);
    look->conduct->shares[b] = (double)look->count[b] / (double)vertices;
    look->conduct->idle[b] = look->count[b] < IDLE * (double)vertices;
}

/* The limb that has more than half of what the bone owns. */
static int limb_of(const Look *look, int b, double *room) {
    memset(room, 0, (size_t)look->limbs * sizeof *room);
    for (int v = 0; v < look->body.vertices; v++) {
        if (look->body.owner[v] == b && look->limb[v] >= 0) {
            room[look->limb[v]] += look->body.area[v];
        }
    }
    for (int i = 0; i < look->limbs; i++) {
        if (room[i] > 0.5 * look->area[b]) {
            return i;
        }
    }
    return -1;
}

static int grows_from(const Look *look, int limb, int other) {
    for (int steps = 0; limb >= 0 && limb != other && steps < look->limbs; steps++) {
        limb = look->from[limb];
    }
    return limb == other;
}

static int is_strange(const Look *look, int a, int b) {
    const int32_t *limbs = look->conduct->limbs;
    return limbs[a] >= 0 && !grows_from(look, limbs[b], limbs[a]);
}

static void mark_above(const Look *look, int torso) {
    memset(look->above, 0, (size_t)look->rig->bones);
    for (int b = torso; b >= 0; b = look->skeleton->parents[b]) {
        look->above[b] = 1;
    }
}

/* On the way from b to the torso, whose bones above are marked, both ends apart; -1: none. */
static int stranger(const Look *look, int b, int torso) {
    const int32_t *parents = look->skeleton->parents;
    int found = -1, a = b;
    for (; a >= 0 && !look->above[a]; a = parents[a]) {
        found = found < 0 && is_strange(look, a, b) ? a : found;
    }
    for (int c = torso; a >= 0 && c != a && found < 0; c = parents[c]) {
        found = c != torso && is_strange(look, c, b) ? c : -1;
    }
    const int turning = a >= 0 && a != b && a != torso && is_strange(look, a, b);
    return found < 0 && turning ? a : found;
}

static int strangers(const Look *look, int torso) {
    int count = 0;
    mark_above(look, torso);
    for (int b = 0; b < look->rig->bones; b++) {
        count += stranger(look, b, torso) >= 0;
    }
    return count;
}

static int is_paired(const Look *look, int b) {
    return look->skeleton->mirrors[b] >= 0 && look->skeleton->mirrors[b] != b;
}

/* -1 when the call must end */
static int find_torso(const Look *look) {
    double most[2] = {0, 0};
    int torso = 0, least = INT_MAX;
    for (int b = 0; b < look->rig->bones; b++) {
        most[is_paired(look, b)] = fmax(most[is_paired(look, b)], look->bare[b]);
    }
    for (int b = 0; b < look->rig->bones; b++) {
        const int may_be = is_paired(look, b) ? most[0] <= 0 : 1;
        if (call_poll(look->call, -1)) {
            return -1;
        }
        if (may_be && look->bare[b] >= AS_MUCH * most[is_paired(look, b)]) {
            const int count = strangers(look, b);
            if (count < least || (count == least && look->bare[b] > look->bare[torso])) {
                torso = b;
                least = count;
            }
        }
    }
    return torso;
}

/* Of two limbs that are mirror images neither grows from the other. room [bones]: edges from a limb to what others
 * are strongest on. */
static int root_limb(const Look *look, const Graph *graph, int limb, int *room) {
    const int32_t *limbs = look->conduct->limbs, *mirrors = look->skeleton->mirrors;
    int most = -1;
    memset(room, 0, (size_t)look->body.bones * sizeof *room);
    for (int v = 0; v < look->body.vertices; v++) {
        for (int64_t e = graph->first[v]; e < graph->first[v + 1] && look->limb[v] == limb; e++) {
            const int w = graph->neighbour[e], b = look->body.owner[w];
            if (look->limb[w] != limb && limbs[b] != limb) {
                room[b]++;
                most = most < 0 || room[b] > room[most] ? b : most;
            }
        }
    }
    const int mirrored = most >= 0 && mirrors[most] >= 0 && limbs[mirrors[most]] == limb;
    return most < 0 || mirrored ? -1 : limbs[most];
}

/* A mirror image plays the same part: where one is a piece of the body, so is the other. */
static void pair_limbs(const Look *look) {
    int32_t *limbs = look->conduct->limbs;
    for (int b = 0; b < look->body.bones; b++) {
        const int other = look->skeleton->mirrors[b];
        limbs[b] = other >= 0 && limbs[other] < 0 ? -1 : limbs[b];
    }
}

static void find_borders(const Look *look, const Graph *graph) {
    const size_t n = (size_t)look->body.bones;
    for (int v = 0; v < look->body.vertices; v++) {
        for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            const size_t b = (size_t)look->body.owner[v], c = (size_t)look->body.owner[graph->neighbour[e]];
            look->beside[b * n + c] = look->beside[c * n + b] = 1;
        }
    }
}

/* Whether the surface leads from a bone to the torso; only_own: past no bone of a strange limb. */
static int leads(const Look *look, int b, int torso, int only_own) {
    const int n = look->body.bones;
    int count = 1;
    memset(look->seen, 0, (size_t)n);
    look->queue[0] = b;
    look->seen[b] = 1;
    for (int i = 0; i < count; i++) {
        const uint8_t *beside = look->beside + (size_t)look->queue[i] * (size_t)n;
        for (int c = 0; c < n; c++) {
            if (beside[c] && !look->seen[c] && (c == torso || !only_own || !is_strange(look, c, b))) {
                look->seen[c] = 1;
                look->queue[count++] = c;
            }
        }
    }
    return look->seen[torso];
}

/* Of two limbs that are mirror images neither is behind the other. */
static int is_behind(const Look *look, int b, int other, int torso) {
    const int32_t *limbs = look->conduct->limbs, *mirrors = look->skeleton->mirrors;
    const int mirrored = mirrors[other] >= 0 && limbs[mirrors[other]] == limbs[b];
    return !mirrored && leads(look, b, torso, 0) && !leads(look, b, torso, 1);
}

/* 0 when the call must end. */
static int find_limbs(Look *look) {
    Call *call = look->call;
    Paths paths;
    look->limb = arena_take(&call->arena, (size_t)look->body.vertices, sizeof(int));
    if (!look->limb ||
        !paths_measure(call, look->poses, look->body.rest, look->body.owner, look->body.bones, &paths)) {
        return 0;
    }
    look->limbs = limbs_find(call, &paths, look->limb);
    double *room = arena_take(&call->arena, (size_t)(look->limbs + 1), sizeof *room);
    int *edges = arena_take(&call->arena, (size_t)look->body.bones, sizeof *edges);
    look->from = arena_take(&call->arena, (size_t)(look->limbs + 1), sizeof *look->from);
    if (look->limbs < 0 || !room || !edges || !look->from) {
        return 0;
    }
    for (int b = 0; b < look->body.bones; b++) {
        look->conduct->limbs[b] = limb_of(look, b, room);
    }
    pair_limbs(look);
    find_borders(look, &paths.graph);
    for (int v = 0; v < look->body.vertices; v++) {
        look->bare[look->body.owner[v]] += look->limb[v] < 0 ? look->body.area[v] : 0;
    }
    for (int i = 0; i < look->limbs; i++) {
        look->from[i] = root_limb(look, &paths.graph, i, edges);
    }
    return 1;
}

/* Its arrays are not the caller's before all is well. */
static int conduct_take(Call *call, int64_t bones, ossify_conduct *conduct) {
    const size_t n = (size_t)bones;
    conduct->flights = arena_take(&call->arena, n, sizeof(double));
    conduct->excesses = arena_take(&call->arena, n, sizeof(double));
    conduct->drifts = arena_take(&call->arena, n, sizeof(double));
    conduct->shares = arena_take(&call->arena, n, sizeof(double));
    conduct->idle = arena_take(&call->arena, n, 1);
    conduct->limbs = arena_take(&call->arena, n, sizeof(int32_t));
    conduct->foreign = arena_take(&call->arena, n, sizeof(int32_t));
    return !call->arena.failed;
}

static void conduct_keep(int64_t bones, const ossify_conduct *from, ossify_conduct *to) {
    const size_t n = (size_t)bones;
    memcpy(to->flights, from->flights, n * sizeof(double));
    memcpy(to->excesses, from->excesses, n * sizeof(double));
    memcpy(to->drifts, from->drifts, n * sizeof(double));
    memcpy(to->shares, from->shares, n * sizeof(double));
    memcpy(to->idle, from->idle, n);
    memcpy(to->limbs, from->limbs, n * sizeof(int32_t));
    memcpy(to->foreign, from->foreign, n * sizeof(int32_t));
    to->limb_count = from->limb_count;
    to->torso = from->torso;
}

int inspect_refuses(const ossify_request *request, ossify_info *info) {
    const ossify_conduct *conduct = request->result;
    return sentence_bad_array(info, "conduct.flights", conduct->flights, sizeof(double), "[rig.bones]") ||
           sentence_bad_array(info, "conduct.excesses", conduct->excesses, sizeof(double), "[rig.bones]") ||
           sentence_bad_array(info, "conduct.drifts", conduct->drifts, sizeof(double), "[rig.bones]") ||
           sentence_bad_array(info, "conduct.shares", conduct->shares, sizeof(double), "[rig.bones]") ||
           sentence_bad_array(info, "conduct.idle", conduct->idle, 1, "[rig.bones]") ||
           sentence_bad_array(info, "conduct.limbs", conduct->limbs, sizeof(int32_t), "[rig.bones]") ||
           sentence_bad_array(info, "conduct.foreign", conduct->foreign, sizeof(int32_t), "[rig.bones]");
}

int64_t inspect(Call *call, const ossify_poses *poses, const ossify_rig *rig, const ossify_skeleton *skeleton,
                ossify_conduct *conduct) {
    ossify_conduct found = {.struct_size = sizeof found};
    Look look = {.call = call, .poses = poses, .rig = rig, .skeleton = skeleton, .conduct = &found};
    Arena *arena = &call->arena;
    call_stage(call, OSSIFY_STAGE_SKELETON);
    look.count = arena_take(arena, (size_t)rig->bones, sizeof(int));
    look.area = arena_take(arena, (size_t)rig->bones, sizeof(double));
    look.bare = arena_take(arena, (size_t)rig->bones, sizeof(double));
    look.above = arena_take(arena, (size_t)rig->bones, 1);
    look.beside = arena_take(arena, (size_t)(rig->bones * rig->bones), 1);
    look.seen = arena_take(arena, (size_t)rig->bones, 1);
    look.queue = arena_take(arena, (size_t)rig->bones, sizeof(int));
    if (!conduct_take(call, rig->bones, &found) || !body_make(call, poses, rig, &look.body)) {
        return call_ended(call);
    }
    count_owned(&look);
    parallel_run(call->pool, (int)rig->bones, inspect_bone, &look);
    if (atomic_load(&call->cancelled) || !find_limbs(&look)) {
        return call_ended(call);
    }
    found.limb_count = look.limbs;
    found.torso = find_torso(&look);
    if (found.torso < 0) {
        return call_ended(call);
    }
    mark_above(&look, (int)found.torso);
    for (int b = 0; b < rig->bones; b++) {
        if (call_poll(call, -1)) {
            return call_ended(call);
        }
        const int other = stranger(&look, b, (int)found.torso);
        found.foreign[b] = other >= 0 && is_behind(&look, b, other, (int)found.torso) ? -1 : other;
    }
    conduct_keep(rig->bones, &found, conduct);
    return OSSIFY_CONVERGED;
}
