/* rooms.h - what the rooms share: the call at hand, the problem, the model, each room's prototype.
 *
 * Inside, the rest pose lies in the unit sphere and every frame is centred; the sphere and the
 * centres are put back at the end (docs/notation.md). */
#ifndef OSSIFY_ROOMS_H
#define OSSIFY_ROOMS_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/parallel.h"
#include "base/portable.h"
#include "math/graph.h"
#include "ossify.h"

/* One call of a verb, from its checks to its end. */
typedef struct Call {
    const ossify_settings *settings;
    Arena arena;
    Pool *pool;
    ossify_info *info;
    ossify_progress progress;
    double began; /* seconds_now() at the start, and of the stage at hand */
    double stage_began;
    double from, to;      /* the part of the progress that the work at hand makes up */
    atomic_int cancelled; /* read by all workers */
    int settled;          /* 1 once the rig is written: a wish to cancel comes too late */
    int wide;             /* 1: functions that are WIDE can be called */
} Call;

/* Tells the watcher where the call is; returns 1 when the call must end now (cancelled).
 * Solving rooms call it at least every few milliseconds of work, from worker 0 only. */
int call_poll(Call *call, double fraction);
/* Ends the seconds of the stage at hand and begins those of `stage`. */
void call_stage(Call *call, int stage);
/* Why a call ends early: OSSIFY_CANCELLED or OSSIFY_OUT_OF_MEMORY. */
int64_t call_ended(const Call *call);

enum {
    BLOCK = 64,     /* vertices that go through a matrix product together */
    MONOMIALS = 10, /* xx yy zz xy xz yz x y z 1: a symmetric form in p~ */
    ROUND = 10,     /* iterations between two looks at regions that no longer wander */
    MAX_LANES = 32  /* partial sums of a pass, fixed so that threads cannot change them */
};

/* The poses as the solver sees them: scaled, centred, along a space-filling curve, in blocks. */
typedef struct Problem {
    int vertices, frames, blocks;
    float *x;       /* [blocks][3 frames][BLOCK]: row 3f + i is coordinate i in frame f */
    double *rest;   /* [v][3] as given */
    int rest_given; /* 0: it is only a frame to start from */
    double *square; /* [v] sum over frames of |x|^2 */
    double *mass;   /* [v] how many vertices this one stands for */
    double total_mass;
    double radius;            /* of the rest's tight sphere, here between 1/2 and 1 */
    int *caller;              /* [v] the vertex in the caller's order */
    const uint8_t *held;      /* [v] weights held, or NULL */
    const uint8_t *held_rest; /* [v] rest position held, or NULL */
    Graph graph;
} Problem;

/* The way back to the caller's coordinates: inside = (caller's - centre) / unit. */
typedef struct Placement {
    double centre[3], radius; /* of the rest's tight sphere, in the caller's coordinates */
    double unit;              /* a power of two near the radius, so that scaling rounds nothing */
    double *frame_centre;     /* [f][3] */
} Placement;

/* A rig while it is being solved. */
typedef struct Model {
    int bones, capacity, influences;
    double *transform;   /* [3 frames][capacity][4]: row 3f + i is row i of M[f][b], bone by bone */
    int *bone;           /* [v][influences], -1 unused, used ones first */
    double *weight;      /* [v][influences] */
    double *rest;        /* [v][3] */
    double *error;       /* [v] squared error over the frames */
    uint8_t *held;       /* [frames][capacity] transforms held */
    uint8_t *held_group; /* [capacity] weights held, on every vertex */
    uint8_t *stays;      /* [capacity] something of the bone is held: it may not leave its place */
} Model;

/* Moments of a model, all that the transforms need to know of the vertices. */
typedef struct Moments {
    int lanes;
    double *c; /* [3 frames][capacity][4]   sum_v w x p~'          */
    double *u; /* [bones][bones][MONOMIALS] sum_v w_b w_c p~ p~'   */
    double *lane_c, *lane_u, *lane_sums;
} Moments;

