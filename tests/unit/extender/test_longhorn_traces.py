"""What is due, and the forecast of it, against recorded runs of Longhorn's own controllers.

Each event is applied to the live view, and the forecast is kept up to date as in the service.
Whenever Longhorn gives a replica its disk, that replica must have been due just before, and no
longer just after: nothing is missing, nothing counts twice. What stays due and is not placed must
be what finds no room.
"""

import math
from collections import Counter

import pytest

from app.kube.longhorn.resources import NODES, REPLICAS, VOLUMES
from cli.kube.decoding import read_object
from extender import Extender, ViewBuilder
from extender.demand.requests import NOBODY
from extender.upcoming.forecast import Forecast
from longhorn import Node, Replica, Volume, VolumeName
from tests import traces
from tests.builders import GENEROUS

RESOURCES = {resource.kind: resource for resource in (NODES, VOLUMES, REPLICAS)}
RETRY_SECONDS = 31.0
"""Longhorn tries again to place a replica at least every 30 s."""
Record = Node | Volume | Replica


class Live:
    """A live view, and what it says is due."""

    def __init__(self) -> None:
        self.builder = ViewBuilder()
        self._extender = Extender(GENEROUS)
        self._known: dict[tuple[str, str], Record] = {}

    def apply(self, event: traces.Event) -> tuple[Record | None, Record | None]:
        """Apply an event; return what the object was, and what it is."""
        key = (event.kind, event.name)
        old = self._known.pop(key, None)
        new = None
        if event.event != "DELETED":
            api_version = RESOURCES[event.kind].api_version
            read = read_object({**event.object, "apiVersion": api_version, "kind": event.kind})
            assert isinstance(read, Record)
            new = self._known[key] = read
        self.builder.apply(old, new)
        self.builder.settle()
        return old, new

    def due(self, volume: VolumeName) -> int:
        """Return how many replicas of a volume will be placed, wherever."""
        view = self.builder.view
        due = view.due.get(volume)
        pinned = sum(
            replica.node is None and replica.hard_node_affinity is not None
            for replica in view.replicas.get(volume, ())
        )
        return pinned + (0 if due is None else due.anywhere + (due.on_node is not None))

    def forecast(self) -> Forecast:
        """Return where what is due finds room."""
        return self._extender.situation(NOBODY, self.builder.view).book.forecast


def events(name: str) -> list[traces.Event]:
    """Return the events of Longhorn's kinds as they were written: watches are not in step.

    A run ends with its clean-up, which is left out: it begins when volumes are deleted.
    """
    found = [
        event
        for event in traces.read(name)
        if isinstance(event, traces.Event) and event.kind in RESOURCES
    ]
    volumes = [event for event in found if event.kind == "Volume"]
    complete = max(event.at for event in volumes if event.event == "ADDED")
    gone = (event.at for event in volumes if event.at > complete and is_gone(event))
    until = min(gone, default=math.inf)
    found.sort(key=lambda each: int(each.object["metadata"]["resourceVersion"]))
    return [event for event in found if event.at < until]


def is_gone(event: traces.Event) -> bool:
    return event.event == "DELETED" or bool(event.object["metadata"].get("deletionTimestamp"))


@pytest.mark.parametrize("name", traces.names())
def test_what_longhorn_places_was_due_and_counts_once(name, summarise):
    live = Live()
    right: Counter[bool] = Counter()
    for event in events(name):
        volume = VolumeName(event.object["spec"].get("volumeName", ""))
        before = live.due(volume)
        guess = None
        if event.kind == "Replica" and before:
            guess = live.forecast()
        old, new = live.apply(event)
        if not (isinstance(old, Replica) and isinstance(new, Replica)):
            continue
        if old.disk is None and new.disk is not None:
            assert before > 0, (event.at, new.name)
            assert live.due(volume) == before - 1, (event.at, new.name)
            if guess is not None and new.node is not None and new.hard_node_affinity is None:
                there = guess.on.get(new.node, ())
                right[any(each.volume.name == volume for each in there)] += 1
    if right:
        summarise(f"forecast, {name}: node right in {right[True]} of {right.total()}")


@pytest.mark.parametrize("name", traces.names())
def test_what_is_charged_is_placed_soon(name):
    """What finds room is placed when Longhorn tries again; what finds none is not charged."""
    live = Live()
    since: dict[VolumeName, float] = {}
    for event in events(name):
        live.apply(event)
        remotes = [each for there in live.forecast().on.values() for each in there]
        charged = {each.volume.name for each in remotes}
        since = {volume: since.get(volume, event.at) for volume in charged}

        late = {volume: at for volume, at in since.items() if event.at - at > RETRY_SECONDS}
        assert not late, event.at
