"""What an artist's sessions have in common: buttons pressed, waited for, cancelled, undone and done again."""

import importlib

import bpy
import numpy as np
import scenes
from creature import armature, enter, mesh
from hands import DRAWN, SLOW, wait_for

STAGES = {"Reading", "Solving", "Building", "Measuring", "Baking"}
WORK_LIMIT = 90  # seconds for whatever a button starts


class Artist:
    """At a screen, with the extension `module`; `note` gets what was seen."""

    def __init__(self, screen, panels, note, module):
        self.screen, self.panels, self.note = screen, panels, note
        self.session = importlib.import_module(f"{module}.ui.session")
        self.latest, self._begin, self.hold = None, self.session.start, ()
        self.session.start = self._note_start
        self.times, self.source = [], None  # frames, and [f][v][3] what the rig shall follow in them

    def _note_start(self, *given):
        """What is short can begin and end between two looks at the session."""
        self.latest = running = self._begin(*given)
        steps, advance = 0, running.advance

        def advance_to_hold(seconds):
            """Step by step, and no further than into a stage in which ESC shall be pressed."""
            nonlocal steps
            if not self.hold or running.cancelled:
                return advance(seconds)
            if steps > 0 and running.step.stage in self.hold:
                return False
            steps += 1
            return advance(0)

        running.advance = advance_to_hold
        return running

    def started(self, before, limit, what):
        """Waits for a session other than the one before, which may be over by then."""
        yield from wait_for(lambda: self.latest is not before, limit, what)
        return self.latest

    def watch(self, obj, times):
        """The motion to follow."""
        self.times, self.source = list(times), scenes.seen_frames(obj, times)

    def error(self):
        """Root mean square distance of the rig from it, in percent of the size."""
        gap = scenes.seen_frames(mesh(), self.times) - self.source
        return 100 * float(np.sqrt(np.square(gap).sum(axis=-1).mean())) / scenes.size_of(self.source[0])

    def picture(self, name):
        """When everything is drawn."""
        yield SLOW
        return self.screen.picture(name)

    # ---- buttons

    def press(self, call, *across):
        """A button by its operator, and by what it gives to it if there are several."""
        yield from self.screen.press(f"bpy.ops.ossify.{call if '(' in call else call + '('}", *across)

    def start(self, call):
        """Presses a button that starts something long; the session that it starts."""
        before = self.latest
        yield from self.press(call)
        return (yield from self.started(before, 10, f"{call} starts"))

    def ended(self, call):
        took, longest = yield from wait_for(lambda: self.session.current is None, WORK_LIMIT, call)
        yield DRAWN
        return took, longest

    def work(self, call):
        yield from self.start(call)
        yield from self.ended(call)

    def select(self, *objects):
        """In Object Mode, the first as the active one."""
        yield from enter(self.screen, "OBJECT")
        scenes.select(*objects)
        bpy.ops.ed.undo_push(message="Select")
        yield DRAWN

    # ---- before and after

    def undo(self):
        yield from self.screen.key("Z", ctrl=True)
        yield DRAWN

    def undone_and_redone(self, name, action):
        """What is done changes the file; one undo takes it back, and redo brings it again."""
        before = scenes.picture()
        yield from action
        after = scenes.picture()
        assert scenes.difference(before, after), f"{name} changed nothing"
        yield from self.undo()
        left = scenes.difference(before, scenes.picture())
        assert not left, f"{name}, undone: {left[:300]}"
        yield from self.screen.key("Z", ctrl=True, shift=True)
        yield DRAWN
        left = scenes.difference(after, scenes.picture())
        assert not left, f"{name}, done again: {left[:300]}"

    def cancelled(self, call, stages=STAGES):
        """ESC in one of these stages of what a button starts: the file is as it was."""
        before = scenes.picture()
        self.hold = stages
        running = yield from self.start(call)
        where = f"{call}: {' or '.join(sorted(stages))}"
        yield from wait_for(lambda: running.step.stage in stages or not self.session.current, 60, where)
        assert self.session.current is running, f"{where} was over before anybody could have seen it"
        self.screen.tap("ESC")
        yield from wait_for(lambda: self.session.current is None, 10, f"ESC ends {call}")
        self.hold = ()
        assert running.cancelled, f"{where}: it came to its end before ESC"
        assert running.step.stage in stages, f"{where}: ESC came in {running.step.stage}"
        yield DRAWN
        left = scenes.difference(before, scenes.picture())
        assert not left, f"{where}, cancelled: {left[:300]}"


def bone_count():
    return sum(bone.use_deform for bone in armature().data.bones)


def last_used(operator, **values):
    """The settings that a button finds, as an artist leaves them in the Adjust Last Operation panel."""
    properties = bpy.context.window_manager.operator_properties_last(f"ossify.{operator}")
    for name, value in values.items():
        setattr(properties, name, value)
