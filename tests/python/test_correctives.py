"""addon/native: correctives in and out, and what is refused."""

import dataclasses

import numpy as np
import pytest
from solves import few

import native
from native import hinged


@pytest.fixture(scope="module")
def bulging(eel):
    """The eel with two bulges that its bones cannot show, and these: fields and coefficients."""
    random = np.random.default_rng(1)
    count, points = len(eel.rest), eel.rest.astype(float)
    fields = 0.05 * np.sin(points @ random.normal(0, 4, (2, 3, 3)) + random.normal(0, 1, (2, 1, 3)))
    coefficients = random.uniform(-1, 1, (len(eel.frames), 2))
    rest = points + np.einsum("fn,nvi->fvi", coefficients, fields)
    posed = np.einsum("fvkij,fvj->fvki", eel.transforms[:, eel.bones][..., :3], rest)
    posed += eel.transforms[:, eel.bones][..., 3]
    frames = np.einsum("vk,fvki->fvi", eel.weights.astype(float), posed).astype(np.float32)
    rig = native.Rig(eel.transforms, eel.bones.astype(np.int32), eel.weights, eel.rest)
    assert frames.shape == (len(eel.frames), count, 3)
    return eel.rest, frames, eel.triangles, rig, fields, coefficients


def test_the_defaults_are_the_header_s():
    correction = native.Correction()
    assert correction.count == 5
    assert correction.budget_kind == "none"
    assert correction.support == "whole"
    assert correction.smoothness == 0
    assert correction.solve_rest is False
    assert correction.refine is False


def test_what_bones_miss_comes_back_as_fields(bulging):
    rest, frames, triangles, rig, fields, coefficients = bulging
    found, worth, info = native.correct(rest, frames, triangles, rig, native.Correction(count=2), few())
    assert found.fields.shape == fields.shape
    assert found.coefficients.shape == coefficients.shape
    assert info.erms < 1e-3 * worth.bare_erms
    moved = np.einsum("fn,nvi->fvi", found.coefficients, found.fields)
    planted = np.einsum("fn,nvi->fvi", coefficients, fields)
    np.testing.assert_allclose(moved, planted, atol=2e-3 * np.abs(planted).max())
    assert np.abs(found.coefficients).max() == pytest.approx(1, abs=1e-3)
    assert list(worth.joints) == [-1, -1]
    assert (worth.gains > 0).all()
    np.testing.assert_array_equal(found.transforms, rig.transforms)


def test_an_evaluation_has_them_in(bulging):
    rest, frames, triangles, rig, *_ = bulging
    found, worth, info = native.correct(rest, frames, triangles, rig, native.Correction(count=1), few())
    assert native.evaluate(rest, frames, found).erms == pytest.approx(info.erms)
    assert native.evaluate(rest, frames, found.bare()).erms == pytest.approx(worth.bare_erms, rel=1e-6)


def test_a_field_that_is_given_is_held(bulging):
    rest, frames, triangles, rig, fields, _ = bulging
    rig = native.Rig(
        rig.transforms, rig.influence_bones, rig.influence_weights, rig.rest, fields=fields[:1].astype("f")
    )
    found, _, info = native.correct(rest, frames, triangles, rig, native.Correction(count=2), few())
    np.testing.assert_array_equal(found.fields[0], fields[0].astype(np.float32))
    assert info.erms < 1e-2


def test_coefficients_of_other_frames_are_solved_alone(bulging):
    rest, frames, triangles, rig, fields, coefficients = bulging
    some = native.Rig(
        rig.transforms[3:8], rig.influence_bones, rig.influence_weights, rig.rest, fields=fields.astype("f")
    )
    found, _, _ = native.correct(rest, frames[3:8], triangles, some, native.Correction(count=2), few())
    np.testing.assert_allclose(found.coefficients, coefficients[3:8], atol=1e-3)


def test_coefficients_that_are_held_stay(bulging):
    rest, frames, triangles, rig, fields, coefficients = bulging
    rig = native.Rig(
        rig.transforms,
        rig.influence_bones,
        rig.influence_weights,
        rig.rest,
        fields=fields.astype("f"),
        coefficients=coefficients / 2,
    )
    found, _, _ = native.correct(
        rest, frames, triangles, rig, native.Correction(count=2), few(), held_coefficients=[True, False]
    )
    np.testing.assert_array_equal(found.coefficients[:, 0], coefficients[:, 0] / 2)
    assert not np.allclose(found.coefficients[:, 1], coefficients[:, 1] / 2)


