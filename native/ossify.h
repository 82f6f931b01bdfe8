/* ossify.h - turn a moving mesh into bones, weights and transforms.
 *
 * The model (linear blend skinning): with p~ = (rest, 1),
 *
 *     x[f][v]  ~  sum_k  weight[v][k] * transforms[f][bone[v][k]] * p~[v]
 *
 * to which animation space adds sum_k transforms[f][bone[v][k]] * corrections[v][k]; and with correctives p[f][v] = rest[v] + sum_n coefficients[f][n] * fields[n][v] in place of the rest.
 *
 * Letters everywhere: v vertex, f frame, b bone, k influence, n corrective. Arrays are C order
 * and belong to the caller. Positions and weights are float; transforms are
 * double, because far from the origin rotation * rest and the translation cancel.
 *
 * Status: >= 0 means that the rig holds a complete answer; < 0 means that nothing
 * in the rig was written, and info.message says in one sentence what is wrong,
 * where, and what to do. The library never prints, exits, installs handlers or
 * keeps state between calls; any number of calls may run at the same time.
 *
 * Every struct opens with its own size. Set it with the OSSIFY_INIT macros or by
 * hand; a caller compiled against another version is refused with a sentence.
 * Fields are 8 bytes each: no padding, no enum-typed fields, easy to mirror. */
#ifndef OSSIFY_H
#define OSSIFY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define OSSIFY_API __declspec(dllexport)
#elif defined(__GNUC__)
#define OSSIFY_API __attribute__((visibility("default")))
#else
#define OSSIFY_API
#endif

enum {
    OSSIFY_MESSAGE_LENGTH = 256,
    OSSIFY_MAX_INFLUENCES = 16,
    OSSIFY_MAX_BONES = 1024,
    OSSIFY_MAX_CORRECTIVES = 256,
    OSSIFY_MAX_VIRTUAL_BONES = 65536,
    OSSIFY_MAX_BLENDED = 4, /* virtual bones a vertex */
    OSSIFY_MAX_SUBJECTS = 4096,
    OSSIFY_JOINT_VERTICES = 8 /* that tell where a joint is */
};

/* status */
enum {
    OSSIFY_CONVERGED = 0,         /* the error no longer falls */
    OSSIFY_OUT_OF_ITERATIONS = 1, /* a usable rig; more iterations would lower the error */
    OSSIFY_REACHED = 2,           /* settings.until was reached */
    OSSIFY_BAD_ARGUMENT = -1,     /* message names the array, the index and the value */
    OSSIFY_OUT_OF_MEMORY = -2,
    OSSIFY_CANCELLED = -3,     /* by the caller; the rig is untouched */
    OSSIFY_THREAD_FAILED = -4, /* the system refused a thread */
    OSSIFY_NO_ANSWER = -5      /* what came out is no rig: message names the first number at fault */
};

/* settings.bone_kind */
enum { OSSIFY_RIGID = 0, OSSIFY_FLEXIBLE = 1 };

/* settings.quality */
enum { OSSIFY_DRAFT = 0, OSSIFY_NORMAL = 1, OSSIFY_BEST = 2 };

/* settings.rest_mode */
enum {
    OSSIFY_REST_FIXED = 0, /* the given rest pose is not touched */
    OSSIFY_REST_KEPT = 1,  /* corrected, the given rest counting as one more frame */
    OSSIFY_REST_FREE = 2,  /* corrected for the frames alone (SSDR) */
    OSSIFY_REST_SMOOTH = 3 /* moved as a smooth field: neighbours move together */
};

/* settings.start: how the first bones are found; docs/starts.md */
enum {
    OSSIFY_START_GROWN = 0,    /* bones added where the error is most */
    OSSIFY_START_FACES = 1,    /* patches merged by Rigid Error Functions (Schaefer & Yuksel 2007) */
    OSSIFY_START_SPECTRAL = 2, /* spectral clustering of rotations (Hasler et al. 2010) */
    OSSIFY_START_TRIED = 3     /* all of them on a sample, and the best goes on */
};

/* settings.connect: what speaks for a joint between two bones; docs/skeleton.md */
enum {
    OSSIFY_CONNECT_BOTH = 0,    /* the surface they share and a joint that holds */
    OSSIFY_CONNECT_OVERLAP = 1, /* weights they share alone (Schaefer & Yuksel 2007) */
    OSSIFY_CONNECT_STABLE = 2   /* a joint that holds alone (Hasler et al. 2010) */
};

/* settings.relocate: which bones of a given rig may leave their place; docs/refit.md */
enum {
    OSSIFY_RELOCATE_NONE = 0, /* every bone stays where it is */
    OSSIFY_RELOCATE_SOME = 1, /* those of which nothing is held, for a place where they are worth more */
    OSSIFY_RELOCATE_ALL = 2   /* the same; and where nothing at all is held, all are looked for anew, too */
};

/* settings.budget_kind */
enum {
    OSSIFY_BUDGET_NONE = 0,
    OSSIFY_BUDGET_RMS = 1,
    OSSIFY_BUDGET_MAXIMUM = 2,
    OSSIFY_BUDGET_PARTS = 3,   /* as many bones as an articulated body has parts; `budget` is not read */
    OSSIFY_BUDGET_NORMALS = 4, /* info.normal_degrees; needs triangles, as the next one does */
    OSSIFY_BUDGET_BUMPS = 5    /* info.bumps */
};

/* progress.stage, and the index of info.stage_seconds */
enum {
    OSSIFY_STAGE_PREPARE = 0,  /* order the vertices, find the surface's graph */
    OSSIFY_STAGE_START = 1,    /* first bones */
    OSSIFY_STAGE_EXPLORE = 2,  /* bones inserted and removed, on a sample if the mesh is large */
    OSSIFY_STAGE_REFINE = 3,   /* descent on all vertices and frames */
    OSSIFY_STAGE_FINISH = 4,   /* last weights, measured error */
    OSSIFY_STAGE_SKELETON = 5, /* edges, joints, root; bones that only turn about joints */
    OSSIFY_STAGE_CORRECT = 6,  /* correctives */
    OSSIFY_STAGE_SPACE = 7,    /* a rest position for every bone of a vertex */
    OSSIFY_STAGE_COMPRESS = 8, /* virtual bones */
    OSSIFY_STAGE_UNWRAP = 9,   /* a map for the motion */
    OSSIFY_STAGES = 10
};

