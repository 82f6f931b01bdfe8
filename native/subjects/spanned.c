/* spanned.c - one tree for pose and shape bones as the paper has it (Hasler et al. 2010, section 3.6): the maximal spanning
 * tree of M = Wc'Wc, Wc = [Wp, Ws] (Eq. 8), in which a pose bone's next pose bone above is its own parent, and shape
 * bones may stand between; two shape bones are joined only if they are parent and child in the shape skeleton.
 *
 * The paper deletes edges, weakest first, as long as the hierarchies can still be had, and then dissolves cycles that
 * are left with only the pose hierarchy enforced. Here edges are taken, strongest first, unless they close a cycle or break the
 * pose hierarchy: without wishes both give the same tree, and this way no cycles are left. A group of shape bones that
 * are joined may touch one pose bone and its children, and several only if that one is among them; so every pose bone
 * can always be joined to its parent, and every shape bone to a pose bone. */
#include <string.h>

#include "subjects/grafts.h"

typedef struct Spanning {
    Call *call;
    const ossify_merging *merging;
    int pose, bones;
    double *merit; /* [bones][bones], < 0: taken or never */
    int *tree;     /* [bones] which part of the forest a bone is in */
    int *group;    /* [bones] of shape bones that are joined; pose bones have none */
    uint8_t *edge; /* [bones][bones] */
} Spanning;

static void add_merits(const Spanning *spanning, int64_t v) {
    const ossify_merging *merging = spanning->merging;
    const int64_t kp = merging->pose_influences, ks = merging->shape_influences, n = spanning->bones;
    for (int64_t i = 0; i < kp + ks; i++) {
        for (int64_t j = 0; j < kp + ks; j++) {
            const int64_t a =
                i < kp ? merging->pose_influenced[v * kp + i] : merging->shape_influenced[v * ks + i - kp];
            const int64_t b =
                j < kp ? merging->pose_influenced[v * kp + j] : merging->shape_influenced[v * ks + j - kp];
            const float wa =
                i < kp ? merging->pose_weights[v * kp + i] : merging->shape_weights[v * ks + i - kp];
            const float wb =
                j < kp ? merging->pose_weights[v * kp + j] : merging->shape_weights[v * ks + j - kp];
            if (a >= 0 && b >= 0) {
                spanning
                    ->merit[(a + (i < kp ? 0 : spanning->pose)) * n + b + (j < kp ? 0 : spanning->pose)] +=
                    (double)wa * (double)wb;
            }
        }
    }
}

static int is_parent(const int32_t *parents, int a, int b) {
    return parents != NULL && (parents[a] == b || parents[b] == a);
}

/* May the two ever be joined directly? */
static int may_touch(const Spanning *spanning, int a, int b) {
    const int pose = spanning->pose;
    if (a < pose && b < pose) {
        return is_parent(spanning->merging->pose_parents, a, b);
    }
    return a < pose || b < pose || is_parent(spanning->merging->shape_parents, a - pose, b - pose);
}

/* The pose bones that two groups of shape bones touch, and one more, are one and its children, itself among them. */
static int is_family(const Spanning *spanning, int group, int other, int more) {
    const int32_t *parents = spanning->merging->pose_parents;
    int count = 0, touched[OSSIFY_MAX_BONES];
    for (int p = 0; p < spanning->pose; p++) {
        int touches = p == more;
        for (int s = spanning->pose; s < spanning->bones && !touches; s++) {
            touches = (spanning->group[s] == group || spanning->group[s] == other) &&
                      spanning->edge[s * spanning->bones + p];
        }
        if (touches) {
            touched[count++] = p;
        }
    }
    for (int i = 0; i < count; i++) {
        int children = 0;
        for (int j = 0; j < count; j++) {
            children += parents[touched[j]] == touched[i];
        }
        if (children == count - 1) {
            return 1;
        }
    }
    return count < 2;
}

static int breaks_hierarchy(const Spanning *spanning, int a, int b) {
    const int pose = spanning->pose;
    if (a < pose && b < pose) {
        return 0;
    }
    const int shape = a < pose ? b : a, other = a < pose ? a : b;
    return other < pose ? !is_family(spanning, spanning->group[shape], spanning->group[shape], other)
                        : !is_family(spanning, spanning->group[shape], spanning->group[other], -1);
}

static void replace(int *labels, int count, int from, int to) {
    for (int i = 0; i < count; i++) {
        labels[i] = labels[i] == from ? to : labels[i];
    }
}

