"""Fit Rig to Meshes: a rig that anybody made, put into other bodies with the same vertices."""

import bpy
import exchange
import numpy as np
import pytest
import scenes
from commands import run as command
from layered import chain, rigify_person
from limbs_of_a_family import body, by_hand, fitted, joints, like, moved, stretched, weights
from ossify.base.refusal import Refusal
from ossify.family import copies, fit
from ossify.files import inputs
from ossify.options.options import FitOptions
from ossify.rig import standing

STRETCH = np.array([[1.2, 0.1, 0.0], [0.0, 0.8, 0.1], [0.05, 0.0, 1.5]])


def person(bones=3):
    return chain(bones=bones, rings=16, width=0.5)


def sheared(points):
    return points.astype(np.float64) @ STRETCH.T


def tree(armature):
    return {bone.name: bone.parent and bone.parent.name for bone in armature.data.bones}


def in_armature(armature, obj):
    matrix = np.linalg.inv(np.array(armature.matrix_world)) @ np.array(obj.matrix_world)
    return matrix[:3, :3], matrix[:3, 3]


def test_a_sheared_body_has_its_joints_where_the_shear_takes_them():
    armature, tube = person()
    other = like(tube, "Other", sheared)
    other.matrix_world = tube.matrix_world
    found = fitted(tube, other)
    (copy,) = found.armatures
    turn, shift = in_armature(armature, tube)
    own = (joints(armature) - shift) @ np.linalg.inv(turn).T  # in the mesh
    wanted = own @ STRETCH.T @ turn.T + shift
    assert np.abs(joints(copy) - wanted).max() < 2e-3 * scenes.size_of(scenes.positions(other.data))
    assert tree(copy) == tree(armature)
    assert weights(other) == weights(tube)
    assert other.parent == copy
    assert found.sentence() == "1 mesh rigged: 3 joints each, from one body."


def test_the_same_action_turns_all_bodies_the_same_way():
    armature, tube = person()
    other = like(tube, "Other", lambda points: stretched(points, (1.0, 2.0, 0.7), 1.3))
    other.location = (3, 0, 0)
    (copy,) = fitted(tube, other).armatures
    assert copy.animation_data.action == armature.animation_data.action
    for frame in (2, 5):
        shown = scenes.seen(other, frame)
        assert np.abs(shown - by_hand(copy, other)).max() < 1e-5
        mine, theirs = moved(copy), moved(armature)
        for name in mine:
            assert np.abs(mine[name][:3, :3] - theirs[name][:3, :3]).max() < 1e-5


def test_bones_along_the_body_reach_from_joint_to_joint():
    armature, tube = person()

    def bent(points):
        points = stretched(points, (1.0, 2.0, 0.7))
        return points + np.stack([0.2 * points[:, 2] ** 2, *np.zeros((2, len(points)))], axis=1)

    other = like(tube, "Other", bent)
    (copy,) = fitted(tube, other, axes="FOLLOW").armatures
    bones = list(copy.data.bones)
    assert all(bone.use_connect for bone in bones[1:])
    (kept,) = fitted(tube, like(tube, "Kept", bent)).armatures
    for bone, straight, own in zip(bones, kept.data.bones, armature.data.bones, strict=True):
        assert (bone.head_local - straight.head_local).length < 1e-6
        assert (straight.vector.normalized() - own.vector.normalized()).length < 1e-5
        assert straight.length == pytest.approx(bone.length, rel=1e-5)
    assert bones[1].vector.normalized().dot(armature.data.bones[1].vector.normalized()) < 0.99


