"""The page's text: what a browser makes of it is in tests/page/."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from app.page.page import closing, more_nodes, opening, page
from planner.picture import NodeReport, Picture, StepReport

NAMES = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "&lt;b&gt; & <b>",
    "a\u2028b\u2029c",
    "\u202egnp.exe\u202c",
    'quote " and \\ and $script $data ${style}',
    "\x00\x1b[31m\x7f",
]
every_name = pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))


class Parsed(HTMLParser):
    """Scripts, styles and metas of a page, as a browser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.contents: dict[str, list[str]] = {"script": [], "style": []}
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        if tag in self.contents:
            self.contents[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open:
            self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in self.contents:
            self.contents[self._open][-1] += data

    @property
    def policy(self) -> dict[str, str]:
        """The Content-Security-Policy, by directive."""
        [content] = [
            attrs["content"] or ""
            for tag, attrs in self.tags
            if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
        ]
        parts = (each.strip().partition(" ") for each in content.split(";"))
        return {name: sources for name, _, sources in parts}


def report(name: str, *nodes: NodeReport) -> Picture:
    now = StepReport(title=name, nodes=nodes)
    return Picture(is_plan=True, origin=name, steps=(now,))


@every_name
def test_no_name_ends_the_data_or_begins_markup(name):
    plain, parsed = Parsed(page(report("name"))), Parsed(page(report(name)))

    assert [tag for tag, _ in parsed.tags] == [tag for tag, _ in plain.tags]
    data, script = parsed.contents["script"]
    assert json.loads(data)["origin"] == name
    assert script == plain.contents["script"][1]
    assert not re.search("[<>&\u2028\u2029]", data)


@every_name
def test_no_name_of_a_later_node_does_so_either(name):
    parsed = Parsed(opening(report("now")) + more_nodes([NodeReport(name=name)]) + closing())

    assert [json.loads(data) for data in parsed.contents["script"][1:-1]] == [[{"name": name}]]


def test_only_its_own_script_and_style_may_run():
    parsed = Parsed(page(report("name")))

    def digest(content: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    assert parsed.policy == {
        "default-src": "'none'",
        "style-src": digest(parsed.contents["style"][0]),
        "script-src": digest(parsed.contents["script"][1]),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_nothing_in_it_names_another_place():
    text = page(report("name"))

    assert "://" not in text
    assert [attrs["href"] for _, attrs in Parsed(text).tags if "href" in attrs] == ["data:,"]
    assert [attrs["src"] for _, attrs in Parsed(text).tags if "src" in attrs] == []


def test_its_script_makes_no_markup_of_texts():
    script = Parsed(page(report("name"))).contents["script"][1]

    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)
