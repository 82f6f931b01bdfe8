"""Parts of a body that an animator knows, found in a skeleton's tree: a human's, or a quadruped's.

Ends first. Of the tips of the tree those five are head, hands and feet of a human whose distances along the
bones go best with a body that has two sides: both hands are as far from the head, both feet, and so on. A
quadruped stands on four that are long, end low and make two pairs; head and tail are what lies beyond these.
A limb is all that leads to one end alone, and what is left is the trunk.
Along a limb joints are known by their distance from its tip,

    min over monotone assignments of  sum |d_b - s t_j| + what is left out,     s from 0.75 to 1.2,

where t are those of a body (Drillis and Contini 1966, of a head's distance from a foot; of a quadruped, of
the leg's length), and both sides are named together. Left is where up x forward goes: the artist says which
way a body faces, or its feet do, or its spine, or its way.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from .tree import Tree

HUMAN, QUADRUPED = "HUMAN", "QUADRUPED"
FACINGS = {"MINUS_Y": (0, -1, 0), "PLUS_Y": (0, 1, 0), "MINUS_X": (-1, 0, 0), "PLUS_X": (1, 0, 0)}

# A joint's distance from the tip, and what it costs to do without: of fingers, toes and collarbones nothing.
_LEG = (("Toes", 0.045, 0.0), ("Foot", 0.105, 0.06), ("LowerLeg", 0.34, 0.1), ("UpperLeg", 0.57, 0.1))
_ARM = (("Hand", 0.09, 0.03), ("LowerArm", 0.23, 0.1), ("UpperArm", 0.4, 0.1), ("Shoulder", 0.51, 0.0))
_HEAD = (("Head", 0.13, 1.0), ("Neck", 0.185, 0.0))
_HIND = (("Toes", 0.13, 0.0), ("Foot", 0.34, 0.06), ("LowerLeg", 0.64, 0.1), ("UpperLeg", 0.95, 0.1))
_FORE = (
    ("Toes", 0.12, 0.0),
    ("Foot", 0.28, 0.06),
    ("LowerLeg", 0.56, 0.1),
    ("UpperLeg", 0.82, 0.1),
    ("Shoulder", 1.05, 0.0),
)
_TRUNK = (
    ("Hips",),
    ("Hips", "Spine"),
    ("Hips", "Spine", "Chest"),
    ("Hips", "Spine", "Chest", "UpperChest"),
)
_NECK_ENDS = 0.26  # of a head's distance from a foot: what begins further from the top is trunk
_EXTRA = 0.25  # of the same: what a bone too many costs
_SURE = 0.07  # of the same: a joint that is further from where it should be is not sure
_ENDS, _FEET = 9, 12  # tips that are looked at, for a human's ends, for a quadruped's feet
_PAIRS = {"hands": 0.85, "feet": 1.1, "hand to head": 0.62, "hand to foot": 1.2}  # distances, likewise
_LOW = 0.6  # of the height: feet of a quadruped end below
_UNLIKE = 0.25  # a human's worst mean mismatch of distances
_JAW = 0.5  # of the surface of the bone before: less is no head
_SOLE, _ANKLE, _STRIDE = 0.03, (0.045, 0.09), 0.12  # of the height: below, between, as far around
_PARTINGS = 8  # to part two soles
_ASTRIDE = 0.1  # feet that turn away from each other by more tell no direction
_FEW = 8  # vertices, which tell no direction
_FLAT = 0.02  # of the size: a direction that is shorter on the ground tells nothing


@dataclasses.dataclass
class Body:
    """Parts by bone, "" where none was recognised; sides ".L", ".R" or "" """

    kind: str
    parts: list[str]
    sides: list[str]
    sure: np.ndarray  # [b]
    faced: str  # what told left from right: "artist", "feet", "spine", "way", or "" for a guess


@dataclasses.dataclass
class Given:
    """What parts are found by."""

    tree: Tree
    tails: np.ndarray  # [b][3]
    points: np.ndarray  # [v][3] at rest
    owners: np.ndarray  # [v] the strongest bone
    areas: np.ndarray  # [v]
    up: np.ndarray  # [3]
    facing: np.ndarray | None = None  # [3], as the artist says
    walk: np.ndarray | None = None  # [3] the way that the body goes

    @property
    def size(self) -> float:
        return float(np.linalg.norm(np.ptp(self.points, axis=0))) or 1.0


# ---- ends


def _tips(given: Given, most: int) -> list[int]:
    """Leaves whose branches are longest: each as far as where it meets one that is longer."""
    tree, taken, found = given.tree, set(), {}
    lengths = {leaf: tree.along(leaf) for leaf in tree.leaves}
    for leaf in sorted(lengths, key=lambda leaf: -max(lengths[leaf].values())):
        own = [distance for b, distance in lengths[leaf].items() if b not in taken]
        found[leaf] = max(own, default=0.0)
        taken |= set(tree.up(leaf))
    return sorted(found, key=lambda leaf: -found[leaf])[:most]


def _distances(tree: Tree, tips: list[int]) -> dict:
    return {(a, b): tree.distance(a, b) for a in tips for b in tips if a != b}


def _mismatch(far: dict, head: int, hands: tuple, feet: tuple) -> float:
    """How unlike a human's the distances between five ends are, of the head's from the feet."""
    scale = (far[head, feet[0]] + far[head, feet[1]]) / 2
    cross = [np.mean([far[hand, foot] for foot in feet]) for hand in hands]
    wrong = [
        far[head, feet[0]] - far[head, feet[1]],
        far[head, hands[0]] - far[head, hands[1]],
        cross[0] - cross[1],
        far[hands] - scale * _PAIRS["hands"],
        far[feet] - scale * _PAIRS["feet"],
        (far[head, hands[0]] + far[head, hands[1]]) / 2 - scale * _PAIRS["hand to head"],
        np.mean(cross) - scale * _PAIRS["hand to foot"],
    ]
    return float(np.abs(wrong).mean() / max(scale, 1e-30))


def _human_ends(given: Given) -> tuple | None:
    """head, hands, feet"""
    tips = _tips(given, _ENDS)
    far, high = _distances(given.tree, tips), given.tails @ given.up
    best = None
    for head, *_ in itertools.combinations(tips, 1):
        others = [tip for tip in tips if tip != head]
        for feet in itertools.combinations(others, 2):
            if max(high[list(feet)]) > high[head]:
                continue
            for hands in itertools.combinations([tip for tip in others if tip not in feet], 2):
                wrong = _mismatch(far, head, hands, feet)
                if best is None or wrong < best[0]:
                    best = wrong, head, hands, feet
    return best[1:] if best is not None and best[0] < _UNLIKE else None


def _quadruped_ends(given: Given) -> tuple | None:
    """fore feet, hind feet, head or None, tail or None"""
    heights = given.points @ given.up
    tips = sorted(_tips(given, _FEET), key=lambda tip: given.tails[tip] @ given.up)
    feet = [tip for tip in tips if given.tails[tip] @ given.up < heights.min() + _LOW * np.ptp(heights)]
    best = None
    for four in itertools.combinations(feet, 4):
        wrong, pairs = _standing(given, four, heights.min())
        if best is None or wrong < best[0]:
            best = wrong, pairs
    if best is None:
        return None
    pairs = best[1]
    ends = [_beyond(given, pairs[i], pairs[1 - i]) for i in (0, 1)]
    front = 0 if ends[0][1] >= ends[1][1] else 1
    return pairs[front], pairs[1 - front], ends[front][0], ends[1 - front][0]


def _standing(given: Given, four: tuple, ground: float) -> tuple[float, tuple]:
    """How badly a body stands on these four, and which of them are pairs: legs are long, end low, and those
    of a pair are as long as each other and begin side by side."""
    tree = given.tree
    limbs, _ = _limbs(tree, list(four))
    lengths = {end: max([tree.along(end)[b] for b in limbs[end]], default=0.0) for end in four}
    bases = {end: _base(given, limbs, end) for end in four}
    high = sum(float(given.tails[end] @ given.up) - ground for end in four)
    best = None
    for second in four[1:]:
        pairs = (four[0], second), tuple(foot for foot in four if foot not in (four[0], second))
        wrong = sum(abs(lengths[a] - lengths[b]) + np.linalg.norm(bases[a] - bases[b]) for a, b in pairs)
        if best is None or wrong < best[0]:
            best = wrong, pairs
    return best[0] + high - sum(lengths.values()), best[1]


def _beyond(given: Given, near: tuple, away: tuple) -> tuple[int | None, float]:
    """The end of the trunk behind a pair of legs, and how thick all that leads there is: a tail is thin."""
    tree = given.tree
    legs = [*near, *away]
    own = set(itertools.chain(*(tree.up(leg) for leg in legs)))
    found: dict[int, list[int]] = {}
    for leaf in tree.leaves:
        if leaf in legs:
            continue
        far = [np.mean([tree.distance(leaf, leg) for leg in pair]) for pair in (near, away)]
        if far[0] < far[1]:
            branch = [b for b in tree.up(leaf) if b not in own]
            found.setdefault(branch[-1] if branch else leaf, []).append(leaf)
    if not found:
        return None, 0.0
    masses = {base: _surface(given, leaves, own) for base, leaves in found.items()}
    base = max(masses, key=masses.get)
    leaf = max(found[base], key=lambda leaf: max(tree.along(leaf).values()))
    long = max([tree.along(leaf)[b] for b in tree.up(leaf)[:-1] if b not in own], default=0.0)
    return leaf, masses[base] / max(long, 1e-3 * given.size)


def _surface(given: Given, leaves: list[int], without: set) -> float:
    bones = set(itertools.chain(*(given.tree.up(leaf) for leaf in leaves))) - without
    return float(given.areas[np.isin(given.owners, list(bones))].sum())


# ---- limbs


def _limbs(tree: Tree, ends: list[int]) -> tuple[dict[int, list[int]], list[int]]:
    """For each end the bones that lead to it alone, from its tip on; and the others between the ends"""
    ways = {end: tree.up(end) for end in ends}
    counts: dict[int, int] = {}
    for b in itertools.chain(*ways.values()):
        counts[b] = counts.get(b, 0) + 1
    root = next(iter(ways.values()))[-1]
    limbs = {end: [b for b in way if counts[b] == 1 and b != root] for end, way in ways.items()}
    return limbs, [b for b in counts if counts[b] > 1 or b == root]


def _base(given: Given, limbs: dict, end: int) -> np.ndarray:
    """[3] where a limb begins"""
    return given.tree.joints[limbs[end][-1]] if limbs[end] else given.tails[end]


def _assign(places: np.ndarray, template) -> tuple[float, list[int]]:
    """The scale, and for each place the number of its joint, -1: none; both rise"""
    best = np.inf, 1.0, [-1] * len(places)
    goals, needs = np.array([item[1:] for item in template]).T
    for scale in np.linspace(0.75, 1.2, 10):
        cost, chosen = _monotone(places, scale * goals, needs)
        cost += 0.05 * abs(np.log(scale))
        if cost < best[0]:
            best = cost, float(scale), chosen
    return best[1:]


def _monotone(places: np.ndarray, goals: np.ndarray, needs: np.ndarray) -> tuple[float, list[int]]:
    """By dynamic programming: cost[i][j] of the first i places and the first j goals"""
    n, m = len(places), len(goals)
    cost, back = np.zeros((n + 1, m + 1)), np.zeros((n + 1, m + 1), int)
    for i, j in itertools.product(range(n + 1), range(m + 1)):
        ways = []
        if i:
            ways.append((cost[i - 1, j] + _EXTRA, 0))
        if j:
            ways.append((cost[i, j - 1] + needs[j - 1], 1))
        if i and j:
            ways.append((cost[i - 1, j - 1] + abs(places[i - 1] - goals[j - 1]), 2))
        if ways:
            cost[i, j], back[i, j] = min(ways)
    chosen, i, j = [-1] * n, n, m
    while i:
        step = back[i, j]
        if step == 2:
            chosen[i - 1] = j - 1
        i, j = i - (step != 1), j - (step != 0)
    return float(cost[n, m]), chosen


def _without_gaps(chosen: list[int], template) -> list[int]:
    """The one bone behind the ankle is a foot, not toes, and the first of an arm is no collarbone."""
    words = [item[0] for item in template]
    for extreme, instead in (("Toes", "Foot"), ("Shoulder", "UpperArm"), ("Shoulder", "UpperLeg")):
        if extreme in words and instead in words:
            far, near = words.index(extreme), words.index(instead)
            if far in chosen and near not in chosen:
                chosen = [near if j == far else j for j in chosen]
    return chosen


class _Names:
    """Parts as they are found."""

    def __init__(self, count: int):
        self.parts, self.sides = [""] * count, [""] * count
        self.sure = np.zeros(count, bool)

    def give(self, b: int, part: str, side: str, sure: bool) -> None:
        self.parts[b], self.sides[b], self.sure[b] = part, side, sure

    def limb(self, bones: list[int], places: np.ndarray, template, side: str, prefix: str = "") -> None:
        """places [bone] of a limb; a bone between two joints that are known goes with the one below"""
        scale, chosen = _assign(places, template)
        named, near = _without_gaps(chosen, template), _SURE * max(template[-1][1], 0.5) / 0.5
        for b, place, was, j in zip(bones, places, chosen, named, strict=True):
            if j >= 0:
                sure = abs(place - scale * template[was][1]) <= near
                self.give(b, prefix + template[j][0], side, sure)
            else:
                nearest = min(template, key=lambda item: abs(place - scale * item[1]))
                self.give(b, prefix + nearest[0], side, False)

    def pair(self, limbs: dict, ends: tuple, sides: dict, along: dict, scale, template, prefix="") -> None:
        """Both sides together, where they have as many bones."""
        places = {end: np.array([along[end][b] for b in limbs[end]]) / scale[end] for end in ends}
        first, second = ends
        if len(limbs[first]) == len(limbs[second]):
            places[first] = places[second] = (places[first] + places[second]) / 2
        for end in ends:
            self.limb(limbs[end], places[end], template, sides[end], prefix)


def _trunk_names(count: int) -> list[str]:
    if count <= len(_TRUNK):
        return list(_TRUNK[count - 1]) if count else []
    return ["Hips", *["Spine"] * (count - 3), "Chest", "UpperChest"]


# ---- sides


def _on_ground(way: np.ndarray, up: np.ndarray) -> np.ndarray:
    return way - up * (way @ up)


def _toes(given: Given, leaf: int) -> np.ndarray:
    """[3] from the ankle to the toes, on the ground: where a foot's bone goes, and what it moves"""
    points, way = given.points[given.owners == leaf], given.tails[leaf] - given.tree.joints[leaf]
    if len(points) >= _FEW:
        heights = points @ given.up
        low, high = np.quantile(heights, (0.35, 0.75))
        way = way + points[heights <= low].mean(axis=0) - points[heights >= high].mean(axis=0)
    return _on_ground(way, given.up)


