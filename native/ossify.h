/* ossify.h - turn a moving mesh into bones, weights and transforms.
 *
 * The model (linear blend skinning): with p~ = (rest, 1),
 *
 *     x[f][v]  ~  sum_k  weight[v][k] * transforms[f][bone[v][k]] * p~[v]
 *
 * and with correctives p[f][v] = rest[v] + sum_n coefficients[f][n] * fields[n][v] in place of the rest.
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
    OSSIFY_MAX_CORRECTIVES = 256
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
    OSSIFY_REST_FREE = 2   /* corrected for the frames alone (SSDR) */
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
    OSSIFY_BUDGET_PARTS = 3 /* as many bones as an articulated body has parts; `budget` is not read */
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
    OSSIFY_STAGES = 7
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
    double budget;       /* percent of the diagonal of the rest's bounding box */
    double smoothness;   /* 0..1000, 1: how strongly weights follow their neighbours' mean; needs locality */
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
    int64_t influences;             /* k of the arrays; at least settings.influences */
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
    const uint8_t
        *held_joints; /* in, of ossify_articulate: [bones] not 0: the joint to the parent stays where
                                 * it is; NULL: none */
    double plane[4];  /* n.x = d with n of length 1: in when given, out when found */
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
    double
        normal_degrees; /* root mean square angle of the faces' normals to the observed ones, weighted by area */
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
    double *
        vertex_degrees; /* [v] root mean square angle of the normals of the faces around, -1 without triangles */
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
} ossify_driving;

/* Of ossify_drive. Arrays may be NULL. The errors are E_RMS of frames that were left out, a block at a time; -1 when
 * there are too few. */
typedef struct ossify_driven {
    int64_t struct_size;
    int64_t form;    /* of the fields */
    int32_t *joints; /* [rig.corrective_capacity] the bone whose joint drives a field, -1: all */
    double *
        map; /* [rig.corrective_capacity][bones][9] coefficient = sum of map times the entries of R - I, row-major,
                      * with R = R(parent)^-1 R(bone) of the transforms; roots have none */
    double bare_erms;   /* without fields */
    double keyed_erms;  /* with the best coefficients for fields that all joints would drive */
    double whole_erms;  /* with coefficients driven by all joints */
    double joints_erms; /* with fields of one joint each */
} ossify_driven;

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

/* The verbs, each also a function of its own below. */
enum {
    OSSIFY_DECOMPOSE = 0,
    OSSIFY_EVALUATE = 1,
    OSSIFY_CONNECT = 2,
    OSSIFY_ARTICULATE = 3,
    OSSIFY_BONE_COSTS = 4,     /* result: ossify_costs */
    OSSIFY_ADD_BONE = 5,       /* options: ossify_place */
    OSSIFY_PRUNE_WEIGHTS = 6,  /* options: ossify_fewer */
    OSSIFY_SMOOTH_WEIGHTS = 7, /* options: ossify_smoother */
    OSSIFY_CORRECT = 8,        /* options: ossify_correction, result: ossify_corrected */
    OSSIFY_DRIVE = 9,          /* options: ossify_driving, result: ossify_driven */
    OSSIFY_VERBS = 10
};

/* What a verb works on; what it has no use for is not looked at. */
typedef struct ossify_request {
    int64_t struct_size;
    int64_t verb; /* OSSIFY_DECOMPOSE and on */
    const ossify_poses *poses;
    const ossify_settings *settings;
    ossify_rig *rig; /* not written by verbs that only read it */
    ossify_skeleton *skeleton;
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
 * Memory, besides the caller's arrays: at most twice the frames as float, 64 MB, 1 kB by bone and frame,
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
 * most, and their weights are solved again. Nothing else changes, nor what is held. `settings` gives memory, threads
 * and watcher; so below. */
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
 * threads and watcher. info has the correctives in. */
OSSIFY_API int64_t ossify_correct(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                                  const ossify_correction *correction, ossify_corrected *corrected,
                                  ossify_info *info);

/* Sets struct_size and the defaults named at each field. */
OSSIFY_API void ossify_default_driving(ossify_driving *driving);

/* Correctives that follow the bones: fields, and the linear map from the turns of the joints to their coefficients that
 * serves frames best which it has not seen; see docs/correctives.md. In: a whole rig without correctives, with room for
 * both counts. Out: fields, the coefficients as they are driven in each frame, and in the result what each form is worth
 * on frames that were left out: whoever calls may refuse it. `settings` gives memory, threads and watcher. */
OSSIFY_API int64_t ossify_drive(const ossify_poses *poses, const ossify_settings *settings, ossify_rig *rig,
                                const ossify_driving *driving, ossify_driven *driven, ossify_info *info);

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
