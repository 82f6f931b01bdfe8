/* synthetic.c - see synthetic.h. */
#include "synthetic.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "math/rotation3.h"
#include "test.h"

static const double TAU = 6.283185307179586;

static void *take(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        fprintf(stderr, "synthetic.c: out of memory\n");
        exit(1);
    }
    return memory;
}

static double between(uint64_t *random, double low, double high) {
    return low + (high - low) * random_unit(random);
}

static double normal(uint64_t *random) {
    double radius = sqrt(-2 * log(1 - random_unit(random)));
    return radius * cos(TAU * random_unit(random));
}

/* ---- surfaces: a lattice of rows x columns, closed around the columns or not */

typedef struct Lattice {
    int rows, columns, shells;
    int closed; /* column `columns` is column 0 again */
} Lattice;

static Lattice lattice_of(const SyntheticOptions *o) {
    Lattice l = {2, 2, o->shells, o->shape != SHAPE_GRID};
    double each = fmax(1, (double)o->vertices / o->shells);
    double aspect = o->shape == SHAPE_TUBE ? 3.0 : 1.0; /* rows for each column */
    l.columns = (int)fmax(l.closed ? 3 : 2, floor(sqrt(each / aspect) + 0.5));
    l.rows = (int)fmax(2, floor(each / l.columns + 0.5));
    return l;
}

/* r, c in 0..1 */
static void point_on(Shape shape, double r, double c, double p[3]) {
    double around = TAU * c, thick, up;
    switch (shape) {
    case SHAPE_GRID:
        p[0] = 2 * r - 1;
        p[1] = 2 * c - 1;
        p[2] = 0.3 * sin(3 * p[0]) * cos(2 * p[1]);
        return;
    case SHAPE_TUBE:
        thick = 0.25 - 0.17 * r;
        p[0] = thick * cos(around) + 0.25 * sin(4 * r);
        p[1] = thick * sin(around);
        p[2] = 2 * r - 1;
        return;
    default:
        up = 0.03 + 0.94 * r; /* open at the poles: no vertex stands for a whole row */
        thick = 0.8 + 0.15 * sin(3 * around) * sin(TAU * up);
        p[0] = thick * sin(up * TAU / 2) * cos(around);
        p[1] = thick * sin(up * TAU / 2) * sin(around);
        p[2] = thick * cos(up * TAU / 2);
    }
}

static void make_rest(const SyntheticOptions *o, Lattice l, float *rest) {
    double spread = o->shape == SHAPE_TUBE ? 0.9 : 2.4;
    for (int s = 0; s < l.shells; s++) {
        for (int r = 0; r < l.rows; r++) {
            for (int c = 0; c < l.columns; c++, rest += 3) {
                double p[3];
                point_on(o->shape, r / (double)(l.rows - 1), c / (double)(l.columns - !l.closed), p);
                rest[0] = (float)(p[0] + spread * s);
                rest[1] = (float)p[1];
                rest[2] = (float)p[2];
            }
        }
    }
}

static int64_t make_triangles(Lattice l, int32_t *triangles) {
    int64_t count = 0;
    for (int s = 0; s < l.shells; s++) {
        for (int r = 0; r + 1 < l.rows; r++) {
            for (int c = 0; c < l.columns - !l.closed; c++, count += 2) {
                int here = (s * l.rows + r) * l.columns + c;
                int beside = (s * l.rows + r) * l.columns + (c + 1) % l.columns;
                int quad[6] = {here, beside, here + l.columns, beside, beside + l.columns, here + l.columns};
                for (int i = 0; i < 6; i++) {
                    triangles[3 * count + i] = quad[i];
                }
            }
        }
    }
    return count;
}

/* ---- weights */

static double distance(const float *a, const float *b) {
    double x = (double)a[0] - b[0], y = (double)a[1] - b[1], z = (double)a[2] - b[2];
    return sqrt(x * x + y * y + z * z);
}

