"""What others wrote of what a wheel carries, and its licences.

Each part is known by a mark in the shared libraries themselves, so that nothing is listed that is not there,
and nothing is there that is not listed. OpenBLAS is built by others, with GCC's Fortran on Linux, macOS and
Windows for x86-64 and with LLVM's on Windows for arm64; mingw-w64 is in what runs on Windows. libquadmath,
which usually comes with GCC's Fortran, was in none of them: its powers of ten would be seen.
"""

import hashlib
import re
from typing import NamedTuple

from cache import ROOT

TEXTS = ROOT / "licenses"
OURS = "GPL-3.0-or-later"


class Part(NamedTuple):
    name: str
    license: str  # by SPDX's names
    text: str  # in licenses/; empty: none is there, and what holds it cannot be shipped
    mark: re.Pattern


def _part(name, license, text, mark):
    return Part(name, license, text, re.compile(mark, re.DOTALL))


_TENS = (10**512).to_bytes(214, "little").strip(b"\0")  # as libquadmath prints and reads by

PARTS = (
    _part(
        "OpenBLAS",
        "BSD-3-Clause",
        "OpenBLAS.txt",
        rb"scipy_cblas_dgemm.*OpenBLAS|OpenBLAS.*scipy_cblas_dgemm",
    ),
    _part("LAPACK", "BSD-3-Clause-Open-MPI", "LAPACK.txt", rb"DPOTRF"),
    _part("openblas-libs", "BSD-2-Clause", "openblas-libs.txt", rb"DPOTRF"),  # who packs OpenBLAS
    _part(
        "GCC runtime library",
        "GPL-3.0-or-later WITH GCC-exception-3.1",
        "GCC-runtime.txt",
        rb"GCC: \(GNU\)|libgcc\.a\(|/libgfortran/",
    ),
    _part(
        "LLVM Fortran runtime", "Apache-2.0 WITH LLVM-exception", "LLVM.txt", rb"[\\/]flang[\\/]runtime[\\/]"
    ),
    _part("mingw-w64", "ZPL-2.1 AND MIT AND BSD-3-Clause", "mingw-w64.txt", rb"Mingw-w64 runtime failure"),
    _part("Zig's compiler runtime", "MIT", "zig.txt", rb"ossify_decompose"),  # it compiles libossify
    _part("fdlibm", "SunPro", "fdlibm.txt", rb"ossify_decompose"),  # math/elementary.c follows it
    _part("libquadmath", "LGPL-2.1-or-later", "", re.escape(_TENS)),
)

# What scipy-openblas32 itself says about its licences; another text must be read by somebody.
READ = {
    "ae4ffec9674aa3bb78512489f8fb89a7ebe5dfc0e138e22e8603cb0f82ce3254",  # Linux, macOS
    "7317b3a9eb806cc83a0cc6b1c7c2fbe6018eed556daa9996e6e3a727a2a5bfbe",  # Windows for x86-64
    "f91d56c46132504271b8d63395c92ce7f40b6b9a9947fae859ca06aa3793adae",  # Windows for arm64: the packer's own
}


def parts_of(data):
    """The parts in one shared library."""
    return [part for part in PARTS if part.mark.search(data)]


def parts_of_all(files):
    """{part: the names of the files it is in}; files: {name: bytes}"""
    return {
        part: names
        for part in PARTS
        if (names := [name for name, data in files.items() if part.mark.search(data)])
    }


def trouble(found, notice):
    """A sentence about a licence that nobody has looked at; None when all is well."""
    missing = [part for part in found if not part.text]
    if missing:
        where = " and ".join(found[missing[0]])
        return (
            f"{where} holds {missing[0].name} ({missing[0].license}), whose licence is not in licenses/: put"
            " its text there and name it in tools/bundled.py."
        )
    if not any(part.name == "OpenBLAS" for part in found):
        return "there is no OpenBLAS in it as known so far (tools/bundled.py)."
    if hashlib.sha256(notice).hexdigest() not in READ:
        return "scipy-openblas32 has other licences: read them, and renew licenses/ and tools/bundled.py."
    return None


def expression(found):
    """All licences, ours first, as one expression of SPDX."""
    alone = dict.fromkeys([OURS, *(part.license for part in found)])
    return " AND ".join(f"({name})" if " AND " in name else name for name in alone)