/* What one pass over the vertices shall do. */
typedef struct PassPlan {
    int search;                /* 1: look for each vertex's support from nothing, too */
    int solve_weights;         /* 0: weights stay */
    int solve_rest;            /* 0: the rest pose stays */
    double rest_pull;          /* frames that the given rest counts for */
    double smoothing;          /* lambda: pull of the neighbours' mean weights; 0: none */
    const uint8_t *candidates; /* [v][bytes] one bit a bone that a vertex may use */
    int bytes;                 /* 0: all bones */
    const uint8_t *only;       /* [blocks] 0: vertices stay; NULL: all. With it no moments are made */
    double *removal_cost;      /* [bones] out: rise of the error when a bone goes, or NULL */
    double *given_error;       /* [v] out: squared error before anything is solved, or NULL */
} PassPlan;

/* problem.c */
/* `rig` tells what is held. */
int problem_prepare(Call *call, const ossify_poses *poses, const float *rest, const ossify_rig *rig,
                    Problem *problem, Placement *placement);
/* About `vertices` of the whole, spread over the surface, each standing for its cell of the graph;
 * cell [v of the whole] tells which. */
int problem_thin_vertices(Call *call, const Problem *whole, int vertices, Problem *sample, int *cell);
/* `frames` of the whole that differ most; nearest [f of the whole] is the chosen frame most like it. */
int problem_thin_frames(Call *call, const Problem *whole, int frames, Problem *sample, int *chosen,
                        int *nearest);
/* E_RMS of a squared error, and back. */
double problem_erms(const Problem *problem, double squared);
double problem_squared(const Problem *problem, double erms);
/* The frame most like all others: where a rest pose can start when none is given. */
int problem_middle_frame(const ossify_poses *poses);
/* Copies vertex v's positions into to[3 * frames]. */
void problem_read(const Problem *problem, int v, double *to);

/* pass.c: the vertex step, Eq. 3-4, with rest pose and moments; returns the mass-weighted squared
 * error plus the rest pose's own term. */
int pass_make(Call *call, const Problem *problem, const Model *model, Moments *moments);
double pass_run(Call *call, const Problem *problem, Model *model, Moments *moments, const PassPlan *plan);

/* rest_pose.c: moves p to where the vertex should rest */
void rest_solve(const double form[MONOMIALS], const double blend[4], double pull, const double given[3],
                double p[3]);

/* cluster.c: up to `bones` first bones, every vertex on one of them */
int cluster(Call *call, const Problem *problem, int bones, Model *model);

/* model.c */
int model_make(Call *call, const Problem *problem, int capacity, int influences, Model *model);
/* As it was made: no bones, the rest as given. */
void model_clear(const Problem *problem, Model *model);
void model_copy(const Problem *problem, const Model *from, Model *to);
void model_copy_vertices(const Problem *problem, const Model *from, Model *to);
/* A bone of which nothing is held goes, and the last one takes its number. What its vertices had of it, their other
 * bones share, except held groups. */
void model_remove_bone(const Problem *problem, Model *model, int gone);
/* Numbers the bones of `to`, of which nothing is held, by those of `from` that move the same vertices; both have
 * the same count. 0 when the call must end. */
int model_number_alike(Call *call, const Problem *problem, const Model *from, Model *to);
/* Mass of the vertices a bone moves, by weight. */
double model_bone_mass(const Problem *problem, const Model *model, int b);
/* 1 when the vertex has some weight on the bone. */
int model_follows(const Model *model, int v, int b);
/* Finds the bones that stay: their group, a transform, or a vertex that has weight on them is held. */
void model_find_staying(const Problem *problem, Model *model);
/* 1 when no vertex follows the bone, and nothing of it is held. */
int model_bone_is_idle(const Problem *problem, const Model *model, int b);
double model_squared_error(const Problem *problem, const Model *model);

/* rig.c: the caller's rig to a model, and back. With `rigid`, bones that are not held become rotations.
 * fixed_rest: written as it is, or NULL */
void rig_read(const Problem *problem, const Placement *placement, const ossify_rig *rig, int rigid,
              Model *model);
/* 1 when a given rig could be an answer as it is: weights, influences and bones of the kind asked for. */
int rig_is_lawful(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig);
/* Of them, the transforms. */
void rig_read_transforms(const Problem *problem, const Placement *placement, const ossify_rig *rig, int rigid,
                         Model *model);
void rig_write(const Problem *problem, const Placement *placement, const Model *model,
               const float *fixed_rest, ossify_rig *rig);
/* Of them, the transforms of bones from `first` on and the weights of one vertex. */
void rig_write_transforms(const Problem *problem, const Placement *placement, const Model *model, int first,
                          ossify_rig *rig);
