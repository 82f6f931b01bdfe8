"""Data-blocks remembered across steps between which an artist may undo, rename or delete."""

from __future__ import annotations

import dataclasses

import bpy

from .refusal import Refusal


@dataclasses.dataclass(frozen=True)
class Handle:
    """A Python reference dies with undo; the session's own number of a data-block lives through it."""

    kind: str  # a collection of bpy.data
    name: str
    uid: int

    @classmethod
    def of(cls, kind: str, block) -> Handle:
        return cls(kind, block.name, block.session_uid)

    def find(self):
        """The data-block, or None when it is gone."""
        blocks = getattr(bpy.data, self.kind)
        block = blocks.get(self.name)
        if block is not None and block.session_uid == self.uid:
            return block
        return next((block for block in blocks if block.session_uid == self.uid), None)

    def get(self):
        block = self.find()
        if block is None:
            raise Refusal(f"{self.name} was removed while Ossify was working: nothing was changed.")
        return block


def was_changed(block) -> Refusal:
    """For what is not any more what it was when it was read."""
    return Refusal(f"{block.name} was changed while Ossify was working: it is as you left it.")


@dataclasses.dataclass(frozen=True)
class Place:
    """The scene and the view layer that a conversion reads from and builds in."""

    scene: Handle
    layer: str

    @classmethod
    def of(cls, scene, view_layer) -> Place:
        return cls(Handle.of("scenes", scene), view_layer.name)

    def find(self):
        """The view layer, or None when it is gone."""
        scene = self.scene.find()
        return scene.view_layers.get(self.layer) if scene is not None else None

    def get(self):
        scene = self.scene.get()
        layer = scene.view_layers.get(self.layer)
        if layer is None:
            raise Refusal(f"The view layer {self.layer} was removed while Ossify was working.")
        return scene, layer
