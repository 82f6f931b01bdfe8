"""Rig to This Armature: an artist's bones, names and controls stay; weights, and poses if it has none, are
solved."""

import addon_utils
import bpy
import commands
import mathutils
import numpy as np
import pytest
import scenes
from ossify.adopt import adopt, bones, plain
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.options.options import AdoptOptions, Options
from ossify.rig import rewrite

FRAMES = 12


def recorded(tmp_path, moving=True):
    """A mesh moved by a cache, and the armature that moved it, which stands still unless `moving`."""
    body, _ = scenes.creature(FRAMES)
    frames = scenes.seen_frames(body, range(1, FRAMES + 1))
    armature = bpy.data.objects["Mover"]
    body.modifiers.clear()
    body.vertex_groups.clear()
    scenes.cached(body, tmp_path / "body.pc2", frames)
    if not moving:
        armature.animation_data_clear()
        for bone in armature.pose.bones:
            bone.matrix_basis.identity()
    bpy.context.view_layer.update()
    return body, armature, frames


def rigged(body, armature, options=None, **chosen):
    context = bpy.context
    quick = options or Options(quality="DRAFT", keys="EVERY", threads=1)
    return run(
        adopt.adopt(context.scene, context.view_layer, armature, [body], quick, AdoptOptions(**chosen))
    )


def error_of(result, frames):
    """Root mean square distance in percent of the size, of what Blender shows."""
    shown = scenes.seen_frames(result.meshes[0], range(1, len(frames) + 1))
    return 100 * np.sqrt(((shown - frames) ** 2).sum(axis=2).mean()) / scenes.size_of(frames[0])


def test_an_armature_that_moves_with_the_mesh_keeps_its_motion(tmp_path):
    body, armature, frames = recorded(tmp_path)
    action, names = armature.animation_data.action, armature.data.bones.keys()
    result = rigged(body, armature)
    assert not result.keyed
    assert armature.animation_data.action == action
    assert armature.data.bones.keys() == names
    assert set(result.meshes[0].vertex_groups.keys()) <= set(names)
    assert error_of(result, frames) < 0.01


def test_an_armature_that_stands_still_gets_the_motion(tmp_path):
    body, armature, frames = recorded(tmp_path, moving=False)
    rests = [np.array(bone.matrix_local) for bone in armature.data.bones]
    result = rigged(body, armature)
    assert result.keyed
    assert error_of(result, frames) < 0.1
    assert error_of(result, frames) == pytest.approx(result.report.percent(result.report.rms), abs=1e-4)
    assert np.array_equal(rests, [np.array(bone.matrix_local) for bone in armature.data.bones])
    assert body.hide_get()
    assert result.meshes[0].parent == armature
    for bone in armature.pose.bones:  # joints hold: none but the first goes anywhere
        if bone.parent is not None:
            assert np.abs(np.array(bone.location)).max() < 1e-4


def test_an_armature_elsewhere_in_the_scene_sees_the_mesh_where_it_is(tmp_path):
    body, armature, frames = recorded(tmp_path, moving=False)
    for obj in (body, armature):
        obj.location, obj.rotation_euler = (3, -2, 1), (0.3, 0.2, 1.0)
    armature.scale = (1, 1, 1)
    bpy.context.view_layer.update()
    world = np.array(body.matrix_world)
    result = rigged(body, armature)
    assert error_of(result, frames @ world[:3, :3].T + world[:3, 3]) < 0.1


