"""Whether a choice of kube-scheduler's leaves room for all that Longhorn is about to place.

`limits` judges the node that was chosen. Here all other replicas count, too: those of the pod, of
pods whose nodes were chosen before, and those that are due by Longhorn's objects. What found room
without the new pod must find room beside its local replicas, and beside those other replicas
without which its volumes do not start.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from longhorn import (
    Locality,
    NodeDisks,
    Settings,
    Volume,
    due_replicas,
    groups_of,
    has_data,
    may_share_node,
    mismatch,
    need_of,
    needed_to_start,
    usage_of,
    waits_for_attach,
)
from tests.actors.api import Object
from tests.simulation.choices import Choice, Choices
from tests.simulation.limits import Excuse, Limits
from tests.simulation.room import Want
from tests.simulation.together import (
    Known,
    Missing,
    filled,
    find_room,
    has_room_for_more,
    most_of,
    spaces_of,
)
from tests.simulation.truth import Truth

ORDERS: Sequence[Callable[[Missing], tuple[int, str]]] = (
    lambda each: (0, each.volume.name),
    lambda each: (each.volume.size_bytes, each.volume.name),
    lambda each: (-each.volume.size_bytes, each.volume.name),
)
"""In which replicas are looked at if there is no room for all."""


SURE = 16
"""Of so many replicas our service's search misses hardly any way to place all (docs/limits.md)."""
MOST = 24
"""Of more replicas the judge itself could not say whether they find room together."""


