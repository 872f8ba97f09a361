"""The page on limits says how much of what strangers send is taken."""

from app.instance import scores
from app.process.connections import MOST_UNSENT_BYTES
from app.process.door import MOST_OF_AN_ADDRESS, MOST_STRANGERS
from app.process.http import MOST_HEAD_BYTES, MOST_HEADERS
from app.serving.arguments import MOST_NODES
from app.serving.body import SMALL_BYTES
from app.serving.exchange import UNKNOWN_NODE_BYTES
from app.serving.mutating import MOST_BYTES as MOST_REVIEW_BYTES
from app.serving.victims import MOST_BYTES
from extender.holds import new_hold
from extender.waiting import pods
from tests.docs.pages import DOCS, tables


def test_the_bounds_of_requests_are_those_of_the_program():
    limits = {row[0]: row[1:] for row in tables(DOCS / "limits.md", "requests")[0]}

    assert f"{MOST_NODES:,};" in limits["Candidates of a request"][0]
    assert f" {UNKNOWN_NODE_BYTES} bytes " in limits["Candidates of a request"][0]
    assert limits["Answers that are not taken, all together"][0] == mib(MOST_UNSENT_BYTES)
    handshakes = limits["Handshakes under way, on a port of HTTPS"][0]
    assert handshakes.startswith(f"{MOST_STRANGERS}, {MOST_OF_AN_ADDRESS} of one address;")
    assert limits["Headers of a request"][0].endswith(f"{MOST_HEADERS}, and 64 KiB")
    assert MOST_HEAD_BYTES == 64 * 2**10
    assert f" `/preempt` {mib(MOST_BYTES)}, of `/mutate` {mib(MOST_REVIEW_BYTES)}" in str(limits)
    assert SMALL_BYTES == 256 * 2**10
    assert "bodies of up to 256 KiB are always read" in str(limits)


def test_the_bounds_of_what_is_remembered_are_those_of_the_program():
    rows = tables(DOCS / "limits.md", "what-is-remembered")[0]
    bounds = {row[0].partition(",")[0]: row[1] for row in rows}

    assert bounds["Pods that wait"] == mib(pods.MOST_BYTES)
    assert bounds["Open holds"].startswith(f"{mib(new_hold.MOST_BYTES)};")
    assert bounds["Scores"] == mib(scores.MOST_BYTES)


def mib(size_bytes: int) -> str:
    return f"{size_bytes // 2**20} MiB"
