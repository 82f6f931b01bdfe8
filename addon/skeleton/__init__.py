"""Where bones lie, what they are called, and which of them leads."""
