"""Characters: the bones that an animator would rig, whose joints hold, and hidden helpers below them."""

import bpy
import builds
import chain
import numpy as np
import pytest
import scenes
from creature_rigs import strongest
from exchange import compare, exported_and_imported, times_of_action
from kept import kept
from ossify.base.steps import run
from ossify.convert import convert
from ossify.edit import rejoin
from ossify.options import options
from ossify.rig import roles, standing
from ossify.track import track
from refits import delete_bone, error, refitted, source_frames

FRAMES = 12


def soft_creature(phase=0.0):
    """The creature with flesh that quivers, which no joint explains."""
    body, bones = scenes.creature(frames=FRAMES)
    flesh = body.modifiers.new("Flesh", "WAVE")
    flesh.use_normal, flesh.time_offset = True, phase
    flesh.height, flesh.width, flesh.speed, flesh.narrowness = 0.05, 0.5, 0.1, 3
    return body, bones


@kept
def character(**chosen):
    """By defaults, but for the quality."""
    body, bones = soft_creature()
    picked = {"bones_by": "PARTS", "skeleton": "AUTO", "keys": "REDUCED", "hide_source": False, **chosen}
    return chain.converted(body, **picked), body, bones


def split(armature):
    """Names of the bones that an animator sees, and of the helpers."""
    names = standing.bone_names(armature)
    helps = [roles.is_helper(armature.data.bones[name]) for name in names]
    return [n for n, h in zip(names, helps, strict=True) if not h], [
        n for n, h in zip(names, helps, strict=True) if h
    ]


def positions_of(armature, names, times):
    """[f][b][4][4] as Blender poses them"""
    found = []
    for time in times:
        bpy.context.scene.frame_set(int(time))
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        found.append([np.array(posed.pose.bones[name].matrix) for name in names])
    return np.array(found)


def largest_drift(armature):
    """By how much a bone's head leaves the place its parent has for it, of bones that an animator sees; in
    units of the scene, from what Blender shows"""
    core, _ = split(armature)
    bones = armature.data.bones
    poses = positions_of(armature, core, range(1, FRAMES + 1))
    largest = 0.0
    for b, name in enumerate(core):
        parent = bones[name].parent
        if parent.name in core:
            above = poses[:, core.index(parent.name)] @ np.linalg.inv(np.array(parent.matrix_local))
            meant = above @ np.append(np.array(bones[name].head_local), 1)
            largest = max(largest, np.abs(poses[:, b, :3, 3] - meant[:, :3]).max())
    return largest


def check_hidden(armature):
    core, helpers = split(armature)
    data = armature.data
    assert core
    assert helpers
    for name in helpers:
        bone = data.bones[name]
        assert bone.use_deform
        assert bone.parent.name in core
        assert name.startswith(bone.parent.name)
        assert [collection.name for collection in bone.collections] == ["Helpers"]
    assert not data.collections["Helpers"].is_visible_effectively
    for name in core:
        assert any(collection.is_visible_effectively for collection in data.bones[name].collections)


def test_a_body_gets_bones_that_hold_and_hidden_helpers():
    result, body, bones = character()
    armature = result.armature
    assert armature.ossify.settings.skeleton == "ANIMATOR"
    check_hidden(armature)
    core, helpers = split(armature)
    assert len(core) == len(bones)  # a bone for each that moved it
    leaders = {name: name for name in core} | {n: armature.data.bones[n].parent.name for n in helpers}
    led = [leaders[name] for name in strongest(result.meshes[0])]
    pairs = list(zip(strongest(body), led, strict=True))
    same = sum(max(pairs.count((true, found)) for found in core) for true in bones)
    assert same > 0.85 * len(pairs)
    assert largest_drift(armature) < 1e-4 * armature.ossify.size
    located = {path.split('"')[1] for path in located_paths(armature)}
    assert not located - {*helpers, "Root", armature.data.bones["Root"].children[0].name}


def located_paths(armature):
    curves = chain.curves(armature.animation_data.action)
    return [curve.data_path for curve in curves if curve.data_path.endswith("location")]


@pytest.mark.solver
def test_helpers_pay_and_the_report_tells_of_them():
    result, _, _ = character()
    bare, _, _ = character(helpers="OFF")
    assert not split(bare.armature)[1]
    assert result.report.rms < 0.7 * bare.report.rms
    core, helpers = split(character()[0].armature)
    lines = result.report.lines()
    assert lines[0].startswith(f"{len(core)} bones and {len(helpers)} hidden helpers")
    assert any(line.startswith("bones leave the body by") for line in lines)
    told = result.report.to_json()["skeleton"]
    assert told["helpers"] == len(helpers)
    assert told["idle"] == 0
    assert told["drift_percent"] < 1e-3


def test_as_many_helpers_as_are_allowed():
    """A number alone says that it is meant."""
    result, _, _ = character(**options.implied({"helper_count": 2}))
    assert 1 <= len(split(result.armature)[1]) <= 2


def test_the_rest_pose_is_untouched():
    result, body, _ = character()
    assert (scenes.positions(result.meshes[0].data) == scenes.positions(body.data)).all()


