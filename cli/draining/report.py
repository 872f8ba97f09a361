"""The answer as a program reads it."""

from collections.abc import Sequence

import msgspec

from cli.catalogue import OBSTACLES
from cli.draining.cluster import Cluster
from cli.draining.judging import Apart, May, Verdict, next_of, pairs_of
from cli.draining.obstacles import Caution, Code


class ObstacleReport(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in the way."""

    code: Code
    object: str
    """Kind and name."""
    text: str
    """Why it is in the way, said of the object."""
    logged: str
    """What Longhorn's manager logs of it; "" where it logs nothing."""
    action: str
    """What to do."""


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one node."""

    node: str
    may: May
    cordoned: bool
    """Now. If it is not, the answer is that for after `kubectl drain` has cordoned it."""
    pods: int
    """So many would be evicted or deleted."""
    obstacles: Sequence[ObstacleReport]
    """In the order in which they are to be remedied."""
    cautions: Sequence[Caution]
    unknown: Sequence[str]
    """What is not known, so that the answer is not yes."""


class NextReport(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes may go next."""

    node: str | None
    """The one to take; None if none may go."""
    ready: Sequence[str]
    """All that may go, each of them alone."""
    together: Sequence[tuple[str, str]]
    """Those of them that may go at once, two at a time."""
    apart: Sequence[Apart]
    """The other pairs."""


class DrainReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `may-drain -o json` prints."""

    origin: str
    may: May
    """Whether all nodes may be drained, one after another; with --next, whether some node may."""
    nodes: Sequence[NodeReport]
    next: NextReport | None
    """With --next."""


def make_report(verdicts: Sequence[Verdict], origin: str) -> DrainReport:
    """Put together what is found about nodes that are all to be drained."""
    found = {each.may for each in verdicts}
    may = May.NOT_YET if May.NOT_YET in found else May.UNKNOWN if May.UNKNOWN in found else May.YES
    return DrainReport(origin=origin, may=may, nodes=_nodes(verdicts), next=None)


def make_next_report(verdicts: Sequence[Verdict], cluster: Cluster, origin: str) -> DrainReport:
    """Put together which of some nodes may go next, each of them judged alone."""
    ready = next_of(verdicts)
    together, apart = pairs_of(ready, cluster)
    some_unknown = any(each.may is May.UNKNOWN for each in verdicts)
    may = May.YES if ready else May.UNKNOWN if some_unknown else May.NOT_YET
    found = NextReport(
        node=ready[0] if ready else None, ready=ready, together=together, apart=apart
    )
    return DrainReport(origin=origin, may=may, nodes=_nodes(verdicts), next=found)


def _nodes(verdicts: Sequence[Verdict]) -> tuple[NodeReport, ...]:
    return tuple(
        NodeReport(
            node=each.node,
            may=each.may,
            cordoned=each.cordoned,
            pods=each.pods,
            obstacles=tuple(
                ObstacleReport(
                    code=obstacle.code,
                    object=obstacle.object,
                    text=obstacle.text,
                    logged=obstacle.logged,
                    action=OBSTACLES[obstacle.code].action_for(obstacle.text),
                )
                for obstacle in each.obstacles
            ),
            cautions=each.cautions,
            unknown=each.unknown,
        )
        for each in verdicts
    )
