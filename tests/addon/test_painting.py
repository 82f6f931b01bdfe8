"""Weights painted by the solver: within the budget, with the influences and on the side asked for."""

import itertools

import bpy
import chain
import numpy as np
import pytest
import scenes
from contents import weights_by_name
from kept import fresh, kept
from ossify.base.steps import run
from ossify.edit import painting
from ossify.motion import matching
from ossify.record import changes

TIMES = list(range(1, 9))


@kept
def rigged(**chosen):
    """A sheet that waves, and its rig"""
    source = scenes.key_shapes(scenes.grid(n=15))
    result = chain.converted(
        source, bones=6, quality="NORMAL", rest_correction="FIXED", hide_source=False, **chosen
    )
    return source, result.armature, result.meshes[0]


def error(source, mesh):
    """Root mean square over vertices and frames of what Blender shows, percent of the size"""
    apart = scenes.seen_frames(mesh, TIMES) - scenes.seen_frames(source, TIMES)
    return 100 * np.sqrt((apart**2).sum(axis=2).mean()) / scenes.size_of(scenes.positions(mesh.data))


def roughness(mesh):
    """Root mean square difference of weights along edges, over all bones"""
    rows = weights_by_name(mesh)
    ends = [edge.vertices for edge in mesh.data.edges]
    apart = [
        sum((rows[a].get(name, 0) - rows[b].get(name, 0)) ** 2 for name in rows[a].keys() | rows[b].keys())
        for a, b in ends
    ]
    return float(np.sqrt(np.mean(apart)))


def add_noise(mesh, share=0.3, seed=3):
    """Repaints a share of the vertices"""
    rng = np.random.default_rng(seed)
    for vertex, row in enumerate(weights_by_name(mesh)):
        if rng.random() < share:
            for name, weight in row.items():
                mesh.vertex_groups[name].add([vertex], min(weight + 0.3 * rng.random(), 1.0), "REPLACE")


def check_sums(mesh, most, rows=None):
    for row in weights_by_name(mesh) if rows is None else rows:
        assert abs(sum(row.values()) - 1) < 1e-6
        assert len(row) <= most


# ---- smooth


@pytest.mark.parametrize("budget", [0.0, 0.02, 0.5])
def test_smoothing_keeps_within_the_budget(budget):
    source, armature, mesh = rigged()
    add_noise(mesh)
    before, rough = error(source, mesh), roughness(mesh)
    done = run(painting.smooth(bpy.context, armature, budget, 5))
    after = error(source, mesh)
    assert roughness(mesh) < 0.75 * rough
    assert after <= before + budget + 1e-4
    assert done.before == pytest.approx(before, abs=1e-4)
    assert done.after == pytest.approx(after, abs=1e-4)
    check_sums(mesh, 4)


def test_a_larger_budget_smooths_more():
    roughs = []
    for budget in (0.0, 0.05, 5.0):
        fresh()
        _, armature, mesh = rigged()
        run(painting.smooth(bpy.context, armature, budget, 5))
        roughs.append(roughness(mesh))
    assert roughs[0] > roughs[1] > roughs[2]


def test_smoothing_leaves_locked_groups_and_what_is_not_selected():
    _, armature, mesh = rigged()
    add_noise(mesh)
    before = weights_by_name(mesh)
    locked = mesh.vertex_groups[0].name
    mesh.vertex_groups[0].lock_weight = True
    mesh.data.use_paint_mask_vertex = True
    for vertex in mesh.data.vertices:
        vertex.select = vertex.index < 60
    run(painting.smooth(bpy.context, armature, 5.0, 5))
    after = weights_by_name(mesh)
    assert after[60:] == before[60:]
    assert after[:60] != before[:60]
    for old, new in zip(before, after, strict=True):
        assert new.get(locked, 0) == old.get(locked, 0)


def test_a_hidden_source_is_read_and_stays_hidden():
    source, armature, mesh = rigged(keep_motion="NONE")
    before = error(source, mesh)
    source.hide_viewport = True
    done = run(painting.smooth(bpy.context, armature, 0.0, 5))
    assert done.before == pytest.approx(before, abs=1e-4)
    assert source.hide_viewport
    assert not source.hide_get()


def test_nothing_selected_is_refused():
    _, armature, mesh = rigged()
    mesh.data.use_paint_mask_vertex = True
    for vertex in mesh.data.vertices:
        vertex.select = False
    with pytest.raises(painting.Refusal, match=r"No vertex that may change is selected: .* paint mask off"):
        run(painting.smooth(bpy.context, armature, 1.0, 5))


