"""Armatures, vertex groups and keys: made, read and written."""
