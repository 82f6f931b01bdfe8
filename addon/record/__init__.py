"""What a rig remembers: its motion, itself as it was, and what has changed since."""
