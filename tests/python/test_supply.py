"""What is fetched: every package by version and hash, and nothing by any other way."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
LOCKS = [ROOT / "requirements.txt", *sorted((TOOLS / "requirements").glob("*.txt"))]
ASKED = [ROOT / "requirements.in", *sorted((TOOLS / "requirements").glob("*.in"))]


def entries(lock: Path) -> list[str]:
    """A package with its hashes each, on one line."""
    lines = [line for line in lock.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return "\n".join(lines).replace("\\\n", "").strip().splitlines()


def pins(text: str) -> set[str]:
    return set(re.findall(r"^([A-Za-z0-9_.-]+)(?:\[[^]]*\])?==([^\s;\\]+)", text, re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_package_has_a_version_and_hashes(lock):
    found = entries(lock)
    assert found
    form = re.compile(r"[A-Za-z0-9_.-]+==[^\s;]+( ;.*?)?( +--hash=sha256:[0-9a-f]{64})+")
    assert [entry for entry in found if not form.fullmatch(entry)] == []


@pytest.mark.parametrize("asked", ASKED, ids=lambda path: path.stem)
def test_what_is_asked_for_is_what_is_locked(asked):
    assert pins(asked.read_text(encoding="utf-8")) <= pins(
        asked.with_suffix(".txt").read_text(encoding="utf-8")
    )


def test_every_blender_is_locked_with_the_numpy_that_it_ships(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import blenders

    for name, release in blenders.RELEASES.items():
        locked = pins(blenders.requirements_of(name).read_text(encoding="utf-8"))
        assert {("bpy", release.bpy), ("numpy", release.numpy)} <= locked


def test_no_tool_installs_without_hashes():
    """Only tools/cache.py knows pip, in two functions that both ask for hashes."""
    for tool in TOOLS.rglob("*.py"):
        text = tool.read_text(encoding="utf-8")
        used = len(re.findall(r"\b_?pip\(|[\"']pip[\"']", text)) - text.count("def _pip(")
        assert used == {"cache.py": 3, "lock.py": 1}.get(tool.name, 0), tool
    assert (TOOLS / "cache.py").read_text(encoding="utf-8").count('"--require-hashes"') == 2


def test_a_file_with_another_hash_is_refused(tmp_path):
    """pip itself, on a package made here: no network."""
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        file.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr("thing-1.0.dist-info/RECORD", "")
    asked = tmp_path / "asked.txt"
    asked.write_text(f"thing==1.0 --hash=sha256:{'0' * 64}\n")
    code = (
        f"import sys; sys.path.insert(0, {str(TOOLS)!r}); import cache; cache.TRIES = 1\n"
        f"cache.install(sys.executable, {str(asked)!r}, '--no-index', '--find-links', {str(tmp_path)!r},"
        f" '--target', {str(tmp_path / 'target')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert not (tmp_path / "target" / "thing-1.0.dist-info").exists()


def test_no_registry_is_named():
    """Everybody's pip knows where to look."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("this is no git repository")
    hosts = ("pypi." + "org", "files.python" + "hosted", "--index-" + "url", "--extra-" + "index")
    for name in filter(None, listed.stdout.split("\0")):
        data = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        assert not [host for host in hosts if host.encode() in data and name != "tools/lock.py"], name
