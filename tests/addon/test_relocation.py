"""A bone of the solver's that does little leaves for a place where one is missed: if a bone was deleted, or
always, or never."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from contents import curves_of, groups_of
from kept import fresh, kept
from mathutils import Quaternion
from ossify import command
from ossify.options.options import RefitOptions
from ossify.record import changes
from ossify.refit import claims, refit_trial, relocation
from ossify.rig import actions, standing
from refits import COUNT, bits, delete_bone, edit, error, sheet_rig, source_frames
from refits import refitted as refitted_plainly

IDLE = "hand.R"  # hardly turns
MISSED = "thigh.L"


def refitted(armature, **chosen):
    return refitted_plainly(armature, **{"move_idle": "AUTOMATIC", **chosen})


def body_with_an_idle_hand(fineness):
    body, _ = scenes.creature(frames=12, fineness=fineness)
    hand = bpy.data.objects["Mover"].pose.bones[IDLE]
    for frame in range(1, 13):
        bpy.context.scene.frame_set(frame)
        hand.rotation_quaternion = Quaternion().slerp(hand.rotation_quaternion, 0.1)
        hand.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.context.scene.frame_set(1)
    return body


@kept
def rigged(skeleton, bones=COUNT, fineness=1):
    """Made in NORMAL quality and refitted in DRAFT, as its settings then say."""
    body = body_with_an_idle_hand(fineness)
    chosen = {"quality": "NORMAL", "skeleton": skeleton, "keys": "REDUCED"}
    result = chain.converted(body, bones=bones, **chosen)
    result.armature.ossify.settings.quality = "DRAFT"
    scenes.select(result.armature)
    return body, result.armature, result.meshes[0]


def matched(body, armature, mesh):
    """true bone -> the rig's bone that moves the most of it"""
    names, parts = standing.bone_names(armature), [group.name for group in body.vertex_groups]
    shared = standing.painted(body, parts).T @ standing.painted(mesh, names)
    return {part: names[b] for part, b in zip(parts, shared.argmax(axis=1), strict=True)}


def parent_of(armature, name):
    return armature.data.bones[name].parent.name


@pytest.mark.solver
@pytest.mark.parametrize("skeleton", ["NONE", "HIERARCHY", "ARTICULATED"])
def test_a_deleted_bone_is_made_up_for_by_an_idle_one(skeleton):
    body, armature, mesh = rigged(skeleton, COUNT - 1)
    solved = error(armature, mesh, source_frames(armature))
    fresh()
    body, armature, mesh = rigged(skeleton)
    goal, before = source_frames(armature), matched(body, armature, mesh)
    delete_bone(armature, before[MISSED])
    found = refitted(armature)
    assert found.written
    assert error(armature, mesh, goal) < 1.05 * solved
    assert len(standing.bone_names(armature)) == COUNT - 1
    after = matched(body, armature, mesh)
    left = after[MISSED]
    assert left in (before[IDLE], before["arm.R"])
    note, advice = found.notes
    assert note.startswith(f"{left} did little where it was")
    assert "Never" in advice
    bone = armature.data.bones[left]
    thigh = bpy.data.objects["Mover"].data.bones[MISSED]
    middle = (bone.head_local + bone.tail_local) / 2
    assert (middle - (thigh.head_local + thigh.tail_local) / 2).length < 0.5 * thigh.length
    assert 0.5 < bone.length / thigh.length < 2
    if skeleton != "NONE":
        assert (bone.head_local - thigh.head_local).length < 0.1 * thigh.length
        assert parent_of(armature, left) == after["trunk"]
        assert parent_of(armature, after["shin.L"]) == left
        assert parent_of(armature, after["arm.R"]) == after["trunk"]
        assert bone.collections[0] == armature.data.bones[after["trunk"]].collections[0]
        assert bone["ossify_joint"] in ("ball", "hinge")
    if skeleton == "ARTICULATED":
        kinds = {path.rpartition(".")[2] for path, *_ in curves_of(armature, left)}
        assert kinds == {"rotation_quaternion"}
    assert changes.find(armature) == changes.Changes()


def others(known, *parts):
    """Without these."""
    return {part: name for part, name in known.items() if part not in parts}


