"""Copies of a rig that look at themselves: constraints and drivers that looked at the original."""

from __future__ import annotations


def _aim(owner, old, new) -> None:
    """Lets what looks at the old object look at the new one."""
    for name in ("target", "pole_target"):
        if getattr(owner, name, None) == old:
            setattr(owner, name, new)
    for target in getattr(owner, "targets", ()):
        if target.target == old:
            target.target = new


def _drivers(block, pairs: dict) -> None:
    """Those of a data-block, from the keys of the pairs to their values."""
    for curve in block.animation_data.drivers if block is not None and block.animation_data else ():
        for variable in curve.driver.variables:
            for target in variable.targets:
                if target.id in pairs:
                    target.id = pairs[target.id]


def at_itself(armature, old) -> None:
    """A copy of the armature old, with data of its own."""
    pairs = {old: armature, old.data: armature.data}
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            _aim(constraint, old, armature)
    _drivers(armature, pairs)
    _drivers(armature.data, pairs)


def shapes(mesh, copy, old) -> None:
    """Shape keys of a copied mesh that follow the armature old follow the copy."""
    _drivers(mesh.shape_keys, {old: copy, old.data: copy.data})
