"""Refits and edits of rigs with correctives or virtual bones over their bones: these are laid on again."""

import bpy
import numpy as np
import pytest
import scenes
from arms import TIMES, angles, arm, bent, corrected, error, lower
from chain import converted
from mathutils import Vector
from ossify.base.steps import run
from ossify.edit import correction, painting
from ossify.options import options
from ossify.put_back import put_back
from ossify.record import changes
from ossify.rig import correctives, standing, virtual_bones
from ossify.track import track
from refits import bits, cancelled, delete_bone, edit, refitted


def shapes_of(mesh):
    """Positions of all shape keys"""
    blocks = mesh.data.shape_keys.key_blocks if mesh.data.shape_keys else {}
    return {name: [tuple(point.co) for point in blocks[name].points] for name in dict(blocks.items())}


def displacement(mesh, name):
    blocks = mesh.data.shape_keys.key_blocks
    points = [np.array([tuple(p.co) for p in blocks[key].points]) for key in (name, "Basis")]
    return points[0] - points[1]


def bend_weights(armature, mesh):
    """Weights that an artist has smeared, and does not keep."""
    names = standing.bone_names(armature)
    for vertex in mesh.data.vertices:
        for name in names:
            mesh.vertex_groups[name].add([vertex.index], 0.5, "REPLACE")
    mesh.data.update()
    armature.ossify.keep_repainted = False


def sculpt(mesh, name, by=0.08):
    """A bump on one side, where a field may or may not be"""
    points = mesh.data.shape_keys.key_blocks[name].points
    for point in points:
        if point.co.x > 0.1 and abs(point.co.z - 1.3) < 0.4:
            point.co.x += by
    mesh.data.update()


# ---- correctives


@pytest.mark.solver
@pytest.mark.parametrize("kind", ["KEYED", "DRIVEN"])
def test_a_refit_solves_correctives_again(kind):
    source, armature, mesh = arm()
    corrected(armature, kind)
    good = error(source, mesh)
    bend_weights(armature, mesh)
    spoilt = error(source, mesh)
    result = refitted(armature)
    assert result.written
    after = error(source, mesh)
    assert spoilt > 2 * good
    assert after < 1.3 * good
    assert armature.ossify.rms == pytest.approx(after, rel=0.02)
    assert result.before.percent(result.before.rms) == pytest.approx(spoilt, rel=0.02)
    assert correctives.are_driven(armature) == (kind == "DRIVEN")
    assert list(mesh.data.shape_keys.key_blocks.keys()) == ["Basis", *correctives.names_of(armature)]
    assert any("corrective" in note for note in result.notes)
    assert changes.find(armature) == changes.Changes()


def test_a_refit_that_is_cancelled_leaves_them():
    _, armature, mesh = arm()
    corrected(armature, "KEYED")
    bend_weights(armature, mesh)
    before, picture = (bits(armature, [mesh]), shapes_of(mesh)), scenes.picture()
    stages = set()
    for stage in cancelled(armature):
        stages.add(stage)
        assert (bits(armature, [mesh]), shapes_of(mesh)) == before
        assert scenes.difference(picture, scenes.picture()) == ""
    assert {"Reading", "Solving", "Building"} <= stages


@pytest.mark.solver
@pytest.mark.parametrize("kind", ["KEYED", "DRIVEN"])
@pytest.mark.parametrize("how", ["sculpted", "locked"])
@pytest.mark.parametrize("again", ["refit", "add"])
def test_what_an_artist_holds_stays_and_the_others_are_solved_around_it(kind, how, again):
    source, armature, mesh = arm()
    names = corrected(armature, kind, 3 if kind == "KEYED" else 2).names
    first = names[0]
    sculpt(mesh, first)
    if how == "locked":
        mesh.data.shape_keys.key_blocks[first].lock_shape = True
        armature.ossify.keep_reshaped = False
    assert changes.find(armature).reshaped == [first]
    held, spoilt = displacement(mesh, first), error(source, mesh)
    if again == "refit":
        assert refitted(armature).written
    else:
        corrected(armature, kind, 3 if kind == "KEYED" else 2)
    assert correctives.names_of(armature)[0] == first
    assert len(correctives.names_of(armature)) > 1
    assert np.abs(displacement(mesh, first) - held).max() < 1e-6
    assert error(source, mesh) < 0.9 * spoilt
    assert armature.ossify.rms == pytest.approx(error(source, mesh), rel=0.02)
    assert changes.find(armature).reshaped == [first]  # and stays so: the next refit keeps it, too


def test_what_is_not_kept_is_solved_again():
    source, armature, mesh = arm()
    names = corrected(armature).names
    good = error(source, mesh)
    sculpt(mesh, names[0])
    armature.ossify.keep_reshaped = False
    assert ("RESHAPED", f"{names[0]} sculpted") in changes.note(armature)
    assert refitted(armature).written
    assert error(source, mesh) < 1.05 * good
    assert not changes.find(armature).reshaped


