"""The pages say how much of what strangers send or pack is taken."""

from app.cli.files import FEW_VALUES, RATIO_LIMIT, VALUES_PER_BYTE
from app.serving.names import (
    MOST_CHARACTERS,
    MOST_CHARACTERS_OF_LABEL,
    MOST_CHARACTERS_OF_UID,
)
from tests.docs.pages import DOCS, tables


def text_of(page: str) -> str:
    """Return a page without its line breaks."""
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


def test_the_bounds_of_bundles_are_those_of_the_program() -> None:
    text = text_of("troubleshooting.md")

    assert f"may unpack to {RATIO_LIMIT} times its size (1 MiB in any case)" in text
    assert VALUES_PER_BYTE == 2
    assert "two values for each byte that it is packed to" in text
    assert f"({FEW_VALUES:,} in any case)" in text


def test_the_lengths_of_names_are_those_of_the_program() -> None:
    [row] = [each for each in tables(DOCS / "limits.md", "requests")[0] if "uids" in each[0]]

    assert f"{MOST_CHARACTERS} characters for pods, claims and nodes" in row[1]
    assert f"{MOST_CHARACTERS_OF_LABEL} for namespaces" in row[1]
    assert f"uids of {MOST_CHARACTERS_OF_UID} printable characters" in row[1]
