/* average.c - the L2,2 inner product of animation space (Merry, Marais and Gain 2006, section 5 and appendix A).
 *
 *     <s, t> = E[G s . G t] = s'P t,     P = E[G'G],  4 numbers a bone,            (Eq. 12-14)
 *
 * over poses that were seen, or over all poses that a statistical model of the joints has:
 *
 *     joints        the joints' matrices L are independent:  E[G_j'G_k] = E[G_j'G_parent(k)] E[L_k]      (Eq. 19)
 *     components    and the linear part of each of its translation:  E[G_j'G_j] from top to bottom by    (Eq. 20-22)
 *                       E[|g_j|^2] = E[|g_p|^2] + 2 E[g_p'A_p] E[l_j] + E[|A_p l_j|^2]
 *                       E[A_j'g_j] = E[R_j]' (E[A_p'g_p] + E[A_p'A_p] E[l_j])
 *     translations  and l_j does not change:  E[|A_p l_j|^2] = l_j'E[A_p'A_p] l_j
 *     rotations     and only rotations occur:  E[A_j'A_j] = I
 *     uniform       all of them as likely as any other:  E[R_j] = 0
 *
 * where G = (A, g) leads from a bone to the model and L = (R, l) to its parent, p. Expectations on the right are means
 * over the frames. A bone's own space has its origin at its joint: there l_j is what the skeleton says. Model space is
 * that of the root, from which every pose is seen, so that wherever a body stands its lengths are the same.
 *
 * Deviation: P is that of matrices of three rows, so that s'P s is a mean squared length also of an s that is a
 * place; and in coordinates of the rest, as all of the library. */
#include "animation_space/average.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "animation_space/animation_space.h"
#include "core/sentence.h"

#define FLATTEST 1e-12 /* determinant of a root that cannot be seen from */

enum { EDGE_BLOCK = 256, MOST_PARTS = 4 * OSSIFY_MAX_INFLUENCES };

typedef struct Work {
    Call *call;
    const ossify_poses *poses;
    const ossify_rig *rig;
    const ossify_space *space; /* NULL: none */
    const ossify_pose_model *model;
    int bones, frames, root;
    int *order;      /* [b] parents first */
    double *local;   /* [b][16] E[L], of the joint's own space; that of the root is I */
    double *product; /* [b][b][16] E[G_j'G_k], with the 1 of homogeneous matrices while it is made */
    double *edge;    /* [t][3] */
} Work;

/* ---- what cannot be ---- */

static int bad_joints(const ossify_request *request, ossify_info *info) {
    const ossify_pose_model *model = request->options;
    const int64_t bones = request->rig->bones;
    int roots = 0;
    for (int64_t b = 0; b < bones; b++) {
        roots += model->parents[b] < 0;
    }
    if (roots != 1) {
        return BAD(info,
                   "pose_model.parents have %d roots (-1): poses are seen from one; hang the others from it",
                   roots);
    }
    for (int64_t i = 0; i < 3 * bones; i++) {
        if (!(fabs(model->joints[i]) <= FARTHEST_JOINT)) {
            return BAD(info,
                       "pose_model.joints[%" PRId64 "][%" PRId64 "] is %s: it must be finite and within %g",
                       i / 3, i % 3, sentence_number(model->joints[i]).letters, FARTHEST_JOINT);
        }
    }
    return 0;
}

int average_refuses(const ossify_request *request, ossify_info *info) {
    const ossify_pose_model *model = request->options;
    const ossify_average *found = request->result;
    if (sentence_bad_range(info, "pose_model.kind", model->kind, OSSIFY_POSES_SEEN, OSSIFY_POSES_UNIFORM) ||
        sentence_bad_array(info, "average.products", found->products, sizeof(double),
                           "[bones][4][bones][4]") ||
        (found->edges != NULL &&
         sentence_bad_array(info, "average.edges", found->edges, sizeof(double), "[triangles][3]"))) {
        return 1;
    }
    return model->kind != OSSIFY_POSES_SEEN &&
           (sentence_bad_array(info, "pose_model.parents", model->parents, sizeof(int32_t), "[bones]") ||
            sentence_bad_array(info, "pose_model.joints", model->joints, sizeof(double), "[bones][3]") ||
            sentence_bad_parents(info, "pose_model", model->parents, request->rig->bones) ||
            bad_joints(request, info));
}

/* ---- matrices of four rows, and of three in the rig ---- */

static const double *transform_at(const Work *work, int f, int b) {
    return work->rig->transforms + 12 * ((size_t)f * (size_t)work->rig->bone_capacity + (size_t)b);
}

