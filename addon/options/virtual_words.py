"""What the settings of virtual bones are called: names, tooltips, items and limits, for the screen and the
command line.

The defaults are those of CompressOptions, and a default says what kind of property it is.
"""

from __future__ import annotations

from .. import native

COMPRESS_WORDS = {
    "count": {
        "name": "Virtual Bones",
        "description": "How many bones blend the others; more of them are closer, and slower to play",
        "min": 2,
        "max": native.MAX_BONES,
        "soft_max": 500,
    },
    "masters": {
        "name": "Masters",
        "description": "The most bones that one virtual bone blends",
        "min": 1,
        "max": 64,
        "soft_max": 16,
    },
    "influences": {
        "name": "Influences",
        "description": "The most virtual bones that move one vertex",
        "min": 2,
        "max": native.MAX_BLENDED,
    },
    "examples": {
        "name": "Made For",
        "description": "What the virtual bones shall keep",
        "items": [
            (
                "POSES",
                "Motion and Poses",
                "What the mesh does in the motion of the rig, and when its bones are turned one by one",
            ),
            ("WEIGHTS", "Weights", "The weights themselves, whatever they mean for the shape"),
        ],
    },
    "straighten": {
        "name": "Straighten",
        "description": "Give bendy bones, which virtual bones cannot blend, a single segment",
    },
}
