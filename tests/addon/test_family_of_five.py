"""A family from first to last: five bodies converted, a sixth fitted, sliders moved while the rig plays; all
undone, saved, opened without the extension, exported body by body and read again."""

import types

import bpy
import exchange
import numpy as np
import ossify
import scenes
from limbs_of_a_family import FRAMES, joints_of, like, moving, stretched, weights
from ossify.base.steps import run
from ossify.convert.convert import convert
from ossify.family import slider_rig
from ossify.options.options import Options
from ossify.rig import actions, build, standing

FAMILY = {
    "Ann": (1.3, 1.3, 1.3),
    "Bob": (1.0, 2.0, 1.2),
    "Cat": (1.8, 0.9, 0.8),
    "Dan": (1.5, 1.4, 1.6),
    "Eve": (0.9, 1.2, 1.0),
}
FAY = (1.2, 1.6, 0.9)
TIMES = list(range(1, FRAMES + 1))


def converted(folder):
    """The names of the rigs' meshes, and what the sources do"""
    sources = [moving(folder, name, lengths, seed) for seed, (name, lengths) in enumerate(FAMILY.items())]
    seen = [scenes.seen_frames(obj, TIMES) for obj in sources]
    wish = Options(clips="SUBJECTS", bones=3, rest_correction="FIXED", skeleton="HIERARCHY")
    first = run(convert(bpy.context.scene, bpy.context.view_layer, sources, wish))
    return [rig.meshes[0].name for rig in (first, *first.others)], seen


def objects(names):
    """As they are called, for undo makes others of them."""
    return [bpy.data.objects[name] for name in names]


def off(shown, wanted):
    """Root mean square of one body's frames, of its size"""
    return np.sqrt(((shown - wanted) ** 2).sum(axis=-1).mean()) / scenes.size_of(wanted[0])


def fitted(names):
    """A sixth body on the skeleton of the first, learnt from all five."""
    plan = scenes.tube("Fay plan", rings=25, around=8)
    fay = like(plan, "Fay", lambda points: stretched(points, FAY))
    bpy.data.objects.remove(plan)
    first, *others = objects(names)
    scenes.select(first, *others, fay)
    assert bpy.ops.ossify.fit_rig("EXEC_DEFAULT") == {"FINISHED"}
    return fay.name


def check_joints(fay):
    bones = [bone for bone in fay.parent.data.bones if bone.use_deform]
    ends = [point[2] for bone in bones for point in (bone.head_local, bone.tail_local)]
    for joint in joints_of(FAY):
        assert min(abs(end - joint) for end in ends) < 0.03 * sum(FAY)


def slide(armature, values):
    for name, value in zip(slider_rig.record_of(armature)["names"], values, strict=True):
        armature[name] = float(value)
    armature.update_tag()
    bpy.context.view_layer.update()


def in_the_middle(frames):
    """Each about its own middle: where bodies stand in the room is no matter of their shape."""
    return frames - frames.mean(axis=1, keepdims=True)


def check_sliders(mesh, names):
    """While it plays, the sliders at a body show what the rig of that body does with the same keys."""
    armature, (first, *others) = mesh.parent, objects(names)
    seen, action = slider_rig.record_of(armature)["seen"], first.parent.animation_data.action
    for values, other in zip(seen[1:], others, strict=True):
        slide(armature, values)
        own = other.parent.animation_data.action
        actions.assign(other.parent, action)
        wanted, shown = (in_the_middle(scenes.seen_frames(obj, TIMES)) for obj in (other, mesh))
        actions.assign(other.parent, own)
        assert off(shown, wanted) < 1e-4, other.name
        assert off(shown, in_the_middle(scenes.seen_frames(first, TIMES))) > 0.02


def reopened(path):
    """Saved, and open again, at first without Ossify: what the meshes of rigs then show"""
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    ossify.unregister()
    try:
        bpy.ops.wm.open_mainfile(filepath=str(path), use_scripts=False)
        return played()
    finally:
        ossify.register()


def played():
    rigged = [obj for obj in bpy.data.objects if obj.type == "MESH" and obj.find_armature()]
    return {obj.name: scenes.seen_frames(obj, TIMES) for obj in rigged}


def check_export(name, path, shown):
    mesh = bpy.data.objects[name]
    rig = types.SimpleNamespace(armature=mesh.parent, meshes=standing.meshes_of(mesh.parent))
    exchange.compare(shown, exchange.exported_and_imported(rig, path), exchange.times_of_action(TIMES), 1e-3)


def test_a_family_from_first_to_last(tmp_path):
    names, sources = converted(tmp_path)
    for mesh, source in zip(objects(names), sources, strict=True):
        assert off(scenes.seen_frames(mesh, TIMES), source) < 0.01
        assert weights(mesh) == weights(bpy.data.objects[names[0]])
    fay = fitted(names)
    check_joints(bpy.data.objects[fay])

    scenes.select(*objects(names))
    bpy.ops.ed.undo_push(message="fitted")
    before = set(bpy.data.objects.keys())
    assert bpy.ops.ossify.body_sliders("EXEC_DEFAULT") == {"FINISHED"}
    bpy.ops.ed.undo_push(message="sliders")
    made = set(bpy.data.objects.keys()) - before
    bpy.ops.ed.undo()
    assert set(bpy.data.objects.keys()) == before
    bpy.ops.ed.redo()
    (mesh,) = (obj for obj in objects(made) if obj.type == "MESH")
    first = bpy.data.objects[names[0]]
    for obj in (first, first.parent):  # the sliders have hidden them
        build.hide(obj, bpy.context.view_layer, False)
    check_sliders(mesh, names)

    shown = played()
    assert set(shown) == {*names, fay, mesh.name}
    again = reopened(tmp_path / "family.blend")
    for name, frames in shown.items():
        assert off(again[name], frames) < 1e-6
    for name in (*names, fay):
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "family.blend"))
        check_export(name, tmp_path / f"{name}.glb", shown[name])
