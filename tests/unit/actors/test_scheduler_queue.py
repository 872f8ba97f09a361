"""The scheduler's queue: whose turn it is, and when it comes again."""

import pytest

from tests.actors.api import Key
from tests.actors.scheduler.queue import Change, Entry, Queue, Rejector

EXTENDER, PLUGINS = Rejector.EXTENDER, Rejector.PLUGINS


def queue_of(*names: str) -> Queue:
    queue = Queue()
    for number, name in enumerate(names):
        queue.add(Key("default", name), name, now=float(number) / 1000)
    return queue


def popped(queue: Queue, now: float) -> Entry:
    entry = queue.pop(now)
    assert entry is not None
    return entry


def name_of(entry: Entry | None) -> str:
    return "" if entry is None else entry.uid


def rejected(*times: float, by: Rejector = EXTENDER) -> Queue:
    """Return a queue whose only pod was rejected at *times*, and was woken in between."""
    queue = queue_of("web")
    for at in times:
        queue.wake(Change.NODE, at)
        queue.reject(popped(queue, at), by, at)
    return queue


def test_pods_come_in_the_order_in_which_they_came() -> None:
    queue = queue_of("a", "b", "c")

    assert [name_of(queue.pop(1)) for _ in range(4)] == ["a", "b", "c", ""]


def test_a_rejected_pod_waits_for_an_event() -> None:
    queue = rejected(1)

    assert name_of(queue.pop(200)) == ""


@pytest.mark.parametrize("change", Change)
def test_anything_that_is_watched_may_help_after_the_extender(change: Change) -> None:
    queue = rejected(1)

    queue.wake(change, 100)

    assert name_of(queue.pop(100)) == "web"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(Change.NODE, "web", id="node"),
        pytest.param(Change.STORAGE, "web", id="storage"),
        pytest.param(Change.POD, "", id="pod"),
        pytest.param(Change.OWN, "", id="own"),
    ],
)
def test_what_may_help_after_plugins(change: Change, expected: str) -> None:
    queue = rejected(1, by=PLUGINS)

    queue.wake(change, 100)

    assert name_of(queue.pop(100)) == expected


def test_an_event_during_the_attempt_counts() -> None:
    queue = queue_of("web")
    entry = popped(queue, 1)

    queue.wake(Change.POD, 1.1)
    queue.reject(entry, EXTENDER, 1.2)

    assert name_of(queue.pop(1.2)) == "web"


def test_an_event_before_the_attempt_does_not() -> None:
    queue = queue_of("web")

    queue.wake(Change.POD, 1)
    queue.reject(popped(queue, 1), EXTENDER, 1)

    assert name_of(queue.pop(1)) == ""


def test_who_backs_off_comes_as_soon_as_nobody_else_is_active() -> None:
    queue = rejected(1)
    queue.wake(Change.OWN, 1.01)
    queue.add(Key("default", "new"), "new", 1.02)

    assert [name_of(queue.pop(1.03)) for _ in range(2)] == ["new", "web"]


def test_after_errors_a_pod_backs_off_in_full_and_for_longer_each_time() -> None:
    queue = queue_of("web")
    now, pauses = 0.0, []
    for _ in range(6):
        queue.fail(popped(queue, now), now)
        queue.wake(Change.NODE, now)
        ends_at = queue.next_at()
        assert ends_at is not None
        assert queue.pop(ends_at - 0.01) is None
        pauses.append(ends_at - now)
        now = ends_at

    assert pauses == [1, 2, 4, 8, 10, 10]


def test_a_rejection_ends_a_row_of_errors() -> None:
    queue = queue_of("web")
    queue.fail(popped(queue, 0), 0)
    queue.fail(popped(queue, 1), 1)
    queue.wake(Change.NODE, 3)
    queue.reject(popped(queue, 3), EXTENDER, 3)
    queue.wake(Change.NODE, 10)
    queue.fail(popped(queue, 10), 10)

    assert queue.next_at() == 11


def test_after_five_minutes_a_pod_is_tried_without_an_event() -> None:
    queue = rejected(1)

    assert queue.pop(300.5) is None
    times = [float(at) for at in range(301, 400) if name_of(queue.pop(at)) == "web"]
    assert times == [331]  # it is looked every 30 s, here at 300.5 and 330.5


def test_an_event_can_leave_out_one_pod() -> None:
    queue = queue_of("a", "b")
    for _ in range(2):
        queue.reject(popped(queue, 1), EXTENDER, 1)

    queue.wake(Change.POD, 5, but="a")

    assert [name_of(queue.pop(5)) for _ in range(2)] == ["b", ""]


def test_a_pod_that_is_gone_is_forgotten() -> None:
    queue = rejected(1)

    queue.remove("web")

    assert "web" not in queue
    assert queue.next_at() is None
