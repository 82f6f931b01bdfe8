"""What the settings of a conversion are called: names, tooltips, items and limits, for the screen and the
command line.

The defaults are those of Options, and a default says what kind of property it is. "unsaid" is the value of a
flag that is given without one.
"""

from __future__ import annotations

from .. import native
from ..base.pointcache import MOST_FRAME
from ..native.animator import MOST_IN_ALL

_FRAMES = {"min": -MOST_FRAME, "max": MOST_FRAME}

CONVERT_WORDS = {
    "bones_by": {
        "name": "Bones",
        "description": "How the number of bones is found",
        "items": [
            ("COUNT", "Count", "As many bones as you say"),
            ("BUDGET", "Error Budget", "The fewest bones that keep the error within a budget"),
            (
                "PARTS",
                "Automatic",
                "As many bones as an animator would rig; without an animator's skeleton, as many as there"
                " are parts that move by themselves",
            ),
        ],
    },
    "bones": {
        "name": "Count",
        "description": "Number of bones that deform the mesh; the root is extra",
        "min": 1,
        "max": native.MAX_BONES,
        "soft_max": 200,
    },
    "budget": {
        "name": "Budget",
        "description": "Error that is allowed, in percent of the object's size; of normals, in degrees",
        "min": 0.0001,
        "max": 100,
        "soft_max": 20,
        "precision": 3,
    },
    "budget_of": {
        "name": "Budget Of",
        "description": "Which error the budget bounds",
        "items": [
            ("RMS", "Average", "The root mean square over all vertices and frames"),
            ("MAXIMUM", "Largest", "The largest error of any vertex in any frame"),
            ("NORMALS", "Normals", "The angle between normals, in degrees: shading"),
        ],
    },
    "bones_most": {
        "name": "At Most",
        "description": "The most bones that may be used when their number is looked for",
        "min": 1,
        "max": native.MAX_BONES,
        "soft_max": 256,
    },
    "bone_kind": {
        "name": "Kind",
        "description": "What a bone can do",
        "items": [
            ("RIGID", "Rigid", "Bones move and turn: what game engines and animators expect"),
            (
                "FLEXIBLE",
                "Flexible",
                "Bones also stretch and shear: a smaller error, with a second bone above each",
            ),
        ],
    },
    "skeleton": {
        "name": "Skeleton",
        "description": "How the bones hang together",
        "items": [
            ("NONE", "None", "All bones hang from the root, side by side: for cloth and faces"),
            (
                "HIERARCHY",
                "Hierarchy",
                "Bones hang in limbs and turn about joints; they also move where the motion asks for it",
            ),
            (
                "ARTICULATED",
                "Articulated",
                "Joints hold: bones only turn, and the root alone moves. The error grows a little",
            ),
            (
                "ANIMATOR",
                "Animator",
                "The bones that an animator would rig, with joints that hold; hidden helpers hang from them"
                " and follow muscle and cloth",
            ),
            (
                "AUTO",
                "Automatic",
                "An animator's bones for a body; none for cloth, faces and other surfaces. With an error"
                " budget, joints that hold where that costs next to nothing, else a hierarchy",
            ),
        ],
    },
    "helpers": {
        "name": "Helpers",
        "description": "Hidden bones that hang from an animator's bones and bring the error down",
        "items": [
            ("AUTO", "Automatic", "As many as serve"),
            ("COUNT", "Count", "No more than you say"),
            ("OFF", "Off", "An animator's bones alone"),
        ],
    },
    "helper_count": {
        "name": "At Most",
        "description": "The most hidden helpers: those that move most stay",
        "min": 1,
        "max": MOST_IN_ALL,
    },
    "root": {
        "name": "Root",
        "description": "The part of the body that the others hang from",
        "items": [
            ("FOUND", "Found", "The part that turns least while the others swing from it"),
            (
                "PLACE",
                "Place",
                "The part nearest to a place that you choose, as the mesh stands in the current frame",
            ),
        ],
    },
    "root_place": {
        "name": "Place",
        "description": "Where the root is, in the scene",
        "size": 3,
        "subtype": "TRANSLATION",
    },
    "symmetry": {
        "name": "Symmetry",
        "description": "Which bones of the skeleton are each other's mirror image, .L and .R",
        "items": [
            ("FOUND", "Found", "Look for the plane that mirrors the body"),
            ("X", "X", "The left and the right of the object, along its own X axis"),
            ("NONE", "None", "No bone has a mirror image"),
        ],
    },
    "names": {
        "name": "Names",
        "description": "What the bones of the skeleton are called",
        "items": [
            ("PLACES", "Places", "By where a chain of bones ends: FrontDown.001.L"),
            ("HUMAN", "Human", "By parts of a human, which are looked for: UpperArm.L"),
            ("QUADRUPED", "Quadruped", "By parts of an animal on four legs: HindUpperLeg.L"),
            ("RIGIFY", "Rigify", "As Rigify calls the parts of a human, or of an animal: upper_arm.L"),
        ],
    },
    "facing": {
        "name": "Facing",
        "description": "Where the body faces at rest, which tells left from right; for names of parts",
        "items": [
            ("FOUND", "Found", "By its feet, its spine, or the way that it goes"),
            ("MINUS_Y", "-Y", "Toward the front view"),
            ("PLUS_Y", "Y", "Away from the front view"),
            ("MINUS_X", "-X", "To the left of the front view"),
            ("PLUS_X", "X", "To the right of the front view"),
        ],
    },
    "influences_by": {
        "name": "Influences",
        "description": "How many bones may move one vertex",
        "items": [
            ("COUNT", "Count", "As many as you say; most game engines take 4"),
            ("AUTO", "Automatic", "As many as the surface needs, up to 8: for cloth and faces"),
        ],
    },
    "influences": {
        "name": "At Most",
        "description": "The most bones that move one vertex; most game engines take 4",
        "min": 1,
        "max": native.MAX_INFLUENCES,
        "soft_max": 8,
    },
    "correctives": {
        "name": "Correctives",
        "description": "Shape keys for what bones cannot show: muscle, wrinkles and folds",
        "items": [
            ("OFF", "Off", "Bones alone"),
            ("KEYED", "Keyed", "Each with keys for this motion: the closest fit"),
            (
                "DRIVEN",
                "Driven",
                "They follow how the bones are turned, also in poses that nobody has seen",
            ),
            (
                "AUTO",
                "Automatic",
                "None where bones are cheaper; driven where that serves frames it has not seen, else keyed",
            ),
        ],
    },
    "corrective_count": {
        "name": "How Many",
        "description": "Of correctives that act everywhere; of those for one joint each there may be four"
        " times as many",
        "min": 1,
        "max": native.MAX_CORRECTIVES,
        "soft_max": 20,
    },
    "corrective_budget": {
        "name": "Corrective Budget",
        "description": "As few correctives as leave no more than this error, in percent of the size; 0: as"
        " many as How Many says",
        "min": 0.0,
        "soft_max": 1.0,
        "precision": 3,
    },
    "virtual_bones": {
        "name": "Virtual Bones",
        "description": (
            "Bones that blend the others and move the vertices for them: a smaller error with the same"
            " controls; 0 for none, 100 is a good number"
        ),
        "min": 0,
        "max": native.MAX_BONES,
        "soft_max": 500,
        "unsaid": 100,
    },
    "quality": {
        "name": "Quality",
        "description": "How long the solver looks for a better rig",
        "items": [
            ("DRAFT", "Draft", "A quick look"),
            ("NORMAL", "Normal", "Good and quick"),
            ("BEST", "Best", "Slower, with a smaller error"),
        ],
    },
    "locality": {
        "name": "Local Weights",
        "description": "Every bone moves one connected part of the surface, and nothing far away from it",
    },
    "fairness": {
        "name": "Fairness",
        "description": (
            "How much a smooth skin counts beside small distances: vertices that are off alike look better"
            " than vertices that are off apart, which show as cracks and ridges; 0 looks at distances alone"
        ),
        "min": 0,
        "max": 1000,
        "soft_max": 30,
    },
    "keep_volume": {
        "name": "Keep Volume",
        "description": "Joints keep their volume when they bend or twist: one more modifier after the"
        " armature, fitted to the motion, with a strength. Exports carry the plain skin",
    },
    "rest": {
        "name": "Rest Shape",
        "description": "The mesh as it is when no bone is posed",
        "items": [
            ("UNDEFORMED", "Undeformed Mesh", "The mesh before anything moves it"),
            ("FRAME", "Frame", "The mesh as it is in a frame"),
            ("SYNTHESISED", "Synthesised", "A shape that the solver finds to fit all frames"),
        ],
    },
    "rest_frame": {"name": "Rest Frame", "description": "The frame in which the mesh is at rest", **_FRAMES},
    "rest_correction": {
        "name": "Rest Pose",
        "description": "Whether the solver may move the vertices of the rest shape to lower the error",
        "items": [
            ("FIXED", "Untouched", "The rest shape is kept as it is"),
            ("SMOOTH", "Smooth", "The rest shape moves as a whole, neighbours together: no dents, no ridges"),
            (
                "KEPT",
                "Near",
                "Every vertex may move a little by itself; the rest shape still counts as a pose",
            ),
            ("FREE", "Free", "Vertices move as far as the frames ask for"),
        ],
    },
    "frames": {
        "name": "Motion",
        "description": "What is converted",
        "items": [
            ("SCENE", "Scene Range", "The frames of the scene"),
            ("PREVIEW", "Preview Range", "The frames of the preview range"),
            ("CUSTOM", "Custom Range", "Frames of your choice"),
            ("POSES", "Shape Keys as Poses", "Every shape key is one pose; time plays no part"),
        ],
    },
    "frame_start": {"name": "Start", "description": "First frame of the custom range", **_FRAMES},
    "frame_end": {"name": "End", "description": "Last frame of the custom range", **_FRAMES},
    "frame_step": {"name": "Step", "description": "Take every n-th frame", "min": 1, "soft_max": 10},
    "smooth_jitter": {
        "name": "Smooth Jitter",
        "description": (
            "Smooth the motion in time before it is solved, as strongly as its own jitter asks for; for"
            " meshes that were generated or scanned frame by frame"
        ),
    },
    "clips": {
        "name": "Clips",
        "description": "How many actions the rig gets; it is solved for all of them together",
        "items": [
            ("ONE", "One", "The whole motion is one action"),
            (
                "MARKERS",
                "At Markers",
                "The markers of the timeline divide the range: an action begins at each, with its name",
            ),
            (
                "TAKES",
                "Selected Takes",
                "Each selected mesh is a take of the active one, with the same vertices: an action for"
                " each, named after it",
            ),
            (
                "SUBJECTS",
                "Several Bodies",
                "Each selected mesh is a body of its own, with the same vertices in another shape: solved"
                " together, a rig for each with the same bones and weights. Meshes with the same shape are"
                " takes of one body",
            ),
        ],
    },
    "each": {
        "name": "One Rig for Each",
        "description": "Every selected object becomes a rig of its own; else one rig moves them all",
    },
    "nla": {"name": "Push to NLA", "description": "Lay the actions into NLA tracks, one for each"},
    "pose_assets": {
        "name": "Pose Assets",
        "description": "Mark each shape key that was taken as a pose as a pose asset, for the Asset Browser",
    },
    "keys": {
        "name": "Keys",
        "description": "Which frames are keyed",
        "items": [
            ("REDUCED", "Reduced", "Only keys that are needed to stay within the tolerance"),
            ("EVERY", "Every Frame", "A key on every captured frame"),
        ],
    },
    "key_tolerance": {
        "name": "Tolerance",
        "description": (
            "How far leaving out keys may move vertices, in percent of the object's size: with straight"
            " lines none is moved further, with curves 99 in 100, and none three times as far"
        ),
        "min": 0.0001,
        "max": 10,
        "soft_max": 1,
        "precision": 3,
        "subtype": "PERCENTAGE",
    },
    "key_shape": {
        "name": "Between Keys",
        "description": "What joins the keys",
        "items": [
            ("BEZIER", "Curves", "Bezier curves with handles: a third to a half of the keys, easy to edit"),
            ("LINEAR", "Straight Lines", "Linear interpolation: what every program reads the same way"),
        ],
    },
    "hide_source": {"name": "Hide Source", "description": "Hide the source meshes when the rig is made"},
    "keep_motion": {
        "name": "Keep Motion",
        "description": "Where the rig keeps the motion it was made from, for refits without the source",
        "items": [
            ("AUTO", "Automatic", "In the .blend when that takes no more than 64 MB, else not at all"),
            ("PACKED", "In the .blend", "In this file, however large it is"),
            ("FILE", "Beside the .blend", "In a file of its own in the folder of the .blend"),
            ("NONE", "Not", "A refit needs the source, or another one with the same mesh"),
        ],
    },
    "seed": {"name": "Seed", "description": "Another seed may find a slightly different rig", "min": 0},
    "threads": {
        "name": "Threads",
        "description": "Threads of the solver; 0 takes one for each core. The result is the same",
        "min": 0,
        "max": 256,
    },
}