def edits_of(armature):
    """One of each edit that paints the rig itself."""
    yield painting.smooth(bpy.context, armature, 1.0, 5)
    yield painting.prune(bpy.context, armature, 2)
    yield painting.mirror(bpy.context, armature, "LEFT_TO_RIGHT", "X", 2.0)


@pytest.mark.parametrize("way", ["vertices", "selected", "bones", "groups"])
def test_what_is_held_is_to_blame_when_nothing_may_change(way):
    _, armature, mesh = rigged()
    rows = np.ones(len(mesh.data.vertices), bool)
    if way == "selected":
        mesh.data.use_paint_mask_vertex = True
        rows[20:] = False
        mesh.data.vertices.foreach_set("select", rows)
    if way in ("vertices", "selected"):
        changes.hold_vertices(mesh.data, rows, True)
    for bone in armature.data.bones if way == "bones" else ():
        changes.hold_bone(bone, True)
    for group in mesh.vertex_groups:
        group.lock_weight = way == "groups"
    said = "weights of all bones are held" if way in ("bones", "groups") else "All vertices .* are held"
    for steps in edits_of(armature):
        with pytest.raises(painting.Refusal, match=said):
            run(steps)


# ---- prune


def poses_of(armature):
    """The frames of TIMES: bone -> [f][4][4] from its rest, and [f][4][4] from the world to the armature"""
    poses, back = {bone.name: [] for bone in armature.pose.bones}, []
    for time in TIMES:
        bpy.context.scene.frame_set(time)
        back.append(np.array(armature.matrix_world.inverted()))
        for bone in armature.pose.bones:
            poses[bone.name].append(np.array(bone.matrix @ bone.bone.matrix_local.inverted()))
    return {name: np.array(matrices) for name, matrices in poses.items()}, np.array(back)


def least_error(goal, moved):
    """The lowest squared error of a vertex with one bone or two; moved: [b][f][3] where each has it.

    With weights t and 1 - t it is a parabola in t.
    """
    apart = moved.reshape(len(moved), -1) - goal.ravel()
    if len(apart) == 1:
        return apart[0] @ apart[0]
    way = apart[0] - apart[1]
    t = np.clip(-(apart[1] @ way) / max(way @ way, 1e-30), 0, 1)
    return ((apart[1] + t * way) ** 2).sum()


def overfull(armature, mesh):
    """Two locked groups with more than all of the weight on some vertices; [v] which"""
    for group in list(mesh.vertex_groups)[:2]:
        group.add(list(range(40)), 0.8, "REPLACE")
        group.lock_weight = True
    mesh.data.update()
    armature.ossify.keep_repainted = False
    return range(40)


def test_smoothing_keeps_its_budget_beside_locked_groups_that_leave_nothing():
    _, armature, mesh = rigged()
    rows = overfull(armature, mesh)
    before = weights_by_name(mesh)
    found = run(painting.smooth(bpy.context, armature, 0.01, 5))
    assert found.after <= found.before + 0.01
    assert [weights_by_name(mesh)[row] for row in rows] == [before[row] for row in rows]


def test_pruning_leaves_vertices_alone_whose_locked_groups_leave_nothing():
    _, armature, mesh = rigged()
    rows = overfull(armature, mesh)
    before = weights_by_name(mesh)
    run(painting.prune(bpy.context, armature, 3))
    assert [weights_by_name(mesh)[row] for row in rows] == [before[row] for row in rows]


def test_pruning_what_locked_groups_leave_no_room_for_is_refused():
    _, armature, mesh = rigged()
    locked = mesh.vertex_groups[0]
    locked.lock_weight = True
    stuck = sum(locked.name in groups and len(groups) > 1 for groups in weights_by_name(mesh))
    assert stuck > 1
    with pytest.raises(painting.Refusal, match=f"^{stuck} vertices have more than 0 weights in locked"):
        run(painting.prune(bpy.context, armature, 1))


def missed_apart(source, mesh):
    """Root mean square of what neighbours miss apart, over edges and frames"""
    missed = scenes.seen_frames(mesh, TIMES) - scenes.seen_frames(source, TIMES)
    edges = np.array([edge.vertices[:] for edge in mesh.data.edges])
    return np.sqrt(((missed[:, edges[:, 0]] - missed[:, edges[:, 1]]) ** 2).sum(axis=2).mean())


