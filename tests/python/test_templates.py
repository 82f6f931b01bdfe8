"""Parts of bodies in skeletons of made-up people and animals, in poses, turned and mirrored."""

import numpy as np
import pytest
from ossify.skeleton import part_names, templates
from ossify.skeleton.tree import Tree

UP = np.array([0, 0, 1.0])
# part: (parent, joint, tail), middle and left; metres, facing -Y
PERSON = {
    "Hips": (None, (0, 0, 0.95), (0, 0, 1.1)),
    "Spine": ("Hips", (0, 0, 1.1), (0, 0, 1.25)),
    "Chest": ("Spine", (0, 0, 1.25), (0, 0, 1.45)),
    "Neck": ("Chest", (0, 0, 1.47), (0, 0, 1.55)),
    "Head": ("Neck", (0, 0, 1.55), (0, 0, 1.77)),
    "Shoulder.L": ("Chest", (0.03, 0, 1.43), (0.18, 0, 1.43)),
    "UpperArm.L": ("Shoulder.L", (0.18, 0, 1.43), (0.35, 0.03, 1.2)),
    "LowerArm.L": ("UpperArm.L", (0.35, 0.03, 1.2), (0.4, -0.1, 0.98)),
    "Hand.L": ("LowerArm.L", (0.4, -0.1, 0.98), (0.42, -0.16, 0.82)),
    "UpperLeg.L": ("Hips", (0.1, 0, 0.92), (0.11, -0.05, 0.5)),
    "LowerLeg.L": ("UpperLeg.L", (0.11, -0.05, 0.5), (0.11, 0.03, 0.08)),
    "Foot.L": ("LowerLeg.L", (0.11, 0.03, 0.08), (0.13, -0.16, 0.02)),
}
ANIMAL = {
    "Hips": (None, (0, 0.5, 0.8), (0, 0.3, 0.82)),
    "Spine": ("Hips", (0, 0.3, 0.82), (0, -0.1, 0.82)),
    "Chest": ("Spine", (0, -0.1, 0.82), (0, -0.4, 0.85)),
    "Neck": ("Chest", (0, -0.42, 0.9), (0, -0.65, 1.15)),
    "Head": ("Neck", (0, -0.65, 1.15), (0, -0.95, 1.1)),
    "Tail.001": ("Hips", (0, 0.58, 0.82), (0, 0.75, 0.75)),
    "Tail.002": ("Tail.001", (0, 0.75, 0.75), (0, 0.9, 0.6)),
    "FrontUpperLeg.L": ("Chest", (0.12, -0.36, 0.75), (0.12, -0.3, 0.5)),
    "FrontLowerLeg.L": ("FrontUpperLeg.L", (0.12, -0.3, 0.5), (0.12, -0.35, 0.22)),
    "FrontFoot.L": ("FrontLowerLeg.L", (0.12, -0.35, 0.22), (0.12, -0.37, 0.02)),
    "HindUpperLeg.L": ("Hips", (0.12, 0.45, 0.75), (0.13, 0.4, 0.48)),
    "HindLowerLeg.L": ("HindUpperLeg.L", (0.13, 0.4, 0.48), (0.13, 0.56, 0.28)),
    "HindFoot.L": ("HindLowerLeg.L", (0.13, 0.56, 0.28), (0.13, 0.5, 0.02)),
}
THICK = {"Tail": 0.02, "Head": 0.12, "Neck": 0.09}


def both_sides(bones):
    found = dict(bones)
    for name, (parent, joint, tail) in bones.items():
        if name.endswith(".L"):
            above = parent[:-2] + ".R" if parent.endswith(".L") else parent
            flip = np.array([-1, 1, 1])
            found[name[:-2] + ".R"] = above, tuple(joint * flip), tuple(tail * flip)
    return found


def given(bones, facing=None, turn=0.0, mirrored=False, walk=None):
    """Points in rings around every bone; the body turned about Z, or seen in a mirror."""
    bones = both_sides(bones)
    names = list(bones)
    parents = np.array([-1 if bones[n][0] is None else names.index(bones[n][0]) for n in names])
    joints, tails = (np.array([bones[name][k] for name in names], float) for k in (1, 2))
    points, owners = [], []
    for b, name in enumerate(names):
        across = np.linalg.svd((tails[b] - joints[b])[None])[2][1:] * THICK.get(name.split(".")[0], 0.04)
        for share in np.linspace(0.05, 0.95, 9):
            for angle in np.linspace(0, 2 * np.pi, 8, endpoint=False):
                around = np.cos(angle) * across[0] + np.sin(angle) * across[1]
                points.append(joints[b] + share * (tails[b] - joints[b]) + around)
                owners.append(b)
    cosine, sine = np.cos(turn), np.sin(turn)
    way = np.array([(cosine, -sine, 0), (sine, cosine, 0), (0, 0, 1)])
    way = way @ np.diag([-1.0 if mirrored else 1.0, 1, 1])
    points, joints, tails = (np.asarray(values) @ way.T for values in (points, joints, tails))
    radius = [THICK.get(names[b].split(".")[0], 0.04) for b in owners]
    tree = Tree(parents, joints, tails)
    areas = np.array(radius) * [np.linalg.norm(tails[b] - joints[b]) for b in owners]
    return names, templates.Given(tree, tails, points, np.array(owners), areas, UP, facing, walk)


