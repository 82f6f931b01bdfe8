"""Hands and eyes for a Blender with a window: simulated events, and pictures of the screen.

A script is a generator that yields the seconds to wait. `play` runs it between Blender's own turns, so that
what it asked for has happened when it goes on.
"""

import os
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path

import bpy
import numpy as np

DRAWN = 0.3  # seconds until what was done is on the screen, in software
SLOW = 1.0  # until a whole new screen is
SHORT, SOON = 0.05, 0.01
TURNS_TO_LEAVE = 2  # of Blender's, until the button that the mouse left does not answer any more
ROW = 14  # pixels: no button is lower
WHEEL = 6  # turns at once
MIDDLE = 0.4  # of the sidebar's width, where most buttons are
BAR = (71, 114, 179)  # a progress bar in Blender's own theme
CHECKBOX = 20  # pixels; a ticked one has the same colour


def play(script, ended, limit):
    """Runs the generator `script`; then, or after `limit` seconds, calls `ended` with None or the error."""
    until = time.monotonic() + limit

    def turn():
        try:
            if time.monotonic() > until:
                raise TimeoutError(f"not done within {limit} s")
            return next(script)
        except StopIteration:
            ended(None)
        except BaseException as error:
            traceback.print_exc()
            ended(error)
        return None

    bpy.app.timers.register(turn, first_interval=1.0, persistent=True)


