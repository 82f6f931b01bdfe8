/* missed.c - the norm of descent/fair.c for a rig whose weights are painted. With r = replayed less observed,
 *     r'Sr = sum_v |r_v|^2 + tie sum_edges |r_i - r_j|^2,     tie = mu / mean number of neighbours,
 * in which a vertex's part, its neighbours N(v) as they are, is
 *     a |r_v - s|^2,     a = 1 + tie |N(v)|,     s = tie / a sum_{j in N(v)} r_j:
 * the squared error of the same weights against x + s. Only the edges of faces count: bare points and shells have no
 * skin between them. */
#include "paint/missed.h"

#include "core/rig.h"
#include "descent/fair.h"

enum { MEASURE_CHUNK = 64 };

typedef struct Measuring {
    Call *call;
    const Missed *missed;
} Measuring;

/* r_v = sum_b w_b M_b p~ - x */
void missed_renew(const Missed *missed, int v) {
    const ossify_poses *poses = missed->poses;
    const ossify_rig *rig = missed->rig;
    const int64_t rows = 3 * poses->frame_count, k = rig->influences;
    const float *p = rig->rest + 3 * (int64_t)v;
    if (!(missed->tie > 0)) {
        return; /* nobody asks for it */
    }
    float *r = missed->residual + rows * v;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t f = i / 3;
        double moved = -(double)poses->frames[3 * (f * poses->vertex_count + v) + i % 3];
        for (int64_t j = v * k; j < (v + 1) * k && rig->influence_bones[j] >= 0; j++) {
            const double *m =
                rig->transforms + 12 * (f * rig->bone_capacity + rig->influence_bones[j]) + 4 * (i % 3);
            moved += (double)rig->influence_weights[j] *
                     (m[0] * (double)p[0] + m[1] * (double)p[1] + m[2] * (double)p[2] + m[3]);
        }
        r[i] = (float)moved;
    }
}

static void measure_chunk(void *user, int task, int worker) {
    const Measuring *measuring = user;
    const int last = (int)measuring->missed->poses->vertex_count, begin = task * MEASURE_CHUNK;
    if (worker == 0) {
        call_poll(measuring->call, -1);
    }
    for (int v = begin; v < last && v < begin + MEASURE_CHUNK && !measuring->call->cancelled; v++) {
        missed_renew(measuring->missed, v);
    }
}

const float *missed_aside(const Missed *missed, int v, int worker) {
    const Graph *graph = &missed->graph;
    const size_t rows = 3 * (size_t)missed->poses->frame_count;
    const double beside = (double)(graph->first[v + 1] - graph->first[v]);
    const float share = (float)(missed->tie / (1 + missed->tie * beside));
    if (!(missed->tie > 0)) {
        return NULL;
    }
    float *aside = missed->aside[worker];
    for (size_t i = 0; i < rows; i++) {
        aside[i] = 0;
    }
    for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
        const float *r = missed->residual + rows * (size_t)graph->neighbour[e];
        for (size_t i = 0; i < rows; i++) {
            aside[i] += share * r[i];
        }
    }
    return aside;
}

/* Nobody is beside anybody where nobody asks for it. */
static int make_graph(Call *call, int is_asked, Missed *missed) {
    ossify_poses poses = *missed->poses;
    poses.triangle_count = is_asked ? poses.triangle_count : 0;
    return rig_graph(&call->arena, &poses, missed->rig, &missed->graph) &&
           colours_make(&call->arena, &missed->graph, &missed->colours);
}

int missed_make(Call *call, const ossify_poses *poses, const ossify_rig *rig, Missed *missed) {
    const int vertices = (int)poses->vertex_count, workers = parallel_workers(call->pool);
    const size_t rows = 3 * (size_t)poses->frame_count;
    const double mu = fair_strength(call->settings->fairness, vertices, (int)rig->bones);
    Measuring measuring = {call, missed};
    *missed = (Missed){.poses = poses, .rig = rig};
    if (!make_graph(call, mu > 0, missed)) {
        return 0;
    }
    if (missed->graph.first[vertices] == 0) {
        return 1;
    }
    missed->tie = mu / fair_beside(&missed->graph);
    missed->residual = arena_take(&call->arena, (size_t)vertices * rows, sizeof(float));
    missed->aside = arena_take(&call->arena, (size_t)workers, sizeof *missed->aside);
    for (int i = 0; i < workers && !call->arena.failed; i++) {
        missed->aside[i] = arena_take(&call->arena, rows, sizeof(float));
    }
    if (call->arena.failed) {
        return 0;
    }
    parallel_run(call->pool, (vertices + MEASURE_CHUNK - 1) / MEASURE_CHUNK, measure_chunk, &measuring);
    return !atomic_load(&call->cancelled);
}
