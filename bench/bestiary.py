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
}