def test_bones_that_constraints_move_play_keys_until_controls_are_switched_on(tmp_path):
    body, armature, frames = recorded(tmp_path, moving=False)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for name in [bone.name for bone in armature.data.edit_bones]:  # as a control rig has them
        edit = armature.data.edit_bones
        deform, control = edit[name], edit.new(f"CTL-{name}")
        control.head, control.tail, control.roll = deform.head, deform.tail, deform.roll
        control.use_deform = False
    for bone in [bone for bone in armature.data.edit_bones if not bone.name.startswith("CTL-")]:
        above = bone.parent
        if above is not None:
            armature.data.edit_bones[f"CTL-{bone.name}"].parent = armature.data.edit_bones[
                f"CTL-{above.name}"
            ]
            bone.parent = armature.data.edit_bones[f"CTL-{above.name}"]
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in armature.pose.bones:
        if not bone.name.startswith("CTL-"):
            follow = bone.constraints.new("COPY_TRANSFORMS")
            follow.target, follow.subtarget = armature, f"CTL-{bone.name}"
    armature.data.bones["trunk"].bbone_segments = 6
    own = bones.read(armature)
    assert {own.names[b]: own.names[p] for b, p in enumerate(own.parents) if p >= 0} == {
        name: parent for name, (parent, _, _) in scenes.creature_bones().items() if parent
    }
    result = rigged(body, armature)
    assert error_of(result, frames) < 0.1
    assert any("Switch to Controls" in note for note in result.report.notes)
    assert not plain.switch(armature)
    assert not any(c.mute for bone in armature.pose.bones for c in bone.constraints)
    assert armature.data.bones["trunk"].bbone_segments == 6
    assert error_of(result, frames) > 1
    assert plain.switch(armature)
    assert error_of(result, frames) < 0.1


def test_locked_groups_and_held_vertices_keep_their_weights(tmp_path):
    body, armature, _ = recorded(tmp_path)
    head = body.vertex_groups.new(name="head")
    head.add(list(range(40)), 0.25, "REPLACE")
    head.lock_weight = True
    mesh = rigged(body, armature).meshes[0]
    group = mesh.vertex_groups["head"]
    assert group.lock_weight
    found = [next((g.weight for g in v.groups if g.group == group.index), 0.0) for v in mesh.data.vertices]
    assert np.allclose(found[:40], 0.25, atol=1e-6)
    assert np.allclose(found[40:], 0, atol=1e-6)

    bpy.data.objects.remove(mesh)
    scenes.select(body)
    body.hide_viewport = False
    body.hide_set(False)
    head.lock_weight = False
    head.add(list(range(40)), 1.0, "REPLACE")
    mesh = rigged(body, armature, painted="HELD").meshes[0]
    for vertex in mesh.data.vertices[:40]:
        assert [(mesh.vertex_groups[g.group].name, g.weight) for g in vertex.groups] == [("head", 1.0)]


@pytest.mark.parametrize("stage", ["Reading", "Solving", "Building"])
def test_cancelling_leaves_the_file_as_it_was(tmp_path, stage):
    body, armature, _ = recorded(tmp_path, moving=False)
    before = scenes.picture()
    context = bpy.context
    steps = adopt.adopt(
        context.scene, context.view_layer, armature, [body], Options(quality="DRAFT"), AdoptOptions()
    )
    assert next(step for step in steps if step.stage == stage)
    steps.close()
    assert scenes.difference(before, scenes.picture()) == ""


def test_an_error_while_building_takes_everything_back(tmp_path, monkeypatch):
    body, armature, _ = recorded(tmp_path, moving=False)
    bone = armature.pose.bones["head"]
    bone.constraints.new("LIMIT_ROTATION")
    before = scenes.picture()

    def fail(*_):
        raise RuntimeError("no measure")

    monkeypatch.setattr(adopt, "_measured", fail)
    with pytest.raises(RuntimeError, match="no measure"):
        rigged(body, armature)
    assert scenes.difference(before, scenes.picture()) == ""
    assert not bone.constraints[0].mute


def _no_bones(_body, armature):
    for bone in armature.data.bones:
        bone.use_deform = False


def _elsewhere(_body, armature):
    armature.location = (50, 0, 0)


def _uneven(_body, armature):
    armature.scale = (1, 2, 1)


def _rest(_body, armature):
    armature.data.pose_position = "REST"


def _hidden(_body, armature):
    armature.hide_viewport = True


def _already(body, armature):
    body.modifiers.new("Armature", "ARMATURE").object = armature