/* Bones go to shells in turn; on a shell, each new middle is the vertex farthest from the others. */
static void place_bones(const SyntheticOptions *o, int each, const float *rest, int *middle) {
    for (int b = 0; b < o->bones; b++) {
        int shell = b % o->shells, best = shell * each;
        double far = -1;
        for (int v = shell * each; v < (shell + 1) * each; v++) {
            double near = DBL_MAX;
            for (int other = shell; other < b; other += o->shells) {
                near = fmin(near, distance(rest + 3 * v, rest + 3 * middle[other]));
            }
            if (near > far) {
                far = near;
                best = v;
            }
        }
        middle[b] = best;
    }
}

/* Half of the way to the nearest other bone would make all patches touch; a third leaves a seam. */
static void size_patches(const SyntheticOptions *o, const float *rest, const int *middle, double *patch) {
    for (int b = 0; b < o->bones; b++) {
        double near = DBL_MAX;
        for (int other = b % o->shells; other < o->bones; other += o->shells) {
            if (other != b) {
                near = fmin(near, distance(rest + 3 * middle[b], rest + 3 * middle[other]));
            }
        }
        patch[b] = near / 3;
    }
}

/* The bones of a shell nearest to p, at most `most`, nearest first; returns how many. */
static int nearest_bones(const SyntheticOptions *o, int shell, int most, const float *p, const float *rest,
                         const int *middle, const double *patch, int *bone, double *d) {
    int found = 0;
    for (int b = shell % o->bones; b < o->bones; b += o->shells) {
        double far = fmax(0, distance(p, rest + 3 * middle[b]) - patch[b]);
        int at = found < most ? found++ : most;
        for (; at > 0 && d[at - 1] > far; at--) {
            if (at < most) {
                d[at] = d[at - 1];
                bone[at] = bone[at - 1];
            }
        }
        if (at < most) {
            d[at] = far;
            bone[at] = b;
        }
    }
    return found;
}

/* The K nearest bones with (1/d_b - 1/d_(K+1))^2: it reaches 0 where a bone leaves the nearest K,
 * so weights are continuous, and 1 on a bone's own patch, where d_b = 0. */
static void weigh(const SyntheticOptions *o, int shell, const float *p, const float *rest, const int *middle,
                  const double *patch, int32_t *bones, float *weights) {
    static const double NOTHING = 1e-9;
    int k = o->influences, near[OSSIFY_MAX_INFLUENCES + 1] = {0};
    double d[OSSIFY_MAX_INFLUENCES + 1] = {0}, share[OSSIFY_MAX_INFLUENCES] = {0}, sum = 0, limit = 0;
    int found = nearest_bones(o, shell, k + 1, p, rest, middle, patch, near, d);
    if (found > k) {
        limit = 1 / fmax(d[k], NOTHING);
    }
    share[0] = sum = 1;
    if (d[0] > NOTHING) {
        sum = 0;
        for (int i = 0; i < k && i < found; i++) {
            share[i] = pow(1 / d[i] - limit, 2);
            sum += share[i];
        }
    }
    if (sum <= 0) { /* all equally far */
        share[0] = sum = 1;
    }
    for (int i = 0; i < k; i++) {
        int used = share[i] > 1e-8 * sum;
        bones[i] = used ? near[i] : -1;
        weights[i] = used ? (float)(share[i] / sum) : 0;
    }
}

/* ---- motion */

/* A smooth path within -1..1: three waves of random phase. */
typedef struct Path {
    double phase[3];
    double speed[3];
} Path;

static Path random_path(uint64_t *random) {
    Path path;
    for (int i = 0; i < 3; i++) {
        path.phase[i] = between(random, 0, TAU);
        path.speed[i] = (i + 1) * between(random, 0.7, 1.3);
    }
    return path;
}

