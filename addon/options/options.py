"""What an artist may choose, as plain values: defaults, presets, and what cannot go together.

Imports without Blender. The files of words beside it give every field its name, tooltip and limits; ui/ makes
properties of them and command_line.py flags, and both take the defaults from here.
"""

from __future__ import annotations

import dataclasses
import math

from .. import native

MOST_NEEDED = 8  # influences of a vertex, when they are not counted: more bring next to nothing


def plain(value):
    """A value of a property without its owner."""
    return value if isinstance(value, (bool, int, float, str)) else tuple(value)


class _Stored:
    """What Blender stores under the same names, on a scene or on a rig."""

    @classmethod
    def of(cls, settings):
        """As they are there; what is not stored, as the path of a cache, has its default."""
        names = [field.name for field in dataclasses.fields(cls) if hasattr(settings, field.name)]
        return cls(**{name: plain(getattr(settings, name)) for name in names})

    def store(self, settings) -> None:
        for field in dataclasses.fields(self):
            setattr(settings, field.name, getattr(self, field.name))


@dataclasses.dataclass
class Options(_Stored):
    bones_by: str = "PARTS"  # COUNT, BUDGET, PARTS
    bones: int = 24
    budget: float = 0.25  # percent of the size, or degrees of normals
    budget_of: str = "RMS"  # RMS, MAXIMUM, NORMALS
    bones_most: int = 128  # when they are not counted
    bone_kind: str = "RIGID"  # RIGID, FLEXIBLE
    skeleton: str = "AUTO"  # NONE, HIERARCHY, ARTICULATED, ANIMATOR, AUTO: by what the bones move
    helpers: str = "AUTO"  # AUTO, COUNT, OFF
    helper_count: int = 12
    root: str = "FOUND"  # FOUND, PLACE
    root_place: tuple[float, float, float] = (0.0, 0.0, 0.0)  # in the scene
    symmetry: str = "FOUND"  # NONE, FOUND, X
    names: str = "PLACES"  # PLACES, HUMAN, QUADRUPED, RIGIFY
    facing: str = "FOUND"  # FOUND, MINUS_Y, PLUS_Y, MINUS_X, PLUS_X
    influences_by: str = "COUNT"  # COUNT, AUTO
    influences: int = 4
    virtual_bones: int = 0  # 0: vertices follow the bones themselves
    correctives: str = "OFF"  # OFF, KEYED, DRIVEN, AUTO
    corrective_count: int = 5
    corrective_budget: float = 0.0  # percent of the size; 0: by count
    quality: str = "NORMAL"  # DRAFT, NORMAL, BEST
    locality: bool = True
    fairness: float = 10.0
    rest: str = "UNDEFORMED"  # UNDEFORMED, FRAME, SYNTHESISED
    rest_frame: int = 1
    rest_correction: str = "FIXED"  # FIXED, SMOOTH, KEPT, FREE
    keep_volume: bool = False
    frames: str = "SCENE"  # SCENE, PREVIEW, CUSTOM, POSES
    frame_start: int = 1
    frame_end: int = 250
    frame_step: int = 1
    smooth_jitter: bool = False
    clips: str = "ONE"  # ONE, MARKERS, TAKES, SUBJECTS
    each: bool = False  # object has a rig of its own
    nla: bool = False
    pose_assets: bool = True  # of shape keys as poses
    keys: str = "REDUCED"  # EVERY, REDUCED
    key_tolerance: float = 0.1  # percent of the size
    key_shape: str = "BEZIER"  # BEZIER, LINEAR
    hide_source: bool = True
    keep_motion: str = "AUTO"  # AUTO, PACKED, FILE, NONE
    seed: int = 0
    threads: int = 0

    @property
    def most_influences(self) -> int:
        """Of a vertex."""
        return self.influences if self.influences_by == "COUNT" else MOST_NEEDED

    def solver(self) -> native.Settings:
        """The same in the library's words."""
        kinds = {"COUNT": "none", "BUDGET": self.budget_of.lower(), "PARTS": "parts"}
        return native.Settings(
            bones=self.bones if self.bones_by == "COUNT" else self.bones_most,
            budget_kind=kinds[self.bones_by],
            budget=self.budget if self.bones_by == "BUDGET" else 0.0,
            influences=self.most_influences,
            bone_kind=self.bone_kind.lower(),
            quality=self.quality.lower(),
            rest_mode="free" if self.rest == "SYNTHESISED" else self.rest_correction.lower(),
            locality=self.locality,
            fairness=self.fairness,
            seed=self.seed,
            threads=self.threads,
            jointed=self.skeleton != "NONE" and self.bones_by == "COUNT",
        )

    def wishes(self, **more) -> native.Wishes:
        """What the skeleton shall be like, likewise; `more` are other fields of Wishes."""
        symmetry = {"X": "given"}.get(self.symmetry, self.symmetry.lower())
        plane = (1.0, 0.0, 0.0, 0.0) if self.symmetry == "X" else None
        return native.Wishes(symmetry=symmetry, plane=plane, **more)