REFUSED = {
    "no bone that deforms": _no_bones,
    "lie outside of Creature at rest": _elsewhere,
    "not scaled evenly": _uneven,
    "rest position": _rest,
    "is hidden": _hidden,
    "is moved by Mover already": _already,
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_is_refused_in_words(tmp_path, words):
    body, armature, _ = recorded(tmp_path, moving=False)
    REFUSED[words](body, armature)
    bpy.context.view_layer.update()
    before = scenes.picture()
    with pytest.raises(Refusal, match=words):
        rigged(body, armature)
    assert scenes.difference(before, scenes.picture()) == ""


def test_the_operator_leaves_its_figures_on_the_armature(tmp_path):
    body, armature, _ = recorded(tmp_path, moving=False)
    scenes.select(armature, body)
    assert bpy.ops.ossify.adopt.poll()
    assert bpy.ops.ossify.adopt() == {"FINISHED"}
    assert armature.animation_data.action is not None
    assert armature.ossify.rms < 0.1
    assert armature.ossify.bones == len(armature.data.bones)
    assert not bpy.ops.ossify.switch_controls.poll()


def test_an_armature_with_the_meshes_that_it_moves_is_not_offered():
    """Nor one alone that has some: an artist who selects a character wants no sentence about it."""
    body, _ = scenes.creature(FRAMES)
    armature, other = bpy.data.objects["Mover"], scenes.link(bpy.data.objects.new("Other", body.data.copy()))
    assert not adopt.waits(armature, [body])
    assert adopt.waits(armature, [body, other])
    assert adopt.waits(armature, [])
    body.parent = armature
    assert not adopt.waits(armature, [])


def test_the_command_line_rigs_to_an_armature_of_another_file(tmp_path):
    _body, armature, frames = recorded(tmp_path, moving=False)
    armature.name = "Mine"
    rig = tmp_path / "rig.blend"
    bpy.data.libraries.write(str(rig), {armature}, fake_user=True)
    bpy.data.objects.remove(armature)
    source, out = tmp_path / "mesh.blend", tmp_path / "out.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(source))
    names = [*scenes.creature_bones()]
    call = ["convert", source, "--quality", "draft", "--quiet", "--keys", "every", "--output", out]
    assert commands.run(*call, "--armature", f"{rig}:Mine", "--report", tmp_path / "report.json") == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    assert sorted(bpy.data.objects["Mine"].data.bones.keys()) == sorted(names)
    shown = scenes.seen_frames(bpy.data.objects["Creature Rigged"], range(1, FRAMES + 1))
    assert np.sqrt(((shown - frames) ** 2).sum(axis=2).mean()) < 1e-3 * scenes.size_of(frames[0])
    assert commands.run(*call, "--armature", f"{rig}:Other") == 1
    assert commands.run(*call, "--armature", tmp_path / "rig.fbx") == 2
    assert commands.run(*call, "--painted", "held") == 2


def _rigify_human():
    """Rigify's basic human, generated."""
    if addon_utils.enable("rigify", default_set=True) is None:
        assert not getattr(bpy.app, "module", False), "a bpy package without Rigify"
        pytest.skip("this Blender comes without Rigify")
    bpy.ops.object.armature_basic_human_metarig_add()
    metarig = bpy.context.object
    bpy.ops.pose.rigify_generate()
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj != metarig)
    bpy.data.objects.remove(metarig)
    return rig


def _moved_like(rig, tmp_path):
    """A mesh of tubes around the bones that deform, with a cache of a motion in which joints hold."""
    own, rng = bones.read(rig), np.random.default_rng(3)
    points, faces, owner = [], [], []
    for b, (head, tail) in enumerate(zip(own.heads, own.tails, strict=True)):
        way = tail - head
        across = np.linalg.svd(way[None])[2][1:] * 0.25 * np.linalg.norm(way)
        for share in (0.1, 0.5, 0.9):
            corners = [across[0], across[1], -across[0], -across[1]]
            points += [head + share * way + corner for corner in corners]
        first = 12 * b
        for ring in (first, first + 4):
            faces += [(ring + k, ring + (k + 1) % 4, ring + 4 + (k + 1) % 4, ring + 4 + k) for k in range(4)]
        owner += [b] * 12
    mesh = bpy.data.meshes.new("Body")
    mesh.from_pydata(points, [], faces)
    body = scenes.link(bpy.data.objects.new("Body", mesh))
    frames, rest = np.empty((FRAMES, len(points), 3)), np.array(points)
    order = sorted(range(len(own.names)), key=lambda b: len(rig.data.bones[own.names[b]].parent_recursive))
    for f in range(FRAMES):
        moved = {}
        for b in order:
            above = moved.get(int(own.parents[b]), np.eye(4))
            turn = np.eye(4)
            turn[:3, :3] = mathutils.Euler(rng.uniform(-0.3, 0.3, 3)).to_matrix()
            there, back = np.eye(4), np.eye(4)
            there[:3, 3], back[:3, 3] = own.heads[b], -own.heads[b]
            moved[b] = above @ there @ turn @ back
        ways = np.array([moved[b] for b in owner])
        frames[f] = np.einsum("vij,vj->vi", ways[:, :3, :3], rest) + ways[:, :3, 3]
    bpy.context.scene.frame_end = FRAMES
    return scenes.cached(body, tmp_path / "body.pc2", frames), frames


