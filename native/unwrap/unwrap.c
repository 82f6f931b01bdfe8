/* unwrap.c - relaxes a map (UVs) for all poses of a motion at once, instead of for one (Merry, Marais & Gain 2006,
 * Section 5, whose L2,2 metric of sampled poses this is; no rig is needed).
 *
 *     metric     three numbers a triangle, of all poses                               metric.c
 *     islands    the map cut along its seams                                          islands.c
 *     start      each as it is, or as a disc where it has flips                       start.c
 *     relax      each to the least stretch, or symmetric Dirichlet energy             relax.c, energy.c, system.c
 *     place      where they were, or packed, areas in proportion to those of the mesh place.c
 *     measure    stretch before and after, over the frames and in the rest            stretch.c
 *
 * Deviation: the paper maps by least squares conformal maps, which are there to compare with (conformal.c). They keep
 * angles, not sizes: what a texture shows is stretch. */
#include "unwrap/unwrap.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/sentence.h"
#include "unwrap/conformal.h"
#include "unwrap/place.h"
#include "unwrap/relax.h"
#include "unwrap/start.h"
#include "unwrap/stretch.h"

#define FARTHEST_UV 1e6f /* sides of a texture */
#define MOST_STEPS_OF_ALL 10000
#define MOST_MARGIN 0.1

static const double LIGHT_SHEAR =
    0.5; /* least price without folds: no flip has a curvature below 0 (energy.c) */
static const double BEGUN = 0.15, RELAXED = 0.9; /* of the progress */

typedef struct Work {
    Call *call;
    const ossify_poses *poses;
    const ossify_unwrapping *wish;
    Metric metric;
    Islands islands;
    int *island;         /* [t] */
    double *uv, *before; /* [points][2] relaxed, in the unit of the metric; and as given */
    uint8_t *left;       /* [islands] not 0: it stays as it is */
    float *out;          /* [t][3][2] */
    float *by_triangle;  /* [t] */
    int64_t restarted, left_count;
    Stretch was, is;
} Work;

/* ---- what comes in ---- */

static int bad_map(Call *call, const float *uv, int64_t triangles) {
    for (int64_t i = 0; i < 6 * triangles; i++) {
        if (!(fabsf(uv[i]) <= FARTHEST_UV)) {
            return BAD(call->info,
                       "uv[%" PRId64 "][%" PRId64 "][%" PRId64
                       "] is %s: every place in the map must be finite and within %g; unwrap the mesh anew",
                       i / 6, i % 6 / 2, i % 2, sentence_number((double)uv[i]).letters, (double)FARTHEST_UV);
        }
    }
    return 0;
}

static int take_room(Work *work) {
    Arena *arena = &work->call->arena;
    const size_t t = (size_t)work->poses->triangle_count, points = (size_t)work->islands.points;
    work->island = arena_take(arena, t, sizeof(int));
    work->uv = arena_take(arena, 2 * points, sizeof(double));
    work->before = arena_take(arena, 2 * points, sizeof(double));
    work->left = arena_take(arena, (size_t)work->islands.count, 1);
    work->out = arena_take(arena, 6 * t, sizeof(float));
    work->by_triangle = arena_take(arena, t, sizeof(float));
    return !arena->failed;
}

static void read_map(Work *work) {
    const Islands *islands = &work->islands;
    for (int i = 0; i < islands->count; i++) {
        for (int k = islands->first[i]; k < islands->first[i + 1]; k++) {
            const int t = islands->triangle[k];
            work->island[t] = i;
            for (int c = 3 * t; c < 3 * t + 3; c++) {
                double *to = work->before + 2 * (islands->first_point[i] + islands->point[c]);
                to[0] = (double)work->wish->uv[2 * c];
                to[1] = (double)work->wish->uv[2 * c + 1];
            }
        }
    }
}

static int64_t prepare(Work *work) {
    Call *call = work->call;
    const int plain = work->wish->method == OSSIFY_UNWRAP_CONFORMAL;
    if (bad_map(call, work->wish->uv, work->poses->triangle_count)) {
        return OSSIFY_BAD_ARGUMENT;
    }
    if (!metric_make(call, work->poses, (int)work->wish->with_rest, plain ? METRIC_PLAIN : METRIC_STRETCH,
                     &work->metric)) {
        return call->arena.failed || atomic_load(&call->cancelled)
                   ? call_ended(call)
                   : sentence_refuse(call->info, OSSIFY_BAD_ARGUMENT,
                                     "no triangle has an area in any frame: there is nothing to unwrap");
    }
    if (!islands_cut(&call->arena, work->poses, work->wish->uv, &work->islands) || !take_room(work)) {
        return call_ended(call);
    }
    read_map(work);
    return stretch_measure(call, work->poses, work->wish->uv, work->island, work->islands.count, NULL,
                           &work->was) &&
                   !call_poll(call, BEGUN)
               ? 0
               : call_ended(call);
}