static double *product_at(const Work *work, int j, int k) {
    return work->product + 16 * ((size_t)j * (size_t)work->bones + (size_t)k);
}

/* c = a b */
static void multiply(const double a[16], const double b[16], double c[16]) {
    for (int i = 0; i < 16; i++) {
        double sum = 0;
        for (int m = 0; m < 4; m++) {
            sum += a[4 * (i / 4) + m] * b[4 * m + i % 4];
        }
        c[i] = sum;
    }
}

static void transpose(const double a[16], double t[16]) {
    for (int i = 0; i < 16; i++) {
        t[i] = a[4 * (i % 4) + i / 4];
    }
}

/* c += share a'b, of rows 0..2 alone */
static void add_product(const double *a, const double *b, double share, double c[16]) {
    for (int i = 0; i < 16; i++) {
        c[i] += share * (a[i / 4] * b[i % 4] + a[4 + i / 4] * b[4 + i % 4] + a[8 + i / 4] * b[8 + i % 4]);
    }
}

/* (R, t) -> (R^-1, -R^-1 t); 0 when it has no inverse */
static int invert(const double a[12], double inverse[16]) {
    double cofactor[9];
    for (int i = 0; i < 9; i++) {
        const int r = i / 3, c = i % 3, r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3,
                  c2 = (c + 2) % 3;
        cofactor[i] = a[4 * r1 + c1] * a[4 * r2 + c2] - a[4 * r1 + c2] * a[4 * r2 + c1];
    }
    const double det = a[0] * cofactor[0] + a[1] * cofactor[1] + a[2] * cofactor[2];
    for (int i = 0; i < 3; i++) {
        double moved = 0;
        for (int j = 0; j < 3; j++) {
            inverse[4 * i + j] = cofactor[3 * j + i] / det;
            moved -= inverse[4 * i + j] * a[4 * j + 3];
        }
        inverse[4 * i + 3] = moved;
    }
    memcpy(inverse + 12, (double[4]){0, 0, 0, 1}, 4 * sizeof(double));
    return fabs(det) > FLATTEST;
}

/* Shifts the origin: a T(by), of four rows */
static void shift(double a[16], const double by[3], double sign) {
    for (int r = 0; r < 4; r++) {
        a[4 * r + 3] += sign * (a[4 * r] * by[0] + a[4 * r + 1] * by[1] + a[4 * r + 2] * by[2]);
    }
}

/* G of a bone in a frame: from its own space, at its joint, to that of the root; 0 when the root is flat */
static int seen_from_root(const Work *work, int f, int b, double g[16]) {
    double inverse[16], whole[16] = {0};
    const int ready = invert(transform_at(work, f, work->root), inverse);
    memcpy(whole, transform_at(work, f, b), 12 * sizeof(double));
    whole[15] = 1;
    multiply(inverse, whole, g);
    shift(g, work->model->joints + 3 * (size_t)b, 1);
    /* and the root's own space begins at its joint, too */
    for (int i = 0; i < 3; i++) {
        g[4 * i + 3] -= work->model->joints[3 * (size_t)work->root + (size_t)i];
    }
    return ready;
}

/* ---- what the frames say ---- */

/* Row j of P, from every pose that was seen. */
static void see_row(void *user, int j, int worker) {
    const Work *work = user;
    const double share = 1.0 / work->frames;
    for (int k = 0; k < work->bones && !atomic_load(&work->call->cancelled); k++) {
        double *p = product_at(work, j, k);
        memset(p, 0, 16 * sizeof *p);
        for (int f = 0; f < work->frames; f++) {
            add_product(transform_at(work, f, j), transform_at(work, f, k), share, p);
        }
        if (worker == 0) {
            call_poll(work->call, -1);
        }
    }
}

/* Means of one bone: E[L]; E[G'G] on the diagonal of P; and E[|A_p l|^2]. 0 when the root is flat. */
static int see_joint(const Work *work, int b, double *reach) {
    const int parent = work->model->parents[b];
    const double share = 1.0 / work->frames;
    double *local = work->local + 16 * (size_t)b, *own = product_at(work, b, b), g[16], above[16], up[16],
           l[16];
    memset(local, 0, 16 * sizeof *local);
    memset(own, 0, 16 * sizeof *own);
    *reach = 0;
    for (int f = 0; f < work->frames; f++) {
        if (!seen_from_root(work, f, b, g) || !seen_from_root(work, f, parent, above) || !invert(above, up)) {
            return 0;
        }
        multiply(up, g, l);
        add_product(g, g, share, own);
        for (int i = 0; i < 16; i++) {
            local[i] += share * l[i];
        }
        for (int i = 0; i < 3; i++) {
            const double moved = g[4 * i + 3] - above[4 * i + 3];
            *reach += share * moved * moved;
        }
    }
    own[15] += 1;
    return 1;
}