class Everywhere:
    """Judges choices."""

    def __init__(self, truth: Truth, choices: Choices, limits: Limits) -> None:
        self._truth = truth
        self._choices = choices
        self._limits = limits

    def judge(self, new: Choice) -> Excuse | bool:
        """Say whether what *new* needs leaves room for all others, or what excuses it."""
        if self._returns(new) or not self.needed(new, self._truth.known()):
            return True
        everyone = [each for each in self._choices.all() if each is not new]
        in_time = [each for each in everyone if not self._limits.ran_out(each, new.answer.at)]
        now, then = self._truth.known(), new.answer.known
        if self._leaves_room(new, everyone, now):
            return True
        if self._leaves_room(new, in_time, now):
            return Excuse.RAN_OUT
        if self._leaves_room(new, everyone, then):
            return Excuse.CAME
        if self._leaves_room(new, in_time, then):
            return Excuse.SEVERAL
        if self._leaves_room(new, in_time, then, by_lists=True):
            return Excuse.LISTED
        if self._leaves_room(new, [e for e in in_time if not self._lost_a_rebuild(e)], now):
            return Excuse.GIVEN_UP
        if self._has_room_alone(new, now) and self._leaves_room(new, in_time, now, by_node=True):
            return Excuse.BY_NODE
        return Excuse.BOUNDED if self._count(new, everyone) > SURE else False

    def is_beyond_judgement(self, new: Choice) -> bool:
        """Say whether so much is to be placed that nobody can say if there is room for all."""
        return self._count(new, [each for each in self._choices.all() if each is not new]) > MOST

    def _count(self, new: Choice, others: Sequence[Choice]) -> int:
        """Count what may go anywhere."""
        known = self._truth.known()
        missing = [*self.needed(new, known), *self._others(others, known)]
        return sum(each.anywhere for each in missing)

    def _returns(self, new: Choice) -> bool:
        """Say whether a pod has all its local replicas there: then it goes back to its data."""
        has_local = any(volume.needs_local_replica for volume in new.volumes)
        return has_local and not self._limits.pending(new)

    def _lost_a_rebuild(self, choice: Choice) -> bool:
        """Say whether a pod went back to its data, and a replica of its volumes has failed since
        that was being rebuilt: at the answer nothing was to be placed."""
        now = self._truth.known().replicas
        return not self._limits.pending(choice) and any(
            each.disk and each.active and not (each.failed or each.deleting or each.healthy_once)
            for name, then in choice.answer.known.replicas.items()
            if has_data(then) and any(volume.name == name for volume in choice.volumes)
            for each in then
            if all(other.name != each.name or other.failed for other in now.get(name, ()))
        )

    def describe(self, new: Choice) -> str:
        """Say what is to be placed besides, and what disks have left."""
        known = self._truth.known()
        others = [each for each in self._choices.all() if each is not new]
        told = [
            f"{each.volume.name} "
            f"{each.volume.size_bytes / 2**30:g} GiB: {each.anywhere} anywhere"
            f"{f', one on {each.local}' if each.local else ''}"
            for each in (*self.needed(new, known), *self._others(others, known))
        ]
        return f"to be placed: {'; '.join(told)}; {self.left()}"

    def left(self) -> str:
        """Say what disks have left."""
        found = [
            f"{space.node.name} {space.node.zone} "
            + " ".join(f"{disk.logical_headroom_bytes / 2**30:g}" for disk in space.disks)
            for space in self._truth.spaces()
        ]
        return f"left, in GiB: {'; '.join(found)}"

    def missing(self, choice: Choice, known: Known) -> list[Missing]:
        """Return what of a choice stands and is not placed yet."""
        settings = self._truth.known_settings()
        local = {want.volume for want in self._limits.pending(choice)}
        found = []
        for volume in self._choices.standing(choice):
            node = choice.node if volume.name in local else ""
            found.append(_missing(volume, known, settings, node=node, attaching=True))
        return [each for each in found if each.anywhere or each.local]

    def needed(self, choice: Choice, known: Known) -> list[Missing]:
        """Return what of it must find room: local replicas, and what volumes need to start."""
        settings = self._truth.known_settings()
        here = {want.volume for want in self._limits.pending(choice)}
        # What Longhorn makes for the node that a volume was on before, the pod does not need.
        needed = [
            _needed(each if each.volume.name in here else structs.replace(each, local=""), settings)
            for each in self.missing(choice, known)
        ]
        return [each for each in needed if each.anywhere or each.local]

    def may_come(self, pod: Object, node: str) -> list[Want]:
        """Return what may come to a node of those volumes of a pod that need nothing there."""
        settings = self._truth.known_settings()
        spaces = [space for space in self._truth.spaces() if space.node.name == node]
        return [
            structs.replace(self._truth.want_of(each.volume), volume=f"{each.volume.name}/{number}")
            for each in self._remote(pod)
            for most in (most_of([each], spaces, settings),)
            if most is not None
            for number in range(most[0].least)
        ]

    def comes_beside(self, pod: Object, node: str) -> list[Want]:
        """Return what comes to a node beside a local replica of the same volume of a pod: it may
        share the node, and finds room on no other one."""
        known, settings = self._truth.known(), self._truth.known_settings()
        others = [space for space in self._truth.spaces() if space.node.name != node]
        found = []
        for volume in self._truth.volumes(pod):
            missing = _missing(volume, known, settings, node=node, attaching=True)
            is_local = volume.needs_local_replica and missing.anywhere
            if not (is_local and may_share_node(missing.volume, settings)):
                continue
            one = structs.replace(missing, local="", anywhere=1).whole
            if find_room([one], others, settings) is None:
                want = self._truth.want_of(volume)
                found.append(structs.replace(want, volume=f"{volume.name}/beside"))
        return found

    def may_start(self, pod: Object) -> bool:
        """Say whether those volumes of a pod find the room that they need to start.

        Room is none that shows only because disks were filled beyond their limits: as many replicas
        must find room elsewhere as these disks have too many.
        """
        settings, spaces = self._truth.known_settings(), self._truth.spaces()
        needed = [_needed(each, settings) for each in self._remote(pod)]
        if find_room(needed, spaces, settings) is None:
            return False
        return all(
            find_room([*needed, *filled(strays, spaces, settings)], spaces, settings) is not None
            for each in needed
            if each.least and not each.replicas
            for strays in (self._strays(each.volume, spaces),)
        )

    def _strays(self, like: Volume, spaces: Sequence[NodeDisks]) -> list[Missing]:
        """Return replicas that disks for a volume have too many, as volumes *like* this one.

        Of each disk it is the smallest one that is enough; if none is, the largest one and others.
        """
        settings, found = self._truth.known_settings(), list[Missing]()
        replicas = [each for some in self._truth.known().replicas.values() for each in some]
        for space in spaces:
            for disk in space.disks:
                place = (space.node.name, disk.disk.id)
                sizes = sorted(r.size_bytes for r in replicas if (r.node, r.disk) == place)
                beyond = -disk.logical_headroom_bytes
                suits = mismatch(disk.kind, need_of(like, None, ()), settings) is None
                while suits and beyond > 0 and sizes:
                    size = next((each for each in sizes if each >= beyond), sizes[-1])
                    sizes.remove(size)
                    beyond -= size
                    stray = structs.replace(like, name=f"stray-{len(found)}", size_bytes=size)
                    found.append(Missing(volume=stray, anywhere=1))
        return found

    def may_run(self, pod: Object) -> bool:
        """Say whether the volumes of a pod that has a node find the room that they need to start.

        A strict-local one needs it on the node; any other one needs it anywhere.
        """
        known, settings = self._truth.known(), self._truth.known_settings()
        needed = []
        for volume in self._truth.volumes(pod):
            is_strict = volume.locality is Locality.STRICT_LOCAL
            has_none = not any(each.disk for each in known.replicas.get(volume.name, ()))
            node = pod["spec"]["nodeName"] if is_strict and has_none else ""
            missing = _missing(volume, known, settings, node=node, attaching=True)
            least = needed_to_start(volume, missing.replicas, settings, due=missing.anywhere)
            needed.append(structs.replace(missing, anywhere=least, local=node).whole)
        return find_room(needed, self._truth.spaces(), settings) is not None

    def due_on(self, volume: str, node: str) -> Want | None:
        """Return what of a volume Longhorn would place on a node, None if nothing."""
        known, settings = self._truth.known(), self._truth.known_settings()
        found = known.volumes.get(volume)
        if found is None:
            return None
        missing = _missing(found, known, settings)
        if missing.local != node:
            counted = [each for each in missing.replicas if not each.failed]
            spaces = {space.node.name: space for space in self._truth.spaces()}
            groups = groups_of(found, usage_of(counted, spaces), settings)
            [here] = [space.node for name, space in spaces.items() if name == node]
            is_allowed = any(group.has(here.name, here.zone) for group in groups)
            if not (missing.anywhere and found.node == node and is_allowed):
                return None
        return self._truth.want_of(found)

    def _remote(self, pod: Object) -> list[Missing]:
        known, settings = self._truth.known(), self._truth.known_settings()
        return [
            _missing(volume, known, settings, attaching=True)
            for volume in self._truth.volumes(pod)
            if not volume.needs_local_replica
        ]

    def _has_room_alone(self, new: Choice, known: Known) -> bool:
        settings = self._truth.known_settings()
        needed = self.needed(new, known)
        return find_room(needed, spaces_of(known, settings), settings) is not None

    def _leaves_room(
        self,
        new: Choice,
        others: Sequence[Choice],
        known: Known,
        *,
        by_node: bool = False,
        by_lists: bool = False,
    ) -> bool:
        """Say whether *new* leaves room; *by_node* if linked clones are to need no certain disk,
        *by_lists* if what disks list still is to count."""
        settings = self._truth.known_settings()
        spaces = spaces_of(known, settings, by_lists=by_lists)
        needed = [structs.replace(e, by_node=by_node) for e in self.needed(new, known)]
        own = {volume.name for volume in new.volumes}
        rest = [
            structs.replace(each, by_node=by_node)
            for each in self._others(others, known)
            if each.volume.name not in own
        ]
        if find_room([*needed, *(each.whole for each in rest)], spaces, settings) is not None:
            return True
        # The rest does not find room as a whole. What finds room of it without the new pod, so that
        # there is none for more, must find room beside it. There may be several ways to choose.
        kept = most_of([*needed, *rest], spaces, settings)
        if kept is None:
            return False
        if not has_room_for_more(kept[len(needed) :], spaces, settings):
            return True
        return any(
            find_room(
                [*needed, *filled(sorted(rest, key=order), spaces, settings)], spaces, settings
            )
            is not None
            for order in ORDERS
        )

    def _others(self, choices: Iterable[Choice], known: Known) -> list[Missing]:
        """Return what is to be placed of volumes by choices, and by Longhorn's objects."""
        settings = self._truth.known_settings()
        found: dict[str, Missing] = {}
        for name, volume in known.volumes.items():
            found[name] = _missing(volume, known, settings)
        for choice in choices:
            for each in self.missing(choice, known):
                if each.local or not found.get(each.volume.name, each).local:
                    found[each.volume.name] = each
        return [each for _, each in sorted(found.items()) if each.anywhere or each.local]


