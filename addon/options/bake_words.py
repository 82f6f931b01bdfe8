"""What the settings of baking are called: names, tooltips, items and limits, for the screen and the
command line.

The defaults are those of BakeOptions, and a default says what kind of property it is.
"""

from __future__ import annotations

from .convert_words import CONVERT_WORDS

BAKE_WORDS = {
    "to": {
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
    "shapes": {
        "name": "One For",
        "description": "How many shape keys there are",
        "items": [
            ("FRAMES", "Each Frame", "A shape key for each frame of the range"),
            ("KEYS", "Each Key", "A shape key for each frame with keys; those between are mixed"),
        ],
    },
    "frames": {
        "name": "Range",
        "description": "Which frames are baked",
        "items": [
            ("SCENE", "Scene Range", "The frames of the scene"),
            ("PREVIEW", "Preview Range", "The frames of the preview range"),
            ("CUSTOM", "Custom Range", "Frames of your choice"),
        ],
    },
    **{field: CONVERT_WORDS[field] for field in ("frame_start", "frame_end", "frame_step")},
}
