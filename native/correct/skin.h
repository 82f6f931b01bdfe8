/* skin.h - a finished rig as the correctives see it: vertex by vertex, all frames side by side. See skin.c. */
#ifndef OSSIFY_SKIN_H
#define OSSIFY_SKIN_H

#include "core/call.h"

enum {
    SKIN_LANES = 4, /* frames that are summed abreast */
    SKIN_BLOCK = 32 /* vertices that are read from the frames at once */
};

typedef struct Skin {
    const ossify_poses *poses;
    int vertices, frames, blocks;
    int wide; /* frames, filled up by empty ones to whole SKIN_LANES */
    int bones, influences;
    double centre[3], radius; /* of the rest's tight sphere, in the caller's coordinates */
    double unit;              /* a power of two near the radius: inside = (caller's - centre) / unit */
    double *frame_centre;     /* [wide][3] */
    double *transform;        /* [b][12][wide] of the inside; 0 in empty frames */
    int *bone;                /* [v][influences], -1 unused */
    double *weight;           /* [v][influences] */
    double *rest;             /* [v][3] inside */
    double *given;            /* [v][3] the poses' own rest, or the rig's */
} Skin;

/* Reads poses and rig; 0 when the call must end. */
int skin_make(Call *call, const ossify_poses *poses, const ossify_rig *rig, Skin *skin);
/* Transforms, weights and rest of the rig anew. */
void skin_read_rig(Skin *skin, const ossify_rig *rig);
/* Transforms to the rig, except what it holds; and weights, likewise. */
void skin_write_transforms(const Skin *skin, ossify_rig *rig);
void skin_write_rig(const Skin *skin, ossify_rig *rig);

/* A rig as it was, to come back to. */
typedef struct SkinCopy {
    double *transforms;
    int32_t *bones;
    float *weights, *rest;
} SkinCopy;

/* 0 when memory is out. */
int skin_copy(Call *call, const ossify_rig *rig, const Skin *skin, SkinCopy *copy);
/* Rig and skin become what they were. */
void skin_return(Skin *skin, const SkinCopy *copy, ossify_rig *rig);
/* 1 when the vertex or one of its groups is held. */
int skin_keeps_weights(const Skin *skin, const ossify_rig *rig, int v);
/* x [SKIN_BLOCK][3][wide] of the vertices of a block; returns how many there are. */
int skin_read(const Skin *skin, int block, double *x);
/* Of the given rest's box, in the caller's units; 1 when it has no size. */
double skin_diagonal(const Skin *skin);
/* E_RMS of a squared error over all vertices and frames, of the inside. */
double skin_erms(const Skin *skin, double squared);

/* One vertex in every frame: with N = (L, t) its blended matrix and p its rest position,
 *     r = x - (L p + t),  q = L'L (xx yy zz xy xz yz),  g = L'r. */
typedef struct SkinView {
    double *n; /* [3][4][wide] */
    double *r; /* [3][wide] */
    double *q; /* [6][wide] */
    double *g; /* [3][wide] */
} SkinView;

int skin_view_make(Arena *arena, const Skin *skin, SkinView *view);

/* N = sum_b w M, two bones at a time: half the traffic */
INSIDE void skin_blend(const Skin *skin, int v, double *restrict n) {
    const size_t k = (size_t)skin->influences, size = 12 * (size_t)skin->wide;
    const int *bone = skin->bone + (size_t)v * k;
    const double *weight = skin->weight + (size_t)v * k;
    for (size_t i = 0; i < k && bone[i] >= 0; i += 2) {
        const int pair = i + 1 < k && bone[i + 1] >= 0;
        const double *a = skin->transform + (size_t)bone[i] * size;
        const double *b = pair ? skin->transform + (size_t)bone[i + 1] * size : a;
        const double wa = weight[i], wb = pair ? weight[i + 1] : 0;
        if (i == 0) {
            for (size_t f = 0; f < size; f++) {
                n[f] = wa * a[f] + wb * b[f];
            }
        } else {
            for (size_t f = 0; f < size; f++) {
                n[f] += wa * a[f] + wb * b[f];
            }
        }
    }
}

/* N and r; every vertex has a bone */
INSIDE void skin_look(const Skin *skin, int v, const double *restrict x, const SkinView *view) {
    const size_t wide = (size_t)skin->wide;
    const double *p = skin->rest + 3 * (size_t)v, px = p[0], py = p[1], pz = p[2];
    skin_blend(skin, v, view->n);
    for (size_t i = 0; i < 3; i++) {
        const double *n = view->n + 4 * i * wide;
        double *restrict r = view->r + i * wide;
        for (size_t f = 0; f < wide; f++) {
            r[f] = x[i * wide + f] - (n[f] * px + n[wide + f] * py + n[2 * wide + f] * pz + n[3 * wide + f]);
        }
    }
}

/* r -= c L d, for a displacement d of the rest that acts with c [wide] */
INSIDE void skin_take(const SkinView *view, size_t wide, const double *restrict c, const double d[3]) {
    const double x = d[0], y = d[1], z = d[2];
    for (size_t i = 0; i < 3; i++) {
        const double *l = view->n + 4 * i * wide;
        double *restrict r = view->r + i * wide;
        for (size_t f = 0; f < wide; f++) {
            r[f] -= c[f] * (l[f] * x + l[wide + f] * y + l[2 * wide + f] * z);
        }
    }
}

/* q */
INSIDE void skin_square(const SkinView *view, size_t wide) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    for (int i = 0; i < 6; i++) {
        const double *a = view->n + (size_t)row[i] * wide, *b = view->n + (size_t)column[i] * wide;
        double *restrict q = view->q + (size_t)i * wide;
        for (size_t f = 0; f < wide; f++) {
            q[f] = a[f] * b[f] + a[4 * wide + f] * b[4 * wide + f] + a[8 * wide + f] * b[8 * wide + f];
        }
    }
}

/* g */
INSIDE void skin_pull(const SkinView *view, size_t wide) {
    for (size_t j = 0; j < 3; j++) {
        const double *l = view->n + j * wide, *r = view->r;
        double *restrict g = view->g + j * wide;
        for (size_t f = 0; f < wide; f++) {
            g[f] = l[f] * r[f] + l[4 * wide + f] * r[wide + f] + l[8 * wide + f] * r[2 * wide + f];
        }
    }
}

/* sum_f a b, in lanes */
INSIDE double skin_dot(const double *a, const double *b, size_t wide) {
    double sum[SKIN_LANES] = {0};
    for (size_t f = 0; f < wide; f += SKIN_LANES) {
        for (size_t i = 0; i < SKIN_LANES; i++) {
            sum[i] += a[f + i] * b[f + i];
        }
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#endif
