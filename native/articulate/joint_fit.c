/* joint_fit.c - a step of all joints at once, the poses of all frames following.
 *
 * A joint's step dc moves the whole subtree by D_a dc, D_a = R_p - R_a, so the Gauss-Newton equations are
 *     joint a, joint b:  sum_f D_a' D_b N[s_a, s_b]
 *     joint a, turn b:   (R_b N[q_b, s_a]) x D_a dc,   way b: g . D_a dc N[s_b, s_a]
 * with the slope sum_f D_a' P[s_a]. Poses are eliminated frame by frame (the Schur complement, or variable
 * projection of Golub & Pereyra 1973): joints and turns shift the same vertices, so a step of one with the
 * other held goes nowhere.
 *
 * Joints are drawn to where they began (as given; a hinge's, taken along its axis to the middle of the surface that
 * its bones share, linkage.c), not to where they were last: along a hinge they would drift. The pull grows with the
 * mean squared error that is left; and a joint that would go further from there than the smaller of its two parts is
 * large, than a twentieth of the body, which noise along a hinge is enough for, or than to the nearest vertex, beyond
 * which it may be outside of the body, is pulled harder until it stays.
 * Bones that move nothing, or a point, are no parts. When no pull is hard enough there is no step. With a plane of
 * symmetry the form is averaged with its mirror image, so its lowest point is symmetric. */
#include "articulate/joint_fit.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "articulate/pose_fit.h"
#include "math/positive.h"
#include "math/product.h"
#include "math/rotation3.h"
#include "skeleton/joint.h"
#include "skeleton/symmetry.h"

enum {
    LANES = 16, /* partial sums over frames, fixed so that threads cannot change them */
    STRIP = 64, /* rows that are solved between two looks at whether to go on: tenths of a second at most */
    JOINT_TRIES = 12 /* to pull joints back that would go too far */
};

static const double PART_REACH = 1;     /* radii of the smaller part that a joint may leave its anchor by, */
static const double MOST_REACH = 0.05;  /* and diagonals */
static const double LEAST_REACH = 1e-3; /* diagonals: what is smaller is a point */
static const double LEAST_CLEARANCE = 0.005; /* diagonals: what a joint near the surface may go, too */
static const double HARDER = 10;             /* pull on one that would go further */
static const double ERROR_TRUST = 0.05; /* error, in diagonals, at which anchor and motion count the same */

typedef struct JointFit {
    Linkage *linkage;
    int lanes;
    double *form;          /* [lanes][3b][3b] half the second derivatives, their sum in lane 0 */
    double *slope;         /* [lanes][3b] half, downhill */
    double *pull;          /* [b] of the anchor */
    double *reach;         /* [b] how far from it a joint may go */
    double *system, *step; /* [3b][3b] form with pull, and where it leads */
    double *room;          /* [3b + 1][3b] */
} JointFit;

/* Row 3a + j is D_a e_j. */
static void find_turned(const Linkage *linkage, Bench *bench) {
    const size_t n = 4 * (size_t)linkage->bones;
    memset(bench->turned, 0, 9 * (size_t)linkage->bones * sizeof(double));
    for (int a = 0; a < linkage->bones; a++) {
        const int p = linkage->parent[a];
        for (size_t i = 0; i < 9 && p >= 0; i++) {
            bench->turned[9 * (size_t)a + i] =
                bench->z[i % 3 * n + 4 * (size_t)p + i / 3] - bench->z[i % 3 * n + 4 * (size_t)a + i / 3];
        }
    }
}

/* Joint a against the unknowns of bone b, into across [3a + j][unknowns]. */
static void fill_across(const Linkage *linkage, Bench *bench, int a, int b) {
    const size_t n = 4 * (size_t)linkage->bones, m = (size_t)linkage->unknowns;
    const double *q = bench->normal + 4 * (size_t)b * n + 4 * (size_t)a + 3;
    double arm[3], way[3][3];
    const int count = linkage_ways(linkage, bench->z, b, way);
    for (size_t i = 0; i < 3; i++) {
        const double *r = bench->z + i * n + 4 * (size_t)b;
        arm[i] = r[0] * q[0] + r[1] * q[n] + r[2] * q[2 * n]; /* R_b N[q_b, s_a] */
    }
    for (size_t j = 0; j < 3; j++) {
        const double *d = bench->turned + 9 * (size_t)a + 3 * j;
        double *to = bench->across + (3 * (size_t)a + j) * m + (size_t)linkage->first[b];
        rotation3_cross(arm, d, to); /* arm x D_a e_j */
        for (int k = 0; k < count; k++) {
            const double along = way[k][0] * d[0] + way[k][1] * d[1] + way[k][2] * d[2]; /* g . D_a e_j */
            to[3 + k] = q[3 * n] * along;                                                /* N[s_b, s_a] */
        }
    }
}

