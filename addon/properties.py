"""What Blender stores: the settings of the panel on the scene, and on every rig where it came from and how
well it fits."""

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from . import actions, heat, native, overlay
from .options import BAKE_FIELDS, FIELDS, REFIT_FIELDS, BakeOptions, Options, RefitOptions

# Names, tooltips and limits; the defaults are those of Options.
_WORDS = {
    "bones_by": (
        EnumProperty,
        {
            "name": "Bones",
            "description": "How the number of bones is found",
            "items": [
                ("COUNT", "Count", "As many bones as you say"),
                ("BUDGET", "Error Budget", "The fewest bones that keep the error within a budget"),
                ("PARTS", "Automatic", "As many bones as the body has parts that move by themselves"),
            ],
        },
    ),
    "bones": (
        IntProperty,
        {
            "name": "Count",
            "description": "Number of bones that deform the mesh; the root is extra",
            "min": 1,
            "max": native.MAX_BONES,
            "soft_max": 200,
        },
    ),
    "budget": (
        FloatProperty,
        {
            "name": "Budget",
            "description": "Error that is allowed, in percent of the object's size",
            "min": 0.0001,
            "max": 100,
            "soft_max": 5,
            "precision": 3,
            "subtype": "PERCENTAGE",
        },
    ),
    "budget_of": (
        EnumProperty,
        {
            "name": "Budget Of",
            "description": "Which error the budget bounds",
            "items": [
                ("RMS", "Average", "The root mean square over all vertices and frames"),
                ("MAXIMUM", "Largest", "The largest error of any vertex in any frame"),
            ],
        },
    ),
    "bones_most": (
        IntProperty,
        {
            "name": "At Most",
            "description": "The most bones that may be used when their number is looked for",
            "min": 1,
            "max": native.MAX_BONES,
            "soft_max": 256,
        },
    ),
    "bone_kind": (
        EnumProperty,
        {
            "name": "Kind",
            "description": "What a bone can do",
            "items": [
                ("RIGID", "Rigid", "Bones move and turn: what game engines and animators expect"),
                (
                    "FLEXIBLE",
                    "Flexible",
                    "Bones also stretch and shear: a smaller error, with a second bone above each",
                ),
            ],
        },
    ),
    "skeleton": (
        EnumProperty,
        {
            "name": "Skeleton",
            "description": "How the bones hang together",
            "items": [
                ("NONE", "None", "All bones hang from the root, side by side: for cloth and faces"),
                (
                    "HIERARCHY",
                    "Hierarchy",
                    "Bones hang in limbs and turn about joints; they also move where the motion asks for it",
                ),
                (
                    "ARTICULATED",
                    "Articulated",
                    "Joints hold: bones only turn, and the root alone moves. The error grows a little",
                ),
            ],
        },
    ),
    "root": (
        EnumProperty,
        {
            "name": "Root",
            "description": "The part of the body that the others hang from",
            "items": [
                ("FOUND", "Found", "The part that turns least while the others swing from it"),
                (
                    "PLACE",
                    "Place",
                    "The part nearest to a place that you choose, as the mesh stands in the current frame",
                ),
            ],
        },
    ),
    "root_place": (
        FloatVectorProperty,
        {
            "name": "Place",
            "description": "Where the root is, in the scene",
            "size": 3,
            "subtype": "TRANSLATION",
        },
    ),
    "symmetry": (
        EnumProperty,
        {
            "name": "Symmetry",
            "description": "Which bones of the skeleton are each other's mirror image, .L and .R",
            "items": [
                ("FOUND", "Found", "Look for the plane that mirrors the body"),
                ("X", "X", "The left and the right of the object, along its own X axis"),
                ("NONE", "None", "No bone has a mirror image"),
            ],
        },
    ),
    "influences": (
        IntProperty,
        {
            "name": "Influences",
            "description": "The most bones that move one vertex; most game engines take 4",
            "min": 1,
            "max": native.MAX_INFLUENCES,
            "soft_max": 8,
        },
    ),
    "quality": (
        EnumProperty,
        {
            "name": "Quality",
            "description": "How long the solver looks for a better rig",
            "items": [
                ("DRAFT", "Draft", "A quick look"),
                ("NORMAL", "Normal", "Good and quick"),
                ("BEST", "Best", "Slower, with a smaller error"),
            ],
        },
    ),
    "locality": (
        BoolProperty,
        {
            "name": "Local Weights",
            "description": "Every bone moves one connected part of the surface, and nothing far away from it",
        },
    ),
    "smoothness": (
        FloatProperty,
        {
            "name": "Smoothness",
            "description": "How strongly weights follow their neighbours; needs local weights",
            "min": 0,
            "max": 1000,
            "soft_max": 10,
        },
    ),
    "rest": (
        EnumProperty,
        {
            "name": "Rest Shape",
            "description": "The mesh as it is when no bone is posed",
            "items": [
                ("UNDEFORMED", "Undeformed Mesh", "The mesh before anything moves it"),
                ("FRAME", "Frame", "The mesh as it is in a frame"),
                ("SYNTHESISED", "Synthesised", "A shape that the solver finds to fit all frames"),
            ],
        },
    ),
    "rest_frame": (
        IntProperty,
        {"name": "Rest Frame", "description": "The frame in which the mesh is at rest"},
    ),
    "rest_correction": (
        EnumProperty,
        {
            "name": "Rest Correction",
            "description": "Whether the solver may move the vertices of the rest shape to lower the error",
            "items": [
                ("FIXED", "None", "The rest shape is kept as it is"),
                ("KEPT", "Near", "Vertices move a little, and the rest shape still counts as a pose"),
                ("FREE", "Free", "Vertices move as far as the frames ask for"),
            ],
        },
    ),
    "frames": (
        EnumProperty,
        {
            "name": "Motion",
            "description": "What is converted",
            "items": [
                ("SCENE", "Scene Range", "The frames of the scene"),
                ("PREVIEW", "Preview Range", "The frames of the preview range"),
                ("CUSTOM", "Custom Range", "Frames of your choice"),
                ("POSES", "Shape Keys as Poses", "Every shape key is one pose; time plays no part"),
            ],
        },
    ),
    "frame_start": (IntProperty, {"name": "Start", "description": "First frame of the custom range"}),
    "frame_end": (IntProperty, {"name": "End", "description": "Last frame of the custom range"}),
    "frame_step": (
        IntProperty,
        {"name": "Step", "description": "Take every n-th frame", "min": 1, "soft_max": 10},
    ),
    "clips": (
        EnumProperty,
        {
            "name": "Clips",
            "description": "How many actions the rig gets; it is solved for all of them together",
            "items": [
                ("ONE", "One", "The whole motion is one action"),
                (
                    "MARKERS",
                    "At Markers",
                    "The markers of the timeline divide the range: an action begins at each, with its name",
                ),
                (
                    "TAKES",
                    "Selected Takes",
                    "Each selected mesh is a take of the active one, with the same vertices: an action for"
                    " each, named after it",
                ),
            ],
        },
    ),
    "nla": (
        BoolProperty,
        {"name": "Push to NLA", "description": "Lay the actions into NLA tracks, one for each"},
    ),
    "keys": (
        EnumProperty,
        {
            "name": "Keys",
            "description": "Which frames are keyed",
            "items": [
                ("REDUCED", "Reduced", "Only keys that are needed to stay within the tolerance"),
                ("EVERY", "Every Frame", "A key on every captured frame"),
            ],
        },
    ),
    "key_tolerance": (
        FloatProperty,
        {
            "name": "Tolerance",
            "description": (
                "The most that leaving out keys may move any vertex, in percent of the object's size"
            ),
            "min": 0.0001,
            "max": 10,
            "soft_max": 1,
            "precision": 3,
            "subtype": "PERCENTAGE",
        },
    ),
    "hide_source": (
        BoolProperty,
        {"name": "Hide Source", "description": "Hide the source meshes when the rig is made"},
    ),
    "keep_motion": (
        EnumProperty,
        {
            "name": "Keep Motion",
            "description": "Where the rig keeps the motion it was made from, for refits without the source",
            "items": [
                ("AUTO", "Automatic", "In the .blend when that takes no more than 64 MB, else not at all"),
                ("PACKED", "In the .blend", "In this file, however large it is"),
                ("FILE", "Beside the .blend", "In a file of its own in the folder of the .blend"),
                ("NONE", "Not", "A refit needs the source, or another one with the same mesh"),
            ],
        },
    ),
    "seed": (
        IntProperty,
        {"name": "Seed", "description": "Another seed may find a slightly different rig", "min": 0},
    ),
    "threads": (
        IntProperty,
        {
            "name": "Threads",
            "description": "Threads of the solver; 0 takes one for each core. The result is the same",
            "min": 0,
            "max": 256,
        },
    ),
}


