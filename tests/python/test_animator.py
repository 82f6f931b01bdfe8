"""addon/native/animator.py and bench/solve.py --skeleton animator: a core that holds, helpers, none idle."""

import hashlib
import json
import pickle
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import made_up
import native
from native import animator, armature

SOLVE = Path(__file__).resolve().parents[2] / "bench" / "solve.py"


def rippling(vertices, bones, much, frames=10):
    """An eel that also swells and ripples: no rig has it, and bones without end would help."""
    eel = made_up.eel(vertices=vertices, frames=frames, bones=bones)
    rest, phase = eel.rest.astype(float), np.arange(frames)[:, None, None]
    along = rest[None, :, [0]]
    frames = eel.frames * (1 + much * np.sin(7 * along + phase))
    frames[..., 1] += 0.5 * much * np.sin(9 * along[..., 0] - phase[..., 0])
    return eel.rest, frames.astype(np.float32), eel.triangles


_ANSWERS = {}  # to what was asked so far, by all tests


def once(steps):
    """As animator.run, but what was asked before is not solved again: an answer does not depend on when it is
    asked, and many walks begin alike."""
    answer = None
    while True:
        try:
            ask = steps.send(answer)
        except StopIteration as end:
            return end.value
        asked = pickle.dumps((ask.verb.__name__, ask.arguments, ask.named))
        key = hashlib.sha256(asked).digest()
        if key not in _ANSWERS:
            _ANSWERS[key] = pickle.dumps(ask.verb(*ask.arguments, **ask.named))
        answer = pickle.loads(_ANSWERS[key])


@pytest.fixture(scope="module")
def soft():
    return rippling(vertices=700, bones=3, much=0.06)


@pytest.fixture(scope="module")
def small():
    return rippling(vertices=300, bones=3, much=0.06, frames=6)


@pytest.fixture(scope="module")
def firmer():
    """So little that joints are where they were: in a softer one their number depends on rounding."""
    return rippling(vertices=1200, bones=4, much=0.024)


@pytest.fixture(scope="module")
def found(soft):
    settings = native.Settings(quality="draft", threads=1)
    return once(animator.steps(*soft, settings))


@pytest.fixture(scope="module")
def found_firmer(firmer):
    settings = native.Settings(quality="draft", threads=1)
    return once(animator.steps(*firmer, settings))


def gaps(rig, parents, joints):
    """[f][b] between a joint as the bone and as its parent move it"""
    points = np.concatenate([joints, np.ones((len(joints), 1))], 1)
    own = np.einsum("fbij,bj->fbi", rig.transforms, points)
    above = np.einsum("fbij,bj->fbi", rig.transforms[:, np.maximum(parents, 0)], points)
    return np.linalg.norm(own - above, axis=2) * (parents >= 0)


def test_the_core_holds_and_comes_first(found):
    core = found.roles == animator.CORE
    assert 1 <= core.sum() < len(core) <= animator.MOST_IN_ALL
    assert (np.diff(found.roles) >= 0).all()
    assert gaps(found.rig, found.skeleton.parents, found.skeleton.joints)[:, core].max() < 1e-9
    parents = found.skeleton.parents
    assert (parents < 0).sum() == 1
    assert parents[found.skeleton.root] == -1
    assert core[parents[parents >= 0]].all(), "a helper leads nobody"


def test_helpers_lower_the_error(found):
    assert found.info.erms < 0.9 * found.core.erms


def test_no_bone_of_the_core_is_idle(found):
    strongest = np.take_along_axis(
        found.rig.influence_bones, found.rig.influence_weights.argmax(1)[:, None], 1
    )
    owned = np.bincount(strongest[:, 0], minlength=found.rig.bones)
    assert (owned[found.roles == animator.CORE] >= 1e-3 * len(strongest)).all()