@pytest.mark.parametrize("kind", ["KEYED", "DRIVEN"])
def test_painting_and_putting_back_know_them(kind):
    source, armature, mesh = arm()
    corrected(armature, kind)
    good = error(source, mesh)
    name = lower(armature).name
    edit(armature, lambda bones: setattr(bones[name], "tail", bones[name].tail + Vector((1, 0, 0))))
    put_back.put_back(bpy.context, armature, "MOVED")
    assert error(source, mesh) == pytest.approx(good, rel=1e-3)
    run(painting.prune(bpy.context, armature, 1))
    assert correctives.names_of(armature)
    assert armature.ossify.rms == pytest.approx(error(source, mesh), rel=0.02)
    plain = armature.ossify.rms
    run(correction.remove(bpy.context, armature))
    assert armature.ossify.rms > 1.2 * plain


def test_clips_that_were_tracked_keep_what_they_show():
    _, armature, mesh = arm()
    corrected(armature)
    other = scenes.tube("Other", rings=41, around=12)
    points = scenes.positions(other.data)
    blocks = scenes.add_shape_keys(other, [bent(points, 1.1 - 0.9 * angle) for angle in angles()])
    for f, block in enumerate(blocks[1:]):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            block.value = value
            block.keyframe_insert("value", frame=time)
    scene, layer = bpy.context.scene, bpy.context.view_layer
    run(track.track(scene, layer, armature, [other], options.TrackOptions()))
    action, before = armature.animation_data.action, scenes.seen_frames(mesh, TIMES)
    armature.animation_data.action = armature.ossify.clips[0].action
    corrected(armature)
    armature.animation_data.action = action
    shown = scenes.seen_frames(mesh, TIMES)
    run(correction.remove(bpy.context, armature))
    bare = scenes.seen_frames(mesh, TIMES)
    assert np.abs(shown - before).max() < 0.2 * np.abs(bare - before).max()


def test_as_few_as_a_budget_needs():
    source, armature, mesh = arm()
    plain = error(source, mesh)
    done = run(correction.add(bpy.context, armature, "KEYED", 1, 0.5 * plain))
    assert error(source, mesh) <= 0.52 * plain
    fewer = len(done.names) - 1
    if fewer:
        corrected(armature, "KEYED", fewer)
        assert error(source, mesh) > 0.49 * plain
    run(correction.add(bpy.context, armature, "KEYED", 1, 1e-6))  # cannot be met: what there is
    assert error(source, mesh) < 0.5 * plain


# ---- virtual bones


def layered(**chosen):
    obj = scenes.key_shapes(scenes.grid())
    return obj, converted(obj, **{"hide_source": False, "virtual_bones": 30, **chosen})


def apart(source, mesh):
    times = range(1, 9)
    gap = scenes.seen_frames(mesh, times) - scenes.seen_frames(source, times)
    return float(np.sqrt((gap**2).sum(axis=2).mean()))


def test_a_refit_goes_through_virtual_bones():
    source, result = layered()
    armature, mesh = result.armature, result.meshes[0]
    masters, count = virtual_bones.masters_of(armature), len(virtual_bones.names_of(armature))
    good = apart(source, mesh)
    for name in virtual_bones.names_of(armature)[:10]:
        delete_bone(armature, name)
        mesh.vertex_groups.remove(mesh.vertex_groups[name])
    armature.ossify.keep_repainted = False
    spoilt = apart(source, mesh)
    done = refitted(armature)
    assert done.written
    assert spoilt > 1.5 * good
    assert apart(source, mesh) < 1.2 * good
    assert armature.ossify.rms == pytest.approx(done.after.percent(apart(source, mesh)), rel=0.02)
    assert virtual_bones.masters_of(armature) == masters
    assert 0 < len(virtual_bones.names_of(armature)) <= count
    assert {group.name for group in mesh.vertex_groups} <= set(virtual_bones.names_of(armature))
    assert any("virtual bones" in note for note in done.notes)
    assert changes.find(armature) == changes.Changes()


def test_a_master_that_is_deleted_is_made_up_for():
    source, result = layered(bones=6)
    armature, mesh = result.armature, result.meshes[0]
    delete_bone(armature, virtual_bones.masters_of(armature)[2])
    spoilt = apart(source, mesh)
    assert refitted(armature, move_idle="NEVER").written
    assert len(virtual_bones.masters_of(armature)) == 5
    assert apart(source, mesh) < spoilt


def test_a_refit_through_virtual_bones_that_is_cancelled_leaves_them():
    _, result = layered()
    armature = result.armature
    delete_bone(armature, virtual_bones.names_of(armature)[0])
    picture = scenes.picture()
    stages = set()
    for stage in cancelled(armature):
        stages.add(stage)
        assert scenes.difference(picture, scenes.picture()) == ""
    assert {"Reading", "Solving", "Building"} <= stages
