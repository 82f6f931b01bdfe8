"""native/ossify.h in ctypes: its constants, structs and prototypes, field by field and under its names.

Words stand for its enumerations, in their order.
"""

from __future__ import annotations

import ctypes
import enum

MESSAGE_LENGTH = 256
MAX_INFLUENCES = 16
MAX_BONES = 1024
MAX_CORRECTIVES = 256
STAGES = (
    "prepare",
    "start",
    "explore",
    "refine",
    "finish",
    "skeleton",
    "correct",
    "space",
    "compress",
    "unwrap",
)
MAX_VIRTUAL_BONES = 65536
MAX_BLENDED = 4
MAX_SUBJECTS = 4096
JOINT_VERTICES = 8

VERBS = (
    "decompose",
    "evaluate",
    "connect",
    "articulate",
    "bone_costs",
    "add_bone",
    "prune_weights",
    "smooth_weights",
    "correct",
    "animation_space",
    "compress",
    "drive",
    "place_joints",
    "unwrap",
    "fuse",
    "inspect",
    "unite",
    "shape_bones",
    "merge",
    "average_poses",
)
BONE_KINDS = ("rigid", "flexible")
SHAPE_KINDS = ("rigid", "scaled")
MERGE_TREES = ("spanned", "leaves")
QUALITIES = ("draft", "normal", "best")
REST_MODES = ("fixed", "kept", "free", "smooth")
STARTS = ("grown", "faces", "spectral", "tried")
CONNECTS = ("both", "overlap", "stable")
RELOCATIONS = ("none", "some", "all")
BUDGET_KINDS = ("none", "rms", "maximum", "parts", "normals", "bumps")
JOINT_KINDS = ("root", "ball", "hinge", "stiff", "loose")
SYMMETRIES = ("none", "found", "given")
SUPPORTS = ("whole", "joints")
SPACE_BONES = ("own", "padded")
SPACE_FORMS = ("corrections", "positions")
POSE_MODELS = ("seen", "joints", "components", "translations", "rotations", "uniform")
SOURCES = ("weights", "poses")
METHODS = ("exact", "printed")
DRIVEN_FORMS = ("whole", "joints", "found")
UNWRAP_METHODS = ("stretch", "isometric", "conformal")
UNWRAP_PLACES = ("kept", "packed")

GIVEN_TRANSFORMS = 1
GIVEN_WEIGHTS = 2


class Status(enum.IntEnum):
    CONVERGED = 0
    OUT_OF_ITERATIONS = 1
    REACHED = 2
    BAD_ARGUMENT = -1
    OUT_OF_MEMORY = -2
    CANCELLED = -3
    THREAD_FAILED = -4
    NO_ANSWER = -5


class Poses(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("vertex_count", ctypes.c_int64),
        ("frame_count", ctypes.c_int64),
        ("triangle_count", ctypes.c_int64),
        ("rest", ctypes.c_void_p),
        ("frames", ctypes.c_void_p),
        ("triangles", ctypes.c_void_p),
        ("subject_count", ctypes.c_int64),
        ("subject", ctypes.c_void_p),
    ]


class Progress(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("finished", ctypes.c_int64),
        ("stage", ctypes.c_int64),
        ("iterations", ctypes.c_int64),
        ("bones", ctypes.c_int64),
        ("fraction", ctypes.c_double),
        ("erms", ctypes.c_double),
    ]


Watch = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(Progress))


