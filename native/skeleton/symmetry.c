/* symmetry.c - the plane that mirrors a body onto itself, and which bone is the mirror image of which.
 *
 * Candidates for the plane are the coordinate planes and those across the principal axes of the surface,
 * through its centre or the box's. One is good when mirrored vertices land as near to the surface's vertices
 * as those lie to each other; a plane that is given mirrors nothing unless most vertices land so, and only those
 * count. Two bones are mirror images when what one moves, mirrored, is mostly what the other moves, and neither
 * has a better partner. */
#include "skeleton/symmetry.h"

#include <math.h>
#include <string.h>

#include "math/symmetric3.h"
#include "math/tree.h"

enum { SAMPLES = 500, SURFACE_SAMPLES = 4000, SAMPLES_A_POLL = 1024, CENTRING = 4 };

static const double SPACINGS = 2; /* between vertices: how far off a mirrored vertex may land */
static const double LOPSIDED =
    0.005;                        /* diagonals: how lopsided a body may be, beside its vertices' spacing */
static const double EXACT = 1e-4; /* diagonals: nearer than this is all the same */
static const double BETTER = 0.8; /* a later candidate must miss by so much less to be taken */
static const double ON_OTHERS =
    0.5; /* of the way back to itself: where a mirrored vertex must land nearer to others */
static const double MOSTLY =
    0.6; /* of the vertices: as many must land on others for a given plane to be one */
static const double ALIKE = 0.4; /* of the larger bone's surface: what mirror images must share */

void symmetry_reflect(const double plane[4], const double x[3], double mirrored[3]) {
    const double twice = 2 * (plane[0] * x[0] + plane[1] * x[1] + plane[2] * x[2] - plane[3]);
    for (int a = 0; a < 3; a++) {
        mirrored[a] = x[a] - twice * plane[a];
    }
}

static int stride_of(const Body *body, int samples) {
    return 1 + (body->vertices - 1) / samples;
}

/* Root mean square distance from a vertex to its nearest other. */
static double spacing(const Body *body, const Tree *tree) {
    double sum = 0;
    int count = 0;
    for (int v = 0; v < body->vertices; v += stride_of(body, SAMPLES), count++) {
        int near;
        double square = 0;
        tree_nearest(tree, v, 1, &near, &square);
        sum += square;
    }
    return sqrt(sum / count);
}

/* Root mean square distance from a mirrored vertex to the nearest vertex. */
static double miss(const Body *body, const Tree *tree, const double plane[4]) {
    double sum = 0;
    int count = 0;
    for (int v = 0; v < body->vertices; v += stride_of(body, SAMPLES), count++) {
        const double *p = body->rest + 3 * (size_t)v;
        double mirrored[3], square = 0;
        symmetry_reflect(plane, p, mirrored);
        tree_nearest_to(tree, mirrored, &square);
        sum += square;
    }
    return sqrt(sum / count);
}

/* Share of the mirrored vertices that land within `near` of a vertex. */
static double landing(const Body *body, const Tree *tree, const double plane[4], double near) {
    int landed = 0, count = 0;
    for (int v = 0; v < body->vertices; v += stride_of(body, SAMPLES), count++) {
        double mirrored[3], square = 0;
        symmetry_reflect(plane, body->rest + 3 * (size_t)v, mirrored);
        tree_nearest_to(tree, mirrored, &square);
        landed += square < near * near;
    }
    return (double)landed / count;
}

/* Centre and principal axes of the surface. */
static void principal_axes(const Body *body, double centre[3], double axes[9]) {
    double all = 0, spread[9] = {0}, value[3];
    memset(centre, 0, 3 * sizeof *centre);
    for (int v = 0; v < body->vertices; v++) {
        all += body->area[v];
        for (int a = 0; a < 3; a++) {
            centre[a] += body->area[v] * body->rest[3 * (size_t)v + (size_t)a];
        }
    }
    for (int a = 0; a < 3; a++) {
        centre[a] /= all;
    }
    for (int v = 0; v < body->vertices; v++) {
        const double *p = body->rest + 3 * (size_t)v;
        for (int i = 0; i < 9; i++) {
            spread[i] += body->area[v] / all * (p[i / 3] - centre[i / 3]) * (p[i % 3] - centre[i % 3]);
        }
    }
    symmetric3_eigen(spread, value, axes);
}

/* Moves the plane to the middle between vertices and what their mirror images land on: exact when the mesh is
 * symmetric vertex by vertex. */
static void centre_plane(const Body *body, const Tree *tree, double near, double plane[4]) {
    for (int round = 0; round < CENTRING; round++) {
        double sum = 0;
        int count = 0;
        for (int v = 0; v < body->vertices; v += stride_of(body, SAMPLES)) {
            const double *p = body->rest + 3 * (size_t)v;
            double mirrored[3], square = 0;
            symmetry_reflect(plane, p, mirrored);
            const double *q = body->rest + 3 * (size_t)tree_nearest_to(tree, mirrored, &square);
            if (square < near * near) {
                sum += 0.5 * (plane[0] * (p[0] + q[0]) + plane[1] * (p[1] + q[1]) + plane[2] * (p[2] + q[2]));
                count++;
            }
        }
        plane[3] = count > 0 ? sum / count : plane[3];
    }
}

/* Root mean square distance from the plane. */
static double thickness(const Body *body, const double plane[4]) {
    double sum = 0;
    for (int v = 0; v < body->vertices; v++) {
        const double *p = body->rest + 3 * (size_t)v;
        const double off = plane[0] * p[0] + plane[1] * p[1] + plane[2] * p[2] - plane[3];
        sum += off * off;
    }
    return sqrt(sum / body->vertices);
}

