"""addon/native: correctives that follow the bones, in and out, and what is refused."""

import dataclasses

import numpy as np
import pytest
from solves import few

import native


def turns_of(transforms, parents):
    """[f][b][9] R(parent)^-1 R(bone) - I of rigid bones"""
    turned = transforms[..., :3]
    local = np.einsum("fbji,fbjk->fbik", turned[:, parents], turned) - np.eye(3)
    local[:, parents < 0] = 0
    return local.reshape(*local.shape[:2], 9)


@pytest.fixture(scope="module")
def bending(eel):
    """The eel with a field that follows how it bends: poses, rig and parents."""
    random = np.random.default_rng(2)
    bones = eel.transforms.shape[1]
    parents = np.arange(-1, bones - 1, dtype=np.int32)
    points = eel.rest.astype(float)
    field = 0.05 * np.sin(points @ random.normal(0, 3, (3, 3)))
    follows = turns_of(eel.transforms, parents).reshape(len(eel.frames), -1) @ random.normal(0, 1, 9 * bones)
    rest = points + np.einsum("f,vi->fvi", follows / np.abs(follows).max(), field)
    posed = np.einsum("fvkij,fvj->fvki", eel.transforms[:, eel.bones][..., :3], rest)
    posed += eel.transforms[:, eel.bones][..., 3]
    frames = np.einsum("vk,fvki->fvi", eel.weights.astype(float), posed).astype(np.float32)
    rig = native.Rig(eel.transforms, eel.bones.astype(np.int32), eel.weights, eel.rest)
    return (eel.rest, frames, eel.triangles), rig, parents


def test_the_defaults_are_the_header_s():
    driving = native.Driving()
    assert (driving.count, driving.joint_count, driving.form) == (5, 20, "found")


@pytest.mark.parametrize("form", ["whole", "joints"])
def test_coefficients_are_what_the_map_makes_of_the_turns(bending, form):
    poses, rig, parents = bending
    wish = native.Driving(count=2, joint_count=6, form=form)
    found, driven, info = native.drive(*poses, rig, parents, wish, few())
    assert driven.form == form
    assert driven.map.shape == (len(found.fields), rig.bones, 9)
    follows = np.einsum("fbi,nbi->fn", turns_of(rig.transforms, parents), driven.map)
    np.testing.assert_allclose(found.coefficients, follows, atol=1e-6)
    assert info.erms < driven.bare_erms
    assert native.evaluate(*poses[:2], found).erms == pytest.approx(info.erms)
    assert (driven.joints == -1).all() if form == "whole" else (driven.joints > 0).all()


def test_pivots_of_joints_that_hold_change_nothing(bending):
    """What does not shift drives nothing; and their number is checked."""
    poses, rig, parents = bending
    wish = native.Driving(count=2, form="whole")
    still = dataclasses.replace(rig, transforms=rig.transforms.copy())
    still.transforms[..., 3] = 0
    found, driven, _ = native.drive(*poses, still, parents, wish, few(), np.zeros((rig.bones, 3)))
    turned, _, _ = native.drive(*poses, still, parents, wish, few())
    assert driven.shifts.shape == (len(found.fields), rig.bones, 3)
    assert not driven.shifts.any()
    np.testing.assert_array_equal(found.coefficients, turned.coefficients)
    with pytest.raises(native.OssifyError, match="pivots"):
        native.drive(*poses, rig, parents, wish, few(), np.zeros((rig.bones, 2)))


def test_a_field_that_follows_serves_frames_left_out(bending):
    poses, rig, parents = bending
    _, driven, _ = native.drive(*poses, rig, parents, native.Driving(count=1), few())
    assert driven.whole_erms < 0.5 * driven.bare_erms
    assert driven.keyed_erms < driven.whole_erms


def test_correctives_that_came_along_are_solved_anew(bending):
    poses, rig, parents = bending
    fields = np.ones((1, len(poses[0]), 3), np.float32)
    given = dataclasses.replace(rig, fields=fields, coefficients=np.ones((len(poses[1]), 1)))
    again, _, _ = native.drive(*poses, given, parents, native.Driving(count=1), few())
    first, _, _ = native.drive(*poses, rig, parents, native.Driving(count=1), few())
    np.testing.assert_array_equal(again.fields, first.fields)


@pytest.mark.parametrize(
    ("change", "says"),
    [({"form": "some"}, "form"), ({"count": 300}, "driving.count is 300"), ({"count": "two"}, "count")],
)
def test_wishes_that_cannot_be_are_refused(bending, change, says):
    poses, rig, parents = bending
    with pytest.raises(native.OssifyError, match=says):
        native.drive(*poses, rig, parents, native.Driving(**change), few())


def test_parents_that_lead_in_a_circle_are_refused(bending):
    poses, rig, parents = bending
    around = parents.copy()
    around[0] = len(around) - 1
    with pytest.raises(native.OssifyError, match="in a circle"):
        native.drive(*poses, rig, around, native.Driving(count=1), few())
