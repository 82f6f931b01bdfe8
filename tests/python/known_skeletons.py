"""Skeletons of known joints."""

import numpy as np
from ossify import native


def skeleton_of(parents, joints, **more):
    count = len(parents)
    plain = {
        "root": int(np.flatnonzero(np.array(parents) < 0)[0]),
        "parents": np.array(parents),
        "joints": np.array(joints, float),
        "kinds": ["root" if parent < 0 else "ball" for parent in parents],
        "axes": np.zeros((count, 3)),
        "angles": np.full(count, 0.5),
        "drifts": np.zeros(count),
        "mirrors": np.full(count, -1),
        "plane": None,
        "message": "",
    }
    return native.Skeleton(**{**plain, **more})
