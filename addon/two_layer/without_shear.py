"""Virtual bones as location, rotation and scale, for programs without constraints: a blend of rotations has a
shear, which those channels cannot have.

    V_f h = location        min over R_f, s_f of |V_f Q - R_f diag(s_f)|,  alternating

Its head h is the middle of the vertices that follow a bone, where nothing is lost; its rest axes Q are those
along which it scales: the eigenvectors of sum_f (S_f - I)^2, with V_f = U_f S_f, U_f a rotation.
"""

from __future__ import annotations

import numpy as np

from ..base.rigid import nearest_rotation

_ALTERNATIONS = 12
_LEAST_SCALE = 1e-4


def axes_of(linear: np.ndarray) -> np.ndarray:
    """[m][3][3] rotations, of linear parts [f][m][3][3]"""
    stretch = nearest_rotation(linear).swapaxes(-1, -2) @ linear - np.eye(3)
    stretch = (stretch + stretch.swapaxes(-1, -2)) / 2
    axes = np.linalg.eigh((stretch @ stretch).sum(axis=0))[1]
    axes[..., 0] *= np.sign(np.linalg.det(axes))[..., None]
    return axes


def turned_and_scaled(linear: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[f][m][3][3] rotations and [f][m][3] scales with linear @ axes ~ rotation * scale"""
    wanted = linear @ axes
    rotation = nearest_rotation(wanted)
    for _ in range(_ALTERNATIONS):
        scale = np.maximum((rotation * wanted).sum(axis=-2), _LEAST_SCALE)
        rotation = nearest_rotation(wanted * scale[..., None, :])
    return rotation, np.maximum((rotation * wanted).sum(axis=-2), _LEAST_SCALE)