_BAKE_WORDS = {
    "to": (
        EnumProperty,
        {
            "name": "Bake To",
            "description": "What the motion becomes",
            "items": [
                ("SHAPE_KEYS", "Shape Keys", "A copy of the mesh with keyed shape keys"),
                ("PC2", "Point Cache (.pc2)", "A file, and a copy of the mesh that plays it"),
                ("MDD", "Point Cache (.mdd)", "A file, and a copy of the mesh that plays it"),
                ("ALEMBIC", "Alembic (.abc)", "A file for other programs; the scene stays as it is"),
                ("USD", "USD (.usdc)", "A file for other programs; the scene stays as it is"),
            ],
        },
    ),
    "shapes": (
        EnumProperty,
        {
            "name": "One For",
            "description": "How many shape keys there are",
            "items": [
                ("FRAMES", "Each Frame", "A shape key for each frame of the range"),
                ("KEYS", "Each Key", "A shape key for each frame with keys; those between are mixed"),
            ],
        },
    ),
    "frames": (
        EnumProperty,
        {
            "name": "Range",
            "description": "Which frames are baked",
            "items": [
                ("SCENE", "Scene Range", "The frames of the scene"),
                ("PREVIEW", "Preview Range", "The frames of the preview range"),
                ("CUSTOM", "Custom Range", "Frames of your choice"),
            ],
        },
    ),
    **{field: _WORDS[field] for field in ("frame_start", "frame_end", "frame_step")},
}