void rig_write_vertex(const Problem *problem, const Model *model, int v, ossify_rig *rig);

/* locality.c */
typedef struct Locality {
    uint8_t *candidates; /* [v][bytes] */
    uint8_t *kept;       /* [v][bytes] candidates to come back to */
    int bytes;
    uint8_t *touched; /* [blocks] 1 where the last strip forbade something, */
    uint8_t *lost;    /* [bytes] and one bit for each bone that it forbade */
    void *regions;    /* a worker's scratch each */
} Locality;
int locality_make(Call *call, const Problem *problem, int capacity, Locality *locality);
int locality_update(Call *call, const Problem *problem, const Model *model, double radius, int hops,
                    Locality *locality);
/* Forbids what lies outside main regions and marks the blocks it touches; returns how many, -1 when
 * memory is out. `again`: only the vertices of the blocks that the last strip touched have changed since. */
int locality_strip(Call *call, const Problem *problem, const Model *model, int again, Locality *locality);
/* Forbids weights too faint to be worth an artist's time, likewise. */
int locality_strip_faint(const Problem *problem, const Model *model, Locality *locality);

/* descent.c */
typedef struct Descent {
    Call *call;
    const Problem *problem;
    Model *model;
    Moments moments;
    Locality locality;
    PassPlan plan;
    Model backup;
    Model kept;            /* with locality: the last one whose regions held together, */
    double kept_objective; /* what it came to, */
    double least;          /* and the least that new regions came to since the restart */
    double *last, *before; /* transforms M_k and M_(k-1) */
    double momentum, objective;
    double reach, shrink; /* how far from its region a bone may be used, and by how much less each time */
    double least_radii;   /* of the object's radius: what is left of the reach in the end */
    int flexible, local, fresh, iterations;
    int wanted;        /* bones that there shall be; 0: those there are, used or not */
    int search_first;  /* the first pass looks for every vertex's bones from nothing */
    int keep;          /* iterations for which the candidates stay */
    int renewed;       /* the last iteration looked at them anew, bones no longer wandering */
    int frozen;        /* they stay for good */
    int bones_first;   /* an iteration ends with the vertices, so that weights fit the transforms */
    int steep_most;    /* iterations in all while the error still falls steeply; 0: no more than asked */
    double expected;   /* squared error that the sample promised; 0: unknown */
    double cut;        /* by how much the objective rose when regions were held together */
    double smoothness; /* how strongly weights follow their neighbours' */
    struct Linkage *linkage; /* bones that hang together (articulate.h), or NULL: they are free */
} Descent;
int descent_make(Call *call, const Problem *problem, Model *model, Descent *descent);
/* Bones may wander `radii` of the object's radius along the surface, less and less in `iterations`. */
void descent_reach(Descent *descent, double radii, int iterations);
/* After a change from outside: no momentum, no error to compare with. */
void descent_restart(Descent *descent);
/* One iteration; returns the objective's relative fall, or < 0 when the call must end. */
double descent_step(Descent *descent);
/* Up to `most` iterations; returns 0 out of iterations, 1 converged (two falls below tolerance),
 * 2 squared error at or below `enough`, < 0 when the call must end. */
int descent_run(Descent *descent, int most, double tolerance, double enough);
/* The same, and then the weights for the last transforms; with locality nothing is left outside its
 * bone's region. */
int descent_settle(Descent *descent, int most, double tolerance, double enough);
/* Weights follow their neighbours' as the mean squared error of a vertex allows. */
void descent_smooth(Descent *descent, double mean);
/* From now on the bones a vertex may use are those of its regions as they are, less what strays. 0 when the call
 * must end; so below. */
int descent_freeze(Descent *descent);
/* Weights for the transforms at hand, from which iterations go on, bones first. */
int descent_begin_frozen(Descent *descent);
/* Takes away what lies outside its bone's region, and weights too faint to be worth an artist's time. */
int descent_clean(Descent *descent);
/* The model at hand is the one to come back to. */
void descent_keep(Descent *descent);
void descent_return(Descent *descent);
/* Iterations, then the cut; the kept model comes back if that was all for nothing. As descent_run. */
int descent_round(Descent *descent, int most, double tolerance, double enough);