def test_an_idle_bone_of_the_core_becomes_a_helper_of_the_one_above():
    bones = np.array([[0, 1], [0, 1], [2, -1], [3, 2]], np.int32)
    weights = np.array([[0.7, 0.3], [0.6, 0.4], [1, 0], [0.8, 0.2]], np.float32)
    rig = native.Rig(np.tile(np.eye(3, 4), (2, 4, 1, 1)), bones, weights, np.eye(4, 3, dtype=np.float32))
    skeleton = armature.skeleton_of([-1, 0, 1, 2], np.zeros((4, 3)))
    state = animator._State(rig, skeleton, np.zeros(4, np.int32), None)
    plan = animator._Plan((), native.Settings(), None, True, 0.0, 0)
    less = animator._in_order(animator._without_idle_core(plan, state))
    assert less.roles.tolist() == [0, 0, 0, 1]
    assert less.skeleton.parents.tolist() == [-1, 0, 1, 0]
    assert less.rig.dense_weights()[:, 3] == pytest.approx([0.3, 0.4, 0, 0])
    alone = animator._without_idle_core(plan._replace(helpers=False), state)
    assert alone.roles.tolist() == [0, 0, 0]
    assert alone.skeleton.parents.tolist() == [-1, 0, 1]


def test_fairness_comes_last_and_leaves_the_bones_as_they_are(soft):
    asked = []
    settings = native.Settings(quality="draft", threads=1, fairness=10.0)
    found = once(heard(animator.steps(*soft, settings), asked))
    assert asked[-1].verb is native.inspect, "which changes nothing"
    solved = [ask.arguments[3:] for ask in asked if ask.verb is native.decompose]
    assert [settings.fairness for settings, *_ in solved[:2]] == [0, 0]
    fair = [given for settings, given in (ask for ask in solved if ask[0].fairness == 10)]
    assert all(given.held_transforms.all() for given in fair)
    bones = np.sort(found.rig.transforms, axis=1)
    assert any(np.array_equal(bones, np.sort(given.transforms, axis=1)) for given in fair)


def test_helpers_do_not_decide_from_which_limb_a_bone_hangs(soft, found):
    seen = animator.inspect(*soft, found.rig, found.skeleton, found.roles)
    plain = native.inspect(*soft, found.rig, found.skeleton)
    assert (seen.excesses == plain.excesses).all()
    assert (seen.foreign[found.roles == animator.HELPER] == -1).all()
    helpers = np.flatnonzero(found.roles == animator.HELPER)
    assert (seen.limbs[helpers] == seen.limbs[found.skeleton.parents[helpers]]).all()


@pytest.mark.parametrize("helpers", [True, False])
@pytest.mark.parametrize("count", [2, 4, 6, 8])
def test_a_count_is_kept(small, count, helpers):
    settings = native.Settings(quality="draft", threads=1)
    found = once(animator.steps(*small, settings, count=count, helpers=helpers))
    assert (found.roles == animator.CORE).sum() == count
    assert not animator.idle(found.rig)[:count].any()


def test_what_came_to_too_few_bones_is_not_solved_again(monkeypatch):
    asked, few = [], animator._State(None, None, np.array([animator.CORE], np.int32), None)

    def answer(*_given):
        yield from ()
        return few

    def by_groups(plan, _pieces, groups):
        asked.append((plan.helpers, groups))
        return answer()

    monkeypatch.setattr(animator, "_from_groups", by_groups)
    for name in ("_parts", "_leave_idle", "_finished"):
        monkeypatch.setattr(animator, name, answer)
    plan = animator._Plan((), native.Settings(), None, True, 0.0, 5)
    assert animator.run(animator._counted(plan, types.SimpleNamespace(bones=12), few)) is few
    assert asked == [(True, 9), (True, 12), (False, 9), (False, 12)]