_REFIT_WORDS = {
    "solve": (
        EnumProperty,
        {
            "name": "Solve",
            "description": "What is solved again",
            "items": [
                ("BOTH", "All", "Weights and motion, and the rest shape if the rig's settings say so"),
                ("TRANSFORMS", "Motion", "How bones move; weights stay"),
                ("WEIGHTS", "Weights", "What bones move; their keys stay"),
            ],
        },
    ),
    "only": (
        EnumProperty,
        {
            "name": "On",
            "description": "What may change",
            "items": [
                ("ALL", "All", "All that is not held"),
                ("BONES", "Selected Bones", "Weights and motion of the bones selected in Pose Mode"),
                ("VERTICES", "Selected Vertices", "Weights of the vertices selected in Edit Mode"),
            ],
        },
    ),
    "rest": (
        BoolProperty,
        {"name": "Rest Shape", "description": "Correct the rest shape as the settings of the rig say"},
    ),
    "motion": (
        EnumProperty,
        {
            "name": "Motion",
            "description": "What the rig is fitted to",
            "items": [
                ("KEPT", "As Kept", "The motion that the rig was made from"),
                ("SOURCE", "Source Now", "The source, read again: for one that was changed"),
            ],
        },
    ),
    "frames": (
        EnumProperty,
        {
            "name": "Frames",
            "description": "In which frames bones may move",
            "items": [
                ("ALL", "All", "All frames that the rig was made from"),
                ("CUSTOM", "Custom Range", "Frames of your choice; in the others poses stay as they are"),
            ],
        },
    ),
    "frame_start": _WORDS["frame_start"],
    "frame_end": _WORDS["frame_end"],
    "quality": (
        EnumProperty,
        {
            "name": "Quality",
            "description": "How long the solver tries",
            "items": [
                ("RIG", "As the Rig's", "As when the rig was made"),
                *_WORDS["quality"][1]["items"],
            ],
        },
    ),
}


def words_of(field: str) -> dict:
    """Name, description, items and limits of an option, for the command line."""
    return _WORDS[field][1]


def bake_words_of(field: str) -> dict:
    """The same for what bake.py may be asked for."""
    return _BAKE_WORDS[field][1]


def refit_words_of(field: str) -> dict:
    """The same for what refit.py may be asked for."""
    return _REFIT_WORDS[field][1]


def plain(value):
    """A value of a property without its owner."""
    return value if isinstance(value, (bool, int, float, str)) else tuple(value)


def annotations() -> dict:
    """The options as Blender properties, for any class that wants them."""
    return {field: _WORDS[field][0](default=getattr(Options, field), **_WORDS[field][1]) for field in FIELDS}


def bake_annotations(**more) -> dict:
    return {
        field: _BAKE_WORDS[field][0](default=getattr(BakeOptions, field), **_BAKE_WORDS[field][1], **more)
        for field in BAKE_FIELDS
    }


def refit_annotations(**more) -> dict:
    return {
        field: _REFIT_WORDS[field][0](default=getattr(RefitOptions, field), **_REFIT_WORDS[field][1], **more)
        for field in REFIT_FIELDS
    }


class OssifySettings(bpy.types.PropertyGroup):
    """The settings of a conversion."""

    __annotations__ = annotations()

    def options(self) -> Options:
        return Options(**{field: plain(getattr(self, field)) for field in FIELDS})

    def assign(self, options) -> None:
        for field in FIELDS:
            setattr(self, field, getattr(options, field))