/* What was observed. */
typedef struct ossify_poses {
    int64_t struct_size;
    int64_t vertex_count;
    int64_t frame_count;
    int64_t triangle_count;
    const float *rest;        /* [v][3]; NULL: a bind shape is synthesised from the frames */
    const float *frames;      /* [f][v][3] */
    const int32_t *triangles; /* [t][3]; NULL when triangle_count is 0 */
    /* 0, 1: one body. More: of several bodies, the same vertices in the same order, rest is [s][v][3], and
     * so are the rest of a rig and, [s][b][3], the joints of a skeleton; weights and tree are shared,
     * transforms go from the rest of the frame's own subject. Known to ossify_decompose, _connect,
     * _articulate, _correct and _evaluate; see docs/subjects.md */
    int64_t subject_count;
    const int32_t *subject; /* [f] whose frame it is; not read of one body */
} ossify_poses;

typedef struct ossify_progress {
    int64_t struct_size;
    int64_t finished; /* 1 once the verb has ended: ossify_job_finish will not wait */
    int64_t stage;
    int64_t iterations;
    int64_t bones;
    double fraction; /* 0..1 of the whole call, never falls */
    double erms;     /* so far; < 0 while unknown */
} ossify_progress;

/* All memory goes through these when both are set; `allocate` may return NULL. */
typedef void *(*ossify_allocate)(void *user, uint64_t bytes);
typedef void (*ossify_release)(void *user, void *memory);
/* Called on the solving thread; a value other than 0 cancels. */
typedef int64_t (*ossify_watch)(void *user, const ossify_progress *progress);

typedef struct ossify_settings {
    int64_t struct_size;
    int64_t bones;       /* 1..OSSIFY_MAX_BONES; with a budget: the most bones allowed */
    int64_t influences;  /* most bones a vertex, 1..OSSIFY_MAX_INFLUENCES; 4 */
    int64_t bone_kind;   /* OSSIFY_RIGID */
    int64_t quality;     /* OSSIFY_NORMAL */
    int64_t rest_mode;   /* OSSIFY_REST_KEPT */
    int64_t locality;    /* 1: each bone's influence is one connected region; 0: plain least squares */
    int64_t start;       /* OSSIFY_START_GROWN */
    int64_t budget_kind; /* OSSIFY_BUDGET_NONE: `bones` is the count */
    double budget;       /* percent of the diagonal of the rest's bounding box; degrees of normals; mean
                          * edges of bumps */
    double smoothness;   /* 0..1000, 1: how strongly weights follow their neighbours' mean; needs locality */
    double fairness;     /* 0..1000, 10: how much more it counts that neighbours miss apart than that both
                          * miss; 0: plain least squares. docs/decomposition.md */
    double until;        /* stop as soon as E_RMS is at or below this; 0: never */
    int64_t iterations;  /* most iterations of the last stage; 0: by quality */
    int64_t threads;     /* 1..256; 0: one for each core. The answer does not depend on it */
    int64_t seed;        /* of every random choice */
    int64_t relocate;    /* of a given rig: OSSIFY_RELOCATE_NONE */
    int64_t jointed;     /* 1: rigid bones are looked for that a skeleton can join, with joints that hold; 0:
                          * those of the least error */
    int64_t connect;     /* OSSIFY_CONNECT_BOTH */
    double start_tolerance; /* E_RMS: starts that merge patches go on below the count while a union moves as
                             * rigidly as that; what is then missing grows. 0: to the count */
    ossify_allocate allocate;
    ossify_release release;
    void *memory_user;
    ossify_watch watch;
    void *watch_user;
} ossify_settings;

/* rig.given, what the rig already holds; a sum of */
enum { OSSIFY_GIVEN_NOTHING = 0, OSSIFY_GIVEN_TRANSFORMS = 1, OSSIFY_GIVEN_WEIGHTS = 2 };

/* In and out: the descent starts from what is given in it.
 * Given transforms or weights fix the number of bones to `bones`.
 * `rest` goes out as corrected; with OSSIFY_GIVEN_* it also comes in: fill it with the
 * rest pose that the given rig belongs to (a copy of poses.rest if it was not corrected).
 * Given weights of a vertex that is not held need not sum to 1: they count as shares of what is left beside
 * held groups, and a vertex without any finds its bones itself.
 * What is held comes back equal to the bit; NULL: nothing of the kind is held. See docs/refit.md. */
typedef struct ossify_rig {
    int64_t struct_size;
    int64_t bone_capacity;          /* b of the arrays; at least settings.bones */
    int64_t influences;             /* k of the arrays; at least settings.influences. More than
                                     * OSSIFY_MAX_INFLUENCES only ossify_compress and ossify_evaluate take */
    int64_t bones;                  /* in with given, out always: bones in use */
    int64_t given;                  /* in */
    double *transforms;             /* [f][bone_capacity][3][4] rest to frame */
    int32_t *influence_bones;       /* [v][k], strongest first, -1 unused */
    float *influence_weights;       /* [v][k], 0 unused, sum 1 */
    float *rest;                    /* [v][3] */
    const uint8_t *held_transforms; /* [f][bones] not 0: the bone's transform of the frame is held */
    const uint8_t *held_vertices;   /* [v] not 0: all weights of the vertex are held */
    const uint8_t *held_groups;     /* [bones] not 0: the bone's weights are held on every vertex, also where
                                     * it has none */
    const uint8_t *held_rest;       /* [v] not 0: the vertex's rest position is held */
    int64_t corrective_capacity;    /* n of the arrays; 0: none */
    int64_t correctives;  /* in use; must be 0 for verbs that solve bones, which know nothing of them */
    float *fields;        /* [n][v][3] added to the rest before it is skinned */
    double *coefficients; /* [f][n] how much of each */
} ossify_rig;

/* skeleton.joint_kinds */
enum {
    OSSIFY_JOINT_ROOT = 0,  /* no parent */
    OSSIFY_JOINT_BALL = 1,  /* turns about a point */
    OSSIFY_JOINT_HINGE = 2, /* turns about an axis; where along it is a guess */
    OSSIFY_JOINT_STIFF = 3, /* hardly turns: the two bones could be one */
    OSSIFY_JOINT_LOOSE = 4  /* the two bones have no point in common: a guess */
};

/* skeleton.symmetry */
enum {
    OSSIFY_SYMMETRY_NONE = 0,
    OSSIFY_SYMMETRY_FOUND = 1, /* the plane is looked for; without one the body counts as lopsided */
    OSSIFY_SYMMETRY_GIVEN = 2  /* skeleton.plane is the plane; a message tells when it mirrors no bone */
};

