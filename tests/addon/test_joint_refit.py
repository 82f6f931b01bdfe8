"""Joints that a refit moves."""

import bpy
import numpy as np
import pytest
import scenes
from ossify.roundtrip import joint_refit
from refits import edit


def test_a_tail_that_leads_to_two_heads_follows_neither():
    armature = scenes.link(bpy.data.objects.new("Fork", bpy.data.armatures.new("Fork")))

    def fork(bones):
        for name, head, tail in (("Stem", 0, 1), ("First", 1, 2), ("Second", 1, 3)):
            bones.new(name)
            bones[name].head, bones[name].tail = (0, 0, head), (0, 0.1 * tail, tail)
        for name in ("First", "Second"):
            bones[name].parent, bones[name].use_connect = bones["Stem"], True

    edit(armature, fork)
    stem = np.array(armature.data.bones["Stem"].matrix_local), armature.data.bones["Stem"].length
    heads = {"First": np.array([0.1, 0, 1.2]), "Second": np.array([-0.1, 0, 1.1])}
    assert joint_refit.turned(armature, heads) == set(heads)
    joint_refit.move(armature, heads)
    bones = armature.data.bones
    assert np.abs(np.array(bones["Stem"].matrix_local) - stem[0]).max() < 1e-6
    assert bones["Stem"].length == pytest.approx(stem[1], rel=1e-6)
    for name, head in heads.items():
        assert not bones[name].use_connect
        assert np.allclose(bones[name].head_local, head, atol=1e-6)
