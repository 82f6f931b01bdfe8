/* hang.c - the bone step of bones that hang together: poses, then joints and poses in turn while that helps. */
#include "articulate/hang.h"

#include <math.h>

#include "articulate/joint_fit.h"
#include "articulate/pose_fit.h"

static const double FINE = 1e-3; /* of a frame's error: a smaller fall is worth no further step */

int hang_update(Linkage *linkage, const Moments *moments) {
    const Problem *problem = linkage->problem;
    linkage->fine = FINE * model_squared_error(problem, linkage->model) / problem->frames;
    linkage_gather(linkage, moments);
    double misfit = pose_fit(linkage), before = INFINITY;
    for (int i = 0;
         i < linkage->joint_steps && !linkage->all_held && before - misfit > linkage->fine * problem->frames;
         i++) {
        before = misfit;
        misfit = joint_fit(linkage, moments, before);
    }
    return !linkage->call->arena.failed && !linkage->call->cancelled;
}

static int solve(void *user, const Moments *moments) {
    return hang_update(user, moments);
}

static void restore(void *user) {
    linkage_chain(user);
}

BoneStep hang_step(Linkage *linkage) {
    return (BoneStep){.solve = solve, .restore = restore, .user = linkage};
}
