"""The structs of a call, with the arrays they point into: filled from what is given, read when it is over."""

from __future__ import annotations

import ctypes

import numpy as np

from . import header
from .arguments import address, as_array, choice, flag, items, noun, pairs, real, whole
from .errors import OssifyError, refuse
from .nouns import (
    HELD,
    Average,
    Compression,
    Conduct,
    Corrected,
    Correction,
    Driven,
    Driving,
    Evaluation,
    Info,
    Layers,
    Merged,
    Placed,
    Progress,
    Rig,
    Settings,
    Skeleton,
    Space,
    United,
    Unwrapped,
    Unwrapping,
    Wishes,
    known,
)


def progress_of(struct: header.Progress) -> Progress:
    return Progress(
        bool(struct.finished),
        header.STAGES[struct.stage],
        struct.iterations,
        struct.bones,
        struct.fraction,
        struct.erms if struct.erms >= 0 else None,
    )


def _triangles(triangles) -> np.ndarray | None:
    """[t][3]; None when there are none"""
    if triangles is None or (isinstance(triangles, (list, tuple, np.ndarray)) and not len(triangles)):
        return None
    return as_array("triangles", triangles, np.int32, "tc", (None, 3))


class Call:
    """The structs of one call, and the arrays they point into."""

    def __init__(
        self,
        rest,
        frames,
        triangles,
        settings: Settings | None,
        frame_count: int | None = None,
        subject=None,
    ):
        """frame_count: of a verb that needs no frames; then the rest says how many vertices there are.
        subject [f]: whose frame it is, of several bodies; rest is [s][v][3] then."""
        self.frames = None
        if frame_count is None:
            self.frames = as_array("frames", frames, np.float32, "fvx", (None, None, 3))
            frame_count = len(self.frames)
        vertex_count = None if self.frames is None else self.frames.shape[1]
        self.subject = (
            None if subject is None else as_array("subject", subject, np.int32, "f", (frame_count,))
        )
        self.rest = None if rest is None else self._rests("rest", rest, vertex_count)
        vertex_count = self.rest.shape[-2] if vertex_count is None else vertex_count
        self.shape = frame_count, vertex_count
        self.triangles = _triangles(triangles)
        self.settings = noun("settings", settings, Settings, optional=True).struct()
        self.poses = header.sized(
            header.Poses,
            vertex_count=vertex_count,
            frame_count=frame_count,
            triangle_count=0 if self.triangles is None else len(self.triangles),
            rest=address(self.rest),
            frames=address(self.frames),
            triangles=address(self.triangles),
            subject_count=len(self.rest) if self.bodies else 0,
            subject=address(self.subject),
        )
        self.info = header.sized(header.Info)
        self.rig: header.Rig | None = None  # for verbs that have one; see make_room
        self.room: Room | None = None  # of the skeleton, for verbs that have one
        self.figures: Figures | None = None  # of an evaluation, likewise
        self.worth: Worth | None = None  # of correctives, likewise
        self.slots: Slots | None = None  # of animation space, likewise
        self.folds: Folds | None = None  # of two layers, likewise
        self.following: Following | None = None  # of their drivers, likewise
        self.crowd: Crowd | None = None  # of subjects, likewise
        self.family: Family | None = None  # of bodies, likewise
        self.graft: Graft | None = None  # of a merge, likewise
        self.sheet: Sheet | None = None  # of a map, likewise
        self.options: ctypes.Structure | None = None  # a struct of the verb's own
        self.result: ctypes.Structure | None = None

    def _rests(self, name: str, rest, vertices: int | None, bodies: int | None = None) -> np.ndarray:
        """[v][3], or [s][v][3] of several subjects"""
        if self.subject is None:
            return as_array(name, rest, np.float32, "vx", (vertices, 3))
        return as_array(name, rest, np.float32, "svx", (bodies, vertices, 3))

    def make_room(
        self, given: Rig | None, more: int = 0, correctives: int = 0, most: int = header.MAX_INFLUENCES
    ) -> None:
        """Arrays for the answer, holding what is given; `more` bones than those have room, too, and so many
        correctives. most: of the influences a vertex that may be given."""
        frame_count, vertex_count = self.shape
        given = self.checked(noun("rig", given, Rig, optional=True), most)
        bones = given.bones
        capacity = max(bones + more, min(max(self.settings.bones, 1), header.MAX_BONES))
        influences = min(max(self.settings.influences, 1), header.MAX_INFLUENCES)
        if given.influence_bones is not None:
            influences = max(influences, given.influence_bones.shape[1])
        self.transforms = np.zeros((frame_count, capacity, 3, 4))
        self.influence_bones = np.full((vertex_count, influences), -1, np.int32)
        self.influence_weights = np.zeros((vertex_count, influences), np.float32)
        self.corrected = np.zeros((*self.bodies, vertex_count, 3), np.float32)
        self.held = {name: getattr(given, name) for name in HELD}
        flags = 0
        if given.transforms is not None:
            flags |= header.GIVEN_TRANSFORMS
            self.transforms[:, :bones] = given.transforms
        if given.influence_bones is not None:
            flags |= header.GIVEN_WEIGHTS
            self.influence_bones[:, : given.influence_bones.shape[1]] = given.influence_bones
            self.influence_weights[:, : given.influence_bones.shape[1]] = given.influence_weights
        if given.rest is not None:
            self.corrected[:] = given.rest
        self._make_correctives(given, correctives)
        self.rig = header.sized(
            header.Rig,
            bone_capacity=capacity,
            influences=influences,
            bones=bones,
            given=flags,
            transforms=address(self.transforms),
            influence_bones=address(self.influence_bones),
            influence_weights=address(self.influence_weights),
            rest=address(self.corrected),
            **{name: address(array) for name, array in self.held.items()},
            corrective_capacity=len(self.fields),
            correctives=0 if given.fields is None else len(given.fields),
            fields=address(self.fields),
            coefficients=address(self.coefficients),
        )

    def _make_correctives(self, given: Rig, capacity: int) -> None:
        frame_count, vertex_count = self.shape
        held = 0 if given.fields is None else len(given.fields)
        self.fields = np.zeros((max(held, capacity), vertex_count, 3), np.float32)
        self.coefficients = np.zeros((frame_count, len(self.fields)))
        if held:
            self.fields[:held] = given.fields
            self.coefficients[:, :held] = given.coefficients

    def checked(self, given: Rig, most: int = header.MAX_INFLUENCES) -> Rig:
        """A given rig as arrays of the right types and shapes; what they hold is the library's to judge."""
        frames, vertices = self.shape

        def part(name, dtype, letters, *shape):
            value = getattr(given, name)
            return None if value is None else as_array(f"rig.{name}", value, dtype, letters, shape)

        rig = Rig()
        rig.transforms = part("transforms", np.float64, "fbrc", frames, None, 3, 4)
        rig.influence_bones = part("influence_bones", np.int32, "vk", vertices, None)
        influences = None if rig.influence_bones is None else rig.influence_bones.shape[1]
        rig.influence_weights = part("influence_weights", np.float32, "vk", vertices, influences)
        if (rig.influence_bones is None) != (rig.influence_weights is None):
            refuse("rig.influence_bones and rig.influence_weights come together or not at all.")
        if rig.bones > header.MAX_BONES:
            refuse(f"The given rig has {rig.bones} bones; {header.MAX_BONES} is the most.")
        if influences is not None and influences > most:
            refuse(f"The given rig has {influences} influences a vertex; {most} is the most.")
        bodies = self.bodies[0] if self.bodies else None
        rig.rest = None if given.rest is None else self._rests("rig.rest", given.rest, vertices, bodies)
        if rig.rest is None and (rig.transforms is not None or rig.influence_bones is not None):
            rig.rest = self.rest
            if rig.rest is None:
                refuse("rig.rest is missing: a given rig needs the rest pose it belongs to.")
        rig.held_transforms = part("held_transforms", np.uint8, "fb", frames, rig.bones)
        rig.held_vertices = part("held_vertices", np.uint8, "v", vertices)
        rig.held_groups = part("held_groups", np.uint8, "b", rig.bones)
        rig.held_rest = part("held_rest", np.uint8, "v", vertices)
        rig.fields = part("fields", np.float32, "nvx", None, vertices, 3)
        correctives = 0 if rig.fields is None else len(rig.fields)
        if correctives > header.MAX_CORRECTIVES:
            refuse(f"The given rig has {correctives} correctives; {header.MAX_CORRECTIVES} is the most.")
        rig.coefficients = part("coefficients", np.float64, "fn", frames, correctives)
        if rig.coefficients is None:
            rig.coefficients = np.zeros((frames, correctives))
        return rig

    def request(self, verb: str) -> header.Request:
        """The structs as the library takes them; they live as long as the call does."""
        pointed = {
            "poses": self.poses,
            "settings": self.settings,
            "rig": self.rig,
            "skeleton": self.room and self.room.struct,
            "space": self.slots and self.slots.struct,
            "evaluation": self.figures and self.figures.struct,
        }
        own = {"options": self.options, "result": self.result}
        return header.sized(
            header.Request,
            verb=header.VERBS.index(verb),
            **{name: ctypes.pointer(struct) for name, struct in pointed.items() if struct is not None},
            **{name: ctypes.addressof(struct) for name, struct in own.items() if struct is not None},
        )

    def raise_refusal(self) -> None:
        if self.info.status < 0:
            sentence = self.message() or f"The library ended with {self.info.status}."
            raise OssifyError(_status(self.info.status), sentence)

    def rig_found(self) -> Rig:
        transforms = np.ascontiguousarray(self.transforms[:, : self.rig.bones])
        rig = Rig(transforms, self.influence_bones, self.influence_weights, self.corrected)
        count = self.rig.correctives
        if count:
            rig.fields = self.fields[:count]
            rig.coefficients = np.ascontiguousarray(self.coefficients[:, :count])
        return rig

    @property
    def bodies(self) -> tuple[int, ...]:
        """() of one body, (s,) of several subjects"""
        return () if self.subject is None or self.rest is None else self.rest.shape[:1]

    def skeleton_found(self) -> Skeleton:
        return self.room.answer(self.message())

    def worth_found(self) -> Corrected:
        return self.worth.answer(self.rig.correctives)

    def space_found(self) -> Space:
        return self.slots.answer()

    def united_found(self) -> United:
        return self.crowd.answer(self.rig.bones)

    def merged_found(self) -> Merged:
        return self.graft.answer(self.rig.bones)

    def placed_found(self) -> Placed:
        return self.family.answer()

    def layers_found(self) -> Layers:
        return self.folds.answer()

    def following_found(self) -> Driven:
        return self.following.answer(self.rig.correctives)

    def info_found(self, seconds: float) -> Info:
        info = self.info
        return Info(
            _status(info.status),
            info.bones,
            info.iterations,
            info.erms,
            info.rms_percent,
            info.maximum_percent,
            seconds,
            dict(zip(header.STAGES, info.stage_seconds, strict=True)),
            self.message(),
            known(info.normal_degrees),
            known(info.bumps),
            known(info.rest_normal_degrees),
            known(info.rest_bumps),
            known(info.rest_percent),
        )

    def message(self) -> str:
        return self.info.message.decode(errors="replace")