/* ---- islands ---- */

static void keep_island(Work *work, int island, const Chart *chart) {
    double *to = work->uv + 2 * work->islands.first_point[island];
    memcpy(to, chart->uv, 2 * (size_t)chart->points * sizeof *to);
    for (int i = 0; i < chart->points && chart->mirrored; i++) {
        to[2 * i] = -to[2 * i];
    }
}

/* Angles know no size: the one of the metric. */
static void size_island(Chart *chart) {
    const double by = sqrt(chart_metric_area(chart) / fabs(chart_area(chart)));
    for (int i = 0; i < 2 * chart->points && isfinite(by); i++) {
        chart->uv[i] *= by;
    }
}

/* Where nothing must be stretched by much, shear has no price any more, as long as no fold pays. 0 when the call must end. */
static int relax_further(Work *work, Chart *chart, double done) {
    const size_t numbers = 2 * (size_t)chart->points;
    double *kept = arena_take(&work->call->arena, numbers, sizeof *kept);
    if (work->call->arena.failed) {
        return 0;
    }
    memcpy(kept, chart->uv, numbers * sizeof *kept);
    chart->shear = 0;
    if (energy_resists_folds(chart)) {
        if (relax(work->call, chart, (int)work->wish->iterations, done, done) < 0) {
            return 0;
        }
        if (!energy_resists_folds(chart)) {
            memcpy(chart->uv, kept, numbers * sizeof *kept);
        }
    }
    return 1;
}

static int relax_island(Work *work, int island, Chart *chart) {
    const double all = work->islands.first[work->islands.count], span = RELAXED - BEGUN;
    const double from = BEGUN + span * work->islands.first[island] / all,
                 to = BEGUN + span * work->islands.first[island + 1] / all;
    if (work->wish->method == OSSIFY_UNWRAP_CONFORMAL) {
        const int whole = chart_is_whole(chart);
        work->left_count += !whole;
        work->left[island] = !whole;
        if (whole && !conformal_solve(work->call, chart)) {
            return 0;
        }
        size_island(chart);
        return !call_poll(work->call, to);
    }
    const Start start = start_find(work->call, chart);
    work->restarted += start == START_ROUND;
    work->left_count += start == START_NONE;
    work->left[island] = start == START_NONE;
    if (start == START_ENDED || start == START_NONE) {
        return start == START_NONE;
    }
    const int isometric = work->wish->method == OSSIFY_UNWRAP_ISOMETRIC;
    chart->shear = isometric ? 1 : LIGHT_SHEAR;
    return relax(work->call, chart, (int)work->wish->iterations, from, to) >= 0 &&
           (isometric || relax_further(work, chart, to));
}

static int relax_islands(Work *work) {
    Arena *arena = &work->call->arena;
    for (int i = 0; i < work->islands.count; i++) {
        ArenaPiece *mark = arena_mark(arena);
        Chart chart;
        const int done = chart_make(arena, &work->metric, &work->islands, i, work->wish->uv, &chart) &&
                         relax_island(work, i, &chart);
        if (!done) {
            return 0;
        }
        keep_island(work, i, &chart);
        arena_return(arena, mark);
    }
    return 1;
}

/* ---- what goes out ---- */

static double area_of_triangle(const float *a) {
    return 0.5 * fabs(((double)a[2] - (double)a[0]) * ((double)a[5] - (double)a[1]) -
                      ((double)a[4] - (double)a[0]) * ((double)a[3] - (double)a[1]));
}

static void write_map(Work *work) {
    const Islands *islands = &work->islands;
    for (int c = 0; c < 3 * (int)work->poses->triangle_count; c++) {
        const double *from = work->uv + 2 * (islands->first_point[work->island[c / 3]] + islands->point[c]);
        work->out[2 * c] = (float)from[0];
        work->out[2 * c + 1] = (float)from[1];
    }
}

/* By how much relaxed islands grow, for the map they make to be as large as it was. */
static double scale_back(const Work *work) {
    double was = 0, is = 0;
    for (int64_t t = 0; t < work->poses->triangle_count; t++) {
        if (!work->left[work->island[t]]) {
            was += area_of_triangle(work->wish->uv + 6 * t);
            is += area_of_triangle(work->out + 6 * t);
        }
    }
    return was > 0 && is > 0 ? sqrt(was / is) : 1;
}

