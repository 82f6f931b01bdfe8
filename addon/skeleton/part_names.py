"""What parts of a body are called: by Ossify, by Rigify, and by what other programs retarget to.

Parts are those of templates.py, with sides: `UpperArm.L`. Of a spine's bones Unity, Unreal and VRM know
three beside the hips.
"""

from __future__ import annotations

import itertools

# Unity's humanoid, Unreal's mannequin and VRM 1.0, which is also what glTF humanoids go by.
_TRUNK = {
    "Hips": ("Hips", "pelvis", "hips"),
    "Spine": ("Spine", "spine_01", "spine"),
    "Chest": ("Chest", "spine_02", "chest"),
    "UpperChest": ("UpperChest", "spine_03", "upperChest"),
    "Neck": ("Neck", "neck_01", "neck"),
    "Head": ("Head", "head", "head"),
}
_LIMBS = {
    "Shoulder": ("Shoulder", "clavicle", "Shoulder"),
    "UpperArm": ("UpperArm", "upperarm", "UpperArm"),
    "LowerArm": ("LowerArm", "lowerarm", "LowerArm"),
    "Hand": ("Hand", "hand", "Hand"),
    "UpperLeg": ("UpperLeg", "thigh", "UpperLeg"),
    "LowerLeg": ("LowerLeg", "calf", "LowerLeg"),
    "Foot": ("Foot", "foot", "Foot"),
    "Toes": ("Toes", "ball", "Toes"),
}
_SIDED = {
    "UNITY": {".L": "Left{}", ".R": "Right{}"},
    "UNREAL": {".L": "{}_l", ".R": "{}_r"},
    "VRM": {".L": "left{}", ".R": "right{}"},
}
_PROGRAMS = tuple(_SIDED)
_RIGIFY_LEG = {"UpperLeg": "thigh", "LowerLeg": "shin", "Foot": "foot", "Toes": "toe"}
_RIGIFY = {
    "Hips": "spine",
    "Spine": "spine.001",
    "Chest": "spine.002",
    "UpperChest": "spine.003",
    "Neck": "spine.004",
    "Head": "spine.006",
    "Shoulder": "shoulder",
    "UpperArm": "upper_arm",
    "LowerArm": "forearm",
    "Hand": "hand",
    **_RIGIFY_LEG,
    "Tail": "tail",
    **{f"Hind{part}": word for part, word in _RIGIFY_LEG.items()},
    **{f"Front{part}": f"front_{word}" for part, word in _RIGIFY_LEG.items()},
    "FrontShoulder": "shoulder",
}
_CHAINED = ("Spine", "Neck", "Tail")  # parts of which there may be several in a row: all are numbered
_TITLES = {
    "Trunk": ("Hips", "Spine", "Chest", "UpperChest"),
    "Head": ("Neck", "Head"),
    "Arm": ("Shoulder", "UpperArm", "LowerArm", "Hand"),
    "Leg": ("UpperLeg", "LowerLeg", "Foot", "Toes"),
    "Tail": ("Tail",),
}


def title_of(part: str) -> str:
    """Of the collection that a part's bone is in, without the side."""
    for prefix in ("Front", "Hind"):
        if part.startswith(prefix):
            return f"{prefix}Leg"
    return next(title for title, parts in _TITLES.items() if part in parts)


def unlike(parts: list[str], sides: list[str], order: list[int], rigify: bool) -> list[str]:
    """A name for each bone, in this order of importance: the first of a part has it plain, others a number;
    those that follow each other along a spine, a neck or a tail are numbered from the first on."""
    counts: dict[tuple[str, str], int] = {}
    for pair in zip(parts, sides, strict=True):
        counts[pair] = counts.get(pair, 0) + 1
    found, used = [""] * len(parts), {}
    for b in order:
        pair = parts[b], sides[b]
        used[pair] = number = used.get(pair, 0) + 1
        plain = counts[pair] == 1 or (number == 1 and parts[b] not in _CHAINED)
        word = _RIGIFY[parts[b]] if rigify else parts[b]
        ending = "" if plain else f".{number:03}"
        found[b] = f"{word}{ending}{sides[b]}"
    return _apart(found)


def _apart(names: list[str]) -> list[str]:
    """Rigify's spine.001 may be taken: what comes later goes on counting."""
    used: set[str] = set()
    for b, name in enumerate(names):
        base, side = (name[:-2], name[-2:]) if name.endswith((".L", ".R")) else (name, "")
        tries = itertools.chain([name], (f"{base}.{number:03}{side}" for number in itertools.count(1)))
        names[b] = next(word for word in tries if word not in used)
        used.add(names[b])
    return names


def program_name(part: str, program: str) -> str | None:
    """Of a part with its side, as a program retargets to it; None: it knows none such."""
    base, side = (part[:-2], part[-2:]) if part.endswith((".L", ".R")) else (part, "")
    column = _PROGRAMS.index(program)
    if not side:
        return _TRUNK[base][column] if base in _TRUNK else None
    return _SIDED[program][side].format(_LIMBS[base][column]) if base in _LIMBS else None