def _status(number: int) -> int:
    try:
        return header.Status(number)
    except ValueError:
        return number


class Room:
    """A skeleton's struct, and the arrays it points into."""

    def __init__(self, bones: int, wishes: Wishes, bodies: tuple[int, ...] = ()):
        """bodies: () of one, (s,) of several, whose joints are [s][b][3]"""
        self.demanded = pairs("wishes.demanded", wishes.demanded)
        self.forbidden = pairs("wishes.forbidden", wishes.forbidden)
        self.parents, self.kinds, self.mirrors = (np.full(bones, -1, np.int32) for _ in range(3))
        self.joints, self.axes = np.zeros((*bodies, bones, 3)), np.zeros((bones, 3))
        self.angles, self.drifts = (np.zeros(bones) for _ in range(2))
        self.struct = header.sized(
            header.Skeleton,
            bone_capacity=bones,
            root=whole("root", wishes.root, "wishes."),
            forest=flag("forest", wishes.forest, "wishes."),
            symmetry=choice("symmetry", wishes.symmetry, header.SYMMETRIES, "wishes."),
            demanded_count=len(self.demanded),
            forbidden_count=len(self.forbidden),
            demanded=address(self.demanded),
            forbidden=address(self.forbidden),
            parents=address(self.parents),
            joint_kinds=address(self.kinds),
            mirrors=address(self.mirrors),
            joints=address(self.joints),
            axes=address(self.axes),
            angles=address(self.angles),
            drifts=address(self.drifts),
        )
        if wishes.plane is not None:
            numbers = items("plane", wishes.plane, len(self.struct.plane))
            self.struct.plane[:] = [real("plane", number, "") for number in numbers]

    @classmethod
    def holding(
        cls, skeleton: Skeleton, bones: int, stretch: bool, held_joints=None, stiffness=None, bodies=()
    ) -> Room:
        """The struct of a skeleton that is known."""
        skeleton = noun("skeleton", skeleton, Skeleton)
        symmetric = skeleton.plane is not None
        wishes = Wishes(skeleton.root, symmetry="given" if symmetric else "none", plane=skeleton.plane)
        room = cls(bones, wishes, bodies)
        for name, dtype, letters, shape in (
            ("parents", np.int32, "b", (bones,)),
            ("mirrors", np.int32, "b", (bones,)),
            ("joints", np.float64, "sbx"[-2 - len(bodies) :], (*bodies, bones, 3)),
            ("axes", np.float64, "bx", (bones, 3)),
            ("angles", np.float64, "b", (bones,)),
            ("drifts", np.float64, "b", (bones,)),
        ):
            getattr(room, name)[:] = as_array(
                f"skeleton.{name}", getattr(skeleton, name), dtype, letters, shape
            )
        kinds = items("skeleton.kinds", skeleton.kinds, bones)
        room.kinds[:] = [choice("kinds", kind, header.JOINT_KINDS, "skeleton.") for kind in kinds]
        room.struct.stretch = flag("stretch", stretch, "")
        if held_joints is not None:
            room.held_joints = as_array("held_joints", held_joints, np.uint8, "b", (bones,))
            room.struct.held_joints = address(room.held_joints)
        if stiffness is not None:
            room.stiffness = as_array("stiffness", stiffness, np.float64, "b", (bones,))
            room.struct.stiffness = address(room.stiffness)
        return room

    def answer(self, message: str) -> Skeleton:
        return Skeleton(
            self.struct.root,
            self.parents,
            self.joints,
            [header.JOINT_KINDS[kind] for kind in self.kinds],
            self.axes,
            self.angles,
            self.drifts,
            self.mirrors,
            np.array(self.struct.plane) if self.struct.symmetry else None,
            message,
        )


