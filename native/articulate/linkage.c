/* linkage.c - bones that hang together: transforms of a frame from turns and ways, and their moments.
 *
 * See linkage.h for the algebra. J is never written down: its rows come from those of the free bones,
 * (w_b p, w_b), by two sweeps over the tree,
 *     s_p += s_a  from the leaves up,   q_a -= c_a s_a,  q_p += c_a s_a,
 * so N = J U J' and K = C J' cost a few row operations a bone. A slide moves the joint as the parent sees
 * it: q_p += d_a l_a s_a. */
#include "articulate/linkage.h"

#include <math.h>
#include <string.h>

#include "skeleton/joint.h"
#include "skeleton/symmetry.h"

static const double SHORT = 1e-6; /* bones shorter than that have no direction to stretch in */

static size_t wide(const Linkage *linkage) {
    return 4 * (size_t)linkage->bones;
}

/* Parents before children, breadth first. */
static void order_bones(Linkage *linkage) {
    int count = 0;
    for (int b = 0; b < linkage->bones; b++) {
        if (linkage->parent[b] < 0) {
            linkage->order[count++] = b;
        }
    }
    for (int i = 0; i < count; i++) {
        for (int b = 0; b < linkage->bones; b++) {
            if (linkage->parent[b] == linkage->order[i]) {
                linkage->order[count++] = b;
            }
        }
    }
}

static int way_count(const Linkage *linkage, int b) {
    return linkage->parent[b] < 0 ? 3 : linkage->stretch;
}

static void number_unknowns(Linkage *linkage) {
    linkage->unknowns = 0;
    for (int b = 0; b < linkage->bones; b++) {
        linkage->first[b] = linkage->unknowns;
        linkage->unknowns += 3 + way_count(linkage, b);
    }
}

void linkage_aim(Linkage *linkage) {
    for (int b = 0; b < linkage->bones; b++) {
        const int p = linkage->parent[b];
        double *d = linkage->axis + 3 * b, length = 0;
        for (int i = 0; i < 3 && p >= 0 && linkage->stretch; i++) {
            d[i] = linkage->joint[3 * b + i] - linkage->joint[3 * p + i];
            length += d[i] * d[i];
        }
        length = sqrt(length);
        for (int i = 0; i < 3; i++) {
            d[i] = length > SHORT ? d[i] / length : 0;
        }
    }
}

/* Row 4b + k of x lies at x + (4b + k) along, its items `across` apart. */
static void fold(const Linkage *linkage, double *x, size_t along, size_t across, size_t count) {
    for (int i = linkage->bones - 1; i >= 0; i--) { /* s_p += s_a */
        const int a = linkage->order[i], p = linkage->parent[a];
        const double *from = x + (4 * (size_t)a + 3) * along;
        double *to = p < 0 ? NULL : x + (4 * (size_t)p + 3) * along;
        for (size_t k = 0; k < count && p >= 0; k++) {
            to[k * across] += from[k * across];
        }
    }
    for (int a = 0; a < linkage->bones; a++) { /* q_a -= c_a s_a, q_p += c_a s_a */
        const int p = linkage->parent[a];
        const double *s = x + (4 * (size_t)a + 3) * along;
        for (size_t i = 0; i < 3 && p >= 0; i++) {
            const double c = linkage->joint[3 * a + (int)i];
            double *own = x + (4 * (size_t)a + i) * along, *above = x + (4 * (size_t)p + i) * along;
            for (size_t k = 0; k < count; k++) {
                own[k * across] -= c * s[k * across];
                above[k * across] += c * s[k * across];
            }
        }
    }
}

static void place_pair(const double pair[PAIR], double *u, size_t row) {
    for (size_t i = 0; i < PAIR; i++) {
        u[i / 4 * row + i % 4] = pair[i];
    }
}

/* How many vertices a bone moves, by weight: the weights of a vertex sum to 1. */
static double vertices_of(const Linkage *linkage, const Moments *moments, int b) {
    const size_t capacity = (size_t)linkage->model->capacity;
    double sum = 0;
    for (size_t c = 0; c < (size_t)linkage->bones; c++) {
        sum += moments->u[((size_t)b * capacity + c) * MONOMIALS + MONOMIALS - 1];
    }
    return sum;
}

