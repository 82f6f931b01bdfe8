"""addon/native: settings and arrays in, rigs and skeletons out, and what is refused."""

import ctypes
import sys

import numpy as np
import pytest
from solves import few, refusal

import made_up
import native
from native.call import Call

# ---- settings


def test_settings_default_to_the_header_s():
    settings = native.Settings(bones=5)
    assert settings.bones == 5
    assert settings.influences == 4
    assert settings.bone_kind == "rigid"
    assert settings.quality == "normal"
    assert settings.rest_mode == "kept"
    assert settings.locality is True
    assert settings.start == "grown"
    assert settings.connect == "both"
    assert settings.budget_kind == "none"
    assert settings.smoothness == 1
    assert settings.fairness == 10
    assert settings.until == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bones", "many"),
        ("bones", 2.5),
        ("seed", 2**64),
        ("quality", "perfect"),
        ("budget", "low"),
        ("rest_mode", 1),
        ("start", "random"),
        ("connect", "chance"),
    ],
)
def test_a_setting_of_the_wrong_type_is_named(eel, name, value):
    assert f"settings.{name} is {value!r}".rstrip("'") in refusal(
        eel.rest, eel.frames, settings=few(**{name: value})
    )


@pytest.mark.parametrize(
    ("name", "value"), [("bones", 0), ("bones", -3), ("influences", 99), ("until", float("nan"))]
)
def test_a_setting_out_of_range_is_refused_by_the_library(eel, name, value):
    assert name in refusal(eel.rest, eel.frames, settings=few(**{name: value}))


# ---- arrays