class Worth:
    """The wishes for correctives and what comes of them: structs, and the arrays they point into."""

    def __init__(self, call: Call, correction: Correction, parents, held_coefficients):
        room = max(call.rig.corrective_capacity, 1)
        self.joints, self.gains = np.full(room, -1, np.int32), np.zeros(room)
        self.options = correction.struct()
        self.result = header.sized(header.Corrected, joints=address(self.joints), gains=address(self.gains))
        if parents is not None:
            self.parents = as_array("parents", parents, np.int32, "b", (call.rig.bones,))
            self.options.parents = address(self.parents)
        if held_coefficients is not None:
            shape = (call.rig.correctives,)
            self.held = as_array("held_coefficients", held_coefficients, np.uint8, "n", shape)
            self.options.held_coefficients = address(self.held)

    def answer(self, count: int) -> Corrected:
        return Corrected(self.joints[:count], self.gains[:count], self.result.bare_erms)


class Slots:
    """A space's struct, and the arrays it points into."""

    def __init__(self, call: Call, given: Space | None, influences: int):
        vertices = call.shape[1]
        if given is None:
            self.bones = np.full((vertices, influences), -1, np.int32)
            self.corrections = np.zeros((vertices, influences, 4), np.float32)
        else:
            given = noun("space", given, Space)
            self.bones = as_array("space.bones", given.bones, np.int32, "vk", (vertices, None))
            shape = (vertices, self.bones.shape[1], 4)
            self.corrections = as_array("space.corrections", given.corrections, np.float32, "vkx", shape)
        self.struct = header.sized(
            header.Space,
            influences=self.bones.shape[1],
            given=given is not None,
            bones=address(self.bones),
            corrections=address(self.corrections),
        )

    def hang(self, options: header.SpaceFit, bones: int, parents, joints) -> None:
        """Bones about joints, if there are parents."""
        if parents is not None:
            self.parents = as_array("parents", parents, np.int32, "b", (bones,))
            self.joints = as_array("joints", joints, np.float64, "bx", (bones, 3))
            options.parents, options.joints = address(self.parents), address(self.joints)

    def answer(self) -> Space:
        return Space(self.bones, self.corrections)


