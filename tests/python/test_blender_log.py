"""What is known of the tests in a Blender that died on the way (tools/test_blenders.py)."""

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))

blenders = importlib.import_module("test_blenders")  # a tool, not a test
Log, MOST_DEATHS = blenders.Log, blenders.MOST_DEATHS


@pytest.fixture
def log(tmp_path):
    def read(*lines):
        (tmp_path / "result.tests").write_text("".join(f"{line}\n" for line in lines))
        return Log(tmp_path / "result.tests")

    return read


def test_a_session_without_tests_has_no_log(tmp_path):
    log = Log(tmp_path / "result.tests")
    assert (log.died_in(), log.counts(), log.may_go_on()) == ([], {}, False)


def test_what_has_ended_is_counted(log):
    seen = log("began a", "passed a", "began b", "failed b", "began c[x y]", "skipped c[x y]")
    assert (seen.died_in(), seen.may_go_on()) == ([], False)
    assert seen.counts() == {"passed": 1, "failed": 1, "skipped": 1}


def test_a_test_that_began_and_did_not_end_is_where_it_died(log):
    assert log("began a", "passed a", "began b").died_in() == ["b"]
    assert log("began a", "passed a", "began b").may_go_on()
    again = log("began b", "began b", "passed b")
    assert (again.died_in(), again.counts()) == (["b"], {"passed": 1})


def test_twice_in_one_test_is_a_failure(log):
    assert not log("began a", "began a").may_go_on()


def test_too_many_deaths_are_a_failure(log):
    names = [f"t{i}" for i in range(MOST_DEATHS + 1)]
    died = [line for name in names[:-1] for line in (f"began {name}", f"began {name}", f"passed {name}")]
    assert log(*died[:-2]).may_go_on()
    assert not log(*died, f"began {names[-1]}").may_go_on()