def _missing(
    volume: Volume, known: Known, settings: Settings, *, node: str = "", attaching: bool = False
) -> Missing:
    """Return what is to be placed of a volume.

    Args:
        volume: The volume, if it is not known yet.
        known: What is known.
        settings: Longhorn's.
        node: Where a pod needs a replica that it has not got; "" if nowhere.
        attaching: Whether a pod is to attach it.
    """
    volume = known.volumes.get(volume.name, volume)
    replicas = known.replicas.get(volume.name, ())
    due = due_replicas(volume, replicas, settings, attaching=attaching)
    pinned = [r.hard_node_affinity for r in replicas if not (r.node or r.deleting or r.failed)]
    bound = next(filter(None, pinned), None)
    if volume.locality is Locality.STRICT_LOCAL and volume.node is None and not attaching:
        bound = None  # Longhorn places it once somebody attaches the volume
    is_one_of_them = node and not bound and waits_for_attach(volume, settings)
    return Missing(
        volume=volume,
        replicas=replicas,
        anywhere=max(0, due.anywhere - 1) if is_one_of_them else due.anywhere,
        local=node or bound or due.on_node or "",
        shared=known.replicas.get(volume.linked_to or "", ()),
    )


def _needed(missing: Missing, settings: Settings) -> Missing:
    """Keep what must find room: the local replica, or what the volume needs to start."""
    least = 0
    if not missing.volume.needs_local_replica:
        volume, replicas = missing.volume, missing.replicas
        least = needed_to_start(volume, replicas, settings, due=missing.anywhere)
    return structs.replace(missing, anywhere=least).whole
