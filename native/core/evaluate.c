/* evaluate.c - replays a rig and measures it against the poses:
 *
 *     y[f][v] = sum_k w[v][k] M[f][b[v][k]] p~[f][v],     p[f][v] = rig's rest + sum_n c[f][n] field[n][v]
 * to which animation space, if there is one, adds sum_k M[f][b[v][k]] d[v][k];
 *
 *     E_RMS   = 1000 / r * sqrt(sum_fv |x[f][v] - y[f][v]|^2 / (3 V F))
 *
 * with r the radius of the smallest sphere around the given rest: the error of the mesh scaled into its
 * tight unit sphere (Le and Deng, "Smooth Skinning Decomposition with Rigid Bones", 2012, after Kavan et
 * al. 2010). The given rest is the poses'; without one, it is the rig's. A rest without size counts as
 * size 1.
 *
 * Of several subjects every frame is replayed from the rest of its own, and errors are relative to each one's own size;
 * how well rests are kept is measured of the first.
 *
 * What distances do not tell, how well the surface is kept, is measured beside it (surface.c).
 *
 * Written to be read, from the definition; the solver's moments are checked against it, so it shares
 * nothing with them. A few frames are replayed at once, because their arithmetic is the same, and by wider
 * vectors where the processor has them. Vertices are dealt out in chunks of a fixed size, each sum runs in the
 * order of the frames or of the chunks, and so the figures do not depend on the number of threads. */
#include "core/evaluate.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/surface.h"
#include "math/sphere.h"

enum {
    CHUNK_VERTICES = 256,
    ABREAST = SURFACE_ABREAST /* frames that are replayed at once */
};

typedef struct Worst {
    double distance2;
    int64_t vertex;
    int64_t frame;
} Worst;

struct Measure {
    int chunks;
    double *vertex_sum; /* [v] of squared distances */
    double *frame_sum;  /* [f] */
    double *chunk_sum;  /* [chunks][ABREAST] */
    Worst *worst;       /* [chunks] */

    const ossify_poses *poses;
    const ossify_rig *rig;
    const ossify_space *space;  /* or NULL */
    float *replayed;            /* [f][v][3] or NULL */
    int64_t first_frame;        /* of those at hand */
    int64_t end_frame;          /* and behind the last */
    double (*abreast)[ABREAST]; /* [b][12] their transforms */
    double coefficients[OSSIFY_MAX_CORRECTIVES][ABREAST];
    const float *x[ABREAST]; /* [v][3] their positions */
    const float *p[ABREAST]; /* [v][3] and the rests of their subjects */
    Surface *surface;        /* and how well it is kept in them, */
    float *seen;             /* [v][2][3][ABREAST] by x and y - x; NULL: there is none */
    double counts[ABREAST];  /* 1; 0 past the last frame, whose positions stand there again */
};

static int64_t subject_of(const ossify_poses *poses, int64_t f) {
    return call_rests(poses) > 1 ? poses->subject[f] : 0;
}

/* What the frames at hand are read from: their transforms number by number abreast. */
static void put_abreast(Measure *measure) {
    const ossify_rig *rig = measure->rig;
    for (int64_t g = 0; g < ABREAST; g++) {
        const int64_t there = measure->first_frame + g < measure->end_frame;
        const int64_t f = there ? measure->first_frame + g : measure->end_frame - 1;
        measure->counts[g] = (double)there;
        measure->x[g] = measure->poses->frames + 3 * f * measure->poses->vertex_count;
        measure->p[g] = rig->rest + 3 * subject_of(measure->poses, f) * measure->poses->vertex_count;
        for (int64_t i = 0; i < 12 * rig->bones; i++) {
            measure->abreast[i][g] = there ? rig->transforms[12 * f * rig->bone_capacity + i] : 0;
        }
        for (int64_t n = 0; n < rig->correctives; n++) {
            measure->coefficients[n][g] = there ? rig->coefficients[f * rig->corrective_capacity + n] : 0;
        }
    }
}

/* The bones that a vertex follows, how much, and from where in each of the frames at hand. */
typedef struct Followed {
    int64_t count;
    const int32_t *bone; /* -1: none */
    const float *weight;
    double p[3][ABREAST];
} Followed;

