"""What an artist reads: why an operator refuses, and the words of a panel."""

import types

import bpy
import pytest

ICONS = set(bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items.keys())


class Layout:
    """Takes whatever a panel draws, with icons that this Blender has, and remembers its words."""

    def __init__(self):
        object.__setattr__(self, "words", [])

    def __getattr__(self, _name):
        def part(*arguments, **chosen):
            assert chosen.get("icon", "NONE") in ICONS, chosen["icon"]
            self.words.extend(str(word) for word in (*arguments, chosen.get("text")) if isinstance(word, str))
            return self

        return part

    def __setattr__(self, name, value):
        """Settings of a layout, and of the operators in it."""


def drawn(panel):
    """The words of a panel for the selection at hand."""
    context = bpy.context
    around = types.SimpleNamespace(
        scene=context.scene,
        view_layer=context.view_layer,
        selected_objects=context.selected_objects,
        preferences=context.preferences,
        region=types.SimpleNamespace(width=300),
    )
    layout = Layout()
    panel.draw(types.SimpleNamespace(layout=layout), around)
    return " ".join(layout.words)


def told(operator, **arguments):
    """What a poll or an operator refuses with."""
    with pytest.raises(RuntimeError) as caught:
        operator(**arguments)
    return str(caught.value)
