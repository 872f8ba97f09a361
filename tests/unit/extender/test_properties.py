"""What holds for every cluster: the answers against the formulas, and against each other.

The checker is written from longhorn.md 3.2, 3.3 and 3.6, and shares nothing with the code: it
tries all ways to put volumes on disks and tests each disk by Longhorn's inequalities.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import msgspec
from hypothesis import event, given, settings
from hypothesis import strategies as st

from extender import Basis, ClusterView, Extender, Ledger, StepLimits
from extender.explaining import local_disks
from extender.space import There, node_space
from extender.verdicts.shortages import LocalRoomAtRisk
from extender.view import ChangeLog
from longhorn import Disk, Locality, Node, NodeName, Replica, Volume
from tests.builders import GENEROUS, GIB, accepted, ask, pod
from tests.effort import examples
from tests.strategies import Cluster, clusters, nodes, sizes_bytes, volumes
from tests.unit.extender.singly import judged_singly

FEWER = settings(max_examples=examples(60))
"""For what other tests show as well, each in its way; every example is a whole cluster."""


def longhorn_takes(
    disk: Disk,
    node: Node,
    new: Sequence[Volume],
    replicas: Sequence[Replica],
    values: Mapping[str, str],
) -> bool:
    """Apply longhorn.md 3.6 to one disk that is to take all of *new* (and our rule on Ready)."""
    usable = disk.id and disk.allow_scheduling and not disk.evicting and disk.schedulable.is_true
    if not new:
        return True
    if not (usable and disk.ready.is_true):
        return False
    allow_empty = values["allow-empty-disk-selector-volume"] == "true"
    for volume in new:
        if disk.type != volume.disk_type:
            return False
        if not selected(disk.tags, volume.disk_selector, allow_empty):
            return False
    unlisted = sum(
        replica.size_bytes
        for replica in replicas
        if (replica.node, replica.disk) == (node.name, disk.id) and replica.name not in disk.listed
    )
    over_provisioning = float(values["storage-over-provisioning-percentage"])
    minimal = float(values["storage-minimal-available-percentage"])
    used = sum(volume.actual_bytes for volume in new)
    size = sum(volume.size_bytes for volume in new)
    room = float(disk.maximum_bytes - disk.reserved_bytes)
    return (
        disk.maximum_bytes > 0
        and disk.available_bytes > 0
        and disk.available_bytes - used > int(float(disk.maximum_bytes) * minimal / 100.0)
        and size + disk.scheduled_bytes + unlisted <= int(room * over_provisioning / 100.0)
    )


def selected(tags: frozenset[str], selector: Sequence[str], allow_empty: bool) -> bool:  # noqa: FBT001
    if not selector:
        return allow_empty or not tags
    return all(tag in tags for tag in selector)


def node_qualifies(node: Node, new: Sequence[Volume], values: Mapping[str, str]) -> bool:
    """Apply longhorn.md 3.2 and the node part of 3.3 (and our rule on eviction)."""
    allow_empty = values["allow-empty-node-selector-volume"] == "true"
    in_topology = all(
        not volume.topology
        or any(t.zone in ("", node.zone) and t.region in ("", node.region) for t in volume.topology)
        for volume in new
    )
    return (
        node.ready.is_true
        and node.schedulable.is_true
        and node.allow_scheduling
        and not node.deleting
        and not node.evicting
        and in_topology
        and all(selected(node.tags, volume.node_selector, allow_empty) for volume in new)
    )


def holds(
    node: Node,
    assignment: Mapping[Volume, Disk],
    replicas: Sequence[Replica],
    values: Mapping[str, str],
) -> bool:
    """Say whether Longhorn's inequalities hold on every disk of the node."""
    return all(
        longhorn_takes(
            disk, node, [v for v, on in assignment.items() if on is disk], replicas, values
        )
        for disk in node.disks
    )


def some_assignment_holds(
    node: Node, new: Sequence[Volume], replicas: Sequence[Replica], values: Mapping[str, str]
) -> bool:
    return any(
        holds(node, dict(zip(new, choice, strict=True)), replicas, values)
        for choice in product(node.disks, repeat=len(new))
    )


def values_of(cluster: Cluster) -> dict[str, str]:
    return {setting.name: setting.value for setting in cluster.settings}