INSIDE void follow(const ossify_rig *rig, int64_t v, Followed *followed) {
    followed->count = rig->influences;
    followed->bone = rig->influence_bones + v * rig->influences;
    followed->weight = rig->influence_weights + v * rig->influences;
}

/* p = rest + sum_n c field */
INSIDE void correct_rest(const Measure *measure, int64_t v, Followed *followed) {
    const ossify_rig *rig = measure->rig;
    for (int a = 0; a < 3; a++) {
        for (int g = 0; g < ABREAST && call_rests(measure->poses) == 1; g++) {
            followed->p[a][g] = (double)rig->rest[3 * v + a];
        }
        for (int g = 0; g < ABREAST && call_rests(measure->poses) > 1; g++) {
            followed->p[a][g] = (double)measure->p[g][3 * v + a];
        }
        for (int64_t n = 0; n < rig->correctives; n++) {
            const double field = (double)rig->fields[3 * (n * measure->poses->vertex_count + v) + a];
            for (int g = 0; g < ABREAST; g++) {
                followed->p[a][g] += measure->coefficients[n][g] * field;
            }
        }
    }
}

/* Coordinate a of y of a vertex in the frames at hand */
INSIDE void replay(const Measure *measure, const Followed *followed, int a, double y[ABREAST]) {
    const double (*p)[ABREAST] = followed->p;
    for (int g = 0; g < ABREAST; g++) {
        y[g] = 0;
    }
    for (int64_t k = 0; k < followed->count; k++) {
        if (followed->bone[k] < 0) {
            continue;
        }
        const double (*M)[ABREAST] =
            (const double (*)[ABREAST])measure->abreast + 12 * followed->bone[k] + 4 * a;
        const double w = (double)followed->weight[k];
        for (int g = 0; g < ABREAST; g++) { /* y += w M p~ */
            y[g] += w * (M[0][g] * p[0][g] + M[1][g] * p[1][g] + M[2][g] * p[2][g] + M[3][g]);
        }
    }
}

/* y += sum_k M d, of animation space */
INSIDE void add_space(const Measure *measure, int64_t v, int a, double y[ABREAST]) {
    const ossify_space *space = measure->space;
    for (int64_t k = v * space->influences; k < (v + 1) * space->influences; k++) {
        const double (*M)[ABREAST] =
            (const double (*)[ABREAST])measure->abreast + 12 * space->bones[k] + 4 * a;
        const float *d = space->corrections + 4 * k;
        for (int g = 0; g < ABREAST && space->bones[k] >= 0; g++) {
            y[g] += M[0][g] * (double)d[0] + M[1][g] * (double)d[1] + M[2][g] * (double)d[2] +
                    M[3][g] * (double)d[3];
        }
    }
}

/* A double beyond the range of float has no defined conversion. */
INSIDE float as_float(double x) {
    const double above = x < -(double)FLT_MAX ? -(double)FLT_MAX : x;
    return (float)(above > (double)FLT_MAX ? (double)FLT_MAX : above);
}

/* x of a vertex in the frames at hand */
INSIDE void read_vertex(const Measure *measure, int64_t v, double x[3][ABREAST]) {
    for (int g = 0; g < ABREAST; g++) {
        for (int a = 0; a < 3; a++) {
            x[a][g] = (double)measure->x[g][3 * v + a];
        }
    }
}

INSIDE void write_vertex(const Measure *measure, int64_t v, double y[3][ABREAST]) {
    for (int64_t f = measure->first_frame; f < measure->end_frame; f++) {
        for (int a = 0; a < 3; a++) {
            measure->replayed[(f * measure->poses->vertex_count + v) * 3 + a] =
                as_float(y[a][f - measure->first_frame]);
        }
    }
}

/* What the surface is measured by. */
INSIDE void show_vertex(const Measure *measure, int64_t v, double x[3][ABREAST], double y[3][ABREAST]) {
    float *seen = measure->seen + 6 * ABREAST * v;
    for (int a = 0; a < 3; a++) {
        for (int g = 0; g < ABREAST; g++) {
            seen[ABREAST * a + g] = (float)x[a][g];
            seen[ABREAST * (3 + a) + g] = as_float((y[a][g] - x[a][g]) * measure->counts[g]);
        }
    }
}

