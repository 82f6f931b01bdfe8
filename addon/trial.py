"""A copy of a rig in a scene of its own, to write to and to measure: the artist's is not touched."""

from __future__ import annotations

from . import keys, rewrite
from .build import Built, Maker, discard
from .handles import Handle
from .keying import Keyed


def _aim(owner, old, new) -> None:
    """Lets what looks at the old object look at the new one."""
    for name in ("target", "pole_target"):
        if getattr(owner, name, None) == old:
            setattr(owner, name, new)
    for target in getattr(owner, "targets", ()):
        if target.target == old:
            target.target = new


def _aim_all(armature, old) -> None:
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            _aim(constraint, old, armature)
    for curve in armature.animation_data.drivers if armature.animation_data else ():
        for variable in curve.driver.variables:
            for target in variable.targets:
                if target.id == old:
                    target.id = armature


class Trial:
    """Remove it when it is done with, on every way out."""

    def __init__(self, armature, meshes: list, names: list[str]):
        self._maker = Maker()
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
        copy.ossify.memory = None
        action = keys.action_of(armature)
        if action is not None:
            keys.assign(copy, note("actions", action.copy()), keys.slot_name(armature))
        copy.parent = None
        copy.constraints.clear()
        copy.hide_viewport = False
        _aim_all(copy, armature)
        self.armature, self.meshes = Handle.of("objects", copy), []
        for obj in meshes:
            data = note("meshes", obj.data.copy())
            mesh = note("objects", obj.copy())
            mesh.data, mesh.parent, mesh.hide_viewport = data, copy, False
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

    def built(self, keyed: Keyed) -> Built:
        """As report.measure wants it."""
        made = self._maker.made
        return Built(self.scene, self.scene, self.armature, self.meshes, self.names, keyed, None, made)

    def remove(self) -> None:
        discard(self._maker.made)


def keyed_of(armature, names: list[str]) -> Keyed:
    """How many keys the bones have."""
    times = [item.frame for item in armature.ossify.frames]
    reader = keys.Reader(armature, times)
    for name in names:
        carrier = rewrite.carrier_of(armature.data.bones[name])
        reader.leave(name)
        if carrier is not None:
            reader.leave(carrier.name)
    record = armature.ossify
    return Keyed(reader.keys, reader.keys_if_every, record.located, record.location / 100 * record.size)