FIELDS = tuple(field.name for field in dataclasses.fields(Options))

# Each preset changes what it names and leaves the range, the rest frame and the seed alone.
_PRESET_DEFAULTS = {
    name: getattr(Options, name)
    for name in (
        "bones_by bones budget budget_of bones_most bone_kind skeleton helpers helper_count influences_by"
        " influences quality locality fairness correctives corrective_count rest rest_correction"
        " smooth_jitter keys key_tolerance"
    ).split()
}
PRESETS = {
    "GAME": ("Game Character", "A skeleton, four influences, few keys: what a game engine wants", {}),
    "CLOTH": (
        "Cloth",
        "Many small rigid bones with soft weights, for flags, curtains and dresses",
        {
            "bones_by": "COUNT",
            "bones": 48,
            "skeleton": "NONE",
            "influences_by": "AUTO",
            "correctives": "AUTO",
            "rest_correction": "SMOOTH",
        },
    ),
    "FACE": (
        "Face",
        "More bones, and a rest shape that is not touched, for shape keys and expressions",
        {
            "bones_by": "COUNT",
            "bones": 40,
            "skeleton": "NONE",
            "influences_by": "AUTO",
            "correctives": "AUTO",
            "corrective_count": 8,
            "key_tolerance": 0.02,
        },
    ),
    "FIDELITY": (
        "Highest Fidelity",
        "Flexible bones, eight influences and a key on every frame; slow, and close to the source",
        {
            "bones_by": "COUNT",
            "bones": 64,
            "bone_kind": "FLEXIBLE",
            "skeleton": "NONE",
            "influences": 8,
            "quality": "BEST",
            "correctives": "AUTO",
            "rest_correction": "SMOOTH",
            "keys": "EVERY",
        },
    ),
    "GENERATED": (
        "Generated",
        "For motion from a generator or a scanner: jitter is smoothed in time first, no frame has to be a"
        " neutral pose, joints hold, and keys are few",
        {
            "bones_by": "COUNT",
            "skeleton": "ARTICULATED",
            "rest": "SYNTHESISED",
            "smooth_jitter": True,
            "key_tolerance": 0.25,
        },
    ),
    "DRAFT": ("Draft", "A quick look", {"helpers": "OFF", "quality": "DRAFT", "key_tolerance": 0.2}),
}


# A value that is chosen without a word on another field sets that one too: (field, value) -> (field, value).
_IMPLIED = {("bone_kind", "FLEXIBLE"): ("skeleton", "NONE")}
# So does a field that belongs to a choice of another one, whatever its value.
_BELONGS = {
    "bones": ("bones_by", "COUNT"),
    "budget": ("bones_by", "BUDGET"),
    "helper_count": ("helpers", "COUNT"),
    "bones_most": ("bones_by", "BUDGET"),
    "influences": ("influences_by", "COUNT"),
    "root_place": ("root", "PLACE"),
    "rest_frame": ("rest", "FRAME"),
    "frame_start": ("frames", "CUSTOM"),
    "frame_end": ("frames", "CUSTOM"),
    "key_tolerance": ("keys", "REDUCED"),
}


def holds(settings) -> bool:
    """Whether joints hold by these settings (anything with the fields), but for those of helpers."""
    return settings.skeleton in ("ARTICULATED", "ANIMATOR")


