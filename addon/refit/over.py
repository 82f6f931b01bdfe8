"""What lies over the bones of a rig, and is laid on again after a refit: correctives, or virtual bones.

Bones are refitted bare, as if nothing lay over them, on copies; then, for the best of them, what lay over
them is solved for the new bones, laid onto a copy and measured. The artist's rig is written last of all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator

import numpy as np

from .. import native
from ..base.steps import Step, watch
from ..motion.capture import Motion
from ..rig import corrected, correcting, correctives, played, standing, virtual_bones, virtual_write
from ..rig.stand import Standing
from ..two_layer import examples, solving

Change = Callable[[object, list], None]  # of an armature and its meshes


def _nothing(_armature, _meshes: list) -> None:
    pass


@dataclasses.dataclass(frozen=True)
class Laid:
    """Solved for bones that were refitted."""

    off: Change  # before bones are written
    on: Change  # after
    rig: native.Rig  # with it, of all vertices
    note: str


@dataclasses.dataclass(frozen=True)
class Nothing:
    """A rig of bones alone."""

    bare: Change = _nothing
    dense: bool = False  # whether vertices may follow more bones than the rig's settings say

    def __bool__(self) -> bool:
        return False


def _skin_of(armature, meshes: list) -> tuple[list[str], standing.Skin]:
    names = standing.bone_names(armature)
    return names, standing.read_skin(armature, names, meshes)


def _moving(motion: Motion, skin: standing.Skin) -> np.ndarray:
    return np.ascontiguousarray(motion.frames[:, skin.moved])


# ---- correctives


@dataclasses.dataclass(frozen=True)
class Correctives:
    wish: correcting.Wish
    held: correctives.Held | None
    dense: bool = False

    def bare(self, armature, meshes: list) -> None:
        correctives.remove(armature, meshes)

    def look(self, armature, meshes: list, motion: Motion, stands: Standing):
        """At a copy with the new bones."""
        names, skin = _skin_of(armature, meshes)
        body = corrected.body_of(armature, names, skin, _moving(motion, skin), stands, self.held)
        return body, skin

    def solve(self, seen, _motion: Motion, stands: Standing) -> Generator[Step, None, Laid]:
        body, skin = seen
        found, size, names = (yield from correcting.solve(body, self.wish)), stands.size, body.bones

        def off(armature, meshes: list) -> None:
            corrected.take_off(armature, meshes, self.held)

        def on(armature, meshes: list) -> None:
            corrected.put_on(armature, meshes, skin, found, names, size)

        return Laid(off, on, self._whole(body, skin, found), found.note)

    def _whole(self, body: correcting.Body, skin: standing.Skin, found: correcting.Found) -> native.Rig:
        """Of all vertices"""
        bones, weights = standing.sparse(skin.weights)
        rest = skin.rest.astype(np.float32)
        parts, values = [], []
        if self.held is not None:
            parts.append(self.held.fields)
            values.append(self.held.values if found.held_values is None else found.held_values)
        if found.shapes is not None:
            fields = np.zeros((len(found.shapes.names), len(rest), 3), np.float32)
            fields[:, skin.moved] = found.shapes.fields
            parts.append(fields)
            values.append(found.shapes.values)
        rig = native.Rig(body.rig.transforms, bones, weights, rest)
        if not parts:
            return standing.replayable(rig)
        both = np.concatenate(parts), np.ascontiguousarray(np.concatenate(values, axis=1))
        return dataclasses.replace(standing.replayable(rig), fields=both[0], coefficients=both[1])


# ---- virtual bones

_PAINTED_WORDS = (
    " The vertex groups of {} moved nothing and are gone: paint bones after Remove Virtual Bones, or paint"
    " the virtual bones."
)


@dataclasses.dataclass(frozen=True)
class VirtualBones:
    sizes: virtual_bones.Sizes
    painted: list[str] = dataclasses.field(default_factory=list)  # masters with groups, which move nothing
    dense: bool = True  # what they blend is not theirs to keep few

    def bare(self, armature, meshes: list) -> None:
        virtual_write.remove(armature, meshes)

    def look(self, armature, meshes: list, motion: Motion, _stands: Standing):
        names, skin = _skin_of(armature, meshes)
        moved, turns = played.read_transforms(armature, names), examples.turns(armature, names)
        dense, rest = skin.weights[skin.moved], skin.rest[skin.moved]
        frames = np.concatenate([_moving(motion, skin), examples.replay(rest, dense, turns)])
        return names, skin, dense, moved, np.concatenate([moved, turns]), frames

    def solve(self, seen, motion: Motion, stands: Standing) -> Generator[Step, None, Laid]:
        names, skin, dense, moved, transforms, frames = seen
        wish = native.Compression(
            virtual_bones=self.sizes.virtual,
            masters=solving.masters_for(len(names), self.sizes.masters),
            influences=min(max(self.sizes.influences, 2), native.MAX_BLENDED),
            source="poses",
        )
        given = skin.rest[skin.moved], dense, transforms, frames, skin.moved_triangles
        job = solving.begin(*given, wish, stands.options.threads)
        layers, size = (yield from watch(job, motion, 0.0, 1.0))[1], stands.size

        def on(armature, meshes: list) -> None:
            now = standing.read_skin(armature, names, meshes)
            virtual_write.add(armature, now, names, layers, size)

        flat = solving.flat(layers, moved[:, :, :3], skin.rest[skin.moved])
        note = f"{len(layers.virtual_bones)} virtual bones were solved for the bones as they are now."
        if self.painted:
            note += _PAINTED_WORDS.format(", ".join(self.painted))
        return Laid(self.bare, on, _spread(flat, skin), note)


def _spread(rig: native.Rig, skin: standing.Skin) -> native.Rig:
    """To all vertices, also those that nothing moves."""
    shape = len(skin.rest), rig.influence_bones.shape[1]
    bones, weights = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)
    bones[skin.moved], weights[skin.moved] = rig.influence_bones, rig.influence_weights
    whole = native.Rig(rig.transforms, bones, weights, skin.rest.astype(np.float32))
    return standing.replayable(whole)


Over = Nothing | Correctives | VirtualBones
NOTHING = Nothing()


def of(armature, meshes: list) -> Over:
    if correctives.names_of(armature):
        return Correctives(corrected.wish_of(armature), corrected.held_of(armature, meshes))
    if virtual_bones.has_any(armature):
        painted = virtual_bones.painted_masters(armature, meshes)
        return VirtualBones(virtual_bones.sizes_of(armature, meshes), painted)
    return NOTHING
