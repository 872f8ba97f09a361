"""`make docs` builds a site that is whole and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.pages import DOCS, ROOT, tokens

PAGES = sorted(DOCS.rglob("*.md"))
SHOWN = {
    "table": "table_open",
    "ol": "ordered_list_open",
    "ul": "bullet_list_open",
    "li": "list_item_open",
    "pre": ("fence", "code_block"),
}


class Site(NamedTuple):
    """The site as it was built, and what was complained about."""

    folder: Path
    warnings: list[str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return Site(folder, re.findall(r"^WARNING.*(?:\n  - .*)*", done.stderr, flags=re.MULTILINE))


def article(site: Site, page: Path) -> str:
    """Return a page's text in HTML, without what is around it."""
    html = (site.folder / page.relative_to(DOCS)).with_suffix(".html").read_text(encoding="utf-8")
    return html.partition("<article")[2].partition("</article>")[0]


def test_pages_and_links_are_whole(site):
    assert site.warnings == []


def test_nothing_is_loaded_from_elsewhere(site):
    loaded = r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?((?:https?:)?//[^\"\s>]+)"

    found = {
        (path.name, address)
        for path in site.folder.rglob("*.html")
        for address in re.findall(loaded, path.read_text(encoding="utf-8"))
    }
    styles = {
        (path.name, address)
        for path in site.folder.rglob("*.css")
        for address in re.findall(
            r"url\([\"']?((?:https?:)?//[^)]+)", path.read_text(encoding="utf-8")
        )
    }

    assert (found, styles) == (set(), set())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_pages_look_as_in_a_repository_browser(site, page):
    """Markdown has dialects: a list without a line before it is none in this one.

    And one with blocks of code that are indented by less than four spaces is several, each from 1.
    """
    html = article(site, page)

    shown = {tag: len(re.findall(rf"<{tag}\b", html)) for tag in SHOWN}

    assert shown == {
        tag: len([token for token in tokens(page) if token.type in kinds])
        for tag, kinds in SHOWN.items()
    }


def test_my_pod_is_pending_is_one_click_away(site):
    pages = [path for path in site.folder.rglob("*.html") if path.name != "404.html"]

    lost = [path.name for path in pages if "troubleshooting.html" not in path.read_text("utf-8")]

    assert lost == ["troubleshooting.html"] or lost == []
