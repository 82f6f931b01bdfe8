/* form.c - what a vertex is off over all frames, as a function of its weights alone. With p~ = (rest, 1) and
 * weights of sum 1,
 *
 *     e(w) = sum_f |sum_b w_b M[b,f] p~ - x[f]|^2 = w'Qw,    Q[b,c] = sum_f (M[b,f] p~ - x[f]) . (M[c,f] p~ - x[f])
 *
 * as in Le & Deng 2012 (SSDR), Eq. 3; with x + s for x where neighbours count, too (missed.c). Few vertices and few
 * bones are looked at here, so Q is summed from what the bones miss, frame by frame, and not from moments
 * (descent/weights.c): nothing cancels. */
#include "paint/form.h"

#include <string.h>

#include "core/rig.h"

void form_follow(const ossify_rig *rig, int64_t v, Form *form) {
    form->n = 0;
    for (int64_t k = 0; k < rig->influences; k++) {
        const int32_t b = rig->influence_bones[v * rig->influences + k];
        if (b >= 0) {
            form->bone[form->n] = b;
            form->weight[form->n++] = (double)rig->influence_weights[v * rig->influences + k];
        }
    }
}

/* d = M p~ - x of one bone in one frame */
static void missed_by(const double *m, const float *p, const float *x, double d[3]) {
    for (int a = 0; a < 3; a++) {
        const double *row = m + 4 * a;
        d[a] = row[0] * (double)p[0] + row[1] * (double)p[1] + row[2] * (double)p[2] + row[3] - (double)x[a];
    }
}

void form_make(const ossify_poses *poses, const ossify_rig *rig, int64_t v, const float *aside, Form *form) {
    const float *p = rig->rest + 3 * v;
    double d[FORM_MOST][3];
    memset(form->q, 0, sizeof form->q);
    for (int64_t f = 0; f < poses->frame_count; f++) {
        const double *m = rig->transforms + 12 * f * rig->bone_capacity;
        const float *x = poses->frames + 3 * (f * poses->vertex_count + v);
        for (int i = 0; i < form->n; i++) {
            missed_by(m + 12 * form->bone[i], p, x, d[i]);
            for (int a = 0; a < 3 && aside; a++) {
                d[i][a] -= (double)aside[3 * f + a];
            }
            for (int j = 0; j <= i; j++) { /* Q(i,j) += d_i . d_j */
                form->q[i * FORM_MOST + j] += d[i][0] * d[j][0] + d[i][1] * d[j][1] + d[i][2] * d[j][2];
            }
        }
    }
    for (int i = 0; i < form->n; i++) {
        for (int j = i + 1; j < form->n; j++) {
            form->q[i * FORM_MOST + j] = form->q[j * FORM_MOST + i];
        }
    }
}

double form_error(const Form *form, const double *w) {
    double error = 0;
    for (int i = 0; i < form->n; i++) {
        for (int j = 0; j < form->n; j++) {
            error += w[i] * form->q[i * FORM_MOST + j] * w[j];
        }
    }
    return error > 0 ? error : 0;
}

void form_write(const Form *form, const double *w, int64_t v, ossify_rig *rig) {
    RigShare share[FORM_MOST];
    int count = 0;
    for (int i = 0; i < form->n; i++) {
        const int held = rig->held_groups != NULL && rig->held_groups[form->bone[i]];
        if (w[i] > 0) {
            share[count++] = (RigShare){form->bone[i], held, w[i]};
        }
    }
    rig_write_shares(share, count, (size_t)v, rig);
}
