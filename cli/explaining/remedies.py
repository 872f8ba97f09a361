"""What would get a pod a node that no node takes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import structs

from cli.remedies.finding import helpful
from cli.remedies.of_disks import Wanted
from cli.remedies.of_volumes import new_node, with_less_data
from cli.remedies.remedy import Edit, Remedy, RemedyReport, node_edit, setting_edit
from cli.remedies.trials import changed
from extender import Answer, ClusterView, Extender, ViewBuilder
from extender.explaining import Shortfall
from extender.kubernetes import Claim, StorageClass, class_of
from extender.verdicts import ClusterChange
from longhorn import CORDONED, Condition, Moment, NodeName, may_share_zone
from planner.sizes import most_amount

_BY_CHANGE = ClusterChange.NODE | ClusterChange.DISKS | ClusterChange.ROOM | ClusterChange.ANYWHERE
_REPLICAS = "numberOfReplicas"
_MIB = 2**20


def pod_remedies(
    answer: Answer,
    cordoned: Collection[NodeName],
    down: Iterable[NodeName],
    shortfalls: Mapping[NodeName, Sequence[Shortfall]],
    extender: Extender,
    builder: ViewBuilder,
    utc: Moment | None,
    *,
    may_use_new: bool,
) -> list[RemedyReport]:
    """Return what would get the pod a node, from the least to the most costly.

    Args:
        answer: No node is accepted.
        cordoned: Nodes that were not asked about, as they are cordoned.
        down: Nodes that were not asked about, as they are down.
        shortfalls: By how much nodes are short.
        extender: Made the answer.
        builder: Has the cluster.
        utc: The date and time, None if it is not known.
        may_use_new: Whether the pod may go to a node that is not there yet.
    """
    asked, view = answer.request.pod, answer.view
    closed = dict.fromkeys([*cordoned, *down])
    if view.settings.unreadable is not None or _is_only_held(answer):
        return []

    def has_node(now: ClusterView, nodes: Sequence[NodeName]) -> bool:
        names = [n for n in nodes if n not in now.spaces or not _is_cordoned(n, now)]
        return bool(extender.filter(asked, names, now, utc=utc).accepted)

    nodes = sorted(_changeable(answer, closed), key=lambda n: (_short(n, shortfalls), n))
    others = [*_others(answer, shortfalls, view)]
    volumes = [each.volume for each in (*answer.request.volumes, *answer.request.remote)]
    other_zone = any(not may_share_zone(each, view.settings) for each in volumes)
    cordons = [_cordon(name, view) for name in cordoned if name in view.spaces]
    with changed(builder, cordons, nodes):
        for number, wanted in enumerate(_wanted(answer, extender, utc)):
            new = [*new_node(wanted, builder, other_zone=other_zone)] if may_use_new else []
            # With thousands of nodes trials take seconds: these only where a new node would help.
            if number and not helpful(has_node, builder, wanted, nodes, new, changes_nodes=False):
                continue
            if found := helpful(has_node, builder, wanted, nodes, [*others, *new]):
                return found
    return []


def _is_only_held(answer: Answer) -> bool:
    """Whether the pod fits somewhere once holds are over: it need only wait."""
    return any(ClusterChange.HOLDS in each.ended_by for each in answer.rejected.values())


def _cordon(name: NodeName, view: ClusterView) -> Edit:
    """Note of a node that it is cordoned; Longhorn may use it all the same."""
    status = view.spaces[name].node.schedulable.status
    return node_edit(name, schedulable=Condition(status=status, reason=CORDONED))


def _is_cordoned(name: NodeName, view: ClusterView) -> bool:
    return view.spaces[name].node.schedulable.reason == CORDONED


def _wanted(answer: Answer, extender: Extender, utc: Moment | None) -> list[Wanted]:
    """Return what one node must take, the next where the one before does not help.

    First what is placed beside the pod; then one replica of a volume that goes anywhere, that of
    the largest first; then one of each volume; in the end all of those that have none yet, as
    Longhorn may start a new volume with all alone.
    """
    request, replicas = answer.request, answer.view.replicas
    situation = answer.situation or extender.situation(request, answer.view, utc=utc)
    local = {item.id: need for item, need in situation.demand.by_size}
    all_ = sorted((*request.volumes, *request.remote), key=lambda each: -each.need.size_bytes)
    found = [
        [*local.values()],
        *([each.need] for each in all_ if each.volume.name not in local),
        [each.need for each in all_],
        [
            each.need
            for each in all_
            for _ in range(1 if replicas.get(each.volume.name) else each.volume.wanted_replicas)
        ],
    ]
    different = [each for number, each in enumerate(found) if each not in found[:number]]
    return [Wanted(needs=needs) for needs in different if needs]


def _changeable(answer: Answer, closed: Iterable[NodeName]) -> Iterator[NodeName]:
    """Yield the nodes where something can be changed so that they take the pod."""
    for name in (*answer.rejected, *closed):
        ended_by = answer.rejected[name].ended_by if name in answer.rejected else _BY_CHANGE
        if name in answer.view.spaces and ended_by & _BY_CHANGE:
            yield name


def _short(name: NodeName, shortfalls: Mapping[NodeName, Sequence[Shortfall]]) -> float:
    return shortfalls[name][0].bytes if name in shortfalls else float("inf")


def _others(
    answer: Answer,
    shortfalls: Mapping[NodeName, Sequence[Shortfall]],
    view: ClusterView,
) -> Iterator[Remedy]:
    """Yield what can be done beside changes of nodes."""
    request = answer.request
    for wanted_volume in request.volumes:
        yield from with_less_data(wanted_volume.volume, view)
    for key in request.pod.claims:
        claim = view.claims.get(key)
        class_ = class_of(claim, view.storage_classes) if claim is not None else None
        if claim is None or class_ is None or claim.persistent_volume is not None:
            continue
        if shortfalls and len(request.pod.claims) == 1:
            less = claim.requested_bytes - min(each[0].bytes for each in shortfalls.values())
            yield from _smaller(claim, less // _MIB * _MIB)
        yield from _fewer(class_)
    if any(each.reason == "too_few_replicas" for each in answer.rejected.values()):
        name = "allow-volume-creation-with-degraded-availability"
        yield Remedy(code="allow_degraded", edits=[setting_edit(name, "true")])


def _smaller(claim: Claim, size_bytes: int) -> Iterator[Remedy]:
    if size_bytes > 0:
        less = structs.replace(claim, requested_bytes=size_bytes)
        figures = {"claim": claim.key, "size": most_amount(size_bytes)}
        edit = Edit(Claim, claim.key, lambda _: less)
        yield Remedy(code="smaller_claim", figures=figures, edits=[edit])


def _fewer(class_: StorageClass) -> Iterator[Remedy]:
    """Offer a class with fewer replicas, the most that may do first."""
    try:
        wanted = int(class_.parameters.get(_REPLICAS, "3"))
    except ValueError:
        return
    for count in range(wanted - 1, 0, -1):
        yield Remedy(
            code="class_with_fewer",
            figures={"class": class_.name, "count": str(count)},
            edits=[Edit(StorageClass, class_.name, partial(_with_replicas, count=count))],
            change=wanted - count,
        )


def _with_replicas(class_: StorageClass, count: int) -> StorageClass:
    return structs.replace(class_, parameters={**class_.parameters, _REPLICAS: str(count)})
