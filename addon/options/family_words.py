"""What the settings of bodies are called: names, tooltips, items and limits, for the screen and the command
line.

The defaults are those of FitOptions, SlidersOptions and BodyBonesOptions, and a default says what kind of
property it is.
"""

from __future__ import annotations

FIT_WORDS = {
    "axes": {
        "name": "Bone Axes",
        "description": "Which way bones lie in the new bodies",
        "items": [
            (
                "AUTO",
                "Automatic",
                "Along the body if the rig has constraints, which aim bones at others; else as in the rig",
            ),
            (
                "KEEP",
                "As in the Rig",
                "Bones start at the joints of the new body and point where those of the rig point: the same"
                " pose then turns all bodies the same way",
            ),
            (
                "FOLLOW",
                "Along the Body",
                "Bones reach from joint to joint of the new body, and turn about axes of their own: they lie"
                " well, and the same pose is a little different on each body",
            ),
        ],
    },
}

SLIDERS_WORDS = {
    "count": {
        "name": "Sliders",
        "description": "The most sliders, those that change most first; one less than bodies at most",
        "min": 1,
        "max": 20,
    },
    "mirrored": {
        "name": "Mirrored",
        "description": "The mirror images of the bodies count as bodies, too: a slider then changes both"
        " sides alike, or one against the other",
    },
}

BODY_BONES_WORDS = {
    "count": {
        "name": "Shape Bones",
        "description": "How many bones turn one body into another, beside those that are posed",
        "min": 1,
        "max": 200,
    },
}