static double along(const Path *path, double time) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += sin(path->phase[i] + TAU * path->speed[i] * time) / (i + 1);
    }
    return sum * 6 / 11;
}

/* Rodrigues: r = exp [axis]x */
static void rotation_of(const double axis[3], double r[9]) {
    double angle = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    double s = angle > 0 ? sin(angle) / angle : 1, c = angle > 0 ? (1 - cos(angle)) / (angle * angle) : 0.5;
    double x = axis[0], y = axis[1], z = axis[2];
    double cross[9] = {0, -z, y, z, 0, -x, -y, x, 0};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double square = 0;
            for (int k = 0; k < 3; k++) {
                square += cross[3 * i + k] * cross[3 * k + j];
            }
            r[3 * i + j] = (i == j) + s * cross[3 * i + j] + c * square;
        }
    }
}

/* Paths: 3 of the rotation, 3 of the translation, 9 of the stretch. */
enum { PATHS = 15 };

static void pose_bone(const SyntheticOptions *o, const Path *path, double time, const float *middle,
                      double m[12]) {
    double axis[3], r[9], a[9];
    for (int i = 0; i < 3; i++) {
        axis[i] = o->motion * along(&path[i], time);
    }
    rotation_of(axis, r);
    for (int i = 0; i < 9; i++) {
        a[i] = (i % 4 == 0) + (o->flexible ? 0.25 * along(&path[6 + i], time) : 0);
    }
    for (int i = 0; i < 3; i++) {
        double moved = middle[i] + 0.3 * o->motion * along(&path[3 + i], time);
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) {
                sum += r[3 * i + k] * a[3 * k + j];
            }
            m[4 * i + j] = sum;
            moved -= sum * middle[j];
        }
        m[4 * i + 3] = moved;
    }
}

static void make_motion(const SyntheticOptions *o, const float *rest, const int *middle, uint64_t *random,
                        double *transforms) {
    for (int b = 0; b < o->bones; b++) {
        Path path[PATHS];
        for (int i = 0; i < PATHS; i++) {
            path[i] = random_path(random);
        }
        for (int f = 0; f < o->frames; f++) {
            pose_bone(o, path, f / (double)o->frames, rest + 3 * middle[b],
                      transforms + 12 * (f * o->bones + b));
        }
    }
}

/* ---- jointed motion */

/* Prim's tree over the bones' middles, from bone 0; parents come before their children in `order`. */
static void join_bones(const SyntheticOptions *o, const float *rest, const int *middle,
                       ossify_skeleton *skeleton, int *order) {
    for (int count = 0; count < o->bones; count++) {
        int next = 0, to = -1;
        double least = DBL_MAX;
        for (int b = 0; b < o->bones; b++) {
            for (int i = 0; i < count; i++) {
                double far = distance(rest + 3 * middle[b], rest + 3 * middle[order[i]]);
                int joined = 0;
                for (int j = 0; j < count; j++) {
                    joined |= order[j] == b;
                }
                if (!joined && far < least) {
                    least = far;
                    next = b;
                    to = order[i];
                }
            }
        }
        order[count] = next;
        skeleton->parents[next] = to;
        for (int i = 0; i < 3; i++) {
            double here = rest[3 * middle[next] + i];
            skeleton->joints[3 * next + i] = to < 0 ? here : 0.5 * (here + rest[3 * middle[to] + i]);
        }
    }
}