def excesses(found, frames):
    """[core] how much further than in rest a head gets from what its bone is strongest on, percent"""
    rig, strongest = found.rig, found.rig.dense_weights().argmax(axis=1)
    core, most = np.flatnonzero(found.roles == animator.CORE), []
    for b in core:
        head = np.append(found.skeleton.joints[b], 1)
        flown = [
            np.linalg.norm(frame[strongest == b] - m @ head, axis=1).min()
            for frame, m in zip(frames, rig.transforms[:, b], strict=True)
        ]
        most.append(max(flown) - np.linalg.norm(rig.rest[strongest == b] - head[:3], axis=1).min())
    return 100 * np.array(most) / np.linalg.norm(np.ptp(rig.rest, axis=0))


def test_bones_that_fly_become_helpers(firmer, monkeypatch, found_firmer):
    settings = native.Settings(quality="draft", threads=1)
    most = excesses(found_firmer, firmer[1]).max()
    monkeypatch.setattr(animator, "FLIES", 0.5 * most)
    monkeypatch.setattr(animator, "_MOST_FLY", 1.0)
    nearer = once(animator.steps(*firmer, settings))
    assert 1 <= (nearer.roles == animator.CORE).sum() < (found_firmer.roles == animator.CORE).sum()
    assert excesses(nearer, firmer[1]).max() <= 0.5 * most + 1e-3
    assert not animator.idle(nearer.rig)[nearer.roles == animator.CORE].any()


def test_bones_that_fly_stay_where_they_are_counted_or_would_all_go(soft, monkeypatch, found):
    settings = native.Settings(quality="draft", threads=1)
    monkeypatch.setattr(animator, "FLIES", 0.0)
    asked = once(animator.steps(*soft, settings, count=4))
    assert (asked.roles == animator.CORE).sum() == 4
    every = once(animator.steps(*soft, settings))  # all would have to go: half of them stay
    assert (every.roles == animator.CORE).sum() >= 0.5 * (found.roles == animator.CORE).sum()
    assert excesses(every, soft[1]).max() <= excesses(found, soft[1]).max()
    bare = once(animator.steps(*soft, settings, helpers=False))
    assert bare.info.erms <= 1.2 * bare.core.erms


def test_a_root_that_flies_hangs_from_its_child_about_the_same_joint():
    rest = np.arange(12, dtype=np.float32).reshape(4, 3)
    rig = native.Rig(np.tile(np.eye(3, 4), (1, 3, 1, 1)), np.array([[0], [1], [1], [2]], np.int32),
                     np.ones((4, 1), np.float32), rest)  # fmt: skip
    skeleton = armature.skeleton_of([-1, 0, 0], np.arange(9.0).reshape(3, 3))
    hung = animator._hung_from(animator._State(rig, skeleton, np.zeros(3, np.int32), None), 1).skeleton
    assert hung.root == 1
    assert hung.parents.tolist() == [1, -1, 0]
    assert hung.kinds == [skeleton.kinds[1], "root", skeleton.kinds[2]]
    np.testing.assert_array_equal(hung.joints, [[3, 4, 5], rest[1:3].mean(axis=0), [6, 7, 8]])


def test_a_root_that_turns_has_its_head_in_what_it_moves():
    turn = np.array([[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]], float)
    rest = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
    frames = np.stack([rest, rest @ turn[:, :3].T + 0.005]).astype(np.float32)
    bones, weights = np.zeros((8, 1), np.int32), np.ones((8, 1), np.float32)
    rig = native.Rig(np.stack([np.eye(3, 4), turn]), bones, weights, rest)
    rig.transforms = rig.transforms[:, None]
    roles = np.zeros(1, np.int32)
    far = armature.skeleton_of([-1], np.array([[0, 3.0, 0]]))
    state = animator._State(rig, far, roles, None)
    assert animator._root_near(frames, state).skeleton.joints[0] == pytest.approx([0, 3, 0])  # it goes along
    frames[1] = rest  # but it does not any more
    near = animator._root_near(frames, state).skeleton
    found = animator.Character(rig, near, roles, None, None, None)
    assert excesses(found, frames).max() < 1
    assert excesses(found._replace(skeleton=far), frames).max() > 50


