"""Puts together what is told of a claim or a volume."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cli.catalogue import REJECTIONS, WAITS
from cli.data import data_in, trouble_with
from cli.explaining.details import claims_of_volumes, node_details
from cli.explaining.explainer import Explainer
from cli.holders import holders_of
from cli.kube.pods import Pod
from cli.remedies.finding import helpful
from cli.remedies.of_disks import Wanted
from cli.remedies.of_volumes import new_node, of_volume, with_less_data
from cli.remedies.remedy import RemedyReport
from cli.volumes.attaching import PodStanding, pods_of, standings
from cli.volumes.finding import Target
from cli.volumes.judging import Hindrance, Sought, disks_in_the_way, named, place_of, seek
from cli.volumes.replicas import replica_report
from cli.volumes.report import (
    HolderReport,
    PlaceReport,
    PodReport,
    State,
    VolumeReport,
    WaitingReport,
)
from cli.volumes.scheduled import scheduled_report
from cli.volumes.unbound import other_storage, unbound
from cli.volumes.waiting import Count, Waiting, count_of, waiting_of
from extender import ClusterView
from extender.demand import NOBODY
from extender.kubernetes import Claim
from extender.verdicts import UnknownNode
from longhorn import (
    DataState,
    Moment,
    NodeName,
    Volume,
    VolumeData,
    VolumeTold,
    is_down,
    may_share_zone,
)


def explain(target: Target, explainer: Explainer, nodes: Sequence[NodeName]) -> VolumeReport:
    """Say how a claim or a volume is, and why.

    Args:
        target: What is asked about.
        explainer: Has the cluster.
        nodes: Those to look at for the next replica.
    """
    claim, volume = target.claim, target.volume
    users = pods_of(claim.key, explainer.cluster.of(Pod).values()) if claim else []
    if target.driver:
        of_driver = f"its storage driver is {target.driver}"
        return other_storage(of_driver, claim.key if claim else "")
    if volume is None:
        assert claim is not None
        return unbound(claim, users, explainer.view)
    return _explain_volume(volume, claim, users, explainer, nodes)


def _explain_volume(
    volume: Volume,
    claim: Claim | None,
    users: Sequence[Pod],
    explainer: Explainer,
    nodes: Sequence[NodeName],
) -> VolumeReport:
    view, utc = explainer.view, explainer.utc
    replicas = view.replicas.get(volume.name, ())
    data = data_in(view, volume.name)
    trouble = trouble_with(volume, data, view)
    count = count_of(volume, data)
    standing = [*standings(volume, claim.key, users, view)] if claim else []
    pod_node = next((pod.status.node for pod in users if pod.status.node), None)
    is_missing = bool(count.missing)
    waiting = None  # where its data cannot be read, more room is of no use
    if trouble is None:
        waiting = waiting_of(volume, replicas, view, utc, is_missing=is_missing, pod_node=pod_node)
    sought = _sought(waiting, volume, view, utc)
    disks = named(sought.next, view) if sought else {}
    state = _state(volume, count, data, view)
    held = [*holders_of(volume, explainer.cluster, view)]
    at_work = [each.text for each in held if not each.node]
    answer = "; ".join([_answer(volume, state, count, standing, waiting), *at_work])
    return VolumeReport(
        answer=answer if trouble is None else f"{answer}; {trouble.text}",
        action="" if trouble is None else trouble.action,
        state=state,
        done=_is_done(state, count, standing) and not (waiting or trouble or at_work),
        claim=claim.key if claim else "",
        volume=volume.name,
        size_bytes=volume.size_bytes,
        locality=volume.locality,
        wanted_replicas=count.wanted,
        placed_replicas=count.placed,
        complete_replicas=count.complete,
        attached_to=volume.attached_to or "",
        replicas=[replica_report(each, data, view) for each in data.judged],
        waiting=_waiting(waiting),
        next=[f"{node}/{disk}" for node, names in disks.items() for disk in names],
        in_the_way=_in_the_way(volume, sought, explainer),
        remedies=_remedies(volume, sought, explainer, pod_node),
        nodes=[*_places(sought, nodes, view)] if sought else (),
        held=[HolderReport(node=h.node, text=h.text, action=h.action) for h in held],
        pods=[_pod(each, is_held=bool(held)) for each in standing],
        scheduled=scheduled_report(volume, sought, is_due=waiting is not None and waiting.is_due),
    )


def _is_done(state: State, count: Count, pods: Sequence[PodStanding]) -> bool:
    """Whether nothing is to happen any more to the replicas that there are, and for the pods."""
    is_whole = not count.missing and count.complete >= count.wanted
    is_well = state in (State.HEALTHY, State.DETACHED) and is_whole
    return is_well and all(each.is_served for each in pods)


def _sought(
    waiting: Waiting | None, volume: Volume, view: ClusterView, utc: Moment | None
) -> Sought | None:
    if waiting is None or waiting.code in ("reuse", "frozen_clone", "unscheduled_for_good"):
        return None
    return seek(volume, view, utc, only=waiting.only, waits=waiting.waits)


def _state(volume: Volume, count: Count, data: VolumeData, view: ClusterView) -> State:
    told = volume.told or VolumeTold()
    if volume.deleting:
        return State.DELETING
    is_faulted = data.state in (DataState.FAULTED, DataState.LOST) and not volume.sharded
    if told.robustness == "faulted" or is_faulted:
        return State.FAULTED
    if volume.attached_to is None:
        return State.DETACHED
    at = view.spaces.get(volume.attached_to)
    if at is not None and is_down(at.node):
        return State.NODE_DOWN
    is_whole = not volume.degraded and count.complete >= count.wanted
    return State.HEALTHY if is_whole else State.DEGRADED


def _answer(
    volume: Volume,
    state: State,
    count: Count,
    pods: Sequence[PodStanding],
    waiting: Waiting | None,
) -> str:
    """Say it in one line: how the volume is, how many replicas it has, and what it waits for."""
    parts = "shards" if volume.sharded else "replicas"
    has = f"{count.complete} of {count.wanted} {parts}"
    if state is State.DELETING:
        return "being deleted"
    if state is State.FAULTED:
        if not count.placed and waiting is not None and waiting.code == "due":
            return f"faulted: no disk was found for any of its {parts}; nothing is lost"
        return f"faulted: {has}"
    if state is State.NODE_DOWN:
        return f"attached to node {volume.attached_to}, which is down: {has}"
    if state is State.DETACHED:
        where = f"attaching to {volume.node}" if volume.node else "detached"
        found = [f"{where}: {has}{' placed' if count.complete else ''}"]
        found += [f"{count.leaving} to be moved away"] if count.leaving else []
        found += [_waits(each) for each in pods if not each.is_served or each.code == "no_node"]
        return "; ".join(found)
    found = [f"{state}: {has}, attached to {volume.attached_to}"]
    rebuilt = count.placed + count.leaving - count.complete
    found += [f"{rebuilt} being rebuilt"] if rebuilt > 0 else []
    found += [f"{count.leaving} to be moved away"] if count.leaving else []
    if waiting is not None:
        found.append(waiting.text)
    return "; ".join(found)


def _waits(pod: PodStanding) -> str:
    return f"pod {pod.pod} on {pod.node} waits" if pod.node else f"pod {pod.pod} has no node yet"


def _waiting(waiting: Waiting | None) -> WaitingReport | None:
    if waiting is None:
        return None
    remedy = WAITS[waiting.code]
    return WaitingReport(
        code=waiting.code, text=waiting.text, meaning=remedy.meaning, action=remedy.action
    )


def _places(sought: Sought, nodes: Iterable[NodeName], view: ClusterView) -> Iterator[PlaceReport]:
    owners = claims_of_volumes(view)
    for name in nodes:
        if name not in view.spaces:
            unknown = UnknownNode()
            yield PlaceReport(node=name, takes=False, code=unknown.reason, text=str(unknown))
            continue
        found = place_of(name, sought, view)
        yield PlaceReport(
            node=name,
            takes=found[0].takes,
            code=found[0].code,
            text="; ".join(each.text for each in found),
            also=[each.code for each in found[1:]],
            details=[line for each in found for line in _details(name, each, view, owners)],
            disks=disks_in_the_way(name, sought, view) if any(d.about_disks for d in found) else {},
        )


def _details(
    name: NodeName, found: Hindrance, view: ClusterView, owners: Mapping[str, str]
) -> Sequence[str]:
    if found.rejection is None or found.code not in REJECTIONS:
        return ()
    short = [found.shortfall] if found.shortfall is not None else []
    return node_details(name, found.rejection, view, short, owners)


def _remedies(
    volume: Volume, sought: Sought | None, explainer: Explainer, pod_node: NodeName | None
) -> list[RemedyReport]:
    """Return what would let the next replica be placed, if no node takes it."""
    if sought is None or sought.next:
        return []
    view, utc, name = explainer.view, explainer.utc, volume.name

    def is_placed(view: ClusterView, _: Sequence[NodeName]) -> bool:
        now, replicas = view.volumes[name], view.replicas.get(name, ())
        missing = count_of(now, data_in(view, name)).missing
        waiting = waiting_of(now, replicas, view, utc, is_missing=bool(missing), pod_node=pod_node)
        found = _sought(waiting, now, view, utc)
        has_place = found is not None and bool(found.next)
        return waiting is None or waiting.code == "reuse" or has_place

    places = {node: place_of(node, sought, view) for node in view.spaces}
    only = sought.replica.hard_node_affinity
    open_to_it = [
        node
        for node, found in sorted(places.items(), key=lambda item: (len(item[1]), item[0]))
        if only in (None, node)
        and not {each.code for each in found} & {"replica_on_node", "replica_in_zone"}
    ]
    wanted = Wanted(needs=[sought.need])
    placed = count_of(volume, data_in(view, name)).placed
    others = [] if only else [*of_volume(volume, placed, view)]
    zone_matters = not may_share_zone(volume, view.settings)
    others += with_less_data(volume, view)
    others += [] if only else new_node(wanted, explainer.builder, other_zone=zone_matters)
    return helpful(is_placed, explainer.builder, wanted, open_to_it, others)


def _in_the_way(volume: Volume, sought: Sought | None, explainer: Explainer) -> str:
    """Say whether room that there is may be gone before the volume gets it."""
    if sought is None or not sought.next:
        return ""
    for_all = explainer.extender.situation(NOBODY, explainer.view, utc=explainer.utc)
    missing = for_all.book.forecast.nowhere.get(volume.name, 0)
    if not missing:
        return ""
    return (
        "replicas of other volumes are to be placed as well, and may take this room first: beside "
        f"them {missing} of this volume find none"
    )


def _pod(standing: PodStanding, *, is_held: bool) -> PodReport:
    waits = is_held and not standing.is_served
    return PodReport(
        pod=standing.pod,
        node=standing.node,
        code=standing.code,
        text=standing.text,
        action="See what holds it, as above." if waits else standing.action,
    )