/* What bone b does against its parent, x -> c + l d + r (x - c). */
static void pose_joint(const SyntheticOptions *o, const ossify_skeleton *skeleton, const Path *path, int b,
                       double time, double m[12]) {
    const double *c = skeleton->joints + 3 * b, *above = skeleton->joints + 3 * skeleton->parents[b];
    double swing = o->motion, axis[3], r[9], away[3], length = 0;
    if (skeleton->joint_kinds[b] == OSSIFY_JOINT_STIFF) {
        swing *= 0.005;
    }
    for (int i = 0; i < 3; i++) {
        axis[i] = o->hinges ? swing * along(&path[0], time) * skeleton->axes[3 * b + i]
                            : swing * along(&path[i], time);
        away[i] = c[i] - above[i];
        length += away[i] * away[i];
    }
    rotation_of(axis, r);
    for (int i = 0; i < 3; i++) {
        double slid = o->stretch ? 0.1 * along(&path[3], time) * away[i] / sqrt(length) : 0;
        m[4 * i + 3] = c[i] + slid - (r[3 * i] * c[0] + r[3 * i + 1] * c[1] + r[3 * i + 2] * c[2]);
        memcpy(m + 4 * i, r + 3 * i, 3 * sizeof *m);
    }
}

static void compose(const double *a, const double *b, double *ab) {
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 4; j++) {
            ab[4 * i + j] = a[4 * i] * b[j] + a[4 * i + 1] * b[4 + j] + a[4 * i + 2] * b[8 + j] +
                            (j == 3 ? a[4 * i + 3] : 0);
        }
    }
}

static void name_joints(const SyntheticOptions *o, ossify_skeleton *skeleton, uint64_t *random) {
    for (int b = 1; b < o->bones; b++) {
        double *axis = skeleton->axes + 3 * b, length = 0;
        for (int i = 0; i < 3; i++) {
            axis[i] = o->hinges ? between(random, -1, 1) : 0;
            length += axis[i] * axis[i];
        }
        for (int i = 0; i < 3 && o->hinges; i++) {
            axis[i] /= sqrt(length);
        }
        skeleton->joint_kinds[b] = o->stiff > 0 && b % o->stiff == 0 ? OSSIFY_JOINT_STIFF
                                   : o->hinges                       ? OSSIFY_JOINT_HINGE
                                                                     : OSSIFY_JOINT_BALL;
    }
}

static void make_jointed_motion(const SyntheticOptions *o, const float *rest, const int *middle,
                                uint64_t *random, ossify_skeleton *skeleton, double *transforms) {
    int *order = take((size_t)o->bones, sizeof *order);
    join_bones(o, rest, middle, skeleton, order);
    name_joints(o, skeleton, random);
    for (int k = 0; k < o->bones; k++) {
        int b = order[k], p = skeleton->parents[b];
        Path path[PATHS];
        for (int i = 0; i < PATHS; i++) {
            path[i] = random_path(random);
        }
        for (int f = 0; f < o->frames; f++) {
            double *m = transforms + 12 * (f * o->bones + b), turned[12];
            if (p < 0) {
                pose_bone(o, path, f / (double)o->frames, rest + 3 * middle[b], m);
            } else {
                pose_joint(o, skeleton, path, b, f / (double)o->frames, turned);
                compose(transforms + 12 * (f * o->bones + p), turned, m);
            }
        }
    }
    free(order);
}

/* y = sum_k w_k M_k p~, in double */
static void replay(const ossify_poses *poses, const ossify_rig *rig, int64_t f, int64_t v, double y[3]) {
    double p[3];
    for (int i = 0; i < 3; i++) {
        p[i] = rig->rest[3 * v + i];
        for (int64_t n = 0; n < rig->correctives; n++) {
            p[i] += rig->coefficients[f * rig->corrective_capacity + n] *
                    (double)rig->fields[3 * (n * poses->vertex_count + v) + i];
        }
    }
    y[0] = y[1] = y[2] = 0;
    for (int64_t k = 0; k < rig->influences; k++) {
        int32_t b = rig->influence_bones[v * rig->influences + k];
        double w = rig->influence_weights[v * rig->influences + k];
        if (b < 0) {
            continue;
        }
        const double *m = rig->transforms + 12 * (f * rig->bone_capacity + b);
        for (int i = 0; i < 3; i++) {
            y[i] += w * (m[4 * i] * p[0] + m[4 * i + 1] * p[1] + m[4 * i + 2] * p[2] + m[4 * i + 3]);
        }
    }
}