@pytest.mark.solver
@pytest.mark.parametrize(
    ("chosen", "notes"),
    [("AUTOMATIC", []), ("ALWAYS", ["No bone left its place: none is worth more elsewhere."])],
)
def test_no_bone_leaves_where_that_gains_nothing(chosen, notes):
    """Neither of a rig as it was made, nor when it was the idle bone that was deleted."""
    body, armature, mesh = rigged("HIERARCHY")
    before, bones = matched(body, armature, mesh), bits(armature, [mesh])[0]
    assert refitted(armature, move_idle=chosen).notes == notes
    assert bits(armature, [mesh])[0] == bones
    delete_bone(armature, before[IDLE])
    assert refitted(armature, move_idle=chosen).notes == notes
    del bones[before[IDLE]]
    assert {name: rest for name, (_, *rest) in bits(armature, [mesh])[0].items()} == {
        name: rest for name, (_, *rest) in bones.items()
    }
    assert others(matched(body, armature, mesh), IDLE) == others(before, IDLE)


@pytest.mark.solver
@pytest.mark.parametrize("chosen", [{"move_idle": "NEVER"}, {}])
def test_no_bone_leaves_when_told_never_or_nothing(chosen):
    body, armature, mesh = rigged("HIERARCHY", fineness=2)
    before = matched(body, armature, mesh)
    delete_bone(armature, before[MISSED])
    assert refitted_plainly(armature, **chosen).notes == []
    assert others(matched(body, armature, mesh), MISSED) == others(before, MISSED)


def test_bones_that_stay_share_what_a_deleted_one_moved():
    """None leaves, and yet they fit better than where each only takes what is beside it."""
    errors = {}
    for chosen in ("AUTOMATIC", "NEVER"):
        fresh()
        result = sheet_rig(rest_correction="KEPT", fairness=0.0)
        armature, goal = result.armature, source_frames(result.armature)
        delete_bone(armature, "Bone.003")
        assert refitted(armature, move_idle=chosen).notes == []
        errors[chosen] = error(armature, result.meshes[0], goal)
    assert errors["AUTOMATIC"] < 0.7 * errors["NEVER"]


def test_no_bone_leaves_while_none_was_deleted(monkeypatch):
    """Nobody even looks, however much would be gained."""
    _, armature, _ = rigged("HIERARCHY")
    monkeypatch.setattr(relocation, "look", None)
    assert refitted(armature).notes == []


def test_no_bone_leaves_where_two_were_merged():
    """By hand: another has its weights. Only who asks for it gets one there again."""
    body, armature, mesh = rigged("NONE")
    before = matched(body, armature, mesh)
    gone, heir = before[MISSED], before["trunk"]
    taken = standing.painted(mesh, [gone, heir]).sum(axis=1)
    for row in np.flatnonzero(taken).tolist():
        mesh.vertex_groups[heir].add([row], float(taken[row]), "REPLACE")
    mesh.vertex_groups.remove(mesh.vertex_groups[gone])
    delete_bone(armature, gone)
    assert changes.find(armature).merged == {gone: heir}
    armature.ossify.keep_repainted = False
    names = standing.bone_names(armature)
    weights = standing.painted(mesh, names)
    assert not any("it left for a place" in note for note in refitted(armature).notes)
    kept = np.minimum(weights, standing.painted(mesh, names)).sum(axis=0)
    assert (kept > 0.5 * weights.sum(axis=0)).all()


@pytest.mark.solver
@pytest.mark.parametrize("skeleton", ["NONE", "HIERARCHY"])
def test_the_bone_that_is_worth_least_fills_the_gap(skeleton, monkeypatch):
    """Where looking for other places leads nowhere: what the deleted bone moved is known."""

    def nowhere(given, _poses, _settings, mine, *_):
        yield from ()
        return given, mine & False

    body, armature, mesh = rigged(skeleton)
    goal, before = source_frames(armature), matched(body, armature, mesh)
    gone = armature.data.bones[before[MISSED]]
    weights, head = standing.painted(mesh, [gone.name])[:, 0], gone.head_local.copy()
    length = gone.length
    monkeypatch.setattr(relocation, "look", nowhere)
    delete_bone(armature, gone.name)
    found = refitted(armature)
    left = found.notes[0].partition(" did little")[0]
    assert left in (before[IDLE], before["arm.R"])
    now = standing.painted(mesh, [left])[:, 0]
    assert np.minimum(now, weights).sum() > 0.9 * weights.sum()
    assert error(armature, mesh, goal) < 0.1 * found.before.rms
    if skeleton != "NONE":
        assert (armature.data.bones[left].head_local - head).length < 0.1 * length
        assert parent_of(armature, matched(body, armature, mesh)["shin.L"]) == left


