"""What the bone Root does, [f][4][4] rest to frame, so that the bones below it have only what is their own.

Bones of one tree: Root goes where the joint of the first of them goes, and never turns; the first bone only
turns then, and all location is on Root. The motion of the whole mesh would not do: limbs that swing move and
turn it, and the first bone would have to undo that. Bones side by side, or in several trees: the rigid motion
of the whole body (base/rigid.py).
"""

from __future__ import annotations

import numpy as np

from ..base import rigid


def find(skin_rest, frames, transforms, parents, heads, joined: bool) -> np.ndarray:
    """skin_rest [v][3], frames [f][v][3]; of the bones: transforms [f][b][4][4], parents [b], heads [b][3]"""
    tops = np.flatnonzero(np.asarray(parents) < 0)
    if not joined or len(tops) != 1:
        return rigid.body_motion(skin_rest, frames)
    head = heads[tops[0]]
    result = np.tile(np.eye(4), (len(transforms), 1, 1))
    result[:, :3, 3] = (transforms[:, tops[0]] @ np.append(head, 1.0))[:, :3] - head
    return result
