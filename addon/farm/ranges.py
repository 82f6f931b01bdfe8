"""What a sweep goes through: `8:64:4` is 8, 12, ... 64; `8,16,32` is those; words stay words."""

from __future__ import annotations

from ..base.refusal import Refusal

_MOST = 1000  # values


def values(text: str) -> list[str]:
    parts = text.split(":")
    if len(parts) == 1:
        found = [word.strip() for word in text.split(",")]
        if not all(found):
            raise Refusal(f"{text!r} has an empty value: write 8,16,32 or 8:64:4.")
        return list(dict.fromkeys(found))
    try:
        first, last, step = (float(part) for part in (*parts, "1")[:3])
        count = int((last - first) / step + 1e-9) + 1
        if len(parts) > 3 or not 1 <= count <= _MOST:
            raise ValueError
    except (ValueError, ZeroDivisionError, OverflowError):
        raise Refusal(f"{text!r} is no range: write FIRST:LAST:STEP, at most {_MOST} values.") from None
    return [f"{first + number * step:.10g}" for number in range(count)]
