"""Findings that are known and left out: what a file of `survey --ignore` says."""

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from msgspec import structs

from app.errors import InputError
from cli.catalogue import RISKS
from cli.documents import read_bytes
from cli.findings import Finding
from cli.stdin import name_of
from cli.survey.survey import Survey

_SIZE_LIMIT_BYTES = 2**20


class Ignored(msgspec.Struct, frozen=True, kw_only=True):
    """One line of such a file."""

    origin: str
    code: str
    """With `*` for any characters, as in the next one."""
    object: str

    def covers(self, finding: Finding, about: str) -> bool:
        """Whether it leaves out what a finding says of one of its objects."""
        name = about.partition(" ")[0]  # more about it is behind the name
        return fnmatchcase(finding.code, self.code) and fnmatchcase(name, self.object)

    def __str__(self) -> str:
        return f"{self.code} {self.object}".removesuffix(" *")


def read_ignored(path: Path) -> list[Ignored]:
    """Read such a file: a code, or a code and an object, in each line; `#` begins a comment.

    Raises:
        InputError: It cannot be read, or a line is something else; the text names it.
    """
    try:
        text = read_bytes(path, _SIZE_LIMIT_BYTES).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{name_of(path)} is no text: {error}") from error
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        words, origin = line.partition("#")[0].split(), f"{name_of(path)}, line {number}"
        if len(words) > 2:
            raise InputError(f"{origin}: give a code, or a code and an object, not {line.strip()}")
        if words:
            code, about = words[0], words[1] if words[1:] else "*"
            if not any(fnmatchcase(known, code) for known in RISKS):
                meant = get_close_matches(code, RISKS, 1)
                hint = f"; did you mean {meant[0]}?" if meant else "; docs/survey.md has all"
                raise InputError(f"{origin}: there is no code {code}{hint}")
            found.append(Ignored(origin=origin, code=code, object=about))
    return found


def without(found: Survey, ignored: Sequence[Ignored]) -> tuple[Survey, list[str]]:
    """Return a survey without what is ignored, and a warning for each line that ignores nothing."""
    used, left, count = set[Ignored](), list[Finding](), 0
    for finding in found.findings:
        objects = []
        for about in finding.objects:
            by = {each for each in ignored if each.covers(finding, about)}
            used |= by
            if not by:
                objects.append(about)
        gone = len(finding.objects) - len(objects)
        count += gone
        if gone and objects:
            text = f"{finding.text}; {gone} of them ignored"
            left.append(structs.replace(finding, text=text, objects=objects))
        elif not gone:
            left.append(finding)
    idle = [f"{each.origin}: {each} ignores nothing" for each in ignored if each not in used]
    return structs.replace(found, findings=tuple(left), ignored=count), idle