static void make_frames(const SyntheticOptions *o, const ossify_poses *poses, const ossify_rig *rig,
                        uint64_t *random, float *frames) {
    for (int64_t f = 0; f < poses->frame_count; f++) {
        for (int64_t v = 0; v < poses->vertex_count; v++, frames += 3) {
            double y[3];
            replay(poses, rig, f, v, y);
            for (int i = 0; i < 3; i++) {
                frames[i] = (float)(y[i] + (o->noise > 0 ? o->noise * normal(random) : 0));
            }
        }
    }
}

static void take_rig(const ossify_poses *poses, int64_t capacity, int64_t influences, ossify_rig *rig) {
    size_t vertices = (size_t)poses->vertex_count;
    memset(rig, 0, sizeof *rig);
    rig->struct_size = sizeof *rig;
    rig->bone_capacity = capacity;
    rig->influences = influences;
    rig->transforms = take((size_t)poses->frame_count * (size_t)capacity * 12, sizeof(double));
    rig->influence_bones = take(vertices * (size_t)influences, sizeof(int32_t));
    rig->influence_weights = take(vertices * (size_t)influences, sizeof(float));
    rig->rest = take(vertices * 3, sizeof(float));
}

static void free_rig(ossify_rig *rig) {
    free(rig->transforms);
    free(rig->influence_bones);
    free(rig->influence_weights);
    free(rig->rest);
    free(rig->fields);
    free(rig->coefficients);
}

static void take_correctives(const ossify_poses *poses, int64_t capacity, ossify_rig *rig) {
    rig->corrective_capacity = capacity;
    rig->fields = take((size_t)(3 * capacity * poses->vertex_count) + 1, sizeof(float));
    rig->coefficients = take((size_t)(capacity * poses->frame_count) + 1, sizeof(double));
}

/* Waves over the rest, and coefficients drawn by chance. */
static void make_correctives(const SyntheticOptions *o, const ossify_poses *poses, uint64_t *random,
                             ossify_rig *rig) {
    take_correctives(poses, o->correctives, rig);
    rig->correctives = o->correctives;
    for (int64_t n = 0; n < rig->correctives; n++) {
        double wave[12];
        for (int i = 0; i < 12; i++) {
            wave[i] = 2 * normal(random);
        }
        for (int64_t v = o->halved ? poses->vertex_count / 2 : 0; v < poses->vertex_count; v++) {
            const float *p = rig->rest + 3 * v;
            for (int i = 0; i < 3; i++) {
                const double *w = wave + 4 * i;
                rig->fields[3 * (n * poses->vertex_count + v) + i] =
                    (float)(0.1 / (double)(n + 1) * sin(w[0] * p[0] + w[1] * p[1] + w[2] * p[2] + w[3]));
            }
        }
        for (int64_t f = 0; f < poses->frame_count; f++) {
            rig->coefficients[f * o->correctives + n] = 2 * random_unit(random) - 1;
        }
    }
}

static SyntheticOptions with_defaults(SyntheticOptions o) {
    o.vertices = o.vertices > 0 ? o.vertices : 600;
    o.frames = o.frames > 0 ? o.frames : 20;
    o.bones = o.bones > 0 ? o.bones : 4;
    o.influences = o.influences > 0 ? o.influences : 2;
    o.shells = o.shells > 0 ? o.shells : 1;
    o.motion = o.motion > 0 ? o.motion : 0.7;
    return o;
}

