"""What clients bring about is logged a few times in a second; a full disk costs lines alone."""

from errno import ENOSPC

import pytest
import structlog

from app.logs import MOST_IN_A_SECOND, Lines, Sparing


class Log:
    """What got through, at a time that is set."""

    def __init__(self) -> None:
        self.now, self._sparing = 100.0, Sparing(lambda: self.now)

    def tell(self, event: str, times: int = 1) -> list[dict[str, object]]:
        passed = []
        for _ in range(times):
            try:
                passed.append(dict(self._sparing(None, "warning", {"event": event})))
            except structlog.DropEvent:
                continue
        return passed


@pytest.mark.parametrize("name", ["http.refused", "tls.refused", "tls.not_named", "filter.refused"])
def test_events_of_clients_are_bounded_for_each_name_and_second(name):
    log = Log()

    assert log.tell(name, 1_000) == [{"event": name}] * MOST_IN_A_SECOND
    assert len(log.tell("other.refused")) == 1
    log.now += 1
    assert log.tell(name, 2) == [
        {"event": name, "not_logged": 1_000 - MOST_IN_A_SECOND},
        {"event": name},
    ]


def test_all_other_events_are_logged():
    assert len(Log().tell("filter.answered", 1_000)) == 1_000


class Disk:
    """A file on a disk of some bytes."""

    def __init__(self, room: int) -> None:
        self.room, self.content = room, b""

    def write(self, data: bytes) -> int:
        if not self.room:
            raise OSError(ENOSPC, "No space left on device")
        written = data[: self.room]
        self.room -= len(written)
        self.content += written
        return len(written)


@pytest.mark.parametrize(
    ("room", "torn"),
    [pytest.param(6, b"", id="between lines"), pytest.param(9, b"two\n", id="in a line")],
)
def test_full_disk_costs_lines_and_their_number_is_told(room, torn):
    disk = Disk(room)
    lines = Lines(disk.write)
    for line in (b"first\n", b"two\n", "three\n"):
        lines.write(line)
    assert disk.content == (b"first\n" + torn)[:room]

    disk.room = 1_000
    lines.write(b"four\n")
    lines.write(b"five\n")

    lost = b'{"event":"log.lost","lines":2}\nfour\nfive\n'
    assert disk.content == b"first\n" + (torn and b"two\n") + lost


def test_whole_lines_are_written_in_pieces_where_the_file_takes_no_more():
    content: list[bytes] = []

    def write(data: bytes) -> int:
        content.append(data[:2])
        return len(content[-1])

    Lines(write).write("first\n")
    assert b"".join(content) == b"first\n"
