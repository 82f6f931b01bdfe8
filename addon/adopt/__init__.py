"""An artist's own armature as the skeleton of a mesh that moves."""