/* A hierarchy for the bones of a rig. Arrays are the caller's, one item a bone. */
typedef struct ossify_skeleton {
    int64_t struct_size;
    int64_t bone_capacity; /* b of the arrays; at least rig.bones */
    int64_t root;     /* in: the root, -1: found; out: the root, of several the one of the largest tree */
    int64_t forest;   /* in: 1: bones that share no surface stay in trees of their own */
    int64_t symmetry; /* in: OSSIFY_SYMMETRY_*; out: NONE when no plane was found */
    int64_t stretch;  /* in: 1: articulated bones may also change their length */
    int64_t demanded_count;   /* in */
    int64_t forbidden_count;  /* in */
    const int32_t *demanded;  /* in: [n][2] bones that must be joined */
    const int32_t *forbidden; /* in: [n][2] bones that must not be */
    /* in, of ossify_articulate: [bones] not 0: the joint to the parent stays where it is; NULL: none */
    const uint8_t *held_joints;
    /* in, of ossify_articulate: [bones] 0: the joint to the parent holds; > 0, up to 1e6: it is soft,
     * pulled together by so many times the smaller bone's vertices; NULL: all hold */
    const double *stiffness;
    double plane[4]; /* n.x = d with n of length 1: in when given, out when found */
    /* out of ossify_connect, and in of ossify_articulate: */
    int32_t *parents;     /* [b], -1 at a root */
    int32_t *joint_kinds; /* [b]; out of ossify_articulate, too */
    int32_t *mirrors;     /* [b] the bone on the other side, itself in the middle, -1: none */
    double *joints;       /* [b][3] the joint to the parent in rest; the root's own origin; out again */
    double *axes;         /* [b][3] what a hinge turns about, length 1; 0 for others; out again */
    /* out of both: */
    double *angles; /* [b] root mean square angle to the parent, radians */
    double *drifts; /* [b] how far the two bones pull the joint apart, root mean square, percent
                               * of the diagonal of the rest's box */
} ossify_skeleton;

typedef struct ossify_info {
    int64_t struct_size;
    int64_t status;
    int64_t bones;
    int64_t iterations;     /* of the last stage */
    double erms;            /* 1000 sqrt(sum |x - y|^2 / (3 V F)), the rest scaled to the tight unit sphere */
    double rms_percent;     /* root mean square distance, percent of the rest's box diagonal */
    double maximum_percent; /* largest distance, likewise */
    /* root mean square angle of the faces' normals to the observed ones, weighted by area */
    double normal_degrees;
    double bumps; /* root mean square of r_v - mean of r beside v, r = replayed - observed, in mean edges */
    double rest_normal_degrees; /* both of the rest pose against the given one; */
    double rest_bumps;          /* these four -1 without triangles, or without a rest pose to compare with */
    double rest_percent; /* root mean square distance of the rest pose from the given one, percent as above */
    double stage_seconds[OSSIFY_STAGES];
    char message[OSSIFY_MESSAGE_LENGTH]; /* one sentence; empty when there is nothing to say */
} ossify_info;

/* What a rig replays, measured against the poses. Arrays may be NULL. */
typedef struct ossify_evaluation {
    int64_t struct_size;
    float *frames;        /* [f][v][3] as replayed */
    double *vertex_error; /* [v] root mean square distance over the frames, in the input's units */
    double *frame_error;  /* [f] root mean square distance over the vertices, likewise */
    /* [v] root mean square angle of the normals of the faces around, -1 without triangles */
    double *vertex_degrees;
    double erms;
    double rms; /* input's units */
    double maximum;
    double diagonal;              /* of the rest's bounding box */
    double radius;                /* of the rest's tight sphere */
    double normal_degrees, bumps; /* as in ossify_info; so the next two */
    double rest_normal_degrees, rest_bumps;
    double rest_moved; /* root mean square, input's units */
    int64_t worst_vertex;
    int64_t worst_frame;
} ossify_evaluation;

/* correction.support */
enum {
    OSSIFY_SUPPORT_WHOLE = 0, /* a field may act everywhere */
    OSSIFY_SUPPORT_JOINTS = 1 /* it acts around one joint and fades out with the weights of its two bones */
};

/* What correctives shall be. See docs/correctives.md. */
typedef struct ossify_correction {
    int64_t struct_size;
    int64_t count;          /* 0..OSSIFY_MAX_CORRECTIVES in all; with a budget: the most allowed. 5 */
    int64_t budget_kind;    /* OSSIFY_BUDGET_NONE: `count` is the count; OSSIFY_BUDGET_RMS or _MAXIMUM */
    double budget;          /* percent of the diagonal of the rest's bounding box: the fewest that meet it */
    int64_t support;        /* OSSIFY_SUPPORT_WHOLE */
    double smoothness;      /* 0..1000, 0: how strongly fields follow their neighbours, for noisy poses */
    int64_t solve_rest;     /* 0: the rest is held; 1: solved with the fields, as settings.rest_mode says */
    int64_t refine;         /* 0: bones and weights are held; 1: solved with the fields, each by itself */
    const int32_t *parents; /* [bones], -1 at a root; for OSSIFY_SUPPORT_JOINTS. NULL: every bone by itself */
    const uint8_t *held_coefficients; /* [rig.correctives as it comes in] not 0: they stay; NULL: none */
} ossify_correction;

/* Of ossify_correct. Arrays may be NULL. */
typedef struct ossify_corrected {
    int64_t struct_size;
    int32_t *joints;  /* [rig.corrective_capacity] the bone at whose joint a field acts, -1: everywhere */
    double *gains;    /* [rig.corrective_capacity] by how much info.rms_percent would rise without it */
    double bare_erms; /* of the rig without correctives */
} ossify_corrected;

/* Animation space, beside a rig: what each bone adds to linear blend skinning,
 *     x[f][v]  ~  ... + sum_k transforms[f][bones[v][k]] * corrections[v][k]
 * so that corrections + weight * (rest, 1) are the positions of Merry et al. 2006. See docs/animation-space.md. */
typedef struct ossify_space {
    int64_t struct_size;
    int64_t influences; /* k of the arrays, at least rig.influences */
    int64_t given;      /* in: 1: it holds corrections, which stay; out: 1 */
    int32_t *bones;     /* [v][k], -1 unused */
    float *corrections; /* [v][k][4] in coordinates of the rest; their last numbers sum to 0 for a vertex */
} ossify_space;

/* space_fit.bones */
enum {
    OSSIFY_SPACE_OWN = 0,   /* corrections for the bones that a vertex has weight on */
    OSSIFY_SPACE_PADDED = 1 /* and, in what is left of its room, for those of its neighbours */
};

