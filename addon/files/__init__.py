"""Files read and written: caches, scenes, what other programs take."""
