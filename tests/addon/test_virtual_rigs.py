"""Virtual bones on rigs that Ossify made: conversions, what can be done to them, and what is refused."""

import json

import bpy
import builds
import commands
import exchange
import numpy as np
import pytest
import scenes
from chain import converted, curves
from ossify.base.refusal import Refusal
from ossify.base.steps import run
from ossify.convert import layering
from ossify.edit import bone_merge, painting
from ossify.files import bake, inputs, outputs
from ossify.options import options
from ossify.put_back import put_back
from ossify.record import changes
from ossify.refit import refit
from ossify.rig import roles, standing, virtual_bones
from ossify.two_layer import compress
from tracks import FRAMES, distances, sheet, tracked

TIMES = range(1, 9)


def layered(**chosen):
    obj = scenes.key_shapes(scenes.grid())
    return obj, converted(obj, **{"hide_source": False, "virtual_bones": 30, **chosen})


def test_a_conversion_with_virtual_bones_is_closer_on_the_same_bones():
    source, result = layered()
    plain = converted(source, hide_source=False)
    assert result.report.bones == plain.report.bones == 5
    assert result.report.rms < plain.report.rms
    wanted, shown = scenes.seen_frames(source, TIMES), scenes.seen_frames(result.meshes[0], TIMES)
    error = np.sqrt(((shown - wanted) ** 2).sum(axis=2).mean())
    assert error == pytest.approx(result.report.rms, rel=1e-3)
    assert result.report.keys_moved < 2e-6 * result.report.size
    assert 0 < len(virtual_bones.names_of(result.armature)) <= 30
    assert "without them" in result.report.notes[-1]
    assert result.armature.ossify.rms == pytest.approx(result.report.percent(result.report.rms))
    assert result.armature.ossify.settings.virtual_bones == 30


@pytest.mark.parametrize(
    "chosen", [{"skeleton": "HIERARCHY"}, {"skeleton": "ARTICULATED"}, {"bone_kind": "FLEXIBLE"}]
)
def test_with_any_skeleton(chosen):
    source, result = layered(**chosen)
    wanted, shown = scenes.seen_frames(source, TIMES), scenes.seen_frames(result.meshes[0], TIMES)
    error = np.sqrt(((shown - wanted) ** 2).sum(axis=2).mean())
    assert error == pytest.approx(result.report.rms, rel=1e-3)
    roles_now = roles.of(result.armature)
    assert {roles_now[name] for name in virtual_bones.masters_of(result.armature)} == {roles.DEFORM}
    assert roles.root_of(result.armature) == "Root"


def test_bones_without_joints_are_solved_along(monkeypatch):
    body = scenes.creature(frames=8)[0]
    chosen = {"bones": 6, "virtual_bones": 30, "hide_source": False}
    loose, tied = (converted(body, **chosen, skeleton=kind) for kind in ("HIERARCHY", "ARTICULATED"))
    monkeypatch.setattr(layering, "_LOOSE", ())
    first, same = (converted(body, **chosen, skeleton=kind) for kind in ("HIERARCHY", "ARTICULATED"))
    assert loose.report.rms < 0.97 * first.report.rms
    assert tied.report.rms == same.report.rms


def test_a_rig_just_made_has_not_changed_nor_when_they_are_removed():
    _, result = layered()
    armature, shown = result.armature, scenes.seen_frames(result.meshes[0], TIMES)
    assert changes.find(armature) == changes.Changes()
    compress.remove(armature)
    assert changes.find(armature) == changes.Changes()
    assert np.abs(scenes.seen_frames(result.meshes[0], TIMES) - shown).max() < 3e-6 * result.report.size
    context = bpy.context
    again = run(refit.refit(context.scene, context.view_layer, armature, options.RefitOptions()))
    assert again is not None


def test_a_refit_tells_of_groups_that_move_nothing():
    _, result = layered()
    armature, (mesh,), context = result.armature, result.meshes, bpy.context
    shown, name = scenes.seen_frames(mesh, TIMES), virtual_bones.masters_of(result.armature)[0]
    mesh.vertex_groups.new(name=name).add([0, 1, 2], 1.0, "REPLACE")
    assert np.array_equal(scenes.seen_frames(mesh, TIMES), shown)
    again = run(refit.refit(context.scene, context.view_layer, armature, options.RefitOptions()))
    assert any(f"groups of {name} moved nothing" in note for note in again.notes)
    assert name not in mesh.vertex_groups


