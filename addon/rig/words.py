"""Parts of sentences about bones, for the artist."""

_NAMED = 3  # bones, before the others are counted


def listed(names: list[str]) -> str:
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def moved_words(names: list[str]) -> str:
    """That something else than keys moves them."""
    if len(names) == 1:
        return f"{names[0]} is moved by a constraint or driver"
    return f"{listed(names)} are moved by constraints or drivers"
