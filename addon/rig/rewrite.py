"""Arrays back into a rig that stands in the scene; nothing else of it is touched.

Bones stay where they are and hang where they hang. Bones that others hang from and that are not asked for,
an artist's controls among them, are read as Blender evaluates them and never written. With R the rest and T
the transform of a bone, and P the pose of its parent as it will be, its channels make up P^-1 T R, in terms
of channels.py.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..base import tolerances
from ..base.meshes import matrix_of, positions
from ..base.surface import diagonal
from ..base.words import aloof_words, moved_words
from ..native import nouns
from ..options.options import Options, holds
from ..skeleton import placement
from . import channels, keying, keys, played, roles, standing, weights
from .keying import Keyed, Links
from .keys import Writer
from .skin import set_positions

_LIMITS = "LIMIT_"  # how the types of constraints begin that only limit
_ANSWERS = 3  # of keying, when constraints answer to what was keyed

# ---- weights


def wanted_weights(influence_bones, influence_weights, held: np.ndarray, present: np.ndarray) -> np.ndarray:
    """[n][b] of influences [n][k], of sum 1: groups that are held [b] stay as they are, present [n][b], and
    the others share what they leave"""
    left = np.maximum(1 - present[:, held].sum(axis=1, dtype=np.float32), 0)
    free = (influence_bones >= 0) & ~held[influence_bones]
    amounts = np.where(free, influence_weights, 0).astype(np.float64)
    total = amounts.sum(axis=1)
    off = (np.abs(total - left) > tolerances.WEIGHT_SUM) & (total > 0)
    amounts[off] *= (left[off] / total[off])[:, None]
    bones, amounts = weights.exact(np.where(free, influence_bones, -1), amounts, left)
    return np.where(held, present, nouns.dense(bones, amounts, len(held)))


def write_weights(obj, rows, influence_bones, influence_weights, names: list[str], held=None) -> None:
    """Replaces the weights that these vertices have in the groups `names`.

    rows [n], influences [n][k]. held [b]: groups that keep their weights. A vertex that has its weights
    already is not touched.
    """
    rows, held = np.asarray(rows, int), np.zeros(len(names), bool) if held is None else np.asarray(held, bool)
    present = standing.painted(obj, names)[rows]
    wanted = wanted_weights(influence_bones, influence_weights, held, present)
    replace_weights(obj, rows, wanted, names, present, held)


def replace_weights(obj, rows, wanted, names: list[str], present, held) -> None:
    """To the bit: wanted [n][b] instead of present [n][b], but for groups that are held [b]."""
    changed = (wanted != present).any(axis=1)
    groups = obj.vertex_groups
    for b in np.flatnonzero(~held):
        old = rows[changed & (present[:, b] > 0)]
        if len(old):
            groups[names[b]].remove(old.tolist())
    for b in np.flatnonzero(~held):  # in this order, which is that of the sum
        some = np.flatnonzero(changed & (wanted[:, b] > 0))
        if len(some):
            add = (groups.get(names[b]) or groups.new(name=names[b])).add
            for vertex, amount in zip(rows[some].tolist(), wanted[some, b].tolist(), strict=True):
                add((vertex,), amount, "REPLACE")
    obj.data.update()


# ---- the rest shape


def write_rest(obj, armature, rows, points) -> None:
    """Puts these vertices to points [n][3] in the armature's space; shape keys move along."""
    back = np.linalg.inv(matrix_of(obj)) @ matrix_of(armature)
    before = positions(obj.data)
    after = before.copy()
    after[rows] = np.asarray(points, np.float64) @ back[:3, :3].T + back[:3, 3]
    set_positions(obj.data, after)
    for key in obj.data.shape_keys.key_blocks if obj.data.shape_keys else ():
        flat = np.empty(3 * len(before), np.float32)
        key.points.foreach_get("co", flat)
        shape = flat.reshape(-1, 3)
        shape[rows] += after[rows] - before[rows]
        key.points.foreach_set("co", shape.ravel())


# ---- keys


def _aloof(bone) -> list[str]:
    """What keeps a bone from hanging from its parent's pose as usual, in Blender's words."""
    found = [] if bone.use_inherit_rotation else ["Inherit Rotation off"]
    found += [] if bone.use_local_location else ["Local Location off"]
    return found + ([] if bone.inherit_scale == "FULL" else ["Inherit Scale not at Full"])