/* U += k m a a' */
static void add_soft_joint(Linkage *linkage, const Moments *moments, int b) {
    const size_t n = wide(linkage), at[2] = {4 * (size_t)b, 4 * (size_t)linkage->leader[b]};
    const double smaller =
        fmin(vertices_of(linkage, moments, b), vertices_of(linkage, moments, linkage->leader[b]));
    const double *c = linkage->joint + 3 * b, a[4] = {c[0], c[1], c[2], 1};
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 4; j++) {
            const double by = linkage->stiffness[b] * smaller * a[i] * a[j];
            for (size_t k = 0; k < 4; k++) {
                linkage->normal[(at[k / 2] + i) * n + at[k % 2] + j] += k == 0 || k == 3 ? by : -by;
            }
        }
    }
}

void linkage_gather(Linkage *linkage, const Moments *moments) {
    const size_t n = wide(linkage), capacity = (size_t)linkage->model->capacity;
    for (size_t b = 0; b < (size_t)linkage->bones; b++) {
        for (size_t c = 0; c < (size_t)linkage->bones; c++) {
            double pair[PAIR];
            pass_pair(moments, linkage->model->capacity, (int)b, (int)c, pair);
            place_pair(pair, linkage->normal + 4 * b * n + 4 * c, n);
        }
    }
    for (int b = 0; b < linkage->bones; b++) {
        if (linkage->stiffness[b] > 0) {
            add_soft_joint(linkage, moments, b);
        }
    }
    fold(linkage, linkage->normal, n, 1, n);
    fold(linkage, linkage->normal, 1, n, n);
    for (size_t row = 0; row < 3 * (size_t)linkage->frames; row++) {
        memcpy(linkage->right + row * n, moments->c + row * 4 * capacity, n * sizeof(double));
    }
    fold(linkage, linkage->right, 1, n, 3 * (size_t)linkage->frames);
}

/* to = R_b c */
static void turn(const Linkage *linkage, const double *z, int b, const double c[3], double to[3]) {
    for (size_t i = 0; i < 3; i++) {
        const double *r = z + i * wide(linkage) + 4 * b;
        to[i] = r[0] * c[0] + r[1] * c[1] + r[2] * c[2];
    }
}

void linkage_slide(const Linkage *linkage, const double *slide, double *z) {
    for (int b = 0; b < linkage->bones; b++) {
        double way[3];
        if (linkage->parent[b] < 0) {
            continue;
        }
        turn(linkage, z, linkage->parent[b], linkage->axis + 3 * b, way);
        for (size_t i = 0; i < 3; i++) {
            z[i * wide(linkage) + 4 * (size_t)b + 3] = way[i] * slide[b];
        }
    }
}

int linkage_ways(const Linkage *linkage, const double *z, int b, double way[3][3]) {
    const int count = way_count(linkage, b);
    memset(way, 0, 9 * sizeof(double));
    if (linkage->parent[b] < 0) {
        way[0][0] = way[1][1] = way[2][2] = 1;
    } else if (count > 0) {
        turn(linkage, z, linkage->parent[b], linkage->axis + 3 * b, way[0]);
    }
    return count;
}

void linkage_read(const Linkage *linkage, int frame, double *slide, double *z) {
    const size_t n = wide(linkage), row = 4 * (size_t)linkage->model->capacity;
    for (size_t i = 0; i < 3; i++) {
        memcpy(z + i * n, linkage->model->transform + (3 * (size_t)frame + i) * row, n * sizeof *z);
    }
    memcpy(slide, linkage->slide + (size_t)frame * (size_t)linkage->bones,
           (size_t)linkage->bones * sizeof *slide);
    linkage_slide(linkage, slide, z);
}

