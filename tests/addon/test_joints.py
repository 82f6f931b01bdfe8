"""What is known of joints: noted on bones, told in words, and drawn where the pose has them."""

import bpy
import numpy as np
import pytest
from creature_rigs import converted, deforming, matched
from mathutils import Matrix, Vector
from ossify.skeleton import joints
from ossify.ui import overlay

FRAME = 12


@pytest.fixture
def rig():
    """The armature in a frame of its motion, far from the world's axes, and the matching of its bones"""
    result, body, bones = converted()
    result.armature.matrix_world = Matrix.Translation((3, 1, 0)) @ Matrix.Rotation(0.8, 4, "Z")
    bpy.context.scene.frame_set(FRAME)
    bpy.context.view_layer.update()
    return result.armature, matched(result, body), bones


def test_every_joint_has_a_mark_where_the_pose_has_it(rig):
    armature, match, bones = rig
    marks = {mark.place.copy().freeze(): mark.kind for mark in joints.marks(armature)}
    assert len(marks) == len(bones) - 1  # a root has no joint
    for name, (parent, _, _) in bones.items():
        if parent:
            pose = armature.pose.bones[match[name]]
            place = armature.matrix_world @ (pose.matrix @ Vector((0, 0, 0)))
            (kind,) = (kind for at, kind in marks.items() if (at - place).length < 1e-5)
            assert kind == ("hinge" if name.startswith(("hand", "shin")) else "ball")


def test_the_axis_of_a_hinge_turns_with_its_limb(rig):
    """It is the axis about which the child turned since another frame, seen from the parent."""
    armature, match, _ = rig
    name = match["shin.L"]

    def turn():
        bone = armature.pose.bones[name]
        return (bone.parent.matrix.inverted() @ bone.matrix).to_quaternion()

    place = armature.matrix_world @ armature.pose.bones[name].head
    (mark,) = (mark for mark in joints.marks(armature) if (mark.place - place).length < 1e-5)
    parent = (armature.matrix_world @ armature.pose.bones[name].parent.matrix).to_quaternion()
    here = turn()
    bpy.context.scene.frame_set(FRAME + 4)
    axis = parent @ (turn() @ here.inverted()).axis
    assert abs(axis.dot(mark.axis.normalized())) > 0.999


def test_balls_have_no_axis_and_hidden_bones_no_mark(rig):
    armature, match, bones = rig
    assert all((mark.axis.length > 0) == (mark.kind == "hinge") for mark in joints.marks(armature))
    hidden = armature.pose.bones[match["hand.R"]]
    (hidden if hasattr(hidden, "hide") else hidden.bone).hide = True
    assert len(joints.marks(armature)) == len(bones) - 2
    armature.data.collections_all["Side.L"].is_visible = False
    assert len(joints.marks(armature)) == len(bones) - 4


def test_an_update_notes_joints_anew(rig):
    armature, match, _ = rig
    bpy.context.view_layer.objects.active = armature
    armature.ossify.root_bone = match["shin.L"]
    assert bpy.ops.ossify.update_skeleton() == {"FINISHED"}
    for bone in deforming(armature):
        assert (joints.AXIS in bone) == (bone[joints.KIND] == "hinge")
    (root,) = (bone for bone in deforming(armature) if bone[joints.KIND] == "root")
    assert root.name == armature.ossify.root_bone


# ---- what is drawn


def area(points):
    """Of triangles [3 n][2]"""
    a, b, c = points.reshape(-1, 3, 2).swapaxes(0, 1)
    one, two = b - a, c - a
    return np.abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]).sum() / 2


def opaque(points, colours, kind):
    """The triangles that are wholly in the colour of a kind."""
    same = np.isclose(colours[:, :3], overlay.COLOURS[kind]).all(axis=1) & (colours[:, 3] == 1)
    return points.reshape(-1, 3, 2)[same.reshape(-1, 3).all(axis=1)].reshape(-1, 2)


def covers(points, place):
    """Whether a place is in one of the triangles [3 n][2]."""
    a, b, c = points.reshape(-1, 3, 2).swapaxes(0, 1)

    def side(start, end):
        return (end[:, 0] - start[:, 0]) * (place[1] - start[:, 1]) - (end[:, 1] - start[:, 1]) * (
            place[0] - start[:, 0]
        )

    sides = np.stack([side(a, b), side(b, c), side(c, a)])
    solid = np.abs(sides).max(axis=0) > 1e-9
    return bool((((sides >= 0).all(axis=0) | (sides <= 0).all(axis=0)) & solid).any())