def test_pruning_is_as_fair_as_the_rig_was_solved():
    left = []
    for fairness in (0.0, 10.0, 300.0):
        source, armature, mesh = rigged(influences=6)
        armature.ossify.settings.fairness = fairness
        run(painting.prune(bpy.context, armature, 2))
        left.append((missed_apart(source, mesh), error(source, mesh)))
    assert left[0][0] > left[1][0] > left[2][0]
    assert left[0][1] < left[1][1]


def test_pruning_drops_what_costs_least():
    source, armature, mesh = rigged(influences=6, fairness=0.0)
    truth = scenes.seen_frames(source, TIMES)
    before = weights_by_name(mesh)
    assert max(map(len, before)) > 2
    done = run(painting.prune(bpy.context, armature, 2))
    check_sums(mesh, 2)
    after = weights_by_name(mesh)
    crowded = [v for v, row in enumerate(before) if len(row) > 2]
    assert done.changed == len(crowded)
    for v, row in enumerate(before):
        if len(row) <= 2:
            assert after[v] == row
        else:
            assert set(after[v]) <= set(row)
    poses, back = poses_of(armature)
    for v in crowded[:: max(len(crowded) // 8, 1)]:
        goal = np.einsum("fij,fj->fi", back, np.c_[truth[:, v], np.ones(len(TIMES))])[:, :3]
        at = np.append(np.array(mesh.data.vertices[v].co), 1)
        moved = {name: (poses[name] @ at)[:, :3] for name in before[v]}
        best = min(least_error(goal, np.array(pair)) for pair in itertools.combinations(moved.values(), 2))
        kept = least_error(goal, np.array([moved[name] for name in after[v]]))
        assert kept <= 1.2 * best + 1e-9
    assert done.after == pytest.approx(error(source, mesh), abs=1e-4)


def test_pruning_beats_the_smallest_weights():
    """The same rig, with the smallest weights dropped as Blender's Limit Total does it"""
    source, armature, mesh = rigged(influences=6)
    start = weights_by_name(mesh)
    run(painting.prune(bpy.context, armature, 2))
    ours = error(source, mesh)
    for group in mesh.vertex_groups:
        group.remove(list(range(len(start))))
    for v, row in enumerate(start):
        for name, weight in sorted(row.items(), key=lambda item: -item[1])[:2]:
            mesh.vertex_groups[name].add([v], weight, "REPLACE")
    assert ours < error(source, mesh)


def test_pruning_keeps_locked_groups():
    _, armature, mesh = rigged(influences=6)
    before = weights_by_name(mesh)
    locked = max(mesh.vertex_groups, key=lambda g: sum(g.name in row for row in before)).name
    mesh.vertex_groups[locked].lock_weight = True
    run(painting.prune(bpy.context, armature, 2))
    for old, new in zip(before, weights_by_name(mesh), strict=True):
        assert new.get(locked, 0) == old.get(locked, 0)
        assert len(new) <= 2 or len(old) <= 2


# ---- mirror


@pytest.fixture
@kept
def creature():
    body, bones = scenes.creature(frames=16)
    result = chain.converted(body, bones=len(bones), quality="NORMAL", skeleton="HIERARCHY")
    return body, result.armature, result.meshes[0]


@pytest.mark.parametrize("plane", ["FOUND", "X"])
def test_mirrored_sides_are_equal(creature, plane):
    _, armature, mesh = creature
    add_noise(mesh)
    before = weights_by_name(mesh)
    run(painting.mirror(bpy.context, armature, "LEFT_TO_RIGHT", plane, 1.0))
    after = weights_by_name(mesh)
    check_sums(mesh, 4, [row for row, old in zip(after, before, strict=True) if row != old])
    points = scenes.positions(mesh.data).astype(float)
    size = scenes.size_of(points)
    pairs = 0
    for v, point in enumerate(points):
        if point[0] > 1e-3 * size:
            assert after[v] == before[v]
            other = np.linalg.norm(points - point * [-1, 1, 1], axis=1)
            twin = int(other.argmin())
            if other[twin] < 1e-5 * size:
                pairs += 1
                flipped = {bpy.utils.flip_name(name): weight for name, weight in before[v].items()}
                total = sum(flipped.values())
                assert after[twin].keys() == flipped.keys()
                for name, weight in flipped.items():
                    assert after[twin][name] == pytest.approx(weight / total, abs=1e-4)
    assert pairs > 0.3 * len(points)


def test_mirroring_a_lopsided_shape_is_refused(creature):
    _, armature, mesh = creature
    for vertex in mesh.data.vertices:
        if vertex.co.x > 1.0:
            vertex.co.z += 0.8
    before = weights_by_name(mesh)
    with pytest.raises(painting.Refusal, match="lie farther than 2 %"):
        run(painting.mirror(bpy.context, armature, "LEFT_TO_RIGHT", "X", matching.LIMIT))
    assert weights_by_name(mesh) == before


def test_a_bone_without_a_twin_is_refused(creature):
    _, armature, mesh = creature
    name = next(bone.name for bone in armature.data.bones if bone.name.endswith(".R"))
    armature.data.bones[name].name = "Alone"
    before = weights_by_name(mesh)
    with pytest.raises(painting.Refusal, match="no bone on the other side"):
        run(painting.mirror(bpy.context, armature, "LEFT_TO_RIGHT", "X", matching.LIMIT))
    assert weights_by_name(mesh) == before


# ---- transfer


def subdivided(mesh, name="Dense"):
    """A denser copy in place, without groups or modifiers"""
    copy = mesh.copy()
    copy.data = mesh.data.copy()
    copy.name = name
    copy.parent = None
    copy.matrix_world = mesh.matrix_world
    copy.modifiers.clear()
    copy.vertex_groups.clear()
    scenes.link(copy)
    dense = copy.modifiers.new("Subdivision", "SUBSURF")
    dense.subdivision_type, dense.levels = "SIMPLE", 1
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    data = bpy.data.meshes.new_from_object(copy.evaluated_get(depsgraph), depsgraph=depsgraph)
    copy.modifiers.clear()
    copy.data = data
    bpy.context.view_layer.update()
    return copy


def test_a_denser_copy_follows_the_rig():
    _, armature, mesh = rigged()
    copy = subdivided(mesh)
    assert len(copy.data.vertices) > 3 * len(mesh.data.vertices)
    scenes.select(armature, mesh, copy)
    assert bpy.ops.ossify.transfer_weights() == {"FINISHED"}
    check_sums(copy, 4)
    assert [m.object for m in copy.modifiers if m.type == "ARMATURE"] == [armature]
    near = [
        int(np.linalg.norm(scenes.positions(copy.data) - p, axis=1).argmin())
        for p in scenes.positions(mesh.data)
    ]
    apart = scenes.seen_frames(copy, TIMES)[:, near] - scenes.seen_frames(mesh, TIMES)
    assert np.abs(apart).max() < 1e-5


def test_weights_come_back_from_a_denser_copy():
    """Sparser: the rig's own mesh without its groups, from a rig on nothing else"""
    _, armature, mesh = rigged()
    sparse = subdivided(mesh, "Sparse")
    sparse.data = mesh.data.copy()
    sparse.vertex_groups.clear()
    expected = weights_by_name(mesh)
    run(painting.transfer(bpy.context, armature, [sparse], matching.LIMIT))
    for old, new in zip(expected, weights_by_name(sparse), strict=True):
        assert new == pytest.approx(old, abs=1e-6)


@pytest.mark.parametrize("shift", [0.5, 20.0])
def test_a_copy_elsewhere_is_refused(shift):
    _, armature, mesh = rigged()
    copy = subdivided(mesh)
    copy.location.z += shift
    bpy.context.view_layer.update()
    with pytest.raises(painting.Refusal, match=r"vertices of Dense lie farther than 2 %"):
        run(painting.transfer(bpy.context, armature, [copy], matching.LIMIT))
    assert not copy.vertex_groups
    assert not copy.modifiers


def test_a_copy_with_a_vertex_nowhere_is_refused():
    _, armature, mesh = rigged()
    copy = subdivided(mesh)
    copy.data.vertices[7].co.x = float("nan")
    with pytest.raises(painting.Refusal, match="Dense has no finite position for vertex 7"):
        run(painting.transfer(bpy.context, armature, [copy], matching.LIMIT))
    assert not copy.vertex_groups


def test_a_copy_that_shares_the_mesh_is_refused():
    _, armature, mesh = rigged()
    copy = mesh.copy()
    copy.parent = None
    scenes.link(copy)
    with pytest.raises(painting.Refusal, match="shares its mesh"):
        run(painting.transfer(bpy.context, armature, [copy], matching.LIMIT))


# ---- operators


def test_smoothing_is_one_undo_step():
    _, armature, mesh = rigged()
    scenes.select(mesh, armature)
    bpy.ops.ed.undo_push(message="before")
    before = weights_by_name(mesh)
    assert bpy.ops.ossify.smooth_weights(budget=1.0) == {"FINISHED"}
    bpy.ops.ed.undo_push(message="after")
    name = mesh.name
    assert weights_by_name(bpy.data.objects[name]) != before
    bpy.ops.ed.undo()
    assert weights_by_name(bpy.data.objects[name]) == before