def _soles(given: Given) -> list[np.ndarray]:
    """[3] likewise, of what stands on the ground, whichever bones move it: from above a sole to its middle"""
    heights = given.points @ given.up
    share = (heights - heights.min()) / max(float(np.ptp(heights)), 1e-30)
    ground = given.points - np.outer(heights, given.up)
    low, over = ground[share < _SOLE], ground[(share > _ANKLE[0]) & (share < _ANKLE[1])]
    if len(low) < _FEW or len(over) < _FEW:
        return []
    far = low[[((low - low.mean(axis=0)) ** 2).sum(axis=1).argmax()]]
    centres = np.concatenate([far, low[[((low - far) ** 2).sum(axis=1).argmax()]]])
    for _ in range(_PARTINGS):
        own = ((low[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array([low[own == k].mean(axis=0) if (own == k).any() else centres[k] for k in (0, 1)])
    above = ((over[:, None] - centres) ** 2).sum(axis=2)
    reach, ways = (_STRIDE * float(np.ptp(heights))) ** 2, []
    for k in (0, 1):
        mine = over[(above.argmin(axis=1) == k) & (above[:, k] < reach)]
        if len(mine) >= _FEW // 2 and (own == k).any():
            ways.append(centres[k] - mine.mean(axis=0))
    return ways


def _forward(given: Given, feet: tuple, spine: np.ndarray | None) -> tuple[np.ndarray, str]:
    """Where a body faces, and what tells it."""
    least = _FLAT * given.size
    if given.facing is not None:
        return given.facing, "artist"
    if spine is not None and np.linalg.norm(_on_ground(spine, given.up)) > least:
        return _on_ground(spine, given.up), "spine"
    for ways in (_soles(given), [_toes(given, foot) for foot in feet]):
        total = sum(ways, np.zeros(3))
        if np.linalg.norm(total) > least and len(ways) == 2 and ways[0] @ ways[1] > -_ASTRIDE * total @ total:
            return total, "feet"
    if given.walk is not None and np.linalg.norm(given.walk) > least:
        return given.walk, "way"
    return total if np.linalg.norm(total) > 0 else np.array([0.0, -1.0, 0.0]), ""


def _sided(given: Given, limbs: dict, ends: tuple, forward: np.ndarray) -> dict[int, str]:
    """end -> ".L" or ".R", by where the joints of its limb are: legs cross in their lower half"""
    left = np.cross(given.up, forward)
    places = []
    for end in ends:
        upper = limbs[end][len(limbs[end]) // 2 :]
        places.append(given.tree.joints[upper].mean(axis=0) if upper else given.tails[end])
    first = float((places[0] - places[1]) @ left)
    return dict(zip(ends, (".L", ".R") if first >= 0 else (".R", ".L"), strict=True))


# ---- bodies


def _human(given: Given) -> Body | None:
    found = _human_ends(given)
    if found is None:
        return None
    head, hands, feet = found
    tree = given.tree
    ends = [head, *hands, *feet]
    limbs, trunk = _limbs(tree, ends)
    along = {end: tree.along(end) for end in ends}
    size = np.mean([tree.distance(head, foot) for foot in feet])
    scale = dict.fromkeys(ends, size)
    neck = [b for b in limbs[head] if along[head][b] / size <= _NECK_ENDS] or limbs[head][:1]
    trunk += [b for b in limbs[head] if b not in neck]
    forward, faced = _forward(given, feet, None)
    names = _Names(len(tree.parents))
    names.limb(neck, np.array([along[head][b] for b in neck]) / size, _HEAD, "")
    for pair, template in ((hands, _ARM), (feet, _LEG)):
        names.pair(limbs, pair, _sided(given, limbs, pair, forward), along, scale, template)
    _name_trunk(given, names, trunk, tree.between([*feet, head]), head)
    _name_others(given, names)
    return Body(HUMAN, names.parts, names.sides, names.sure, faced)


def _quadruped(given: Given) -> Body | None:
    found = _quadruped_ends(given)
    if found is None:
        return None
    fore, hind, head, tail = found
    tree = given.tree
    ends = [*fore, *hind, *(end for end in (head, tail) if end is not None)]
    limbs, trunk = _limbs(tree, ends)
    along = {end: tree.along(end) for end in ends}
    begin, end = (np.mean([_base(given, limbs, foot) for foot in pair], axis=0) for pair in (hind, fore))
    forward, faced = _forward(given, fore, end - begin)
    names = _Names(len(tree.parents))
    for pair, template, prefix in ((fore, _FORE, "Front"), (hind, _HIND, "Hind")):
        length = {end: max([along[end][b] for b in limbs[end]], default=1.0) for end in pair}
        scale = dict.fromkeys(pair, np.mean(list(length.values())))
        names.pair(limbs, pair, _sided(given, limbs, pair, forward), along, scale, template, prefix)
    if tail is not None:
        for b in limbs[tail]:
            names.give(b, "Tail", "", True)
    if head is not None:
        _name_neck(given, names, limbs[head])
    _name_trunk(given, names, trunk, tree.between([*hind, fore[0]]), fore[0])
    _name_others(given, names)
    return Body(QUADRUPED, names.parts, names.sides, names.sure, faced)


def _without_jaw(given: Given, bones: list[int]) -> list[int]:
    """The chain to the head without a jaw or an ear at its end: what moves far less than the bone before."""
    areas = [float(given.areas[given.owners == b].sum()) for b in bones]
    while len(bones) > 1 and areas[0] < _JAW * areas[1]:
        bones, areas = bones[1:], areas[1:]
    return bones


def _name_neck(given: Given, names: _Names, bones: list[int]) -> None:
    """Of a quadruped; bones from the tip on"""
    for number, b in enumerate(_without_jaw(given, bones)):
        names.give(b, "Head" if number == 0 else "Neck", "", True)


def _name_trunk(given: Given, names: _Names, trunk: list[int], hips: int, toward: int) -> None:
    """From the hips up; what lies beside that way goes with what it hangs from."""
    tree = given.tree
    way = [b for b in tree.way(hips, toward) if b in trunk]
    for b, part in zip(way, _trunk_names(len(way)), strict=True):
        names.give(b, part, "", len(way) <= len(_TRUNK))
    for b in trunk:
        if not names.parts[b]:
            names.give(b, "Hips", "", False)


def _name_others(given: Given, names: _Names) -> None:
    """Bones beside the limbs are parts of what they hang from."""
    tree = given.tree
    for b in sorted(range(len(names.parts)), key=lambda b: len(tree.up(b))):
        if not names.parts[b]:
            above = next((a for a in tree.up(b)[1:] if names.parts[a]), None)
            part, side = (names.parts[above], names.sides[above]) if above is not None else ("Hips", "")
            names.give(b, part, side, False)


def recognise(kind: str, given: Given) -> Body | None:
    """The parts of a body of this kind; None: there is none in the skeleton."""
    if len(given.tree.leaves) < 4:
        return None
    return _human(given) if kind == HUMAN else _quadruped(given)


def upright(given: Given) -> Body | None:
    """A human, or else a quadruped: by how the trunk of the one that is found stands."""
    found = recognise(QUADRUPED, given)
    human = recognise(HUMAN, given)
    if human is None or found is None:
        return human or found
    trunk = [b for b, part in enumerate(human.parts) if part in ("Hips", "Head")]
    ways = given.tree.joints[trunk] - given.tree.joints[trunk].mean(axis=0)
    heights = np.abs(ways @ given.up).max()
    flat = np.linalg.norm(ways - np.outer(ways @ given.up, given.up), axis=1).max()
    return human if heights > flat else found
