/* start.c - chooses how the first bones are found (docs/starts.md). */
#include "starts/start.h"

#include "starts/cluster.h"
#include "starts/face_cluster.h"
#include "starts/spectral.h"

int start_bones(Call *call, const Problem *problem, int start, int bones, Model *model) {
    switch (start) {
    case OSSIFY_START_FACES:
        return face_cluster(call, problem, bones, model);
    case OSSIFY_START_SPECTRAL:
        return spectral(call, problem, bones, model);
    default:
        return cluster(call, problem, bones, model);
    }
}
