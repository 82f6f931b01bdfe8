"""Bones that are nowhere the strongest leave where the others can do without them."""

import types

import chain
import numpy as np
import pytest
from creature_rigs import converted, deforming
from ossify import native
from ossify.convert import convert
from ossify.rig import standing
from ossify.skeleton import idle

RINGS, AROUND, FRAMES = 40, 8, 12


def bent_rod(extra):
    """A rod of two bones that bends in the middle, where a third has up to 0.4; extra [f][3] moves it."""
    turns = 2 * np.pi * np.arange(AROUND) / AROUND
    ring = 0.2 * np.stack([np.cos(turns), np.sin(turns), 0 * turns], -1)
    rest = np.concatenate([np.add(ring, (0, 0, z)) for z in np.linspace(-2, 2, RINGS)]).astype(np.float32)
    corners = np.arange(RINGS * AROUND).reshape(RINGS, AROUND)
    beside = np.roll(corners, -1, axis=1)
    triangles = [(corners[:-1], beside[:-1], corners[1:]), (beside[:-1], beside[1:], corners[1:])]
    triangles = np.concatenate([np.stack(three, -1).reshape(-1, 3) for three in triangles]).astype(np.int32)
    transforms = np.zeros((FRAMES, 3, 3, 4))
    transforms[:, :, :, :3] = np.eye(3)
    angles = 0.8 * np.sin(np.linspace(0, 5, FRAMES))
    transforms[:, 1, 1, 1] = transforms[:, 1, 2, 2] = np.cos(angles)
    transforms[:, 1, 1, 2], transforms[:, 1, 2, 1] = -np.sin(angles), np.sin(angles)
    transforms[:, 2] = transforms[:, 0]
    transforms[:, 2, :, 3] = extra
    upper = np.clip(rest[:, 2] / 0.8 + 0.5, 0, 1)
    third = np.where(np.abs(rest[:, 2]) < 0.2, 0.4, 0.0) * (1 - upper)
    dense = np.stack([1 - upper - third, upper, third], -1)
    rig = native.Rig(transforms, *standing.sparse(dense), rest)
    frames = native.evaluate(rest, np.zeros((FRAMES, *rest.shape), np.float32), rig).frames
    return types.SimpleNamespace(
        rest=rest, frames=frames, triangles=triangles, notes=[], check_sources=lambda: None
    ), rig


def done_without(motion, rig, **chosen):
    info = native.decompose(motion.rest, motion.frames, motion.triangles, chain.quick(bones=3).solver(), rig)[
        1
    ]
    return chain.drain(convert._without_faint(motion, chain.quick(bones=3, **chosen), rig, info, 1.0))


def test_a_bone_that_is_nowhere_the_strongest_is_faint():
    _, rig = bent_rod(np.zeros((FRAMES, 3)))
    assert idle.faint(rig).tolist() == [False, False, True]


def test_vertices_of_a_bone_that_goes_get_the_weights_of_their_neighbours():
    motion, rig = bent_rod(np.zeros((FRAMES, 3)))
    rig.influence_bones[5], rig.influence_weights[5] = (2, -1, -1), (1, 0, 0)
    left = idle.without(rig, np.array([False, False, True]))
    assert left.dense_weights().sum(axis=1) == pytest.approx(np.ones(len(motion.rest)))
    assert left.dense_weights()[5].tolist() == [1, 0]


def test_a_faint_bone_leaves_if_the_others_do_without_it():
    motion, rig = bent_rod(np.zeros((FRAMES, 3)))
    fitted, after = done_without(motion, rig)
    assert fitted.bones == 2
    assert after.rms_percent < 0.05
    assert [note.startswith("1 of 3 bones") for note in motion.notes] == [True]


def test_a_faint_bone_stays_if_the_others_cannot_do_what_it_does():
    """What it moves swells from side to side, and no other bone does."""
    motion, rig = bent_rod(np.random.default_rng(0).normal(size=(FRAMES, 3)))
    same, _ = done_without(motion, rig)
    assert same is rig
    assert not motion.notes


def test_a_faint_bone_stays_if_a_budget_needs_it():
    motion, rig = bent_rod(np.zeros((FRAMES, 3)))
    same, _ = done_without(motion, rig, bones_by="BUDGET", budget=1e-7)
    assert same is rig


def with_a_faint_one(rig):
    """Another bone that does what the first does, with a part of its weights."""
    dense = rig.dense_weights().astype(float)
    share = np.where((dense > 0).sum(axis=1) < 4, 0.3, 0.0) * dense[:, 0]
    dense = np.column_stack([dense, share])
    dense[:, 0] -= share
    transforms = np.concatenate([rig.transforms, rig.transforms[:, :1]], axis=1)
    return native.Rig(transforms, *standing.sparse(dense), rig.rest)


@pytest.mark.parametrize(("skeleton", "more"), [("HIERARCHY", 0), ("ARTICULATED", 0), ("NONE", 1)])
def test_a_body_has_no_faint_bones(skeleton, more, monkeypatch):
    """Without a skeleton they do no harm."""
    leave = idle.leave

    def left(rig, *skeleton):
        rig, joined = leave(rig, *skeleton)
        return (rig if skeleton else with_a_faint_one(rig)), joined

    monkeypatch.setattr(idle, "leave", left)
    result, _, bones = converted(skeleton=skeleton)
    assert len(deforming(result.armature)) == len(bones) + more
    assert sum("the strongest" in note for note in result.report.notes) == 1 - more