/* refit.c */
/* From a model that is whole and meant to stay near: regions grow hop by hop from what they are, and the best
 * model whose regions hold together stays. efforts: after a small edit, after a large one. As descent_run; *given: the squared error that the model came with. */
typedef struct RefitEffort {
    int most;         /* iterations */
    double tolerance; /* as for descent_run */
} RefitEffort;
int descent_refit(Descent *descent, const RefitEffort efforts[2], double enough, double *given);

/* transforms.c: bones that share vertices with a bone: other[first[b]] to other[first[b + 1] - 1] */
typedef struct Sharing {
    int *first, *other;
} Sharing;

/* 0 when memory is out. */
int transforms_share(Arena *arena, const Model *model, const Moments *moments, Sharing *sharing);
/* One sweep over the rigid bones of a frame. */
void transforms_sweep(Model *model, const Moments *moments, Sharing sharing, int frame);
/* The bone step, Eq. 6-10, or the affine optimum. Returns 0 when the call must end. */
int transforms_update(Call *call, const Problem *problem, Model *model, Moments *moments, int flexible,
                      int sweeps);
/* The same until sweeps no longer lower a frame's error, at most `most` of them; square [f]: sum |x|^2. Returns
 * how many the slowest frame took, or -1 when the call must end. */
int transforms_settle(Call *call, const Problem *problem, Model *model, Moments *moments, int flexible,
                      int most, const double *square);

/* decompose.c: arguments are checked; fills rig and info except the measured error.
 * Returns a status; < 0: rig untouched. */
int64_t decompose(Call *call, const ossify_poses *poses, ossify_rig *rig);

/* edit.c: arguments are checked; both return a status, < 0: nothing was written. */

/* costs [rig.bones]: by how much the mean squared distance rises without the bone. */
int64_t edit_bone_costs(Call *call, const ossify_poses *poses, const ossify_rig *rig, double *costs);
/* One more bone at a vertex (-1: the worst place) or out of another (split; -1: none). */
int64_t edit_add_bone(Call *call, const ossify_poses *poses, ossify_rig *rig, int vertex, int split);

/* evaluate.c: shares no code with the solver. Arguments are checked. All its memory, for rigs of at most `bones`
 * bones, is taken by evaluate_take (NULL when memory is out), so that a rig that is already written can be
 * measured without a chance of failing. */
typedef struct Measure Measure;
Measure *evaluate_take(Call *call, const ossify_poses *poses, int64_t bones);
int64_t evaluate(Call *call, Measure *measure, const ossify_poses *poses, const ossify_rig *rig,
                 ossify_evaluation *evaluation);

/* check.c: what is wrong with the arguments, said in info->message. */

/* 1 when info can be written to; it is then emptied, its errors unknown (-1). */
int check_info(ossify_info *info);
/* Writes the sentence, cut after a whole word if it is too long; returns status. */
int64_t refuse(ossify_info *info, int64_t status, const char *format, ...) PRINTF_LIKE(3, 4);
/* Structs, sizes, settings and pointers: quick. 0, or OSSIFY_BAD_ARGUMENT. */
int64_t check_decompose(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                        ossify_info *info);
/* For verbs that read or change a whole rig, whatever `given` says. */
int64_t check_whole(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                    ossify_info *info);
int64_t check_added_bone(const ossify_poses *poses, const ossify_rig *rig, int64_t vertex, int64_t split,
                         ossify_info *info);
int64_t check_connect(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                      const ossify_skeleton *skeleton, ossify_info *info);
int64_t check_articulate(const ossify_poses *poses, const ossify_settings *settings, const ossify_rig *rig,
                         const ossify_skeleton *skeleton, ossify_info *info);
int64_t check_evaluate(const ossify_poses *poses, const ossify_rig *rig, const ossify_settings *settings,
                       const ossify_evaluation *evaluation, ossify_info *info);
/* Every number of every array, after the above. 0, OSSIFY_BAD_ARGUMENT or OSSIFY_CANCELLED. */
int64_t check_decompose_arrays(Call *call, const ossify_poses *poses, const ossify_rig *rig);
int64_t check_connect_arrays(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                             const ossify_skeleton *skeleton);
int64_t check_articulate_arrays(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                                const ossify_skeleton *skeleton);
int64_t check_evaluate_arrays(Call *call, const ossify_poses *poses, const ossify_rig *rig);

#endif
