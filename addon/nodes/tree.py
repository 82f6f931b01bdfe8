"""Node trees by short words: a node, what goes into it, where it stands."""

from __future__ import annotations

import bpy

_WIDE, _HIGH = 200, 170  # of a place in the grid that nodes stand in


class Tree:
    """A geometry node group while it is made; places count columns and rows."""

    def __init__(self, name: str):
        self.group = bpy.data.node_groups.new(name, "GeometryNodeTree")
        self._frame = None

    def socket(self, name: str, kind: str, out: bool = False, words: str = "", **more):
        """A socket of the group itself."""
        where = "OUTPUT" if out else "INPUT"
        item = self.group.interface.new_socket(
            name, description=words, in_out=where, socket_type=f"NodeSocket{kind}"
        )
        for field, value in more.items():
            setattr(item, field, value)
        return item

    def frame(self, label: str):
        """What is made from here on stands in it."""
        self._frame = self.group.nodes.new("NodeFrame")
        self._frame.label, self._frame.use_custom_color = label, False
        return self._frame

    def unframed(self) -> None:
        self._frame = None

    def node(self, kind: str, at: tuple[float, float], label: str = "", given: dict | None = None, **fields):
        """given: what its inputs get, by name or number: a socket of another node, or a value"""
        node = self.group.nodes.new(kind)
        for field, value in fields.items():
            setattr(node, field, value)
        node.label = label
        node.parent = self._frame
        node.location = (_WIDE * at[0], -_HIGH * at[1])
        for name, value in (given or {}).items():
            self.give(node, name, value)
        return node

    def give(self, node, name, value) -> None:
        socket = _enabled(node.inputs, name)
        if isinstance(value, bpy.types.NodeSocket):
            self.group.links.new(value, socket)
        else:
            socket.default_value = value


def _enabled(sockets, name):
    """A number, or the one of this name that the node's settings ask for."""
    if isinstance(name, int):
        return sockets[name]
    return next(socket for socket in sockets if socket.name == name and socket.enabled)


def result(node, name: str | None = None):
    """The socket that a node answers with; by default the first that its settings ask for."""
    return next(s for s in node.outputs if s.enabled and name in (None, s.name))


def set_input(modifier, name: str, value) -> None:
    """Of a nodes modifier, by the name that the socket has in its group."""
    identifier = _identifier(modifier, name)
    if hasattr(modifier, "properties"):  # 5.2
        getattr(modifier.properties.inputs, identifier).value = value
    else:
        modifier[identifier] = value


def input_of(modifier, name: str):
    identifier = _identifier(modifier, name)
    if hasattr(modifier, "properties"):
        return getattr(modifier.properties.inputs, identifier).value
    return modifier.get(identifier)


def property_of(modifier, name: str) -> tuple:
    """Owner and name of the property behind an input, for a panel."""
    identifier = _identifier(modifier, name)
    if hasattr(modifier, "properties"):
        return getattr(modifier.properties.inputs, identifier), "value"
    return modifier, f'["{identifier}"]'


def _identifier(modifier, name: str) -> str:
    items = modifier.node_group.interface.items_tree
    return next(
        i.identifier for i in items if i.item_type == "SOCKET" and i.in_out == "INPUT" and i.name == name
    )
