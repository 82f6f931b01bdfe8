"""Where things are in an unpacked scipy-openblas32, as make variables."""

from cache import stop

SHARED = (".so", ".dylib", ".dll")


def openblas_lines(package):
    """OpenBLAS as make variables: `package` is the folder of scipy_openblas32, for any platform."""
    folders = [package / "lib", package / ".dylibs", package.with_name(package.name + ".libs")]
    files = [file for place in folders if place.is_dir() for file in sorted(place.iterdir())]
    shared = [file for file in files if file.suffix in SHARED or ".so." in file.name]
    # On Windows an import library stands beside the .dll; elsewhere the library itself is linked.
    linked = [file for file in files if file.suffix == ".lib"] or [
        file for file in shared if file.parent.name == "lib"
    ]
    licenses = sorted(package.parent.glob("scipy_openblas32-*.dist-info/licenses/LICENSE*"))
    if len(linked) != 1 or len(licenses) != 1:
        stop(f"{package} holds no OpenBLAS as known so far.")
    spaced = [str(file) for file in shared if " " in str(file)]
    if spaced:
        stop(f"make cannot use paths with spaces ({spaced[0]}); set XDG_CACHE_HOME to a folder without.")
    yield f"OPENBLAS_INCLUDE := {(package / 'include').as_posix()}"
    yield f"OPENBLAS_LINK := {linked[0].as_posix()}"
    yield "OPENBLAS_FILES := " + " ".join(file.as_posix() for file in shared)
    yield f"OPENBLAS_LICENSE := {licenses[0].as_posix()}"