/* space_fit.form */
enum {
    OSSIFY_SPACE_CORRECTIONS = 0, /* corrections are smooth over the surface, and small */
    OSSIFY_SPACE_POSITIONS = 1    /* positions are smooth (Merry et al., Eq. 18); damping is not read */
};

/* How ossify_animation_space fits. */
typedef struct ossify_space_fit {
    int64_t struct_size;
    int64_t bones; /* OSSIFY_SPACE_OWN */
    int64_t form;  /* OSSIFY_SPACE_CORRECTIONS */
    /* 1: the corrections of a vertex sum to 0, and so vanish in the rest pose; 0: the rest is a pose like
     * the others */
    int64_t rest_exact;
    int64_t rounds;    /* 0..100, 0: how often bones are solved again, and the corrections after them */
    double smoothness; /* 0..1e6, 1e-3: how strongly neighbours are held together */
    double damping;    /* 0..1e6, 1e-2: how strongly corrections are held at 0 */
    /* [rig.bones], -1 at a root: bones only turn about their joints, and roots move, too. NULL: all are
     * free. Rigid bones, none of them held */
    const int32_t *parents;
    const double *joints; /* [rig.bones][3] to the parent, in coordinates of the rest; not read at a root */
} ossify_space_fit;

/* pose_model.kind: over which poses is averaged (Merry et al. 2006, 5.1), from what few to what many assumptions */
enum {
    OSSIFY_POSES_SEEN = 0,         /* the frames of the rig, as they are */
    OSSIFY_POSES_JOINTS = 1,       /* joints are independent of each other */
    OSSIFY_POSES_COMPONENTS = 2,   /* and each joint's linear part of its translation */
    OSSIFY_POSES_TRANSLATIONS = 3, /* and translations are those of the skeleton */
    OSSIFY_POSES_ROTATIONS = 4,    /* and there is no scale: rotations as the frames have them */
    OSSIFY_POSES_UNIFORM = 5       /* all rotations are as likely */
};

/* Poses to average over. */
typedef struct ossify_pose_model {
    int64_t struct_size;
    int64_t kind;           /* OSSIFY_POSES_SEEN */
    const int32_t *parents; /* [rig.bones], one of them -1; of poses as they were seen neither is read */
    /* [rig.bones][3] to the parent, in coordinates of the rest; the root's own origin */
    const double *joints;
} ossify_pose_model;

/* Of ossify_average: P = E[G'G], so that s'P t is the mean of G s . G t over the poses. */
typedef struct ossify_average {
    int64_t struct_size;
    double *products; /* [bones][4][bones][4], symmetric */
    double *edges;    /* [triangles][3] mean squared length from each corner to the next; NULL: not wanted */
} ossify_average;

/* compression.source */
enum {
    OSSIFY_SOURCE_WEIGHTS = 0, /* the rig's weights are to be met, whatever moves */
    OSSIFY_SOURCE_POSES = 1    /* the poses are */
};

/* compression.method */
enum {
    OSSIFY_COMPRESS_EXACT = 0,  /* every step the optimum under its constraints */
    OSSIFY_COMPRESS_PRINTED = 1 /* the paper's algorithm as it is printed: two a vertex, affine */
};

/* What the two layers shall be. See docs/two-layer.md. */
typedef struct ossify_compression {
    int64_t struct_size;
    /* 0..OSSIFY_MAX_VIRTUAL_BONES; with a tolerance: the most allowed. 100. 0: none, and dense weights are
     * solved for the poses */
    int64_t virtual_bones;
    int64_t masters;    /* most masters a virtual bone, 1..OSSIFY_MAX_BONES; 8 */
    int64_t influences; /* most virtual bones a vertex, 2..OSSIFY_MAX_BLENDED; 4 */
    int64_t source;     /* OSSIFY_SOURCE_WEIGHTS */
    int64_t method;     /* OSSIFY_COMPRESS_EXACT */
    int64_t affine;     /* 0: blends are convex; 1: they may be negative, and sum to 1 */
    int64_t refine;     /* 0: the masters are held; 1: they and the rest are solved with the layers */
    double tolerance;   /* layers.delta at which no more virtual bones come; 0: never */
} ossify_compression;

/* Of ossify_compress. Arrays are the caller's. */
typedef struct ossify_layers {
    int64_t struct_size;
    int64_t count;            /* virtual bones in use */
    int32_t *virtual_bones;   /* [compression.virtual_bones][masters] strongest first, -1 unused */
    float *virtual_weights;   /* likewise, 0 unused, sum 1 */
    int32_t *influence_bones; /* [v][compression.influences] over virtual bones, as those of a rig */
    float *influence_weights;
    double delta;      /* 1000 sqrt(sum of squares of D A - W, by bones and vertices), Eq. 1a; from poses
                        * 1000 sqrt(what the squared E_RMS is above that of dense weights), Eq. 7a */
    double dense_erms; /* E_RMS of dense weights on the same bones; -1 from weights */
} ossify_layers;

/* driving.form, driven.form */
enum {
    OSSIFY_DRIVEN_WHOLE = 0,  /* every field is driven by all joints */
    OSSIFY_DRIVEN_JOINTS = 1, /* a field acts around one joint and is driven by that one alone */
    OSSIFY_DRIVEN_FOUND = 2   /* the one that serves frames better that it has not seen */
};

/* What shall drive correctives. See docs/correctives.md. */
typedef struct ossify_driving {
    int64_t struct_size;
    int64_t count;          /* of fields that all joints drive, 0..OSSIFY_MAX_CORRECTIVES; 5 */
    int64_t joint_count;    /* of fields of one joint each, likewise; 20 */
    int64_t form;           /* OSSIFY_DRIVEN_FOUND */
    const int32_t *parents; /* [bones], -1 at a root */
    /* [bones][3] in the rest, where a bone turns about its parent: how far it shifts from there may drive
     * fields of all joints; NULL: turns alone drive */
    const double *pivots;
} ossify_driving;

/* Of ossify_drive. Arrays may be NULL. The errors are E_RMS of frames that were left out, a block at a time; -1 when
 * there are too few. */
typedef struct ossify_driven {
    int64_t struct_size;
    int64_t form;    /* of the fields */
    int32_t *joints; /* [rig.corrective_capacity] the bone whose joint drives a field, -1: all */
    /* [rig.corrective_capacity][bones][9] coefficient = sum of map times the entries of R - I, row-major,
     * with R = R(parent)^-1 R(bone) of the transforms; roots have none */
    double *map;
    /* [rig.corrective_capacity][bones][3] and of them times M(parent)^-1 M(bone) p~ - p, p the pivot */
    double *shifts;
    double bare_erms;   /* without fields */
    double keyed_erms;  /* with the best coefficients for fields that all joints would drive */
    double whole_erms;  /* with coefficients driven by all joints */
    double joints_erms; /* with fields of one joint each */
} ossify_driven;
/* unwrapping.method */
enum {
    OSSIFY_UNWRAP_STRETCH = 0,   /* the texture is stretched least, and nothing flips */
    OSSIFY_UNWRAP_ISOMETRIC = 1, /* nor is it squeezed (symmetric Dirichlet energy), and nothing flips */
    OSSIFY_UNWRAP_CONFORMAL = 2 /* angles are kept, in the L2,2 metric, to compare with (Merry et al. 2006) */
};