Synthetic synthetic_make(SyntheticOptions options) {
    SyntheticOptions o = with_defaults(options);
    Lattice l = lattice_of(&o);
    int each = l.rows * l.columns, vertices = each * l.shells;
    uint64_t random = o.seed;
    Synthetic s;
    int *middle = take((size_t)o.bones, sizeof(int));
    double *patch = take((size_t)o.bones, sizeof(double));
    memset(&s, 0, sizeof s);
    s.rest = take((size_t)vertices * 3, sizeof(float));
    s.frames = take((size_t)vertices * (size_t)o.frames * 3, sizeof(float));
    s.triangles = take((size_t)vertices * 2 * 3, sizeof(int32_t));
    s.poses.struct_size = sizeof s.poses;
    s.poses.vertex_count = vertices;
    s.poses.frame_count = o.frames;
    s.poses.rest = s.rest;
    s.poses.frames = s.frames;
    make_rest(&o, l, s.rest);
    s.poses.triangle_count = o.faceless ? 0 : make_triangles(l, s.triangles);
    s.poses.triangles = o.faceless ? NULL : s.triangles;
    take_rig(&s.poses, o.bones, o.influences, &s.truth);
    s.truth.bones = o.bones;
    s.truth.given = OSSIFY_GIVEN_TRANSFORMS | OSSIFY_GIVEN_WEIGHTS;
    memcpy(s.truth.rest, s.rest, (size_t)vertices * 3 * sizeof(float));
    place_bones(&o, each, s.rest, middle);
    size_patches(&o, s.rest, middle, patch);
    for (int v = 0; v < vertices; v++) {
        weigh(&o, v / each, s.rest + 3 * v, s.rest, middle, patch, s.truth.influence_bones + v * o.influences,
              s.truth.influence_weights + v * o.influences);
    }
    s.skeleton = skeleton_start(o.bones);
    if (o.jointed) {
        make_jointed_motion(&o, s.rest, middle, &random, &s.skeleton, s.truth.transforms);
    } else {
        make_motion(&o, s.rest, middle, &random, s.truth.transforms);
    }
    if (o.correctives > 0) {
        make_correctives(&o, &s.poses, &random, &s.truth);
    }
    make_frames(&o, &s.poses, &s.truth, &random, s.frames);
    free(middle);
    free(patch);
    return s;
}

void synthetic_free(Synthetic *s) {
    free_rig(&s->truth);
    skeleton_free(&s->skeleton);
    free(s->rest);
    free(s->frames);
    free(s->triangles);
}

/* ---- answers */

Answer answer_start(const ossify_poses *poses, const ossify_settings *settings) {
    Answer answer;
    memset(&answer, 0, sizeof answer);
    take_rig(poses, settings->bones, settings->influences, &answer.rig);
    answer.info.struct_size = sizeof answer.info;
    return answer;
}

void answer_free(Answer *answer) {
    free_rig(&answer->rig);
}

Answer answer_of(const ossify_poses *poses, const ossify_rig *rig) {
    size_t vertices = (size_t)poses->vertex_count, entries = vertices * (size_t)rig->influences;
    Answer answer;
    memset(&answer, 0, sizeof answer);
    take_rig(poses, rig->bone_capacity, rig->influences, &answer.rig);
    answer.info.struct_size = sizeof answer.info;
    answer.rig.bones = rig->bones;
    answer.rig.given = rig->given;
    memcpy(answer.rig.transforms, rig->transforms,
           (size_t)poses->frame_count * (size_t)rig->bone_capacity * 12 * sizeof(double));
    memcpy(answer.rig.influence_bones, rig->influence_bones, entries * sizeof(int32_t));
    memcpy(answer.rig.influence_weights, rig->influence_weights, entries * sizeof(float));
    memcpy(answer.rig.rest, rig->rest, vertices * 3 * sizeof(float));
    if (rig->corrective_capacity > 0) {
        const size_t n = (size_t)rig->corrective_capacity;
        answer_correctives(poses, rig->corrective_capacity, &answer);
        answer.rig.correctives = rig->correctives;
        memcpy(answer.rig.fields, rig->fields, 3 * n * vertices * sizeof(float));
        memcpy(answer.rig.coefficients, rig->coefficients, n * (size_t)poses->frame_count * sizeof(double));
    }
    return answer;
}

