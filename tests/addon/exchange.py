"""Rigs written to files of other programs and read again, and how they are compared."""

import bpy
import numpy as np
import scenes
from ossify.files import inputs, outputs


def bones_of(armature):
    """Names with those of the parents; USD knows no dots."""
    names = {bone.name: bone.parent.name if bone.parent else "" for bone in armature.data.bones}
    return {name.replace(".", "_"): parent.replace(".", "_") for name, parent in names.items()}


def exported_and_imported(result, path, influences=4):
    """The meshes that another Blender finds in the file."""
    outputs.write(path, result.armature, result.meshes, influences)
    with inputs.Opened(path, [], None) as opened:
        return opened.objects()


def nearest(points, others):
    """[v] for every point the nearest other: exporters may split vertices."""
    return np.linalg.norm(points[:, None] - others[None], axis=2).argmin(axis=1)


def compare(shown, meshes, times, tolerance):
    """Frame by frame; vertices are matched in the first frame."""
    (mesh,) = [obj for obj in meshes if obj.type == "MESH"]
    again = scenes.seen_frames(mesh, times)
    match = nearest(again[0], shown[0])
    assert len(set(match.tolist())) == shown.shape[1]  # all of them are there
    error = np.linalg.norm(again - shown[:, match], axis=2).max()
    assert error < tolerance * scenes.size_of(shown)


def times_of_action(times):
    first = min(round(action.frame_range[0]) for action in bpy.data.actions)
    return [first + time - times[0] for time in times]