def test_a_decomposition_gives_back_a_rig(eel):
    rig, info = native.decompose(eel.rest, eel.frames, eel.triangles, few())
    assert info.status >= 0
    assert rig.transforms.shape == (12, info.bones, 3, 4)
    assert rig.influence_bones.shape == rig.influence_weights.shape == (len(eel.rest), 4)
    assert rig.rest.shape == eel.rest.shape
    np.testing.assert_allclose(rig.influence_weights.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(rig.dense_weights().sum(axis=1), 1, atol=1e-5)
    assert set(info.stage_seconds) == set(native.STAGES)
    assert info.seconds >= 0.9 * sum(info.stage_seconds.values())


def test_the_error_is_that_of_the_replayed_frames(eel):
    rig, info = native.decompose(eel.rest, eel.frames, eel.triangles, few())
    evaluation = native.evaluate(eel.rest, eel.frames, rig)
    distance = np.linalg.norm(evaluation.frames.astype(float) - eel.frames, axis=2)
    size = np.linalg.norm(np.ptp(eel.rest.astype(float), axis=0))
    assert evaluation.diagonal == pytest.approx(size, rel=1e-6)
    assert evaluation.rms == pytest.approx(np.sqrt(np.mean(distance**2)), rel=1e-3, abs=1e-6 * size)
    assert evaluation.maximum == pytest.approx(distance.max(), rel=1e-3, abs=1e-6 * size)
    assert evaluation.erms == pytest.approx(info.erms, rel=1e-3, abs=1e-3)
    assert evaluation.vertex_error.shape == (len(eel.rest),)
    assert evaluation.frame_error.shape == (len(eel.frames),)
    assert native.evaluate(eel.rest, eel.frames, rig, replay=False).frames is None


def test_other_number_types_and_layouts_give_the_same_answer(eel):
    plain = native.decompose(eel.rest, eel.frames, eel.triangles, few())[0]
    strided = np.asfortranarray(eel.frames.astype(np.float64))
    other = native.decompose(eel.rest.tolist(), strided, eel.triangles.astype(np.uint64), few())[0]
    np.testing.assert_array_equal(plain.transforms, other.transforms)
    np.testing.assert_array_equal(plain.influence_weights, other.influence_weights)


def test_input_arrays_are_not_changed(eel):
    rest, frames, triangles = eel.rest.copy(), eel.frames.copy(), eel.triangles.copy()
    native.decompose(rest, frames, triangles, few(rest_mode="free"))
    np.testing.assert_array_equal(rest, eel.rest)
    np.testing.assert_array_equal(frames, eel.frames)
    np.testing.assert_array_equal(triangles, eel.triangles)


def test_frames_in_float32_are_not_copied(eel):
    assert Call(eel.rest, eel.frames, eel.triangles, few()).frames is eel.frames


def test_a_value_that_is_not_finite_is_named(eel):
    frames = eel.frames.copy()
    frames[7, 31, 1] = np.nan
    assert "frames[7][31][1]" in refusal(eel.rest, frames, eel.triangles, few())


def test_a_value_too_large_for_float32_is_named(eel):
    frames = eel.frames.astype(np.float64)
    frames[2, 3, 0] = 1e300
    assert "frames[2][3][0]" in refusal(eel.rest, frames, eel.triangles, few())


@pytest.mark.parametrize("index", [-1, 10**6, 2**40])
def test_a_triangle_without_such_a_vertex_is_named(eel, index):
    triangles = eel.triangles.astype(np.int64)
    triangles[5, 2] = index
    said = refusal(eel.rest, eel.frames, triangles, few())
    assert "triangles[5][2]" in said
    assert str(index) in said


@pytest.mark.parametrize(
    ("rest", "frames", "triangles", "named"),
    [
        (np.zeros((4, 3)), np.zeros((2, 4)), None, "frames has shape (2, 4)"),
        (np.zeros((4, 3)), np.zeros((2, 4, 2)), None, "frames has shape (2, 4, 2)"),
        (np.zeros((5, 3)), np.zeros((2, 4, 3)), None, "rest has shape (5, 3)"),
        (np.zeros((4, 3)), np.zeros((2, 4, 3)), np.zeros((3, 4), int), "triangles has shape (3, 4)"),
        (np.zeros((4, 3)), np.zeros((2, 4, 3)), np.zeros((3, 3)), "triangles holds float64"),
        (np.zeros((4, 3)), np.zeros((2, 4, 3), complex), None, "frames holds complex128"),
        (np.zeros((4, 3)), [["a"]], None, "frames holds"),
        (np.zeros((4, 3)), [[1], [2, 3]], None, "frames"),
        (np.zeros((0, 3)), np.zeros((2, 0, 3)), None, "vertex"),
        (np.zeros((4, 3)), np.zeros((0, 4, 3)), None, "frame"),
    ],
)
def test_arrays_of_the_wrong_kind_are_named(rest, frames, triangles, named):
    assert named in refusal(rest, frames, triangles, few())


# ---- a rig to start from


def test_a_given_rig_is_where_the_descent_starts(eel):
    truth = native.Rig(eel.transforms, eel.bones, eel.weights, eel.rest)
    _, info = native.decompose(eel.rest, eel.frames, eel.triangles, few(rest_mode="fixed"), rig=truth)
    assert info.bones == 3
    assert info.erms < 0.01


def test_held_transforms_and_vertices_stay(eel):
    given = native.Rig(eel.transforms.copy(), eel.bones, eel.weights, eel.rest)
    given.transforms[:, 1:, :, 3] += 0.01
    given.held_transforms = np.tile([1, 0, 0], (len(eel.frames), 1))
    given.held_vertices = np.arange(len(eel.rest)) < 50
    rig, _ = native.decompose(eel.rest, eel.frames, eel.triangles, few(), rig=given)
    np.testing.assert_array_equal(rig.transforms[:, 0], given.transforms[:, 0])
    held = rig.dense_weights()[:50]
    truth = native.Rig(eel.transforms, eel.bones[:50], eel.weights[:50]).dense_weights()
    np.testing.assert_allclose(held, truth, atol=1e-6)


def truth_of(eel):
    return native.Rig(eel.transforms, eel.bones, eel.weights, eel.rest)


def test_everything_held_changes_not_a_bit(eel):
    given, rest = truth_of(eel), len(eel.rest)
    shapes = {"held_vertices": rest, "held_rest": rest, "held_transforms": (12, 3)}
    held = {name: np.ones(shape, bool) for name, shape in shapes.items()}
    given = native.Rig(
        given.transforms + 0.01, given.influence_bones, given.influence_weights, given.rest, **held
    )
    rig, _ = native.decompose(eel.rest, eel.frames, eel.triangles, few(), rig=given)
    np.testing.assert_array_equal(rig.transforms, given.transforms)
    np.testing.assert_array_equal(rig.rest, np.asarray(given.rest, np.float32))
    kept = given.influence_bones.shape[1]  # the answer may have room for more
    np.testing.assert_array_equal(rig.influence_bones[:, :kept], given.influence_bones)
    np.testing.assert_array_equal(rig.influence_weights[:, :kept], np.float32(given.influence_weights))


def test_a_held_group_stays(eel):
    given = truth_of(eel)
    given.transforms = given.transforms + 0.01
    given.held_groups = np.array([0, 1, 0])
    rig, _ = native.decompose(eel.rest, eel.frames, eel.triangles, few(), rig=given)
    np.testing.assert_array_equal(rig.dense_weights()[:, 1], truth_of(eel).dense_weights()[:, 1])


def test_another_clip_is_tracked(eel):
    settings = few(rest_mode="fixed")
    rig, info = native.decompose(
        eel.rest, eel.frames[::-2], eel.triangles, settings, rig=truth_of(eel).to_track()
    )
    assert info.erms < 0.01
    np.testing.assert_array_equal(rig.dense_weights(), truth_of(eel).dense_weights())


def halved_torus():
    """20 by 20 vertices on two bones, between which a ring of vertices follows both alike: rest, triangles,
    weights of the first, and four frames that no bones replay"""
    column, row = np.arange(400) % 20, np.arange(400) // 20
    u, v = 2 * np.pi * column / 20, 2 * np.pi * row / 20
    rest = np.stack([(2 + np.cos(v)) * np.cos(u), (2 + np.cos(v)) * np.sin(u), np.sin(v)], 1)
    right, below = row * 20 + (column + 1) % 20, (row + 1) % 20 * 20 + column
    across = (row + 1) % 20 * 20 + (column + 1) % 20
    own = np.arange(400)
    triangles = np.concatenate([np.stack([own, right, across], 1), np.stack([own, across, below], 1)])
    first = np.where(column < 9, 1.0, np.where(column % 10 == 9, 0.5, 0.0))
    turns = np.random.default_rng(0).normal(np.eye(3, 4), 0.3, (4, 2, 3, 4))
    moved = np.einsum("fbij,vj->fbvi", turns, np.c_[rest, np.ones(400)])
    return rest, triangles, first, moved[:, 0] * first[:, None] + moved[:, 1] * (1 - first[:, None])


def test_bones_that_share_vertices_and_edges_in_equal_parts_are_tracked_together():
    """At a fairness of 1.5 what two bones share there is 0: 1/4 of each vertex between them, less 1/4 of each
    of its four edges across. But it is not 0 a little beside that, and nothing must jump."""
    rest, triangles, first, frames = halved_torus()
    bones = np.stack([first < 0.5, first >= 0.5], 1).astype(np.int32)
    weights = np.stack([np.maximum(first, 1 - first), np.minimum(first, 1 - first)], 1)
    bones[weights == 0] = -1
    given = native.Rig(None, bones, weights.astype(np.float32), rest.astype(np.float32)).to_track()
    found = []
    for fairness in (1.5, 1.5 + 1e-9):
        settings = native.Settings(bones=2, rest_mode="fixed", threads=1, fairness=fairness)
        rig, _ = native.decompose(rest, frames.astype(np.float32), triangles, settings, rig=given)
        found.append(rig.transforms)
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_bones_have_a_price_and_can_be_more(eel):
    poses = eel.rest, eel.frames, eel.triangles
    costs = native.bone_costs(*poses, truth_of(eel), few())
    assert costs.shape == (3,)
    assert (costs > 0).all()
    for place in ({}, {"vertex": 5}, {"split": 1}):
        grown = native.add_bone(*poses, truth_of(eel), settings=few(), **place)
        assert grown.bones == 4
        np.testing.assert_array_equal(grown.transforms[:, :3], eel.transforms)
        assert (grown.dense_weights()[:, 3] > 0).any()


@pytest.mark.parametrize(
    ("place", "named"), [({"vertex": 10**6}, "vertex is 1000000"), ({"split": "hip"}, "split is 'hip'")]
)
def test_a_bone_added_nowhere_is_refused(eel, place, named):
    with pytest.raises(native.OssifyError) as caught:
        native.add_bone(eel.rest, eel.frames, eel.triangles, truth_of(eel), settings=few(), **place)
    assert named in str(caught.value)


def test_held_joints_stay(eel):
    rig = truth_of(eel)
    skeleton = native.connect(rig, eel.triangles)
    rig.held_vertices = np.ones(len(eel.rest), bool)
    joints = skeleton.joints.copy()
    _, jointed, _ = native.articulate(
        eel.rest, eel.frames, eel.triangles, rig, skeleton, few(rest_mode="fixed"), held_joints=[1, 1, 1]
    )
    np.testing.assert_array_equal(jointed.joints, joints)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"transforms": np.zeros((12, 3, 4, 4))}, "rig.transforms has shape"),
        ({"influence_weights": None}, "come together"),
        ({"influence_bones": np.full((3, 2), 0)}, "rig.influence_bones has shape"),
        ({"rest": np.zeros((3, 3))}, "rig.rest has shape"),
        ({"held_transforms": np.zeros(7)}, "rig.held_transforms"),
    ],
)
def test_a_given_rig_of_the_wrong_shape_is_named(eel, changes, named):
    parts = {"transforms": eel.transforms, "influence_bones": eel.bones, "influence_weights": eel.weights}
    assert named in refusal(
        eel.rest, eel.frames, eel.triangles, few(), rig=native.Rig(**{**parts, **changes})
    )


