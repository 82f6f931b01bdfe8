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


def files_of_the_project():
    """As git lists them; in a copy without its history, all but what was built."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.split("\0") if name]
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [path.as_posix() for path in found if path.parts[0] not in (".git", "build")]


def test_no_registry_is_named():
    """Everybody's pip knows where to look."""
    names = files_of_the_project()
    assert len(names) > 300
    hosts = ("pypi." + "org", "files.python" + "hosted", "--index-" + "url", "--extra-" + "index")
    for name in names:
        data = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        assert not [host for host in hosts if host.encode() in data and name != "tools/lock.py"], name


def test_every_folder_is_one_that_the_readme_lists():
    """What a run leaves behind is none of them."""
    listed = set(re.findall(r"^(\w+)/ ", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    found = {name.partition("/")[0] for name in files_of_the_project() if "/" in name}
    assert {"addon", "native", "tests"} <= listed
    assert found - listed == {".ci", "licenses"}


# ---- what is shipped


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))


@pytest.mark.usefixtures("tools")
def test_a_zip_is_the_same_bytes_whenever_it_is_packed(tmp_path, monkeypatch):
    import archive

    entries = {"a/b.py": b"pass\n" * 100, "wheels/c.whl": bytes(1000)}
    archive.write(tmp_path / "first.zip", entries)
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:  # as the tools of others pack it: by the clock
        for name in reversed(entries):
            file.writestr(name, entries[name])
    assert (tmp_path / "other.zip").read_bytes() != (tmp_path / "first.zip").read_bytes()
    archive.write(tmp_path / "other.zip", archive.read(tmp_path / "other.zip"))
    assert (tmp_path / "other.zip").read_bytes() == (tmp_path / "first.zip").read_bytes()
    assert archive.read(tmp_path / "first.zip") == entries


@pytest.mark.usefixtures("tools")
def test_the_licence_of_everything_that_is_inside_is_there():
    import bundled

    for part in bundled.PARTS:
        if part.name != "libquadmath":  # it is in none of the libraries
            assert (bundled.TEXTS / part.text).read_text(encoding="utf-8").strip()
    assert {path.name for path in bundled.TEXTS.iterdir()} == {part.text for part in bundled.PARTS} - {""}


@pytest.mark.usefixtures("tools")
def test_the_openblas_at_hand_holds_what_is_known_of_it():
    import bundled
    import scipy_openblas32

    folder = Path(scipy_openblas32.get_lib_dir())
    library = next(file for file in folder.iterdir() if file.suffix in (".so", ".dll", ".dylib"))
    found = bundled.parts_of_all({library.name: library.read_bytes()})
    assert {"OpenBLAS", "LAPACK"} < {part.name for part in found}
    (notice,) = folder.parents[1].glob("scipy_openblas32-*.dist-info/licenses/LICENSE*")
    assert bundled.trouble(found, notice.read_bytes()) is None
    assert bundled.trouble(found, b"another licence").startswith("scipy-openblas32 has other licences")


@pytest.mark.usefixtures("tools")
def test_libquadmath_would_be_noticed():
    """By the limbs of 10^512, however wide they are: as in every libquadmath that prints a number."""
    import bundled

    data = b"\0" * 99 + (10**512).to_bytes(216, "little") + b"OpenBLAS ... scipy_cblas_dgemm DPOTRF"
    found = bundled.parts_of_all({"libblas.so": data})
    assert bundled.trouble(found, b"").startswith("libblas.so holds libquadmath (LGPL-2.1-or-later)")