class Folds:
    """The wishes for two layers and what comes of them: structs, and the arrays they point into."""

    def __init__(self, vertex_count: int, compression: Compression):
        self.options = compression.struct()
        rows = min(max(self.options.virtual_bones, 0), header.MAX_VIRTUAL_BONES)
        masters = min(max(self.options.masters, 1), header.MAX_BONES)
        influences = min(max(self.options.influences, 1), header.MAX_BLENDED)
        self.bones = np.full((rows, masters), -1, np.int32)
        self.weights = np.zeros((rows, masters), np.float32)
        self.influence_bones = np.full((vertex_count, influences), -1, np.int32)
        self.influence_weights = np.zeros((vertex_count, influences), np.float32)
        self.result = header.sized(
            header.Layers,
            virtual_bones=address(self.bones),
            virtual_weights=address(self.weights),
            influence_bones=address(self.influence_bones),
            influence_weights=address(self.influence_weights),
        )

    def answer(self) -> Layers:
        count = self.result.count
        return Layers(
            self.bones[:count],
            self.weights[:count],
            self.influence_bones,
            self.influence_weights,
            self.result.delta,
            known(self.result.dense_erms),
        )


class Following:
    """The wishes for drivers and what comes of them: structs, and the arrays they point into."""

    def __init__(self, call: Call, driving: Driving, parents, pivots):
        room, bones = max(call.rig.corrective_capacity, 1), call.rig.bones
        self.joints = np.full(room, -1, np.int32)
        self.map, self.shifts = np.zeros((room, bones, 9)), np.zeros((room, bones, 3))
        self.parents = as_array("parents", parents, np.int32, "b", (bones,))
        self.options = driving.struct()
        self.options.parents = address(self.parents)
        if pivots is not None:
            self.pivots = as_array("pivots", pivots, np.float64, "bx", (bones, 3))
            self.options.pivots = address(self.pivots)
        self.result = header.sized(
            header.Driven, joints=address(self.joints), map=address(self.map), shifts=address(self.shifts)
        )

    def answer(self, count: int) -> Driven:
        found = self.result
        errors = (found.bare_erms, found.keyed_erms, found.whole_erms, found.joints_erms)
        form = header.DRIVEN_FORMS[found.form]
        arrays = (self.joints[:count], self.map[:count], self.shifts[:count])
        return Driven(form, *arrays, *map(known, errors))


