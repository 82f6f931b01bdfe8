"""The rig of a creature with known bones, and which of its bones is which."""

import chain
import scenes
from kept import kept

COUNT = len(scenes.creature_bones())


@kept
def converted(fineness=1, **chosen):
    """The rig of the creature, the creature, and its true bones"""
    body, bones = scenes.creature(fineness=fineness)
    picked = {"bones": COUNT, "quality": "NORMAL", "skeleton": "HIERARCHY", **chosen}
    return chain.converted(body, **picked), body, bones


def strongest(mesh):
    """[v] for every vertex the name of its strongest group"""
    names = [group.name for group in mesh.vertex_groups]
    return [names[max(v.groups, key=lambda group: group.weight).group] for v in mesh.data.vertices]


def matched(result, body):
    """true bone -> found bone, by the vertices that they move most"""
    pairs = list(zip(strongest(body), strongest(result.meshes[0]), strict=True))
    names = dict.fromkeys(pair[0] for pair in pairs)
    return {name: max(names_of(pairs, name), key=names_of(pairs, name).count) for name in names}


def names_of(pairs, name):
    return [found for true, found in pairs if true == name]


def deforming(armature):
    return [bone for bone in armature.data.bones if bone.use_deform]