/* unwrapping.place */
enum {
    OSSIFY_UNWRAP_KEPT = 0,  /* islands stay where they are, and the map as large as it is */
    OSSIFY_UNWRAP_PACKED = 1 /* they are packed into the unit square */
};

/* How ossify_unwrap unwraps. See docs/unwrap.md. */
typedef struct ossify_unwrapping {
    int64_t struct_size;
    int64_t method;     /* OSSIFY_UNWRAP_STRETCH */
    int64_t place;      /* OSSIFY_UNWRAP_KEPT */
    int64_t iterations; /* most steps an island, twice for stretch, 0..10000; 50. 0: the map is measured */
    int64_t with_rest;  /* 1: the rest pose counts as one more frame; 0 */
    double margin;      /* between packed islands, 0..0.1 of the map's side; 0.005 */
    const float *uv;    /* [t][3][2] the map to begin with, a place for each corner; what differs is a seam */
} ossify_unwrapping;

/* Of ossify_unwrap. Arrays are the caller's. */
typedef struct ossify_unwrapped {
    int64_t struct_size;
    float *uv;                 /* [t][3][2]; may be unwrapping.uv */
    float *triangle_stretch;   /* [t] root mean square over the frames, 1 at best; may be NULL, as the next */
    int32_t *triangle_islands; /* [t] */
    int64_t islands;
    int64_t restarted; /* islands that had flips, and began as a disc */
    int64_t left;      /* islands that had flips and no disc can become: as they were */
    /* triangles that lie the other way than their island, or have no area in the map */
    int64_t flipped_before;
    int64_t flipped;
    double stretch_before; /* percent by which Sander's L2 stretch is above 1, mean over the frames */
    double stretch;
    double rest_stretch_before; /* the same in the rest pose; -1: there is none */
    double rest_stretch;
} ossify_unwrapped;

/* Where ossify_add_bone puts the bone. */
typedef struct ossify_place {
    int64_t struct_size;
    int64_t vertex; /* around this one; -1: where the error is most */
    int64_t split;  /* out of this bone; -1: out of all around */
} ossify_place;

/* Of ossify_bone_costs. */
typedef struct ossify_costs {
    int64_t struct_size;
    double *costs; /* [rig.bones] */
} ossify_costs;

/* How ossify_prune_weights prunes. */
typedef struct ossify_fewer {
    int64_t struct_size;
    int64_t influences; /* most bones a vertex, 1..OSSIFY_MAX_INFLUENCES */
} ossify_fewer;

/* How ossify_smooth_weights smooths. */
typedef struct ossify_smoother {
    int64_t struct_size;
    int64_t influences; /* most bones a vertex, 1..rig.influences; one that has more keeps as many */
    int64_t rounds;     /* 1..100: how many edges far a weight can spread */
    double budget;      /* how much the root mean square distance may rise, in the input's units */
} ossify_smoother;

/* Several bodies of the same vertices in the same order, each in some of the frames. See docs/subjects.md. */
typedef struct ossify_subjects {
    int64_t struct_size;
    int64_t count;          /* 1..OSSIFY_MAX_SUBJECTS */
    int64_t joined;         /* 1: bones are joined to one tree, with joints of each subject's own */
    const float *rest;      /* [count][v][3] */
    const int32_t *subject; /* [f] whose frame it is */
} ossify_subjects;

/* Of ossify_unite. Arrays are the caller's; the last two may be NULL unless bones are joined. */
typedef struct ossify_united {
    int64_t struct_size;
    int64_t root;     /* -1: not joined */
    float *rest;      /* [count][v][3] as corrected */
    int32_t *parents; /* [rig.bone_capacity], -1 at the root */
    double *joints;   /* [count][rig.bone_capacity][3] to the parent, in rest; the root's own origin */
} ossify_united;

/* shaping.kind */
enum {
    OSSIFY_SHAPE_RIGID = 0, /* bones turn and move */
    OSSIFY_SHAPE_SCALED =
        1 /* and are scaled before that, along the axes of the mean body: M = [R diag(s), t] */
};

/* How ossify_shape_bones shapes. */
typedef struct ossify_shaping {
    int64_t struct_size;
    int64_t kind; /* OSSIFY_SHAPE_RIGID */
    /* 1: weights and rest of the rig, which are given, stay: the bones of other bodies alone are solved */
    int64_t held;
} ossify_shaping;

/* merging.tree: where shape bones hang; docs/subjects.md has what each costs */
enum {
    OSSIFY_MERGE_SPANNED =
        0, /* each once, between and beneath pose bones, by the weights they share (Hasler et al. 2010) */
    OSSIFY_MERGE_LEAVES =
        1 /* beneath pose bones, without children, as many as there shall be; those carry no flesh */
};

/* What ossify_merge merges: pose bones of several subjects and shape bones of their bodies, of the same vertices in the
 * same order. */
typedef struct ossify_merging {
    int64_t struct_size;
    int64_t tree;          /* OSSIFY_MERGE_SPANNED */
    int64_t leaves;        /* of OSSIFY_MERGE_LEAVES: how many, at least pose_bones */
    int64_t subject_count; /* 1..OSSIFY_MAX_SUBJECTS */
    int64_t pose_bones, pose_influences;
    int64_t shape_bones, shape_influences;
    const float *subject_rest;       /* [subject_count][v][3] */
    const int32_t *subject;          /* [f] whose frame it is */
    const int32_t *pose_parents;     /* [pose_bones], -1 at the one root */
    const double *pose_joints;       /* [subject_count][pose_bones][3] */
    const double *pose_transforms;   /* [f][pose_bones][3][4] from the subject's own rest; they stay */
    const int32_t *pose_influenced;  /* [v][pose_influences] bones, -1 unused */
    const float *pose_weights;       /* [v][pose_influences] */
    const int32_t *shape_influenced; /* [v][shape_influences] likewise */
    const float *shape_weights;      /* [v][shape_influences] */
    /* [shape_bones], -1 at roots, of OSSIFY_MERGE_SPANNED: shape bones that may be joined to each other;
     * NULL: none */
    const int32_t *shape_parents;
} ossify_merging;