def _obeys(armature, action, name: str) -> bool:
    """Whether the channels of a bone are what their keys say, and hang from its parent's pose as usual."""
    return not _aloof(armature.data.bones[name]) and not keys.is_driven(armature, action, name)


def is_plain(armature, action, name: str) -> bool:
    """Whether the pose of a bone is what its keys say: nothing else moves it, and nothing limits it."""
    constraints = armature.pose.bones[name].constraints
    return all(constraint.mute for constraint in constraints) and _obeys(armature, action, name)


def is_bound(armature, action, name: str) -> bool:
    """Whether something else moves the bone, so that keys on it would be of no use. Limits do not: they only
    hold back what keys say."""
    constraints = armature.pose.bones[name].constraints
    moves = any(not c.mute and not c.type.startswith(_LIMITS) for c in constraints)
    return moves or not _obeys(armature, action, name)


def _is_moved(armature, name: str) -> bool:
    """Whether a constraint or a driver has a say in the pose of a bone."""
    constraints = armature.pose.bones[name].constraints
    return keys.is_driven(armature, None, name) or not all(constraint.mute for constraint in constraints)


def not_plain_words(armature, names: list[str]) -> list[str]:
    """Beginnings of sentences on bones whose pose is not what their keys say, by what is to blame."""
    moved = [name for name in names if _is_moved(armature, name)]
    aloof = {name: _aloof(armature.data.bones[name]) for name in names if name not in moved}
    return [*([moved_words(moved)] if moved else []), *([aloof_words(aloof)] if aloof else [])]


def is_limited(armature, action, name: str) -> bool:
    """Whether keys move the bone, but not beyond limits."""
    return not is_plain(armature, action, name) and not is_bound(armature, action, name)


@dataclasses.dataclass
class _Bone:
    """A link to be."""

    name: str  # of the bone that is keyed with location, rotation and scale
    inner: str | None  # of the deform bone under it, when that is a carrier
    column: int  # in the transforms; -1: it follows

    @property
    def shown(self) -> str:
        """The bone whose pose is the link's."""
        return self.inner or self.name


def _bones(armature, names: list[str]) -> list[_Bone]:
    """Those named, and all above them, parents first."""
    bones, carriers, found = armature.data.bones, roles.carriers_of(armature), {}
    for column, name in enumerate(names):
        outer = carriers.get(name, name)
        found[outer] = _Bone(outer, name if name in carriers else None, column)
    for name in list(found):
        for above in bones[name].parent_recursive:
            if above.name not in found and not any(link.inner == above.name for link in found.values()):
                found[above.name] = _Bone(above.name, None, -1)
    return sorted(found.values(), key=lambda link: len(bones[link.name].parent_recursive))


def _parents(armature, links: list[_Bone]) -> np.ndarray:
    number = {name: i for i, link in enumerate(links) for name in (link.name, link.inner) if name}
    above = [armature.data.bones[link.name].parent for link in links]
    return np.array([-1 if bone is None else number[bone.name] for bone in above])


def _some(armature, action, links: list[_Bone], is_so) -> np.ndarray:
    """[link] of which a bone is so: is_so(armature, action, name)"""
    return np.array(
        [
            link.column >= 0 and any(is_so(armature, action, n) for n in (link.name, link.inner) if n)
            for link in links
        ],
        bool,
    )


def _told(links: list[_Bone], held, frames: int) -> np.ndarray:
    """[f][link] what is told to be held"""
    result = np.zeros((frames, len(links)), bool)
    for i, link in enumerate(links):
        if held is not None and link.column >= 0:
            result[:, i] = held[:, link.column]
    return result


