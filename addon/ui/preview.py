"""The rig posed like a source in every frame that is gone to: a look at what tracking would make.

Weights and joints are held, and the one frame at hand is solved, as track.py does it for all. Bones are posed
and nothing is keyed; when the preview stops, the rig is as it was. An undo step or a file that was written
meanwhile holds the poses of the preview: the armature says so, and they are put back when it is come back to.
"""

from __future__ import annotations

import json
import sys
import time
import traceback

import bpy
import numpy as np
from mathutils import Matrix

from .. import native
from ..base.handles import Place
from ..base.refusal import Refusal
from ..base.steps import run
from ..base.surface import diagonal
from ..motion import sources
from ..motion.capture import frame_range
from ..options.options import TrackOptions
from ..track import takes, track, track_rig
from . import session

_SWEEPS = 100  # a quarter of what the library takes for a clip: a look, and quick
_CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")


def _remember_pose(armature, names: list[str]) -> None:
    armature.ossify.posed = json.dumps(
        {
            name: [tuple(getattr(armature.pose.bones[name], channel)) for channel in _CHANNELS]
            for name in names
        }
    )


def _put_back(armature) -> None:
    """The pose before a preview, if the armature has that of one; what is keyed follows its keys again."""
    if not armature.ossify.posed:
        return
    for name, values in json.loads(armature.ossify.posed).items():
        bone = armature.pose.bones.get(name)
        for channel, value in zip(_CHANNELS, values, strict=True) if bone else ():
            setattr(bone, channel, value)
    armature.ossify.posed = ""
    armature.update_tag(refresh={"OBJECT", "DATA", "TIME"})


def _put_all_back() -> None:
    """A rig that was copied during a preview has its pose, too."""
    for obj in bpy.data.objects:
        if obj.type == "ARMATURE":
            _put_back(obj)


class _Preview:
    def __init__(self, scene, layer, armature, objects: list, options: TrackOptions):
        self.place = Place.of(scene, layer)
        self.held = track_rig.stand(self.place, armature)
        self.rig = self.held.stands
        if self.rig.options.bone_kind == "FLEXIBLE":
            raise Refusal("Flexible bones have no preview: track the motion.")
        before = scene.frame_current, scene.frame_subframe
        try:
            scene.frame_set(frame_range(scene, options, 1)[0])
            self.source = takes.Source(self.rig, objects, options)
        finally:
            scene.frame_set(before[0], subframe=before[1])
        self.frames = np.empty((1, *self.rig.skin.rest.shape), np.float32)
        _remember_pose(armature, self.rig.keyed_bones())
        self.milliseconds, self.error = 0.0, 0.0  # of the last frame; the error in percent of the size

    def fit(self) -> None:
        """Poses the bones like the source in the frame at hand."""
        began = time.perf_counter()
        self.source.read(self.frames[0], "this frame")
        found = run(track.solve(self.held, self.frames, _SWEEPS))[0]
        root = track.root_of(self.rig, self.frames, found[None])[0]
        self._pose(dict(zip((self.rig.root, *self.rig.names), (root, *found), strict=True)))
        self.error = self._error(found)
        self.milliseconds = 1000 * (time.perf_counter() - began)

    def _pose(self, transforms: dict[str, np.ndarray]) -> None:
        """Rest to frame, by bone; parents come first."""
        armature, layer = self.rig.armature, self.place.get()[1]
        shown, poses = armature.evaluated_get(layer.depsgraph).pose.bones, {}
        bones = armature.data.bones
        for name in sorted(transforms, key=lambda name: len(bones[name].parent_recursive)):
            bone, above = bones[name], bones[name].parent
            poses[name] = Matrix(transforms[name]) @ bone.matrix_local
            more = {}
            if above is not None:
                parent = poses.get(above.name) or shown[above.name].matrix
                more = {"parent_matrix": parent, "parent_matrix_local": above.matrix_local}
            armature.pose.bones[name].matrix_basis = bone.convert_local_to_pose(
                poses[name], bone.matrix_local, invert=True, **more
            )

    def _error(self, found: np.ndarray) -> float:
        rig, moved = self.held.rig, self.rig.skin.moved
        whole = native.Rig(found[None, :, :3], rig.influence_bones, rig.influence_weights, rig.rest)
        evaluated = native.evaluate(rig.rest, self.frames[:, moved], whole, replay=False)
        return 100 * evaluated.rms / diagonal(self.rig.skin.rest)


_current: _Preview | None = None
_said = ""  # why it stopped by itself


def running() -> bool:
    return _current is not None


def sentence() -> str:
    """For the panel; empty when there is nothing to say."""
    if _current is None:
        return _said
    return f"{_current.milliseconds:.0f} ms for this frame, error {_current.error:.2g} %"


def _on_frame(scene, _depsgraph=None) -> None:
    """After every change of the frame; an error must not come back with the next one."""
    global _said
    if _current is None or session.current is not None or bpy.app.is_job_running("RENDER"):
        return
    try:
        if scene.session_uid == _current.place.scene.uid:
            _current.fit()
    except (Refusal, native.OssifyError) as error:
        _stop(f"The preview has stopped. {error}")
    except Exception as error:
        traceback.print_exception(error, file=sys.stderr)
        _stop(f"The preview has stopped ({type(error).__name__}: {error}).")


def _stop(words: str) -> None:
    """Without another change of the frame: this may be in the middle of one."""
    global _current, _said
    ended, _current, _said = _current, None, words
    if ended is not None:
        _put_all_back()
    if _on_frame in bpy.app.handlers.frame_change_post:
        bpy.app.handlers.frame_change_post.remove(_on_frame)


def stop() -> None:
    """Ends the preview, if there is one, and puts the rig back."""
    ended = _current
    _stop("")
    scene = ended.place.scene.find() if ended is not None else None
    if scene is not None:
        scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)


def _live(objects: list) -> str | None:
    """A modifier that would have to be hidden for the source to have its own vertices."""
    return next((m.name for obj in objects for m in sources.kept(obj) if m.show_viewport), None)


def start(scene, view_layer, armature, objects: list, options: TrackOptions) -> None:
    """Poses the rig now, and again whenever the frame changes."""
    global _current
    stop()
    view_layer.update()
    takes.check(scene, view_layer, armature, objects, options)
    live = _live(objects)
    if live:
        raise Refusal(f"{objects[0].name} has live modifiers ({live}): hide them for the preview.")
    _current = _Preview(scene, view_layer, armature, objects, options)
    try:
        _current.fit()
    except BaseException:
        stop()
        raise
    bpy.app.handlers.frame_change_post.append(_on_frame)


@bpy.app.handlers.persistent
def _before_load(*_arguments) -> None:
    _stop("")


@bpy.app.handlers.persistent
def _after_jump(*_arguments) -> None:
    """To another state of the file, or to another file."""
    if _current is not None:
        _stop("The preview has stopped, since something was undone.")
    _put_all_back()


_HANDLERS = {
    "load_pre": _before_load,
    "load_post": _after_jump,
    "undo_post": _after_jump,
    "redo_post": _after_jump,
}


def register() -> None:
    for name, handler in _HANDLERS.items():
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    _stop("")
    for name, handler in _HANDLERS.items():
        getattr(bpy.app.handlers, name).remove(handler)
