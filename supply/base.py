"""The base image of the released image, pinned by digest in the Dockerfile.

`python -m supply.base` prints it, and fails while it is only a tag: then nothing is released.
`--set sha256:...` writes a digest there: `make base-image` does, with the one that the tag has now.
"""

import argparse
import re
import sys
from pathlib import Path

DOCKERFILE = Path(__file__).parents[1] / "Dockerfile"
_LINE = re.compile(r"(?m)^FROM (?P<image>[^\s@:]+:[^\s@:]+)(?:@(?P<digest>\S+))? AS pinned$")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class BaseError(Exception):
    """The base image is not pinned; the text says what to do."""


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m supply.base", description=__doc__)
    parser.add_argument("--set", metavar="DIGEST", help="write another digest into the Dockerfile")
    parser.add_argument("--tag", action="store_true", help="print the image with its tag alone")
    arguments = parser.parse_args()
    text = DOCKERFILE.read_text(encoding="utf-8")
    try:
        if arguments.set:
            DOCKERFILE.write_text(with_digest(text, arguments.set), encoding="utf-8")
        else:
            sys.stdout.write(f"{tagged(text) if arguments.tag else pinned(text)}\n")
    except BaseError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def tagged(dockerfile: str) -> str:
    """Return the image and its tag, without a digest.

    Raises:
        BaseError: No line of the text has it.
    """
    return _line(dockerfile)["image"]


def pinned(dockerfile: str) -> str:
    """Return the image with its tag and its digest.

    Raises:
        BaseError: It has none, or that is no digest.
    """
    line = _line(dockerfile)
    if not _DIGEST.fullmatch(line["digest"] or ""):
        raise BaseError(
            f"the Dockerfile does not pin {line['image']} by its digest; run `make base-image`, "
            f"and commit the Dockerfile"
        )
    return f"{line['image']}@{line['digest']}"


def with_digest(dockerfile: str, digest: str) -> str:
    """Return the text with another digest of the base image.

    Raises:
        BaseError: That is no digest, or no line of the text has the image.
    """
    if not _DIGEST.fullmatch(digest):
        raise BaseError(f"{digest[:80]!r} is no digest: sha256: and 64 hexadecimal digits")
    line = _line(dockerfile)
    pinned_line = f"FROM {line['image']}@{digest} AS pinned"
    return dockerfile[: line.start()] + pinned_line + dockerfile[line.end() :]


def _line(dockerfile: str) -> re.Match[str]:
    line = _LINE.search(dockerfile)
    if line is None:
        raise BaseError("the Dockerfile has no line `FROM IMAGE:TAG AS pinned`")
    return line


if __name__ == "__main__":
    sys.exit(main())