def test_a_ball_is_a_dot_and_a_guess_is_hollow():
    for kind, filled in (("ball", True), ("stiff", True), ("loose", False)):
        points, colours = overlay.shape(kind, (7, 9), (7, 9), 2.0)
        inside = opaque(points, colours, kind)
        reach = np.linalg.norm(inside - (7, 9), axis=1).max()
        assert covers(points, (7.1, 9.1)) == filled
        disc = np.pi * reach**2
        assert (area(inside) > 0.97 * disc) == filled
        assert 0.3 * disc < area(inside) < disc


@pytest.mark.parametrize("end", [(40, 0), (0, 30), (-20, -25), (0.0, 0.0)])
def test_a_hinge_is_a_bar_along_its_axis(end):
    points, colours = overlay.shape("hinge", (0, 0), end, 1.0)
    bar = opaque(points, colours, "hinge")
    end = np.array(end)
    along = np.clip(bar @ end / max(end @ end, 1e-12), 0, 1)
    radius = np.linalg.norm(bar - along[:, None] * end, axis=1).max()
    assert area(bar) == pytest.approx(np.pi * radius**2 + 2 * radius * np.linalg.norm(end), rel=0.03)
    for share in (0.02, 0.5, 0.98):
        assert covers(bar, (share * end[0] + 0.05, share * end[1] + 0.03))


def test_joints_behind_the_eye_are_left_out():
    marks = [joints.Mark(kind, Vector((0, 0, z)), Vector()) for kind, z in (("ball", 1), ("loose", -1))]

    def project(place):
        return Vector((place.x, place.y)) if place.z > 0 else None

    points, colours = overlay.shapes(marks, project, 1.0)
    assert np.array_equal(points, overlay.shape("ball", (0, 0), (0, 0), 1.0)[0])
    assert len(colours) == len(points)
    assert len(overlay.shapes([], project, 1.0)[0]) == 0


def test_showing_joints_changes_nothing_else(rig):
    armature, _, _ = rig
    before = [bone.color.palette for bone in armature.pose.bones]
    armature.ossify.show_joints = True
    assert [bone.color.palette for bone in armature.pose.bones] == before
    armature.ossify.show_joints = False


@pytest.fixture
def viewport():
    """A 3D viewport of the file at hand."""
    for screen in bpy.data.screens:
        for area in screen.areas:
            if area.type == "VIEW_3D" and area.spaces.active.overlay.show_overlays:
                return area.spaces.active
    raise AssertionError("the startup file has no viewport with overlays")


def shown(space):
    return overlay.shown(bpy.context.view_layer, space)


def test_only_what_can_be_seen_is_drawn(rig, viewport):
    armature, _, _ = rig
    assert shown(viewport) == []
    armature.ossify.show_joints = True
    assert shown(viewport) == [armature]
    armature.hide_set(True)
    assert shown(viewport) == []
    armature.hide_set(False)
    viewport.overlay.show_overlays = False
    assert shown(viewport) == []


def test_undo_and_files_are_noticed(rig, viewport, tmp_path):
    armature, _, _ = rig
    armature.ossify.show_joints = True
    bpy.ops.ed.undo_push(message="shown")
    armature.ossify.show_joints = False
    bpy.ops.ed.undo_push(message="hidden")
    assert shown(viewport) == []
    bpy.ops.ed.undo()
    assert [obj.name for obj in shown(viewport)] == ["Creature Rig"]
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shown.blend"))
    bpy.ops.wm.read_homefile(use_empty=True)
    assert overlay._rigs() == []
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shown.blend"))
    assert [obj.name for obj in overlay._rigs()] == ["Creature Rig"]


def test_the_overlay_comes_and_goes_with_the_extension():
    overlay.unregister()
    assert overlay._handle is None
    assert overlay.look_again not in bpy.app.handlers.load_post
    overlay.register()
    assert overlay._handle is not None
    assert bpy.app.handlers.load_post.count(overlay.look_again) == 1