@pytest.mark.usefixtures("rigify")
def test_a_rig_of_rigify_plays_a_cached_body(tmp_path):
    rig = _rigify_human()
    own = bones.read(rig)
    above = dict(zip(own.names, [own.names[p] if p >= 0 else None for p in own.parents], strict=True))
    assert above["DEF-thigh.L"] == "DEF-spine"
    assert above["DEF-upper_arm.R"] == "DEF-shoulder.R"
    assert above["DEF-shoulder.L"] == "DEF-spine.003"
    assert sum(parent is None for parent in above.values()) == 1
    body, frames = _moved_like(rig, tmp_path)
    bones_before, shapes = rig.data.bones.keys(), [bone.custom_shape for bone in rig.pose.bones]
    result = rigged(body, rig)
    assert result.keyed
    assert set(result.meshes[0].vertex_groups.keys()) <= {name for name in bones_before if "DEF-" in name}
    assert rig.data.bones.keys() == bones_before
    assert [bone.custom_shape for bone in rig.pose.bones] == shapes
    assert error_of(result, frames) < 0.2
    assert not plain.switch(rig)
    still = scenes.seen_frames(result.meshes[0], (1, FRAMES))
    assert np.abs(still[0] - still[1]).max() < 1e-4 * scenes.size_of(frames[0])
    assert plain.switch(rig)
    assert error_of(result, frames) < 0.2


def test_a_bone_that_moves_no_vertex_still_carries_what_hangs_from_it():
    tube, times = scenes.tube(rings=13), range(1, 25)
    armature = scenes.link(bpy.data.objects.new("Chain", bpy.data.armatures.new("Chain")))
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for number in range(3):
        bone = armature.data.edit_bones.new(f"B{number}")
        bone.head, bone.tail = (0, 0, 4 / 3 * number), (0, 0, 4 / 3 * (number + 1))
        if number:
            bone.parent, bone.use_connect = armature.data.edit_bones[f"B{number - 1}"], True
    bpy.ops.object.mode_set(mode="OBJECT")
    points = scenes.positions(tube.data).astype(float)
    for name, rows in (("B0", points[:, 2] < 2), ("B2", points[:, 2] >= 2)):
        tube.vertex_groups.new(name=name).add(np.flatnonzero(rows).tolist(), 1.0, "REPLACE")
    tube.parent = armature
    tube.modifiers.new("Armature", "ARMATURE").object = armature
    transforms = np.tile(np.eye(4), (len(times), 3, 1, 1))
    for f in range(len(times)):
        for number, swing in ((1, 0.9 * np.sin(1.1 * f)), (2, 0.2 * np.sin(0.3 * f))):
            head = mathutils.Vector((0, 0, 4 / 3 * number))
            turn = mathutils.Matrix.Rotation(swing, 4, "X")
            turn = mathutils.Matrix.Translation(head) @ turn @ mathutils.Matrix.Translation(-head)
            transforms[f, number] = transforms[f, number - 1] @ np.array(turn)
    action = bpy.data.actions.new("Chain")
    rewrite.write_keys(armature, action, transforms, np.array(times), ["B0", "B1", "B2"], Options())
    far = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    owner = np.where(points[:, 2] < 2, 0, 2)
    goal = np.einsum("fvij,vj->fvi", transforms[:, owner], far)[..., :3]
    off = np.linalg.norm(scenes.seen_frames(tube, times) - goal, axis=2)
    assert np.quantile(off, 0.99) < 2e-3 * scenes.size_of(points)