def test_half_a_rig_cannot_be_evaluated(eel):
    with pytest.raises(native.OssifyError, match="whole rig"):
        native.evaluate(eel.rest, eel.frames, native.Rig(transforms=eel.transforms))


# ---- skeletons


@pytest.fixture(scope="module")
def connected(eel):
    """An eel that also grows and shrinks, so that joints do not hold by themselves: poses, rig, skeleton."""
    growth = 1 + 0.1 * np.sin(np.arange(len(eel.frames)))
    poses = (eel.rest, (eel.frames * growth[:, None, None]).astype(np.float32), eel.triangles)
    rig, _ = native.decompose(*poses, few())
    return poses, rig, native.connect(rig, eel.triangles)


def gaps(rig, skeleton):
    """[f][b] between what a bone and its parent make of their joint; 0 for roots."""
    joints = np.concatenate([skeleton.joints, np.ones((rig.bones, 1))], axis=1)
    own = np.einsum("fbij,bj->fbi", rig.transforms, joints)
    above = np.einsum("fbij,bj->fbi", rig.transforms[:, skeleton.parents], joints)
    return np.linalg.norm(own - above, axis=2) * (skeleton.parents >= 0)


def test_an_articulated_rig_holds_its_joints(connected):
    poses, rig, skeleton = connected
    hung, jointed, info = native.articulate(*poses, rig, skeleton, few())
    size = np.linalg.norm(np.ptp(poses[0], axis=0))
    assert gaps(rig, skeleton).max() > 1e-3 * size
    assert gaps(hung, jointed).max() < 1e-9 * size
    assert (jointed.drifts == 0).all()
    assert (jointed.parents == skeleton.parents).all()
    assert info.erms == pytest.approx(native.evaluate(*poses[:2], hung).erms)