class Settings(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("bones", ctypes.c_int64),
        ("influences", ctypes.c_int64),
        ("bone_kind", ctypes.c_int64),
        ("quality", ctypes.c_int64),
        ("rest_mode", ctypes.c_int64),
        ("locality", ctypes.c_int64),
        ("start", ctypes.c_int64),
        ("budget_kind", ctypes.c_int64),
        ("budget", ctypes.c_double),
        ("smoothness", ctypes.c_double),
        ("fairness", ctypes.c_double),
        ("until", ctypes.c_double),
        ("iterations", ctypes.c_int64),
        ("threads", ctypes.c_int64),
        ("seed", ctypes.c_int64),
        ("relocate", ctypes.c_int64),
        ("jointed", ctypes.c_int64),
        ("connect", ctypes.c_int64),
        ("start_tolerance", ctypes.c_double),
        ("allocate", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("memory_user", ctypes.c_void_p),
        ("watch", Watch),
        ("watch_user", ctypes.c_void_p),
    ]


class Rig(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("bone_capacity", ctypes.c_int64),
        ("influences", ctypes.c_int64),
        ("bones", ctypes.c_int64),
        ("given", ctypes.c_int64),
        ("transforms", ctypes.c_void_p),
        ("influence_bones", ctypes.c_void_p),
        ("influence_weights", ctypes.c_void_p),
        ("rest", ctypes.c_void_p),
        ("held_transforms", ctypes.c_void_p),
        ("held_vertices", ctypes.c_void_p),
        ("held_groups", ctypes.c_void_p),
        ("held_rest", ctypes.c_void_p),
        ("corrective_capacity", ctypes.c_int64),
        ("correctives", ctypes.c_int64),
        ("fields", ctypes.c_void_p),
        ("coefficients", ctypes.c_void_p),
    ]


class Skeleton(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("bone_capacity", ctypes.c_int64),
        ("root", ctypes.c_int64),
        ("forest", ctypes.c_int64),
        ("symmetry", ctypes.c_int64),
        ("stretch", ctypes.c_int64),
        ("demanded_count", ctypes.c_int64),
        ("forbidden_count", ctypes.c_int64),
        ("demanded", ctypes.c_void_p),
        ("forbidden", ctypes.c_void_p),
        ("held_joints", ctypes.c_void_p),
        ("stiffness", ctypes.c_void_p),
        ("plane", ctypes.c_double * 4),
        ("parents", ctypes.c_void_p),
        ("joint_kinds", ctypes.c_void_p),
        ("mirrors", ctypes.c_void_p),
        ("joints", ctypes.c_void_p),
        ("axes", ctypes.c_void_p),
        ("angles", ctypes.c_void_p),
        ("drifts", ctypes.c_void_p),
    ]


class Info(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("status", ctypes.c_int64),
        ("bones", ctypes.c_int64),
        ("iterations", ctypes.c_int64),
        ("erms", ctypes.c_double),
        ("rms_percent", ctypes.c_double),
        ("maximum_percent", ctypes.c_double),
        ("normal_degrees", ctypes.c_double),
        ("bumps", ctypes.c_double),
        ("rest_normal_degrees", ctypes.c_double),
        ("rest_bumps", ctypes.c_double),
        ("rest_percent", ctypes.c_double),
        ("stage_seconds", ctypes.c_double * len(STAGES)),
        ("message", ctypes.c_char * MESSAGE_LENGTH),
    ]


class Evaluation(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("frames", ctypes.c_void_p),
        ("vertex_error", ctypes.c_void_p),
        ("frame_error", ctypes.c_void_p),
        ("vertex_degrees", ctypes.c_void_p),
        ("erms", ctypes.c_double),
        ("rms", ctypes.c_double),
        ("maximum", ctypes.c_double),
        ("diagonal", ctypes.c_double),
        ("radius", ctypes.c_double),
        ("normal_degrees", ctypes.c_double),
        ("bumps", ctypes.c_double),
        ("rest_normal_degrees", ctypes.c_double),
        ("rest_bumps", ctypes.c_double),
        ("rest_moved", ctypes.c_double),
        ("worst_vertex", ctypes.c_int64),
        ("worst_frame", ctypes.c_int64),
    ]


class Place(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_int64), ("vertex", ctypes.c_int64), ("split", ctypes.c_int64)]


class Costs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_int64), ("costs", ctypes.c_void_p)]


class Fewer(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_int64), ("influences", ctypes.c_int64)]


class Smoother(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("influences", ctypes.c_int64),
        ("rounds", ctypes.c_int64),
        ("budget", ctypes.c_double),
    ]


class Correction(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("budget_kind", ctypes.c_int64),
        ("budget", ctypes.c_double),
        ("support", ctypes.c_int64),
        ("smoothness", ctypes.c_double),
        ("solve_rest", ctypes.c_int64),
        ("refine", ctypes.c_int64),
        ("parents", ctypes.c_void_p),
        ("held_coefficients", ctypes.c_void_p),
    ]


class Corrected(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("joints", ctypes.c_void_p),
        ("gains", ctypes.c_void_p),
        ("bare_erms", ctypes.c_double),
    ]


