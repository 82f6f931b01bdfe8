"""UV maps for a whole motion."""
