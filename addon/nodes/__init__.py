"""Node groups that an artist may open: what stays live on a rig's meshes after the armature."""
