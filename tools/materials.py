"""The bill of materials of an extension: python tools/materials.py ZIP OPENBLAS OUT.cdx.json

CycloneDX 1.6 as JSON, checked against its schema: what is in ZIP, by name, licence and hash, read from the
zip itself; OPENBLAS is the version of scipy-openblas32. Runs in the environment of
tools/requirements/materials.txt.
"""

import datetime
import hashlib
import io
import re
import sys
import uuid
import zipfile
from pathlib import Path

from archive import EPOCH, read
from bundled import OURS, parts_of
from cache import stop
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL


def described(name, license, kind=ComponentType.LIBRARY, data=None, **more):
    digests = [HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(data).hexdigest())] if data else []
    return Component(
        name=name, type=kind, hashes=digests, licenses=[LicenseExpression(license)], bom_ref=name, **more
    )


def shared_libraries(wheel):
    """{name: bytes} of what the wheel carries but for Python and its papers"""
    with zipfile.ZipFile(io.BytesIO(wheel)) as file:
        names = [name for name in file.namelist() if re.fullmatch(r"ossify_native/[^/]*", name)]
        return {Path(name).name: file.read(name) for name in sorted(names) if not name.endswith(".py")}


def bill(zip_file, openblas):
    data = zip_file.read_bytes()
    entries = read(zip_file)
    version = re.search(r'^version = "(.*)"', entries["blender_manifest.toml"].decode(), re.MULTILINE).group(
        1
    )
    (wheel_name,) = [name for name in entries if name.endswith(".whl")]
    application, blender = ComponentType.APPLICATION, PackageURL("generic", name="ossify", version=version)
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_OID, hashlib.sha256(data).hexdigest()))
    bom.metadata.timestamp = datetime.datetime(*EPOCH, tzinfo=datetime.timezone.utc)
    bom.metadata.component = root = described(
        "ossify", OURS, application, data, version=version, purl=blender
    )
    root.properties.add(Property(name="ossify:file", value=zip_file.name))
    wheel = described("ossify", OURS, data=entries[wheel_name], version=version)
    wheel.bom_ref.value = "ossify/wheel"
    bom.components.add(wheel)
    bom.register_dependency(root, [wheel])
    for name, library in shared_libraries(entries[wheel_name]).items():
        is_ours = "ossify" in name
        carrier = (
            described("libossify", OURS, data=library, version=version)
            if is_ours
            else described(
                "scipy-openblas32",
                "BSD-2-Clause",
                data=library,
                version=openblas,
                purl=PackageURL("pypi", name="scipy-openblas32", version=openblas),
            )
        )
        carrier.properties.add(Property(name="ossify:file", value=name))
        inside = []
        for part in parts_of(library):
            number = ".".join(openblas.split(".")[:3]) if part.name == "OpenBLAS" else None
            inside.append(described(part.name, part.license, version=number))
            inside[-1].bom_ref.value = f"{carrier.name}/{part.name}"
        for component in (carrier, *inside):
            bom.components.add(component)
        bom.register_dependency(wheel, [carrier])
        bom.register_dependency(carrier, inside)
    return bom


def main():
    if len(sys.argv) != 4:
        stop("usage: python tools/materials.py ZIP OPENBLAS OUT.cdx.json")
    zip_file, openblas, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    text = JsonV1Dot6(bill(zip_file, openblas)).output_as_string(indent=1)
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong:
        stop(f"the bill of materials of {zip_file.name} is not CycloneDX 1.6: {wrong}")
    if '"BomRef.' in text:  # made up at random where two parts have one name
        stop(f"the bill of materials of {zip_file.name} names a part as no other build would.")
    out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
