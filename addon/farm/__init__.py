"""Many shots on many machines: one list of tasks, as jobs for the schedulers that studios have, and one page
of all that came of it. No scheduler of our own, and nothing here needs Blender."""
