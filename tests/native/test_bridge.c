/* test_bridge.c - a region that hangs together by a band of weights keeps a way across, and no more. */
#include "articulate/bridge.h"

#include <stdlib.h>

#include "probe.h"
#include "synthetic.h"
#include "test.h"

/* A tentacle: which of three bones along it has one at either side? */
static int find_middle(const Stage *stage) {
    const Graph *graph = &stage->problem.graph;
    const size_t k = (size_t)stage->model.influences;
    int beside[3][3] = {{0}};
    for (int v = 0; v < stage->problem.vertices; v++) {
        for (int64_t e = graph->first[v]; e < graph->first[v + 1]; e++) {
            const size_t u = (size_t)graph->neighbour[e];
            beside[stage->model.bone[(size_t)v * k]][stage->model.bone[u * k]] = 1;
        }
    }
    for (int b = 0; b < 3; b++) {
        if (beside[b][(b + 1) % 3] && beside[b][(b + 2) % 3]) {
            return b;
        }
    }
    return -1;
}

/* Bone 0 owns both ends, bone 1 the middle, where bone 0 has `faint`. */
static void split_in_two(Stage *stage, double faint) {
    Model *model = &stage->model;
    const int between = find_middle(stage);
    CHECK(between >= 0);
    for (size_t v = 0; v < (size_t)stage->problem.vertices; v++) {
        int *bone = model->bone + v * (size_t)model->influences;
        double *weight = model->weight + v * (size_t)model->influences;
        const int middle = bone[0] == between;
        bone[0] = middle;
        weight[0] = middle ? 1 - faint : 1;
        bone[1] = middle ? 0 : -1;
        weight[1] = middle ? faint : 0;
        for (int i = 2; i < model->influences; i++) {
            bone[i] = -1, weight[i] = 0;
        }
    }
    model->bones = 2;
}

static int is_open(const Model *model, const uint8_t *held, size_t v) {
    return model->bone[v * (size_t)model->influences] == 0 || held[v];
}

/* Vertices that bone 0 reaches from the first of its own over its own and those held. */
static int count_reached(const Stage *stage, const uint8_t *held) {
    const int n = stage->problem.vertices;
    uint8_t *seen = calloc((size_t)n, 1);
    int reached = 0, first = 0;
    while (stage->model.bone[(size_t)first * (size_t)stage->model.influences] != 0) {
        first++;
    }
    seen[first] = 1;
    for (int again = 1; again;) {
        again = 0;
        for (int v = 0; v < n; v++) {
            for (int64_t e = stage->problem.graph.first[v]; e < stage->problem.graph.first[v + 1]; e++) {
                const int u = stage->problem.graph.neighbour[e];
                if (seen[v] && !seen[u] && is_open(&stage->model, held, (size_t)u)) {
                    seen[u] = 1, again = 1;
                }
            }
        }
    }
    for (int v = 0; v < n; v++) {
        reached += seen[v];
    }
    free(seen);
    return reached;
}

TEST(a_region_in_two_pieces_keeps_one_way_across) {
    SyntheticOptions options = {.shape = SHAPE_TUBE, .vertices = 600, .bones = 3, .jointed = 1};
    Synthetic made = synthetic_make(options);
    for (int crossed = 0; crossed < 2; crossed++) {
        Stage stage;
        stage_open(&stage, &made.poses, &made.truth, plain_settings(3));
        split_in_two(&stage, crossed ? 0.06 : 0.04);
        const int n = stage.problem.vertices;
        uint8_t *held = calloc((size_t)n, 1);
        int open = 0, middle = 0;
        test_case("faint weights count: %d", crossed);
        const int count = bridge_hold(&stage.workshop.call, &stage.problem, &stage.model, held);
        for (int v = 0; v < n; v++) {
            open += is_open(&stage.model, held, (size_t)v);
            middle += stage.model.bone[v * stage.model.influences] == 1;
        }
        CHECK(count == 0 || crossed);
        CHECK(!crossed || (count > 0 && 4 * count < middle));
        CHECK_INT(open, n - middle + count);
        CHECK_INT(count_reached(&stage, held) == open, crossed);
        CHECK_INT(bridge_hold(&stage.workshop.call, &stage.problem, &stage.model, held), 0);
        free(held);
        stage_close(&stage);
    }
    synthetic_free(&made);
}
