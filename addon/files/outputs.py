"""Files out of Blender: rigs for the command line, and what bake.py gives to other programs."""

from __future__ import annotations

import contextlib
from pathlib import Path

import bpy

from .. import native
from ..base import whole
from ..base.handles import Place
from ..base.refusal import Refusal
from ..rig import actions, build, correctives, keys, virtual_bones, volumes
from ..two_layer import keyed_copy
from . import exporting, retarget
from .formats import need_addon, need_built_in

OUTPUTS = (".blend", ".glb", ".gltf", ".fbx", ".usd", ".usda", ".usdc")


def prepare(path: Path, flag: str = "--output") -> None:
    """Before anything is solved: the folder that a file is to be written into, made if need be; refuses what
    could not be written."""
    folder = path.absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(
            f"There is no folder {folder}, and it cannot be made ({error.strerror or error}): name another"
            f" one with {flag}."
        ) from None
    whole.check(path)


def need_exporter(path: Path) -> None:
    """Refuses when this Blender cannot write Alembic or USD."""
    if path.suffix.lower() == ".abc":
        need_built_in("alembic_export", "Alembic", path)
    else:
        need_built_in("usd_export", "USD", path)


def _need_in_sight(objects: list, layer) -> None:
    """Exporters leave out what they do not see, without a word."""
    for obj in objects:
        if layer.objects.get(obj.name) != obj or not obj.visible_get(view_layer=layer):
            raise Refusal(
                f"{obj.name} is in a collection that is hidden or left out, and would not be in the file:"
                " show it first."
            )


@contextlib.contextmanager
def _only(armature, meshes):
    """Selects the rig alone, hidden or not, and gives the scene its range, while an exporter runs."""
    scene, layer, objects = bpy.context.scene, bpy.context.view_layer, [armature, *meshes]
    before, clips = (scene.frame_start, scene.frame_end), _clips(armature)
    firsts, lasts = [clip.first_frame for clip in clips], [clip.last_frame for clip in clips]
    with build.shown(Place.of(scene, layer), objects):
        _need_in_sight(objects, layer)
        for obj in layer.objects:
            obj.select_set(obj in objects)
        layer.objects.active = armature
        scene.frame_start = min(firsts, default=armature.ossify.first_frame)
        scene.frame_end = max(lasts, default=armature.ossify.last_frame)
        try:
            with _in_tracks(armature, clips if len(clips) > 1 else []), _plain_skin(meshes):
                yield
        finally:
            scene.frame_start, scene.frame_end = before


@contextlib.contextmanager
def _plain_skin(meshes):
    """Without Keep Volume: other programs know bones and weights; an exporter may take its part in the pose
    at hand for a part of the rest."""
    found = [modifier for modifier in map(volumes.modifier_of, meshes) if modifier is not None]
    shown = [(modifier, modifier.show_viewport, modifier.show_render) for modifier in found]
    try:
        for modifier in found:
            modifier.show_viewport = modifier.show_render = False
        yield
    finally:
        for modifier, viewport, render in shown:
            modifier.show_viewport, modifier.show_render = viewport, render


def _clips(armature) -> list:
    return [clip for clip in armature.ossify.clips if clip.action is not None]


def _clip_name(armature) -> str:
    """Of the one clip that there is."""
    action = keys.action_of(armature)
    return armature.name if action is None else action.name


@contextlib.contextmanager
def _in_tracks(armature, clips: list):
    """All clips in the NLA, and nothing else, where every exporter finds them; none: the rig as it is."""
    if not clips:
        yield
        return
    with actions.given(armature, None) as data:
        muted = {track.name: track.mute for track in data.nla_tracks}
        for track in data.nla_tracks:
            track.mute = True
        made = [actions.push(armature, c.action, c.action.name, c.first_frame, False) for c in clips]
        names = [track.name for track in made]
        try:
            yield
        finally:
            for name in names:
                data.nla_tracks.remove(data.nla_tracks[name])
            for name, mute in muted.items():
                data.nla_tracks[name].mute = mute


