"""The made-up creatures: whose bones, which of them stay, how thick the body is around each.

Girths are (pattern, radius in the creature's own units); the first pattern that matches from the start of a
bone's name counts. Patterns in `without` take bones away; their children go to the next bone above.
"""

import math
import re
from typing import NamedTuple


class Bone(NamedTuple):
    name: str
    parent: str  # "" at the root
    head: tuple
    tail: tuple


class Creature(NamedTuple):
    metarig: str  # module of rigify.metarigs, or "" when `bones` are given
    without: str
    girths: tuple
    vertices: int = 5000
    bones: tuple = ()

    def girth(self, name):
        return next(radius for pattern, radius in self.girths if re.match(pattern, name))


FACE = r"face|nose|eye|brow|lid|lip|cheek|chin|teeth|tongue|temple|forehead"
HUMAN = (
    (r"spine(\.00[123])?$", 0.11),
    (r"spine\.00[45]", 0.05),
    (r"spine\.006", 0.085),
    (r"shoulder", 0.06),
    (r"upper_arm", 0.05),
    (r"forearm", 0.04),
    (r"hand", 0.032),
    (r"thigh", 0.08),
    (r"shin", 0.055),
    (r"foot", 0.042),
    (r"toe", 0.036),
    (r"thumb", 0.011),
    (r"f_", 0.009),
)
WOLF = (
    (r"spine\.00[4-8]", 0.12),
    (r"spine\.0(09|10)", 0.08),
    (r"spine\.011", 0.075),
    (r"spine", 0.04),
    (r"ear", 0.018),
    (r"jaw", 0.03),
    (r"shoulder|thigh", 0.075),
    (r"front_thigh", 0.06),
    (r"front_shin|shin", 0.048),
    (r"", 0.036),
)


def snake(bones=16, length=0.15):
    """One chain along y, the root at the head."""
    at = [(0.0, length * i, 0.1) for i in range(bones + 1)]
    return tuple(
        Bone(f"body.{i:02}", f"body.{i - 1:02}" if i else "", at[i], at[i + 1]) for i in range(bones)
    )


def spider():
    """A large abdomen, eight legs of four bones, two short feelers."""
    bones = [
        Bone("thorax", "", (0, 0, 0.5), (0, -0.35, 0.5)),
        Bone("head", "thorax", (0, -0.35, 0.5), (0, -0.6, 0.45)),
        Bone("abdomen", "thorax", (0, 0.1, 0.52), (0, 0.9, 0.6)),
    ]
    for side, sign in (("L", 1), ("R", -1)):
        for leg in range(4):
            direction = math.radians(-50 + 34 * leg)
            reaches = (0.15, 0.35, 0.85, 1.25, 1.45)
            heights = (0.5, 0.55, 0.95, 0.45, 0.03)
            at = [
                (sign * reach * math.cos(direction), reach * math.sin(direction) - 0.17, height)
                for reach, height in zip(reaches, heights, strict=True)
            ]
            bones += chain(f"leg{leg + 1}", side, "thorax", at)
        at = [(sign * x, y, z) for x, y, z in ((0.08, -0.6, 0.45), (0.12, -0.72, 0.44), (0.1, -0.84, 0.38))]
        bones += chain("feeler", side, "head", at)
    return tuple(bones)


def chain(name, side, parent, at):
    names = [f"{name}.{i + 1}.{side}" for i in range(len(at) - 1)]
    return [Bone(n, p, a, b) for n, p, a, b in zip(names, [parent, *names], at, at[1:], strict=False)]


def octopus():
    """A mantle above a head, and eight arms of four bones that lie on the ground."""
    bones = [
        Bone("head", "", (0, 0, 0.25), (0, 0, 0.7)),
        Bone("mantle", "head", (0, 0, 0.7), (0, 0.3, 1.2)),
    ]
    for arm in range(8):
        side, sign = ("L", 1) if arm < 4 else ("R", -1)
        direction = math.radians(-67.5 + 45 * (arm % 4))
        reaches, heights = (0.24, 0.55, 0.9, 1.25, 1.55), (0.3, 0.2, 0.1, 0.06, 0.05)
        at = [
            (sign * reach * math.cos(direction), reach * math.sin(direction), height)
            for reach, height in zip(reaches, heights, strict=True)
        ]
        bones += chain(f"arm{arm % 4 + 1}", side, "head", at)
    return tuple(bones)