class Crowd:
    """Subjects and what belongs to each: structs, and the arrays they point into."""

    def __init__(self, call: Call, rest, subject, joined: bool):
        frames, vertices = call.shape
        self.rest = as_array("rest", rest, np.float32, "svx", (None, vertices, 3))
        self.subject = as_array("subject", subject, np.int32, "f", (frames,))
        self.joined = bool(flag("joined", joined, ""))
        self.solved = np.zeros_like(self.rest)
        self.parents = np.full(call.rig.bone_capacity, -1, np.int32)
        self.joints = np.zeros((len(self.rest), call.rig.bone_capacity, 3))
        self.options = header.sized(
            header.Subjects,
            count=len(self.rest),
            joined=self.joined,
            rest=address(self.rest),
            subject=address(self.subject),
        )
        self.result = header.sized(
            header.United,
            rest=address(self.solved),
            parents=address(self.parents),
            joints=address(self.joints),
        )

    def answer(self, bones: int) -> United:
        if not self.joined:
            return United(self.solved, None, None, None)
        joints = np.ascontiguousarray(self.joints[:, :bones])
        return United(self.solved, self.parents[:bones], joints, self.result.root)


class Graft:
    """Pose and shape bones of several subjects, and where they hang: structs, and arrays they point into."""

    def __init__(self, call: Call, pose: Rig, shape: Rig, crowd: dict, tree: str, leaves: int, shape_parents):
        frames, vertices = call.shape
        self.arrays = {
            "subject_rest": as_array("rest", crowd["rest"], np.float32, "svx", (None, vertices, 3)),
            "subject": as_array("subject", crowd["subject"], np.int32, "f", (frames,)),
            "pose_parents": as_array("parents", crowd["parents"], np.int32, "b", (pose.bones,)),
        }
        count = len(self.arrays["subject_rest"])
        joints = as_array("joints", crowd["joints"], np.float64, "sbx", (count, pose.bones, 3))
        self.arrays["pose_joints"] = joints
        self.arrays["pose_transforms"] = pose.transforms
        for name, rig in (("pose", pose), ("shape", shape)):
            self.arrays[f"{name}_influenced"] = rig.influence_bones
            self.arrays[f"{name}_weights"] = rig.influence_weights
        if shape_parents is not None:
            self.arrays["shape_parents"] = as_array(
                "shape_parents", shape_parents, np.int32, "b", (shape.bones,)
            )
        capacity = call.rig.bone_capacity
        self.parents, self.carriers = (np.full(capacity, -1, np.int32) for _ in range(2))
        self.joints, self.shapes = np.zeros((capacity, 3)), np.zeros((count, capacity, 3, 4))
        self.options = header.sized(
            header.Merging,
            tree=choice("tree", tree, header.MERGE_TREES, ""),
            leaves=leaves,
            subject_count=count,
            pose_bones=pose.bones,
            pose_influences=self.arrays["pose_influenced"].shape[1],
            shape_bones=shape.bones,
            shape_influences=self.arrays["shape_influenced"].shape[1],
            **{name: address(array) for name, array in self.arrays.items()},
        )
        self.result = header.sized(
            header.Merged,
            parents=address(self.parents),
            carriers=address(self.carriers),
            joints=address(self.joints),
            shapes=address(self.shapes),
        )

    def answer(self, bones: int) -> Merged:
        shapes = np.ascontiguousarray(self.shapes[:, :bones])
        return Merged(self.parents[:bones], self.carriers[:bones], self.joints[:bones], shapes)


