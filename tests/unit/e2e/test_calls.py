"""Recorded calls are read back, also while the last one is being written."""

from pathlib import Path

import msgspec
import pytest

from tests.e2e.calls import Call, read_calls

FIRST = Call(at=1.5, seconds=0.25, pod="shop/db-0", rejected={"node-1": "no room"})
SECOND = Call(at=2.5, seconds=0.5, error="refused")
LINES = msgspec.json.encode(FIRST) + b"\n" + msgspec.json.encode(SECOND) + b"\n"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(b"", [], id="nothing"),
        pytest.param(LINES, [FIRST, SECOND], id="whole"),
        pytest.param(LINES[:-1], [FIRST], id="all-but-the-end-of-a-line"),
        pytest.param(LINES[:-30], [FIRST], id="half-a-line"),
    ],
)
def test_whole_lines_are_read(tmp_path: Path, written: bytes, expected: list[Call]) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(written)

    assert read_calls(path) == expected
