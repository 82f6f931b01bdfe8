/* skin.c - reads poses and a finished rig for the correctives.
 *
 * As in problem.c, the rest pose is brought into about the unit sphere and every frame is centred, so that sizes
 * and places far from the origin change nothing. Nothing of the frames is copied: each pass reads them anew, a few
 * vertices at a time, because to follow a vertex through the frames is all that the correctives need. */
#include "correct/skin.h"

#include <math.h>
#include <string.h>

#include "math/sphere.h"

static const double WEIGHT_STEPS = 16777216; /* 2^24: sums of multiples of 2^-24 are exact in float */

static int place(Call *call, Skin *skin, const float *rest) {
    const Sphere sphere = sphere_smallest(rest, skin->poses->vertex_count);
    int exponent = 0;
    memcpy(skin->centre, sphere.centre, sizeof skin->centre);
    skin->radius = sphere.radius > 0 ? sphere.radius : 1;
    frexp(skin->radius, &exponent);
    skin->unit = ldexp(1.0, exponent);
    return !call_poll(call, -1);
}

typedef struct Centring {
    Call *call;
    Skin *skin;
} Centring;

/* The mean of a frame, rounded to float: then most differences to it are exact. */
static void centre_frame(void *user, int f, int worker) {
    const Centring *centring = user;
    const Skin *skin = centring->skin;
    const float *x = skin->poses->frames + 3 * (size_t)f * (size_t)skin->vertices;
    double sum[3] = {0, 0, 0};
    if (worker == 0) {
        call_poll(centring->call, -1);
    }
    for (size_t v = 0; v < 3 * (size_t)skin->vertices; v += 3) {
        sum[0] += x[v];
        sum[1] += x[v + 1];
        sum[2] += x[v + 2];
    }
    for (int a = 0; a < 3; a++) {
        skin->frame_centre[3 * f + a] = (double)(float)(sum[a] / skin->vertices);
    }
}

/* In the caller's coordinates (R, t), inside (R, (t - frame_centre + R centre) / unit). */
static void read_transforms(const ossify_rig *rig, const Skin *skin) {
    const size_t wide = (size_t)skin->wide;
    for (int f = 0; f < skin->frames; f++) {
        const double *from = rig->transforms + 12 * (size_t)f * (size_t)rig->bone_capacity;
        const double *at = skin->frame_centre + 3 * f, *centre = skin->centre;
        for (int b = 0; b < skin->bones; b++) {
            double *to = skin->transform + 12 * (size_t)b * wide + (size_t)f;
            for (int i = 0; i < 3; i++, from += 4, to += 4 * wide) {
                to[0] = from[0], to[wide] = from[1], to[2 * wide] = from[2];
                to[3 * wide] =
                    (from[3] - at[i] + from[0] * centre[0] + from[1] * centre[1] + from[2] * centre[2]) /
                    skin->unit;
            }
        }
    }
}

static void read_weights(const ossify_rig *rig, const Skin *skin) {
    const size_t k = (size_t)skin->influences;
    for (size_t v = 0; v < (size_t)skin->vertices; v++) {
        size_t used = 0;
        for (size_t i = v * k; i < (v + 1) * k; i++) {
            if (rig->influence_bones[i] >= 0 && rig->influence_weights[i] > 0) {
                skin->bone[v * k + used] = rig->influence_bones[i];
                skin->weight[v * k + used++] = (double)rig->influence_weights[i];
            }
        }
        for (; used < k; used++) {
            skin->bone[v * k + used] = -1;
        }
    }
}

static void read_rest(const float *from, const Skin *skin, double *to) {
    for (size_t i = 0; i < 3 * (size_t)skin->vertices; i++) {
        to[i] = ((double)from[i] - skin->centre[i % 3]) / skin->unit;
    }
}

void skin_read_rig(Skin *skin, const ossify_rig *rig) {
    read_transforms(rig, skin);
    read_weights(rig, skin);
    read_rest(rig->rest, skin, skin->rest);
}