def test_stretch_costs_less(connected):
    poses, rig, skeleton = connected
    _, _, stiff = native.articulate(*poses, rig, skeleton, few())
    _, slid, soft = native.articulate(*poses, rig, skeleton, few(), stretch=True)
    assert soft.erms < 0.9 * stiff.erms
    assert slid.drifts.max() > 0


def test_an_articulating_job_gives_what_the_call_gives(connected):
    poses, rig, skeleton = connected
    hung, jointed, info = native.articulate(*poses, rig, skeleton, few())
    with native.Job.start(native.articulate, *poses, rig, skeleton, few()) as job:
        other_rig, other_skeleton, other_info = job.finish()
    assert (hung.transforms == other_rig.transforms).all()
    assert (jointed.joints == other_skeleton.joints).all()
    assert info.erms == other_info.erms
    assert job.poll().finished


def test_the_watcher_cancels_an_articulation(connected):
    poses, rig, skeleton = connected
    with pytest.raises(native.OssifyError) as caught:
        native.articulate(*poses, rig, skeleton, few(), watch=lambda _progress: True)
    assert caught.value.status == native.Status.CANCELLED


def test_a_skeleton_of_another_rig_is_refused(connected):
    poses, rig, skeleton = connected
    for spoiled, named in (
        (skeleton._replace(parents=[-1]), "skeleton.parents has shape"),
        (skeleton._replace(kinds=["ball"]), "skeleton.kinds has 1 items"),
        (skeleton._replace(parents=np.zeros(3, int)), "skeleton.parents[0] is 0"),
    ):
        with pytest.raises(native.OssifyError) as caught:
            native.articulate(*poses, rig, spoiled, few())
        assert named in str(caught.value)


# ---- memory


class Account:
    """An allocator that counts what is taken at once."""

    def __init__(self, settings):
        libc = ctypes.CDLL(None)
        libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
        self.pieces, self.now, self.peak = {}, 0, 0

        def allocate(_user, size):
            piece = libc.malloc(size)
            self.pieces[piece] = size
            self.now += size
            self.peak = max(self.peak, self.now)
            return piece

        def release(_user, piece):
            self.now -= self.pieces.pop(piece)
            libc.free(piece)

        take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)
        give = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self.functions = take(allocate), give(release)  # must outlive the call
        settings.allocate, settings.release = (ctypes.cast(f, ctypes.c_void_p) for f in self.functions)