void answer_correctives(const ossify_poses *poses, int64_t capacity, Answer *answer) {
    free(answer->rig.fields);
    free(answer->rig.coefficients);
    take_correctives(poses, capacity, &answer->rig);
    answer->rig.correctives = 0;
}

/* Fields and coefficients in use, to the bit. */
static int correctives_are_equal(const ossify_poses *poses, const ossify_rig *a, const ossify_rig *b) {
    const size_t n = (size_t)a->correctives;
    if (a->correctives != b->correctives || n == 0) {
        return a->correctives == b->correctives;
    }
    for (int64_t f = 0; f < poses->frame_count; f++) {
        if (memcmp(a->coefficients + f * a->corrective_capacity, b->coefficients + f * b->corrective_capacity,
                   n * sizeof(double)) != 0) {
            return 0;
        }
    }
    return memcmp(a->fields, b->fields, 3 * n * (size_t)poses->vertex_count * sizeof(float)) == 0;
}

int rigs_are_equal(const ossify_poses *poses, const ossify_rig *a, const ossify_rig *b) {
    size_t vertices = (size_t)poses->vertex_count, entries = vertices * (size_t)a->influences;
    if (a->bones != b->bones || a->influences != b->influences) {
        return 0;
    }
    for (int64_t f = 0; f < poses->frame_count; f++) {
        if (memcmp(a->transforms + 12 * f * a->bone_capacity, b->transforms + 12 * f * b->bone_capacity,
                   (size_t)a->bones * 12 * sizeof(double)) != 0) {
            return 0;
        }
    }
    return memcmp(a->influence_bones, b->influence_bones, entries * sizeof(int32_t)) == 0 &&
           memcmp(a->influence_weights, b->influence_weights, entries * sizeof(float)) == 0 &&
           memcmp(a->rest, b->rest, vertices * 3 * sizeof(float)) == 0 && correctives_are_equal(poses, a, b);
}

/* ---- skeletons */

ossify_skeleton skeleton_start(int64_t bones) {
    size_t n = (size_t)bones;
    ossify_skeleton skeleton = {.struct_size = sizeof skeleton, .bone_capacity = bones, .root = -1};
    skeleton.parents = take(n, sizeof(int32_t));
    skeleton.joint_kinds = take(n, sizeof(int32_t));
    skeleton.mirrors = take(n, sizeof(int32_t));
    skeleton.joints = take(3 * n, sizeof(double));
    skeleton.axes = take(3 * n, sizeof(double));
    skeleton.angles = take(n, sizeof(double));
    skeleton.drifts = take(n, sizeof(double));
    memset(skeleton.parents, -1, n * sizeof(int32_t));
    memset(skeleton.mirrors, -1, n * sizeof(int32_t));
    return skeleton;
}

void skeleton_free(ossify_skeleton *skeleton) {
    free(skeleton->parents);
    free(skeleton->joint_kinds);
    free(skeleton->mirrors);
    free(skeleton->joints);
    free(skeleton->axes);
    free(skeleton->angles);
    free(skeleton->drifts);
}

ossify_skeleton skeleton_of(const ossify_skeleton *from) {
    ossify_skeleton room = skeleton_start(from->bone_capacity), to = *from;
    size_t n = (size_t)from->bone_capacity;
    to.parents = memcpy(room.parents, from->parents, n * sizeof(int32_t));
    to.joint_kinds = memcpy(room.joint_kinds, from->joint_kinds, n * sizeof(int32_t));
    to.mirrors = memcpy(room.mirrors, from->mirrors, n * sizeof(int32_t));
    to.joints = memcpy(room.joints, from->joints, 3 * n * sizeof(double));
    to.axes = memcpy(room.axes, from->axes, 3 * n * sizeof(double));
    to.angles = memcpy(room.angles, from->angles, n * sizeof(double));
    to.drifts = memcpy(room.drifts, from->drifts, n * sizeof(double));
    return to;
}

