"""What one observation changes in holds, for the log, the metrics, and pods that wait."""

from collections.abc import Iterable

import msgspec

from extender.holds.hold import End, Hold
from longhorn import NodeName


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A hold that is over, for the log and the metrics."""

    hold: Hold
    why: End
    at: float

    @property
    def seconds(self) -> float:
        """How long it stood."""
        return self.at - self.hold.answered_at


class Advanced(msgspec.Struct, frozen=True, kw_only=True):
    """A hold that goes on in another form."""

    before: Hold
    after: Hold

    @property
    def has_moved(self) -> bool:
        """Whether it counts in another way or on other nodes."""
        before, after = self.before, self.after
        return (before.state, before.nodes) != (after.state, after.nodes)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one observation changed."""

    ended: tuple[Ended, ...] = ()
    advanced: tuple[Advanced, ...] = ()

    @property
    def freed(self) -> frozenset[NodeName]:
        """The nodes on which less is held than before."""
        ended = (each.hold.nodes for each in self.ended)
        moved = (each.before.nodes - each.after.nodes for each in self.advanced)
        return frozenset[NodeName]().union(*ended, *moved)

    @property
    def concerns_others(self) -> bool:
        """Whether other pods may get another answer now."""
        return bool(self.ended) or any(each.has_moved for each in self.advanced)


NO_CHANGE = Outcome()


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """Return what all of them changed."""
    found = [*outcomes]
    return Outcome(
        ended=tuple(each for outcome in found for each in outcome.ended),
        advanced=tuple(each for outcome in found for each in outcome.advanced),
    )
