"""A rig read whole at one moment, and looked at again after steps in which an artist may have changed it."""

from __future__ import annotations

from ..base.handles import Handle, Place, was_changed
from ..base.meshes import matrices_of
from ..options.options import Options
from ..rig import played, standing
from ..rig.stand import Standing
from . import changes, memory
from .changes import Seen


def shape_of(armature) -> tuple:
    """Its bones, and how many vertices and which groups its meshes have: these take no time to read."""
    bones = armature.data.bones
    hung = [
        (bone.name, bone.parent.name if bone.parent else "", bone.use_connect, bone.use_deform)
        for bone in bones
    ]
    rests = matrices_of(bones, "matrix_local").tobytes()
    meshes = [(len(obj.data.vertices), obj.vertex_groups.keys()) for obj in memory.meshes_of(armature)]
    return hung, rests, meshes


def skin_of(armature, seen: Seen) -> standing.Skin:
    """Of the meshes that the rig was made with and still moves, and of all bones that deform."""
    names, meshes = standing.bone_names(armature), memory.meshes_of(armature)
    return standing.read_skin(armature, names, meshes, seen.now.groups)


def stand(place: Place, armature, seen: Seen, names: list[str] | None = None) -> Standing:
    """The rig as it is, with these bones or all that deform."""
    skin, every = skin_of(armature, seen), standing.bone_names(armature)
    if names is not None:
        skin = skin.of_bones([every.index(name) for name in names])
    names = every if names is None else names
    return Standing(
        place,
        Handle.of("objects", armature),
        shape_of(armature),
        memory.print_of(seen.now),
        names,
        skin,
        changes.holds(armature, skin, names, seen.changes),
        played.read_transforms(armature, names),
        Options.of(armature.ossify.settings),
        standing.heads_of(armature, names),
        standing.parents_of(armature, names),
        standing.turning_parents(armature, names),
    )


def glance(stands: Standing):
    """The armature; refuses one whose bones, vertices or groups are others."""
    armature = stands.armature
    if shape_of(armature) != stands.shape:
        raise was_changed(armature)
    return armature


def wake(stands: Standing):
    """The same; refuses one that is another than was read, by as little as a key or a weight."""
    armature = glance(stands)
    if memory.print_of(memory.read(armature)) != stands.mark:
        raise was_changed(armature)
    return armature
