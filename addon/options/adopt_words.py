"""What the settings of an artist's own armature are called: names, tooltips and items, for the screen and the
command line.

The defaults are those of AdoptOptions, and a default says what kind of property it is.
"""

from __future__ import annotations

ADOPT_WORDS = {
    "bone_motion": {
        "name": "Bones Move",
        "description": "How the bones of the armature move with the mesh",
        "items": [
            ("AUTO", "Automatic", "As they do, if they move in these frames; else their motion is solved"),
            ("OWN", "As They Do", "The armature moves with the mesh already: only weights are solved"),
            (
                "SOLVED",
                "Solved",
                "Weights and motion are solved, with joints that hold; the bones that deform get keys",
            ),
        ],
    },
    "painted": {
        "name": "Painted Weights",
        "description": "What becomes of weights that the mesh has in groups of the bones; locked groups stay",
        "items": [
            ("SOLVED", "Solved Anew", "Weights are found from the motion alone"),
            ("HELD", "Held", "Vertices that have weights keep them; the others are solved"),
        ],
    },
}