/* ---- the models ---- */

/* What a model says of E[L] instead of the frames. */
static void suppose_local(const Work *work, int b) {
    const double *joints = work->model->joints;
    double *local = work->local + 16 * (size_t)b;
    const int64_t kind = work->model->kind;
    for (int i = 0; i < 3 && kind >= OSSIFY_POSES_TRANSLATIONS; i++) {
        local[4 * i + 3] =
            joints[3 * (size_t)b + (size_t)i] - joints[3 * (size_t)work->model->parents[b] + (size_t)i];
        for (int j = 0; j < 3 && kind == OSSIFY_POSES_UNIFORM; j++) {
            local[4 * i + j] = 0;
        }
    }
}

/* The diagonal of P by Eq. 20-22, from that of the parent; reach: E[|A_p l|^2] as the frames have it */
static void suppose_own(const Work *work, int b, double reach) {
    const int64_t kind = work->model->kind;
    const int p = work->model->parents[b];
    const double *above = product_at(work, p, p), *local = work->local + 16 * (size_t)b;
    const double l[3] = {local[3], local[7], local[11]};
    double *own = product_at(work, b, b), pulled[3], far = above[15], length = 0;
    for (int i = 0; i < 3; i++) {
        double turned = 0;
        for (int j = 0; j < 3; j++) {
            turned += above[4 * i + j] * l[j];
            if (kind >= OSSIFY_POSES_ROTATIONS) {
                own[4 * i + j] = i == j;
            }
        }
        length += l[i] * turned;
        pulled[i] = above[4 * i + 3] + turned; /* E[A_p'g_p] + E[A_p'A_p] l */
        far += 2 * above[4 * i + 3] * l[i];
    }
    own[15] = far + (kind >= OSSIFY_POSES_TRANSLATIONS ? length : reach);
    for (int i = 0; i < 3; i++) {
        own[4 * i + 3] = local[i] * pulled[0] + local[4 + i] * pulled[1] + local[8 + i] * pulled[2];
        own[12 + i] = own[4 * i + 3];
    }
}

/* Eq. 19 for all bones that come before k. */
static void suppose_pairs(const Work *work, int at) {
    const int k = work->order[at], parent = work->model->parents[k];
    for (int i = 0; i < at; i++) {
        const int j = work->order[i];
        multiply(product_at(work, j, parent), work->local + 16 * (size_t)k, product_at(work, j, k));
        transpose(product_at(work, j, k), product_at(work, k, j));
    }
}

/* From joints' own spaces to the coordinates of the rest, and matrices of three rows. */
static void to_rest(const Work *work) {
    const double *joints = work->model->joints;
    for (int j = 0; j < work->bones; j++) {
        for (int k = 0; k < work->bones; k++) {
            double *p = product_at(work, j, k), turned[16];
            p[15] -= 1;
            shift(p, joints + 3 * (size_t)k, -1);
            transpose(p, turned);
            shift(turned, joints + 3 * (size_t)j, -1);
            transpose(turned, p);
        }
    }
}

static void put_in_order(const Work *work) {
    int count = 0;
    work->order[count++] = work->root;
    for (int at = 0; at < count; at++) {
        for (int b = 0; b < work->bones; b++) {
            if (work->model->parents[b] == work->order[at]) {
                work->order[count++] = b;
            }
        }
    }
}

static int64_t suppose(const Work *work) {
    double *root = product_at(work, work->root, work->root);
    put_in_order(work);
    memset(root, 0, 16 * sizeof *root);
    for (int i = 0; i < 4; i++) {
        root[5 * i] = 1;
    }
    for (int at = 1; at < work->bones; at++) {
        const int b = work->order[at];
        double reach;
        if (!see_joint(work, b, &reach)) {
            return sentence_refuse(
                work->call->info, OSSIFY_BAD_ARGUMENT,
                "bone %d, or one that it hangs from, is flat in some frame: joints can only be "
                "seen from bones that have an inverse",
                b);
        }
        suppose_local(work, b);
        if (work->model->kind >= OSSIFY_POSES_COMPONENTS) {
            suppose_own(work, b, reach);
        }
        suppose_pairs(work, at);
        if (call_poll(work->call, 0.8 * at / work->bones)) {
            return call_ended(work->call);
        }
    }
    to_rest(work);
    return OSSIFY_CONVERGED;
}

/* ---- lengths of edges ---- */

typedef struct Part {
    int bone;
    double at[4];
} Part;

