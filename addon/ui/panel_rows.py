"""Rows of settings that several panels and dialogs have."""


def as_settings(layout):
    """The layout with names at the left, and without the dots that would key values which have no keys."""
    layout.use_property_split = True
    layout.use_property_decorate = False
    return layout


def draw_range(layout, settings, steps: bool = True) -> None:
    """Which frames, and every how many where `steps` are taken."""
    layout.prop(settings, "frames")
    column = layout.column(align=True)
    if settings.frames == "CUSTOM":
        column.prop(settings, "frame_start")
        column.prop(settings, "frame_end")
    if steps:
        column.prop(settings, "frame_step")