/* |x - y|^2 of one vertex in each of the frames at hand; returns the largest. */
INSIDE double measure_vertex(const Measure *measure, int64_t v, double distance2[ABREAST]) {
    double x[3][ABREAST], y[3][ABREAST], most = 0;
    Followed followed;
    follow(measure->rig, v, &followed);
    correct_rest(measure, v, &followed);
    for (int a = 0; a < 3; a++) {
        replay(measure, &followed, a, y[a]);
        if (measure->space != NULL) {
            add_space(measure, v, a, y[a]);
        }
    }
    read_vertex(measure, v, x);
    for (int g = 0; g < ABREAST; g++) {
        const double d[3] = {x[0][g] - y[0][g], x[1][g] - y[1][g], x[2][g] - y[2][g]};
        distance2[g] = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) * measure->counts[g];
    }
    for (int g = 0; g < ABREAST; g++) {
        most = distance2[g] > most ? distance2[g] : most;
    }
    if (measure->seen != NULL) {
        show_vertex(measure, v, x, y);
    }
    if (measure->replayed != NULL) {
        write_vertex(measure, v, y);
    }
    return most;
}

/* The first frame of those at hand in which the vertex is as far off as that. */
INSIDE Worst worst_of(const Measure *measure, int64_t v, const double distance2[ABREAST], double most) {
    int g = 0;
    while (distance2[g] < most) {
        g++;
    }
    return (Worst){most, v, measure->first_frame + g};
}

INSIDE void measure_vertices(Measure *measure, int chunk) {
    Worst worst = measure->worst[chunk];
    double sums[ABREAST] = {0}, distance2[ABREAST];
    int64_t begin = (int64_t)chunk * CHUNK_VERTICES, end = begin + CHUNK_VERTICES;
    if (end > measure->poses->vertex_count) {
        end = measure->poses->vertex_count;
    }
    for (int64_t v = begin; v < end; v++) {
        const double most = measure_vertex(measure, v, distance2);
        double sum = measure->vertex_sum[v];
        for (int g = 0; g < ABREAST; g++) {
            sum += distance2[g];
            sums[g] += distance2[g];
        }
        if (most > worst.distance2) {
            worst = worst_of(measure, v, distance2, most);
        }
        measure->vertex_sum[v] = sum;
    }
    measure->worst[chunk] = worst;
    memcpy(measure->chunk_sum + (int64_t)chunk * ABREAST, sums, sizeof sums);
}

static void measure_chunk(void *user, int chunk, int worker) {
    (void)worker;
    measure_vertices(user, chunk);
}

WIDE static void measure_chunk_wide(void *user, int chunk, int worker) {
    (void)worker;
    measure_vertices(user, chunk);
}

static void measure_abreast(Call *call, Measure *measure) {
    put_abreast(measure);
    parallel_run(call->pool, measure->chunks, portable_is_wide() ? measure_chunk_wide : measure_chunk,
                 measure);
    for (int64_t f = measure->first_frame; f < measure->end_frame; f++) {
        measure->frame_sum[f] = 0;
        for (int64_t c = 0; c < measure->chunks; c++) {
            measure->frame_sum[f] += measure->chunk_sum[c * ABREAST + f - measure->first_frame];
        }
    }
    surface_add(call, measure->surface, measure->counts);
}

