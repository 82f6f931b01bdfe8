"""A made-up moving mesh with a known rig: an eel that swims.

A tapering tube around a chain of bones. Each ring of the tube belongs to the two nearest bones, blended
smoothly; the chain bends in a travelling wave, turns and drifts.
"""

from typing import NamedTuple

import numpy as np

BLOCK = 65536  # vertices at a time: the moving mesh may be larger than half of the memory


class MadeUp(NamedTuple):
    rest: np.ndarray  # [v][3] float32
    frames: np.ndarray  # [f][v][3] float32
    triangles: np.ndarray  # [t][3] int32
    transforms: np.ndarray  # [f][b][3][4] float64
    weights: np.ndarray  # [v][2] float32, of bones [v][2]
    bones: np.ndarray


def tube(vertices):
    """rest [v][3] along x from 0 to 1, triangles; the vertex count is met as nearly as a tube can."""
    around = max(6, round((vertices / 6) ** 0.5))
    rings = max(2, round(vertices / around))
    along = np.repeat(np.linspace(0, 1, rings), around)
    angle = np.tile(np.arange(around) * (2 * np.pi / around), rings)
    thick = 0.06 * np.sqrt(np.clip(np.sin(np.pi * (0.04 + 0.94 * along) ** 0.6), 0, None)) + 0.004
    rest = np.stack([along, thick * np.cos(angle), 1.6 * thick * np.sin(angle)], axis=1)
    ring, step = np.meshgrid(np.arange(rings - 1), np.arange(around), indexing="ij")
    here, beside = ring * around + step, ring * around + (step + 1) % around
    corners = [here, beside, here + around, beside, beside + around, here + around]
    triangles = np.stack(corners, axis=-1).reshape(-1, 3)
    return rest.astype(np.float32), triangles.astype(np.int32)


def rotation(yaw, pitch):
    """[...][3][3]: first pitch about y, then yaw about z"""
    cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    zero = np.zeros_like(cy)
    rows = [[cy * cp, -sy, cy * sp], [sy * cp, cy, sy * sp], [-sp, zero, cp]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def swim(frames, bones, seed):
    """transforms [f][b][3][4]: every bone turns about its joint with the one before."""
    random = np.random.default_rng(seed)
    time = np.arange(frames)[:, None] * (2 * np.pi / max(frames, 2))
    place = np.arange(bones)[None, :] / max(bones, 2)
    phase = random.uniform(0, 2 * np.pi, 4)
    growth = (0.4 + place) * 6 / max(bones, 6)
    yaw = growth * 0.55 * np.sin(3 * time - 7 * place + phase[0]) + growth * 0.2 * np.sin(time + phase[1])
    pitch = growth * 0.25 * np.sin(2 * time - 4 * place + phase[2])
    local = rotation(yaw, pitch)  # [f][b][3][3]
    transforms = np.zeros((frames, bones, 3, 4))
    turned = np.broadcast_to(np.eye(3), (frames, 3, 3))
    moved = np.stack(
        [-0.3 * np.sin(time[:, 0]), 0.2 * np.sin(time[:, 0] + phase[3]), 0.1 * np.sin(2 * time[:, 0])], 1
    )
    for b in range(bones):
        joint = np.array([b / bones, 0, 0])
        held = turned @ joint + moved  # where the joint is, by the bone before
        turned = turned @ local[:, b]
        moved = held - turned @ joint
        transforms[:, b, :, :3] = turned
        transforms[:, b, :, 3] = moved
    return transforms


def weigh(rest, bones):
    """Of the two nearest bones along the tube, blended over half a bone's length on either side."""
    at = rest[:, 0].astype(np.float64) * bones - 0.5
    first = np.clip(np.floor(at), 0, max(bones - 2, 0)).astype(np.int32)
    blend = np.clip((np.clip(at - first, 0, 1) - 0.2) / 0.6, 0, 1)
    blend = blend * blend * (3 - 2 * blend)
    second = np.minimum(first + 1, bones - 1).astype(np.int32)
    return np.stack([first, second], 1), np.stack([1 - blend, blend], 1).astype(np.float32)


def pose(rest, transforms, bones, weights, out):
    """out[v] = sum_k weights[v][k] transforms[bones[v][k]] (rest[v], 1), for one frame"""
    for start in range(0, len(rest), BLOCK):
        block = slice(start, start + BLOCK)
        blended = np.einsum("vk,vkij->vij", weights[block], transforms[bones[block]])
        out[block] = np.einsum("vij,vj->vi", blended[:, :, :3], rest[block]) + blended[:, :, 3]


def eel(vertices=6000, frames=60, bones=12, noise=0.0, seed=0):
    rest, triangles = tube(vertices)
    transforms = swim(frames, bones, seed)
    owners, weights = weigh(rest, bones)
    moving = np.empty((frames, len(rest), 3), np.float32)
    random = np.random.default_rng(seed + 1)
    for f in range(frames):
        pose(rest, transforms[f], owners, weights, moving[f])
        if noise:
            moving[f] += random.normal(0, noise, moving[f].shape).astype(np.float32)
    return MadeUp(rest, moving, triangles, transforms, weights, owners)