def test_a_budget_takes_as_few_as_it_can(bulging):
    rest, frames, triangles, rig, *_ = bulging
    few_enough = native.Correction(count=9, budget_kind="rms", budget=1e-3)
    found, _, info = native.correct(rest, frames, triangles, rig, few_enough, few())
    assert len(found.fields) == 2
    assert info.rms_percent <= 1e-3


def test_fields_of_joints_name_their_bones(bulging):
    rest, frames, triangles, rig, *_ = bulging
    joints = native.Correction(count=4, support="joints")
    _, worth, _ = native.correct(rest, frames, triangles, rig, joints, few(), parents=[-1, 0, 1])
    assert set(worth.joints) <= {1, 2}


def test_a_job_gives_what_the_call_gives(bulging):
    rest, frames, triangles, rig, *_ = bulging
    direct, _, info = native.correct(rest, frames, triangles, rig, native.Correction(count=2), few())
    job = native.Job.start(native.correct, rest, frames, triangles, rig, native.Correction(count=2), few())
    found, _, said = job.finish()
    np.testing.assert_array_equal(found.fields, direct.fields)
    np.testing.assert_array_equal(found.coefficients, direct.coefficients)
    assert said.erms == info.erms


@pytest.mark.parametrize(
    ("wishes", "named"),
    [
        ({"count": "many"}, "correction.count is 'many'"),
        ({"count": -1}, "correction.count is -1"),
        ({"count": 257}, "correction.count is 257"),
        ({"support": "left"}, "correction.support is 'left'"),
        ({"budget_kind": "parts"}, "correction.budget_kind is 'parts'"),
        ({"budget_kind": "rms", "budget": 0}, "correction.budget is 0"),
        ({"smoothness": float("nan")}, "correction.smoothness is nan"),
    ],
)
def test_wishes_that_cannot_be_are_named(bulging, wishes, named):
    rest, frames, triangles, rig, *_ = bulging
    with pytest.raises(native.OssifyError) as caught:
        native.correct(rest, frames, triangles, rig, native.Correction(**wishes), few())
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"fields": np.zeros((1, 2, 3))}, "rig.fields has shape (1, 2, 3)"),
        ({"fields": np.zeros((300, 400, 3))}, "The given rig has 300 correctives; 256 is the most."),
        ({"coefficients": np.zeros((12, 3))}, "rig.coefficients has shape (12, 3)"),
    ],
)
def test_correctives_of_the_wrong_shape_are_named(bulging, changes, named):
    rest, frames, triangles, rig, *_ = bulging
    for name, value in changes.items():
        setattr(rig, name, value)
    with pytest.raises(native.OssifyError) as caught:
        native.correct(rest, frames, triangles, rig, None, few())
    rig.fields = rig.coefficients = None
    assert named in str(caught.value)


def test_a_rig_with_correctives_is_not_decomposed(bulging):
    rest, frames, triangles, rig, *_ = bulging
    found, _, _ = native.correct(rest, frames, triangles, rig, None, few())
    with pytest.raises(native.OssifyError) as caught:
        native.decompose(rest, frames, triangles, few(), found)
    assert "bones are solved without correctives" in str(caught.value)
    native.decompose(rest, frames, triangles, few(), found.bare())


def test_bones_and_fields_in_turns_leave_less_on_joints_that_hold(bulging):
    rest, frames, triangles, *_ = bulging
    settings = few(bones=4, rest_mode="fixed")
    rig, _ = native.decompose(rest, frames, triangles, settings)
    skeleton = native.connect(rig, triangles)
    rig, skeleton, _ = native.articulate(rest, frames, triangles, rig, skeleton, settings)
    stay = dataclasses.replace(rig, held_transforms=np.ones(rig.transforms.shape[:2], np.uint8))
    wish = native.Correction(count=1, refine=True)
    _, _, once = native.correct(rest, frames, triangles, stay, wish, settings)
    found = hinged.correct(rest, frames, triangles, rig, skeleton, wish, settings)
    assert found.info.erms < 0.99 * once.erms
    assert found.rounds > 0
    assert native.evaluate(rest, frames, found.rig).erms == pytest.approx(found.info.erms)
    assert found.rig.held_transforms is None
    linear, shift = found.rig.transforms[..., :3], found.rig.transforms[..., 3]
    for bone, parent in enumerate(found.skeleton.parents):
        if parent >= 0:
            joint = found.skeleton.joints[bone]
            ends = [linear[:, b] @ joint + shift[:, b] for b in (bone, parent)]
            np.testing.assert_allclose(*ends, atol=1e-4)
    turns = np.einsum("fbij,fbkj->fbik", linear, linear)
    np.testing.assert_allclose(turns, np.broadcast_to(np.eye(3), turns.shape), atol=1e-6)
