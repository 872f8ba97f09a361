"""Local replicas whose room other replicas took after the choice of the node.

Longhorn does not keep room for them: until a volume is attached, replicas of others may come first.
"""

from collections.abc import Callable, Sequence

from msgspec import structs

from longhorn import Locality, Settings, due_replicas
from tests.actors.api import Object
from tests.simulation.choices import Choice, Choices
from tests.simulation.limits import Excuse, Limits
from tests.simulation.plan import Plan
from tests.simulation.room import Want, has_room
from tests.simulation.together import Known
from tests.simulation.trace import Trace
from tests.simulation.truth import Truth

HEARD_SECONDS = 2.0
"""What is older was heard of."""
CeasedSince = Callable[[float], bool]
"""Says whether something ceased to run on a node since some time, and does not run."""


Lacks = Callable[[str], bool]
"""Says whether something does not run on a node, or its disks cannot be read for that."""


def nothing(_: str) -> bool:
    """Say that all runs on a node."""
    return False


def never(_: float) -> bool:
    """Say that all runs everywhere."""
    return False


class Losses:
    """Watches how Longhorn places replicas.

    Attributes:
        excuses: By volume without room on its pod's node, why our service cannot be blamed for it,
            None if it can.
        ceased_since: Says whether something ceased to run on a node.
        lacks: Says whether something does not run on a node.
    """

    def __init__(
        self, truth: Truth, choices: Choices, limits: Limits, plan: Plan, trace: Trace
    ) -> None:
        self.excuses: dict[str, Excuse | None] = {}
        self.ceased_since: CeasedSince = never
        self.lacks: Lacks = nothing
        self._lost_at: dict[str, float] = {}
        self._crowded: set[str] = set()
        self._truth = truth
        self._choices = choices
        self._limits = limits
        self._plan = plan
        self._trace = trace

    def note(self, choice: Choice, excuse: Excuse) -> None:
        """Take in that the volumes of a choice had no room, with an excuse."""
        for each in self._choices.on_node(choice.node):
            for want in self._limits.pending(each):
                self.excuses.setdefault(want.volume, excuse)

    def why(self, volume: str, node: str) -> Excuse | None:
        """Return why a volume has no room on its pod's node, None if there is no excuse.

        A replica that is being rebuilt goes when the volume is detached, as it is if its pod comes
        from elsewhere. It has its room by then, so none is held for another one.
        """
        for each in self._choices.on_node(node) if volume not in self.excuses else ():
            there = [r for r in each.answer.known.replicas.get(volume, ()) if r.node == node]
            if volume in _names(each) and there and not any(r.healthy_once for r in there):
                return Excuse.GIVEN_UP
        excuse = self.excuses.get(volume)
        return Excuse.ARRANGED if excuse is None and volume in self._crowded else excuse

    def asked(self, replica: Object) -> None:
        """Take in that a replica asks a disk for room, which may be refused yet.

        Longhorn puts local replicas elsewhere meanwhile that find no room beside it.
        """
        here = self._choices.on_node(replica["spec"]["nodeID"])
        pending = [(each, want) for each in here for want in self._limits.pending(each)]
        wants = [want for _, want in pending]
        placed = self._truth.placed()
        if not wants or self._has_room(replica["spec"]["nodeID"], placed, wants):
            return
        for choice, want in pending:
            is_strict = any(each.locality is Locality.STRICT_LOCAL for each in choice.volumes)
            if not is_strict and self._fits_in_another_way(choice, wants, placed):
                self._crowded.add(want.volume)

    def placed(self, replica: Object) -> None:
        """Take in that a replica was given a disk for good."""
        node, volume = replica["spec"]["nodeID"], replica["spec"]["volumeName"]
        usable = _usable(self._truth.known())
        for each in self._choices.all():
            if volume in _names(each) and node != each.node and each.node not in usable:
                self.excuses.setdefault(volume, Excuse.CORDONED)
            if volume in _names(each) and node != each.node and self.lacks(each.node):
                self.excuses.setdefault(volume, Excuse.RUNNERS)
            if volume in _names(each) and self._is_for_former(each, replica):
                self.excuses.setdefault(volume, Excuse.FORMER)
        here = self._choices.on_node(node)
        pending = [(each, want) for each in here for want in self._limits.waiting(each)]
        wants = [want for _, want in pending]
        if self._has_room(node, self._truth.granted(), wants):
            return
        for choice, want in pending:
            if want.volume not in self.excuses:
                excuse = self._excuse(choice, replica, wants)
                self.excuses[want.volume] = excuse
                self._lost_at[want.volume] = self._trace.seconds
                by = f"{want.volume} of {choice.pod} by {replica['metadata']['name']}"
                self._trace.note(f"taken on {node}: room for {by}: {excuse or 'no excuse'}")

    def _excuse(self, choice: Choice, replica: Object, wants: Sequence[Want]) -> Excuse | None:
        volume = replica["spec"]["volumeName"]
        if not self._plan.keeps_holds or self._limits.ran_out(choice, self._trace.seconds):
            return Excuse.RAN_OUT
        is_strict = any(each.locality is Locality.STRICT_LOCAL for each in choice.volumes)
        if not is_strict and self._fits_in_another_way(choice, wants, self._truth.granted()):
            return Excuse.ARRANGED
        if not is_strict and volume in _names(choice):
            return Excuse.OWN
        owners = [each for each in self._choices.all() if volume in _names(each)]
        beside = [each for each in self._choices.on_node(choice.node) if self._limits.waiting(each)]
        if any(self._limits.ran_out(each, choice.answer.at) for each in (*owners, *beside)):
            return Excuse.RAN_OUT
        if any(self._fits_without_late(each, choice.node, wants) for each in owners):
            return Excuse.RAN_OUT
        is_elsewhere = all(each.node != choice.node for each in owners)
        if is_elsewhere and self._lost_at.get(volume, 0.0) > choice.answer.at:
            return self.excuses[volume]  # whatever took its own room
        settings = self._truth.known_settings()
        if not owners and not _is_to_come(volume, choice.answer.known, settings):
            return Excuse.CAME
        usable = _usable(self._truth.known())
        if any(_usable(each.answer.known) - usable for each in (choice, *owners)):
            return Excuse.CORDONED
        if any(self._ceased(each) for each in (choice, *owners)):
            return Excuse.RUNNERS
        return None if is_strict else Excuse.BEST_EFFORT  # docs/decisions/0030

    def _ceased(self, choice: Choice) -> bool:
        """Say whether something ceased to run on a node since an answer, or just before."""
        return self.ceased_since(choice.answer.at - HEARD_SECONDS)

    def _is_for_former(self, choice: Choice, replica: Object) -> bool:
        """Say whether Longhorn attaches a strict-local volume to the node of its pod before, and
        did not show so at the answer."""
        node, volume = replica["spec"]["nodeID"], replica["spec"]["volumeName"]
        then, now = choice.answer.known.volumes.get(volume), self._truth.known().volumes[volume]
        is_new = then is None or then.node is None
        is_strict = now.locality is Locality.STRICT_LOCAL
        return is_strict and is_new and now.node == node != choice.node

    def _fits_without_late(self, owner: Choice, node: str, wants: Sequence[Want]) -> bool:
        """Say whether all would fit without what came to a node late: after an answer at which its
        hold had run out of time already."""
        late = {
            name
            for each in self._choices.all()
            if self._limits.ran_out(each, owner.answer.at)
            for name in _names(each)
        }
        in_time = [
            each
            for each in self._truth.granted()
            if each["metadata"]["name"] in owner.answer.placed
            or each["spec"]["volumeName"] not in late
        ]
        return self._has_room(node, in_time, wants)

    def _fits_in_another_way(
        self, choice: Choice, wants: Sequence[Want], placed: Sequence[Object]
    ) -> bool:
        """Say whether all would fit with what came since the answer on other disks of the node."""
        known = self._truth.known()
        before = [each for each in placed if each["metadata"]["name"] in choice.answer.placed]
        since = [
            structs.replace(
                self._truth.want_of(known.volumes[each["spec"]["volumeName"]]),
                volume=each["metadata"]["name"],
                size_bytes=int(each["spec"]["volumeSize"]),
            )
            for each in placed
            if each["spec"]["nodeID"] == choice.node
            and each["metadata"]["name"] not in choice.answer.placed
        ]
        return self._has_room(choice.node, before, [*wants, *since])

    def _has_room(self, node: str, placed: Sequence[Object], wants: Sequence[Want]) -> bool:
        longhorn_node = self._truth.longhorn_node(node)
        assert longhorn_node is not None
        return has_room(longhorn_node, placed, wants, self._truth.settings())


def _is_to_come(volume: str, known: Known, settings: Settings) -> bool:
    """Say whether by what is known Longhorn is about to place a replica of a volume.

    It is not before a volume shows as degraded, a moment after its replica has failed.
    """
    found, replicas = known.volumes.get(volume), known.replicas.get(volume, ())
    if found is None:
        return False
    due = due_replicas(found, replicas, settings)
    return bool(due.anywhere or due.on_node) or any(each.node is None for each in replicas)


def _names(choice: Choice) -> set[str]:
    return {str(each.name) for each in choice.volumes}


def _usable(known: Known) -> set[str]:
    """Name the nodes on which Longhorn places replicas."""
    return {
        str(node.name)
        for node in known.nodes
        if node.allow_scheduling and node.ready.is_true and node.schedulable.is_true
    }
