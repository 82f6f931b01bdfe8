"""The panels of a sidebar: which of them are open, and a hand that opens one by its header."""

import bpy
from hands import DRAWN, SLOW

HEADER, STEP, PITCH = (
    12,
    6,
    26,
)  # pixels: less than half the height of a header and of a button; from one header to the next

ROOM = 250  # for the headers below a button


class Panels:
    """A panel is drawn while it is open, and then only: so it is known which are."""

    def __init__(self, screen, *prefixes):
        self.screen, self.drawn, self.errors = screen, set(), []
        for name in dir(bpy.types):
            if name.startswith(prefixes):
                self._watch(name, getattr(bpy.types, name))

    def _watch(self, name, panel):
        draw = panel.draw

        def watched(panel, context):
            self.drawn.add(name)
            try:
                draw(panel, context)
            except Exception as error:
                self.errors.append(f"{name}: {error!r}")
                raise

        panel.draw = watched

    def opened(self):
        self.drawn.clear()
        self.screen.region("UI").tag_redraw()
        yield DRAWN
        assert not self.errors, f"a panel is not drawn to its end: {self.errors[0]}"
        return set(self.drawn)

    def menu(self, name):
        """Drops a menu down, and leaves it."""
        with bpy.context.temp_override(
            window=self.screen.window, area=self.screen.area(), region=self.screen.region("WINDOW")
        ):
            bpy.ops.wm.call_menu(name=name)
        yield SLOW
        assert name in self.drawn, f"{name} was not drawn"
        self.screen.picture(name)
        self.screen.tap("ESC")
        yield from self.opened()

    def open(self, name, below, folded=0):
        """Clicks on headers below a button until this panel is open; any other that a click met is put back,
        and buttons on the way are left alone.

        folded: how many headers are known to be between
        """
        before = yield from self.opened()
        if name in before:
            return
        x, y = yield from self.screen.find(below, room=ROOM)
        while (yield from self.screen.command(x, y)).startswith(below):
            y -= STEP
        for header in range(y - folded * PITCH, self.screen.region("UI").y, -HEADER):
            if (yield from self.screen.command(x, header)):  # a button of a panel that is open
                continue
            yield from self.screen.key("LEFTMOUSE", (x, header))
            now = yield from self.opened()
            if name in now:
                return
            if now != before:
                yield from self.screen.key("LEFTMOUSE", (x, header))
        raise AssertionError(f"no header below {below} opens {name}")