class Family:
    """Bodies and where their joints are: structs, and the arrays they point into."""

    def __init__(self, vertices: int, bones: int, parents, known, joints, rest):
        self.parents = as_array("parents", parents, np.int32, "b", (bones,))
        self.known = as_array("known", known, np.float32, "svx", (None, vertices, 3))
        self.joints = as_array("joints", joints, np.float64, "sbx", (len(self.known), bones, 3))
        self.rest = as_array("rest", rest, np.float32, "nvx", (None, vertices, 3))
        self.placed = np.zeros((len(self.rest), bones, 3))
        self.vertices = np.full((bones, header.JOINT_VERTICES), -1, np.int32)
        self.shares = np.zeros((bones, header.JOINT_VERTICES))
        self.options = header.sized(
            header.Bodies,
            known_count=len(self.known),
            count=len(self.rest),
            parents=address(self.parents),
            known=address(self.known),
            joints=address(self.joints),
            rest=address(self.rest),
        )
        self.result = header.sized(
            header.Placed,
            joints=address(self.placed),
            vertices=address(self.vertices),
            shares=address(self.shares),
        )

    def answer(self) -> Placed:
        return Placed(self.placed, self.vertices, self.shares)


class Sheet:
    """The wishes for a map and what comes of them: structs, and the arrays they point into."""

    def __init__(self, triangles: np.ndarray, uv, unwrapping: Unwrapping):
        count = len(triangles)
        self.given = as_array("uv", uv, np.float32, "tcx", (count, 3, 2))
        self.uv = np.zeros((count, 3, 2), np.float32)
        self.stretch = np.zeros(count, np.float32)
        self.islands = np.zeros(count, np.int32)
        self.options = unwrapping.struct()
        self.options.uv = address(self.given)
        self.result = header.sized(
            header.Unwrapped,
            uv=address(self.uv),
            triangle_stretch=address(self.stretch),
            triangle_islands=address(self.islands),
        )

    def answer(self) -> Unwrapped:
        found = self.result
        counts = ("islands", "restarted", "left", "flipped_before", "flipped")
        figures = ("stretch_before", "stretch", "rest_stretch_before", "rest_stretch")
        return Unwrapped(
            self.uv,
            self.stretch,
            self.islands,
            *(getattr(found, name) for name in counts),
            *(known(getattr(found, name)) for name in figures),
        )


