"""New motion on a rig that stands."""
