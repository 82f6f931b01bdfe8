"""Writes onto a rig what properties_rig.py stores: what it was made from, and how well it fits."""

import bpy

from .. import native
from ..options.options import Options
from ..rig import heat


def remember_clip(rig, action, source, times, rms: float, tracked: bool = False):
    """An action of the rig; rms in percent of the size."""
    clip = rig.clips.add()
    clip.name, clip.action, clip.source, clip.tracked = action.name, action, source, tracked
    clip.first_frame, clip.last_frame, clip.rms = int(times[0]), int(times[-1]), rms
    clip.frame_step = int(times[1] - times[0]) if len(times) > 1 else 1
    return clip


def remember(built, motion, options: Options, report) -> None:
    """Writes everything that is needed to judge the rig and to make it again onto its armature."""
    rig = built.armature.get().ossify
    rig.version, rig.blender = native.version(), bpy.app.version_string
    options.store(rig.settings)
    for part in motion.parts:
        rig.sources.add().object = part.source.get()
    rig.first_frame, rig.last_frame = int(motion.times.min()), int(motion.times.max())
    for handle, clip in built.actions:
        rms = report.percent(report.clip_error(clip.rows))
        remember_clip(rig, handle.get(), clip.source.find(), motion.times[clip.rows], rms)
    note_report(rig, report)
    if options.root == "PLACE" and built.skeleton is not None:
        rig.root_bone = built.bones[built.skeleton.root]
    for handle, part in zip(built.meshes, motion.parts, strict=True):
        heat.store(handle.get().data, report.vertex_error[part.vertices] * (100 / report.size))
        heat.store(handle.get().data, report.vertex_degrees[part.vertices], heat.NORMALS)
    if report.conduct is not None:
        rig.excess_flight = max(float(report.conduct.excesses.max(initial=0)), 0.0)


def note_report(rig, report) -> None:
    """How well a rig fits, onto its record."""
    for name in ("rms", "mean", "percentile_95", "maximum", "keys_moved"):
        setattr(rig, name, report.percent(getattr(report, name)))
    for name in "erms size worst_object worst_vertex worst_frame bones vertices keys keys_if_every".split():
        setattr(rig, name, getattr(report, name))
    rig.rig_size, rig.shape_key_size, rig.cache_size = report.sizes()
    rig.notes = "\n".join(report.notes)
    rig.normal_degrees = max(report.normal_degrees, 0.0)
    rig.located, rig.location = report.located, report.percent(report.location)
    rig.free_erms = report.free.erms if report.free is not None else 0
    rig.worst_frame_error = report.percent(float(report.frame_error.max()))
    for number, (_, rows) in enumerate(report.clips):
        if number < len(rig.clips):
            rig.clips[number].rms = report.percent(report.clip_error(rows))
    while len(rig.frames) < len(report.times):
        rig.frames.add()
    for row, error in enumerate(report.frame_error):
        item = rig.frames[row]
        item.frame, item.error = int(report.times[row]), report.percent(float(error))
        item.name = report.poses[row] if report.poses else f"Frame {report.times[row]}"
        item.clip = next(c for c, (_, rows) in enumerate(report.clips) if rows.start <= row < rows.stop)
        if len(report.clips) > 1:
            item.name = f"{report.clips[item.clip][0]} {report.times[row]}"


def note_refit(rig, result) -> None:
    """What a refit came to."""
    note_report(rig, result.after)
    rig.refitted, rig.rms_before = True, result.before.percent(result.before.rms)
    rig.fits.clear()
    worst = sorted(result.bones, key=lambda line: line.after - line.before)
    for kind, lines in (("MESH", result.meshes), ("BONE", worst)):
        for line in lines:
            item = rig.fits.add()
            item.kind, item.name, item.before, item.after = kind, *line