/* Of ossify_merge. Arrays are the caller's. */
typedef struct ossify_merged {
    int64_t struct_size;
    /* [rig.bone_capacity], -1 at the root; first pose bones as they came, then shape bones */
    int32_t *parents;
    int32_t *carriers; /* [rig.bone_capacity] the pose bone that a bone goes with, a pose bone itself */
    double *joints;    /* [rig.bone_capacity][3] in the rig's rest */
    double *shapes;    /* [subject_count][rig.bone_capacity][3][4] from the rig's rest to the subject's own */
} ossify_merged;

/* Bodies of the same vertices in the same order, some with a skeleton. See docs/subjects.md. */
typedef struct ossify_bodies {
    int64_t struct_size;
    int64_t known_count;    /* 1..OSSIFY_MAX_SUBJECTS bodies whose joints are known */
    int64_t count;          /* 1..OSSIFY_MAX_SUBJECTS bodies that shall have them */
    const int32_t *parents; /* [rig.bones], -1: none */
    const float *known;     /* [known_count][v][3] */
    const double *joints;   /* [known_count][rig.bones][3] */
    const float *rest;      /* [count][v][3] */
} ossify_bodies;

/* Of ossify_place_joints. Arrays are the caller's. */
typedef struct ossify_placed {
    int64_t struct_size;
    double *joints; /* [count][rig.bones][3] */
    /* [rig.bones][OSSIFY_JOINT_VERTICES] whose sum each joint is, -1 unused; none from one body */
    int32_t *vertices;
    double *shares; /* likewise, 0 unused, sum 1, of any sign */
} ossify_placed;

/* How ossify_fuse fuses. */
typedef struct ossify_fusion {
    int64_t struct_size;
    int64_t count; /* of groups, 0..OSSIFY_MAX_BONES; 0: as many as there are joints worth having */
} ossify_fusion;

/* Of ossify_fuse. */
typedef struct ossify_groups {
    int64_t struct_size;
    int64_t count;
    int32_t *leaders; /* [rig.bones] the bone that leads the bone's group, the largest of it */
} ossify_groups;

/* Of ossify_inspect: where the bones of a skeleton go. Percent of the diagonal of the rest's box. */
typedef struct ossify_conduct {
    int64_t struct_size;
    /* [rig.bones] largest distance over the frames from the head of the bone, its joint, to the nearest
     * observed vertex that it is strongest on; of one that is strongest nowhere, to the nearest at all */
    double *flights;
    double *excesses; /* [rig.bones] the same less the distance in rest, at least 0 */
    double *drifts;   /* [rig.bones] root mean square distance between the joint as the bone and as its parent
                       * move it */
    double *shares;   /* [rig.bones] of all vertices, those that it is strongest on */
    uint8_t *idle;    /* [rig.bones] 1: that is less than a thousandth */
    int32_t *limbs;   /* [rig.bones] the limb that the bone is in, -1: none; 0 is the longest */
    int32_t *foreign; /* [rig.bones] on the way to the torso, the first bone of another limb; -1: none */
    int64_t limb_count;
    int64_t torso; /* the largest bone that is in no limb */
} ossify_conduct;

/* The verbs, each also a function of its own below. */
enum {
    OSSIFY_DECOMPOSE = 0,
    OSSIFY_EVALUATE = 1,
    OSSIFY_CONNECT = 2,
    OSSIFY_ARTICULATE = 3,
    OSSIFY_BONE_COSTS = 4,      /* result: ossify_costs */
    OSSIFY_ADD_BONE = 5,        /* options: ossify_place */
    OSSIFY_PRUNE_WEIGHTS = 6,   /* options: ossify_fewer */
    OSSIFY_SMOOTH_WEIGHTS = 7,  /* options: ossify_smoother */
    OSSIFY_CORRECT = 8,         /* options: ossify_correction, result: ossify_corrected */
    OSSIFY_ANIMATION_SPACE = 9, /* options: ossify_space_fit */
    OSSIFY_COMPRESS = 10,       /* options: ossify_compression, result: ossify_layers */
    OSSIFY_DRIVE = 11,          /* options: ossify_driving, result: ossify_driven */
    OSSIFY_PLACE_JOINTS = 12,   /* options: ossify_bodies, result: ossify_placed */
    OSSIFY_UNWRAP = 13,         /* options: ossify_unwrapping, result: ossify_unwrapped */
    OSSIFY_FUSE = 14,           /* options: ossify_fusion, result: ossify_groups */
    OSSIFY_INSPECT = 15,        /* result: ossify_conduct */
    OSSIFY_UNITE = 16,          /* options: ossify_subjects, result: ossify_united */
    OSSIFY_SHAPE_BONES = 17,    /* options: ossify_shaping */
    OSSIFY_MERGE = 18,          /* options: ossify_merging, result: ossify_merged */
    OSSIFY_AVERAGE_POSES = 19,  /* options: ossify_pose_model, result: ossify_average */
    OSSIFY_VERBS = 20
};

/* What a verb works on; what it has no use for is not looked at. */
typedef struct ossify_request {
    int64_t struct_size;
    int64_t verb; /* OSSIFY_DECOMPOSE and on */
    const ossify_poses *poses;
    const ossify_settings *settings;
    ossify_rig *rig; /* not written by verbs that only read it */
    ossify_skeleton *skeleton;
    ossify_space *space; /* NULL: none, where a verb can do without */
    ossify_evaluation *evaluation;
    const void *options; /* a struct of the verb's own, */
    void *result;        /* and one for what only this verb finds */
} ossify_request;

typedef struct ossify_job ossify_job;

#define OSSIFY_INIT_POSES(poses) ((void)(*(poses) = (ossify_poses){.struct_size = sizeof(ossify_poses)}))

/* "1.2.3" */
OSSIFY_API const char *ossify_version(void);

/* Sets struct_size and the defaults named at each field. */
OSSIFY_API void ossify_default_settings(ossify_settings *settings);

/* Decomposes the motion into bones (SSDR); see docs/decomposition.md.
 *
 * Memory, besides the caller's arrays: at most twice (with fairness three times) the frames as float, 64 MB, 1 kB by bone and frame,
 * and for a surface, or points without faces, (740 + 40 influences + 40 threads + bones / 4) bytes a
 * vertex. */
OSSIFY_API int64_t ossify_decompose(const ossify_poses *poses, const ossify_settings *settings,
                                    ossify_rig *rig, ossify_info *info);