@pytest.mark.solver
@pytest.mark.parametrize(("skeleton", "ties"), [("HIERARCHY", True), ("NONE", False)])
def test_places_are_looked_for_once_and_free_bones_are_not_tied(monkeypatch, skeleton, ties):
    """When Blender cannot do what was solved, bones that only turn are tied to their joints; where none does
    that would be the same again."""
    looked, tried, look, attempt = [], [], relocation.look, refit_trial._attempt
    body, armature, mesh = rigged(skeleton)
    monkeypatch.setattr(refit_trial, "_SHORT", 0.0)
    monkeypatch.setattr(relocation, "look", lambda *given: looked.append(1) or look(*given))
    monkeypatch.setattr(
        refit_trial, "_attempt", lambda facts, way, *g: tried.append(way.tied) or attempt(facts, way, *g)
    )
    delete_bone(armature, matched(body, armature, mesh)[MISSED])
    refitted(armature)
    assert len(looked) == 1
    assert any(tried) == ties


@pytest.mark.solver
@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"solve": "WEIGHTS"}, "weights alone are solved"),
        ({"solve": "TRANSFORMS"}, "motion alone is solved"),
        ({"only": "VERTICES"}, "only selected vertices may change"),
        ({"frames": "CUSTOM", "frame_start": 2, "frame_end": 5}, "poses outside the frames from 2 to 5 stay"),
    ],
)
def test_why_no_bone_may_leave_is_told(chosen, words):
    body, armature, mesh = rigged("HIERARCHY")
    delete_bone(armature, matched(body, armature, mesh)[MISSED])
    some = {mesh.name: np.arange(len(mesh.data.vertices)) < 200}
    found = refitted(armature, vertices=some, move_idle="ALWAYS", **chosen)
    assert found.written
    assert found.notes == [f"No bone may leave its place: {words}."]


@pytest.mark.solver
def test_bones_keep_their_order_when_another_attempt_has_another(monkeypatch):
    """If all bones stayed, the first of two added would be set aside, and stand behind the other."""
    body, armature, mesh = rigged("HIERARCHY")
    known, goal = matched(body, armature, mesh), source_frames(armature)
    delete_bone(armature, known[MISSED])

    def add(bones):
        for name, like in (("First", bones[known["shin.R"]]), ("Second", bones[known["arm.L"]])):
            bone = bones.new(name)
            bone.head, bone.tail, bone.parent = like.head.lerp(like.tail, 0.5), like.tail, like

    edit(armature, add)
    monkeypatch.setattr(claims, "idle", lambda _, facts, *__: facts.claims[:1] if facts.mine is None else [])
    monkeypatch.setattr(relocation, "WORTH", np.inf)  # whoever left has left
    found = refitted(armature)
    assert any("it left for a place" in note for note in found.notes)
    assert error(armature, mesh, goal) == pytest.approx(found.after.rms, rel=1e-3)


def test_no_bone_hangs_from_itself():
    """3 has left, 1 and 2 are free: the library, which sees the tree from 2, would hang 1 from 2."""
    now = np.array([-1, 0, 1, 2, 3])
    free = np.array([False, True, True, True, True])
    left = np.array([False, False, False, True, False])
    wanted = np.array([-1, 2, -1, 4, 2])
    assert relocation.rehung(now, wanted, free, left).tolist() == [-1, 2, -1, 4, 2]
    free[2] = False  # and hangs from 1
    assert relocation.rehung(now, wanted, free, left).tolist() == [-1, 0, 1, 4, 2]
    wanted[4] = 3  # a circle of one that left and one that hung from it
    assert relocation.rehung(now, wanted, free, left).tolist() == [-1, 0, 1, 4, -1]


def hold_group(_armature, mesh, name):
    mesh.vertex_groups[name].lock_weight = True


def hold_vertices(_armature, mesh, name):
    weights = standing.painted(mesh, [name])[:, 0]
    changes.hold_vertices(mesh.data, weights > 0.9, True)


def hold_pose(armature, _mesh, name):
    changes.hold_bone(armature.data.bones[name], True)


