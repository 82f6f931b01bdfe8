"""Parts of sentences, for the artist."""

_NAMED = 3  # bones, before the others are counted

_PLURALS = {"mesh": "meshes", "vertex": "vertices"}  # of nouns that take more than an s


def counted(count: int, noun: str) -> str:
    """So many of them: 1 vertex, 1,024 vertices."""
    return f"{count:,} {noun if count == 1 else _PLURALS.get(noun, noun + 's')}"


def listed(names: list[str]) -> str:
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def moved_words(names: list[str]) -> str:
    """That something else than keys moves them."""
    if len(names) == 1:
        return f"{names[0]} is moved by a constraint or driver"
    return f"{listed(names)} are moved by constraints or drivers"
