/* synthetic.h - made-up moving meshes with a known rig, and checks on the rigs that come back.
 *
 *     x[f][v] = sum_k weight[v][k] * transforms[f][bone[v][k]] * rest~[v]  (+ noise)
 *
 * and with correctives p[f][v] = rest[v] + sum_n coefficient[f][n] field[n][v] in place of the rest.
 *
 * Every bone owns a patch of the surface with weight 1 and fades out smoothly into its nearest
 * neighbours, at most K a vertex; it swings about the middle of its patch along a smooth path. Jointed
 * bones hang on the nearest one instead, turn about a joint half way to it, and only bone 0 also moves. */
#ifndef OSSIFY_SYNTHETIC_H
#define OSSIFY_SYNTHETIC_H

#include "ossify.h"

typedef enum Shape {
    SHAPE_GRID, /* a bent sheet */
    SHAPE_TUBE, /* a tapering, curved tentacle */
    SHAPE_BLOBS /* bumpy balls */
} Shape;

/* 0 stands for the default of a field. */
typedef struct SyntheticOptions {
    Shape shape;
    int vertices;    /* 600; in all, met as nearly as the shape allows (poses.vertex_count says) */
    int frames;      /* 20 */
    int bones;       /* 4; with fewer bones than shells, shells share bones */
    int influences;  /* 2 */
    int shells;      /* 1 */
    int flexible;    /* 1: bones also stretch and shear */
    int faceless;    /* 1: no triangles */
    int jointed;     /* 1: bones hang together */
    int hinges;      /* 1: and turn about one axis each */
    int stiff;       /* and every so many of them hardly turn; 0: none */
    int stretch;     /* 1: and joints slide along the line from the parent's joint */
    int correctives; /* how many; each smaller than the one before */
    int halved;      /* 1: and only on the second half of the vertices */
    double motion;   /* 0.7 radians of swing */
    double noise;    /* standard deviation added to the frames; the mesh measures about 2 */
    uint64_t seed;
} SyntheticOptions;

/* A rig with room for an answer; the arrays are its own. */
typedef struct Answer {
    ossify_rig rig;
    ossify_info info;
} Answer;

typedef struct Synthetic {
    ossify_poses poses; /* ready to pass on */
    ossify_rig truth;   /* ready to pass on, everything given */
    ossify_skeleton
        skeleton; /* parents, joints, kinds and axes of jointed bones; of others without parents */
    float *rest;  /* the arrays the two point into, free to be changed */
    float *frames;
    int32_t *triangles;
} Synthetic;

Synthetic synthetic_make(SyntheticOptions options);
void synthetic_free(Synthetic *synthetic);

Answer answer_start(const ossify_poses *poses, const ossify_settings *settings);
void answer_free(Answer *answer);
/* Room for correctives, in place of what there is. */
void answer_correctives(const ossify_poses *poses, int64_t capacity, Answer *answer);
/* A deep copy of a rig for these poses. */
Answer answer_of(const ossify_poses *poses, const ossify_rig *rig);
/* 1 when both rigs hold the same bits. */
int rigs_are_equal(const ossify_poses *poses, const ossify_rig *a, const ossify_rig *b);

/* A skeleton with room for so many bones, all of them roots; its arrays are its own. */
ossify_skeleton skeleton_start(int64_t bones);
void skeleton_free(ossify_skeleton *skeleton);
/* A deep copy. */
ossify_skeleton skeleton_of(const ossify_skeleton *skeleton);
int skeletons_are_equal(const ossify_skeleton *a, const ossify_skeleton *b);

/* Checks (test.h) what must hold for any rig: indices and order of influences, weights >= 0 that sum
 * to 1, finite numbers, rigid bones orthonormal with det +1. */
void check_rig(const ossify_poses *poses, const ossify_rig *rig, int rigid);

/* Root mean square distance of the replayed rig, in the input's units; `most` (may be NULL): largest. */
double replay_error(const ossify_poses *poses, const ossify_rig *rig, double *most);

#endif
