"""addon/native: calls that are watched, and jobs on the library's own thread."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from solves import few

import native
from native import header

ROOT = Path(__file__).resolve().parents[2]


def test_the_watcher_sees_the_fraction_rise(eel):
    seen = []
    native.decompose(eel.rest, eel.frames, eel.triangles, few(), watch=seen.append)
    assert seen
    fractions = [progress.fraction for progress in seen]
    assert fractions == sorted(fractions)
    assert all(progress.stage in native.STAGES for progress in seen)


def test_the_watcher_cancels(eel):
    with pytest.raises(native.OssifyError) as caught:
        native.decompose(eel.rest, eel.frames, eel.triangles, few(), watch=lambda _: True)
    assert caught.value.status == native.Status.CANCELLED


def test_an_exception_of_the_watcher_comes_through(eel):
    def watch(_):
        raise ZeroDivisionError("of the watcher")

    with pytest.raises(ZeroDivisionError, match="of the watcher"):
        native.decompose(eel.rest, eel.frames, eel.triangles, few(), watch=watch)


def test_a_job_gives_what_the_call_gives(eel):
    rig, info = native.decompose(eel.rest, eel.frames, eel.triangles, few())
    job = native.Job.start(native.decompose, eel.rest, eel.frames, eel.triangles, few())
    while not job.poll().finished:
        time.sleep(0.001)
    other, other_info = job.finish()
    np.testing.assert_array_equal(rig.transforms, other.transforms)
    np.testing.assert_array_equal(rig.influence_weights, other.influence_weights)
    assert info.erms == other_info.erms


def test_a_finished_job_answers_again(eel):
    job = native.Job.start(native.decompose, eel.rest, eel.frames, eel.triangles, few())
    first = job.finish()
    assert job.finish() is first
    assert job.poll().finished
    job.cancel()
    assert job.finish() is first


def test_a_refused_job_does_not_start(eel):
    with pytest.raises(native.OssifyError, match="bones"):
        native.Job.start(native.decompose, eel.rest, eel.frames, eel.triangles, few(bones=0))


def test_a_cancelled_job_ends_soon(large):
    job = native.Job.start(
        native.decompose, large.rest, large.frames, large.triangles, few(bones=10, quality="best")
    )
    time.sleep(0.05)
    began = time.perf_counter()
    job.cancel()
    job.cancel()
    with pytest.raises(native.OssifyError) as caught:
        job.finish()
    assert time.perf_counter() - began < 1
    assert caught.value.status == native.Status.CANCELLED
    with pytest.raises(native.OssifyError) as again:
        job.finish()
    assert again.value is caught.value
    assert job.poll().finished


def test_an_abandoned_job_is_cleaned_up(large):
    for _ in range(3):
        job = native.Job.start(
            native.decompose, large.rest, large.frames, large.triangles, few(bones=10, quality="best")
        )
        job.poll()
        began = time.perf_counter()
        del job
        assert time.perf_counter() - began < 1


def test_a_job_left_by_an_exception_is_cancelled(large):
    def leave():
        with native.Job.start(
            native.decompose, large.rest, large.frames, large.triangles, few(bones=10, quality="best")
        ) as job:
            jobs.append(job)
            raise ZeroDivisionError

    jobs = []
    with pytest.raises(ZeroDivisionError):
        leave()
    assert jobs[0].poll().finished


def test_a_process_may_end_while_a_job_runs(tmp_path):
    code = f"""
import sys
sys.path[:0] = [{str(ROOT / "addon")!r}, {str(ROOT / "bench")!r}]
import made_up, native
e = made_up.eel(20000, 40, 10)
settings = native.Settings(bones=10, quality="best")
job = native.Job.start(native.decompose, e.rest, e.frames, e.triangles, settings)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_two_jobs_run_at_the_same_time(eel):
    jobs = [
        native.Job.start(native.decompose, eel.rest, eel.frames, eel.triangles, few(seed=1)) for _ in range(2)
    ]
    first, second = (job.finish()[0] for job in jobs)
    np.testing.assert_array_equal(first.transforms, second.transforms)


def test_any_verb_can_be_a_job(eel):
    poses = (eel.rest, eel.frames, eel.triangles)
    rig, _ = native.decompose(*poses, few())
    skeleton = native.connect(rig, eel.triangles)
    for verb, arguments in (
        (native.decompose, (*poses, few())),
        (native.connect, (rig, eel.triangles)),
        (native.articulate, (*poses, rig, skeleton, few())),
        (native.bone_costs, (*poses, rig)),
        (native.add_bone, (*poses, rig)),
        (native.evaluate, (eel.rest, eel.frames, rig)),
    ):
        found = native.Job.start(verb, *arguments).finish()
        assert arrays_of(found) == arrays_of(verb(*arguments)), verb.__name__
    assert {verb.__name__ for verb in vars(native).values() if isinstance(verb, type(native.decompose))} == {
        *header.VERBS
    }


def arrays_of(found):
    """The bytes of all arrays of an answer; times differ."""
    if isinstance(found, np.ndarray):
        return [found.tobytes()]
    if isinstance(found, native.Rig):
        return arrays_of((found.transforms, found.influence_bones, found.influence_weights, found.rest))
    return [
        data
        for part in found
        if isinstance(part, (np.ndarray, tuple, native.Rig))
        for data in arrays_of(part)
    ]