def plain(names):
    return [name.replace(".001", "").replace(".002", "") for name in names]


def found_names(body):
    return [part + side for part, side in zip(body.parts, body.sides, strict=True)]


@pytest.mark.parametrize("turn", [0.0, 0.7, 3.0])
@pytest.mark.parametrize(("kind", "bones"), [("HUMAN", PERSON), ("QUADRUPED", ANIMAL)])
def test_every_part_is_named_whichever_way_a_body_faces(kind, bones, turn):
    names, seen = given(bones, turn=turn)
    body = templates.recognise(kind, seen)
    assert found_names(body) == plain(names)
    assert body.faced == ("feet" if kind == "HUMAN" else "spine")
    assert body.sure.mean() > 0.9


@pytest.mark.parametrize(("kind", "bones"), [("HUMAN", PERSON), ("QUADRUPED", ANIMAL)])
def test_in_a_mirror_left_is_right(kind, bones):
    names, seen = given(bones, mirrored=True)
    swapped = [{".L": n[:-2] + ".R", ".R": n[:-2] + ".L"}.get(n[-2:], n) for n in plain(names)]
    assert found_names(templates.recognise(kind, seen)) == swapped


def test_the_artist_says_where_a_body_faces():
    names, seen = given(PERSON, facing=np.array([0, 1.0, 0]))
    body = templates.recognise("HUMAN", seen)
    swapped = [{".L": n[:-2] + ".R", ".R": n[:-2] + ".L"}.get(n[-2:], n) for n in names]
    assert found_names(body) == swapped
    assert body.faced == "artist"


def without_feet():
    """Legs that end in points straight below: they tell no direction."""
    bones = {name: bone for name, bone in PERSON.items() if not name.startswith("Foot")}
    return {
        **bones,
        "UpperLeg.L": ("Hips", (0.1, 0, 0.92), (0.1, 0, 0.5)),
        "LowerLeg.L": ("UpperLeg.L", (0.1, 0, 0.5), (0.1, 0, 0.02)),
    }


def test_without_feet_the_way_that_it_goes_tells_the_side_or_it_is_a_guess():
    names, seen = given(without_feet(), walk=np.array([0, -3.0, 0]))
    body = templates.recognise("HUMAN", seen)
    assert body.faced == "way"
    assert found_names(body) == names
    assert templates.recognise("HUMAN", given(without_feet())[1]).faced == ""


def test_an_arm_that_is_raised_over_the_head_is_no_head():
    raised = {
        "UpperArm.L": ("Shoulder.L", (0.18, 0, 1.43), (0.25, 0, 1.7)),
        "LowerArm.L": ("UpperArm.L", (0.25, 0, 1.7), (0.22, 0, 1.95)),
        "Hand.L": ("LowerArm.L", (0.22, 0, 1.95), (0.2, 0, 2.13)),
    }
    names, seen = given(PERSON | raised)
    assert found_names(templates.recognise("HUMAN", seen)) == names


def test_a_snake_is_neither():
    chain = {f"Tail.{k:03}": (f"Tail.{k - 1:03}" if k else None, (0, k, 0), (0, k + 1, 0)) for k in range(8)}
    for kind in ("HUMAN", "QUADRUPED"):
        assert templates.recognise(kind, given(chain)[1]) is None


def test_rigify_names_go_by_how_the_trunk_stands():
    assert templates.upright(given(PERSON)[1]).kind == "HUMAN"
    assert templates.upright(given(ANIMAL)[1]).kind == "QUADRUPED"


def test_names_are_unlike_and_the_first_is_plain():
    parts, sides = ["Hips", "Tail", "Tail", "Foot", "Foot", "Foot"], ["", "", "", ".L", ".L", ".R"]
    order = [0, 1, 2, 4, 3, 5]
    assert part_names.unlike(parts, sides, order, False) == [
        *("Hips", "Tail.001", "Tail.002", "Foot.002.L", "Foot.L", "Foot.R")
    ]
    trunk = ["Hips", "Spine", "Spine", "Chest"]
    found = part_names.unlike(trunk, [""] * 4, [0, 1, 2, 3], True)
    assert len(set(found)) == 4
    assert found[0] == "spine"


def test_other_programs_names():
    assert part_names.program_name("UpperArm.L", "UNITY") == "LeftUpperArm"
    assert part_names.program_name("LowerLeg.R", "UNREAL") == "calf_r"
    assert part_names.program_name("UpperChest", "VRM") == "upperChest"
    assert part_names.program_name("Toes.R", "VRM") == "rightToes"
    assert part_names.program_name("Tail", "UNITY") is None
