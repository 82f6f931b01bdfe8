/* stretch.c - Sander's L2 stretch (Sander et al. 2001, Texture Mapping Progressive Meshes) of a map, frame by frame:
 *
 *     L2_f^2 = A_uv / (2 S_f^2)  sum_T  A_f tr(I_f (D'D)^-1)
 *
 * I_f the triangle's first fundamental form, A_f its area, S_f the mesh's, D its edges in the map and A_uv the map's area:
 * 1 where the map is isometric up to one scale, and never less. It is measured from the positions themselves, and shares
 * no code with what is relaxed but the form of a triangle.
 * A triangle with next to no area in the map counts as if it had a millionth of the mean one: its stretch would be
 * infinite. */
#include "unwrap/stretch.h"

#include <math.h>

#include "unwrap/metric.h"

static const double LEAST_AREA = 1e-6; /* of the mean in the map */

/* Edges of a triangle in the map, as doubles; returns twice its area with its sign. */
static double edges_of(const float *uv, int64_t t, double d[4]) {
    const float *a = uv + 6 * t;
    d[0] = (double)a[2] - (double)a[0];
    d[1] = (double)a[4] - (double)a[0];
    d[2] = (double)a[3] - (double)a[1];
    d[3] = (double)a[5] - (double)a[1];
    return d[0] * d[3] - d[1] * d[2];
}

typedef struct Look {
    Call *call;
    const ossify_poses *poses;
    double area;     /* of the map */
    double *inverse; /* [t][3] of D'D */
    double *squared; /* [poses + rest] L2^2, or -1 */
    double *total;   /* [poses + rest] S */
    float *by_triangle;
} Look;

static double area_of_map(const float *uv, int64_t triangles) {
    double sum = 0, d[4];
    for (int64_t t = 0; t < triangles; t++) {
        sum += 0.5 * fabs(edges_of(uv, t, d));
    }
    return sum;
}

static void invert(const float *uv, int64_t t, double least, double inverse[3]) {
    double d[4];
    const double twice = fmax(fabs(edges_of(uv, t, d)), least), by = twice > 0 ? 1 / (twice * twice) : 0;
    inverse[0] = (d[1] * d[1] + d[3] * d[3]) * by;
    inverse[1] = -(d[0] * d[1] + d[2] * d[3]) * by;
    inverse[2] = (d[0] * d[0] + d[2] * d[2]) * by;
}

/* tr(I (D'D)^-1) */
static double trace(const double form[3], const double inverse[3]) {
    return form[0] * inverse[0] + 2 * form[1] * inverse[1] + form[2] * inverse[2];
}

static void look_at_pose(void *user, int p, int worker) {
    const Look *look = user;
    const ossify_poses *poses = look->poses;
    const float *pose = metric_pose(poses, p);
    double total = 0, sum = 0, form[3];
    if (worker == 0) {
        call_poll(look->call, -1);
    }
    for (int64_t t = 0; t < poses->triangle_count && !atomic_load(&look->call->cancelled); t++) {
        const double area = metric_of_triangle(pose, poses->triangles + 3 * t, form);
        total += area;
        sum += area * trace(form, look->inverse + 3 * t);
    }
    look->total[p] = total;
    look->squared[p] = total > 0 ? 0.5 * look->area * (sum / total) / total : -1;
}

/* mean over the frames of tr(I (D'D)^-1) A_uv / (2 S) */
static void look_at_triangle(const Look *look, int64_t t) {
    const ossify_poses *poses = look->poses;
    double sum = 0, form[3];
    int64_t counted = 0;
    for (int64_t f = 0; f < poses->frame_count; f++) {
        if (look->total[f] > 0) {
            metric_of_triangle(metric_pose(poses, f), poses->triangles + 3 * t, form);
            sum += 0.5 * trace(form, look->inverse + 3 * t) * (look->area / look->total[f]);
            counted++;
        }
    }
    look->by_triangle[t] = counted > 0 ? (float)fmin(sqrt(sum / (double)counted), 1e30) : 1;
}

static double percent(double squared) {
    return squared < 0 ? -1 : 100 * fmax(sqrt(squared) - 1, 0); /* less is rounding */
}

static double mean_percent(const double *squared, int64_t count) {
    double sum = 0;
    int64_t counted = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += squared[i] < 0 ? 0 : percent(squared[i]);
        counted += squared[i] >= 0;
    }
    return counted > 0 ? sum / (double)counted : -1;
}

/* Triangles that lie the other way than their island as a whole, or have no area. */
static int64_t count_flipped(const float *uv, int64_t triangles, const int *island, int islands,
                             double *sum) {
    int64_t count = 0;
    double d[4];
    for (int i = 0; i < islands; i++) {
        sum[i] = 0;
    }
    for (int64_t t = 0; t < triangles; t++) {
        sum[island[t]] += edges_of(uv, t, d);
    }
    for (int64_t t = 0; t < triangles; t++) {
        const double twice = edges_of(uv, t, d);
        count += !(sum[island[t]] < 0 ? twice < 0 : twice > 0);
    }
    return count;
}

int stretch_measure(Call *call, const ossify_poses *poses, const float *uv, const int *island, int islands,
                    float *by_triangle, Stretch *stretch) {
    Arena *arena = &call->arena;
    ArenaPiece *mark = arena_mark(arena);
    const int64_t t = poses->triangle_count, all = poses->frame_count + (poses->rest != NULL);
    Look look = {.call = call, .poses = poses, .by_triangle = by_triangle};
    look.inverse = arena_take(arena, 3 * (size_t)t, sizeof(double));
    look.squared = arena_take(arena, (size_t)all, sizeof(double));
    look.total = arena_take(arena, (size_t)all, sizeof(double));
    double *sum = arena_take(arena, (size_t)islands, sizeof(double));
    if (arena->failed) {
        return 0;
    }
    look.area = area_of_map(uv, t);
    for (int64_t i = 0; i < t; i++) {
        invert(uv, i, 2 * LEAST_AREA * look.area / (double)t, look.inverse + 3 * i);
    }
    parallel_run(call->pool, (int)all, look_at_pose, &look);
    for (int64_t i = 0; i < t && by_triangle != NULL && !atomic_load(&call->cancelled); i++) {
        look_at_triangle(&look, i);
    }
    stretch->frames = mean_percent(look.squared, poses->frame_count);
    stretch->rest = poses->rest != NULL ? percent(look.squared[all - 1]) : -1;
    stretch->flipped = count_flipped(uv, t, island, islands, sum);
    arena_return(arena, mark);
    return !call_poll(call, -1);
}