@given(clusters())
def test_a_node_is_accepted_if_and_only_if_some_assignment_holds(cluster):
    values = values_of(cluster)
    expected = [
        node.name
        for node in cluster.nodes
        if node_qualifies(node, cluster.volumes, values)
        and some_assignment_holds(node, cluster.volumes, cluster.replicas, values)
    ]
    event(f"{len(expected)} nodes accepted")

    answer = ask(cluster.view, *cluster.claims)

    at_risk = [name for name, why in answer.rejected.items() if isinstance(why, LocalRoomAtRisk)]
    assert sorted([*answer.accepted, *at_risk]) == sorted(expected)
    # A strict-local volume must find room in whatever order the pod's volumes come.
    assert not at_risk or any(v.locality is Locality.STRICT_LOCAL for v in cluster.volumes)


@given(clusters(own_replicas=True, pending_replicas=True))
def test_what_is_placed_on_an_accepted_node_holds(cluster):
    view, values = cluster.view, values_of(cluster)
    result = ask(view, *cluster.claims)
    by_name = {volume.name: volume for volume in cluster.volumes}

    for name, local in local_disks(result).items():
        (node,) = (node for node in cluster.nodes if node.name == name)
        disks = {disk.name: disk for disk in node.disks}
        new = {by_name[volume]: disks[disk] for volume, disk in local.new.items()}

        assert holds(node, new, cluster.replicas, values)
        assert local.existing.keys() | local.new.keys() == by_name.keys()
        assert not local.existing.keys() & local.new.keys()


@FEWER
@given(clusters(own_replicas=True, pending_replicas=True))
def test_answer_is_that_of_packing_each_node(cluster):
    view = cluster.view

    answer = ask(view, *cluster.claims)

    if answer.basis is Basis.PLACEMENT:
        event("by placement")
        judged = judged_singly(answer, view, Ledger())
        at_risk = {name for name in answer.rejected if name not in judged}
        assert answer.rejected == judged | dict.fromkeys(at_risk, LocalRoomAtRisk())
        assert not at_risk or any(v.locality is Locality.STRICT_LOCAL for v in cluster.volumes)


@FEWER
@given(clusters(own_replicas=True, pending_replicas=True), st.data())
def test_each_candidate_has_one_verdict_in_whatever_order(cluster, data):
    view, candidates = cluster.view, [NodeName("unknown"), *(node.name for node in cluster.nodes)]
    shuffled = data.draw(st.permutations(candidates))
    claims = data.draw(st.permutations(cluster.claims))

    result = ask(view, *cluster.claims, candidates=candidates)
    other = ask(view, *claims, candidates=shuffled)

    assert sorted([*result.accepted, *result.rejected]) == sorted(candidates)
    assert sorted(other.accepted) == sorted(result.accepted)
    assert other.accepted == [name for name in shuffled if name in result.accepted]
    assert other.rejected.keys() == result.rejected.keys()
    assert ask(view, *cluster.claims, candidates=shuffled).rejected == result.rejected


@FEWER
@given(clusters(own_replicas=True), st.data())
def test_more_room_never_turns_acceptance_into_rejection(cluster, data):
    """There are no pending replicas: a disk that grows may come to take one that it could not."""

    def roomier(disk: Disk) -> Disk:
        return msgspec.structs.replace(
            disk,
            available_bytes=disk.available_bytes + data.draw(sizes_bytes()),
            scheduled_bytes=max(0, disk.scheduled_bytes - data.draw(sizes_bytes())),
            reserved_bytes=max(0, disk.reserved_bytes - data.draw(sizes_bytes())),
        )

    before = accepted(cluster.view, *cluster.claims)
    larger = tuple(
        msgspec.structs.replace(node, disks=tuple(roomier(disk) for disk in node.disks))
        for node in cluster.nodes
    )

    after = accepted(msgspec.structs.replace(cluster, nodes=larger).view, *cluster.claims)

    assert set(before) <= set(after)


@FEWER
@given(clusters(own_replicas=True, pending_replicas=True), volumes("extra"))
def test_one_claim_more_never_adds_a_node(cluster, extra):
    """Where nodes hold all replicas, others are left out for that reason alone; so not there."""
    before = ask(cluster.view, *cluster.claims)
    if before.basis is Basis.REPLICAS:
        return
    larger = msgspec.structs.replace(cluster, volumes=(*cluster.volumes, extra))

    after = accepted(larger.view, *larger.claims)

    assert set(after) <= set(before.accepted)


@FEWER
@given(clusters(own_replicas=True, pending_replicas=True))
def test_volumes_that_need_not_be_local_cost_no_node_or_all(cluster):
    remote = [
        msgspec.structs.replace(volume, locality=Locality.DISABLED) for volume in cluster.volumes
    ]
    relaxed = msgspec.structs.replace(cluster, volumes=tuple(remote))
    candidates = [NodeName("unknown"), *(node.name for node in cluster.nodes)]
    attaching = [node.name for node in cluster.nodes if node.ready.is_true]

    assert accepted(relaxed.view, *cluster.claims, candidates=candidates) in (attaching, [])