def save(path: Path) -> None:
    """The whole file, under another name."""
    exporting.write(path, bpy.ops.wm.save_as_mainfile, {"copy": True})


def write(path: Path, armature, meshes: list, influences: int, names: str = "AS_IS", plain=None) -> list[str]:
    """Writes the rig, or for .blend the whole file, by the ending of the path; what there is to tell of it.
    plain: for an engine, what makes of a name in a glTF one that it takes; clips then begin at time 0.

    Other programs have no constraints: virtual bones are keyed for them. names: one of retarget.NAMES
    """
    if path.suffix.lower() == ".blend":
        save(path)
    elif virtual_bones.has_any(armature):
        with keyed_copy.beside(armature, meshes) as copy:
            most = max(influences, native.MAX_BLENDED)
            _write(path, copy.armature, copy.meshes, most, names, plain)
            return [copy.sentence()]
    else:
        _write(path, armature, meshes, influences, names, plain)
        if any(map(volumes.modifier_of, meshes)):
            return [f"{path.name} carries the plain skin: Keep Volume stays in Blender."]
    return []


def _write(path: Path, armature, meshes: list, influences: int, names: str, plain) -> None:
    suffix = path.suffix.lower()
    several = len(_clips(armature)) > 1
    # renamed while all clips lie in the NLA: keys that are not at hand would keep the old names
    with _only(armature, meshes), retarget.renamed(armature, names):
        if suffix in {".glb", ".gltf"}:
            need_addon("io_scene_gltf2")
            operator = bpy.ops.export_scene.gltf
            arguments = {
                "export_format": "GLB" if suffix == ".glb" else "GLTF_SEPARATE",
                "use_selection": True,
                "export_apply": not correctives.names_of(armature),  # shape keys would be left out
                "export_animation_mode": "NLA_TRACKS" if several else "ACTIVE_ACTIONS",
                "export_anim_single_armature": False,  # else all actions of the file, mixed into one
                "export_anim_slide_to_zero": several or plain is not None,  # each is a clip of its own
                "export_nla_strips_merged_animation_name": _clip_name(armature),
                "export_influence_nb": influences,
                "export_all_influences": influences > 4,
                "export_frame_range": True,
                "export_attributes": False,
            }
        elif suffix == ".fbx":
            need_addon("io_scene_fbx")
            operator = bpy.ops.export_scene.fbx
            arguments = {
                "use_selection": True,
                "object_types": {"ARMATURE", "MESH"},
                "add_leaf_bones": False,
                "use_armature_deform_only": False,
                "bake_anim_use_nla_strips": several,
                "bake_anim_use_all_actions": False,
                "bake_anim_simplify_factor": 0.0,
            }
        else:
            need_built_in("usd_export", "USD", path)
            operator = bpy.ops.wm.usd_export
            arguments = {"selected_objects_only": True, "export_animation": True, "export_armatures": True}
        exporting.write(path, operator, arguments, 0, plain)


def _alembic_bytes(scene) -> int:
    """About as many as an Alembic file of the scene has: points and normals in every frame, the rest once."""
    meshes = [obj.data for obj in scene.objects if obj.type == "MESH"]
    frames = scene.frame_end - scene.frame_start + 1
    points = sum(12 * len(mesh.vertices) + 12 * len(mesh.loops) for mesh in meshes)
    return frames * points + sum(64 * len(mesh.loops) for mesh in meshes) + 2_000_000


def write_cache(path: Path, scene) -> None:
    """Writes all meshes of a scene, with the positions of every frame of its range, as Alembic or USD."""
    with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]):
        room = 0
        if path.suffix.lower() == ".abc":
            operator = bpy.ops.wm.alembic_export
            arguments = {"start": scene.frame_start, "end": scene.frame_end, "as_background_job": False}
            room = _alembic_bytes(scene)  # without it, Blender ends
        else:
            operator = bpy.ops.wm.usd_export
            arguments = {
                "export_animation": True,
                "export_textures": False,
                "export_textures_mode": "KEEP",
                "export_armatures": False,
                "export_shapekeys": False,
            }
        exporting.write(path, operator, arguments | {"evaluation_mode": "VIEWPORT"}, room)
