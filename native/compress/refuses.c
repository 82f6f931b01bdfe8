/* refuses.c - compressions that cannot be. */
#include <inttypes.h>
#include <math.h>

#include "compress/compress.h"
#include "core/sentence.h"

static int bad_arrays(ossify_info *info, const ossify_layers *layers) {
    return sentence_bad_array(info, "layers.virtual_bones", layers->virtual_bones, sizeof(int32_t),
                              "[compression.virtual_bones][compression.masters]") ||
           sentence_bad_array(info, "layers.virtual_weights", layers->virtual_weights, sizeof(float),
                              "[compression.virtual_bones][compression.masters]") ||
           sentence_bad_array(info, "layers.influence_bones", layers->influence_bones, sizeof(int32_t),
                              "[vertex_count][compression.influences]") ||
           sentence_bad_array(info, "layers.influence_weights", layers->influence_weights, sizeof(float),
                              "[vertex_count][compression.influences]");
}

/* Dense weights are written to the rig. */
static int bad_room(ossify_info *info, const ossify_request *request) {
    const ossify_rig *rig = request->rig;
    return rig->influences < rig->bones &&
           BAD(info,
               "rig.influences is %" PRId64 " and rig.bones %" PRId64
               ": dense weights need room for every bone; make the rig's arrays wider, or ask for virtual "
               "bones",
               rig->influences, rig->bones);
}

int compress_refuses(const ossify_request *request, ossify_info *info) {
    const ossify_compression *wish = request->options;
    if (sentence_bad_range(info, "compression.virtual_bones", wish->virtual_bones, 0,
                           OSSIFY_MAX_VIRTUAL_BONES) ||
        sentence_bad_range(info, "compression.masters", wish->masters, 1, OSSIFY_MAX_BONES) ||
        sentence_bad_range(info, "compression.influences", wish->influences, 2, OSSIFY_MAX_BLENDED) ||
        sentence_bad_range(info, "compression.source", wish->source, OSSIFY_SOURCE_WEIGHTS,
                           OSSIFY_SOURCE_POSES) ||
        sentence_bad_range(info, "compression.method", wish->method, OSSIFY_COMPRESS_EXACT,
                           OSSIFY_COMPRESS_PRINTED) ||
        sentence_bad_range(info, "compression.affine", wish->affine, 0, 1) ||
        sentence_bad_range(info, "compression.refine", wish->refine, 0, 1)) {
        return 1;
    }
    if (!(wish->tolerance >= 0 && isfinite(wish->tolerance))) {
        return BAD(info, "compression.tolerance is %s: it must be 0 (to the count) or an error above 0",
                   sentence_number(wish->tolerance).letters);
    }
    if (request->rig->correctives != 0) {
        return BAD(info,
                   "rig.correctives is %" PRId64
                   ": weights are compressed without correctives; set it to 0, and let ossify_correct solve "
                   "them again",
                   request->rig->correctives);
    }
    if (wish->source == OSSIFY_SOURCE_WEIGHTS && (wish->refine || wish->virtual_bones == 0)) {
        return BAD(info,
                   "compression.source is OSSIFY_SOURCE_WEIGHTS: %s needs poses; set it to "
                   "OSSIFY_SOURCE_POSES",
                   wish->refine ? "to refine the bones" : "a solve without virtual bones");
    }
    return wish->virtual_bones == 0 ? bad_room(info, request) : bad_arrays(info, request->result);
}