def test_joints_are_learnt_from_bodies_that_have_some():
    """The joints lie where no single body tells: a third of the way through, whatever the shape."""
    armature, tube = person(2)
    rng, known = np.random.default_rng(1), [tube]

    def child(name):
        lengths = rng.uniform(0.6, 2.0, 3)
        return like(tube, name, lambda points: stretched(points, lengths, rng.uniform(0.7, 1.4)))

    for number in range(5):
        obj = child(f"Known {number}")
        (copy,) = fitted(tube, obj).armatures
        with standing.editing(copy) as bones:  # as a person would put them
            top = scenes.positions(obj.data)[:, 2].max()
            bones["spine.1"].head = bones["spine.0"].tail = (0, 0, top * 0.4)
        known.append(obj)
    with standing.editing(armature) as bones:
        bones["spine.1"].head = bones["spine.0"].tail = (0, 0, 4 * 0.4)
    alone, together = child("Alone"), None
    together = body("Together", scenes.positions(alone.data), alone)
    truth = scenes.positions(alone.data)[:, 2].max() * 0.4
    one, several = fitted(tube, alone), fitted(tube, *known[1:], together)
    assert (one.known, several.known) == (1, 6)
    errors = [abs(joints(found.armatures[0], ["spine.1"])[0, 2] - truth) for found in (one, several)]
    assert errors[1] < 0.02 * truth
    assert errors[1] < 0.5 * errors[0]


def test_locations_are_as_large_as_the_body():
    armature, tube = person()
    root = armature.pose.bones[0]
    for frame, x in ((1, 0.0), (8, 0.6)):
        root.location = (x, 0, 0)
        root.keyframe_insert("location", frame=frame)
    action = armature.animation_data.action
    other = like(tube, "Other", lambda points: 2 * points)
    same = like(tube, "Same", lambda points: points)
    large, small = fitted(tube, other, same).armatures
    assert small.animation_data.action == action
    assert large.animation_data.action != action
    bpy.context.scene.frame_set(8)
    assert large.pose.bones[0].location.x == pytest.approx(1.2)
    assert armature.pose.bones[0].location.x == pytest.approx(0.6)


def test_a_body_that_lies_turned_has_its_armature_turned():
    armature, tube = person()
    lying = like(tube, "Lying", lambda points: points[:, [0, 2, 1]] * (1, 1, -1))
    (copy,) = fitted(tube, lying).armatures
    assert np.abs(joints(copy) - joints(armature)).max() < 1e-4
    turned = like(tube, "Turned", lambda points: 0.5 * points)
    turned.rotation_euler, turned.scale, turned.location = (0, 1.2, 0), (2, 2, 2), (5, 1, 0)
    (copy,) = fitted(tube, turned).armatures
    heads = joints(copy) @ np.array(copy.matrix_world)[:3, :3].T + np.array(copy.matrix_world)[:3, 3]
    relation = np.array(turned.matrix_world) @ np.diag([0.5, 0.5, 0.5, 1]) @ np.linalg.inv(tube.matrix_world)
    own = (
        joints(armature) @ np.array(armature.matrix_world)[:3, :3].T + np.array(armature.matrix_world)[:3, 3]
    )
    assert np.abs(heads - (own @ relation[:3, :3].T + relation[:3, 3])).max() < 1e-4


def test_bones_that_constraints_aim_at_each_other_rest_in_the_copy():
    armature, tube = person()
    with standing.editing(armature) as bones:
        goal, end = bones.new("goal"), bones["spine.0"].tail
        goal.head, goal.tail, goal.use_deform = end, end + bones["spine.0"].vector, False
    aim = armature.pose.bones["spine.0"].constraints.new("DAMPED_TRACK")
    aim.target, aim.subtarget = armature, "goal"
    armature.animation_data_clear()
    for bone in armature.pose.bones:
        bone.rotation_euler = (0, 0, 0)
    other = like(tube, "Other", lambda points: points + 0.2 * points[:, [2]] ** 2 * (1, 0, 0))
    fitted(tube, other)
    at_rest = (
        scenes.positions(other.data) @ np.array(other.matrix_world)[:3, :3].T + other.matrix_world.translation
    )
    assert np.abs(scenes.seen(other, 1) - at_rest).max() < 1e-3


def test_what_looks_at_the_rig_looks_at_the_copy():
    armature, tube = person()
    last = armature.pose.bones["spine.2"]
    pull = last.constraints.new("STRETCH_TO")
    pull.target, pull.subtarget, pull.rest_length = armature, "spine.0", last.bone.length
    armature["width"] = 1.0
    curve = last.driver_add("scale", 0).driver
    curve.variables.new().targets[0].id = armature
    curve.variables[0].targets[0].data_path = '["width"]'
    other = like(tube, "Other", lambda points: 3 * points)
    (copy,) = fitted(tube, other).armatures
    assert copy.pose.bones["spine.2"].constraints[0].target == copy
    assert copy.pose.bones["spine.2"].constraints[0].rest_length == pytest.approx(
        3 * last.bone.length, rel=1e-3
    )
    assert copy.animation_data.drivers[0].driver.variables[0].targets[0].id == copy
    assert armature.animation_data.drivers[0].driver.variables[0].targets[0].id == armature


