"""Operators that work for a while: step by step at the screen, with a bar and ESC, or all at once."""

import sys
import time
import traceback

import bpy

from .. import native
from ..base.refusal import Refusal
from ..base.steps import run
from . import preview, session

_TICK = 0.02  # seconds between two turns
_SLICE = 0.03  # seconds of work in each: the interface stays alive
_GLANCE = 0.25  # seconds between two drawings of the progress: keys wait while Blender draws
FAILURES = (Refusal, native.OssifyError)


def _redraw(context, status) -> None:
    """The sidebars and the status bar; drawing the viewports anew for a number would slow everything down.

    `status` draws the status bar, None gives it back to Blender; to set it is the way to have it drawn.
    """
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            for region in area.regions:
                if area.type == "VIEW_3D" and region.type == "UI":
                    region.tag_redraw()
    if context.workspace is not None:
        context.workspace.status_text_set(status)


def draw_status(header, _context) -> None:
    """The status bar while something runs."""
    running = session.current
    if running is not None:
        row = header.layout.row()
        row.ui_units_x = 14
        row.progress(factor=running.step.fraction, text=running.progress())
        if running.fit():
            header.layout.label(text=running.fit())
        header.layout.label(text="Cancel", icon="EVENT_ESC")


def fail(operator, error: Exception) -> set[str]:
    """Tells what went wrong; what nobody foresaw goes to stderr as well."""
    if isinstance(error, FAILURES):
        operator.report({"ERROR"}, str(error))
    else:
        traceback.print_exception(error, file=sys.stderr)
        operator.report(
            {"ERROR"}, f"Ossify failed ({type(error).__name__}: {error}); the scene is as it was."
        )
    return {"CANCELLED"}


def _over_sidebar(context, event) -> bool:
    x, y = event.mouse_x, event.mouse_y
    for area in context.screen.areas if context.screen else ():
        for region in area.regions:
            inside = region.x <= x < region.x + region.width and region.y <= y < region.y + region.height
            if inside and region.type == "UI" and area.type == "VIEW_3D":
                return True
    return False


class Working:
    """What such operators have in common. They bring

    steps(context)        a generator of Steps; its value is the result
    check_first(context)  raises what can be refused at once
    succeed(result)       tells about it
    """

    asked = False  # a dialog was opened first: what comes after it is no script
    _timer = None

    def given(self, options, fields):
        """The options, as in the sidebar, with what was given to the operator."""
        for field in fields:
            if self.properties.is_property_set(field):
                setattr(options, field, getattr(self, field))
        return options

    def _fail(self, error: Exception) -> set[str]:
        if getattr(error, "status", None) == native.Status.CANCELLED:
            self.report({"INFO"}, "Cancelled: the scene is as it was.")
            return {"CANCELLED"}
        return fail(self, error)

    def execute(self, context):
        if self.asked:
            self.asked = False
            return self.begin(context)
        preview.stop()  # its poses are no part of the rig
        try:
            return self.succeed(run(self.steps(context)))
        except Exception as error:
            return self._fail(error)

    def invoke(self, context, _event):
        if bpy.app.background or context.window is None:
            return self.execute(context)
        return self.begin(context)

    def begin(self, context) -> set[str]:
        """Step by step from now on; a window is there."""
        try:
            if session.current is not None:  # begun while a dialog was open
                raise Refusal("Something else is at work: try again when it has ended.")
            preview.stop()
            self.check_first(context)
            steps = self.steps(context)
        except FAILURES as error:
            return self._fail(error)
        self._session = session.start(steps, type(self).__name__)
        self._said, self._drawn = None, 0.0
        self._timer = context.window_manager.event_timer_add(_TICK, window=context.window)
        context.window_manager.modal_handler_add(self)
        _redraw(context, draw_status)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        running = self._session
        if event.type == "ESC" and event.value == "PRESS":
            running.cancel()
        elif event.type != "TIMER":
            return {"RUNNING_MODAL"} if self._holds(context, event) else {"PASS_THROUGH"}
        try:
            ended = running.advance(_SLICE)
        except Exception as error:
            self._clean_up(context)
            return self._fail(error)
        self._show(context)
        if not ended:
            return {"RUNNING_MODAL"} if event.type == "ESC" else {"PASS_THROUGH"}
        self._clean_up(context)
        if running.result is None:
            self.report({"INFO"}, "Cancelled: the scene is as it was.")
            return {"CANCELLED"}
        return self.succeed(running.result)

    def _show(self, context) -> None:
        """The progress, when its words are new and the last ones have stood for a while."""
        said, now = (self._session.progress(), self._session.fit()), time.monotonic()
        if said != self._said and now - self._drawn >= _GLANCE:
            self._said, self._drawn = said, now
            _redraw(context, draw_status)

    def _holds(self, context, event) -> bool:
        """Whether the event is kept from the rest of Blender: edits must not get into what is being read."""
        if not self._session.touches_scene or event.type in {"MOUSEMOVE", "INBETWEEN_MOUSEMOVE"}:
            return False
        return not _over_sidebar(context, event)  # the Cancel button is there

    def cancel(self, context):
        """The window closes, another file is opened, or a dialog is left before anything began."""
        if self._timer is not None:
            self._clean_up(context)

    def _clean_up(self, context) -> None:
        session.end()
        context.window_manager.event_timer_remove(self._timer)
        self._timer = None
        _redraw(context, None)
