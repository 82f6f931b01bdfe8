"""Names for bones that are made after a rig was: the chain's, the next number, the side."""

from __future__ import annotations

import itertools
import re

_NAME = re.compile(r"^(.*?)(?:\.(\d+))?(\.[LR])?$")


def parts_of(name: str) -> tuple[str, str, str]:
    """The name of the chain, the number as it is written, the side with its dot; "" for what is not there"""
    base, number, side = _NAME.match(name).groups()
    return base, number or "", side or ""


def next_name(armature, like: str) -> str:
    """A name of the same chain and side that no bone and no vertex group has: the next number."""
    base, number, side = parts_of(like)
    digits = len(number or "000")
    meshes = [obj for obj in armature.children if obj.type == "MESH"]
    taken = {bone.name for bone in armature.data.bones}
    taken |= {group.name for obj in meshes for group in obj.vertex_groups}
    names = (f"{base}.{count:0{digits}}{side}" for count in itertools.count(int(number or 0) + 1))
    return next(name for name in names if name not in taken)