def test_weights_and_bones_are_not_edited_through_them():
    _, result = layered()
    armature, context = result.armature, bpy.context
    picture, masters = scenes.picture(), virtual_bones.masters_of(result.armature)
    attempts = [
        painting.prune(context, armature, 2),
        bone_merge.merge(context, armature, *masters[:2]),
    ]
    for steps in attempts:
        with pytest.raises(Refusal, match="Remove Virtual Bones gives its bones"):
            run(steps)
    with pytest.raises(Refusal, match="Remove Virtual Bones gives its bones"):
        put_back.put_back(context, armature, "MOVED")
    assert scenes.difference(picture, scenes.picture()) == ""


def test_new_motion_is_tracked_onto_the_masters():
    first, second = sheet("First", 0.0), sheet("Second", 0.8)
    result = converted(first, bones=6, virtual_bones=30)
    got = tracked(result, second)
    distance = distances(result, second, range(1, FRAMES + 1))
    assert got.rms == pytest.approx(np.sqrt((distance**2).mean()), rel=1e-3)
    assert 100 * got.rms / result.report.size < 2
    keyed = {path.split('"')[1] for path in (c.data_path for c in curves(got.action))}
    assert not keyed & set(virtual_bones.names_of(result.armature))


def test_it_is_baked_as_it_is_seen(tmp_path):
    _, result = layered()
    context = bpy.context
    wanted = scenes.seen_frames(result.meshes[0], TIMES)
    chosen = options.BakeOptions(to="PC2", filepath=str(tmp_path / "sheet.pc2"))
    baked = run(bake.bake(context.scene, context.view_layer, [result.armature], chosen))
    assert np.abs(scenes.seen_frames(baked.meshes[0], TIMES) - wanted).max() < 2e-6 * result.report.size


def test_the_command_makes_a_hundred_when_asked_for(tmp_path):
    source = commands.save_moving(tmp_path / "sheet.blend")
    out, report = tmp_path / "rig.blend", tmp_path / "rig.json"
    assert (
        commands.run(
            "convert", source, "--output", out, "--report", report, *commands.FAST, "--virtual-bones"
        )
        == 0
    )
    assert "virtual bones blend the" in json.dumps(json.loads(report.read_text()))
    bpy.ops.wm.open_mainfile(filepath=str(out))
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    assert armature.ossify.settings.virtual_bones == 100
    assert 0 < len(virtual_bones.names_of(armature)) <= 100


@pytest.mark.parametrize("suffix", [".glb", ".fbx", ".usdc"])
def test_other_programs_play_it_without_constraints(tmp_path, suffix):
    if suffix == ".usdc":
        builds.needs("usd")
    times = list(TIMES)
    source, result = layered(bones=6)
    picture = scenes.picture()
    shown = scenes.seen_frames(result.meshes[0], times)
    wanted = scenes.seen_frames(source, times)
    path = tmp_path / f"rig{suffix}"
    (told,) = outputs.write(path, result.armature, result.meshes, 4)
    assert "without shear" in told
    assert scenes.difference(picture, scenes.picture()) == ""
    print(told)
    with inputs.Opened(path, [], None) as opened:
        (mesh,) = [obj for obj in opened.objects() if obj.type == "MESH"]
        again = scenes.seen_frames(mesh, times if suffix == ".usdc" else exchange.times_of_action(times))
        armature = mesh.find_armature()
        assert any(bone.name.startswith("Virtual") for bone in armature.data.bones)
        assert not any(bone.constraints for bone in armature.pose.bones)
    match = exchange.nearest(again[0], shown[0])
    live, kept = (np.sqrt(((a - wanted[:, match]) ** 2).sum(axis=2).mean()) for a in (shown[:, match], again))
    print(live, kept)
    assert kept < 1.05 * live
    size = scenes.size_of(shown)
    off = np.sqrt(((again - shown[:, match]) ** 2).sum(axis=2).mean()) / size
    assert 100 * off < 0.05


def test_a_vertex_follows_no_bone_that_it_did_not_follow_before():
    """Hardly any, and none by much: what is far away must not move when a bone is posed."""
    body = scenes.creature(frames=8)[0]
    chosen = {
        "bones": 7,
        "skeleton": "NONE",
        "rest_correction": "KEPT",
        "fairness": 0.0,
        "hide_source": False,
    }
    plain, layers = converted(body, **chosen), converted(body, **chosen, virtual_bones=60)
    names = virtual_bones.masters_of(layers.armature)
    before = standing.painted(plain.meshes[0], names)
    after = standing.painted(layers.meshes[0], names)
    strays = np.where(before > 0, 0, after).max(axis=1)
    assert layers.report.rms < plain.report.rms
    assert (strays > 0.05).mean() < 0.01
