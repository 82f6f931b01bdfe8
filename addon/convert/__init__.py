"""The one chain from motion to rig."""
