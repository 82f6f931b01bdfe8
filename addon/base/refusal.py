"""What Ossify will not do."""


class Refusal(Exception):
    """Ossify will not do it; one sentence for the artist says why and what to do."""