/* Replays the rig and measures it; reads the rig's arrays whatever `given` says.
 * `settings` gives the memory functions and the watcher, and may be NULL. */
OSSIFY_API int64_t ossify_evaluate(const ossify_poses *poses, const ossify_rig *rig,
                                   const ossify_settings *settings, ossify_evaluation *evaluation,
                                   ossify_info *info);

/* Joins the bones of a rig to a skeleton; see docs/skeleton.md. The rig is read only, whatever `given` says.
 * poses.frames may be NULL and is not read; poses.triangles weigh vertices by their area.
 * `settings` gives connect, memory, threads and watcher. */
OSSIFY_API int64_t ossify_connect(const ossify_poses *poses, const ossify_settings *settings,
                                  const ossify_rig *rig, ossify_skeleton *skeleton, ossify_info *info);

/* Refits a rig so that its bones only turn about the joints of a skeleton, which hold in every frame; the
 * roots also move. See docs/skeleton.md. In: a whole rig (given: transforms and weights, no transform held), and
 * its skeleton as ossify_connect left it; a joint that is held stays where it is, and a hinge begins in the middle of
 * the surface that its bones share, along its axis. Out: both; joints, axes, angles, kinds and drifts are new, a
 * joint that was loose stays marked as such unless it hardly turns. With skeleton.stretch a joint may slide along
 * the line from its parent's joint: drifts tell how far. info.erms against the rig's own tells what it costs. */
OSSIFY_API int64_t ossify_articulate(const ossify_poses *poses, const ossify_settings *settings,
                                     ossify_rig *rig, ossify_skeleton *skeleton, ossify_info *info);

/* What each bone of a whole rig is worth: costs[b], of rig.bones, is by how much info.rms_percent would rise
 * were the bone lost, its vertices solved again with those that are left and no transform changed. The rig is
 * read only, whatever `given` says; held things count as free. `settings` gives influences, locality, memory,
 * threads and watcher. */
OSSIFY_API int64_t ossify_bone_costs(const ossify_poses *poses, const ossify_settings *settings,
                                     const ossify_rig *rig, double *costs, ossify_info *info);

/* Adds one bone, the last, to a whole rig that has room for it; ossify_decompose then makes all fit. The new
 * bone takes weights from the vertices around `vertex`, or, when that is -1, around the place where the error
 * is most; with `split` >= 0, from those vertices of that bone which move least like it (the part that
 * contains `vertex`, if one is given). No transform of another bone changes, nor what is held. */
OSSIFY_API int64_t ossify_add_bone(const ossify_poses *poses, const ossify_settings *settings,
                                   ossify_rig *rig, int64_t vertex, int64_t split, ossify_info *info);

/* Fewer influences: every vertex of a whole rig keeps at most so many bones, those without which the error would rise
 * most, and their weights are solved again; with settings.fairness, in its norm. Nothing else changes, nor what is held.
 * `settings` gives memory, threads and watcher, too; so below. */
OSSIFY_API int64_t ossify_prune_weights(const ossify_poses *poses, const ossify_settings *settings,
                                        ossify_rig *rig, int64_t influences, ossify_info *info);

/* Weights of a whole rig smoothed over its triangles, most where the motion does not care, as far as the budget goes.
 * Nothing else changes, nor what is held. Memory: 8 bytes times the square of twice the influences a vertex. */
OSSIFY_API int64_t ossify_smooth_weights(const ossify_poses *poses, const ossify_settings *settings,
                                         ossify_rig *rig, const ossify_smoother *smoother, ossify_info *info);

/* Sets struct_size and the defaults named at each field. */
OSSIFY_API void ossify_default_correction(ossify_correction *correction);

/* What bones cannot show, as a few displacement fields of the rest pose and how much of each a frame has (EigenSkin,
 * Kry et al. 2002); see docs/correctives.md. In: a whole rig, whatever `given` says, with room for correction.count
 * correctives. Fields that come in, rig.correctives of them, are held, and the others are solved around them: with
 * rig.correctives equal to correction.count only coefficients are solved. Out: rig.correctives, which are fewer where
 * less is missed, fields, each scaled so that its largest coefficient is 1, and coefficients; if asked for, also the
 * rest, the weights and the transforms, but nothing that the rig holds. `settings` gives rest_mode, bone_kind, memory,
 * threads and watcher. info has the correctives in. Several subjects share the fields, as large on every body; their
 * rests and bones stay, a count is asked for, and bare_erms and gains are by the size of the first. */
OSSIFY_API int64_t ossify_correct(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                                  const ossify_correction *correction, ossify_corrected *corrected,
                                  ossify_info *info);

/* Sets struct_size and the defaults named at each field. */
OSSIFY_API void ossify_default_space_fit(ossify_space_fit *fit);

/* Animation space for a whole rig, whatever `given` says: joints that keep their volume, with the same bones. Out:
 * space, and with fit.rounds the transforms of the rig, except what it holds. With space.given the corrections stay,
 * and only bones are solved, from those of the rig on: new frames of a known character. `settings` gives bone_kind,
 * memory, threads and watcher. info has the corrections in. Memory: besides the frames' own
 * 128 bytes by pair of bones, and for every vertex 8 times (28 k + 8 k^2) bytes, k = space.influences. */
OSSIFY_API int64_t ossify_animation_space(const ossify_poses *poses, const ossify_settings *settings,
                                          ossify_rig *rig, const ossify_space_fit *fit, ossify_space *space,
                                          ossify_info *info);

/* Sets struct_size and the defaults named at each field. */
OSSIFY_API void ossify_default_compression(ossify_compression *compression);

/* Weights of many bones as two layers of few (Le & Deng 2013); see docs/two-layer.md: masters, the rig's bones, are
 * blended to virtual bones, and those to vertices,
 *
 *     V[f][j] = sum_i virtual_weights[j][i] transforms[f][virtual_bones[j][i]]
 *     x[f][v] ~ sum_k influence_weights[v][k] V[f][influence_bones[v][k]] p~[v]
 *
 * In: a whole rig, whatever `given` says, here with any number of influences up to its bones. Out: the layers, and the
 * rig as it came unless `refine` is set; without virtual bones the rig has dense weights, for which it needs room.
 * Weights that are held are not looked at; transforms that are held stay when masters are refined. `settings` gives
 * bone_kind and rest_mode for `refine`, memory, threads and watcher. info has what the layers replay. Memory: 24 bytes
 * a vertex and bone, 80 a pair of bones. */
OSSIFY_API int64_t ossify_compress(const ossify_poses *poses, const ossify_settings *settings,
                                   ossify_rig *rig, const ossify_compression *compression,
                                   ossify_layers *layers, ossify_info *info);