/* t_a = t_p + R_p c_a + e_a - R_a c_a */
void linkage_write(Linkage *linkage, int frame, const double *slide, const double *z) {
    const size_t n = wide(linkage), row = 4 * (size_t)linkage->model->capacity;
    double *m = linkage->model->transform + 3 * (size_t)frame * row;
    memcpy(linkage->slide + (size_t)frame * (size_t)linkage->bones, slide,
           (size_t)linkage->bones * sizeof *slide);
    for (int k = 0; k < linkage->bones; k++) {
        const int a = linkage->order[k], p = linkage->parent[a];
        double own[3] = {0}, above[3] = {0};
        if (p >= 0) {
            turn(linkage, z, a, linkage->joint + 3 * a, own);
            turn(linkage, z, p, linkage->joint + 3 * a, above);
        }
        for (size_t i = 0; i < 3; i++) {
            memcpy(m + i * row + 4 * a, z + i * n + 4 * a, 3 * sizeof *m);
            m[i * row + 4 * (size_t)a + 3] = z[i * n + 4 * (size_t)a + 3] +
                                             (p < 0 ? 0 : m[i * row + 4 * (size_t)p + 3]) + above[i] - own[i];
        }
    }
}

double linkage_gap(const Linkage *linkage, int frame, int b) {
    const size_t row = 4 * (size_t)linkage->model->capacity;
    const double *c = linkage->joint + 3 * b;
    double square = 0;
    for (size_t i = 0; i < 3; i++) {
        const double *m = linkage->model->transform + (3 * (size_t)frame + i) * row;
        const double *own = m + 4 * (size_t)b, *other = m + 4 * (size_t)linkage->leader[b];
        const double off = (own[0] - other[0]) * c[0] + (own[1] - other[1]) * c[1] +
                           (own[2] - other[2]) * c[2] + own[3] - other[3];
        square += off * off;
    }
    return sqrt(square);
}

static void chain_frame(void *user, int frame, int worker) {
    Linkage *linkage = user;
    Bench *bench = &linkage->bench[worker];
    linkage_read(linkage, frame, bench->slide, bench->z);
    linkage_write(linkage, frame, bench->slide, bench->z);
}

void linkage_chain(Linkage *linkage) {
    parallel_run(linkage->call->pool, linkage->frames, chain_frame, linkage);
}

double linkage_misfit(const Linkage *linkage, int frame, const double *z, double *left) {
    const size_t n = wide(linkage);
    const double *k = linkage->right + 3 * (size_t)frame * n;
    double sum = 0;
    for (size_t i = 0; i < 3; i++) {
        double *to = left + i * n;
        memcpy(to, k + i * n, n * sizeof *to);
        for (size_t a = 0; a < n; a++) {
            const double x = z[i * n + a], *row = linkage->normal + a * n;
            for (size_t b = 0; b < n && x != 0; b++) {
                to[b] -= x * row[b];
            }
        }
        for (size_t a = 0; a < n; a++) {
            sum -= z[i * n + a] * (to[a] + k[i * n + a]);
        }
    }
    return sum;
}

static size_t transform_bytes(const Linkage *linkage) {
    return 12 * (size_t)linkage->frames * (size_t)linkage->model->capacity * sizeof(double);
}

int linkage_pin_make(const Linkage *linkage, Pinned *pinned) {
    Arena *arena = &linkage->call->arena;
    const size_t b = (size_t)linkage->bones;
    pinned->joint = arena_take(arena, 3 * b, sizeof(double));
    pinned->slide = arena_take(arena, (size_t)linkage->frames * b, sizeof(double));
    pinned->transform = arena_take(arena, transform_bytes(linkage), 1);
    return !arena->failed;
}

void linkage_pin(const Linkage *linkage, Pinned *pinned) {
    const size_t b = (size_t)linkage->bones;
    memcpy(pinned->joint, linkage->joint, 3 * b * sizeof(double));
    memcpy(pinned->slide, linkage->slide, (size_t)linkage->frames * b * sizeof(double));
    memcpy(pinned->transform, linkage->model->transform, transform_bytes(linkage));
}

