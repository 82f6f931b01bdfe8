"""Several objects in one conversion: what moves apart shares no weight, what moves together is one body."""

import bpy
import chain
import numpy as np
import pytest
import scenes
from ossify.convert import apart


def bent(obj, amount, frames=8):
    """Shape keys of a tube along Z that bends about X, more toward its end; key f is whole in frame f + 1."""
    points = scenes.positions(obj.data).astype(float)
    shapes = []
    for f in range(frames):
        angle = amount * np.sin(2 * np.pi * f / frames) * points[:, 2] / points[:, 2].max()
        moved = points.copy()
        moved[:, 1] = points[:, 1] * np.cos(angle) - points[:, 2] * np.sin(angle)
        moved[:, 2] = points[:, 1] * np.sin(angle) + points[:, 2] * np.cos(angle)
        shapes.append(moved)
    for f, key in enumerate(scenes.add_shape_keys(obj, shapes)[1:]):
        for time, value in ((f, 0.0), (f + 1, 1.0), (f + 2, 0.0)):
            key.value = value
            key.keyframe_insert("value", frame=time)
    return obj


def two_creatures_and_a_cube():
    first, second = bent(scenes.tube("First"), 0.8), bent(scenes.tube("Second"), -0.6)
    second.location.x = 1.0
    bpy.ops.mesh.primitive_cube_add(size=0.4, location=(0.5, -0.2, 1.0))
    cube = bpy.context.object
    for frame in range(1, 9):
        cube.rotation_euler.z = 0.3 * frame
        cube.keyframe_insert("rotation_euler", frame=frame)
    bpy.context.view_layer.update()
    return first, second, cube


def weights_by_bone(meshes):
    """bone -> {mesh: the sum of its weights there}"""
    found = {}
    for mesh in meshes:
        for vertex in mesh.data.vertices:
            for group in vertex.groups:
                bone = found.setdefault(mesh.vertex_groups[group.group].name, {})
                bone[mesh.name] = bone.get(mesh.name, 0.0) + group.weight
    return found


@pytest.mark.parametrize("locality", [True, False])
@pytest.mark.parametrize("skeleton", ["NONE", "HIERARCHY", "ARTICULATED"])
def test_no_weight_gets_from_one_object_into_another(skeleton, locality):
    objects = two_creatures_and_a_cube()
    result = chain.converted(*objects, bones=8, skeleton=skeleton, locality=locality)
    found = weights_by_bone(result.meshes)
    assert all(len(meshes) == 1 for meshes in found.values())
    assert [len(mesh.vertex_groups) for mesh in result.meshes][2] == 1
    owner = {bone: next(iter(meshes)) for bone, meshes in found.items()}
    for bone in result.armature.data.bones:
        if bone.name in owner and bone.parent.name in owner:
            assert owner[bone.name] == owner[bone.parent.name]
    assert len(found) == 8
    assert result.report.percent(result.report.rms) < 1.5
    goal = [scenes.seen(mesh, 4) for mesh in result.meshes]
    for obj, shown in zip(objects, goal, strict=True):
        obj.hide_viewport = False
        obj.hide_set(False)
        assert np.sqrt(((scenes.seen(obj, 4) - shown) ** 2).sum(axis=1).mean()) < 0.15


def test_what_stays_beside_a_body_belongs_to_it():
    body, shirt = bent(scenes.tube("Body"), 0.8), bent(scenes.tube("Shirt"), 0.8)
    shirt.scale = (1.1, 1.1, 1.0)
    other = bent(scenes.tube("Other"), -0.8)
    other.location.x = 0.7  # near at rest, and bends the other way
    bpy.context.view_layer.update()
    motion = chain.captured(body, shirt, other)
    assert apart.groups(motion) == [[0, 1], [2]]
    result = chain.converted(body, shirt, bones=4)
    shared = [bone for bone, meshes in weights_by_bone(result.meshes).items() if len(meshes) == 2]
    assert shared