def test_without_helpers(soft):
    settings = native.Settings(quality="draft", threads=1)
    found = once(animator.steps(*soft, settings, helpers=False))
    assert (found.roles == animator.CORE).all()
    assert found.info.erms >= found.pieces.erms
    assert found.info.erms <= 1.2 * found.core.erms


@pytest.mark.parametrize("most", [1, 6])
def test_no_more_helpers_than_asked_for(firmer, found_firmer, most):
    """Beside the core that was found with all of them, less what falls idle without them."""
    settings = native.Settings(quality="draft", threads=1)
    few = once(animator.steps(*firmer, settings, most_helpers=most))
    helping = few.roles == animator.HELPER
    assert 1 <= helping.sum() <= most < (found_firmer.roles == animator.HELPER).sum()
    assert 1 < (~helping).sum() <= (found_firmer.roles == animator.CORE).sum()
    assert not animator.idle(few.rig)[~helping].any()
    assert few.info.erms > found_firmer.info.erms
    core = gaps(few.rig, few.skeleton.parents, few.skeleton.joints)[:, ~helping]
    assert core.max() < 1e-9


@pytest.mark.parametrize("missing", [{"rest"}, {"triangles"}, {"rest", "triangles"}])
def test_frames_alone_are_enough(small, tmp_path, missing):
    arrays = dict(zip(("rest", "frames", "triangles"), small, strict=True))
    kept = {name: array for name, array in arrays.items() if name not in missing}
    np.savez(tmp_path / "seq.npz", **kept)
    command = [sys.executable, str(SOLVE), "seq.npz", "--skeleton", "animator", "--quality", "draft"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    said = json.loads(ran.stdout.splitlines()[-1])
    assert said["core"] >= 2
    assert said["helpers"] >= 1
    assert said["drift_percent"] < 1e-6


def test_a_body_that_is_a_rig_keeps_its_bones():
    eel = made_up.eel(vertices=600, frames=12, bones=4)
    found = once(animator.steps(eel.rest, eel.frames, eel.triangles, native.Settings(threads=1)))
    assert found.rig.bones == 4
    assert (found.roles == animator.CORE).all()


def test_a_body_that_is_nearly_a_rig_keeps_the_parts_where_they_leave_less(monkeypatch):
    eel = made_up.eel(vertices=600, frames=12, bones=4)
    monkeypatch.setattr(animator, "_EXACT_JOINTS", 0.0)  # its joints leave too much to be sure
    fused = animator._fused_core
    monkeypatch.setattr(animator, "_fused_core", lambda plan, pieces, _: fused(plan, pieces, 2))
    settings = native.Settings(threads=1)
    found = once(animator.steps(eel.rest, eel.frames, eel.triangles, settings, helpers=False))
    assert (found.roles == animator.CORE).sum() == 4


@pytest.mark.parametrize(("helpers", "count"), [(True, 2), (False, 3)])
def test_a_body_that_is_a_rig_has_no_more_bones_than_asked_for(helpers, count):
    """Six slabs, each as stiff as stone: there is nothing to gain by fusing them."""
    along, around = np.divmod(np.arange(24 * 8), 8)
    pairs = [(8 * a + b, 8 * a + (b + 1) % 8) for a in range(23) for b in range(8)]
    triangles = np.array([t for p, q in pairs for t in ((p, q, q + 8), (p, q + 8, p + 8))], np.int32)
    turns = np.sin(np.arange(8) / 8 * 2 * np.pi)[:, None] * np.clip((along - 12) / 4, 0, 1)
    beyond, high = np.maximum(along - 12, 0), np.sin(around * np.pi / 4)
    x = np.minimum(along, 12) + beyond * np.cos(turns) - high * np.sin(turns)
    y = np.broadcast_to(np.cos(around * np.pi / 4), x.shape)
    frames = np.stack([x, y, beyond * np.sin(turns) + high * np.cos(turns)], 2).astype(np.float32)
    settings = native.Settings(quality="draft", threads=1)
    found = once(animator.steps(frames[0], frames, triangles, settings, count=count, helpers=helpers))
    assert (found.roles == animator.CORE).sum() == count


@pytest.mark.parametrize(("left", "is_rig"), [(0.15, True), (0.3, False)])
def test_twice_as_many_pieces_tell_many_parts_from_a_soft_body(found, left, is_rig):
    """A person with fingers leaves 0.15 of what half as many pieces do, a galloping horse 0.3."""
    plan, pieces = missed_at(slice(0, 10))
    first = found.info._replace(rms_percent=0.05)
    asking = animator._may_be_a_rig(plan, pieces, first)
    assert next(asking).arguments[3].bones == 2 * animator.PIECES
    with pytest.raises(StopIteration) as end:
        asking.send((None, first._replace(rms_percent=left * 0.05)))
    assert end.value.value == is_rig


def missed_at(vertices):
    """Poses of which a bone that stands still misses some vertices, and that bone."""
    rest = np.arange(120, dtype=np.float32).reshape(40, 3)
    frames = np.tile(rest, (2, 1, 1))
    frames[1, vertices] += 1
    rig = native.Rig(np.tile(np.eye(3, 4), (2, 1, 1, 1)), np.zeros((40, 1), np.int32), np.ones((40, 1)), rest)
    return animator._Plan((rest, frames, None), native.Settings(), None, True, 0.0, 0), rig


def test_pieces_that_miss_all_of_a_body_are_none_of_a_rig(found):
    plan, pieces = missed_at(slice(None))
    first = found.info._replace(rms_percent=0.05)
    with pytest.raises(StopIteration) as end:
        next(animator._may_be_a_rig(plan, pieces, first))
    assert end.value.value is False


def heard(walk, asked):
    """The same steps, written down."""
    answer = None
    while True:
        try:
            asked.append(walk.send(answer))
        except StopIteration as end:
            return end.value
        answer = yield asked[-1]


@pytest.mark.parametrize("fairness", [0.0, 10.0])
def test_bones_are_found_on_an_excerpt_and_solved_on_all_frames(soft, monkeypatch, fairness):
    monkeypatch.setattr(animator, "EXCERPT", 5)
    asked, settings = [], native.Settings(quality="draft", threads=1, fairness=fairness)
    found = once(heard(animator.steps(*soft, settings), asked))
    frames = [len(ask.arguments[1]) for ask in asked]
    assert set(frames) == {5, 10}
    assert frames[0] == frames[-1] == 10
    assert frames.count(5) > frames.count(10)
    assert len(found.rig.transforms) == 10
    core = found.roles == animator.CORE
    assert gaps(found.rig, found.skeleton.parents, found.skeleton.joints)[:, core].max() < 1e-9
    assert not animator.idle(found.rig)[core].any()
    assert animator._misses(soft[1], found.rig).mean() == pytest.approx(misses(found.rig, soft[1]).mean())
    assert found.info.erms < 1.5 * once(animator.steps(*soft, settings)).info.erms


def misses(rig, frames):
    """[v] root mean square, from the weights of all bones"""
    weights, points = rig.dense_weights(), np.c_[rig.rest, np.ones(len(rig.rest))]
    posed = sum(weights[None, :, [b]] * (points @ rig.transforms[:, b].mT) for b in range(rig.bones))
    return np.sqrt(((posed - frames) ** 2).sum(2).mean(0))


def test_a_count_is_kept_on_many_frames(soft, monkeypatch):
    monkeypatch.setattr(animator, "EXCERPT", 5)
    settings = native.Settings(quality="draft", threads=1, fairness=10.0)
    found = once(animator.steps(*soft, settings, count=5))
    assert (found.roles == animator.CORE).sum() == 5


def ball_with_a_patch(kind, mirror):
    """A ball on bone 0, its cap on bone 1, which hangs from 0."""
    ring, turns = np.linspace(0, np.pi, 17), np.linspace(0, 2 * np.pi, 24, endpoint=False)
    points = [[np.sin(a) * np.cos(t), np.sin(a) * np.sin(t), np.cos(a)] for a in ring for t in turns]
    rest = np.array(points, np.float32)
    corners = [(24 * i + j, 24 * i + (j + 1) % 24) for i in range(16) for j in range(24)]
    triangles = [t for a, b in corners for t in ((a, a + 24, b), (b, a + 24, b + 24))]
    bones = np.where(rest[:, 2] > 0.7, 1, 0).astype(np.int32)[:, None]
    transforms = np.broadcast_to(np.eye(3, 4), (1, 2, 3, 4)).copy()
    rig = native.Rig(transforms, bones, np.ones((len(rest), 1), np.float32), rest)
    skeleton = native.Skeleton(
        0, np.array([-1, 0], np.int32), np.zeros((2, 3)), ["root", kind], np.zeros((2, 3)), np.zeros(2),
        np.zeros(2), np.array([-1, mirror], np.int32), None, "",
    )  # fmt: skip
    state = animator._State(rig, skeleton, np.full(2, animator.CORE, np.int32), None)
    return animator.patches(np.array(triangles, np.int32), state)


def test_a_patch_of_skin_is_no_limb():
    assert ball_with_a_patch("loose", -1).tolist() == [False, True]
    assert ball_with_a_patch("loose", 1).tolist() == [False, True]  # in the middle, its own partner


def test_an_end_with_a_joint_or_a_partner_is_a_limb():
    assert not ball_with_a_patch("ball", -1).any()
    assert not ball_with_a_patch("loose", 0).any()


def test_bones_that_leave_hand_on_what_they_have():
    bones = np.array([[0, 1], [1, 2], [2, -1], [3, 2]], np.int32)
    weights = np.array([[0.7, 0.3], [0.6, 0.4], [1, 0], [0.8, 0.2]], np.float32)
    rig = native.Rig(np.tile(np.eye(3, 4), (2, 4, 1, 1)), bones, weights, np.zeros((4, 3), np.float32))
    skeleton = native.Skeleton(
        0,
        np.array([-1, 0, 1, 2], np.int32),
        np.arange(12.0).reshape(4, 3),
        ["root", "ball", "ball", "ball"],
        np.zeros((4, 3)),
        np.zeros(4),
        np.zeros(4),
        np.full(4, -1, np.int32),
        None,
        "",
    )
    gone = np.array([False, True, False, False])
    state = animator._State(rig, skeleton, np.zeros(4, np.int32), None)
    fewer, tree, _roles, _info = animator._without(state, gone)
    assert tree.parents.tolist() == [-1, 0, 1]
    assert tree.root == 0
    np.testing.assert_allclose(fewer.dense_weights(), [[1, 0, 0], [0.6, 0.4, 0], [0, 1, 0], [0, 0.2, 0.8]])
    assert (tree.joints == skeleton.joints[[0, 2, 3]]).all()
    tree = animator._without(state, np.array([True, False, False, False])).skeleton
    assert (tree.parents < 0).sum() == 1
    assert tree.parents[tree.root] == -1


def test_the_command_says_where_bones_go(small, tmp_path):
    rest, frames, triangles = small
    np.savez(tmp_path / "seq.npz", rest=rest, frames=frames, triangles=triangles)
    command = [sys.executable, str(SOLVE), "seq.npz", "--skeleton", "animator", "--quality", "draft"]
    ran = subprocess.run(
        [*command, "--out", "rig.npz"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    said = json.loads(ran.stdout.splitlines()[-1])
    rig = np.load(tmp_path / "rig.npz")
    assert said["core"] + said["helpers"] == said["bones"] == len(rig["roles"])
    assert said["idle"] == 0
    assert said["drift_percent"] < 1e-6
    assert said["foreign"] >= 0
    own = np.take_along_axis(rig["influence_bones"], rig["influence_weights"].argmax(1)[:, None], 1)[:, 0]
    size, most, excess = np.linalg.norm(np.ptp(rig["rest"], axis=0)), 0, 0
    for b in np.flatnonzero(rig["roles"] == 0):
        head = np.append(rig["joints"][b], 1)
        flown = max(
            np.linalg.norm(frame[own == b] - m @ head, axis=1).min()
            for frame, m in zip(frames, rig["transforms"][:, b], strict=True)
        )
        still = np.linalg.norm(rig["rest"][own == b] - head[:3], axis=1).min()
        most, excess = max(most, flown), max(excess, flown - still)
    assert said["flight_percent"] == pytest.approx(100 * most / size, abs=1e-3)
    assert said["excess_flight_percent"] == pytest.approx(100 * excess / size, abs=1e-3)


def test_the_command_refuses_what_the_chain_decides(tmp_path):
    command = [sys.executable, str(SOLVE), "x.npz", "--skeleton", "animator", "--budget", "1"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert "--budget" in ran.stderr


@pytest.fixture(scope="module")
def known():
    """An eel, its parents and its joints."""
    eel = made_up.eel(vertices=600, frames=12, bones=4)
    return eel, np.arange(4) - 1, np.stack([np.arange(4) / 4, np.zeros(4), np.zeros(4)], 1)


def test_weights_for_an_armature_that_moves(known):
    eel, parents, joints = known
    poses = eel.rest, eel.frames, eel.triangles
    rig, skeleton, info = armature.fit(*poses, parents, joints, eel.transforms, native.Settings(threads=1))
    np.testing.assert_array_equal(rig.transforms, eel.transforms)
    np.testing.assert_array_equal(skeleton.joints, joints)
    assert info.rms_percent < 1e-3
    true = np.zeros((len(eel.rest), 4))
    for k in range(2):
        np.add.at(true, (np.arange(len(true)), eel.bones[:, k]), eel.weights[:, k])
    assert np.abs(rig.dense_weights() - true).max() < 0.02


def test_weights_and_motion_for_an_armature_that_stands(known):
    eel, parents, joints = known
    poses = eel.rest, eel.frames, eel.triangles
    rig, skeleton, info = armature.fit(*poses, parents, joints, settings=native.Settings(threads=1))
    np.testing.assert_array_equal(skeleton.joints, joints)
    np.testing.assert_array_equal(skeleton.parents, parents)
    assert gaps(rig, parents, joints).max() < 1e-9
    assert info.rms_percent < 0.05


def test_the_command_takes_an_armature(known, tmp_path):
    eel, parents, joints = known
    np.savez(tmp_path / "seq.npz", rest=eel.rest, frames=eel.frames, triangles=eel.triangles)
    np.savez(tmp_path / "moves.npz", parents=parents, joints=joints, transforms=eel.transforms)
    np.savez(tmp_path / "short.npz", parents=parents, joints=joints[:2])
    np.savez(tmp_path / "other.npz", parents=parents, joints=joints, transforms=eel.transforms[:3])
    np.savez(tmp_path / "none.npz", joints=joints)

    def solve(*words):
        command = [sys.executable, str(SOLVE), "seq.npz", "--threads", "1", "--armature", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    ran = solve("moves.npz", "--out", "rig.npz")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout.splitlines()[-1])["drift_percent"] < 1e-6
    rig = np.load(tmp_path / "rig.npz")
    np.testing.assert_array_equal(rig["joints"], joints)
    np.testing.assert_array_equal(rig["parents"], parents)
    for words, says in (
        (("short.npz",), "`joints` must be"),
        (("other.npz",), "`transforms` must be [12][4]"),
        (("none.npz",), "`parents`"),
        (("nowhere.npz",), "is not there"),
        (("moves.npz", "--bones", "3"), "--bones"),
    ):
        ran = solve(*words)
        assert ran.returncode == 1
        assert says in ran.stderr