@pytest.mark.solver
def test_as_many_bones_as_are_asked_for():
    result, _, _ = character(bones_by="COUNT", bones=6)
    assert len(split(result.armature)[0]) == 6


def test_a_budget_and_animators_bones_do_not_go_together():
    asked = options.Options(skeleton="ANIMATOR", bones_by="BUDGET")
    assert "budget" not in (options.contradiction(options.Options()) or "")
    assert "counted or found" in options.contradiction(asked)


@pytest.mark.solver
def test_a_limb_on_another_limb_is_told_of(monkeypatch):
    """By name, and once for a whole limb."""
    seen = convert.native.inspect

    def of_another(call, seconds, read=seen._read):
        found = read(call, seconds)
        found.foreign[[2, 3]] = 5
        return found

    monkeypatch.setattr(seen, "_read", of_another)
    body, _ = soft_creature()
    result = chain.converted(body, bones_by="PARTS", skeleton="ANIMATOR", helpers="OFF")
    notes = [note for note in result.report.notes if "another limb" in note]
    names = standing.bone_names(result.armature)
    assert notes
    assert len(notes) <= 2
    assert all(" hangs from " in note and note.split(" hangs from ")[0] in names for note in notes)


@pytest.mark.solver
def test_limbs_are_told_by_all_that_a_bone_and_its_helpers_move(monkeypatch):
    looked, seen = [], convert.native.inspect

    def counted(call, seconds, read=seen._read):
        looked.append(call.rig.bones)
        return read(call, seconds)

    monkeypatch.setattr(seen, "_read", counted)
    core, helpers = split(chain.converted(soft_creature()[0], skeleton="ANIMATOR").armature)
    assert helpers
    assert looked[-2:] == [len(core) + len(helpers), len(core)]


# ---- what comes after


def test_a_refit_keeps_joints_and_helpers():
    result, _, _ = character()
    armature, (mesh,) = result.armature, result.meshes
    goal = source_frames(armature)
    before, hung = error(armature, mesh, goal), split(armature)
    done = refitted(armature)
    assert done.written
    assert error(armature, mesh, goal) <= before * 1.001
    assert split(armature) == hung
    check_hidden(armature)
    assert largest_drift(armature) < 1e-4 * armature.ossify.size


@pytest.mark.solver
def test_a_refit_after_a_deletion_keeps_the_others_in_their_places():
    result, _, _ = character()
    armature = result.armature
    core, helpers = split(armature)
    gone = next(name for name in core if not armature.data.bones[name].children)
    heads = {n: np.array(armature.data.bones[n].head_local) for n in core if n != gone}
    delete_bone(armature, gone)
    assert refitted(armature).written
    for name, head in heads.items():
        assert np.abs(np.array(armature.data.bones[name].head_local) - head).max() < 0.5
    assert split(armature)[1] == helpers
    assert largest_drift(armature) < 1e-4 * armature.ossify.size


def test_another_take_is_tracked_with_joints_that_hold():
    result, body, _ = character()
    body.modifiers["Flesh"].time_offset = 4
    context = bpy.context
    steps = track.track(
        context.scene, context.view_layer, result.armature, [body], options.TrackOptions(name="Other")
    )
    run(steps)
    assert result.armature.ossify.clips[-1].rms < 3 * result.armature.ossify.clips[0].rms
    assert largest_drift(result.armature) < 1e-4 * result.armature.ossify.size


def test_a_skeleton_is_made_anew_around_the_helpers():
    result, _, _ = character()
    armature, (mesh,) = result.armature, result.meshes
    shown = scenes.seen_frames(mesh, range(1, FRAMES + 1))
    counts = [len(names) for names in split(armature)]
    rejoin.rejoin(bpy.context, armature)
    assert [len(names) for names in split(armature)] == counts
    check_hidden(armature)
    after = scenes.seen_frames(mesh, range(1, FRAMES + 1))
    assert np.abs(after - shown).max() < 5e-3 * armature.ossify.size


@pytest.mark.parametrize("kind", [".glb", ".fbx", ".usdc"])
def test_other_programs_see_the_same_motion(tmp_path, kind):
    if kind == ".usdc":
        builds.needs("usd")
    result, body, _ = character()
    bpy.data.objects.remove(body)
    times = list(range(1, FRAMES + 1))
    shown = scenes.seen_frames(result.meshes[0], times)
    meshes = exported_and_imported(result, tmp_path / f"rig{kind}")
    compare(shown, meshes, times_of_action(times), 2e-3)


def test_cancelled_in_any_stage_it_leaves_the_scene_as_it_was():
    body, _ = soft_creature()
    before = scenes.picture()
    for share in (0.3, 0.97):
        steps = steps_of(body)
        for step in steps:
            if step.fraction >= share:
                break
        steps.close()
        assert scenes.difference(before, scenes.picture()) == ""


def steps_of(body):
    asked = chain.quick(bones_by="PARTS", skeleton="AUTO")
    return convert.convert(bpy.context.scene, bpy.context.view_layer, [body], asked)
