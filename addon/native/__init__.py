"""libossify for Python: NumPy arrays in, NumPy arrays out.

The only folder that knows ctypes, and one that imports without Blender. Names, docs and letters (v vertex,
f frame, b bone, k influence) are those of native/ossify.h.

    rig, info = decompose(rest, frames, triangles, Settings(bones=20))
    job = Job.start(decompose, rest, frames, triangles, Settings(bones=20))   # on the library's own thread
    while not job.poll().finished: ...
    rig, info = job.finish()
    skeleton = connect(rig, triangles)
    rig, skeleton, info = articulate(rest, frames, triangles, rig, skeleton)   # joints hold
"""

from .errors import LibraryError, OssifyError
from .header import (
    BONE_KINDS,
    BUDGET_KINDS,
    CONNECTS,
    DRIVEN_FORMS,
    JOINT_KINDS,
    MAX_BONES,
    MAX_CORRECTIVES,
    MAX_INFLUENCES,
    QUALITIES,
    RELOCATIONS,
    REST_MODES,
    STAGES,
    STARTS,
    SUPPORTS,
    SYMMETRIES,
    Status,
)
from .job import Job
from .loading import library, library_name, library_path, version
from .nouns import (
    Corrected,
    Correction,
    Driven,
    Driving,
    Evaluation,
    Info,
    Progress,
    Rig,
    Settings,
    Skeleton,
    Wishes,
)
from .verbs import (
    add_bone,
    articulate,
    bone_costs,
    connect,
    correct,
    decompose,
    drive,
    evaluate,
    prune_weights,
    smooth_weights,
)

__all__ = [
    "BONE_KINDS",
    "BUDGET_KINDS",
    "CONNECTS",
    "DRIVEN_FORMS",
    "JOINT_KINDS",
    "MAX_BONES",
    "MAX_CORRECTIVES",
    "MAX_INFLUENCES",
    "QUALITIES",
    "RELOCATIONS",
    "REST_MODES",
    "STAGES",
    "STARTS",
    "SUPPORTS",
    "SYMMETRIES",
    "Corrected",
    "Correction",
    "Driven",
    "Driving",
    "Evaluation",
    "Info",
    "Job",
    "LibraryError",
    "OssifyError",
    "Progress",
    "Rig",
    "Settings",
    "Skeleton",
    "Status",
    "Wishes",
    "add_bone",
    "articulate",
    "bone_costs",
    "connect",
    "correct",
    "decompose",
    "drive",
    "evaluate",
    "library",
    "library_name",
    "library_path",
    "prune_weights",
    "smooth_weights",
    "version",
]
