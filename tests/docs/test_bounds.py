"""The pages say how much of what strangers send or pack is taken."""

from app.instance import scores
from app.instance.trust import MOST_CREDIT
from app.instance.vouching import MOST_UNFOUND
from app.process.connections import MOST_UNSENT_BYTES
from app.serving import mutating
from app.serving.arguments import MOST_NODES, MOST_POD_BYTES
from app.serving.body import SMALL_BYTES
from app.serving.exchange import UNKNOWN_NODE_BYTES
from app.serving.names import (
    MOST_CHARACTERS,
    MOST_CHARACTERS_OF_LABEL,
    MOST_CHARACTERS_OF_UID,
    MOST_VOLUMES,
)
from cli.bundles import FEW_VALUES, RATIO_LIMIT, VALUES_PER_BYTE
from extender.holds import size
from extender.waiting import pods
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


def test_the_bounds_of_requests_are_those_of_the_program() -> None:
    limits = {row[0]: row[1:] for row in tables(DOCS / "limits.md", "requests")[0]}

    assert f"{MOST_NODES:,};" in limits["Candidates of a request"][0]
    assert f" {UNKNOWN_NODE_BYTES} bytes " in limits["Candidates of a request"][0]
    assert mib(MOST_POD_BYTES) in limits["The pod of a request"][0]
    assert f"{MOST_VOLUMES:,} volumes" in limits["The pod of a request"][0]
    assert limits["A review of `/mutate`"][0] == mib(mutating.MOST_BYTES)
    assert limits["Answers that are not taken, all together"][0] == mib(MOST_UNSENT_BYTES)
    assert SMALL_BYTES == 256 * 2**10
    assert "bodies of up to 256 KiB are always read" in str(limits)


def test_the_bounds_of_what_is_remembered_are_those_of_the_program() -> None:
    rows = tables(DOCS / "limits.md", "what-is-remembered")[0]
    bounds = {row[0].partition(",")[0]: row[1] for row in rows}

    assert bounds["Pods that wait"] == mib(pods.MOST_BYTES)
    assert bounds["Open holds"].startswith(f"{mib(size.MOST_BYTES)};")
    assert bounds["Scores"] == mib(scores.MOST_BYTES)
    assert bounds["Pods that are looked up after their answer"] == (
        f"{MOST_UNFOUND:,}; at most {MOST_CREDIT} for each client"
    )


def mib(size_bytes: int) -> str:
    return f"{size_bytes // 2**20} MiB"
