"""An artist's afternoon with one rig, by the operators: every step undone and redone, the file saved without
its source and opened again, the rig refitted once more, baked and sent on."""

import bpy
import numpy as np
import scenes
from contents import groups_of
from exchange import bones_of, compare, times_of_action
from ossify.files import inputs, outputs
from ossify.rig import standing
from refits import bits, edit, error, paint_noise, source_frames

FRAMES = 12
COUNT = len(scenes.creature_bones())


class Afternoon:
    """Steps on Blender's undo stack, and all that stands in the file before and after each."""

    def __init__(self):
        bpy.ops.ed.undo_push(message="a mesh that moves")
        self.names, self.states = ["a mesh that moves"], [self.state()]

    @staticmethod
    def state():
        rigs = [obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.ossify.version]
        held = [[bone.name for bone in rig.data.bones if bone.get("ossify_held")] for rig in rigs]
        return scenes.picture(), [bits(rig, standing.meshes_of(rig)) for rig in rigs], held

    def do(self, name, step, *arguments, **chosen):
        step(*arguments, **chosen)
        bpy.context.view_layer.update()
        assert self.state() != self.states[-1], f"{name} changed nothing"
        bpy.ops.ed.undo_push(message=name)
        self.names.append(name)
        self.states.append(self.state())

    def assert_at(self, index, how):
        now, then = self.state(), self.states[index]
        assert scenes.difference(then[0], now[0]) == "", f"{how} {self.names[index]}"
        assert now[1:] == then[1:], f"{how} {self.names[index]}"

    def rewind_and_replay(self):
        for index in reversed(range(len(self.states) - 1)):
            bpy.ops.ed.undo()
            self.assert_at(index, "undone back to")
        for index in range(1, len(self.states)):
            bpy.ops.ed.redo()
            self.assert_at(index, "done again up to")


def rig():
    return next(obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.ossify.version)


def mesh():
    return standing.meshes_of(rig())[0]


def leaf():
    """The last bone that nothing hangs from."""
    ends = [b.name for b in rig().data.bones if b.use_deform and not b.children and b.name != "Sleeve"]
    return ends[-1]


def done(result):
    assert result == {"FINISHED"}


def convert():
    done(bpy.ops.ossify.convert(bones=COUNT, skeleton="HIERARCHY"))


def paint():
    mesh()["painted"] = np.flatnonzero(paint_noise(mesh(), rig(), share=0.02)).tolist()


def painted_weights():
    return [groups_of(mesh())[row] for row in mesh()["painted"]]


def error_elsewhere():
    """Root mean square distance to the source, of the vertices that were not painted."""
    gap = scenes.seen_frames(mesh(), range(1, FRAMES + 1)) - source_frames(rig())
    gap = np.delete(gap, np.array(mesh().get("painted", []), int), axis=1)
    return float(np.sqrt(np.square(gap).sum(axis=-1).mean()))


def move_a_joint():
    def move(bones):
        bone = bones[leaf()]
        bone.use_connect = False
        bone.head += 0.2 * (bone.tail - bone.head)

    edit(rig(), move)


def unloved():
    """A bone at the end of a limb, other than the one that was moved."""
    ends = [b.name for b in rig().data.bones if b.use_deform and not b.children]
    return next(name for name in ends if name not in ("Sleeve", leaf()))


def add_a_bone():
    """In the place of one that will go."""

    def add(bones):
        old, bone = bones[unloved()], bones.new("Sleeve")
        bone.head, bone.tail = old.head, old.tail
        bone.parent = old.parent

    edit(rig(), add)


def delete_a_bone():
    edit(rig(), lambda bones: bones.remove(bones[unloved()]))


def hold_a_bone():
    scenes.pose(rig(), next(bone.name for bone in rig().data.bones if bone.use_deform))
    done(bpy.ops.ossify.hold(what="BONES"))
    bpy.ops.object.mode_set(mode="OBJECT")


def refit():
    scenes.select(rig())
    done(bpy.ops.ossify.refit())


def test_an_afternoon_of_edits_is_refitted_undone_and_done_again(tmp_path):
    body, _ = scenes.creature(frames=FRAMES, fineness=2)
    bpy.context.scene.frame_end = FRAMES
    scenes.select(body)
    afternoon = Afternoon()
    afternoon.do("convert", convert)
    made = error_elsewhere()
    for step in (paint, move_a_joint, add_a_bone, delete_a_bone, hold_a_bone):
        afternoon.do(step.__name__, step)
    edited = error_elsewhere()
    afternoon.do("refit", refit)
    refitted, whole = error_elsewhere(), error(rig(), mesh(), source_frames(rig()))
    assert edited > 2 * made
    assert refitted < 0.5 * edited
    assert "Sleeve" in rig().data.bones
    afternoon.rewind_and_replay()

    for item in rig().ossify.sources:
        bpy.data.objects.remove(item.object)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "afternoon.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "afternoon.blend"))
    painted = painted_weights()
    refit()
    assert error(rig(), mesh(), source_frames(rig())) <= whole * (1 + 1e-4)
    assert painted_weights() == painted
    rig().ossify.keep_repainted = False
    refit()
    assert error(rig(), mesh(), source_frames(rig())) < 0.5 * whole
    assert painted_weights() != painted

    times = list(range(1, FRAMES + 1))
    shown = scenes.seen_frames(mesh(), times)
    done(bpy.ops.ossify.bake(to="SHAPE_KEYS"))
    baked = scenes.seen_frames(bpy.context.view_layer.objects.active, times)
    assert np.abs(baked - shown).max() < 1e-6 * scenes.size_of(shown)

    bones = bones_of(rig())
    outputs.write(tmp_path / "afternoon.glb", rig(), [mesh()], 4)
    with inputs.Opened(tmp_path / "afternoon.glb", [], None) as opened:
        found = opened.objects()
    compare(shown, found, times_of_action(times), 1e-4)
    assert bones_of(found[0].find_armature()) == bones