def dragon():
    """A trunk of three bones, a long neck, a longer tail, four legs, wings of two bones and three fingers."""
    trunk = [(0, 0.4, 1.0), (0, 0.0, 1.05), (0, -0.4, 1.1), (0, -0.75, 1.15)]
    neck = [trunk[-1], (0, -0.95, 1.35), (0, -1.05, 1.6), (0, -1.2, 1.8), (0, -1.5, 1.78)]
    tail = [(0, 0.4, 1.0), *((0, 0.75 + 0.33 * i, 0.92 - 0.12 * i) for i in range(6))]
    bones = [
        Bone("spine.1", "", trunk[0], trunk[1]),
        Bone("spine.2", "spine.1", trunk[1], trunk[2]),
        Bone("spine.3", "spine.2", trunk[2], trunk[3]),
        *chain("neck", "M", "spine.3", neck),
        *chain("tail", "M", "spine.1", tail),
    ]
    for side, sign in (("L", 1), ("R", -1)):
        front = ((0.18, -0.65, 1.0), (0.26, -0.55, 0.65), (0.27, -0.65, 0.3), (0.27, -0.68, 0.06))
        back = ((0.16, 0.3, 0.95), (0.3, 0.15, 0.6), (0.3, 0.4, 0.3), (0.3, 0.3, 0.06))
        wing = ((0.12, -0.35, 1.28), (0.5, -0.2, 1.5), (0.95, -0.35, 1.6))
        tips = ((1.5, -0.45, 1.7), (1.45, 0.0, 1.62), (1.2, 0.4, 1.5))
        for name, parent, at in (("arm", "spine.3", front), ("leg", "spine.1", back)):
            toe = (at[-1][0], at[-1][1] - 0.2, 0.05)
            bones += chain(name, side, parent, [(sign * x, y, z) for x, y, z in (*at, toe)])
        mirrored = [(sign * x, y, z) for x, y, z in (*wing, *tips)]
        bones += chain("wing", side, "spine.3", mirrored[:3])
        for i, tip in enumerate(mirrored[3:]):
            bones += chain(f"finger{i + 1}", side, f"wing.2.{side}", [mirrored[2], tip])
    return tuple(bones)


CREATURES = {
    "human": Creature("Basic.basic_human", r"breast|pelvis|heel|spine\.005", HUMAN),
    "cat": Creature(
        "Animals.cat",
        rf"{FACE}|jaw|ear|Breast|pelvis|spine\.00[45]|[fr]_(palm|pinky|index|middle|ring)",
        (
            (r"spine\.006", 0.036),
            (r"spine", 0.045),
            (r"tail", 0.013),
            (r"belly", 0.03),
            (r"shoulder|thigh", 0.024),
            (r"upper_arm|shin", 0.018),
            (r"", 0.012),
        ),
    ),
    "horse": Creature(
        "Animals.horse",
        r"skull|ear\..\.001|jaw\.001|eye|nose|mane|breast|chest|abdomen|pelvis|hip",
        (
            (r"spine", 0.22),
            (r"neck\.00[12]", 0.14),
            (r"neck", 0.11),
            (r"head", 0.1),
            (r"jaw", 0.06),
            (r"ear", 0.03),
            (r"tail", 0.045),
            (r"shoulder|thigh", 0.11),
            (r"upper_arm|lower_leg", 0.085),
            (r"forearm", 0.065),
            (r"", 0.05),
        ),
        6000,
    ),
    "bird": Creature(
        "Animals.bird",
        r"eye|tongue|skull|n_feather|pelvis|toe",
        (
            (r"spine\.00[345]", 0.022),
            (r"spine", 0.013),
            (r"t_feather", 0.005),
            (r"shoulder", 0.01),
            (r"Wing", 0.009),
            (r"w_feather", 0.006),
            (r"neck", 0.012),
            (r"head", 0.015),
            (r"beak", 0.003),
            (r"thigh", 0.009),
            (r"shin", 0.006),
            (r"foot", 0.004),
            (r"", 0.002),
        ),
        6000,
    ),
    "shark": Creature(
        "Animals.shark",
        r"eye|jaw(?!\.master)",
        (
            (r"spine\.00[3458]", 0.24),
            (r"spine\.00[67]", 0.2),
            (r"spine\.002", 0.18),
            (r"spine", 0.11),
            (r"jaw", 0.08),
            (r"shoulder", 0.12),
            (r"side_fin", 0.07),
            (r"back_fin", 0.055),
            (r"", 0.045),
        ),
    ),
    "wolf": Creature(
        "Animals.wolf",
        rf"{FACE}|jaw\.|ear\..\.|breast|pelvis|[fr]_(palm|pinky|index|middle|ring)",
        WOLF,
        6000,
    ),
    "quadruped": Creature("Basic.basic_quadruped", r"breast|pelvis", WOLF),
    "fingers": Creature("human", rf"{FACE}|jaw|ear|breast|pelvis|heel|spine\.005|palm", HUMAN, 6000),
    "snake": Creature("", r"$", ((r"body\.0[0-7]", 0.06), (r"", 0.045)), 3000, snake()),
    "spider": Creature(
        "",
        r"$",
        ((r"thorax", 0.2), (r"head", 0.13), (r"abdomen", 0.3), (r"feeler", 0.03), (r"", 0.045)),
        5000,
        spider(),
    ),
    "octopus": Creature(
        "",
        r"$",
        ((r"head", 0.24), (r"mantle", 0.26), (r"arm\d\.[12]", 0.07), (r"", 0.045)),
        5000,
        octopus(),
    ),
    "dragon": Creature(
        "",
        r"$",
        (
            (r"spine", 0.17),
            (r"neck\.4", 0.1),
            (r"neck", 0.075),
            (r"tail\.[12]", 0.09),
            (r"tail", 0.055),
            (r"(arm|leg)\.1", 0.085),
            (r"arm|leg", 0.055),
            (r"wing", 0.045),
            (r"", 0.03),
        ),
        6000,
        dragon(),
    ),
}
