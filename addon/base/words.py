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


def aloof_words(settings: dict[str, list[str]]) -> str:
    """That settings, which are named for each, keep bones from their parents' poses."""
    verb, joint = ("has", " and ") if len(settings) == 1 else ("have", " or ")
    found = dict.fromkeys(setting for some in settings.values() for setting in some)
    return f"{listed(list(settings))} {verb} {joint.join(found)}"


def moved_words(names: list[str]) -> str:
    """That something else than keys moves them."""
    if len(names) == 1:
        return f"{names[0]} is moved by a constraint or driver"
    return f"{listed(names)} are moved by constraints or drivers"


def size_words(count: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
