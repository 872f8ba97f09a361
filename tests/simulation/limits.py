"""Whether a choice of kube-scheduler's is one that the disks can keep.

At each choice, all that was chosen for the node must fit there together, beside what other volumes
have there: either in some arrangement, or beside the replicas as Longhorn has placed them by now,
since Longhorn sometimes puts more on a disk than its own limit while others are free.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum
from math import inf

from extender import Mode
from extender.holds.deadlines import ATTACHING_SECONDS, GIVEN_UP_SECONDS
from tests.actors.api import Object
from tests.simulation.choices import Choice, Choices
from tests.simulation.plan import Plan
from tests.simulation.room import Want, has_room
from tests.simulation.truth import Truth


class Excuse(StrEnum):
    """What our service cannot be blamed for."""

    RAN_OUT = "an earlier hold ran out of time, as the settings say"
    CAME = "Longhorn put a replica there that the answer could not know of"
    BROKEN = "Longhorn placed replicas so that an earlier choice fits no more"
    ARRANGED = "Longhorn chose other disks of the node than those on which all would have fitted"
    BEST_EFFORT = "Longhorn put a replica where a best-effort one was to go: nobody waits for that"
    RUNNERS = "something ceased to run on the pod's node, or on another one for replicas"
    CORDONED = "the pod's node, or another one for replicas, was cordoned after the answer"
    OWN = "the pod's own replica took the room of its local one, as on every node it could go to"
    LEFT_NONE = "Longhorn placed replicas so that there is no room for a volume to start"
    GIVEN_UP = "Longhorn gave up a replica that was being rebuilt at the answer"
    FORMER = "Longhorn placed a strict-local replica for a pod that was gone before the answer"
    BY_NODE = "beside what else comes, linked clones count by node, not by disk (docs/nodes.md)"
    MOVED = "what a linked clone shares went to other nodes after the answer"
    LISTED = "a replica was gone, but its disk listed it still at the answer"
    NOT_DUE = "Longhorn makes no replica for the pod's node, as the volume is degraded"
    BOUNDED = "more replicas were to be placed than our service's search is sure to decide"
    SEVERAL = "several of these"


class Limits:
    """Judges choices.

    Args:
        truth: The objects as they are.
        choices: Those that stand.
        plan: What there is.
        unheard: Instances with a pod each whose watch of that pod hung.
    """

    def __init__(
        self, truth: Truth, choices: Choices, plan: Plan, unheard: Collection[tuple[str, str]]
    ) -> None:
        self._truth = truth
        self._choices = choices
        self._plan = plan
        self._unheard = unheard

    def judge(self, new: Choice) -> Excuse | bool:
        """Say whether what *new* adds to its node fits there; an excuse if not and it is one."""
        if not self.pending(new):
            return True
        everyone = self._choices.on_node(new.node)
        placed = self._truth.placed()
        if self._fits(new.node, everyone, placed):
            return True
        in_time = [
            each for each in everyone if each is new or not self.ran_out(each, new.answer.at)
        ]
        known = [each for each in placed if self._is_known(each, new, everyone)]
        if self._fits(new.node, in_time, placed):
            return Excuse.RAN_OUT
        if self._fits(new.node, everyone, known):
            return Excuse.CAME
        if self._fits_beside_keepable(new, everyone, placed):
            return Excuse.BROKEN
        known = [each for each in placed if self._is_known(each, new, in_time)]
        return Excuse.SEVERAL if self._fits_beside_keepable(new, in_time, known) else False

    def ran_out(self, choice: Choice, now: float) -> bool:
        """Say whether a choice has been held as long as the settings let it.

        Or whether its hold may have ended at placement, since DiskSchedules were not known yet.
        """
        if not choice.knows_kind:
            return True
        until = min(
            choice.answer.at + self._plan.choosing_seconds, choice.doubted_at + GIVEN_UP_SECONDS
        )
        # In mode `node` nothing counts as the choice but the binding.
        is_by_binding = self._plan.mode is Mode.NODE
        heard_at = choice.binding_heard_at if is_by_binding else choice.heard_at
        if heard_at > until or self._is_unheard(choice):
            return now >= until
        if choice.bound_at is None:
            return False
        placing_seconds = self._plan.placing_seconds
        waits = placing_seconds and self._plan.mode is not Mode.NODE
        if waits and not all(self._truth.is_attaching(each.name) for each in choice.volumes):
            placing_seconds = max(placing_seconds, int(ATTACHING_SECONDS))
        return now >= choice.bound_at + placing_seconds

    def _is_unheard(self, choice: Choice) -> bool:
        """Say whether the instance that answered may not know of the choice: its watch hung.

        A claim that was marked with the node tells it by another watch.
        """
        is_told = choice.selected and choice.doubted_at == inf
        by_claims = is_told and self._plan.mode is not Mode.NODE
        return not by_claims and (choice.answer.by, choice.pod) in self._unheard

    def pending(self, choice: Choice) -> list[Want]:
        """Return what of a choice stands and has no replica on its node yet."""
        return self._pending(self._wanted([choice]), choice.node)

    def waiting(self, choice: Choice) -> list[Want]:
        """Return what of a choice stands and has no replica on its node for good yet.

        A replica that no disk has granted may be refused, so its room must still be held then.
        """
        here = self._truth.volumes_on(choice.node, for_good=True)
        wanted = self._choices.wanted(choice, for_good=True)
        return [want for want in wanted if want.volume not in here]

    def _fits(self, name: str, choices: Sequence[Choice], placed: Sequence[Object]) -> bool:
        node = self._truth.longhorn_node(name)
        assert node is not None
        wanted = self._wanted(choices)
        volumes = {want.volume for want in wanted}
        others = [each for each in placed if each["spec"]["volumeName"] not in volumes]
        settings = self._truth.settings()
        return has_room(node, others, wanted, settings) or has_room(
            node, placed, self._pending(wanted, name), settings
        )

    def _fits_beside_keepable(
        self, new: Choice, choices: Sequence[Choice], placed: Sequence[Object]
    ) -> bool:
        """Say whether *new* fits beside what fits of the others as Longhorn has placed by now.

        The smallest come first: so most volumes of the others are kept.
        """
        node = self._truth.longhorn_node(new.node)
        assert node is not None
        settings = self._truth.settings()
        others = self._wanted([each for each in choices if each is not new])
        kept: list[Want] = []
        for want in sorted(self._pending(others, new.node), key=_by_size):
            if has_room(node, placed, [*kept, want], settings):
                kept.append(want)
        return has_room(node, placed, [*kept, *self.pending(new)], settings)

    def _wanted(self, choices: Sequence[Choice]) -> list[Want]:
        return [want for choice in choices for want in self._choices.wanted(choice)]

    def _pending(self, wants: Sequence[Want], node: str) -> list[Want]:
        """Return what has no replica on the node yet."""
        here = self._truth.volumes_on(node)
        return [want for want in wants if want.volume not in here]

    def _is_known(self, replica: Object, new: Choice, choices: Sequence[Choice]) -> bool:
        """Say whether a replica counts: it was known at the answer, or belongs to a choice."""
        chosen = {want.volume for choice in choices for want in choice.wants}
        return (
            replica["metadata"]["name"] in new.answer.placed
            or replica["spec"]["volumeName"] in chosen
        )


def _by_size(want: Want) -> tuple[int, str]:
    return want.size_bytes, want.volume
