"""What the settings of an unwrap for motion are called: names, tooltips, items and limits, for the screen and
the command line.

The defaults are those of UnwrapOptions, and a default says what kind of property it is.
"""

from __future__ import annotations

from .convert_words import CONVERT_WORDS

UNWRAP_WORDS = {
    "name": {"name": "UV Map", "description": "Name of the new UV map"},
    "frames": {
        "name": "Range",
        "description": "Which poses the map is made for",
        "items": [
            ("SCENE", "Scene Range", "The frames of the scene"),
            ("PREVIEW", "Preview Range", "The frames of the preview range"),
            ("CUSTOM", "Custom Range", "Frames of your choice"),
            ("POSES", "Shape Keys", "Each shape key, whole and alone, is a pose"),
        ],
    },
    **{field: CONVERT_WORDS[field] for field in ("frame_start", "frame_end", "frame_step")},
    "with_rest": {
        "name": "Rest Pose Counts",
        "description": "The undeformed mesh counts as one more pose",
    },
    "place": {
        "name": "Islands",
        "description": "Where the islands of the map go",
        "items": [
            ("KEPT", "Stay", "They stay where they are, turned as they are"),
            ("PACKED", "Packed", "They are packed into the unit square, turned to take little room"),
        ],
    },
}