/* Adds D_a' D_b N[s_a, s_b] and D_a' P[s_a]. */
static void add_own(const Linkage *linkage, const Bench *bench, double *form, double *slope) {
    const size_t n = 4 * (size_t)linkage->bones, size = 3 * (size_t)linkage->bones;
    for (size_t i = 0; i < size; i++) {
        const double *d = bench->turned + 3 * i, *p = bench->left + 4 * (i / 3) + 3;
        slope[i] += d[0] * p[0] + d[1] * p[n] + d[2] * p[2 * n]; /* D_a' P[s_a] */
        for (size_t j = 0; j < size; j++) {
            const double *e = bench->turned + 3 * j;
            form[i * size + j] += (d[0] * e[0] + d[1] * e[1] + d[2] * e[2]) *
                                  linkage->normal[(4 * (i / 3) + 3) * n + 4 * (j / 3) + 3];
        }
    }
}

/* 0 when the call is to end. */
static int goes_on(const Linkage *linkage, int worker) {
    if (worker == 0) {
        call_poll(linkage->call, -1);
    }
    return !linkage->call->cancelled;
}

/* Takes away what the poses of the frame make up for: A H^-1 A', and of the slope A H^-1 g. */
static void eliminate_poses(const Linkage *linkage, Bench *bench, int worker, double *form, double *slope) {
    const size_t m = (size_t)linkage->unknowns, size = 3 * (size_t)linkage->bones;
    if (positive_factor((int)m, bench->system)) {
        return;
    }
    memcpy(bench->solved, bench->across, size * m * sizeof(double));
    for (size_t i = 0; i < size; i++) {
        for (size_t k = 0; k < m; k++) {
            bench->flipped[k * size + i] = -bench->across[i * m + k];
        }
    }
    for (size_t begin = 0; begin < size && goes_on(linkage, worker); begin += STRIP) {
        const size_t end = begin + STRIP < size ? begin + STRIP : size;
        double *solved = bench->solved + begin * m;
        positive_solve_rows((int)m, bench->system, (int)(end - begin), solved);
        for (size_t i = begin; i < end; i++) {
            for (size_t k = 0; k < m; k++) {
                slope[i] -= bench->solved[i * m + k] * bench->gradient[k]; /* - A H^-1 g */
            }
        }
        product_nn((int)(end - begin), (int)size, (int)m, solved, m, bench->flipped, size,
                   form + begin * size, size);
    }
}

static void gather_lane(void *user, int lane, int worker) {
    const JointFit *fit = user;
    Linkage *linkage = fit->linkage;
    Bench *bench = &linkage->bench[worker];
    const size_t size = 3 * (size_t)linkage->bones;
    const int begin = (int)((int64_t)linkage->frames * lane / fit->lanes),
              end = (int)((int64_t)linkage->frames * (lane + 1) / fit->lanes);
    double *form = fit->form + (size_t)lane * size * size, *slope = fit->slope + (size_t)lane * size;
    for (int f = begin; f < end && goes_on(linkage, worker); f++) {
        linkage_read(linkage, f, bench->slide, bench->z);
        linkage_misfit(linkage, f, bench->z, bench->left);
        pose_fit_system(linkage, bench);
        find_turned(linkage, bench);
        for (int i = 0; i < linkage->bones * linkage->bones; i++) {
            fill_across(linkage, bench, i / linkage->bones, i % linkage->bones);
        }
        add_own(linkage, bench, form, slope);
        eliminate_poses(linkage, bench, worker, form, slope);
    }
}

static void add_lanes(JointFit *fit) {
    const size_t size = 3 * (size_t)fit->linkage->bones;
    for (size_t lane = 1; lane < (size_t)fit->lanes; lane++) {
        for (size_t i = 0; i < size * size; i++) {
            fit->form[i] += fit->form[lane * size * size + i];
        }
        for (size_t i = 0; i < size; i++) {
            fit->slope[i] += fit->slope[lane * size + i];
        }
    }
}

