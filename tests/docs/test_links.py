"""What the documentation refers to exists: pages, headings, files, modules, targets, settings."""

import importlib.util
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from app.config import PREFIX
from app.disk_schedule.settings import ControllerSettings
from app.settings import Settings
from tests.docs.pages import DOCS, PAGES, ROOT, headings, inline_code, inlines, name_of

MADE = {"dist", "site"}
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."} - MADE
TARGETS = re.findall(
    r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE
)
SETTINGS = {
    f"{PREFIX}{field.upper()}"
    for settings in (Settings, ControllerSettings)
    for field in settings.__struct_fields__
}

every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def links(page: Path) -> list[str]:
    found = [str(token.attrs["href"]) for token in inlines(page, "link_open")]
    return [*found, *(str(token.attrs["src"]) for token in inlines(page, "image"))]


def trouble(page: Path, link: str) -> str:
    """Say what is wrong with a link, "" if nothing is."""
    if "://" in link:
        return "" if link.startswith("https://") else "no https"
    path, _, anchor = unquote(link).partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return "no such file"
    if DOCS in page.parents and DOCS not in target.resolve().parents:
        return "leads out of docs/, where the site cannot follow; give the path as code"
    if anchor and anchor not in {heading.anchor for heading in headings(target)}:
        return "no such heading"
    return ""


@every_page
def test_links_lead_somewhere(page):
    assert {link: why for link in links(page) if (why := trouble(page, link))} == {}


@every_page
def test_paths_exist(page):
    paths = {
        code for code in inline_code(page) if re.fullmatch(r"[\w.-]+(/[\w.*-]*)+", code.rstrip())
    }

    lost = [path for path in paths if path.split("/")[0] in FOLDERS and not any(ROOT.glob(path))]

    assert lost == []


@every_page
def test_modules_and_make_targets_exist(page):
    text = "\n".join(inline_code(page))

    modules = re.findall(r"^python -m ([\w.]+)", text, flags=re.MULTILINE)
    targets = re.findall(r"^make ([a-z0-9-]+)", text, flags=re.MULTILINE)

    assert [name for name in modules if importlib.util.find_spec(name) is None] == []
    assert set(targets) <= {*TARGETS}


@every_page
def test_settings_exist_and_have_the_defaults_that_are_stated(page):
    text = page.read_text(encoding="utf-8")
    units = {"": 1, "s": 1, "MiB": 2**20}

    stated = {
        name: int(number.replace(",", "")) * units[unit]
        for name, number, unit in re.findall(
            rf"`({PREFIX}\w+)`,? \(?(\d[\d,]*)(?: (s|MiB)\b| )", text
        )
    }

    assert set(re.findall(rf"\b{PREFIX}[A-Z_]+\b", text)) <= SETTINGS
    assert stated == {
        name: getattr(Settings(), name.removeprefix(PREFIX).lower()) for name in stated
    }


def test_the_links_are_found():
    assert {"docs/install.md", "LICENSE"} <= {*links(ROOT / "README.md")}
    assert {"docs", "app", "tests"} <= FOLDERS
    assert {"test", "docs"} <= {*TARGETS}
