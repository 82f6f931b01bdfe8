"""A rig solved again from what it is now."""