/* Half the form and slope of the pull on all joints, each by its own strength, added to those of the motion. */
static void add_pull(JointFit *fit) {
    const Linkage *linkage = fit->linkage;
    const size_t size = 3 * (size_t)linkage->bones;
    memcpy(fit->system, fit->form, size * size * sizeof(double));
    for (size_t i = 0; i < size; i++) {
        const int held = linkage->held[i / 3];
        const double own = held ? 1 : fit->pull[i / 3];
        for (size_t j = 0; j < size && held; j++) {
            fit->system[i * size + j] = fit->system[j * size + i] = 0;
        }
        fit->system[i * size + i] += own; /* form + pull */
        fit->step[i] = held ? 0 : fit->slope[i] + own * (linkage->anchor[i] - linkage->joint[i]);
    }
}

static double square_between(const double p[3], const double q[3]) {
    const double off[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
    return off[0] * off[0] + off[1] * off[1] + off[2] * off[2];
}

/* How far the nearest vertex is; `within`: 1 unless x may as well be on the surface, in the middle of a face with
 * edges e, from where it is e / sqrt(3). */
static double nearest_vertex(const Problem *problem, const double x[3], int *within) {
    const Graph *graph = &problem->graph;
    double least = INFINITY, edge = 0;
    int nearest = 0;
    for (int v = 0; v < problem->vertices; v++) {
        const double square = square_between(problem->rest + 3 * (size_t)v, x);
        nearest = square < least ? v : nearest;
        least = fmin(least, square);
    }
    for (int64_t i = graph->first[nearest]; i < graph->first[nearest + 1]; i++) {
        edge = fmax(edge, (double)graph->length[i]);
    }
    *within = 3 * least > edge * edge;
    return sqrt(least);
}

/* A sheet has no inside that joints could leave, and they begin on it; in a body next to none does. */
void joint_fit_clear(Linkage *linkage) {
    int joints = 0, inside = 0;
    for (int b = 0; b < linkage->bones; b++) {
        int within;
        linkage->clearance[b] = nearest_vertex(linkage->problem, linkage->anchor + 3 * b, &within);
        joints += linkage->parent[b] >= 0;
        inside += linkage->parent[b] >= 0 && within;
    }
    for (int b = 0; b < linkage->bones && 4 * inside < 3 * joints; b++) {
        linkage->clearance[b] = INFINITY;
    }
}

/* Squared radius of what a bone moves: the variance of p by w^2, from U. A bone that moves nothing, or a point,
 * says nothing about how far its joint may go. */
static double square_radius(const Linkage *linkage, const Moments *moments, int b) {
    const double *u = moments->u + ((size_t)b * (size_t)linkage->model->capacity + (size_t)b) * MONOMIALS;
    const double mass = u[9] + DBL_MIN, least = LEAST_REACH * linkage->diagonal;
    const double square =
        (u[0] + u[1] + u[2]) / mass - (u[6] * u[6] + u[7] * u[7] + u[8] * u[8]) / (mass * mass);
    return square > least * least ? square : INFINITY;
}

static void find_reaches(JointFit *fit, const Moments *moments) {
    const Linkage *linkage = fit->linkage;
    for (int b = 0; b < linkage->bones; b++) {
        const int p = linkage->parent[b];
        const double smaller =
            p < 0 ? 0 : fmin(square_radius(linkage, moments, b), square_radius(linkage, moments, p));
        const double inside = fmax(linkage->clearance[b], LEAST_CLEARANCE * linkage->diagonal);
        fit->reach[b] = fmin(fmin(MOST_REACH * linkage->diagonal, inside), PART_REACH * sqrt(smaller));
    }
}

static void first_pull(JointFit *fit, double square) {
    const Linkage *linkage = fit->linkage;
    const size_t n = 4 * (size_t)linkage->bones;
    const double trusted = ERROR_TRUST * linkage->diagonal;
    const double pull = fmax(ANCHOR_PULL, square / (trusted * trusted)) * linkage->frames;
    for (size_t b = 0; b < (size_t)linkage->bones; b++) {
        fit->pull[b] = pull * linkage->normal[(4 * b + 3) * n + 4 * b + 3] + DBL_MIN;
    }
}

/* Pulls joints harder that would go too far; returns how many. */
static int pull_back(JointFit *fit) {
    const Linkage *linkage = fit->linkage;
    int count = 0;
    for (int b = 0; b < linkage->bones; b++) {
        double square = 0;
        for (int i = 3 * b; i < 3 * b + 3 && !linkage->held[b]; i++) {
            const double far = linkage->joint[i] + fit->step[i] - linkage->anchor[i];
            square += far * far;
        }
        if (square > fit->reach[b] * fit->reach[b]) {
            fit->pull[b] *= HARDER;
            count++;
        }
    }
    return count;
}

/* to = S x: what each joint's mirror image does, seen in the mirror; x an item every `across`. */
static void reflect_steps(const Linkage *linkage, const double *x, size_t across, double *to) {
    const double *n = linkage->plane;
    for (int b = 0; b < linkage->bones; b++) {
        const int mirrored = symmetry_has_mirrored_joint(linkage->mirror, linkage->parent, b);
        const size_t from = 3 * (size_t)(mirrored ? linkage->mirror[b] : b);
        double along = 0;
        for (size_t i = 0; i < 3 && mirrored; i++) {
            along += 2 * n[i] * x[(from + i) * across];
        }
        for (size_t i = 0; i < 3; i++) {
            to[3 * (size_t)b + i] = x[(from + i) * across] - along * n[i];
        }
    }
}

/* system <- (system + S system S) / 2, step, still a slope, <- (step + S step) / 2 */
static void make_symmetric(JointFit *fit) {
    const size_t size = 3 * (size_t)fit->linkage->bones;
    double *room = fit->room;
    for (size_t i = 0; i < size; i++) { /* room = (S system)' = system S */
        reflect_steps(fit->linkage, fit->system + i, size, room + i * size);
    }
    for (size_t i = 0; i < size; i++) { /* row i of S system S */
        double *row = room + size * size;
        reflect_steps(fit->linkage, room + i, size, row);
        for (size_t j = 0; j < size; j++) {
            fit->system[i * size + j] = 0.5 * (fit->system[i * size + j] + row[j]);
        }
    }
    reflect_steps(fit->linkage, fit->step, 1, room);
    for (size_t i = 0; i < size; i++) {
        fit->step[i] = 0.5 * (fit->step[i] + room[i]);
    }
}

/* The step that the pull allows; 0 when there is none. */
static int find_step(JointFit *fit, double square) {
    const int size = 3 * fit->linkage->bones;
    first_pull(fit, square);
    for (int try = 0; try < JOINT_TRIES && !call_poll(fit->linkage->call, -1); try++) {
        add_pull(fit);
        if (fit->linkage->mirror) {
            make_symmetric(fit);
        }
        if (positive_solve(size, fit->system, 1, fit->step)) {
            return 0;
        }
        if (pull_back(fit) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The misfit after the step, or before it when that was less. */
static double try_joints(Linkage *linkage, const Moments *moments, const double *step, double misfit) {
    linkage_pin(linkage, &linkage->before);
    for (int i = 0; i < 3 * linkage->bones; i++) {
        linkage->joint[i] += step[i];
    }
    if (linkage->mirror) {
        symmetry_mirror_joints(linkage->plane, linkage->mirror, linkage->parent, linkage->bones,
                               linkage->joint);
    }
    linkage_aim(linkage);
    linkage_gather(linkage, moments);
    const double now = pose_fit(linkage);
    if (now < misfit) {
        return now;
    }
    linkage_unpin(linkage, &linkage->before);
    linkage_gather(linkage, moments);
    return misfit;
}

/* Mean squared error of a vertex in a frame. */
static double mean_square(const Linkage *linkage, double misfit) {
    const Problem *problem = linkage->problem;
    return fmax(0, linkage->constant + misfit) / (problem->total_mass * problem->frames);
}

double joint_fit(Linkage *linkage, const Moments *moments, double misfit) {
    Call *call = linkage->call;
    ArenaPiece *mark = arena_mark(&call->arena);
    const size_t size = 3 * (size_t)linkage->bones;
    JointFit fit = {.linkage = linkage, .lanes = linkage->frames < LANES ? linkage->frames : LANES};
    fit.form = arena_take(&call->arena, (size_t)fit.lanes * size * size, sizeof(double));
    fit.slope = arena_take(&call->arena, (size_t)fit.lanes * size, sizeof(double));
    fit.pull = arena_take(&call->arena, size, sizeof(double));
    fit.reach = arena_take(&call->arena, size, sizeof(double));
    fit.system = arena_take(&call->arena, size * size, sizeof(double));
    fit.step = arena_take(&call->arena, size, sizeof(double));
    fit.room = arena_take(&call->arena, (size + 1) * size, sizeof(double));
    if (!call->arena.failed) {
        parallel_run(call->pool, fit.lanes, gather_lane, &fit);
        add_lanes(&fit);
        find_reaches(&fit, moments);
        if (!call->cancelled && find_step(&fit, mean_square(linkage, misfit))) {
            misfit = try_joints(linkage, moments, fit.step, misfit);
        }
    }
    arena_return(&call->arena, mark);
    return misfit;
}
