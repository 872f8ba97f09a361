"""What clients bring about is logged a few times in a second, and it is said how much was not."""

import pytest
import structlog

from app.logs import MOST_IN_A_SECOND, Sparing


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
def test_events_of_clients_are_bounded_for_each_name_and_second(name: str) -> None:
    log = Log()

    assert log.tell(name, 1_000) == [{"event": name}] * MOST_IN_A_SECOND
    assert len(log.tell("other.refused")) == 1
    log.now += 1
    assert log.tell(name, 2) == [
        {"event": name, "not_logged": 1_000 - MOST_IN_A_SECOND},
        {"event": name},
    ]


def test_all_other_events_are_logged() -> None:
    assert len(Log().tell("filter.answered", 1_000)) == 1_000