def implied(given: dict) -> dict:
    """The given values of fields, and what they imply of others."""
    more = [_BELONGS[name] for name in given if name in _BELONGS]
    more += [_IMPLIED[item] for item in given.items() if item in _IMPLIED]
    return {**dict(more), **given}


def wished(**given) -> Options:
    """As a person chooses them: what they imply comes with them."""
    return Options(**implied(given))


def preset_values(name: str) -> dict:
    return {**_PRESET_DEFAULTS, **PRESETS[name][2]}


def preset_of(settings) -> str | None:
    """The preset that `settings` (anything with the fields) agree with."""
    for name in PRESETS:
        if all(_same(getattr(settings, field), value) for field, value in preset_values(name).items()):
            return name
    return None


def _same(a, b) -> bool:
    return abs(a - b) < 1e-6 if isinstance(b, float) else a == b


def range_contradiction(settings, scene=None) -> str | None:
    """Why there is no such range of frames, in one sentence; None when there is."""
    if settings.frames == "CUSTOM" and settings.frame_end < settings.frame_start:
        return (
            f"The range ends ({settings.frame_end}) before it starts ({settings.frame_start}):"
            " there are no frames in it."
        )
    if settings.frames == "PREVIEW" and scene is not None and not scene.use_preview_range:
        return "The scene has no preview range: set one in the timeline or choose another range."
    return None


def _subjects_contradiction(settings) -> str | None:
    """Why bodies cannot share such a rig."""
    if settings.bone_kind == "FLEXIBLE":
        return "Bodies that share a rig have rigid bones: choose those, or convert one after the other."
    if settings.skeleton == "ANIMATOR":
        return (
            "An animator's skeleton is found for one body: choose Articulated, whose joints hold in each of"
            " several."
        )
    if settings.virtual_bones or settings.keep_volume or settings.correctives != "OFF":
        return (
            "Virtual bones, Keep Volume and correctives belong to one body: add them to each rig when the"
            " bodies are converted."
        )
    return None


def contradiction(settings, scene=None) -> str | None:
    """Why these settings (anything with the fields) cannot be used, in one sentence; None when they can."""
    sentence = range_contradiction(settings, scene)
    if sentence:
        return sentence
    if settings.frames == "POSES" and settings.rest == "FRAME":
        return "Shape keys as poses have no frames to take the rest shape from: choose the undeformed mesh."
    if settings.frames == "POSES" and settings.clips != "ONE":
        return "Shape keys as poses have no time to divide: choose one clip, or frames."
    if settings.frames == "POSES" and settings.smooth_jitter:
        return "Shape keys as poses have no time in which jitter could be smoothed: choose frames."
    if settings.clips == "SUBJECTS":
        sentence = _subjects_contradiction(settings)
        if sentence:
            return sentence
    if settings.each and settings.clips == "TAKES":
        return "Takes of one mesh are one rig: choose other clips, or one rig for all objects."
    if settings.correctives != "OFF" and (settings.virtual_bones or settings.keep_volume):
        other = "Virtual bones" if settings.virtual_bones else "Keep Volume"
        return f"{other} and correctives are two ways to show what bones miss: choose one of them."
    if settings.bone_kind == "FLEXIBLE" and settings.skeleton not in ("NONE", "AUTO"):
        return "Flexible bones stretch and shear, and joints do not: choose rigid bones, or no skeleton."
    if settings.skeleton == "ANIMATOR" and settings.bones_by == "BUDGET":
        return (
            "An animator's bones are counted or found, whatever error they leave: choose another way to find"
            " their number, or another skeleton."
        )
    if settings.keep_volume and settings.virtual_bones:
        return "Keep Volume and virtual bones are two ways to make up for few bones: choose one of them."
    if settings.root == "PLACE" and not all(map(math.isfinite, settings.root_place)):
        return "The place of the root is not finite: choose one that is near the mesh."
    return None


@dataclasses.dataclass
class TrackOptions(_Stored):
    """What track.py may be asked for; the range means what it means in Options."""

    name: str = ""  # of the action; empty: the source's
    frames: str = "SCENE"  # SCENE, PREVIEW, CUSTOM
    frame_start: int = 1
    frame_end: int = 250
    frame_step: int = 1
    place: str = "WORLD"  # WORLD, RIG
    match_limit: float = 2.0  # percent of the size
    nla: bool = False


