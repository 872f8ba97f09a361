"""Works out figures for days to come, now and then and in pieces; a scrape reads the last ones.

Only the leader does: it alone knows what is held, and a standby need not keep up to date what else
will take room. Pieces are short, and pauses between them long, so that no request waits for two.
"""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime
from typing import NoReturn

from app.instance.figures import Ahead
from extender import (
    LONGHORN_PROVISIONERS,
    ClusterView,
    Extender,
    Mode,
    PodRequest,
    Situation,
    StorageClass,
)
from extender.ahead.largest import largest
from extender.ahead.losses import may_be_lost
from extender.ahead.pieces import Found, Pieces
from extender.ahead.room import Left, NodeClass, Room, room

PERIOD_SECONDS = 60.0
"""Between two rounds: twice the interval of scrapes."""
PAUSE_SECONDS = 0.02
"""Between two pieces."""
MOST_STORAGE_CLASSES, MOST_CLASSES = 20, 100
"""So many StorageClasses, and so many classes of disks, have series of their own. What finds room
for volumes keeps nodes in order for 32 sorts of them: most are left to what pods ask for."""
_OTHERS = NodeClass(*["other"] * 4)


class LookingAhead:
    """Works out the figures.

    Args:
        extender: Knows the holds, and what else will take room.
        current_view: Returns the cluster as it is known now.
        is_leading: Whether this instance leads and knows all holds.
        clock: Monotonic seconds.
        wall_clock: UTC.

    Attributes:
        figures: What was found last; None before, and on a standby.
    """

    def __init__(
        self,
        extender: Extender,
        current_view: Callable[[], ClusterView],
        *,
        is_leading: Callable[[], bool],
        clock: Callable[[], float],
        wall_clock: Callable[[], datetime],
    ) -> None:
        self.figures: Ahead | None = None
        self._extender = extender
        self._current_view = current_view
        self._is_leading = is_leading
        self._clock = clock
        self._wall_clock = wall_clock
        self._begun = asyncio.Event()
        self._seconds = 0.0

    def begin(self) -> None:
        """Work them out now: the instance has begun to lead."""
        self._begun.set()

    def forget(self) -> None:
        """Show none any more: another instance leads."""
        self.figures = None

    async def run(self) -> NoReturn:
        """Work out the figures again and again, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PERIOD_SECONDS):
                    await self._begun.wait()
            self._begun.clear()
            if self._is_leading():
                await self._look()

    async def _look(self) -> None:
        self._seconds = 0.0
        left = await self._in_pieces(room(self._current_view))
        by_data = await self._in_pieces(may_be_lost(self._current_view))
        by_class = await self._largest()
        if self._is_leading():
            self.figures = Ahead(
                by_class,
                bounded(left.by_class),
                _lost(left, by_data),
                self._seconds,
            )

    async def _largest(self) -> dict[str, int]:
        """Return the largest volume of each class; as before where nobody can say at the moment."""
        found: dict[str, int] = {}
        before = {} if self.figures is None else self.figures.largest_bytes
        for class_ in _classes(self._current_view()):
            ledger = self._extender.ledger
            # In this mode no pod gets a node while another one has not got its own.
            if ledger.mode is Mode.NODE and ledger.is_choosing():
                if class_.name in before:
                    found[class_.name] = before[class_.name]
                continue
            pieces = largest(class_, self._current_view, self._situate)
            found[class_.name] = (await self._in_pieces(pieces)).largest_bytes
        return found

    async def _in_pieces(self, pieces: Pieces[Found]) -> Found:
        """Go through all pieces, and give way after each."""
        while True:
            began = self._clock()
            try:
                if self._extender.catch_up(self._current_view(), self._clock(), self._wall_clock()):
                    next(pieces)
            except StopIteration as end:
                found: Found = end.value
                return found
            finally:
                self._seconds += self._clock() - began
            await asyncio.sleep(PAUSE_SECONDS)

    def _situate(self, request: PodRequest) -> Situation:
        return self._extender.situation(
            request, self._current_view(), self._clock(), self._wall_clock()
        )


def _classes(view: ClusterView) -> list[StorageClass]:
    """Return the StorageClasses of Longhorn, the first of them by name."""
    found = sorted(view.storage_classes.items())
    of_longhorn = [each for _, each in found if each.provisioner in LONGHORN_PROVISIONERS]
    return of_longhorn[:MOST_STORAGE_CLASSES]


def bounded(by_class: dict[NodeClass, Left]) -> dict[NodeClass, Left]:
    """Return the classes with the highest limits, and one that sums up the others."""
    ranked = sorted(by_class.items(), key=lambda each: (-each[1].limit_bytes, each[0]))
    if len(ranked) <= MOST_CLASSES:
        return dict(ranked)
    rest = Left()
    for _, left in ranked[MOST_CLASSES - 1 :]:
        rest = rest.plus(left)
    return {**dict(ranked[: MOST_CLASSES - 1]), _OTHERS: rest}


def _lost(left: Room, by_data: int) -> dict[str, int]:
    """Return how many nodes may be lost; nothing where there is no node."""
    if not left.by_class and not left.nodes_with_room:
        return {}
    return {"data": by_data, "room": left.nodes_with_room}