int skin_make(Call *call, const ossify_poses *poses, const ossify_rig *rig, Skin *skin) {
    Arena *arena = &call->arena;
    const float *given = poses->rest ? poses->rest : rig->rest;
    const size_t n = (size_t)poses->vertex_count, k = (size_t)rig->influences;
    memset(skin, 0, sizeof *skin);
    skin->poses = poses;
    skin->vertices = (int)poses->vertex_count;
    skin->frames = (int)poses->frame_count;
    skin->blocks = (skin->vertices + SKIN_BLOCK - 1) / SKIN_BLOCK;
    skin->wide = (skin->frames + SKIN_LANES - 1) / SKIN_LANES * SKIN_LANES;
    skin->bones = (int)rig->bones;
    skin->influences = (int)rig->influences;
    skin->frame_centre = arena_take(arena, 3 * (size_t)skin->wide, sizeof(double));
    skin->transform = arena_take(arena, 12 * (size_t)skin->bones * (size_t)skin->wide, sizeof(double));
    skin->bone = arena_take(arena, n * k, sizeof(int));
    skin->weight = arena_take(arena, n * k, sizeof(double));
    skin->rest = arena_take(arena, 3 * n, sizeof(double));
    skin->given = arena_take(arena, 3 * n, sizeof(double));
    if (arena->failed || !place(call, skin, given)) {
        return 0;
    }
    Centring centring = {call, skin};
    parallel_run(call->pool, skin->frames, centre_frame, &centring);
    skin_read_rig(skin, rig);
    read_rest(given, skin, skin->given);
    return !call_poll(call, -1);
}

static void write_transform(const Skin *skin, int f, int b, double *m) {
    const size_t wide = (size_t)skin->wide;
    const double *from = skin->transform + 12 * (size_t)b * wide + (size_t)f;
    for (int i = 0; i < 3; i++, m += 4, from += 4 * wide) {
        m[0] = from[0], m[1] = from[wide], m[2] = from[2 * wide];
        m[3] = skin->frame_centre[3 * f + i] + skin->unit * from[3 * wide] - m[0] * skin->centre[0] -
               m[1] * skin->centre[1] - m[2] * skin->centre[2];
    }
}

/* Strongest first, in whole steps that sum to exactly 1 as floats. */
static void write_weights(const Skin *skin, int v, int32_t *bone, float *weight) {
    const size_t k = (size_t)skin->influences;
    const int *from = skin->bone + (size_t)v * k;
    const double *share = skin->weight + (size_t)v * k;
    double left = WEIGHT_STEPS;
    size_t used = 0;
    for (size_t i = 0; i < k && from[i] >= 0; i++) {
        const float steps = (float)floor(share[i] * WEIGHT_STEPS);
        size_t at = used;
        for (; at > 0 && weight[at - 1] < steps; at--) {
            weight[at] = weight[at - 1];
            bone[at] = bone[at - 1];
        }
        weight[at] = steps;
        bone[at] = from[i];
        used += steps > 0;
    }
    for (size_t i = 1; i < used; i++) {
        left -= (double)weight[i];
    }
    for (size_t i = 0; i < k; i++) {
        bone[i] = i < used ? bone[i] : -1;
        weight[i] = i < used ? (float)((i == 0 ? left : (double)weight[i]) / WEIGHT_STEPS) : 0;
    }
}

int skin_keeps_weights(const Skin *skin, const ossify_rig *rig, int v) {
    const size_t k = (size_t)skin->influences;
    int held = rig->held_vertices && rig->held_vertices[v];
    for (size_t i = (size_t)v * k; i < ((size_t)v + 1) * k && skin->bone[i] >= 0; i++) {
        held |= rig->held_groups && rig->held_groups[skin->bone[i]];
    }
    return held;
}

void skin_write_transforms(const Skin *skin, ossify_rig *rig) {
    const size_t bones = (size_t)skin->bones;
    for (size_t i = 0; i < (size_t)skin->frames * bones; i++) {
        if (!(rig->held_transforms && rig->held_transforms[i])) {
            write_transform(skin, (int)(i / bones), (int)(i % bones),
                            rig->transforms + 12 * (i / bones * (size_t)rig->bone_capacity + i % bones));
        }
    }
}

void skin_write_rig(const Skin *skin, ossify_rig *rig) {
    const size_t k = (size_t)skin->influences;
    skin_write_transforms(skin, rig);
    for (size_t v = 0; v < (size_t)skin->vertices; v++) {
        if (!skin_keeps_weights(skin, rig, (int)v)) {
            write_weights(skin, (int)v, rig->influence_bones + v * k, rig->influence_weights + v * k);
        }
    }
}