TRACK_FIELDS = tuple(field.name for field in dataclasses.fields(TrackOptions))


@dataclasses.dataclass
class UnwrapOptions(_Stored):
    """What unwrap.py may be asked for; the range means what it means in Options."""

    name: str = "Motion"  # of the new map
    frames: str = "SCENE"  # SCENE, PREVIEW, CUSTOM, POSES
    frame_start: int = 1
    frame_end: int = 250
    frame_step: int = 1
    with_rest: bool = False
    place: str = "KEPT"  # KEPT, PACKED


UNWRAP_FIELDS = tuple(field.name for field in dataclasses.fields(UnwrapOptions))


@dataclasses.dataclass
class BakeOptions(_Stored):
    """What bake.py may be asked for; the range means what it means in Options."""

    to: str = "SHAPE_KEYS"  # SHAPE_KEYS, or one of CACHE_ENDINGS
    shapes: str = "FRAMES"  # FRAMES, KEYS
    frames: str = "SCENE"  # SCENE, PREVIEW, CUSTOM
    frame_start: int = 1
    frame_end: int = 250
    frame_step: int = 1
    filepath: str = ""  # of the cache; // is the folder of the .blend


BAKE_FIELDS = tuple(field.name for field in dataclasses.fields(BakeOptions) if field.name != "filepath")
# The first ending of a kind is added to a path that has none of them.
CACHE_ENDINGS = {"PC2": (".pc2",), "MDD": (".mdd",), "ALEMBIC": (".abc",), "USD": (".usdc", ".usda", ".usd")}


@dataclasses.dataclass
class RefitOptions(_Stored):
    """What refit.py may be asked for."""

    solve: str = "BOTH"  # BOTH, TRANSFORMS, WEIGHTS
    only: str = "ALL"  # ALL, BONES, VERTICES: those that are selected
    rest: bool = True  # the rest shape is corrected as the rig's settings say
    joints: bool = False  # where joints hold, all but the artist's own are found anew
    motion: str = "KEPT"  # KEPT, SOURCE
    frames: str = "ALL"  # ALL, CUSTOM
    frame_start: int = 1
    frame_end: int = 250
    quality: str = "RIG"  # RIG, DRAFT, NORMAL, BEST
    move_idle: str = "NEVER"  # NEVER, AUTOMATIC, ALWAYS: bones leave for places where they are missed


REFIT_FIELDS = tuple(field.name for field in dataclasses.fields(RefitOptions))


@dataclasses.dataclass
class CompressOptions(_Stored):
    """What two_layer/compress.py may be asked for."""

    count: int = 100  # of virtual bones
    masters: int = 8  # most of each
    influences: int = 4  # most virtual bones of a vertex
    examples: str = "POSES"  # POSES, WEIGHTS
    straighten: bool = False  # bendy bones lose their segments


COMPRESS_FIELDS = tuple(field.name for field in dataclasses.fields(CompressOptions))


@dataclasses.dataclass
class FitOptions(_Stored):
    """What family/fit.py may be asked for."""

    axes: str = "AUTO"  # AUTO, KEEP, FOLLOW


FIT_FIELDS = tuple(field.name for field in dataclasses.fields(FitOptions))


@dataclasses.dataclass
class AdoptOptions(_Stored):
    """What adopt.py may be asked for, beside what Options say of range, weights and keys."""

    bone_motion: str = "AUTO"  # AUTO, OWN, SOLVED
    painted: str = "SOLVED"  # SOLVED, HELD


ADOPT_FIELDS = tuple(field.name for field in dataclasses.fields(AdoptOptions))


@dataclasses.dataclass
class SlidersOptions(_Stored):
    """What family/sliders.py may be asked for."""

    count: int = 10  # of sliders at most
    mirrored: bool = False  # mirror images are bodies, too


SLIDERS_FIELDS = tuple(field.name for field in dataclasses.fields(SlidersOptions))


@dataclasses.dataclass
class BodyBonesOptions(_Stored):
    """What family/body_bones.py may be asked for."""

    count: int = 40  # of shape bones


BODY_BONES_FIELDS = tuple(field.name for field in dataclasses.fields(BodyBonesOptions))
