"""bench/held_out.py: frames that are measured are none of those that were used."""

import numpy as np
import pytest

import held_out


@pytest.mark.parametrize("split", held_out.SPLITS, ids=" ".join)
def test_frames_are_used_or_left_out(split):
    _, chosen = held_out.SPLITS[split]
    count = 9 if split[0] in ("cat-poses", "lion-poses") else 175
    used, left = chosen(count)
    assert len(used)
    assert len(left)
    assert not set(used) & set(left)
    assert set(used) | set(left) <= set(range(count))
    assert len(set(left.tolist())) == len(left)
    assert np.all(np.diff(used) > 0)
