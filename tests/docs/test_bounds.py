"""The pages say how much of what strangers send is taken."""

from app.serving.names import (
    MOST_CHARACTERS,
    MOST_CHARACTERS_OF_LABEL,
    MOST_CHARACTERS_OF_UID,
)
from tests.docs.pages import DOCS, tables


def test_the_lengths_of_names_are_those_of_the_program() -> None:
    [row] = [each for each in tables(DOCS / "limits.md", "requests")[0] if "uids" in each[0]]

    assert f"{MOST_CHARACTERS} characters for pods, claims and nodes" in row[1]
    assert f"{MOST_CHARACTERS_OF_LABEL} for namespaces" in row[1]
    assert f"uids of {MOST_CHARACTERS_OF_UID} printable characters" in row[1]
