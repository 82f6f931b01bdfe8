/* hanging.c - bones that only turn about joints that hold, in the sums of free ones.
 *
 * A joint j of bone b with its parent a says T_b j = T_a j, so
 *
 *     t_b = t_a + (R_a - R_b) j:
 *
 * all transforms are linear in X = (R_b of all bones, t of the roots), T = X M. The error is a quadratic form in T with
 * sums S and C (bones.c), and so one in X with M S M' and C M'. M is a product of one step for each bone, children first:
 * the part of the bone's translation goes to its own rotation by -j, to its parent's by +j, and to the parent's
 * translation. No vertex is touched. Merry, Marais and Gain (2006) take the bones as given. */
#include "animation_space/hanging.h"

#include <string.h>

int hanging_turns(const Hanging *hanging, int b) {
    return hanging->parents != NULL && hanging->parents[b] >= 0;
}

static int depth_of(const Hanging *hanging, int b) {
    int depth = 0;
    for (int at = b; hanging->parents[at] >= 0; at = hanging->parents[at]) {
        depth++;
    }
    return depth;
}

/* Parents first, by depth and then by number. */
static void sort(Hanging *hanging) {
    int count = 0;
    for (int depth = 0; count < hanging->bones; depth++) {
        for (int b = 0; b < hanging->bones; b++) {
            if (depth_of(hanging, b) == depth) {
                hanging->order[count++] = b;
            }
        }
    }
}

int hanging_make(Call *call, const Skin *skin, const ossify_space_fit *wish, Hanging *hanging) {
    const size_t bones = (size_t)skin->bones;
    *hanging = (Hanging){.bones = skin->bones, .parents = wish->parents};
    if (wish->parents == NULL) {
        return 1;
    }
    hanging->joint = arena_take(&call->arena, 3 * bones, sizeof(double));
    hanging->order = arena_take(&call->arena, bones, sizeof(int));
    if (call->arena.failed) {
        return 0;
    }
    for (size_t i = 0; i < 3 * bones; i++) {
        hanging->joint[i] =
            hanging_turns(hanging, (int)(i / 3)) ? (wish->joints[i] - skin->centre[i % 3]) / skin->unit : 0;
    }
    sort(hanging);
    return 1;
}

/* One step of M on numbers that belong to a bone and to its parent, each (x, y, z, translation), `step` apart */
static void pass_on(const double *joint, double *own, double *parent, size_t step) {
    const double moved = own[3 * step];
    for (size_t a = 0; a < 3; a++) {
        own[a * step] -= joint[a] * moved;
        parent[a * step] += joint[a] * moved;
    }
    parent[3 * step] += moved;
    own[3 * step] = 0;
}

/* S = [b][b][4][4]: rows of the bone in all columns, then columns in all rows */
static void pass_form(const Hanging *hanging, int b, double *s) {
    const size_t bones = (size_t)hanging->bones, own = (size_t)b, parent = (size_t)hanging->parents[b];
    const double *joint = hanging->joint + 3 * own;
    for (size_t c = 0; c < bones; c++) {
        for (size_t j = 0; j < 4; j++) {
            pass_on(joint, s + 16 * (own * bones + c) + j, s + 16 * (parent * bones + c) + j, 4);
        }
    }
    for (size_t c = 0; c < bones; c++) {
        for (size_t i = 0; i < 4; i++) {
            pass_on(joint, s + 16 * (c * bones + own) + 4 * i, s + 16 * (c * bones + parent) + 4 * i, 1);
        }
    }
}

void hanging_join(const Hanging *hanging, int wide, double *s, double *c) {
    for (int i = hanging->bones - 1; hanging->parents != NULL && i >= 0; i--) { /* children first */
        const int b = hanging->order[i];
        if (!hanging_turns(hanging, b)) {
            continue;
        }
        const size_t step = (size_t)wide, own = 12 * (size_t)b, parent = 12 * (size_t)hanging->parents[b];
        pass_form(hanging, b, s);
        for (size_t row = 0; row < 3; row++) {
            for (size_t f = 0; f < step; f++) {
                pass_on(hanging->joint + 3 * (size_t)b, c + (own + 4 * row) * step + f,
                        c + (parent + 4 * row) * step + f, step);
            }
        }
    }
}

void hanging_release(const Hanging *hanging, double *pose) {
    for (int b = 0; b < hanging->bones; b++) {
        for (size_t i = 0; i < 3 && hanging_turns(hanging, b); i++) {
            pose[12 * (size_t)b + 4 * i + 3] = 0;
        }
    }
}

/* t_b = t_a + (R_a - R_b) j */
void hanging_hang(const Hanging *hanging, double *pose) {
    for (int k = 0; hanging->parents != NULL && k < hanging->bones; k++) {
        const int b = hanging->order[k];
        for (size_t i = 0; i < 3 && hanging_turns(hanging, b); i++) {
            double *own = pose + 12 * (size_t)b + 4 * i;
            const double *parent = pose + 12 * (size_t)hanging->parents[b] + 4 * i;
            const double *j = hanging->joint + 3 * (size_t)b;
            own[3] = parent[3] + (parent[0] - own[0]) * j[0] + (parent[1] - own[1]) * j[1] +
                     (parent[2] - own[2]) * j[2];
        }
    }
}