void linkage_unpin(Linkage *linkage, const Pinned *pinned) {
    const size_t b = (size_t)linkage->bones;
    memcpy(linkage->joint, pinned->joint, 3 * b * sizeof(double));
    memcpy(linkage->slide, pinned->slide, (size_t)linkage->frames * b * sizeof(double));
    memcpy(linkage->model->transform, pinned->transform, transform_bytes(linkage));
    linkage_aim(linkage);
}

static int take_benches(Call *call, Linkage *linkage) {
    Arena *arena = &call->arena;
    const size_t b = (size_t)linkage->bones, m = (size_t)linkage->unknowns, n = 4 * b;
    linkage->bench = arena_take(arena, (size_t)parallel_workers(call->pool), sizeof(Bench));
    for (int i = 0; i < parallel_workers(call->pool) && !arena->failed; i++) {
        Bench *bench = &linkage->bench[i];
        bench->z = arena_take(arena, 3 * n, sizeof(double));
        bench->tried = arena_take(arena, 3 * n, sizeof(double));
        bench->slide = arena_take(arena, b, sizeof(double));
        bench->tried_slide = arena_take(arena, b, sizeof(double));
        bench->left = arena_take(arena, 3 * n, sizeof(double));
        bench->normal = arena_take(arena, n * n, sizeof(double));
        bench->system = arena_take(arena, m * m, sizeof(double));
        bench->damped = arena_take(arena, m * m, sizeof(double));
        bench->gradient = arena_take(arena, m, sizeof(double));
        bench->step = arena_take(arena, m, sizeof(double));
        bench->across = arena_take(arena, 3 * b * m, sizeof(double));
        bench->solved = arena_take(arena, 3 * b * m, sizeof(double));
        bench->flipped = arena_take(arena, 3 * b * m, sizeof(double));
        bench->turned = arena_take(arena, 9 * b, sizeof(double));
    }
    return !arena->failed;
}

static int take_arrays(Call *call, Linkage *linkage) {
    Arena *arena = &call->arena;
    const size_t b = (size_t)linkage->bones, f = (size_t)linkage->frames, n = 4 * b;
    linkage->parent = arena_take(arena, b, sizeof(int));
    linkage->leader = arena_take(arena, b, sizeof(int));
    linkage->stiffness = arena_take(arena, b, sizeof(double));
    linkage->order = arena_take(arena, b, sizeof(int));
    linkage->first = arena_take(arena, b, sizeof(int));
    linkage->joint = arena_take(arena, 3 * b, sizeof(double));
    linkage->anchor = arena_take(arena, 3 * b, sizeof(double));
    linkage->clearance = arena_take(arena, b, sizeof(double));
    linkage->held = arena_take(arena, b, 1);
    linkage->mirror_room = arena_take(arena, b, sizeof(int));
    linkage->axis = arena_take(arena, 3 * b, sizeof(double));
    linkage->slide = arena_take(arena, f * b, sizeof(double));
    linkage->normal = arena_take(arena, n * n, sizeof(double));
    linkage->right = arena_take(arena, 3 * f * n, sizeof(double));
    linkage->misfit = arena_take(arena, f, sizeof(double));
    return linkage_pin_make(linkage, &linkage->before);
}

static void measure_problem(Linkage *linkage) {
    const Problem *problem = linkage->problem;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    for (int v = 0; v < problem->vertices; v++) {
        linkage->constant += problem->mass[v] * problem->square[v];
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], problem->rest[3 * (size_t)v + (size_t)i]);
            high[i] = fmax(high[i], problem->rest[3 * (size_t)v + (size_t)i]);
        }
    }
    for (int i = 0; i < 3; i++) {
        square += (high[i] - low[i]) * (high[i] - low[i]);
    }
    linkage->diagonal = square > 0 ? sqrt(square) : 1;
}

