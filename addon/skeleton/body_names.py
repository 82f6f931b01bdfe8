"""Names of a skeleton's bones, as an artist wants them: by places (naming.py), or by parts of a body that is
recognised in it (templates.py)."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..base.surface import diagonal, vertex_areas
from ..base.words import counted, listed
from ..native import Skeleton
from ..options.options import Options
from . import limbs, naming, part_names, templates
from .mirror import Pieces
from .tree import Tree

_GOES = 0.5  # of the size: a body that goes as far faces where it goes
_WORDS = {templates.HUMAN: "human", templates.QUADRUPED: "quadruped"}


@dataclasses.dataclass
class Named:
    names: list[str]
    chains: list[tuple[str, list[int]]]  # collections of bones, and their titles
    parts: list[str]  # with sides; "": no part was recognised
    notes: list[str]  # for the artist


@dataclasses.dataclass
class Laid:
    """Bones in their places, and what they move."""

    skeleton: Skeleton
    pieces: Pieces
    tails: np.ndarray  # [b][3]
    rest: np.ndarray  # [v][3]
    dense: np.ndarray  # [v][b]
    triangles: np.ndarray  # [t][3]
    transforms: np.ndarray  # [f][b][4][4]
    world: np.ndarray  # [3][3] the world's axes, a row each


def _by_places(laid: Laid, taken: set[str]) -> Named:
    named = naming.name_pieces(laid.skeleton, laid.pieces, laid.tails, laid.rest, laid.world)
    titled = [(name + side, chain) for (name, side), chain in zip(named, laid.pieces.chains, strict=True)]
    chains = sorted(titled, key=lambda item: (item[1][0] != laid.skeleton.root, item[0]))
    names = naming.name_bones(laid.pieces, named, taken)
    return Named(names, chains, [""] * len(names), [])


def _walk(laid: Laid) -> np.ndarray | None:
    """[3] the way that the root goes, if it goes far"""
    root = laid.skeleton.root
    point = np.append(laid.skeleton.joints[root], 1.0)
    way = ((laid.transforms[-1, root] - laid.transforms[0, root]) @ point)[:3]
    return way if np.linalg.norm(way) > _GOES * diagonal(laid.rest) else None


def _body(laid: Laid, options: Options) -> templates.Body | None:
    facing = templates.FACINGS.get(options.facing)
    given = templates.Given(
        Tree(laid.skeleton.parents, laid.skeleton.joints, laid.tails),
        laid.tails,
        laid.rest.astype(np.float64),
        laid.dense.argmax(axis=1),
        vertex_areas(laid.rest, laid.triangles),
        laid.world[2],
        None if facing is None else np.array(facing, float) @ laid.world,
        _walk(laid),
    )
    if options.names != "RIGIFY":
        return templates.recognise(options.names, given)
    return templates.upright(given)


def _notes(body: templates.Body, names: list[str]) -> list[str]:
    unsure = [name for name, sure in zip(names, body.sure, strict=True) if not sure]
    notes = []
    if unsure:
        verb = "is" if len(unsure) == 1 else "are"
        notes.append(f"{counted(len(unsure), 'name')} {verb} a guess: {listed(unsure)}.")
    if not body.faced:
        notes.append("Which side is left is a guess: choose where the body faces (Facing).")
    return notes


def name(laid: Laid, options: Options, taken: set[str]) -> Named:
    """taken: names that no bone may have"""
    if options.names == "PLACES":
        return _by_places(laid, taken)
    body = _body(laid, options)
    if body is None:
        result = _by_places(laid, taken)
        words = _WORDS.get(options.names, "body that Rigify knows")
        result.notes.append(f"No {words} was recognised in the skeleton: names say places.")
        return result
    depths = limbs.depths(laid.skeleton.parents)
    order = sorted(range(len(depths)), key=lambda b: (not body.sure[b], depths[b], b))
    order = sorted(order, key=lambda b: depths[b] if body.parts[b] in ("Spine", "Neck", "Tail") else 0)
    names = part_names.unlike(body.parts, body.sides, order, options.names == "RIGIFY")
    groups: dict[str, list[int]] = {}
    for b in np.argsort(depths, kind="stable").tolist():
        groups.setdefault(part_names.title_of(body.parts[b]) + body.sides[b], []).append(b)
    parts = [""] * len(names)
    for b in order:  # the first of its kind
        part = body.parts[b] + body.sides[b]
        if part not in parts:
            parts[b] = part
    return Named(naming.apart(names, taken), list(groups.items()), parts, _notes(body, names))