class OssifyBake(bpy.types.PropertyGroup):
    """The settings of a bake."""

    __annotations__ = bake_annotations()

    def options(self) -> BakeOptions:
        return BakeOptions(**{field: getattr(self, field) for field in BAKE_FIELDS})


class OssifyRefit(bpy.types.PropertyGroup):
    """The settings of a refit."""

    __annotations__ = refit_annotations()

    def options(self) -> RefitOptions:
        return RefitOptions(**{field: getattr(self, field) for field in REFIT_FIELDS})


class OssifySource(bpy.types.PropertyGroup):
    """A mesh that a rig was made from."""

    object: PointerProperty(type=bpy.types.Object, name="Source")


class OssifyClip(bpy.types.PropertyGroup):
    """An action of a rig, and what it replays."""

    action: PointerProperty(type=bpy.types.Action, name="Action")
    source: PointerProperty(type=bpy.types.Object, name="Source")
    first_frame: IntProperty(name="First Frame")
    last_frame: IntProperty(name="Last Frame")
    frame_step: IntProperty(name="Step", default=1)
    rms: FloatProperty(name="Error", precision=4, description="Root mean square, in percent of the size")
    tracked: BoolProperty(name="Tracked", description="Put onto the rig later, with its weights held")


class OssifyFrame(bpy.types.PropertyGroup):
    """The error of one frame."""

    frame: IntProperty(name="Frame")
    clip: IntProperty(name="Clip", description="Which of the rig's clips it belongs to")
    error: FloatProperty(name="Error", description="Root mean square, in percent of the size")
    held: BoolProperty(name="Held", description="A refit leaves the pose of this frame as it is")


class OssifyWish(bpy.types.PropertyGroup):
    """What an artist wants of two bones of the skeleton."""

    first: StringProperty(name="Bone")
    second: StringProperty(name="Bone")
    joined: BoolProperty(name="Joined", description="Joined by a joint, or kept apart")


class OssifyChange(bpy.types.PropertyGroup):
    """What was changed on a rig; its name is the kind."""

    words: StringProperty(name="Change")


class OssifyFit(bpy.types.PropertyGroup):
    """The error of a bone or a mesh before and after a refit, in percent of the size."""

    kind: StringProperty()
    before: FloatProperty(name="Before")
    after: FloatProperty(name="After")


def _jump(self, context) -> None:
    if 0 <= self.frame_index < len(self.frames) and context.scene:
        item = self.frames[self.frame_index]
        show_clip(self.id_data, item.clip)
        context.scene.frame_set(item.frame)


def show_clip(armature, index: int) -> None:
    """Plays the action of a clip, unless it is gone or lies in the NLA."""
    data, clips = armature.animation_data, armature.ossify.clips
    if data is not None and data.action is not None and 0 <= index < len(clips) and len(clips) > 1:
        action = clips[index].action
        if action is not None and action != data.action:
            actions.assign(armature, action)


def _show_error(self, context) -> None:
    if self.show_error:
        self.show_change = False
    heat.show(self.id_data, context, self.show_error)


def _show_change(self, context) -> None:
    if self.show_change:
        self.show_error = False
    heat.show(self.id_data, context, self.show_change, heat.CHANGE)