static void join(Spanning *spanning, int a, int b) {
    const int n = spanning->bones;
    spanning->edge[a * n + b] = spanning->edge[b * n + a] = 1;
    replace(spanning->tree, n, spanning->tree[b], spanning->tree[a]);
    if (a >= spanning->pose && b >= spanning->pose) {
        replace(spanning->group, n, spanning->group[b], spanning->group[a]);
    }
}

/* The strongest edge that is left, tried once. 0: none is left */
static int take_edge(Spanning *spanning) {
    const int n = spanning->bones;
    int best = -1;
    for (int i = 0; i < n * n; i++) {
        if (i / n < i % n && spanning->merit[i] >= 0 &&
            (best < 0 || spanning->merit[i] > spanning->merit[best])) {
            best = i;
        }
    }
    if (best < 0) {
        return 0;
    }
    spanning->merit[best] = -1;
    if (spanning->tree[best / n] != spanning->tree[best % n] &&
        !breaks_hierarchy(spanning, best / n, best % n)) {
        join(spanning, best / n, best % n);
    }
    return 1;
}

static int span(Spanning *spanning) {
    const int n = spanning->bones;
    for (int b = 0; b < n; b++) {
        spanning->tree[b] = b;
        spanning->group[b] = b < spanning->pose ? -1 - b : b;
        for (int a = 0; a < n; a++) {
            spanning->merit[b * n + a] = may_touch(spanning, b, a) ? spanning->merit[b * n + a] : -1;
        }
    }
    while (take_edge(spanning)) {
        if (call_poll(spanning->call, -1)) {
            return 0;
        }
    }
    return 1;
}

/* From the pose root down. */
static void hang(const Spanning *spanning, Grafts *grafts) {
    const int n = spanning->bones;
    int count = 0, order[OSSIFY_MAX_BONES];
    for (int b = 0; b < n; b++) {
        grafts->parent[b] = -1;
        grafts->carrier[b] = b < spanning->pose ? b : -1;
        if (b < spanning->pose && spanning->merging->pose_parents[b] < 0) {
            order[count++] = b;
        }
    }
    for (int i = 0; i < count; i++) {
        const int at = order[i];
        for (int b = 0; b < n; b++) {
            if (spanning->edge[at * n + b] && grafts->parent[at] != b) {
                grafts->parent[b] = at;
                grafts->carrier[b] = b < spanning->pose ? b : grafts->carrier[at];
                order[count++] = b;
            }
        }
    }
}

int spanned_choose(Call *call, Grafts *grafts) {
    const ossify_merging *merging = grafts->merging;
    const int n = (int)(merging->pose_bones + merging->shape_bones);
    const size_t pairs = (size_t)n * (size_t)n;
    Spanning spanning = {.call = call,
                         .merging = merging,
                         .pose = (int)merging->pose_bones,
                         .bones = n,
                         .merit = arena_take(&call->arena, pairs, sizeof(double)),
                         .tree = arena_take(&call->arena, (size_t)n, sizeof(int)),
                         .group = arena_take(&call->arena, (size_t)n, sizeof(int)),
                         .edge = arena_take(&call->arena, pairs, 1)};
    grafts->bones = n;
    if (call->arena.failed) {
        return 0;
    }
    memset(spanning.merit, 0, pairs * sizeof(double));
    memset(spanning.edge, 0, pairs);
    for (int64_t v = 0; v < grafts->vertices; v++) {
        add_merits(&spanning, v);
    }
    if (!span(&spanning)) {
        return 0;
    }
    hang(&spanning, grafts);
    return 1;
}

void spanned_share(const Grafts *grafts, People *people) {
    const ossify_merging *merging = grafts->merging;
    const int64_t kp = merging->pose_influences, ks = merging->shape_influences;
    double sum[OSSIFY_MAX_BONES] = {0};
    for (int64_t v = 0; v < grafts->vertices; v++) {
        const double pose =
            grafts_whole(merging->pose_influenced + v * kp, merging->pose_weights + v * kp, kp);
        const double shape =
            grafts_whole(merging->shape_influenced + v * ks, merging->shape_weights + v * ks, ks);
        for (int64_t i = v * kp; i < (v + 1) * kp; i++) {
            if (merging->pose_influenced[i] >= 0) {
                sum[merging->pose_influenced[i]] += pose * (double)merging->pose_weights[i];
            }
        }
        for (int64_t i = v * ks; i < (v + 1) * ks; i++) {
            if (merging->shape_influenced[i] >= 0) {
                sum[merging->pose_bones + merging->shape_influenced[i]] +=
                    shape * (double)merging->shape_weights[i];
            }
        }
        grafts_keep(people, (int)v, sum);
    }
}
