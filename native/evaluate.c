/* evaluate.c - replays a rig and measures it against the poses:
 *
 *     y[f][v] = sum_k w[v][k] M[f][b[v][k]] p~[v],        p~ = (rig's rest, 1)
 *     E_RMS   = 1000 / r * sqrt(sum_fv |x[f][v] - y[f][v]|^2 / (3 V F))
 *
 * with r the radius of the smallest sphere around the given rest: the error of the mesh scaled into its
 * tight unit sphere (Le and Deng, "Smooth Skinning Decomposition with Rigid Bones", 2012, after Kavan et
 * al. 2010). The given rest is the poses'; without one, it is the rig's. A rest without size counts as
 * size 1.
 *
 * Written to be read, from the definition; the solver's moments are checked against it, so it shares
 * nothing with them. Vertices are dealt out in chunks of a fixed size, each sum runs in the order of
 * the frames or of the chunks, and so the figures do not depend on the number of threads. */
#include "math/sphere.h"
#include "rooms.h"

#include <assert.h>
#include <float.h>
#include <math.h>

enum {
    CHUNK_VERTICES = 256,
    BLOCK_POSITIONS = 1 << 20 /* replayed between two polls: a few hundredths of a second */
};

typedef struct Worst {
    double distance2;
    int64_t vertex;
    int64_t frame;
} Worst;

struct Measure {
    int chunks;
    int64_t block_frames;
    double *vertex_sum; /* [v] of squared distances */
    double *frame_sum;  /* [f] */
    double *chunk_sum;  /* [block_frames][chunks] */
    Worst *worst;       /* [chunks] */

    const ossify_poses *poses;
    const ossify_rig *rig;
    float *replayed;     /* [f][v][3] or NULL */
    int64_t first_frame; /* of the block at hand */
    int64_t end_frame;
};

static void replay(const ossify_rig *rig, int64_t f, int64_t v, double y[3]) {
    const double *transforms = rig->transforms + f * rig->bone_capacity * 12;
    const int32_t *bones = rig->influence_bones + v * rig->influences;
    const float *weights = rig->influence_weights + v * rig->influences;
    const float *rest = rig->rest + v * 3;
    const double p[3] = {(double)rest[0], (double)rest[1], (double)rest[2]};
    y[0] = y[1] = y[2] = 0;
    for (int64_t k = 0; k < rig->influences; k++) {
        if (bones[k] >= 0) {
            const double *M = transforms + 12 * (int64_t)bones[k];
            const double w = (double)weights[k];
            for (int a = 0; a < 3; a++) /* y += w M p~ */
                y[a] += w * (M[4 * a] * p[0] + M[4 * a + 1] * p[1] + M[4 * a + 2] * p[2] + M[4 * a + 3]);
        }
    }
}

/* A double beyond the range of float has no defined conversion. */
static float as_float(double x) {
    return (float)fmin(fmax(x, -(double)FLT_MAX), (double)FLT_MAX);
}

/* |x - y|^2 at one vertex of one frame. */
static double measure_position(const Measure *measure, int64_t f, int64_t v) {
    const int64_t at = (f * measure->poses->vertex_count + v) * 3;
    const float *x = measure->poses->frames + at;
    double y[3], distance2 = 0;
    replay(measure->rig, f, v, y);
    for (int a = 0; a < 3; a++)
        distance2 += ((double)x[a] - y[a]) * ((double)x[a] - y[a]);
    if (measure->replayed != NULL)
        for (int a = 0; a < 3; a++)
            measure->replayed[at + a] = as_float(y[a]);
    return distance2;
}

static void measure_chunk(void *user, int chunk, int worker) {
    Measure *measure = user;
    Worst *worst = &measure->worst[chunk];
    int64_t begin = (int64_t)chunk * CHUNK_VERTICES, end = begin + CHUNK_VERTICES;
    (void)worker;
    if (end > measure->poses->vertex_count)
        end = measure->poses->vertex_count;
    for (int64_t f = measure->first_frame; f < measure->end_frame; f++) {
        double sum = 0;
        for (int64_t v = begin; v < end; v++) {
            double distance2 = measure_position(measure, f, v);
            measure->vertex_sum[v] += distance2;
            sum += distance2;
            if (distance2 > worst->distance2)
                *worst = (Worst){distance2, v, f};
        }
        measure->chunk_sum[(f - measure->first_frame) * measure->chunks + chunk] = sum;
    }
}

static void measure_block(Call *call, Measure *measure) {
    pool_run(call->pool, measure->chunks, measure_chunk, measure);
    for (int64_t f = measure->first_frame; f < measure->end_frame; f++) {
        const double *sums = measure->chunk_sum + (f - measure->first_frame) * measure->chunks;
        measure->frame_sum[f] = 0;
        for (int c = 0; c < measure->chunks; c++)
            measure->frame_sum[f] += sums[c];
    }
}

