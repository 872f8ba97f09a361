"""What the page on security says of a caller is tried: each point names its tests, in a comment."""

import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import DOCS, ROOT

PAGE = (DOCS / "security.md").read_text(encoding="utf-8")
CHAPTERS = dict(re.findall(r"^## (.*)\n(.*(?:\n(?!## ).*)*)", PAGE, flags=re.MULTILINE))
OF_CALLERS = [
    title for title in CHAPTERS if title.startswith("What ") and title.endswith(" can do")
]


def points(chapter: str) -> list[str]:
    """Return the items of the lists of a chapter."""
    return re.findall(r"^- .*(?:\n  .*)*", CHAPTERS[chapter], flags=re.MULTILINE)


def named_tests(text: str) -> Iterator[tuple[str, str]]:
    """Go through the tests that are named in comments, each with its file."""
    for comment in re.findall(r"<!--(.*?)-->", text, flags=re.DOTALL):
        for part in comment.split(";"):
            file, names = part.split(":")
            for name in names.split(","):
                yield file.strip(), name.strip()


@pytest.mark.parametrize("chapter", OF_CALLERS)
def test_each_point_names_tests(chapter: str) -> None:
    assert [point for point in points(chapter) if not [*named_tests(point)]] == []


def test_the_tests_that_are_named_are_there() -> None:
    named = {*named_tests(PAGE)}

    assert [
        (file, name)
        for file, name in sorted(named)
        if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ] == []


def test_the_chapters_and_their_points_are_found() -> None:
    """Or the others would tell nothing."""
    assert len(OF_CALLERS) > 3
    assert sum(len(points(chapter)) for chapter in OF_CALLERS) == len(
        re.findall(
            r"^- \S", "".join(CHAPTERS[chapter] for chapter in OF_CALLERS), flags=re.MULTILINE
        )
    )