/* How many numbers there are of each. */
static void sizes_of(const Skin *skin, const ossify_rig *rig, size_t *transforms, size_t *influences,
                     size_t *rest) {
    *transforms = 12 * (size_t)skin->frames * (size_t)rig->bone_capacity;
    *influences = (size_t)skin->vertices * (size_t)skin->influences;
    *rest = 3 * (size_t)skin->vertices;
}

int skin_copy(Call *call, const ossify_rig *rig, const Skin *skin, SkinCopy *copy) {
    Arena *arena = &call->arena;
    size_t transforms, influences, rest;
    sizes_of(skin, rig, &transforms, &influences, &rest);
    copy->transforms = arena_take(arena, transforms, sizeof(double));
    copy->bones = arena_take(arena, influences, sizeof(int32_t));
    copy->weights = arena_take(arena, influences, sizeof(float));
    copy->rest = arena_take(arena, rest, sizeof(float));
    if (arena->failed) {
        return 0;
    }
    memcpy(copy->transforms, rig->transforms, transforms * sizeof(double));
    memcpy(copy->bones, rig->influence_bones, influences * sizeof(int32_t));
    memcpy(copy->weights, rig->influence_weights, influences * sizeof(float));
    memcpy(copy->rest, rig->rest, rest * sizeof(float));
    return 1;
}

void skin_return(Skin *skin, const SkinCopy *copy, ossify_rig *rig) {
    size_t transforms, influences, rest;
    sizes_of(skin, rig, &transforms, &influences, &rest);
    memcpy(rig->transforms, copy->transforms, transforms * sizeof(double));
    memcpy(rig->influence_bones, copy->bones, influences * sizeof(int32_t));
    memcpy(rig->influence_weights, copy->weights, influences * sizeof(float));
    memcpy(rig->rest, copy->rest, rest * sizeof(float));
    skin_read_rig(skin, rig);
}

/* A few frames at a time: what is written then lies together. */
int skin_read(const Skin *skin, int block, double *x) {
    const size_t wide = (size_t)skin->wide, first = (size_t)block * SKIN_BLOCK;
    const size_t left = (size_t)skin->vertices - first, count = left < SKIN_BLOCK ? left : SKIN_BLOCK;
    const double scale = 1 / skin->unit;
    for (size_t f = 0; f < wide; f += SKIN_LANES) {
        const float *from[SKIN_LANES];
        double there[SKIN_LANES];
        for (size_t k = 0; k < SKIN_LANES; k++) {
            const size_t frame = f + k < (size_t)skin->frames ? f + k : f;
            from[k] = skin->poses->frames + 3 * (frame * (size_t)skin->vertices + first);
            there[k] = f + k < (size_t)skin->frames ? scale : 0;
        }
        for (size_t i = 0; i < 3 * count; i++) {
            for (size_t k = 0; k < SKIN_LANES; k++) {
                x[i * wide + f + k] =
                    ((double)from[k][i] - skin->frame_centre[3 * (f + k) + i % 3]) * there[k];
            }
        }
    }
    return (int)count;
}

double skin_erms(const Skin *skin, double squared) {
    return 1000 * sqrt(squared / (3.0 * skin->vertices * skin->frames)) * skin->unit / skin->radius;
}

double skin_diagonal(const Skin *skin) {
    double square = 0;
    for (int a = 0; a < 3; a++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t v = 0; v < (size_t)skin->vertices; v++) {
            low = fmin(low, skin->given[3 * v + (size_t)a]);
            high = fmax(high, skin->given[3 * v + (size_t)a]);
        }
        square += (high - low) * (high - low);
    }
    return square > 0 ? skin->unit * sqrt(square) : 1;
}

int skin_view_make(Arena *arena, const Skin *skin, SkinView *view) {
    const size_t wide = (size_t)skin->wide;
    view->n = arena_take(arena, 24 * wide, sizeof(double));
    if (!view->n) {
        return 0;
    }
    view->r = view->n + 12 * wide;
    view->q = view->r + 3 * wide;
    view->g = view->q + 6 * wide;
    return 1;
}