def _with_ancestors(result: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """[f][link] a link that is held holds those above it"""
    for i in reversed(range(len(parents))):
        if parents[i] >= 0:
            result[:, parents[i]] |= result[:, i]
    return result


def held_with_ancestors(armature, names: list[str], held) -> np.ndarray:
    """[f][b] what a solver shall not change in the rig's clips when `held` ([f][b] or None) is held: with it
    bones that something else moves or limits, and what is above any of them, or those would move along."""
    links = _bones(armature, names)
    parents, clips = _parents(armature, links), played.of(armature)
    result = np.zeros((sum(len(clip.times) for clip in clips), len(names)), bool)
    columns = [(i, link.column) for i, link in enumerate(links) if link.column >= 0]
    for clip in clips:
        told = None if held is None else held[clip.rows]
        full = _told(links, told, len(clip.times))
        full |= _some(armature, clip.action, links, lambda *bone: not is_plain(*bone))
        full = _with_ancestors(full, parents)
        for i, column in columns:
            result[clip.rows, column] = full[:, i]
    return result


def _boxes(armature, links: list[_Bone], names: list[str], skin) -> np.ndarray:
    """[link][8][3] around what each moves; the bone where that is nothing: what hangs from it goes with it"""
    boxes = np.empty((len(links), 8, 3))
    for i, link in enumerate(links):
        deforms = link.column >= 0 and armature.data.bones[names[link.column]].use_deform
        rows = skin.painted[:, link.column] > 0 if deforms else np.ones(len(skin.rest), bool)
        bone = armature.data.bones[link.name]
        points = skin.rest[rows] if rows.any() else np.array([bone.head_local, bone.tail_local])
        boxes[i] = placement.box(np.asarray(points, np.float64), np.eye(3))
    return boxes


def _given(writer: Writer, links: list[_Bone], partly: np.ndarray, frames: int) -> channels.Channels:
    """The channels of those that are held in some frames."""
    shapes = ((3,), (4,), (3,), (4,))
    parts = [np.zeros((frames, len(links), *shape)) for shape in shapes]
    for i in np.flatnonzero(partly):
        present = writer.present(links[i].name, links[i].inner)
        for part, values in zip(parts, dataclasses.astuple(present), strict=True):
            part[:, i] = 0 if values is None else values
    return channels.Channels(*parts)


def _along_root(bones: list, root: str, chain: channels.Chain, heads: np.ndarray, size: float) -> np.ndarray:
    """[link] those that hang from the root, and whose heads it takes along"""
    names = [bone.name for bone in bones]
    below = np.array([bone.parent is not None and bone.parent.name == root for bone in bones])
    if below.any():
        moved = chain.transforms[:, names.index(root)]
        below &= keying.goes_along(heads, moved, chain.transforms, size)
    return below


def _pin(armature, chain: channels.Chain, joined: np.ndarray, links, options: Options, size: float) -> None:
    """Bones that only turn go on to do so; those that are connected cannot do anything else, and those that
    hang from Root need nothing else where it goes along."""
    bones = [armature.data.bones[link.name] for link in links]
    connected = np.array([bone.use_connect for bone in bones]) & ~chain.follows
    articulated = joined & holds(options)
    limit = channels.PIN_SHARE * (keying.tolerance_of(options, size, options.frames == "POSES") or 0.0)
    heads = np.array([bone.head_local for bone in bones], np.float64)
    along = _along_root(bones, roles.root_of(armature), chain, heads, size)
    parents = np.where((joined | connected | along) & ~chain.follows, chain.parents, -1)
    chain.transforms, chain.pinned = channels.pin(
        heads, parents, chain.transforms, limit, connected | articulated | along
    )


def _links(armature, writer: Writer, transforms, names, options: Options, held, skin):
    """The chain, and its links to be."""
    frames, flexible = len(transforms), options.bone_kind == "FLEXIBLE"
    bones = armature.data.bones
    links = _bones(armature, names)
    parents = _parents(armature, links)
    held = _with_ancestors(_told(links, held, frames), parents)
    held |= _some(armature, writer.action, links, is_bound)
    follows = np.array([link.column < 0 for link in links]) | held.all(axis=0)
    with standing.alone(armature) as (scene, layer):
        shown = [link.shown for link in links]
        moved = standing.read_transforms(armature, scene, layer, shown, writer.times.tolist())
    rest = np.array([np.array(bones[link.name].matrix_local, np.float64) for link in links])
    poses = moved @ rest
    above = np.where((parents < 0)[:, None, None], np.eye(4), poses[:, parents])
    for i, link in enumerate(links):
        if not follows[i]:
            wanted = transforms[:, link.column]
            moved[:, i] = standing.rigid(wanted) if flexible and link.inner is None else wanted
    chain = channels.Chain(
        rest=rest,
        parents=parents,
        boxes=_boxes(armature, links, names, skin),
        transforms=moved,
        rigid=not flexible,
        follows=follows,
        local=channels.inverse_of(above) @ poses,
        held=held & ~follows,
        every=np.array([armature.pose.bones[link.name].rotation_mode != "QUATERNION" for link in links]),
        ended=np.array([writer.goes_on(link.name) for link in links]),
    )
    if options.key_shape == "BEZIER" and options.keys == "REDUCED":
        chain.present = _given(writer, links, ~follows, frames)
    if chain.held.any():
        chain.given = _given(writer, links, chain.held.any(axis=0), frames)
    deforms = np.array([bones[link.shown].use_deform for link in links])
    helps = np.array([roles.is_helper(bones[link.shown]) for link in links])
    joined = (parents >= 0) & deforms & deforms[parents] & ~helps & (options.skeleton != "NONE")
    if not flexible:
        _pin(armature, chain, joined, links, options, writer.size)
    inner = [link.inner for link in links]
    return Links(chain, [link.name for link in links], inner, joined & ~follows), links


def _wander(armature, action, links: list[_Bone], chain: channels.Chain) -> bool:
    """Whether a bone that follows hangs from one that is keyed, with constraints that see the new pose."""
    keyed = ~chain.follows
    for i, parent in enumerate(chain.parents):
        keyed[i] |= parent >= 0 and keyed[parent]
    return any(
        keyed[i] and chain.follows[i] and not is_plain(armature, action, link.name)
        for i, link in enumerate(links)
    )


@dataclasses.dataclass
class Keys:
    """What there is to write."""

    links: Links
    bones: list[_Bone]
    tracks: list
    size: float


def put_keys(armature, action, times, planned: Keys) -> Keyed:
    """Writes what settle_keys found on a copy of the same rig."""
    return _put(Writer(armature, action, times, planned.size), planned)


def _put(writer: Writer, planned: Keys) -> Keyed:
    keyed = keying.put(writer, planned.links, planned.tracks)
    for link, follows in zip(planned.bones, planned.links.chain.follows, strict=True):
        if follows and link.column >= 0:
            for name in filter(None, (link.name, link.inner)):
                writer.leave(name)
    counts = {"keys": writer.keys, "keys_if_every": writer.keys_if_every, "numbers": writer.numbers}
    return dataclasses.replace(keyed, **counts)


def _with_kept(writer: Writer, links: Links, tracks: list) -> list:
    """With the curves themselves of bones that keep theirs, so that they can be written elsewhere."""
    follows = links.chain.follows
    for i, names in enumerate(zip(links.bones, links.inner, strict=True)):
        if tracks[i] is None and not follows[i]:
            tracks[i] = writer.as_they_are([name for name in names if name is not None])
    return tracks


def settle_keys(
    armature, action, transforms, times, names: list[str], options: Options, held=None, skin=None
) -> tuple[Keyed, Keys]:
    """As write_keys, and what was written; skin: that of the rig, if it is known."""
    skin = standing.read_skin(armature, names) if skin is None else skin
    size, poses = diagonal(skin.rest), options.frames == "POSES"
    transforms = np.asarray(transforms, np.float64)
    for _ in range(_ANSWERS):
        writer = Writer(armature, action, times, size)
        links, bones = _links(armature, writer, transforms, names, options, held, skin)
        tracks = keying.tracks_of(links, writer.times, size, options, poses)
        planned = Keys(links, bones, _with_kept(writer, links, tracks), size)
        keyed = _put(writer, planned)
        if not _wander(armature, action, bones, links.chain):
            break
    armature.update_tag(refresh={"TIME"})
    return keyed, planned


def write_keys(armature, action, transforms, times, names: list[str], options: Options, held=None) -> Keyed:
    """Keys these bones in their places, by transforms [f][b][4][4] rest to frame, in the frames `times`.

    The armature gets the action; keys outside of the frames stay. held [f][b]: what keeps its keys, to the
    bit, and with it what is above it. Bones that constraints or drivers move are not keyed; those above them
    are, and they go along. The root is keyed if it is among the names.
    """
    return settle_keys(armature, action, transforms, times, names, options, held)[0]
