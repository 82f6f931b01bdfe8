"""What the settings of tracking are called: names, tooltips, items and limits, for the screen and the
command line.

The defaults are those of TrackOptions, and a default says what kind of property it is.
"""

from __future__ import annotations

from .convert_words import CONVERT_WORDS

TRACK_WORDS = {
    "name": {"name": "Action", "description": "Name of the new action; empty: that of the source"},
    "frames": {
        "name": "Range",
        "description": "Which frames of the source are tracked",
        "items": [
            ("SCENE", "Scene Range", "The frames of the scene"),
            ("PREVIEW", "Preview Range", "The frames of the preview range"),
            ("CUSTOM", "Custom Range", "Frames of your choice"),
        ],
    },
    **{field: CONVERT_WORDS[field] for field in ("frame_start", "frame_end", "frame_step")},
    "place": {
        "name": "Place",
        "description": "Where the rig plays the motion",
        "items": [
            ("WORLD", "As Seen", "Where the source is: the rig covers it"),
            (
                "RIG",
                "At the Rig",
                "Where the mesh of the rig stands, and in its size: for a source that stands elsewhere",
            ),
        ],
    },
    "match_limit": {
        "name": "Match Limit",
        "description": (
            "How far from the surface of a source with other vertices those of the rig may lie at rest,"
            " in percent of the size"
        ),
        "min": 0.001,
        "max": 100,
        "soft_max": 10,
        "precision": 3,
        "subtype": "PERCENTAGE",
    },
    "nla": {
        "name": "Push to NLA",
        "description": "Lay the action that the rig has now into a muted NLA track",
    },
}
