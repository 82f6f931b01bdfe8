/* ties.c - the norm of descent/fair.c for bones that are tracked: with S = I + tie (D - A) on the edges of the faces and
 * P the rows w_b p~ of all vertices, the transforms of a frame need
 *     U = P'SP = sum_v P_v'P_v + tie sum_edges (P_i - P_j)'(P_i - P_j),     C = X'SP = (S X)'P,
 * so that U, the same for every frame, is summed once, and a frame is read as S x instead of x:
 *     (S x)_v = x_v + tie sum_{j beside v} (x_v - x_j).
 * U[b,c] is a full 4 x 4 here. */
#include "track/ties.h"

#include "core/rig.h"
#include "descent/fair.h"

enum { ROW_BONES = 2 * OSSIFY_MAX_INFLUENCES, VERTICES_A_POLL = 1024 };

/* One row of P, or the difference of two. */
typedef struct Row {
    int count;
    int bone[ROW_BONES];
    double p[ROW_BONES][4];
} Row;

/* row += factor P_v */
static void add_row(const ossify_rig *rig, const Placement *placement, int64_t v, double factor, Row *row) {
    const float *rest = rig->rest + 3 * v;
    for (int64_t k = v * rig->influences; k < (v + 1) * rig->influences; k++) {
        int i = 0;
        if (!patches_follows(rig, k)) {
            continue;
        }
        while (i < row->count && row->bone[i] != rig->influence_bones[k]) {
            i++;
        }
        if (i == row->count) {
            row->bone[row->count++] = rig->influence_bones[k];
            memset(row->p[i], 0, sizeof row->p[i]);
        }
        const double w = factor * (double)rig->influence_weights[k];
        for (int a = 0; a < 3; a++) {
            row->p[i][a] += w * ((double)rest[a] - placement->centre[a]) / placement->unit;
        }
        row->p[i][3] += w;
    }
}

/* U += factor row' row */
static void add_square(const ossify_rig *rig, const Row *row, double factor, double *whole) {
    for (int i = 0; i < row->count; i++) {
        for (int j = 0; j < row->count; j++) {
            double *u = whole + ((size_t)row->bone[i] * (size_t)rig->bones + (size_t)row->bone[j]) * PAIR;
            for (int k = 0; k < PAIR; k++) {
                u[k] += factor * row->p[i][k / 4] * row->p[j][k % 4];
            }
        }
    }
}

/* 0 when the call must end. */
static int add_rows(Call *call, const ossify_rig *rig, const Placement *placement, Ties *ties) {
    const Graph *graph = &ties->graph;
    for (int v = 0; v < graph->vertices; v++) {
        Row own = {.count = 0};
        if (v % VERTICES_A_POLL == 0 && call_poll(call, -1)) {
            return 0;
        }
        add_row(rig, placement, v, 1, &own);
        add_square(rig, &own, 1, ties->whole);
        for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            if (graph->neighbour[e] > v) {
                Row apart = own;
                add_row(rig, placement, graph->neighbour[e], -1, &apart);
                add_square(rig, &apart, ties->tie, ties->whole);
            }
        }
    }
    return 1;
}

int ties_make(Call *call, const ossify_poses *poses, const ossify_rig *rig, const Placement *placement,
              Ties *ties) {
    const size_t bones = (size_t)rig->bones;
    const double mu = fair_strength(call->settings->fairness, (int)poses->vertex_count, (int)bones);
    *ties = (Ties){.tie = 0};
    if (!(mu > 0) || poses->triangle_count == 0) {
        return 1;
    }
    ties->whole = arena_take(&call->arena, bones * bones * PAIR, sizeof(double));
    if (call->arena.failed || !rig_graph(&call->arena, poses, rig, &ties->graph)) {
        return 0;
    }
    ties->tie = mu / fair_beside(&ties->graph);
    return add_rows(call, rig, placement, ties);
}

double ties_stiffen(const Ties *ties, const ossify_poses *poses, const Patches *patches, const Patch *patch,
                    int64_t frame, double *x) {
    const Graph *graph = &ties->graph;
    const float *frames = poses->frames + 3 * frame * poses->vertex_count;
    double square = 0;
    for (int i = 0; i < patch->count; i++) {
        const int v = patches->vertex[patch->first + i];
        const float *own = frames + 3 * (size_t)v;
        double apart[3] = {0, 0, 0};
        for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            const float *other = frames + 3 * (size_t)graph->neighbour[e];
            for (int a = 0; a < 3; a++) {
                apart[a] += (double)own[a] - (double)other[a];
            }
        }
        for (int a = 0; a < 3; a++) {
            square += x[a * PATCH + i] * ties->tie * apart[a];
            x[a * PATCH + i] += ties->tie * apart[a];
        }
    }
    return square;
}
