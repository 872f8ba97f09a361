"""Where messages send their readers: to pages and headings that exist."""

import re
from pathlib import Path

import pytest

from cli.catalogue import REASONS, in_words
from tests.docs.pages import PAGES, ROOT, headings, name_of

_REFERENCE = re.compile(r"docs/([a-z0-9-]+\.md)(#[a-z0-9-]+)?")
_STEP = re.compile(r"docs/install\.md, step")


def _sources() -> list[Path]:
    return sorted([*(ROOT / "app").rglob("*.py"), *(ROOT / "cli").rglob("*.py")])


def _lost(text: str) -> list[str]:
    """Return the references in a text that lead nowhere."""
    lost = []
    for page, heading in _REFERENCE.findall(text):
        path = ROOT / "docs" / page
        known = {each.anchor for each in headings(path)} if path.exists() else set()
        if not path.exists() or (heading and heading.removeprefix("#") not in known):
            lost.append(f"docs/{page}{heading}")
    return lost


def test_pages_and_headings_that_messages_name_exist():
    found = {path: _lost(path.read_text(encoding="utf-8")) for path in _sources()}

    assert {path.name: lost for path, lost in found.items() if lost} == {}


def test_messages_name_headings_and_no_numbers_of_steps():
    """The numbers of steps have changed before, and messages kept the old ones."""
    assert [path.name for path in _sources() if _STEP.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_name_headings_and_no_numbers_of_steps(page):
    assert re.findall(r"\[[Ss]teps? \d+\]\(", page.read_text("utf-8")) == []


@pytest.mark.parametrize("code", sorted(REASONS))
def test_actions_say_on_a_terminal_where_to_read_on(code):
    told = in_words(REASONS[code].action)

    assert "](" not in told
    assert told.count("(docs/") == REASONS[code].action.count("](")
    assert _lost(told) == []


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("See [Limits](limits.md).", "See Limits (docs/limits.md)."),
        ("See [That](#that-one).", "See That (docs/troubleshooting.md#that-one)."),
        ("Do it (once).", "Do it (once)."),
    ],
)
def test_a_link_becomes_its_text_and_its_page(action, told):
    assert in_words(action) == told
