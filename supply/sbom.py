"""Cut a CycloneDX list of an environment down to what a lock file names, and add its hashes.

`python -m supply.sbom ENVIRONMENT LOCK OUTPUT` reads what `cyclonedx-py environment` found, and the
requirements with hashes that it was installed from. Both are needed: an environment knows licences
and dependencies and no hashes, a lock file the opposite.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

Json = dict[str, Any]


class SbomError(Exception):
    """The list would not be true."""


class Pin(NamedTuple):
    """A release that a lock file names, and the SHA-256 of each file of it that pip accepts."""

    name: NormalizedName
    version: str
    hashes: tuple[str, ...]


def pins(lock: str) -> Iterator[Pin]:
    """Yield the requirements of a lock file that hold for this interpreter and platform."""
    for entry in re.findall(r"^[^\s#].*(?:\n\s+--hash.*)*", lock, flags=re.MULTILINE):
        requirement = Requirement(entry.split("\n")[0].rstrip(" \\"))
        if requirement.marker is None or requirement.marker.evaluate():
            yield Pin(
                canonicalize_name(requirement.name),
                str(requirement.specifier).removeprefix("=="),
                tuple(re.findall(r"--hash=sha256:(\w+)", entry)),
            )


def cut_down(environment: Json, lock: str) -> Json:
    """Return the list of what the lock file names, as it is installed.

    Raises:
        SbomError: Something of the lock file is not installed, or in another version.
    """
    pinned = {pin.name: pin for pin in pins(lock)}
    components = [
        _with_hashes(component, pinned[name])
        for component in environment["components"]
        if (name := canonicalize_name(component["name"])) in pinned
    ]
    installed = {
        canonicalize_name(component["name"]): component["version"] for component in components
    }
    for pin in pinned.values():
        if installed.get(pin.name) != pin.version:
            found = installed.get(pin.name, "not there")
            raise SbomError(f"{pin.name} {pin.version} is in the lock file; installed: {found}")
    return environment | {
        "components": components,
        "dependencies": _among(components, environment),
    }


def invalid(sbom: str) -> str | None:
    """Say what the schema of CycloneDX has against the document; None if nothing."""
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sbom)
    return None if error is None else str(error)


def _with_hashes(component: Json, pin: Pin) -> Json:
    """Add the hashes of the files that a release consists of.

    They are one entry of their own, as a component's own hashes would have to be those of one file.
    The place is the release's package URL rather than an index, since any index will do.
    """
    files = {
        "type": "distribution",
        "url": component["purl"],
        "comment": "one of these files was installed",
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in pin.hashes],
    }
    return component | {"externalReferences": [*component.get("externalReferences", []), files]}


def _among(components: list[Json], environment: Json) -> list[Json]:
    """Return what these and the main component depend on, as far as that is one of these."""
    refs = {component["bom-ref"] for component in components}
    root = environment["metadata"]["component"]["bom-ref"]
    return [
        {
            "ref": entry["ref"],
            "dependsOn": [ref for ref in entry.get("dependsOn", ()) if ref in refs],
        }
        for entry in environment["dependencies"]
        if entry["ref"] in refs | {root}
    ]


def main(environment: str, lock: str, output: str) -> None:
    """Read the first two files, write the third."""
    try:
        found = json.loads(Path(environment).read_text(encoding="utf-8"))
        sbom = cut_down(found, Path(lock).read_text(encoding="utf-8"))
    except SbomError as error:
        sys.exit(f"sbom: {error}")
    text = json.dumps(sbom, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if problem := invalid(text):
        sys.exit(f"sbom: not valid CycloneDX: {problem}")
    Path(output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
