/* inspect.c - every number of layers that shall go out, as api/check_answer.c looks at rigs: bones that there are, none of
 * them twice in a row, those in use first, weights that are finite and sum to 1, and none below 0 unless blends are
 * affine. The layers are the verb's own result, so that it looks at them itself, before anything of them is written. */
#include "compress/inspect.h"

#include <inttypes.h>
#include <math.h>

#include "core/sentence.h"

static const double LAYER_SUM = 1e-5; /* how far from 1 a row may sum: it was scaled to 1 in float */

typedef struct Rows {
    const int32_t *bone;
    const float *weight;
    int64_t count, width, bones;
    int affine;
} Rows;

static int is_twice(const int32_t *bone, int64_t i) {
    for (int64_t k = 0; k < i; k++) {
        if (bone[k] == bone[i]) {
            return 1;
        }
    }
    return 0;
}

static int is_whole(const Rows *rows, int64_t row) {
    const int32_t *bone = rows->bone + row * rows->width;
    const float *weight = rows->weight + row * rows->width;
    double sum = 0;
    int ended = 0;
    for (int64_t i = 0; i < rows->width; i++) {
        const double w = (double)weight[i];
        ended = ended || bone[i] < 0;
        if (ended ? bone[i] != -1 || w != 0
                  : bone[i] >= rows->bones || is_twice(bone, i) || !isfinite(w) || (w < 0 && !rows->affine)) {
            return 0;
        }
        sum += w;
    }
    return fabs(sum - 1) <= LAYER_SUM;
}

/* The first row at fault; -1: none is. */
static int64_t fault(const Rows *rows) {
    for (int64_t row = 0; row < rows->count; row++) {
        if (!is_whole(rows, row)) {
            return row;
        }
    }
    return -1;
}

int inspect_layers(const ossify_compression *wish, int64_t masters, int64_t vertices,
                   const ossify_layers *layers, ossify_info *info) {
    const int affine = wish->affine || wish->method == OSSIFY_COMPRESS_PRINTED;
    const Rows blends = {layers->virtual_bones,
                         layers->virtual_weights,
                         layers->count,
                         wish->masters,
                         masters,
                         affine},
               skin = {layers->influence_bones,
                       layers->influence_weights,
                       vertices,
                       wish->influences,
                       layers->count,
                       affine};
    const int64_t j = fault(&blends), v = fault(&skin);
    if (j < 0 && v < 0) {
        return 1;
    }
    sentence_refuse(
        info, OSSIFY_NO_ANSWER,
        "no answer was found: %s %" PRId64
        " follows bones by no weights that sum to 1; scale the mesh to a size near 1 and leave out "
        "what is far off",
        j >= 0 ? "virtual bone" : "vertex", j >= 0 ? j : v);
    return 0;
}
