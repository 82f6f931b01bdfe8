"""A copy of a rig in a scene of its own, to write to and to measure: the artist's is not touched.

It is made and removed within one step: in between the artist may save or do something that can be undone, and
would find it again in the file.
"""

from __future__ import annotations

import bpy

from ..base.handles import Handle
from ..motion.capture import Clip
from . import aiming, carriers, keys, played
from .build import Built, Maker, discard
from .keying import Keyed


def _answers_to_world(armature) -> bool:
    """Whether its bones go elsewhere when it stands elsewhere: to targets of constraints or drivers."""
    drivers = armature.animation_data.drivers if armature.animation_data else ()
    return len(drivers) > 0 or any(not c.mute for bone in armature.pose.bones for c in bone.constraints)


class Trial:
    """with Trial(...) as trial: ...    without a yield in it."""

    def __init__(self, armature, meshes: list, names: list[str]):
        self._maker, self.armature = Maker(), None
        self._shapes: list[Handle] = []  # of the copied meshes, which leave them behind
        self.original, self.names = Handle.of("objects", armature), names
        self.originals = [Handle.of("objects", obj) for obj in meshes]
        try:
            self._make(armature, meshes)
        except BaseException:
            self.remove()
            raise

    def _make(self, armature, meshes: list) -> None:
        note = self._maker.note
        self.scene = Handle.of("scenes", self._maker.new("scenes", "Ossify Workshop"))
        copy = note("objects", armature.copy())
        copy.data = note("armatures", armature.data.copy())
        copy.ossify.memory = None
        self._copy_actions(copy)
        copy.data.pose_position, copy.hide_viewport = "POSE", False
        if not _answers_to_world(armature):
            copy.parent = None
            copy.constraints.clear()
        aiming.at_itself(copy, armature)
        self.armature, self.meshes = Handle.of("objects", copy), []
        for obj in meshes:
            data = note("meshes", obj.data.copy())
            mesh = note("objects", obj.copy())
            mesh.data, mesh.parent, mesh.hide_viewport = data, copy, False
            aiming.shapes(data, copy, armature)
            if data.shape_keys is not None:
                self._shapes.append(Handle.of("shape_keys", data.shape_keys))
            mesh.matrix_parent_inverse = obj.matrix_parent_inverse
            for modifier in list(mesh.modifiers):
                if modifier.type == "ARMATURE" and modifier.object == armature:
                    modifier.object, modifier.show_viewport = copy, True
                else:
                    mesh.modifiers.remove(modifier)
            self.meshes.append(Handle.of("objects", mesh))
        for handle in (self.armature, *self.meshes):
            self.scene.get().collection.objects.link(handle.get())
        self.scene.get().view_layers[0].update()

    def _copy_actions(self, copy) -> None:
        """The action it has, and those of its clips: the copy's record then names the copies."""
        made = {}
        for action in dict.fromkeys([keys.action_of(copy), *played.made(copy)]):
            if action is not None:
                made[action] = self._maker.note("actions", action.copy())
        slots = {action: keys.slot_for(copy, action) for action in made}
        plays = [clip.alone and clip.action == keys.action_of(copy) for clip in played.of(copy)]
        first = next(iter(played.made(copy)), None)
        for clip in copy.ossify.clips:
            clip.action = made.get(clip.action)
        if first is not None:
            data = copy.animation_data_create()
            data.action, data.use_nla = made[first], data.use_nla and plays[0]
            if slots[first] is not None:
                data.action_slot = made[first].slots[slots[first].identifier]

    def _clips(self) -> list[tuple[Handle, Clip]]:
        """By the names that the clips have on the rig."""
        return [
            (Handle.of("actions", clip.action), Clip(clip.name, clip.rows, self.original))
            for clip in played.of(self.armature.get())
            if clip.action is not None
        ]

    def built(self, keyed: Keyed) -> Built:
        """As report.measure wants it."""
        made = self._maker.made
        parts = self.scene, self.scene, self.armature, self.meshes, self.names, keyed, None, made
        return Built(*parts, self._clips())

    def _adopt(self) -> None:
        """An action that was made for the copy, because the rig has none, goes with it."""
        copy = self.armature.find() if self.armature is not None else None
        action = keys.action_of(copy) if copy is not None else None
        if action is not None and Handle.of("actions", action) not in self._maker.made:
            self._maker.note("actions", action)

    def remove(self) -> None:
        self._adopt()
        discard(self._maker.made)
        left = [shapes for shapes in (handle.find() for handle in self._shapes) if shapes is not None]
        if left:
            bpy.data.batch_remove(left)

    def __enter__(self):
        return self

    def __exit__(self, *_error) -> None:
        self.remove()


def keyed_of(armature, names: list[str]) -> Keyed:
    """How many keys the bones have in the clips of the rig."""
    bones = [*names, *carriers.of(armature, names)]
    readers = [keys.Reader(armature, clip.times, clip.action) for clip in played.of(armature)]
    for reader in readers:
        for name in bones:
            reader.leave(name)
    record = armature.ossify
    counts = (sum(reader.keys for reader in readers), sum(reader.keys_if_every for reader in readers))
    numbers = sum(reader.numbers for reader in readers)
    return Keyed(*counts, record.located, record.location / 100 * record.size, numbers)