class Sight:
    """Where bones go: the struct, and the arrays it points into."""

    def __init__(self, bones: int):
        self.flights, self.excesses, self.drifts, self.shares = (np.zeros(bones) for _ in range(4))
        self.idle = np.zeros(bones, np.uint8)
        self.limbs, self.foreign = (np.full(bones, -1, np.int32) for _ in range(2))
        names = ("flights", "excesses", "drifts", "shares", "idle", "limbs", "foreign")
        self.result = header.sized(header.Conduct, **{name: address(getattr(self, name)) for name in names})

    def answer(self) -> Conduct:
        found = self.result
        return Conduct(
            self.flights,
            self.excesses,
            self.drifts,
            self.shares,
            self.idle != 0,
            self.limbs,
            self.foreign,
            found.limb_count,
            found.torso,
        )


class Poses:
    """Poses that are averaged over, and the averages: the structs, and the arrays they point into."""

    def __init__(self, call: Call, kind: int, parents, joints):
        bones = call.rig.bones
        self.products = np.zeros((4 * bones, 4 * bones))
        self.edges = None if call.triangles is None else np.zeros((len(call.triangles), 3))
        self.options = header.sized(header.PoseModel, kind=kind)
        if parents is not None:
            self.parents = as_array("parents", parents, np.int32, "b", (bones,))
            self.joints = as_array("joints", joints, np.float64, "bx", (bones, 3))
            self.options.parents, self.options.joints = address(self.parents), address(self.joints)
        self.result = header.sized(header.Average, products=address(self.products), edges=address(self.edges))

    def answer(self) -> Average:
        return Average(self.products, self.edges)


class Figures:
    """An evaluation's struct, and the arrays it points into."""

    def __init__(self, frames: np.ndarray, replay: bool, surface: bool):
        self.replayed = np.empty_like(frames) if replay else None
        self.vertex_error = np.zeros(frames.shape[1])
        self.frame_error = np.zeros(frames.shape[0])
        self.vertex_degrees = np.zeros(frames.shape[1]) if surface else None
        self.struct = header.sized(
            header.Evaluation,
            frames=address(self.replayed),
            vertex_error=address(self.vertex_error),
            frame_error=address(self.frame_error),
            vertex_degrees=address(self.vertex_degrees),
        )

    def answer(self) -> Evaluation:
        found = self.struct
        scalars = ("erms", "rms", "maximum", "diagonal", "radius", "worst_vertex", "worst_frame")
        return Evaluation(
            self.replayed,
            self.vertex_error,
            self.frame_error,
            *(getattr(found, name) for name in scalars),
            self.vertex_degrees,
            known(found.normal_degrees),
            known(found.bumps),
            known(found.rest_normal_degrees),
            known(found.rest_bumps),
            found.rest_moved,
        )