int skeletons_are_equal(const ossify_skeleton *a, const ossify_skeleton *b) {
    size_t n = (size_t)a->bone_capacity;
    return a->root == b->root && a->symmetry == b->symmetry &&
           memcmp(a->plane, b->plane, sizeof a->plane) == 0 &&
           memcmp(a->parents, b->parents, n * sizeof(int32_t)) == 0 &&
           memcmp(a->joint_kinds, b->joint_kinds, n * sizeof(int32_t)) == 0 &&
           memcmp(a->mirrors, b->mirrors, n * sizeof(int32_t)) == 0 &&
           memcmp(a->joints, b->joints, 3 * n * sizeof(double)) == 0 &&
           memcmp(a->axes, b->axes, 3 * n * sizeof(double)) == 0 &&
           memcmp(a->angles, b->angles, n * sizeof(double)) == 0 &&
           memcmp(a->drifts, b->drifts, n * sizeof(double)) == 0;
}

static void check_vertex(const ossify_rig *rig, int64_t v) {
    const int32_t *bone = rig->influence_bones + v * rig->influences;
    const float *weight = rig->influence_weights + v * rig->influences;
    double sum = 0;
    for (int64_t k = 0; k < rig->influences; k++) {
        CHECK(bone[k] >= -1 && bone[k] < rig->bones);
        CHECK(bone[k] >= 0 ? weight[k] > 0 : weight[k] == 0);
        CHECK(k == 0 || weight[k] <= weight[k - 1]);
        for (int64_t other = 0; other < k; other++) {
            CHECK(bone[k] < 0 || bone[k] != bone[other]);
        }
        sum += weight[k];
    }
    CHECK_NEAR(sum, 1, 1e-6);
}

static void check_bone(const double *m, int rigid) {
    double determinant = m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
                         m[2] * (m[4] * m[9] - m[5] * m[8]);
    for (int i = 0; i < 12; i++) {
        CHECK(isfinite(m[i]));
    }
    if (!rigid) {
        return;
    }
    CHECK_NEAR(determinant, 1, 1e-9);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j <= i; j++) {
            CHECK_NEAR(m[4 * i] * m[4 * j] + m[4 * i + 1] * m[4 * j + 1] + m[4 * i + 2] * m[4 * j + 2],
                       i == j, 1e-9);
        }
    }
}

void check_rig(const ossify_poses *poses, const ossify_rig *rig, int rigid) {
    CHECK(rig->bones >= 1 && rig->bones <= rig->bone_capacity);
    for (int64_t v = 0; v < poses->vertex_count && !test_failed(); v++) {
        check_vertex(rig, v);
        for (int i = 0; i < 3; i++) {
            CHECK(isfinite(rig->rest[3 * v + i]));
        }
    }
    for (int64_t f = 0; f < poses->frame_count; f++) {
        for (int64_t b = 0; b < rig->bones && !test_failed(); b++) {
            check_bone(rig->transforms + 12 * (f * rig->bone_capacity + b), rigid);
        }
    }
}

double replay_error(const ossify_poses *poses, const ossify_rig *rig, double *most) {
    double sum = 0, largest = 0;
    for (int64_t f = 0; f < poses->frame_count; f++) {
        for (int64_t v = 0; v < poses->vertex_count; v++) {
            const float *x = poses->frames + 3 * (f * poses->vertex_count + v);
            double y[3], square = 0;
            replay(poses, rig, f, v, y);
            for (int i = 0; i < 3; i++) {
                square += (x[i] - y[i]) * (x[i] - y[i]);
            }
            sum += square;
            largest = fmax(largest, square);
        }
    }
    if (most != NULL) {
        *most = sqrt(largest);
    }
    return sqrt(sum / ((double)poses->vertex_count * (double)poses->frame_count));
}
