/* write.c - the layers as the caller gets them, strongest first, in whole steps that sum to exactly 1 as floats; and
 * measured as they were written: a rig whose bones are the virtual ones, V[f][j] = sum_b D[b,j] M[f][b], replayed by
 * core/evaluate.c. */
#include "compress/write.h"

#include <math.h>
#include <string.h>

#include "core/evaluate.h"
#include "core/rig.h"

static const double WEIGHT_STEPS = 16777216; /* 2^24: sums of multiples of 2^-24 are exact in float */
static const double SIGNED_STEPS = 1048576;  /* 2^20: so are those of multiples of 2^-20 within 4 of 0 */

/* Strongest first; what is too faint for a step is left out, and the strongest takes what is left. */
static void write_row(int count, const int *from, const double *share, int affine, int64_t wide,
                      int32_t *bone, float *weight) {
    const double steps = affine ? SIGNED_STEPS : WEIGHT_STEPS;
    double left = steps;
    int64_t used = 0;
    for (int i = 0; i < count; i++) {
        const float whole = (float)(affine ? nearbyint(share[i] * steps) : floor(share[i] * steps));
        int64_t at = used;
        if (whole == 0) {
            continue;
        }
        for (; at > 0 && fabsf(weight[at - 1]) < fabsf(whole); at--) {
            weight[at] = weight[at - 1];
            bone[at] = bone[at - 1];
        }
        weight[at] = whole;
        bone[at] = from[i];
        used++;
    }
    for (int64_t i = 1; i < used; i++) {
        left -= (double)weight[i];
    }
    for (int64_t i = 0; i < wide; i++) {
        bone[i] = i < used ? bone[i] : -1;
        weight[i] = i < used ? (float)((i == 0 ? left : (double)weight[i]) / steps) : 0;
    }
}

int write_layers(Call *call, const Problem *problem, const Layers *layers,
                 const ossify_compression *compression, ossify_layers *to) {
    const int64_t c = compression->masters, k = compression->influences;
    int *number = arena_take(&call->arena, (size_t)layers->count, sizeof *number);
    if (!number || call_poll(call, -1)) {
        return 0;
    }
    to->count = layers_number_followed(layers, number);
    for (int64_t a = 0; a < layers->count; a++) {
        const int64_t from = a * layers->masters, at = number[a] * c;
        if (number[a] >= 0) {
            write_row(layers->used[a], layers->master + from, layers->share + from, layers->affine, c,
                      to->virtual_bones + at, to->virtual_weights + at);
        }
    }
    for (int64_t v = 0; v < layers->vertices; v++) {
        const int64_t from = v * k, at = problem->caller[v] * k;
        int atom[MOST_BLENDED], used = 0;
        for (; used < k && layers->atom[from + used] >= 0; used++) {
            atom[used] = number[layers->atom[from + used]];
        }
        write_row(used, atom, layers->alpha + from, layers->affine, k, to->influence_bones + at,
                  to->influence_weights + at);
    }
    return 1;
}

int write_dense(Call *call, const Problem *problem, const Target *target, ossify_rig *rig) {
    const size_t k = (size_t)target->bones;
    RigShare *share = arena_take(&call->arena, k, sizeof *share);
    for (int v = 0; v < target->vertices && share; v++) {
        int count = 0;
        for (size_t b = 0; b < k; b++) {
            if (target->dense[(size_t)v * k + b] > 0) {
                share[count++] = (RigShare){(int)b, 0, target->dense[(size_t)v * k + b]};
            }
        }
        rig_write_shares(share, count, (size_t)problem->caller[v], rig);
    }
    return share && !call_poll(call, -1);
}

int write_rig_figures(Call *call, const ossify_poses *poses, const ossify_rig *rig) {
    ossify_evaluation evaluation = {.struct_size = sizeof evaluation};
    Measure *measure = evaluate_take(call, poses, rig->bone_capacity);
    if (!measure || evaluate(call, measure, poses, rig, NULL, &evaluation) < 0) {
        return 0;
    }
    evaluate_tell(call->info, rig->bones, &evaluation);
    return 1;
}

/* V[f] of one frame */
static void blend_frame(const ossify_rig *rig, const ossify_compression *compression,
                        const ossify_layers *layers, int64_t f, double *to) {
    const double *from = rig->transforms + 12 * f * rig->bone_capacity;
    for (int64_t j = 0; j < layers->count; j++) {
        for (int64_t i = j * compression->masters; i < (j + 1) * compression->masters; i++) {
            const int32_t b = layers->virtual_bones[i];
            for (int64_t a = 0; a < 12 && b >= 0; a++) {
                to[12 * j + a] += (double)layers->virtual_weights[i] * from[12 * b + a];
            }
        }
    }
}

int write_figures(Call *call, const ossify_poses *poses, const ossify_rig *rig,
                  const ossify_compression *compression, const ossify_layers *layers) {
    ArenaPiece *mark = arena_mark(&call->arena);
    ossify_rig played = *rig;
    played.bones = played.bone_capacity = layers->count;
    played.influences = compression->influences;
    played.influence_bones = layers->influence_bones;
    played.influence_weights = layers->influence_weights;
    played.transforms =
        arena_take(&call->arena, 12 * (size_t)(poses->frame_count * layers->count), sizeof(double));
    int made = played.transforms != NULL;
    for (int64_t f = 0; f < poses->frame_count && made; f++) {
        blend_frame(rig, compression, layers, f, played.transforms + 12 * f * layers->count);
        made = !call_poll(call, -1);
    }
    made = made && write_rig_figures(call, poses, &played);
    call->info->bones = rig->bones;
    arena_return(&call->arena, mark);
    return made;
}