def leave(code):
    """Ends Blender at once: it may hang on its way out."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def wait_for(condition, limit, what):
    """Returns the seconds it took and the longest of them in which Blender came to nothing else."""
    began = last = time.monotonic()
    longest = 0.0
    while not condition():
        assert time.monotonic() - began < limit, f"{what}: not within {limit} s"
        yield 0.01
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    return time.monotonic() - began, longest


class Screen:
    """The first window; its methods that are generators are for `yield from`."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.taken = 0
        self.mouse = 0, 0
        self.places = {}  # of buttons: command -> height
        self.pressed = 0.0  # when a key was pressed last

    @property
    def window(self):
        return bpy.context.window_manager.windows[0]

    def area(self, kind="VIEW_3D"):
        areas = [area for area in self.window.screen.areas if area.type == kind]
        return max(areas, key=lambda area: area.width * area.height)

    def has_area(self, kind):
        return any(area.type == kind for area in self.window.screen.areas)

    def region(self, kind):
        """Of the 3D viewport: WINDOW, or UI for the sidebar."""
        return next(region for region in self.area().regions if region.type == kind)

    def middle(self):
        view = self.region("WINDOW")
        return view.x + view.width // 2, view.y + view.height // 2

    # ---- eyes

    def picture(self, name):
        """A picture of the whole screen; the folder keeps them in their order."""
        self.taken += 1
        path = self.folder / f"{self.taken:02}-{name}.png"
        subprocess.run(["import", "-window", "root", str(path)], check=True, timeout=60)
        return path

    def keep(self, path, kept):
        """A copy with 256 colours at most, small enough for a manual."""
        convert = shutil.which("magick") or "convert"
        few = ["+dither", "-colors", "256", "-strip", "-define", "png:compression-level=9"]
        subprocess.run([convert, str(path), *few, f"PNG8:{kept}"], check=True, timeout=60)

    def pixels(self, path):
        """[y][x][3] of a picture, from the bottom up as Blender counts"""
        convert = shutil.which("magick") or "convert"
        made = subprocess.run(
            [convert, str(path), "-depth", "8", "rgb:-"], capture_output=True, check=True, timeout=60
        )
        return np.frombuffer(made.stdout, np.uint8).reshape(self.window.height, self.window.width, 3)[::-1]

    def bar_lengths(self, path):
        """Pixels of the longest progress bar in the sidebar, and of that in the status bar, in a picture."""
        sidebar, pixels = self.region("UI"), self.pixels(path)
        foot = min(area.y for area in self.window.screen.areas)  # the status bar is below all areas
        beside = pixels[sidebar.y : sidebar.y + sidebar.height, sidebar.x : sidebar.x + sidebar.width]
        return self._bar(beside), self._bar(pixels[:foot])

    def _bar(self, pixels):
        blue = np.abs(pixels.astype(int) - BAR).max(axis=2) < 12
        longest = int(blue.sum(axis=1).max(initial=0))
        return longest if longest > CHECKBOX else 0

    def command(self, x, y):
        """What the button at a place of the sidebar would call; empty where there is none.

        Blender can copy the command of the button under the mouse: by that it is known.
        """
        sidebar, manager = self.region("UI"), bpy.context.window_manager
        yield from self.move(x, y, SOON)
        for _ in range(TURNS_TO_LEAVE):
            yield SOON
        manager.clipboard = ""
        with bpy.context.temp_override(window=self.window, area=self.area(), region=sidebar):
            if bpy.ops.ui.copy_python_command_button.poll():
                bpy.ops.ui.copy_python_command_button()
        if manager.clipboard:
            self.places[manager.clipboard] = y
        return manager.clipboard

    def _rows(self, call):
        """Heights at which a button may be: near those where it was, or down from above."""
        sidebar = self.region("UI")
        rows = range(sidebar.y + sidebar.height - ROW // 2, sidebar.y, -ROW)
        known = [y for command, y in self.places.items() if command.startswith(call)]
        if not known:
            return rows
        return [*known, *sorted(rows, key=lambda y: abs(y - known[0]))]

    def button(self, call, across=MIDDLE):
        """Goes down the sidebar with the mouse; where the button of an operator is, or None."""
        sidebar = self.region("UI")
        yield from self.move(*self.middle())  # or the button it was on last would answer first
        x = sidebar.x + int(sidebar.width * across)
        for y in self._rows(call):
            if (yield from self.command(x, y)).startswith(call):
                return x, y
        return None

    # ---- hands

    def move(self, x, y, wait=SHORT):
        self.mouse = x, y
        self.window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=y)
        yield wait

    def key(self, kind, at=None, **held):
        """A key or a mouse button, at a place; else in the middle of the viewport."""
        yield from self.move(*(at or self.middle()))
        self.tap(kind, **held)
        yield SHORT

    def tap(self, kind, **held):
        """A key where the mouse is."""
        x, y = self.mouse
        self.pressed = time.monotonic()
        for value in ("PRESS", "RELEASE"):
            self.window.event_simulate(type=kind, value=value, x=x, y=y, **held)

    def drag(self, *places):
        """Along the places with the left button down."""
        yield from self.move(*places[0])
        self.window.event_simulate(type="LEFTMOUSE", value="PRESS", x=places[0][0], y=places[0][1])
        for place in places[1:]:
            yield from self.move(*place)
        self.window.event_simulate(type="LEFTMOUSE", value="RELEASE", x=places[-1][0], y=places[-1][1])
        yield DRAWN

    def scroll(self, turns):
        """The sidebar, by turns of the wheel; above 0 is down."""
        sidebar = self.region("UI")
        at = sidebar.x + sidebar.width // 2, sidebar.y + sidebar.height // 2
        for _ in range(abs(turns)):
            yield from self.key("WHEELDOWNMOUSE" if turns > 0 else "WHEELUPMOUSE", at)
        yield DRAWN

    def find(self, call, room=0, across=MIDDLE):
        """The place of a button, with so much of the sidebar below it; the wheel may have to help."""
        for turns in (0, *4 * (WHEEL,), -8 * WHEEL):
            if turns:
                yield from self.scroll(turns)
            at = yield from self.button(call, across)
            if at and at[1] > self.region("UI").y + room:
                return at
        raise AssertionError(f"no button in the sidebar calls {call}")

    def press(self, call, across=MIDDLE):
        """Presses the button in the sidebar that calls an operator; a narrow one lies elsewhere `across`."""
        yield from self.key("LEFTMOUSE", (yield from self.find(call, across=across)))

    def open_sidebar(self, tab):
        if self.region("UI").width <= 1:
            yield from self.key("N")
            yield DRAWN
        self.region("UI").active_panel_category = tab
        self.area().tag_redraw()
        yield DRAWN
