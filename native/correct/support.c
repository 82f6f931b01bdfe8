/* support.c - shares of a vertex in the joints around it.
 *
 * A bone's weight is dealt out evenly to its joints, the one to its parent and those of its children:
 *
 *     share[v][j] = w[v][j] / joints(j) + w[v][parent j] / joints(parent j).
 *
 * The shares of a vertex sum to 1 and are as smooth as the weights, so what is cut into pieces by them has no edges. */
#include "correct/support.h"

int support_make(Call *call, const Skin *skin, const int32_t *parents, Support *support) {
    support->parent = parents;
    support->joints = arena_take(&call->arena, (size_t)skin->bones, sizeof(int));
    if (!support->joints) {
        return 0;
    }
    for (int b = 0; b < skin->bones && parents; b++) {
        if (parents[b] >= 0) {
            support->joints[b]++;
            support->joints[parents[b]]++;
        }
    }
    return 1;
}

static int stands_alone(const Support *support, int b) {
    return support->joints[b] == 0;
}

int support_has(const Support *support, int joint) {
    return stands_alone(support, joint) || support->parent[joint] >= 0;
}

double support_share(const Support *support, const Skin *skin, int v, int joint) {
    const size_t k = (size_t)skin->influences;
    const int parent = stands_alone(support, joint) ? -1 : support->parent[joint];
    double share = 0;
    for (size_t i = (size_t)v * k; i < ((size_t)v + 1) * k && skin->bone[i] >= 0; i++) {
        const int b = skin->bone[i];
        if (b == joint || b == parent) {
            share += skin->weight[i] / (stands_alone(support, b) ? 1 : support->joints[b]);
        }
    }
    return share;
}

int support_reach(Call *call, const Support *support, const Skin *skin, const int *joint, int first,
                  Layer *layer) {
    const size_t n = (size_t)layer->fields;
    float *reach = arena_take(&call->arena, (size_t)skin->vertices * n + 1, sizeof *reach);
    for (int v = 0; v < skin->vertices && reach; v++) {
        for (int i = first; i < layer->fields; i++) {
            reach[(size_t)v * n + (size_t)i] = (float)support_share(support, skin, v, joint[i - first]);
        }
    }
    layer->reach = reach;
    return reach != NULL;
}