@pytest.mark.usefixtures("rigify")
def test_a_rig_of_rigify_goes_into_another_body():
    armature, person = rigify_person()
    sizes = (1.25, 1.1, 0.8)
    other = like(person, "Other", lambda points: points * sizes)
    (copy,) = fitted(person, other).armatures
    assert tree(copy) == tree(armature)
    assert weights(other) == weights(person)
    targets = {getattr(one, "target", None) for bone in copy.pose.bones for one in bone.constraints}
    assert targets == {copy, None}
    size = scenes.size_of(scenes.positions(other.data))
    own, theirs = scenes.seen_frames(person, (2, 5)) * sizes, scenes.seen_frames(other, (2, 5))
    copy.animation_data.action = None
    for bone in copy.pose.bones:
        bone.matrix_basis.identity()
    still = scenes.seen(other)
    assert np.abs(still - scenes.positions(other.data)).max() < 0.01 * size
    for wanted, found in zip(own, theirs, strict=True):  # it does what the first does, as another body
        assert rms(found - wanted) < 0.3 * rms(found - still)


def rms(differences):
    return np.sqrt((differences**2).sum(axis=1).mean())


def _other_order(tube):
    points, order = scenes.positions(tube.data), np.random.default_rng(0).permutation(len(tube.data.vertices))
    mesh = bpy.data.meshes.new("Other")
    place = np.argsort(order)
    mesh.from_pydata(
        points[order].tolist(), [], [[int(place[v]) for v in f.vertices] for f in tube.data.polygons]
    )
    return scenes.link(bpy.data.objects.new("Other", mesh))


def _flipped_face(tube):
    faces = [list(face.vertices) for face in tube.data.polygons]
    faces[3] = faces[3][:3]
    mesh = bpy.data.meshes.new("Other")
    mesh.from_pydata(scenes.positions(tube.data).tolist(), [], faces)
    return scenes.link(bpy.data.objects.new("Other", mesh))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _tube: scenes.tube("Other", rings=10, around=8), "Other has 80 vertices and Tube 128"),
        (_other_order, "Other looks like Tube with its vertices in another order \\(face 0 joins"),
        (_flipped_face, "Other is another mesh than Tube: face 3 joins the vertices"),
        (lambda tube: like(tube, "Other", lambda p: 100 * p), "100 times as large as Tube"),
        (lambda tube: like(tube, "Other", lambda p: 0.01 * p), "100 times smaller than Tube"),
        (
            lambda tube: like(tube, "Other", lambda p: np.where(np.arange(len(p))[:, None] == 7, np.inf, p)),
            "Other has no finite position for vertex 7",
        ),
    ],
)
def test_meshes_that_do_not_belong_together_are_refused_in_a_sentence(make, words):
    _, tube = person()
    other = make(tube)
    scenes.select(tube, other)
    whole = scenes.picture()
    with pytest.raises(Refusal, match=words):
        fitted(tube, other)
    assert scenes.difference(whole, scenes.picture()) == ""


def test_a_mirror_image_is_told():
    _, tube = person()

    def lopsided(points):
        points = points.astype(np.float64)
        return np.stack(
            [points[:, 0] + 0.3 * points[:, 2] ** 2, points[:, 1] * (1 + points[:, 2]), points[:, 2]], 1
        )

    tube.data.vertices.foreach_set("co", lopsided(scenes.positions(tube.data)).astype(np.float32).ravel())
    other = like(tube, "Other", lambda points: points * (1, -1, 1) + points[:, [2]] ** 2 * (0, 0.3, 0))
    mirrored = like(other, "Mirrored", lambda points: points * (-1, 1, 1))
    with pytest.raises(Refusal, match="Mirrored is a mirror image of Other"):
        fit.bodies.check(mirrored, other, scenes.positions(mirrored.data), scenes.positions(other.data))