class Space(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("influences", ctypes.c_int64),
        ("given", ctypes.c_int64),
        ("bones", ctypes.c_void_p),
        ("corrections", ctypes.c_void_p),
    ]


class SpaceFit(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("bones", ctypes.c_int64),
        ("form", ctypes.c_int64),
        ("rest_exact", ctypes.c_int64),
        ("rounds", ctypes.c_int64),
        ("smoothness", ctypes.c_double),
        ("damping", ctypes.c_double),
        ("parents", ctypes.c_void_p),
        ("joints", ctypes.c_void_p),
    ]


class Compression(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("virtual_bones", ctypes.c_int64),
        ("masters", ctypes.c_int64),
        ("influences", ctypes.c_int64),
        ("source", ctypes.c_int64),
        ("method", ctypes.c_int64),
        ("affine", ctypes.c_int64),
        ("refine", ctypes.c_int64),
        ("tolerance", ctypes.c_double),
    ]


class Layers(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("virtual_bones", ctypes.c_void_p),
        ("virtual_weights", ctypes.c_void_p),
        ("influence_bones", ctypes.c_void_p),
        ("influence_weights", ctypes.c_void_p),
        ("delta", ctypes.c_double),
        ("dense_erms", ctypes.c_double),
    ]


class Driving(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("joint_count", ctypes.c_int64),
        ("form", ctypes.c_int64),
        ("parents", ctypes.c_void_p),
        ("pivots", ctypes.c_void_p),
    ]


class Driven(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("form", ctypes.c_int64),
        ("joints", ctypes.c_void_p),
        ("map", ctypes.c_void_p),
        ("shifts", ctypes.c_void_p),
        ("bare_erms", ctypes.c_double),
        ("keyed_erms", ctypes.c_double),
        ("whole_erms", ctypes.c_double),
        ("joints_erms", ctypes.c_double),
    ]


class Subjects(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("joined", ctypes.c_int64),
        ("rest", ctypes.c_void_p),
        ("subject", ctypes.c_void_p),
    ]


class United(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("root", ctypes.c_int64),
        ("rest", ctypes.c_void_p),
        ("parents", ctypes.c_void_p),
        ("joints", ctypes.c_void_p),
    ]


class Shaping(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("kind", ctypes.c_int64),
        ("held", ctypes.c_int64),
    ]


class Merging(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("tree", ctypes.c_int64),
        ("leaves", ctypes.c_int64),
        ("subject_count", ctypes.c_int64),
        ("pose_bones", ctypes.c_int64),
        ("pose_influences", ctypes.c_int64),
        ("shape_bones", ctypes.c_int64),
        ("shape_influences", ctypes.c_int64),
        ("subject_rest", ctypes.c_void_p),
        ("subject", ctypes.c_void_p),
        ("pose_parents", ctypes.c_void_p),
        ("pose_joints", ctypes.c_void_p),
        ("pose_transforms", ctypes.c_void_p),
        ("pose_influenced", ctypes.c_void_p),
        ("pose_weights", ctypes.c_void_p),
        ("shape_influenced", ctypes.c_void_p),
        ("shape_weights", ctypes.c_void_p),
        ("shape_parents", ctypes.c_void_p),
    ]


class Merged(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("parents", ctypes.c_void_p),
        ("carriers", ctypes.c_void_p),
        ("joints", ctypes.c_void_p),
        ("shapes", ctypes.c_void_p),
    ]


class Bodies(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("known_count", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("parents", ctypes.c_void_p),
        ("known", ctypes.c_void_p),
        ("joints", ctypes.c_void_p),
        ("rest", ctypes.c_void_p),
    ]


class Placed(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("joints", ctypes.c_void_p),
        ("vertices", ctypes.c_void_p),
        ("shares", ctypes.c_void_p),
    ]


class Unwrapping(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("method", ctypes.c_int64),
        ("place", ctypes.c_int64),
        ("iterations", ctypes.c_int64),
        ("with_rest", ctypes.c_int64),
        ("margin", ctypes.c_double),
        ("uv", ctypes.c_void_p),
    ]


class Unwrapped(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("uv", ctypes.c_void_p),
        ("triangle_stretch", ctypes.c_void_p),
        ("triangle_islands", ctypes.c_void_p),
        ("islands", ctypes.c_int64),
        ("restarted", ctypes.c_int64),
        ("left", ctypes.c_int64),
        ("flipped_before", ctypes.c_int64),
        ("flipped", ctypes.c_int64),
        ("stretch_before", ctypes.c_double),
        ("stretch", ctypes.c_double),
        ("rest_stretch_before", ctypes.c_double),
        ("rest_stretch", ctypes.c_double),
    ]


class Fusion(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_int64), ("count", ctypes.c_int64)]