def constrain(armature, _mesh, name):
    armature.pose.bones[name].constraints.new("LIMIT_SCALE").mute = True


def shape(armature, mesh, name):
    armature.pose.bones[name].custom_shape = mesh


def rename(armature, _mesh, name):
    armature.data.bones[name].name = "Paw"


def move(armature, _mesh, name):
    edit(armature, lambda bones: setattr(bones[name], "roll", bones[name].roll + 0.3))


def move_and_refit(armature, mesh, name):
    move(armature, mesh, name)
    refitted(armature)


def control(armature, _mesh, name):
    def add(bones):
        bone = bones.new("Control")
        bone.head, bone.tail, bone.use_deform = bones[name].tail, bones[name].tail + bones[name].vector, False
        bone.parent = bones[name]

    edit(armature, add)


MINE = (hold_group, hold_vertices, hold_pose, constrain, shape, rename, move, move_and_refit, control)


@pytest.mark.solver
@pytest.mark.parametrize("own", MINE, ids=lambda own: own.__name__)
def test_bones_of_the_artists_stay(own):
    """Both that could leave are the artist's, each in that way; what is held is equal to the bit."""
    body, armature, mesh = rigged("NONE")
    before = matched(body, armature, mesh)
    mine = [before[IDLE], before["arm.R"]]
    for name in mine:
        own(armature, mesh, name)
    if own is rename:
        mine = ["Paw", "Paw.001"]
    delete_bone(armature, before[MISSED])
    rests = {name: np.array(armature.data.bones[name].matrix_local).tolist() for name in mine}
    weights = standing.painted(mesh, mine)
    held = changes.held_vertices(mesh.data)
    rows, curves = np.array(groups_of(mesh), object)[held].tolist(), {n: curves_of(armature, n) for n in mine}
    refitted(armature)
    for name in mine:
        assert np.array(armature.data.bones[name].matrix_local).tolist() == rests[name]
    now = standing.painted(mesh, mine)
    common = np.minimum(weights, now).sum(axis=0)
    assert (common > 0.8 * weights.sum(axis=0)).all()  # they move what they did
    assert np.array(groups_of(mesh), object)[held].tolist() == rows
    if own in (hold_group, hold_pose):
        assert np.array_equal(now, weights)
    if own is hold_pose:
        assert {name: curves_of(armature, name) for name in mine} == curves


def test_bones_that_another_action_keys_stay():
    body, armature, mesh = rigged("NONE")
    own = armature.animation_data.action.copy()
    own.name = "Mine"
    actions.push(armature, own, "Mine", 1, muted=True)
    delete_bone(armature, matched(body, armature, mesh)[MISSED])
    found = refitted(armature, move_idle="ALWAYS")
    assert found.notes[0].startswith("No bone may leave its place")


def test_undo_takes_it_back_and_it_is_on_the_command_line(tmp_path, capfd):
    body, armature, mesh = rigged("HIERARCHY")
    delete_bone(armature, matched(body, armature, mesh)[MISSED])
    bpy.ops.ed.undo_push(message="deleted")
    before = scenes.picture()
    scenes.select(armature)
    assert bpy.ops.ossify.refit("EXEC_DEFAULT", True) == {"FINISHED"}
    assert scenes.difference(before, scenes.picture()) != ""
    bpy.ops.ed.undo()
    assert scenes.difference(before, scenes.picture()) == ""
    capfd.readouterr()
    source, output = tmp_path / "rig.blend", tmp_path / "again.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(source))
    for chosen, told in (([], False), (["always"], True), (["automatic"], True), (["never"], False)):
        chosen = ["--move-idle", *chosen] if chosen else []
        assert command.main(["refit", str(source), "--output", str(output), *chosen, "--quiet"]) == 0
        assert ("did little where it was" in capfd.readouterr().out) == told


@pytest.mark.parametrize(("ticked", "means"), [(True, "ALWAYS"), (False, "AUTOMATIC")])
def test_files_in_which_it_was_a_tick_are_read(ticked, means, tmp_path):
    scene, path = bpy.context.scene, str(tmp_path / "old.blend")
    own = getattr(scene, "bl_system_properties_get", None)  # since 5.0
    stored = own(do_create=True) if own else scene
    stored["ossify_refit"] = {"move_idle": int(ticked)}
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    assert RefitOptions.of(bpy.context.scene.ossify_refit).move_idle == means
