"""addon/native: the mirror of ossify.h, and the library that is looked for, loaded and checked."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import native
from native import header

ROOT = Path(__file__).resolve().parents[2]
WORDS = {
    "DECOMPOSE EVALUATE CONNECT ARTICULATE BONE_COSTS ADD_BONE PRUNE_WEIGHTS SMOOTH_WEIGHTS CORRECT"
    " ANIMATION_SPACE COMPRESS DRIVE PLACE_JOINTS UNWRAP FUSE INSPECT UNITE SHAPE_BONES MERGE"
    " AVERAGE_POSES": header.VERBS,
    "RIGID FLEXIBLE": native.BONE_KINDS,
    "DRAFT NORMAL BEST": native.QUALITIES,
    "REST_FIXED REST_KEPT REST_FREE REST_SMOOTH": native.REST_MODES,
    "BUDGET_NONE BUDGET_RMS BUDGET_MAXIMUM BUDGET_PARTS BUDGET_NORMALS BUDGET_BUMPS": native.BUDGET_KINDS,
    "STAGE_PREPARE STAGE_START STAGE_EXPLORE STAGE_REFINE STAGE_FINISH STAGE_SKELETON STAGE_CORRECT"
    " STAGE_SPACE STAGE_COMPRESS STAGE_UNWRAP": native.STAGES,
    "SPACE_OWN SPACE_PADDED": native.SPACE_BONES,
    "SPACE_CORRECTIONS SPACE_POSITIONS": native.SPACE_FORMS,
    "POSES_SEEN POSES_JOINTS POSES_COMPONENTS POSES_TRANSLATIONS POSES_ROTATIONS POSES_UNIFORM": (
        native.POSE_MODELS
    ),
    "SOURCE_WEIGHTS SOURCE_POSES": native.SOURCES,
    "COMPRESS_EXACT COMPRESS_PRINTED": native.METHODS,
    "UNWRAP_STRETCH UNWRAP_ISOMETRIC UNWRAP_CONFORMAL": native.UNWRAP_METHODS,
    "UNWRAP_KEPT UNWRAP_PACKED": native.UNWRAP_PLACES,
    "SUPPORT_WHOLE SUPPORT_JOINTS": native.SUPPORTS,
    "DRIVEN_WHOLE DRIVEN_JOINTS DRIVEN_FOUND": native.DRIVEN_FORMS,
    "RELOCATE_NONE RELOCATE_SOME RELOCATE_ALL": native.RELOCATIONS,
    "JOINT_ROOT JOINT_BALL JOINT_HINGE JOINT_STIFF JOINT_LOOSE": native.JOINT_KINDS,
    "SYMMETRY_NONE SYMMETRY_FOUND SYMMETRY_GIVEN": native.SYMMETRIES,
}


# ---- the mirror


@pytest.fixture(scope="module")
def c_numbers(tmp_path_factory):
    """What the C compiler says about ossify.h: sizes, offsets and constants."""
    compiler = shutil.which(os.environ.get("CC", "cc").split()[0])
    assert compiler, "the library was built without a C compiler that is here: set CC"
    prints = []
    for struct, mirror in header.STRUCTS.items():
        prints.append(f'printf("{struct} %zu\\n", sizeof({struct}));')
        for name, *_ in mirror._fields_:
            prints.append(f'printf("{struct}.{name} %zu\\n", offsetof({struct}, {name}));')
    constants = [
        "MESSAGE_LENGTH",
        "MAX_INFLUENCES",
        "MAX_BONES",
        "MAX_CORRECTIVES",
        "MAX_VIRTUAL_BONES",
        "MAX_BLENDED",
        "STAGES",
    ]
    constants += ["GIVEN_TRANSFORMS", "GIVEN_WEIGHTS", *native.Status.__members__]
    constants += " ".join(WORDS).split()
    prints += [f'printf("{name} %d\\n", (int)OSSIFY_{name});' for name in constants]
    folder = tmp_path_factory.mktemp("mirror")
    source = "#include <stddef.h>\n#include <stdio.h>\n#include <ossify.h>\nint main(void) {\n"
    (folder / "mirror.c").write_text(source + "\n".join(prints) + "\nreturn 0;\n}\n")
    program = folder / "mirror"
    include = f"-I{ROOT / 'native'}"
    subprocess.run([compiler, "-std=c11", include, str(folder / "mirror.c"), "-o", str(program)], check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return {name: int(number) for name, number in map(str.split, said.splitlines())}


@pytest.mark.parametrize("struct", header.STRUCTS)
def test_struct_has_the_fields_of_the_header(c_numbers, struct):
    mirror = header.STRUCTS[struct]
    assert ctypes.sizeof(mirror) == c_numbers[struct]
    end = 0
    for name, kind in mirror._fields_:
        assert getattr(mirror, name).offset == c_numbers[f"{struct}.{name}"] == end, name
        assert ctypes.sizeof(kind) % 8 == 0, name
        end += ctypes.sizeof(kind)
    assert end == c_numbers[struct], "a field of the header is missing"


def test_constants_are_those_of_the_header(c_numbers):
    assert header.MESSAGE_LENGTH == c_numbers["MESSAGE_LENGTH"]
    assert native.MAX_INFLUENCES == c_numbers["MAX_INFLUENCES"]
    assert native.MAX_BONES == c_numbers["MAX_BONES"]
    assert native.MAX_CORRECTIVES == c_numbers["MAX_CORRECTIVES"]
    assert native.MAX_VIRTUAL_BONES == c_numbers["MAX_VIRTUAL_BONES"]
    assert native.MAX_BLENDED == c_numbers["MAX_BLENDED"]
    assert len(native.STAGES) == c_numbers["STAGES"]
    assert header.GIVEN_TRANSFORMS == c_numbers["GIVEN_TRANSFORMS"]
    assert header.GIVEN_WEIGHTS == c_numbers["GIVEN_WEIGHTS"]
    for name, value in native.Status.__members__.items():
        assert value == c_numbers[name]


@pytest.mark.parametrize("names", WORDS)
def test_words_stand_in_the_order_of_the_header(c_numbers, names):
    for index, (name, word) in enumerate(zip(names.split(), WORDS[names], strict=True)):
        assert c_numbers[name] == index
        assert name.lower().endswith(word)


# ---- the library


def run_elsewhere(tmp_path, code, library=None, manifest=None):
    """Runs code with a copy of addon/native that stands alone."""
    shutil.copytree(Path(native.__file__).parent, tmp_path / "native")
    if manifest:
        (tmp_path / "blender_manifest.toml").write_text(manifest)
    environment = {k: v for k, v in os.environ.items() if k != "OSSIFY_LIBRARY"}
    if library:
        environment["OSSIFY_LIBRARY"] = str(library)
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)


SAY_ERROR = """
import native
try:
    native.Settings()
