"""What Keep Volume leaves on a rig: a nodes modifier and attributes on its meshes, and a mesh of probes.

nodes/ makes them; here they are told from what is the artist's own.
"""

from __future__ import annotations

MODIFIER = "Keep Volume"
GROUP = "ossify_keep_volume"  # on node groups: the number of bones that a vertex may have
PROBE = "ossify_probe"  # on the object whose points follow the bones
FITTED = "ossify_volume_of"  # on meshes: the mark of the weights and the rest that it was fitted to
PREFIX = "ossify_volume"  # of the attributes


def is_probe(obj) -> bool:
    return PROBE in obj


def modifier_of(obj):
    """The modifier that keeps the volume; None when there is none."""
    if obj.type != "MESH":
        return None
    return next(
        (m for m in obj.modifiers if m.type == "NODES" and m.node_group and GROUP in m.node_group), None
    )


def forget(mesh) -> None:
    """Takes what was stored for it off a mesh."""
    for name in [attribute.name for attribute in mesh.attributes if attribute.name.startswith(PREFIX)]:
        mesh.attributes.remove(mesh.attributes[name])
    if FITTED in mesh:
        del mesh[FITTED]
