/* animation_space.c - joints that keep their volume: animation space for a finished rig.
 *
 * Merry, Marais and Gain, "Animation Space: A Truly Linear Framework for Character Animation" (2006): instead of one
 * rest position and a weight for each bone, a vertex has one homogeneous rest position for each,
 *
 *     v = sum_b T_b p_b,     p_b = (q, w),  sum_b w = 1;     linear blend skinning is p_b = w_b (r, 1).
 *
 * It is linear in p, so the best p for given bones is one least-squares problem (coordinates.c); given p, the bones are
 * found from sums alone (bones.c), also where joints hold (hanging.c); both take turns as often as is wished. The answer is d = p - w_b (r, 1), what comes
 * on top of the ordinary rig: scaled by 0 it is that rig.
 *
 * Deviations: corrections are smooth and small, not positions (see coordinates.c), and by default vanish in the rest
 * pose. */
#include "animation_space/animation_space.h"

#include <inttypes.h>
#include <math.h>

#include "animation_space/bones.h"
#include "animation_space/slots.h"
#include "core/sentence.h"

#define MOST_PENALTY 1e6

enum {
    MOST_ROUNDS = 100,
    ROUND_SWEEPS = 40, /* over the bones, between two solves of the coordinates */
    TRACK_SWEEPS = 400 /* when they are all there is to solve */
};

static int bad_penalty(ossify_info *info, const char *name, double value) {
    return !(value >= 0 && value <= MOST_PENALTY) && BAD(info, "space_fit.%s is %s: it must be 0..%g", name,
                                                         sentence_number(value).letters, MOST_PENALTY);
}

static int bad_joints(const ossify_request *request, ossify_info *info) {
    const ossify_space_fit *wish = request->options;
    const ossify_rig *rig = request->rig;
    if (wish->parents == NULL) {
        return 0;
    }
    if (sentence_bad_array(info, "space_fit.parents", wish->parents, sizeof(int32_t), "[bones]") ||
        sentence_bad_array(info, "space_fit.joints", wish->joints, sizeof(double), "[bones][3]") ||
        sentence_bad_parents(info, "space_fit", wish->parents, rig->bones)) {
        return 1;
    }
    for (int64_t i = 0; i < 3 * rig->bones; i++) {
        if (wish->parents[i / 3] >= 0 && !(fabs(wish->joints[i]) <= FARTHEST_JOINT)) {
            return BAD(info,
                       "space_fit.joints[%" PRId64 "][%" PRId64 "] is %s: it must be finite and within %g",
                       i / 3, i % 3, sentence_number(wish->joints[i]).letters, FARTHEST_JOINT);
        }
    }
    return (request->settings->bone_kind == OSSIFY_FLEXIBLE &&
            BAD(info,
                "space_fit.parents: bones about joints are rigid; set parents to NULL for flexible ones")) ||
           (rig->held_transforms != NULL &&
            BAD(info,
                "space_fit.parents: where joints hold, a bone that is held would move with its parent; set "
                "rig.held_transforms to NULL"));
}

int animation_space_refuses(const ossify_request *request, ossify_info *info) {
    const ossify_space_fit *wish = request->options;
    return sentence_bad_range(info, "space_fit.bones", wish->bones, OSSIFY_SPACE_OWN, OSSIFY_SPACE_PADDED) ||
           sentence_bad_range(info, "space_fit.form", wish->form, OSSIFY_SPACE_CORRECTIONS,
                              OSSIFY_SPACE_POSITIONS) ||
           sentence_bad_range(info, "space_fit.rest_exact", wish->rest_exact, 0, 1) ||
           sentence_bad_range(info, "space_fit.rounds", wish->rounds, 0, MOST_ROUNDS) ||
           bad_penalty(info, "smoothness", wish->smoothness) || bad_penalty(info, "damping", wish->damping) ||
           sentence_bad_range(info, "space.influences", request->space->influences, request->rig->influences,
                              OSSIFY_MAX_INFLUENCES) ||
           bad_joints(request, info);
}

/* Which bones, and how much is asked of their coordinates. */
static int prepare(Call *call, const ossify_space_fit *wish, const ossify_space *space, const Skin *skin,
                   Coordinates *coordinates) {
    if (!slots_make(call, skin, (int)space->influences, coordinates)) {
        return 0;
    }
    coordinates->smoothness = wish->smoothness;
    coordinates->smooths_positions = wish->form == OSSIFY_SPACE_POSITIONS;
    coordinates->damping = coordinates->smooths_positions ? 0 : wish->damping;
    coordinates->rest_exact = (int)wish->rest_exact;
    if (space->given) {
        slots_take_given(coordinates, space);
    } else {
        slots_take_own(coordinates);
        if (wish->bones == OSSIFY_SPACE_PADDED && !slots_fill_up(call, coordinates)) {
            return 0;
        }
    }
    slots_match(coordinates);
    return 1;
}

/* Coordinates and bones in turns; the last word have the coordinates, unless they were given. */
static int solve(Call *call, const ossify_space_fit *wish, int given, Skin *skin, Coordinates *coordinates,
                 const ossify_rig *rig, const Hanging *hanging) {
    if (given) {
        return bones_solve(call, skin, coordinates, rig, hanging, TRACK_SWEEPS);
    }
    if (!coordinates_find_moments(call, coordinates) || !coordinates_solve(call, coordinates)) {
        return 0;
    }
    for (int64_t i = 0; i < wish->rounds; i++) {
        if (call_poll(call, 0.2 + 0.7 * (double)i / (double)wish->rounds) ||
            !bones_solve(call, skin, coordinates, rig, hanging, ROUND_SWEEPS) ||
            !coordinates_find_moments(call, coordinates) || !coordinates_solve(call, coordinates)) {
            return 0;
        }
    }
    return 1;
}

int64_t animation_space_fit(Call *call, const ossify_poses *poses, ossify_rig *rig,
                            const ossify_space_fit *wish, ossify_space *space) {
    Skin skin;
    Coordinates coordinates;
    Hanging hanging;
    call_stage(call, OSSIFY_STAGE_SPACE);
    if (!skin_make(call, poses, rig, &skin) || !hanging_make(call, &skin, wish, &hanging) ||
        call_poll(call, 0.1) || !prepare(call, wish, space, &skin, &coordinates) ||
        !solve(call, wish, space->given != 0, &skin, &coordinates, rig, &hanging)) {
        return call_ended(call);
    }
    if (space->given || wish->rounds > 0) {
        skin_write_transforms(&skin, rig);
    }
    if (!space->given) {
        slots_write(&coordinates, space);
        space->given = 1;
    }
    return OSSIFY_CONVERGED;
}