static void place_islands_back(Work *work) {
    const Islands *islands = &work->islands;
    const double scale = scale_back(work);
    for (int i = 0; i < islands->count; i++) {
        const int first = islands->first_point[i], points = islands->first_point[i + 1] - first;
        if (work->left[i]) {
            memcpy(work->uv + 2 * first, work->before + 2 * first, 2 * (size_t)points * sizeof(double));
        } else {
            place_back(points, work->before + 2 * first, scale, work->uv + 2 * first);
        }
    }
}

static int place_islands(Work *work) {
    if (work->wish->place == OSSIFY_UNWRAP_PACKED) {
        return place_pack(&work->call->arena, &work->islands, work->wish->margin, work->uv);
    }
    place_islands_back(work);
    return 1;
}

/* Nothing can fail any more. */
static void give_answer(Work *work, ossify_unwrapped *answer) {
    const size_t t = (size_t)work->poses->triangle_count;
    work->call->written = 1;
    memcpy(answer->uv, work->out, 6 * t * sizeof(float));
    for (size_t i = 0; i < t && answer->triangle_stretch != NULL; i++) {
        answer->triangle_stretch[i] = work->by_triangle[i];
    }
    for (size_t i = 0; i < t && answer->triangle_islands != NULL; i++) {
        answer->triangle_islands[i] = work->island[i];
    }
    answer->islands = work->islands.count;
    answer->restarted = work->restarted;
    answer->left = work->left_count;
    answer->flipped_before = work->was.flipped;
    answer->flipped = work->is.flipped;
    answer->stretch_before = work->was.frames;
    answer->stretch = work->is.frames;
    answer->rest_stretch_before = work->was.rest;
    answer->rest_stretch = work->is.rest;
}

static int solve(Work *work) {
    if (work->wish->iterations > 0) {
        if (!relax_islands(work)) {
            return 0;
        }
        write_map(work); /* as large as they came out */
        if (!place_islands(work)) {
            return 0;
        }
        write_map(work);
    } else {
        memcpy(work->out, work->wish->uv, 6 * (size_t)work->poses->triangle_count * sizeof(float));
    }
    return !call_poll(work->call, RELAXED) &&
           stretch_measure(work->call, work->poses, work->out, work->island, work->islands.count,
                           work->by_triangle, &work->is);
}

/* ---- the verb ---- */

int unwrap_refuses(const ossify_request *request, ossify_info *info) {
    const ossify_unwrapping *wish = request->options;
    const ossify_unwrapped *answer = request->result;
    if (request->poses->triangle_count == 0) {
        return BAD(info, "poses.triangle_count is 0: only a surface can be unwrapped; give its triangles");
    }
    if (!(wish->margin >= 0 && wish->margin <= MOST_MARGIN)) {
        return BAD(info, "unwrapping.margin is %s: it must be 0..%g", sentence_number(wish->margin).letters,
                   MOST_MARGIN);
    }
    return sentence_bad_array(info, "unwrapping.uv", wish->uv, sizeof(float), "[triangle_count][3][2]") ||
           sentence_bad_range(info, "unwrapping.method", wish->method, OSSIFY_UNWRAP_STRETCH,
                              OSSIFY_UNWRAP_CONFORMAL) ||
           sentence_bad_range(info, "unwrapping.place", wish->place, OSSIFY_UNWRAP_KEPT,
                              OSSIFY_UNWRAP_PACKED) ||
           sentence_bad_range(info, "unwrapping.iterations", wish->iterations, 0, MOST_STEPS_OF_ALL) ||
           sentence_bad_range(info, "unwrapping.with_rest", wish->with_rest, 0, 1) ||
           sentence_bad_array(info, "unwrapped.uv", answer->uv, sizeof(float), "[triangle_count][3][2]") ||
           (answer->triangle_stretch != NULL &&
            sentence_bad_array(info, "unwrapped.triangle_stretch", answer->triangle_stretch, sizeof(float),
                               "")) ||
           (answer->triangle_islands != NULL &&
            sentence_bad_array(info, "unwrapped.triangle_islands", answer->triangle_islands, sizeof(int32_t),
                               ""));
}

int64_t unwrap(Call *call, const ossify_poses *poses, const ossify_unwrapping *unwrapping,
               ossify_unwrapped *unwrapped) {
    Work work = {.call = call, .poses = poses, .wish = unwrapping};
    call_stage(call, OSSIFY_STAGE_UNWRAP);
    const int64_t ready = prepare(&work);
    if (ready < 0) {
        return ready;
    }
    if (!solve(&work)) {
        return call_ended(call);
    }
    give_answer(&work, unwrapped);
    call_poll(call, 1);
    if (work.left_count > 0) {
        sentence_refuse(call->info, OSSIFY_CONVERGED,
                        "%" PRId64
                        " of %d islands have flips and cannot be laid flat: mark seams that open them; "
                        "they are as they were",
                        work.left_count, work.islands.count);
    }
    return OSSIFY_CONVERGED;
}
