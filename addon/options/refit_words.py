"""What the settings of a refit are called: names, tooltips, items and limits, for the screen and the
command line.

The defaults are those of RefitOptions, and a default says what kind of property it is.
"""

from __future__ import annotations

from .convert_words import CONVERT_WORDS

REFIT_WORDS = {
    "solve": {
        "name": "Solve",
        "description": "What is solved again",
        "items": [
            ("BOTH", "Weights and Motion", "And the rest shape, if the rig's settings say so"),
            ("TRANSFORMS", "Motion", "How bones move; weights stay"),
            ("WEIGHTS", "Weights", "What bones move; their keys stay"),
        ],
    },
    "only": {
        "name": "Limit To",
        "description": "What may change",
        "items": [
            ("ALL", "Everything", "All that is not held"),
            ("BONES", "Selected Bones", "Weights and motion of the bones selected in Pose Mode"),
            ("VERTICES", "Selected Vertices", "Weights of the vertices selected in Edit Mode"),
        ],
    },
    "rest": {"name": "Rest Shape", "description": "Correct the rest shape as the settings of the rig say"},
    "motion": {
        "name": "Motion",
        "description": "What the rig is fitted to",
        "items": [
            ("KEPT", "As Kept", "The motion that the rig was made from"),
            ("SOURCE", "Source Now", "The source, read again: for one that was changed"),
        ],
    },
    "frames": {
        "name": "Frames",
        "description": "In which frames bones may move",
        "items": [
            ("ALL", "All", "All frames that the rig was made from"),
            ("CUSTOM", "Custom Range", "Frames of your choice; in the others poses stay as they are"),
        ],
    },
    "frame_start": CONVERT_WORDS["frame_start"],
    "frame_end": CONVERT_WORDS["frame_end"],
    "quality": {
        "name": "Quality",
        "description": "How long the solver tries",
        "items": [
            ("RIG", "As the Rig's", "As when the rig was made"),
            *CONVERT_WORDS["quality"]["items"],
        ],
    },
    "joints": {
        "name": "Joints",
        "description": "Find joints that hold (Articulated) anew. Those that you placed or hold stay, and"
        " so do all of a rig with several clips, whose keys would mean another motion",
    },
    "move_idle": {
        "name": "Move Idle Bones",
        "description": "When a bone that does little may leave for a place where one is missed, if that"
        " takes a twentieth off the error. It keeps its name. Bones that you added, moved, renamed, hold"
        " or built upon stay",
        "items": [  # numbered so that files in which this was a tick can be read
            ("NEVER", "Never", "All bones stay in their places", 2),
            ("AUTOMATIC", "Automatic", "After you deleted a bone", 0),
            ("ALWAYS", "Always", "In every refit. Takes a few times as long", 1),
        ],
    },
}