def test_what_is_missing_is_said():
    _, tube = person()
    other = like(tube, "Other", sheared)
    assert "No armature moves Other" in fit.trouble(other, [tube])
    assert "Select the meshes" in fit.trouble(tube, [])
    assert "not a mesh" in fit.trouble(None, [other])
    assert fit.trouble(tube, [other]) is None


@pytest.mark.parametrize("stage", ["Reading", "Building"])
def test_cancelled_it_leaves_the_file_as_it_was(stage):
    _, tube = person()
    other = like(tube, "Other", sheared)
    scenes.select(tube, other)
    whole = scenes.picture()
    steps = fit.fit(bpy.context.scene, bpy.context.view_layer, tube, [other], FitOptions())
    while next(steps).stage != stage:
        pass
    steps.close()
    assert scenes.difference(whole, scenes.picture()) == ""


def test_when_the_last_body_fails_none_is_changed(monkeypatch):
    _, tube = person()
    first, second = like(tube, "First", sheared), like(tube, "Second", sheared)
    first.vertex_groups.new(name="spine.1").add([0, 5], 0.25, "REPLACE")
    scenes.select(tube, first, second)
    whole, own, bind = scenes.picture(), weights(first), copies.bind

    def fail(obj, *more):
        bind(obj, *more)
        if obj.name == "Second":
            raise RuntimeError("no room")

    monkeypatch.setattr(copies, "bind", fail)
    with pytest.raises(RuntimeError, match="no room"):
        fitted(tube, first, second)
    assert weights(first) == own
    assert first.parent is second.parent is None
    assert scenes.difference(whole, scenes.picture()) == ""


def test_a_button_for_it():
    _, tube = person()
    other = like(tube, "Other", sheared)
    scenes.select(tube, other)
    assert bpy.ops.ossify.fit_rig.poll()
    assert bpy.ops.ossify.fit_rig() == {"FINISHED"}
    assert bpy.context.view_layer.objects.active == other.parent
    scenes.select(tube)
    assert not bpy.ops.ossify.fit_rig.poll()


def write_obj(path, obj):
    scenes.select(obj)
    bpy.ops.wm.obj_export(
        filepath=str(path),
        export_selected_objects=True,
        forward_axis="Y",
        up_axis="Z",
        export_materials=False,
    )


def test_from_the_command_line(tmp_path, capsys):
    _, tube = person()
    for name, factor in (("ann", 0.8), ("bob", 1.5)):
        other = like(tube, name, lambda points, factor=factor: stretched(points, (factor, 1.3, 1.0)))
        write_obj(tmp_path / f"{name}.obj", other)
        bpy.data.objects.remove(other)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    files = [tmp_path / "rig.blend", tmp_path / "ann.obj", tmp_path / "bob.obj"]
    assert command("fit", *files, "--output", tmp_path / "all.blend", "--quiet") == 0
    assert command("fit", *files, "--output", tmp_path / "{name}.glb", "--quiet") == 0
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "all.blend"))
    shown = {}
    for name in ("ann", "bob"):
        obj = bpy.data.objects[name]
        assert obj.parent.type == "ARMATURE"
        assert np.ptp(scenes.seen_frames(obj, (1, 3, 5)), axis=0).max() > 0.1
        shown[name] = scenes.seen_frames(obj, (1, 3, 5))
    for name in ("ann", "bob"):
        with inputs.Opened(tmp_path / f"{name}.glb", [], None) as opened:
            meshes = opened.objects()
            exchange.compare(shown[name], meshes, exchange.times_of_action((1, 3, 5)), 1e-3)
    assert command("fit", *files, "--output", tmp_path / "all.glb", "--quiet") == 2
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    write_obj(tmp_path / "cat.obj", scenes.tube("Cat", rings=9))
    assert command("fit", files[0], tmp_path / "cat.obj", "--output", tmp_path / "cat.blend", "--quiet") == 1
    assert not (tmp_path / "cat.blend").exists()
    capsys.readouterr()
    assert command("fit", files[0], files[0], "--output", tmp_path / "cat.blend", "--quiet") == 1
    assert "rig.blend is the file that is open" in capsys.readouterr().err
