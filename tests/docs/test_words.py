"""Pages stay short: as many words as a reader has the patience for, and no more."""

import re

from tests.docs.pages import DOCS, ROOT

README_WORDS = 900
"""All of it, code and tables too."""
PROSE_WORDS = 30_000
"""What is read from top to bottom: the pages but for code, tables and the records of decisions."""
_CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"[A-Za-z][\w'-]*")


def prose_words(text: str) -> int:
    lines = _CODE.sub("", text).splitlines()
    return sum(len(_WORD.findall(line)) for line in lines if not line.lstrip().startswith("|"))


def test_readme_is_read_in_some_minutes():
    assert len((ROOT / "README.md").read_text().split()) <= README_WORDS


def test_prose_of_all_pages_is_bounded():
    pages = [*DOCS.glob("*.md")]
    words = {page.name: prose_words(page.read_text()) for page in pages}

    assert len(pages) > 40
    assert sum(words.values()) <= PROSE_WORDS, sorted(words.items(), key=lambda each: -each[1])


def test_words_are_those_outside_of_code_and_tables():
    text = "Two words\n\n```sh\nmake test\n```\n\n| a | b |\n|---|---|\n\nand three more\n"

    assert prose_words(text) == 5
