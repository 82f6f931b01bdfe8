"""What makes rigs for families of bodies is one step to undo, and to redo."""

import bpy
import numpy as np
import pytest
import scenes
from limbs_of_a_family import family, weights


def seen():
    """name -> all that a family's operators write of an object"""
    bpy.context.view_layer.update()
    found = {}
    for obj in bpy.data.objects:
        own = [obj.type, obj.parent and obj.parent.name, obj.hide_get(), np.ravel(obj.matrix_basis).tolist()]
        if obj.type == "MESH":
            keys = obj.data.shape_keys
            own += [scenes.positions(obj.data).tolist(), weights(obj), keys and keys.key_blocks.keys()]
            own += [[(modifier.type, modifier.name) for modifier in obj.modifiers]]
        elif obj.type == "ARMATURE":
            own += [[(bone.name, np.ravel(bone.matrix_local).tolist()) for bone in obj.data.bones]]
            own += [sorted(set(obj.keys()) - {"ossify"})]  # up to 4.5 a group comes by being read
        found[obj.name] = own
    return found, sorted(bpy.data.actions.keys()), sorted(bpy.data.collections.keys())


@pytest.mark.parametrize("operator", ["fit_rig", "body_sliders", "body_bones"])
def test_a_button_for_families_is_one_step(operator):
    _, tube, bodies = family()
    scenes.select(tube, *bodies)
    bpy.context.view_layer.objects.active = tube
    bpy.ops.ed.undo_push(message="family")
    before = seen()
    assert getattr(bpy.ops.ossify, operator)("EXEC_DEFAULT") == {"FINISHED"}
    bpy.ops.ed.undo_push(message=operator)
    made = seen()
    assert len(made[0]) > len(before[0])
    bpy.ops.ed.undo()
    assert seen() == before
    bpy.ops.ed.redo()
    assert seen() == made
