/* exchange.c - between the caller's correctives and a layer: coordinates, precision, scale.
 *
 * A field goes out so that its largest coefficient is 1, a slider's end, and as zero where it would move a vertex by
 * no more than rounding. */
#include "correct/exchange.h"

#include <math.h>

static const double INVISIBLE = 1e-6; /* of the radius */

void exchange_read(const ossify_rig *rig, int count, Layer *layer) {
    const Skin *skin = layer->skin;
    const size_t slots = (size_t)layer->fields + 1;
    const float *field = rig->fields;
    layer->held = count;
    for (size_t n = 0; n < (size_t)count; n++, field += 3 * (size_t)skin->vertices) {
        for (size_t i = 0; i < 3 * (size_t)skin->vertices; i++) {
            layer->field[3 * (i / 3 * slots + n) + i % 3] = (double)field[i] / skin->unit;
        }
    }
}

static void scale_field(const Layer *layer, size_t n) {
    const size_t wide = (size_t)layer->skin->wide, slots = (size_t)layer->fields + 1;
    double *c = layer->coefficient + n * wide, most = 0;
    for (size_t f = 0; f < wide; f++) {
        most = fabs(c[f]) > fabs(most) ? c[f] : most;
    }
    for (size_t f = 0; f < wide && most != 0; f++) {
        c[f] /= most;
    }
    for (size_t v = 0; v < (size_t)layer->skin->vertices; v++) {
        double *d = layer->field + 3 * (v * slots + n);
        d[0] *= most, d[1] *= most, d[2] *= most;
    }
}

/* 0 when it is zero everywhere. */
static int write_field(const Layer *layer, size_t n, float *to) {
    const Skin *skin = layer->skin;
    const double least = INVISIBLE * skin->radius;
    int any = 0;
    for (size_t v = 0; v < (size_t)skin->vertices; v++, to += 3) {
        const double *d = layer->field + 3 * (v * ((size_t)layer->fields + 1) + n);
        const double length = skin->unit * sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        for (int a = 0; a < 3; a++) {
            to[a] = length > least ? (float)(skin->unit * d[a]) : 0;
            any |= to[a] != 0;
        }
    }
    return any;
}

void exchange_write_fields(const Layer *layer, ossify_rig *rig, int *source) {
    const size_t row = 3 * (size_t)layer->skin->vertices;
    rig->correctives = layer->held;
    for (int n = 0; n < layer->held; n++) {
        source[n] = n;
    }
    for (int n = layer->held; n < layer->fields; n++) {
        scale_field(layer, (size_t)n);
        if (write_field(layer, (size_t)n, rig->fields + (size_t)rig->correctives * row)) {
            source[rig->correctives++] = n;
        }
    }
}

void exchange_write_rest(const Layer *layer, ossify_rig *rig) {
    const Skin *skin = layer->skin;
    const size_t slots = (size_t)layer->fields + 1;
    for (size_t i = 0; i < 3 * (size_t)skin->vertices; i++) {
        const double moved = layer->field[3 * (i / 3 * slots + slots - 1) + i % 3];
        if (moved != 0) {
            rig->rest[i] = (float)(skin->centre[i % 3] + skin->unit * (skin->rest[i] + moved));
        }
    }
}

void exchange_write_coefficients(const Layer *layer, ossify_rig *rig) {
    const size_t wide = (size_t)layer->skin->wide, row = (size_t)rig->corrective_capacity;
    for (size_t n = 0; n < (size_t)rig->correctives; n++) {
        for (size_t f = 0; f < (size_t)layer->skin->frames; f++) {
            rig->coefficients[f * row + n] = layer->coefficient[n * wide + f];
        }
    }
}