/* 0 when cancelled. Measuring ends the call only once its rig is settled. */
static int measure_frames(Call *call, Measure *measure) {
    const int64_t frames = measure->poses->frame_count;
    const double from = call->progress.fraction;
    for (int64_t v = 0; v < measure->poses->vertex_count; v++)
        measure->vertex_sum[v] = 0;
    for (int c = 0; c < measure->chunks; c++)
        measure->worst[c] = (Worst){-1, 0, 0};
    for (int64_t f = 0; f < frames; f = measure->end_frame) {
        measure->first_frame = f;
        measure->end_frame = frames - f < measure->block_frames ? frames : f + measure->block_frames;
        measure_block(call, measure);
        const double done = (double)measure->end_frame / (double)frames;
        if (call_poll(call, call->settled ? from + (1 - from) * done : -1))
            return 0;
    }
    return 1;
}

static double box_diagonal(const float *points, int64_t n) {
    double diagonal2 = 0;
    for (int a = 0; a < 3; a++) {
        float low = points[a], high = points[a];
        for (int64_t i = 1; i < n; i++) {
            float x = points[3 * i + a];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        diagonal2 += ((double)high - (double)low) * ((double)high - (double)low);
    }
    return sqrt(diagonal2);
}

static void write_errors(const Measure *measure, ossify_evaluation *evaluation) {
    const double vertices = (double)measure->poses->vertex_count;
    const double frames = (double)measure->poses->frame_count;
    if (evaluation->vertex_error != NULL)
        for (int64_t v = 0; v < measure->poses->vertex_count; v++)
            evaluation->vertex_error[v] = sqrt(measure->vertex_sum[v] / frames);
    if (evaluation->frame_error != NULL)
        for (int64_t f = 0; f < measure->poses->frame_count; f++)
            evaluation->frame_error[f] = sqrt(measure->frame_sum[f] / vertices);
}

static void write_figures(const Measure *measure, ossify_evaluation *evaluation) {
    const ossify_poses *poses = measure->poses;
    const float *rest = poses->rest != NULL ? poses->rest : measure->rig->rest;
    Worst worst = measure->worst[0];
    double mean2 = 0;
    for (int64_t f = 0; f < poses->frame_count; f++)
        mean2 += measure->frame_sum[f];
    mean2 /= (double)poses->vertex_count * (double)poses->frame_count;
    for (int c = 1; c < measure->chunks; c++)
        if (measure->worst[c].distance2 > worst.distance2)
            worst = measure->worst[c];
    evaluation->radius = smallest_sphere(rest, poses->vertex_count).radius;
    evaluation->diagonal = box_diagonal(rest, poses->vertex_count);
    evaluation->erms = 1000 * sqrt(mean2 / 3) / (evaluation->radius > 0 ? evaluation->radius : 1);
    evaluation->rms = sqrt(mean2);
    evaluation->maximum = sqrt(worst.distance2);
    evaluation->worst_vertex = worst.vertex;
    evaluation->worst_frame = worst.frame;
}

Measure *evaluate_take(Call *call, const ossify_poses *poses) {
    Arena *arena = &call->arena;
    Measure *measure = arena_take(arena, 1, sizeof *measure);
    int64_t block_frames = BLOCK_POSITIONS / poses->vertex_count;
    if (measure == NULL)
        return NULL;
    block_frames = block_frames < 1 ? 1 : block_frames;
    measure->block_frames = block_frames > poses->frame_count ? poses->frame_count : block_frames;
    measure->chunks = (int)((poses->vertex_count + CHUNK_VERTICES - 1) / CHUNK_VERTICES);
    measure->vertex_sum = arena_take(arena, (size_t)poses->vertex_count, sizeof(double));
    measure->frame_sum = arena_take(arena, (size_t)poses->frame_count, sizeof(double));
    measure->chunk_sum =
        arena_take(arena, (size_t)measure->block_frames * (size_t)measure->chunks, sizeof(double));
    measure->worst = arena_take(arena, (size_t)measure->chunks, sizeof(Worst));
    return arena->failed ? NULL : measure;
}

int64_t evaluate(Call *call, Measure *measure, const ossify_poses *poses, const ossify_rig *rig,
                 ossify_evaluation *evaluation) {
    assert(measure != NULL && poses->vertex_count > 0 && poses->frame_count > 0);
    measure->poses = poses;
    measure->rig = rig;
    measure->replayed = evaluation->frames;
    if (!measure_frames(call, measure))
        return OSSIFY_CANCELLED;
    write_errors(measure, evaluation);
    write_figures(measure, evaluation);
    return OSSIFY_CONVERGED;
}