/* 0 when cancelled. Measuring ends the call only once its rig is written. */
static int measure_frames(Call *call, Measure *measure) {
    const int64_t frames = measure->poses->frame_count;
    const double from = call->progress.fraction;
    for (int64_t v = 0; v < measure->poses->vertex_count; v++) {
        measure->vertex_sum[v] = 0;
    }
    for (int c = 0; c < measure->chunks; c++) {
        measure->worst[c] = (Worst){-1, 0, 0};
    }
    surface_begin(measure->surface);
    for (int64_t f = 0; f < frames; f = measure->end_frame) {
        measure->first_frame = f;
        measure->end_frame = frames - f < ABREAST ? frames : f + ABREAST;
        measure_abreast(call, measure);
        const double done = (double)measure->end_frame / (double)frames;
        if (call_poll(call, call->written ? from + (1 - from) * done : -1)) {
            return 0;
        }
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
    if (evaluation->vertex_error != NULL) {
        for (int64_t v = 0; v < measure->poses->vertex_count; v++) {
            evaluation->vertex_error[v] = sqrt(measure->vertex_sum[v] / frames);
        }
    }
    if (evaluation->frame_error != NULL) {
        for (int64_t f = 0; f < measure->poses->frame_count; f++) {
            evaluation->frame_error[f] = sqrt(measure->frame_sum[f] / vertices);
        }
    }
}

/* By which size a mean square distance is what each subject's own size makes of its frames. */
static double common_size(double mean2, double relative2, double size2) {
    return mean2 > 0 && relative2 > 0 ? sqrt(mean2 / relative2) : sqrt(size2);
}

/* Radius and diagonal; of several subjects those by which the error is as large as each one's own says. */
static void size_up(const Measure *measure, const float *rest, double mean2, ossify_evaluation *evaluation) {
    const ossify_poses *poses = measure->poses;
    const int64_t rests = call_rests(poses);
    double diagonal = 0, radius = 0, by_diagonal = 0, by_radius = 0;
    for (int64_t s = 0; s < rests; s++) {
        const float *own = rest + 3 * s * poses->vertex_count;
        diagonal = box_diagonal(own, poses->vertex_count);
        radius = sphere_smallest(own, poses->vertex_count).radius;
        for (int64_t f = 0; f < poses->frame_count && rests > 1; f++) {
            const double part = subject_of(poses, f) == s ? measure->frame_sum[f] : 0;
            by_diagonal += part / (diagonal > 0 ? diagonal * diagonal : 1);
            by_radius += part / (radius > 0 ? radius * radius : 1);
        }
    }
    const double n = (double)poses->vertex_count * (double)poses->frame_count;
    evaluation->diagonal = rests > 1 ? common_size(mean2, by_diagonal / n, diagonal * diagonal) : diagonal;
    evaluation->radius = rests > 1 ? common_size(mean2, by_radius / n, radius * radius) : radius;
}

static void write_figures(const Measure *measure, ossify_evaluation *evaluation) {
    const ossify_poses *poses = measure->poses;
    const float *rest = poses->rest != NULL ? poses->rest : measure->rig->rest;
    Worst worst = measure->worst[0];
    double mean2 = 0;
    for (int64_t f = 0; f < poses->frame_count; f++) {
        mean2 += measure->frame_sum[f];
    }
    mean2 /= (double)poses->vertex_count * (double)poses->frame_count;
    for (int c = 1; c < measure->chunks; c++) {
        if (measure->worst[c].distance2 > worst.distance2) {
            worst = measure->worst[c];
        }
    }
    size_up(measure, rest, mean2, evaluation);
    evaluation->erms = 1000 * sqrt(mean2 / 3) / (evaluation->radius > 0 ? evaluation->radius : 1);
    evaluation->rms = sqrt(mean2);
    evaluation->maximum = sqrt(worst.distance2);
    evaluation->worst_vertex = worst.vertex;
    evaluation->worst_frame = worst.frame;
}

/* By how much number i of the rig's rest, as it shows, is off the given one. */
static double rest_off(const Measure *measure, int64_t i) {
    const ossify_space *space = measure->space;
    double off = (double)measure->rig->rest[i] - (double)measure->poses->rest[i];
    for (int64_t k = 0; space != NULL && k < space->influences; k++) {
        const int64_t slot = i / 3 % measure->poses->vertex_count * space->influences + k;
        off += space->bones[slot] < 0 ? 0 : (double)space->corrections[4 * slot + i % 3];
    }
    return off;
}

/* Root mean square distance of the rig's rest from the given one. */
static double rest_moved(const Measure *measure) {
    const ossify_poses *poses = measure->poses;
    double sum = 0;
    const int64_t all = poses->vertex_count * call_rests(poses);
    for (int64_t i = 0; i < 3 * all && poses->rest != NULL; i++) {
        const double d = rest_off(measure, i);
        sum += d * d;
    }
    return sqrt(sum / (double)all);
}

/* The surface in all frames, then in the rest pose, if there is one to compare with. */
static void write_surface(Call *call, Measure *measure, ossify_evaluation *evaluation) {
    const ossify_poses *poses = measure->poses;
    const float *rest = poses->rest != NULL ? poses->rest : measure->rig->rest;
    const double counts[ABREAST] = {1};
    SurfaceFigures figures = surface_figures(measure->surface, rest);
    evaluation->normal_degrees = figures.normal_degrees;
    evaluation->bumps = figures.bumps;
    if (evaluation->vertex_degrees != NULL) {
        surface_vertex_degrees(measure->surface, evaluation->vertex_degrees);
    }
    evaluation->rest_moved = rest_moved(measure);
    evaluation->rest_normal_degrees = evaluation->rest_bumps =
        poses->rest == NULL || measure->seen == NULL ? -1 : 0;
    if (evaluation->rest_normal_degrees < 0 || evaluation->rest_moved == 0) {
        return;
    }
    memset(measure->seen, 0, 6 * ABREAST * (size_t)poses->vertex_count * sizeof *measure->seen);
    for (int64_t i = 0; i < 3 * poses->vertex_count; i++) {
        float *seen = measure->seen + (6 * (i / 3) + i % 3) * ABREAST;
        seen[0] = poses->rest[i];
        seen[3 * ABREAST] = as_float(rest_off(measure, i));
    }
    surface_begin(measure->surface);
    surface_add(call, measure->surface, counts);
    figures = surface_figures(measure->surface, rest);
    evaluation->rest_normal_degrees = figures.normal_degrees;
    evaluation->rest_bumps = figures.bumps;
}

Measure *evaluate_take(Call *call, const ossify_poses *poses, int64_t bones) {
    Arena *arena = &call->arena;
    Measure *measure = arena_take(arena, 1, sizeof *measure);
    if (measure == NULL) {
        return NULL;
    }
    measure->chunks = (int)((poses->vertex_count + CHUNK_VERTICES - 1) / CHUNK_VERTICES);
    measure->vertex_sum = arena_take(arena, (size_t)poses->vertex_count, sizeof(double));
    measure->frame_sum = arena_take(arena, (size_t)poses->frame_count, sizeof(double));
    measure->chunk_sum = arena_take(arena, ABREAST * (size_t)measure->chunks, sizeof(double));
    measure->abreast = arena_take(arena, 12 * (size_t)bones, sizeof *measure->abreast);
    measure->worst = arena_take(arena, (size_t)measure->chunks, sizeof(Worst));
    measure->surface = surface_take(call, poses);
    if (arena->failed) {
        return NULL;
    }
    measure->seen = surface_seen(measure->surface);
    return measure;
}

int64_t evaluate(Call *call, Measure *measure, const ossify_poses *poses, const ossify_rig *rig,
                 const ossify_space *space, ossify_evaluation *evaluation) {
    assert(measure != NULL && poses->vertex_count > 0 && poses->frame_count > 0);
    measure->poses = poses;
    measure->rig = rig;
    measure->space = space;
    measure->replayed = evaluation->frames;
    if (!measure_frames(call, measure)) {
        return OSSIFY_CANCELLED;
    }
    write_errors(measure, evaluation);
    write_figures(measure, evaluation);
    write_surface(call, measure, evaluation);
    return OSSIFY_CONVERGED;
}

void evaluate_tell(ossify_info *info, int64_t bones, const ossify_evaluation *evaluation) {
    const double size = evaluation->diagonal > 0 ? evaluation->diagonal : 1;
    info->bones = bones;
    info->erms = evaluation->erms;
    info->rms_percent = 100 * evaluation->rms / size;
    info->maximum_percent = 100 * evaluation->maximum / size;
    info->normal_degrees = evaluation->normal_degrees;
    info->bumps = evaluation->bumps;
    info->rest_normal_degrees = evaluation->rest_normal_degrees;
    info->rest_bumps = evaluation->rest_bumps;
    info->rest_percent = 100 * evaluation->rest_moved / size;
}