/* A mirrored vertex lands twice its distance from where it was. A sheet lies in a plane, and that mirrors nothing:
 * vertices land too near for it to be seen that they are not meant, or, since a sheet that is bent faces its mirror
 * image, about as far from all others as from themselves. */
static int mirrors_sides(const Body *body, const double plane[4], double off, double apart) {
    const double far = 2 * thickness(body, plane);
    return far > apart && off < ON_OTHERS * far;
}

static int find_plane(const Body *body, const Tree *tree, double apart, double found[4]) {
    double normal[18] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, centre[3], least = INFINITY;
    principal_axes(body, centre, normal + 9);
    for (int i = 0; i < 12; i++) {
        const double *n = normal + 3 * (i / 2);
        double plane[4] = {n[0], n[1], n[2], 0}; /* the box is centred on the origin */
        if (i % 2 == 1) {
            plane[3] = n[0] * centre[0] + n[1] * centre[1] + n[2] * centre[2];
        }
        const double off = fmax(miss(body, tree, plane), EXACT);
        if (off < BETTER * least && mirrors_sides(body, plane, off, apart)) {
            least = off;
            memcpy(found, plane, sizeof plane);
        }
    }
    if (least >= apart) {
        return 0;
    }
    centre_plane(body, tree, apart, found);
    return 1;
}

/* shared [bones][bones]: area that bone b moves and bone c moves mirrored, landing within `near`. */
static int gather_shared(Call *call, const Body *body, const Tree *tree, const double plane[4], double near,
                         double *shared) {
    const ossify_rig *rig = body->rig;
    const size_t wide = (size_t)rig->influences;
    const int stride = stride_of(body, SURFACE_SAMPLES);
    for (int v = 0; v < body->vertices; v += stride) {
        double mirrored[3], square = 0;
        if (v / stride % SAMPLES_A_POLL == 0 && call_poll(call, -1)) {
            return 0;
        }
        symmetry_reflect(plane, body->rest + 3 * (size_t)v, mirrored);
        const size_t u = wide * (size_t)tree_nearest_to(tree, mirrored, &square), at = wide * (size_t)v;
        for (size_t i = 0; i < wide * wide && square < near * near; i++) {
            const int b = rig->influence_bones[at + i / wide], c = rig->influence_bones[u + i % wide];
            if (b >= 0 && c >= 0) {
                shared[(size_t)b * (size_t)body->bones + (size_t)c] +=
                    stride * body->area[v] *
                    fmin((double)rig->influence_weights[at + i / wide],
                         (double)rig->influence_weights[u + i % wide]);
            }
        }
    }
    return 1;
}

static int partner(const Body *body, const double *shared, int b) {
    const size_t n = (size_t)body->bones;
    int best = 0;
    for (size_t c = 1; c < n; c++) {
        const double both = shared[(size_t)b * n + c] + shared[c * n + (size_t)b];
        if (both > shared[(size_t)b * n + (size_t)best] + shared[(size_t)best * n + (size_t)b]) {
            best = (int)c;
        }
    }
    const double both = 0.5 * (shared[(size_t)b * n + (size_t)best] + shared[(size_t)best * n + (size_t)b]);
    return both > ALIKE * fmax(body->mass[b], body->mass[best]) ? best : -1;
}

int symmetry_find(Call *call, const Body *body, int given, Symmetry *symmetry) {
    const size_t n = (size_t)body->bones;
    Arena *arena = &call->arena;
    Tree tree;
    symmetry->mirror = arena_take(arena, n, sizeof(int));
    double *shared = arena_take(arena, n * n, sizeof *shared);
    if (!symmetry->mirror || !shared || !tree_make(arena, body->vertices, body->rest, &tree)) {
        return -1;
    }
    if (call_poll(call, -1)) {
        return -1;
    }
    const double apart = LOPSIDED + SPACINGS * spacing(body, &tree);
    if (!given && !find_plane(body, &tree, apart, symmetry->plane)) {
        return 0;
    }
    const double near = !given ? INFINITY : landing(body, &tree, symmetry->plane, apart) > MOSTLY ? apart : 0;
    if (!gather_shared(call, body, &tree, symmetry->plane, near, shared)) {
        return -1;
    }
    for (int b = 0; b < body->bones; b++) {
        const int other = partner(body, shared, b);
        symmetry->mirror[b] = other >= 0 && partner(body, shared, other) == b ? other : -1;
    }
    return 1;
}

void symmetry_part(int *mirror, const int *parent, int bones) {
    for (int b = 0; b < bones; b++) {
        for (int top = parent[b]; top >= 0; top = parent[top]) {
            if (mirror[b] == top && parent[top] >= 0) {
                mirror[b] = mirror[top] = -1;
            }
        }
    }
}

int symmetry_has_mirrored_joint(const int *mirror, const int *parent, int b) {
    const int other = mirror[b], top = parent[b];
    return other >= 0 && (top < 0 ? parent[other] < 0 : mirror[top] >= 0 && parent[other] == mirror[top]);
}

void symmetry_mirror_joints(const double plane[4], const int *mirror, const int *parent, int bones,
                            double *x) {
    for (int b = 0; b < bones; b++) {
        const int other = mirror[b];
        double seen[3];
        if (!symmetry_has_mirrored_joint(mirror, parent, b) || other < b) {
            continue;
        }
        symmetry_reflect(plane, x + 3 * other, seen);
        for (int a = 0; a < 3; a++) {
            x[3 * b + a] = 0.5 * (x[3 * b + a] + seen[a]);
        }
        if (other != b) {
            symmetry_reflect(plane, x + 3 * b, x + 3 * other);
        }
    }
}
