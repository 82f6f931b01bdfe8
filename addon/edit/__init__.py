"""Changes of a standing rig's bones and weights."""
