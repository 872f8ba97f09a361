"""When the played kube-scheduler tries a pod again: more often, and no pod need be woken."""

import pytest

from tests.actors.api import Key
from tests.actors.scheduler.queue import Change, Entry, Queue, Rejector

EXTENDER, PLUGINS = Rejector.EXTENDER, Rejector.PLUGINS


def queue_of(*names: str) -> Queue:
    queue = Queue()
    for number, name in enumerate(names):
        queue.add(Key("default", name), name, now=number / 1000)
    return queue


def popped(queue: Queue, now: float) -> Entry:
    entry = queue.pop(now)
    assert entry is not None
    return entry


def names(queue: Queue, now: float) -> list[str]:
    """Return the pods whose turn it is, in their order."""
    return [entry.uid for entry in iter(lambda: queue.pop(now), None)]


@pytest.mark.parametrize(
    ("by", "changes"),
    [
        pytest.param(EXTENDER, {*Change}, id="extender"),
        pytest.param(PLUGINS, {Change.NODE, Change.STORAGE}, id="plugins"),
    ],
)
@pytest.mark.parametrize("change", Change)
def test_a_rejected_pod_waits_for_a_change_that_may_help(by, changes, change):
    queue = queue_of("web")
    queue.reject(popped(queue, 1), by, 1)
    assert names(queue, 200) == []

    queue.wake(change, 200)

    assert (names(queue, 200) == ["web"]) == (change in changes)


def test_a_change_during_the_attempt_counts():
    queue = queue_of("web")
    entry = popped(queue, 1)

    queue.wake(Change.POD, 1.1)
    queue.reject(entry, EXTENDER, 1.2)

    assert names(queue, 1.2) == ["web"]


def test_a_change_before_the_attempt_does_not():
    queue = queue_of("web")

    queue.wake(Change.POD, 1)
    queue.reject(popped(queue, 1), EXTENDER, 1)

    assert names(queue, 1) == []


def test_who_backs_off_comes_as_soon_as_nobody_else_is_active():
    queue = queue_of("web")
    queue.reject(popped(queue, 1), EXTENDER, 1)
    queue.wake(Change.OWN, 1.01)
    queue.add(Key("default", "new"), "new", 1.02)

    assert names(queue, 1.03) == ["new", "web"]


def test_after_errors_a_pod_backs_off_in_full_and_for_longer_each_time():
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


def test_after_five_minutes_a_pod_is_tried_without_an_event():
    queue = queue_of("web")
    queue.reject(popped(queue, 1), EXTENDER, 1)

    assert queue.pop(300.5) is None
    assert [at for at in range(301, 400) if names(queue, at)] == [331]  # looked at every 30 s


def test_an_event_can_leave_out_one_pod():
    queue = queue_of("a", "b")
    for _ in range(2):
        queue.reject(popped(queue, 1), EXTENDER, 1)

    queue.wake(Change.POD, 5, but="a")

    assert names(queue, 5) == ["b"]