class OssifyRig(bpy.types.PropertyGroup):
    """What an armature made by Ossify knows about itself."""

    version: StringProperty(name="Ossify", description="The version that made this rig; empty: none did")
    blender: StringProperty(name="Blender")
    settings: PointerProperty(type=OssifySettings)
    sources: CollectionProperty(type=OssifySource)
    meshes: CollectionProperty(type=OssifySource)  # of the rig, in the order of the sources
    memory: PointerProperty(type=bpy.types.Mesh, name="Memory", description="What the rig remembers")
    motion_file: StringProperty(name="Motion", description="The file with the motion")
    first_frame: IntProperty(name="First Frame")
    last_frame: IntProperty(name="Last Frame")
    clips: CollectionProperty(type=OssifyClip)
    clip_index: IntProperty(name="Clip")

    erms: FloatProperty(name="E_RMS", precision=4)
    size: FloatProperty(name="Size", description="Diagonal of the rest shape's box", subtype="DISTANCE")
    rms: FloatProperty(name="Average", precision=4, description="Root mean square, in percent of the size")
    mean: FloatProperty(name="Mean", precision=4)
    percentile_95: FloatProperty(name="95 Percent Below", precision=4)
    maximum: FloatProperty(name="Largest", precision=4)
    worst_object: StringProperty(name="Worst Object")
    worst_vertex: IntProperty(name="Worst Vertex")
    worst_frame: IntProperty(name="Worst Frame")
    bones: IntProperty(name="Bones")
    vertices: IntProperty(name="Vertices")
    keys: IntProperty(name="Keys")
    keys_if_every: IntProperty(name="Keys if Every Frame")
    keys_moved: FloatProperty(name="Moved by Reduction", precision=4)
    rig_size: StringProperty(name="As a Rig")
    shape_key_size: StringProperty(name="As Shape Keys")
    cache_size: StringProperty(name="As a Point Cache")
    notes: StringProperty(name="Notes")
    located: IntProperty(name="Bones That Also Move")
    location: FloatProperty(
        name="Largest Move", precision=4, description="Of a bone against its parent, in percent of the size"
    )
    free_erms: FloatProperty(name="E_RMS of Free Bones", precision=4, description="0: joints do not hold")

    wishes: CollectionProperty(type=OssifyWish)
    root_bone: StringProperty(name="Root Bone", description="The bone that others hang from; empty: found")
    show_joints: BoolProperty(
        name="Show Joints",
        description="Draw the joints by how well they are known: a green dot is well determined, a blue bar"
        " the axis of a hinge, a yellow dot hardly turns, a red ring is a guess",
        update=lambda _self, _context: overlay.redraw(),
        options=set(),
    )

    refitted: BoolProperty(name="Refitted")
    rms_before: FloatProperty(name="Error Before", description="Of the last refit, in percent of the size")
    fits: CollectionProperty(type=OssifyFit)
    changes: CollectionProperty(type=OssifyChange)
    looked: BoolProperty(name="Looked", description="Changes were looked for since the last refit")
    keep_repainted: BoolProperty(
        name="Keep Painted Weights", description="Vertices that you painted keep their weights", default=True
    )
    keep_rekeyed: BoolProperty(
        name="Keep Poses", description="Bones keep their pose in frames that you keyed", default=True
    )
    keep_sculpted: BoolProperty(
        name="Keep Sculpted Shape", description="Vertices that you moved stay where they are", default=True
    )

    worst_frame_error: FloatProperty(name="Error of the Worst Frame", precision=4)
    frames: CollectionProperty(type=OssifyFrame)
    frame_index: IntProperty(name="Frame", description="Go to this frame", update=_jump)
    show_error: BoolProperty(
        name="Show Error",
        description="Colour the meshes by their error: blue is small, red is large",
        update=_show_error,
        options=set(),
    )
    show_change: BoolProperty(
        name="Show Change",
        description="Colour the meshes by what the last refit did to the error: blue fell, red rose",
        update=_show_change,
        options=set(),
    )


def _blender_version() -> str:
    return bpy.app.version_string


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
    rig.version, rig.blender = native.version(), _blender_version()
    rig.settings.assign(options)
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


def note_report(rig, report) -> None:
    """How well a rig fits, onto its record."""
    for name in ("rms", "mean", "percentile_95", "maximum", "keys_moved"):
        setattr(rig, name, report.percent(getattr(report, name)))
    for name in "erms size worst_object worst_vertex worst_frame bones vertices keys keys_if_every".split():
        setattr(rig, name, getattr(report, name))
    rig.rig_size, rig.shape_key_size, rig.cache_size = report.sizes()
    rig.notes = "\n".join(report.notes)
    rig.located, rig.location = report.located, report.percent(report.location)
    rig.free_erms = report.free.erms if report.free is not None else 0
    rig.worst_frame_error = report.percent(float(report.frame_error.max()))
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
    rig.changes.clear()
    rig.looked = False
    rig.fits.clear()
    worst = sorted(result.bones, key=lambda line: line.after - line.before)
    for kind, lines in (("MESH", result.meshes), ("BONE", worst)):
        for line in lines:
            item = rig.fits.add()
            item.kind, item.name, item.before, item.after = kind, *line


CLASSES = (
    OssifySettings,
    OssifyBake,
    OssifyRefit,
    OssifySource,
    OssifyClip,
    OssifyFrame,
    OssifyWish,
    OssifyChange,
    OssifyFit,
    OssifyRig,
)


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.ossify = PointerProperty(type=OssifySettings, name="Ossify")
    bpy.types.Scene.ossify_bake = PointerProperty(type=OssifyBake, name="Ossify Bake")
    bpy.types.Scene.ossify_refit = PointerProperty(type=OssifyRefit, name="Ossify Refit")
    bpy.types.Object.ossify = PointerProperty(type=OssifyRig, name="Ossify Rig")


def unregister() -> None:
    del bpy.types.Object.ossify
    del bpy.types.Scene.ossify_refit
    del bpy.types.Scene.ossify_bake
    del bpy.types.Scene.ossify
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