def peak_memory(vertices, faces):
    moving = made_up.eel(vertices, frames=20, bones=6, noise=0.002)
    triangles = moving.triangles if faces else None
    call = native.decompose.fill(moving.rest, moving.frames, triangles, few(bones=8, iterations=1))
    account = Account(call.settings)
    request = native.decompose.request(call)
    assert native.library().ossify_run(ctypes.byref(request), ctypes.byref(call.info)) >= 0
    assert account.now == 0
    return account.peak, len(moving.rest)


@pytest.mark.skipif(sys.platform == "win32", reason="the C library has no common name there")
@pytest.mark.parametrize("faces", [True, False])
def test_memory_grows_with_the_vertices_as_the_header_says(faces):
    (small, few_vertices), (large, many_vertices) = peak_memory(20000, faces), peak_memory(40000, faces)
    a_vertex = 3 * 20 * 12 + 440 + 40 * 4 + 40 * 1 + 8 / 4
    assert large - small <= a_vertex * (many_vertices - few_vertices)


def _normals(points, triangles):
    a, b, c = (points[triangles[:, corner]].astype(float) for corner in range(3))
    return np.cross(b - a, c - a)


def _surface(observed, replayed, triangles, rest):
    """Area-weighted root mean square angle of the normals in degrees, and of the bumps in mean edges."""
    edges = np.sort(
        np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1
    )
    a, b = np.unique(edges, axis=0).T
    beside = np.zeros((len(rest), len(rest)))
    beside[a, b] = beside[b, a] = 1
    beside /= beside.sum(axis=1, keepdims=True)
    edge = np.mean(np.linalg.norm(rest[a].astype(float) - rest[b], axis=1))
    turned = area = bumps = 0.0
    for x, y in zip(observed, replayed, strict=True):
        n, m = _normals(x, triangles), _normals(y, triangles)
        sizes = np.linalg.norm(n, axis=1)
        angles = np.arctan2(np.linalg.norm(np.cross(n, m), axis=1), np.sum(n * m, axis=1))
        turned, area = turned + np.sum(sizes * angles**2), area + np.sum(sizes)
        error = y.astype(float) - x
        bumps += np.sum((error - beside @ error) ** 2) / len(rest) / len(observed)
    return np.degrees(np.sqrt(turned / area)), np.sqrt(bumps) / edge


def test_the_surface_is_measured_by_normals_and_bumps(eel):
    rig, info = native.decompose(eel.rest, eel.frames, eel.triangles, few(rest_mode="free", bones=2))
    found = native.evaluate(eel.rest, eel.frames, rig, triangles=eel.triangles)
    degrees, bumps = _surface(eel.frames, found.frames, eel.triangles, eel.rest)
    rest_degrees, rest_bumps = _surface(eel.rest[None], rig.rest[None], eel.triangles, eel.rest)
    assert degrees > 0.1
    assert rest_degrees > 0.1
    moved = np.sqrt(np.mean(np.sum((rig.rest.astype(float) - eel.rest) ** 2, axis=1)))
    for figures in (info, found):
        assert figures.normal_degrees == pytest.approx(degrees, rel=1e-3)
        assert figures.bumps == pytest.approx(bumps, rel=1e-3)
        assert figures.rest_normal_degrees == pytest.approx(rest_degrees, rel=1e-5)
        assert figures.rest_bumps == pytest.approx(rest_bumps, rel=1e-5)
    assert info.rest_percent == pytest.approx(100 * moved / found.diagonal)
    assert found.vertex_degrees.shape == (len(eel.rest),)
    assert found.vertex_degrees.max() >= degrees


def test_without_triangles_there_is_no_surface_to_measure(eel):
    rig, info = native.decompose(eel.rest, eel.frames, None, few())
    assert info.normal_degrees is info.bumps is info.rest_normal_degrees is info.rest_bumps is None
    assert native.evaluate(eel.rest, eel.frames, rig).vertex_degrees is None


def test_triangles_that_name_no_vertex_are_refused_by_an_evaluation(eel):
    rig, _ = native.decompose(eel.rest, eel.frames, eel.triangles, few())
    with pytest.raises(native.OssifyError, match="triangles"):
        native.evaluate(eel.rest, eel.frames, rig, triangles=eel.triangles + 1000)
