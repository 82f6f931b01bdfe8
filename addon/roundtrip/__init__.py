"""Rigs that were edited: what changed, the refit, new motion on an old rig."""