@FEWER
@given(clusters(own_replicas=True, pending_replicas=True), st.data())
def test_history_does_not_change_an_answer(cluster, data):
    """An extender that answered before, on this and on other clusters, answers as a new one."""
    candidates = [NodeName("unknown"), *(node.name for node in cluster.nodes)]
    remembering = Extender(GENEROUS)

    for _ in range(3):
        view = cluster.view
        for _ in range(2):
            some = data.draw(st.lists(st.sampled_from(cluster.claims), min_size=1, unique=True))
            offered = data.draw(st.lists(st.sampled_from(candidates), unique=True))

            remembered = remembering.filter(pod(*some), offered, view)
            fresh = Extender(GENEROUS).filter(pod(*some), offered, view)

            assert (remembered.basis, remembered.accepted) == (fresh.basis, fresh.accepted)
            assert remembered.rejected == fresh.rejected
        changed = data.draw(st.sampled_from(cluster.nodes))
        cluster = with_node(cluster, data.draw(nodes(changed.name)))


@FEWER
@given(clusters(own_replicas=True, pending_replicas=True), st.data())
def test_history_does_not_change_an_answer_when_a_view_says_what_changed(cluster, data):
    """A view that is carried on replaces single spaces, and notes their names in one log."""
    candidates = [node.name for node in cluster.nodes]
    remembering, changes = Extender(GENEROUS), ChangeLog[NodeName]()
    view = msgspec.structs.replace(cluster.view, changes=changes)

    for _ in range(4):
        some = data.draw(st.lists(st.sampled_from(cluster.claims), min_size=1, unique=True))

        remembered = remembering.filter(pod(*some), candidates, view)
        fresh = Extender(GENEROUS).filter(pod(*some), candidates, view)

        assert (remembered.basis, remembered.accepted) == (fresh.basis, fresh.accepted)
        assert remembered.rejected == fresh.rejected
        name = data.draw(st.sampled_from(candidates))
        view = with_space(view, data.draw(st.none() | nodes(name)), name, cluster.replicas)
        changes.add(name)


@FEWER
@given(clusters(own_replicas=True, pending_replicas=True), st.integers(0, 5), st.integers(0, 8))
def test_limits_only_turn_answers_into_undecided(cluster, per_node, per_request):
    view = cluster.view
    limits = StepLimits(per_node=per_node, per_request=per_request)

    limited = ask(view, *cluster.claims, limits=limits)
    full = ask(view, *cluster.claims)

    assert set(limited.accepted) <= set(full.accepted)
    for name, rejection in limited.rejected.items():
        assert rejection.reason == "packing_undecided" or rejection == full.rejected[name]


@FEWER
@given(clusters(), sizes_bytes(), sizes_bytes())
def test_text_of_a_reason_does_not_vary_with_what_is_free(
    cluster, available_bytes, scheduled_bytes
):
    def otherwise_filled(disk: Disk) -> Disk:
        return msgspec.structs.replace(
            disk, available_bytes=available_bytes, scheduled_bytes=scheduled_bytes + GIB
        )

    before = ask(cluster.view, *cluster.claims).rejected
    fuller = tuple(
        msgspec.structs.replace(node, disks=tuple(otherwise_filled(disk) for disk in node.disks))
        for node in cluster.nodes
    )

    after = ask(msgspec.structs.replace(cluster, nodes=fuller).view, *cluster.claims).rejected

    for name in before.keys() & after.keys():
        if before[name].reason == after[name].reason == "insufficient_storage":
            continue  # it names the largest volume that no disk has room for
        if before[name].reason == after[name].reason:
            assert str(before[name]) == str(after[name])


def with_node(cluster: Cluster, changed: Node) -> Cluster:
    return msgspec.structs.replace(
        cluster,
        nodes=tuple(changed if node.name == changed.name else node for node in cluster.nodes),
    )


def with_space(
    view: ClusterView, node: Node | None, name: NodeName, replicas: Sequence[Replica]
) -> ClusterView:
    """Return the view with one node replaced, or removed if it is None."""
    kinds = dict(view.disk_kinds)
    spaces = {other: space for other, space in view.spaces.items() if other != name}
    if node is not None:
        here = [r for r in replicas if name in (r.node, r.hard_node_affinity)]
        spaces[name] = node_space(node, There(here), view.settings, kinds)
    return msgspec.structs.replace(view, spaces=spaces, disk_kinds=kinds)
