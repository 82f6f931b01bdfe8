/* leaves.c - shape bones as leaves of the pose bones: of all pairs of a shape bone i and a pose bone p those that share
 * most, C = Ws'Wp, become a leaf each, at least one beneath each pose bone that moves anything. The weights to start from
 * are the products ws_i wp_p. The paper's tree (spanned.c) hangs each shape bone once; here one whose surface several
 * pose bones move has a leaf beneath each. */
#include <string.h>

#include "subjects/grafts.h"

typedef struct Pairs {
    const ossify_merging *merging;
    double *shared; /* [shape_bones][pose_bones] */
} Pairs;

static void add_vertex(const Pairs *pairs, int64_t v) {
    const ossify_merging *merging = pairs->merging;
    const int32_t *shape = merging->shape_influenced + v * merging->shape_influences;
    const int32_t *pose = merging->pose_influenced + v * merging->pose_influences;
    const float *ws = merging->shape_weights + v * merging->shape_influences;
    const float *wp = merging->pose_weights + v * merging->pose_influences;
    for (int64_t i = 0; i < merging->shape_influences; i++) {
        for (int64_t j = 0; j < merging->pose_influences; j++) {
            if (shape[i] >= 0 && pose[j] >= 0) {
                pairs->shared[shape[i] * merging->pose_bones + pose[j]] += (double)ws[i] * (double)wp[j];
            }
        }
    }
}

/* The pair that shares most, of one pose bone or of all; -1 when none is left. */
static int64_t strongest(const Pairs *pairs, int64_t pose) {
    const int64_t bones = pairs->merging->pose_bones, count = pairs->merging->shape_bones * bones;
    int64_t best = -1;
    for (int64_t i = pose < 0 ? 0 : pose; i < count; i += pose < 0 ? 1 : bones) {
        if (pairs->shared[i] > 0 && (best < 0 || pairs->shared[i] > pairs->shared[best])) {
            best = i;
        }
    }
    return best;
}

static void take_pair(Pairs *pairs, int64_t pair, Grafts *grafts) {
    const int64_t bones = pairs->merging->pose_bones;
    if (pair >= 0) {
        grafts->of[pair] = grafts->bones;
        grafts->parent[grafts->bones] = grafts->carrier[grafts->bones] = (int32_t)(pair % bones);
        grafts->bones++;
        pairs->shared[pair] = 0;
    }
}

int leaves_choose(Call *call, Grafts *grafts) {
    const ossify_merging *merging = grafts->merging;
    const size_t count = (size_t)(merging->shape_bones * merging->pose_bones);
    const int64_t end = merging->pose_bones + merging->leaves;
    Pairs pairs = {merging, arena_take(&call->arena, count, sizeof(double))};
    grafts->of = arena_take(&call->arena, count, sizeof(int));
    if (call->arena.failed) {
        return 0;
    }
    memset(pairs.shared, 0, count * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        grafts->of[i] = -1;
    }
    for (int64_t v = 0; v < grafts->vertices; v++) {
        add_vertex(&pairs, v);
    }
    grafts->bones = (int)merging->pose_bones;
    for (int64_t p = 0; p < merging->pose_bones; p++) {
        take_pair(&pairs, strongest(&pairs, p), grafts);
    }
    while (grafts->bones < end && !call_poll(call, -1)) {
        const int64_t pair = strongest(&pairs, -1);
        if (pair < 0) {
            break;
        }
        take_pair(&pairs, pair, grafts);
    }
    return !atomic_load(&call->cancelled);
}

/* Some leaf of the strongest pose bone that has one. */
static int nearest_leaf(const Grafts *grafts, int64_t v) {
    const ossify_merging *merging = grafts->merging;
    int best = (int)merging->pose_bones;
    double most = 0;
    for (int64_t j = v * merging->pose_influences; j < (v + 1) * merging->pose_influences; j++) {
        for (int b = (int)merging->pose_bones; b < grafts->bones; b++) {
            if (merging->pose_influenced[j] == grafts->carrier[b] &&
                (double)merging->pose_weights[j] > most) {
                best = b;
                most = (double)merging->pose_weights[j];
            }
        }
    }
    return best;
}

void leaves_share(const Grafts *grafts, People *people) {
    const ossify_merging *merging = grafts->merging;
    double sum[OSSIFY_MAX_BONES] = {0};
    for (int64_t v = 0; v < grafts->vertices; v++) {
        double all = 0;
        for (int64_t i = v * merging->shape_influences; i < (v + 1) * merging->shape_influences; i++) {
            for (int64_t j = v * merging->pose_influences; j < (v + 1) * merging->pose_influences; j++) {
                const int64_t shape = merging->shape_influenced[i], pose = merging->pose_influenced[j];
                const int b = shape < 0 || pose < 0 ? -1 : grafts->of[shape * merging->pose_bones + pose];
                if (b >= 0) {
                    sum[b] += (double)merging->shape_weights[i] * (double)merging->pose_weights[j];
                    all += (double)merging->shape_weights[i] * (double)merging->pose_weights[j];
                }
            }
        }
        if (!(all > 0)) {
            sum[nearest_leaf(grafts, v)] = 1;
        }
        grafts_keep(people, (int)v, sum);
    }
}