/* Held joints stay, and so do roots' own; a pair of which one is held is none. */
static void hold_joints(Linkage *linkage, const ossify_skeleton *skeleton) {
    linkage->all_held = 1;
    for (int b = 0; b < linkage->bones; b++) {
        const int held = skeleton->held_joints && skeleton->held_joints[b];
        linkage->held[b] = held || linkage->parent[b] < 0;
        linkage->all_held &= linkage->held[b];
        linkage->mirror_room[b] = skeleton->mirrors[b];
    }
    for (int b = 0; b < linkage->bones && skeleton->symmetry != OSSIFY_SYMMETRY_NONE; b++) {
        const int other = skeleton->mirrors[b];
        if (skeleton->held_joints &&
            (skeleton->held_joints[b] || (other >= 0 && skeleton->held_joints[other]))) {
            linkage->mirror_room[b] = -1;
        }
    }
}

/* Joints begin where they are drawn to. */
static void anchor_joints(Linkage *linkage) {
    if (linkage->mirror) {
        symmetry_mirror_joints(linkage->plane, linkage->mirror, linkage->parent, linkage->bones,
                               linkage->joint);
    }
    memcpy(linkage->anchor, linkage->joint, 3 * (size_t)linkage->bones * sizeof(double));
    linkage_aim(linkage);
}

/* The step along the axis, in the linkage's lengths. */
static double way_to_middle(const Body *body, const Placement *placement, const Joint *joint,
                            const double axis[3], const double from[3]) {
    double along = 0;
    for (int i = 0; i < 3 && joint->share > 0; i++) {
        const double middle = body->origin[i] + body->unit * joint->anchor[i];
        along += axis[i] * ((middle - placement->centre[i]) / placement->unit - from[i]);
    }
    return along;
}

int linkage_centre_hinges(Linkage *linkage, const ossify_poses *poses, const ossify_rig *rig,
                          const ossify_skeleton *skeleton, const Placement *placement) {
    Arena *arena = &linkage->call->arena;
    ArenaPiece *mark = arena_mark(arena);
    Body body;
    const int made = body_make(linkage->call, poses, rig, &body);
    for (int b = 0; b < linkage->bones && made; b++) {
        const double *axis = skeleton->axes + 3 * b;
        Joint joint;
        if (linkage->held[b] || skeleton->joint_kinds[b] != OSSIFY_JOINT_HINGE) {
            continue;
        }
        joint_between(&body, b, linkage->parent[b], &joint);
        const double along = way_to_middle(&body, placement, &joint, axis, linkage->joint + 3 * b);
        for (int i = 0; i < 3; i++) {
            linkage->joint[3 * b + i] += along * axis[i];
        }
    }
    anchor_joints(linkage);
    arena_return(arena, mark);
    return made;
}

int linkage_make(Call *call, const Problem *problem, Model *model, const ossify_skeleton *skeleton,
                 const Placement *placement, Linkage *linkage) {
    *linkage = (Linkage){.call = call, .problem = problem, .model = model, .bones = model->bones};
    linkage->frames = problem->frames;
    linkage->stretch = skeleton->stretch != 0;
    if (!take_arrays(call, linkage)) {
        return 0;
    }
    measure_problem(linkage);
    for (int b = 0; b < linkage->bones; b++) {
        linkage->clearance[b] = INFINITY;
    }
    for (int b = 0; b < linkage->bones; b++) {
        const int soft = skeleton->stiffness && skeleton->stiffness[b] > 0 && skeleton->parents[b] >= 0;
        linkage->leader[b] = skeleton->parents[b];
        linkage->parent[b] = soft ? -1 : skeleton->parents[b];
        linkage->stiffness[b] = soft ? skeleton->stiffness[b] : 0;
    }
    order_bones(linkage);
    number_unknowns(linkage);
    hold_joints(linkage, skeleton);
    for (int i = 0; i < 3 * linkage->bones; i++) {
        linkage->joint[i] = (skeleton->joints[i] - placement->centre[i % 3]) / placement->unit;
    }
    if (skeleton->symmetry != OSSIFY_SYMMETRY_NONE) {
        const double *n = skeleton->plane, *o = placement->centre;
        linkage->mirror = linkage->mirror_room;
        memcpy(linkage->plane, n, 3 * sizeof *n);
        linkage->plane[3] = (n[3] - n[0] * o[0] - n[1] * o[1] - n[2] * o[2]) / placement->unit;
    }
    anchor_joints(linkage);
    return take_benches(call, linkage);
}