/* Sets struct_size and the defaults named at each field. */
OSSIFY_API void ossify_default_driving(ossify_driving *driving);

/* Correctives that follow the bones: fields, and the linear map from the turns of the joints to their coefficients that
 * serves frames best which it has not seen; see docs/correctives.md. In: a whole rig without correctives, with room for
 * both counts. Out: fields, the coefficients as they are driven in each frame, and in the result what each form is worth
 * on frames that were left out: whoever calls may refuse it. `settings` gives memory, threads and watcher. */
OSSIFY_API int64_t ossify_drive(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                                const ossify_driving *driving, ossify_driven *driven, ossify_info *info);
/* Sets struct_size and the defaults named at each field; uv is NULL. */
OSSIFY_API void ossify_default_unwrapping(ossify_unwrapping *unwrapping);

/* Relaxes a map, UVs of the corners of poses.triangles, for all frames at once: island by island, in the mean metric of
 * the motion, so that a texture is stretched as little as can be over all of it. No rig is needed. A triangle that was
 * not flipped does not flip; an island with flips begins anew as a disc. `settings` gives memory, threads and watcher;
 * info.iterations are the steps of all islands. Memory: 1 kB a triangle. */
OSSIFY_API int64_t ossify_unwrap(const ossify_poses *poses, const ossify_settings *settings,
                                 const ossify_unwrapping *unwrapping, ossify_unwrapped *unwrapped,
                                 ossify_info *info);

/* One rig for several subjects (Hasler et al. 2010): weights are shared, transforms belong to a frame and go from the rest
 * of its own subject, see docs/subjects.md. poses.rest is that of any subject. In: weights, if the rig is given any, to
 * start from; else bones are found as ossify_decompose finds them. Nothing is held. Out: the rig, its rest that of the
 * first subject, and in the result all rests, corrected as settings.rest_mode says (free: the given one is only where to
 * start from, as for a subject without a neutral pose), tree and joints. info has rms_percent and maximum_percent in
 * diagonals of each subject's own box, and E_RMS likewise. Memory: as ossify_decompose, and 5 times the frames. */
OSSIFY_API int64_t ossify_unite(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                                const ossify_subjects *subjects, ossify_united *united, ossify_info *info);

/* Bones that turn a mean body into each of many (Hasler et al. 2010, sections 3.6 and 3.7); see docs/subjects.md. Every
 * frame is a body in the same pose, anywhere. poses.rest is the mean; NULL: it is found, all aligned without scale. Out:
 * the rig, its rest the mean as corrected, settings.rest_mode. With shaping.held the rig comes with weights and its
 * rest, both stay, and poses.rest is not read. `settings` as for ossify_decompose; bone_kind is not read. */
OSSIFY_API int64_t ossify_shape_bones(const ossify_poses *poses, const ossify_settings *settings,
                                      ossify_rig *rig, const ossify_shaping *shaping, ossify_info *info);

/* Pose bones and shape bones in one tree (Hasler et al. 2010, section 3.6); see docs/subjects.md. poses.rest is the mean
 * body, poses.frames are those of all subjects. Out: a rig of that body whose bones show every subject in every frame:
 * a shape bone of a subject moves as if grown together with the pose bone that carries it, whose motion is the given
 * one. Its weights are new, whatever the rig came with, its rest as settings.rest_mode says. `settings` gives influences, iterations, quality,
 * memory, threads and watcher. */
OSSIFY_API int64_t ossify_merge(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                                const ossify_merging *merging, ossify_merged *merged, ossify_info *info);

/* Puts the joints of known bodies into bodies that were never seen; see docs/subjects.md. From several bodies every joint
 * becomes a sum of at most OSSIFY_JOINT_VERTICES vertices, learnt from all; from one, the surface around a joint carries
 * it along. Of the rig the weights tell which surface that is; its transforms say nothing here. poses.frames may be NULL
 * and is not read; poses.triangles weigh vertices by their area. `settings` gives memory, threads and watcher. */
OSSIFY_API int64_t ossify_place_joints(const ossify_poses *poses, const ossify_settings *settings,
                                       const ossify_rig *rig, const ossify_bodies *bodies,
                                       ossify_placed *placed, ossify_info *info);

/* Which bones of a whole rig of many free bones move one part that an animator would rig; see docs/animator.md. The
 * rig is read only, whatever `given` says. `settings` gives memory, threads and watcher. */
OSSIFY_API int64_t ossify_fuse(const ossify_poses *poses, const ossify_settings *settings,
                               const ossify_rig *rig, const ossify_fusion *fusion, ossify_groups *groups,
                               ossify_info *info);

/* Where the bones of a skeleton go when it plays: bones that leave the body, move nothing, drift from their parents or
 * hang from a limb that is not theirs; see docs/skeleton.md. Rig and skeleton are read only. `settings` gives memory,
 * threads and watcher. */
OSSIFY_API int64_t ossify_inspect(const ossify_poses *poses, const ossify_settings *settings,
                                  const ossify_rig *rig, const ossify_skeleton *skeleton,
                                  ossify_conduct *conduct, ossify_info *info);

/* The L2,2 inner product of animation space over the poses of a model (Merry et al. 2006); see docs/animation-space.md.
 * In: a whole rig, whose frames say how joints turn; space, NULL for none, counts in the edges. poses.frames are not read.
 * Memory: 128 bytes a pair of bones, 8 an edge. */
OSSIFY_API int64_t ossify_average_poses(const ossify_poses *poses, const ossify_settings *settings,
                                        const ossify_rig *rig, const ossify_space *space,
                                        const ossify_pose_model *model, ossify_average *average,
                                        ossify_info *info);

/* Any verb: what the functions above do. */
OSSIFY_API int64_t ossify_run(const ossify_request *request, ossify_info *info);

/* The same on the library's own thread. The structs are copied; arrays, and the structs that are written, stay
 * the caller's and must live until ossify_job_finish. Returns NULL when the arguments are refused or no thread can
 * be had: info says why. */
OSSIFY_API ossify_job *ossify_start(const ossify_request *request, ossify_info *info);
/* From any thread, at any time between start and finish. */
OSSIFY_API void ossify_job_poll(ossify_job *job, ossify_progress *progress);
OSSIFY_API void ossify_job_cancel(ossify_job *job);
/* Waits for the end, writes info and what the verb writes in the structs (rig->bones and the like), frees the job,
 * returns info->status. */
OSSIFY_API int64_t ossify_job_finish(ossify_job *job);

#ifdef __cplusplus
}
#endif
#endif