/* Adds sign p of a vertex, a part for each of its bones. */
static int add_place(const Work *work, int v, double sign, Part *parts, int count) {
    const ossify_rig *rig = work->rig;
    const float *rest = rig->rest + 3 * (size_t)v;
    for (int64_t k = 0; k < rig->influences; k++) {
        const size_t i = (size_t)(v * rig->influences + k);
        if (rig->influence_bones[i] >= 0) {
            const double w = sign * (double)rig->influence_weights[i];
            parts[count++] = (Part){rig->influence_bones[i],
                                    {w * (double)rest[0], w * (double)rest[1], w * (double)rest[2], w}};
        }
    }
    for (int64_t k = 0; work->space && k < work->space->influences; k++) {
        const size_t i = (size_t)(v * work->space->influences + k);
        const float *d = work->space->corrections + 4 * i;
        if (work->space->bones[i] >= 0) {
            parts[count++] =
                (Part){work->space->bones[i],
                       {sign * (double)d[0], sign * (double)d[1], sign * (double)d[2], sign * (double)d[3]}};
        }
    }
    return count;
}

/* s'P s */
static double squared_length(const Work *work, const Part *parts, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            const double *p = product_at(work, parts[i].bone, parts[j].bone);
            for (int m = 0; m < 16; m++) {
                sum += parts[i].at[m / 4] * p[m] * parts[j].at[m % 4];
            }
        }
    }
    return sum;
}

static void measure_edges(void *user, int block, int worker) {
    const Work *work = user;
    const int64_t last = 3 * work->poses->triangle_count, end = (int64_t)(block + 1) * EDGE_BLOCK;
    Part parts[MOST_PARTS];
    if (atomic_load(&work->call->cancelled) || (worker == 0 && call_poll(work->call, -1))) {
        return;
    }
    for (int64_t e = (int64_t)block * EDGE_BLOCK; e < end && e < last; e++) {
        const int32_t *corner = work->poses->triangles + e / 3 * 3;
        int count = add_place(work, corner[e % 3], -1, parts, 0);
        count = add_place(work, corner[(e + 1) % 3], 1, parts, count);
        work->edge[e] = fmax(squared_length(work, parts, count), 0);
    }
}

/* ---- the whole ---- */

static int find_root(const ossify_pose_model *model, int bones) {
    for (int b = 0; b < bones && model->kind != OSSIFY_POSES_SEEN; b++) {
        if (model->parents[b] < 0) {
            return b;
        }
    }
    return 0;
}

/* P as it is above its diagonal, so that it is symmetric to the last bit. */
static void write_result(const Work *work, const ossify_average *found) {
    const size_t row = 4 * (size_t)work->bones;
    for (size_t i = 0; i < row * row; i++) {
        const size_t r = i / row < i % row ? i / row : i % row, c = i / row + i % row - r;
        found->products[i] = product_at(work, (int)(r / 4), (int)(c / 4))[4 * (r % 4) + c % 4];
    }
    if (found->edges) {
        memcpy(found->edges, work->edge, 3 * (size_t)work->poses->triangle_count * sizeof(double));
    }
}

int64_t average(Call *call, const ossify_request *request) {
    const ossify_average *found = request->result;
    const ossify_space *space = request->space;
    const int bones = (int)request->rig->bones;
    Work work = {.call = call,
                 .poses = request->poses,
                 .rig = request->rig,
                 .space = space && space->given ? space : NULL,
                 .model = request->options,
                 .bones = bones,
                 .frames = (int)request->poses->frame_count};
    const size_t pairs = (size_t)bones * (size_t)bones, edges = 3 * (size_t)request->poses->triangle_count;
    call_stage(call, OSSIFY_STAGE_SPACE);
    work.root = find_root(work.model, bones);
    work.order = arena_take(&call->arena, (size_t)bones, sizeof(int));
    work.local = arena_take(&call->arena, 16 * (size_t)bones, sizeof(double));
    work.product = arena_take(&call->arena, 16 * pairs, sizeof(double));
    work.edge = arena_take(&call->arena, found->edges ? edges + 1 : 1, sizeof(double));
    if (call->arena.failed) {
        return call_ended(call);
    }
    if (work.model->kind == OSSIFY_POSES_SEEN) {
        parallel_run(call->pool, bones, see_row, &work);
    } else {
        const int64_t status = suppose(&work);
        if (status < 0) {
            return status;
        }
    }
    if (found->edges) {
        parallel_run(call->pool, (int)((edges + EDGE_BLOCK - 1) / EDGE_BLOCK), measure_edges, &work);
    }
    if (call_poll(call, 0.95)) {
        return call_ended(call);
    }
    write_result(&work, found);
    return OSSIFY_CONVERGED;
}
