"""What the page on security says of a caller is tried: each point has its tests."""

import re

import pytest
import yaml

from tests.docs.pages import DOCS, ROOT

POINTS = yaml.safe_load((ROOT / "tests/docs/security_points.yaml").read_text(encoding="utf-8"))
PAGE = (DOCS / "security.md").read_text(encoding="utf-8")
CHAPTERS = dict(re.findall(r"^## (.*)\n(.*(?:\n(?!## ).*)*)", PAGE, flags=re.MULTILINE))
OF_CALLERS = [
    title for title in CHAPTERS if title.startswith("What ") and title.endswith(" can do")
]


def points(chapter: str) -> list[str]:
    """Return the items of the lists of a chapter."""
    return re.findall(r"^- .*(?:\n  .*)*", CHAPTERS[chapter], flags=re.MULTILINE)


def in_bold(text: str) -> list[str]:
    return re.findall(r"\*\*(.*?)\*\*", " ".join(text.split()))


@pytest.mark.parametrize("chapter", OF_CALLERS)
def test_each_point_has_tests(chapter):
    assert [point for point in points(chapter) if not {*in_bold(point)} & POINTS.keys()] == []


def test_what_has_tests_stands_on_the_page():
    assert POINTS.keys() - {*in_bold(PAGE)} - CHAPTERS.keys() == set()


def test_the_tests_that_are_named_are_there():
    named = [each.split("::") for tests in POINTS.values() for each in tests]

    assert [
        (file, name)
        for file, name in named
        if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ] == []


def test_the_chapters_and_their_points_are_found():
    """Or the others would tell nothing."""
    assert len(OF_CALLERS) > 3
    assert sum(len(points(chapter)) for chapter in OF_CALLERS) > 15
