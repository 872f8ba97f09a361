"""The version of the project, which is written in `pyproject.toml`, and what follows from it.

`python -m supply.version` prints it. `--set 1.2.3` writes another one there and wherever else it
stands: a chart cannot look into pyproject.toml, and commands in documents are to be copied.
`--notes` prints what the changelog says of it.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_VERSION = r"\d+\.\d+\.\d+"
_SOURCE = "pyproject.toml", rf'(?m)^version = "({_VERSION})"$'
_IMAGE = rf"longhorn-scheduler-extender:({_VERSION})"
PLACES = (
    _SOURCE,
    ("charts/longhorn-scheduler-extender/Chart.yaml", rf"(?m)^version: ({_VERSION})$"),
    ("charts/longhorn-scheduler-extender/Chart.yaml", rf"(?m)^appVersion: ({_VERSION})$"),
    ("charts/longhorn-scheduler-extender/Chart.yaml", _IMAGE),
    ("manifests/overlays/fixed-cluster-ip/kustomization.yaml", rf"(?m)^    newTag: ({_VERSION})$"),
    ("README.md", _IMAGE),
    ("docs/install.md", _IMAGE),
    ("docs/kube-scheduler.md", _IMAGE),
    ("docs/supply-chain.md", _IMAGE),
    ("docs/upgrade.md", _IMAGE),
)
"""Files, and what the version stands between in them."""


class VersionError(Exception):
    """A file does not say what it should; the text names it."""


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m supply.version", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--set", metavar="VERSION", help="write another version everywhere")
    what.add_argument("--notes", action="store_true", help="print its part of the changelog")
    arguments = parser.parse_args()
    try:
        if arguments.set:
            write(ROOT, arguments.set)
        elif arguments.notes:
            sys.stdout.write(notes((ROOT / "CHANGELOG.md").read_text(), version(ROOT)))
        else:
            sys.stdout.write(f"{version(ROOT)}\n")
    except VersionError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def version(root: Path) -> str:
    """Return the version.

    Raises:
        VersionError: pyproject.toml has none.
    """
    [found] = {*found_in(root, *_SOURCE)}
    return found


def found_in(root: Path, file: str, pattern: str) -> list[str]:
    """Return every version that stands at one of the places.

    Raises:
        VersionError: None does.
    """
    found = re.findall(pattern, (root / file).read_text())
    if not found:
        raise VersionError(f"{file} has no version where {pattern!r} finds it")
    return found


def write(root: Path, version: str) -> None:
    """Write another version to all places.

    Raises:
        VersionError: It is not three numbers, or a place has no version; nothing is written.
    """
    if not re.fullmatch(_VERSION, version):
        raise VersionError(f"{version!r} is not a version: three numbers with dots between them")
    for place in PLACES:
        found_in(root, *place)
    for file, pattern in PLACES:
        path = root / file
        path.write_text(re.sub(pattern, lambda m: m[0].replace(m[1], version), path.read_text()))


def notes(changelog: str, version: str) -> str:
    """Return what a changelog says of a version, without its heading.

    Raises:
        VersionError: It says nothing.
    """
    found = re.search(rf"(?ms)^## {re.escape(version)}\b[^\n]*\n+(.*?)(?=^## |\Z)", changelog)
    if not found or not found[1].strip():
        raise VersionError(f"CHANGELOG.md has no part for {version}")
    return found[1].rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