except native.LibraryError as error:
    print(error)
"""


def test_a_missing_library_is_explained(tmp_path):
    said = run_elsewhere(tmp_path, SAY_ERROR).stdout
    assert native.library_name() in said
    assert str(tmp_path) in said
    assert "make lib" in said


def test_a_missing_library_is_named_with_its_zip(tmp_path):
    code = f"""
import platform, sys
sys.platform, platform.machine = "darwin", lambda: "arm64"
{SAY_ERROR}"""
    said = run_elsewhere(tmp_path, code, manifest='version = "1.2.3"').stdout
    assert "libossify.dylib for macos-arm64 was not found" in said
    assert "ossify-1.2.3-macos_arm64.zip" in said


def test_a_platform_without_an_extension_is_told_so(tmp_path):
    code = f"import platform; platform.machine = lambda: 'riscv64'\n{SAY_ERROR}"
    assert "-riscv64, run `make lib`" in run_elsewhere(tmp_path, code).stdout


def test_a_named_library_that_is_not_there_is_explained(tmp_path):
    assert "/nowhere/lib.so" in run_elsewhere(tmp_path, SAY_ERROR, library="/nowhere/lib.so").stdout


def test_a_file_that_is_no_library_is_explained(tmp_path):
    (tmp_path / "broken.so").write_text("not a library")
    said = run_elsewhere(tmp_path, SAY_ERROR, library=tmp_path / "broken.so").stdout
    assert "broken.so does not load on" in said


def test_a_library_of_another_version_is_refused(tmp_path):
    manifest = 'id = "ossify"\nversion = "999.0.0"\n'
    said = run_elsewhere(tmp_path, SAY_ERROR, library=native.library_path(), manifest=manifest).stdout
    assert "999.0.0" in said
    assert native.version() in said


def test_a_library_beside_the_file_is_found(tmp_path):
    folder = native.library_path().parent
    for file in folder.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    ran = run_elsewhere(tmp_path, "import native; print(native.library_path(), native.version())")
    assert ran.stdout.split() == [str(tmp_path / native.library_name()), native.version()], ran.stderr


def test_the_version_is_the_manifest_s():
    assert f'version = "{native.version()}"' in (ROOT / "blender_manifest.toml").read_text()