class Groups(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("leaders", ctypes.c_void_p),
    ]


class Conduct(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("flights", ctypes.c_void_p),
        ("excesses", ctypes.c_void_p),
        ("drifts", ctypes.c_void_p),
        ("shares", ctypes.c_void_p),
        ("idle", ctypes.c_void_p),
        ("limbs", ctypes.c_void_p),
        ("foreign", ctypes.c_void_p),
        ("limb_count", ctypes.c_int64),
        ("torso", ctypes.c_int64),
    ]


class PoseModel(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("kind", ctypes.c_int64),
        ("parents", ctypes.c_void_p),
        ("joints", ctypes.c_void_p),
    ]


class Average(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("products", ctypes.c_void_p),
        ("edges", ctypes.c_void_p),
    ]


class Request(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_int64),
        ("verb", ctypes.c_int64),
        ("poses", ctypes.POINTER(Poses)),
        ("settings", ctypes.POINTER(Settings)),
        ("rig", ctypes.POINTER(Rig)),
        ("skeleton", ctypes.POINTER(Skeleton)),
        ("space", ctypes.POINTER(Space)),
        ("evaluation", ctypes.POINTER(Evaluation)),
        ("options", ctypes.c_void_p),
        ("result", ctypes.c_void_p),
    ]


STRUCTS = {
    "ossify_poses": Poses,
    "ossify_progress": Progress,
    "ossify_settings": Settings,
    "ossify_rig": Rig,
    "ossify_skeleton": Skeleton,
    "ossify_info": Info,
    "ossify_evaluation": Evaluation,
    "ossify_place": Place,
    "ossify_costs": Costs,
    "ossify_fewer": Fewer,
    "ossify_smoother": Smoother,
    "ossify_correction": Correction,
    "ossify_corrected": Corrected,
    "ossify_space": Space,
    "ossify_space_fit": SpaceFit,
    "ossify_compression": Compression,
    "ossify_layers": Layers,
    "ossify_driving": Driving,
    "ossify_driven": Driven,
    "ossify_subjects": Subjects,
    "ossify_united": United,
    "ossify_shaping": Shaping,
    "ossify_merging": Merging,
    "ossify_merged": Merged,
    "ossify_bodies": Bodies,
    "ossify_placed": Placed,
    "ossify_unwrapping": Unwrapping,
    "ossify_unwrapped": Unwrapped,
    "ossify_fusion": Fusion,
    "ossify_groups": Groups,
    "ossify_conduct": Conduct,
    "ossify_pose_model": PoseModel,
    "ossify_average": Average,
    "ossify_request": Request,
}


def sized(struct, **fields):
    return struct(struct_size=ctypes.sizeof(struct), **fields)


def declare(lib: ctypes.CDLL) -> None:
    request, info, job = ctypes.POINTER(Request), ctypes.POINTER(Info), ctypes.c_void_p
    functions = {
        "ossify_version": (ctypes.c_char_p,),
        "ossify_default_settings": (None, ctypes.c_void_p),
        "ossify_default_correction": (None, ctypes.c_void_p),
        "ossify_default_space_fit": (None, ctypes.c_void_p),
        "ossify_default_compression": (None, ctypes.c_void_p),
        "ossify_default_driving": (None, ctypes.c_void_p),
        "ossify_default_unwrapping": (None, ctypes.c_void_p),
        "ossify_run": (ctypes.c_int64, request, info),
        "ossify_start": (job, request, info),
        "ossify_job_poll": (None, job, ctypes.POINTER(Progress)),
        "ossify_job_cancel": (None, job),
        "ossify_job_finish": (ctypes.c_int64, job),
    }
    for name, (result, *arguments) in functions.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
