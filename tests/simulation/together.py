"""Whether replicas find room in the cluster together, where Longhorn lets them go. Pure.

Asks CP-SAT whether there is an arrangement at all, and nothing of our service.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from ortools.sat.python import cp_model

from longhorn import (
    DiskId,
    Need,
    Node,
    NodeDisks,
    NodeName,
    Replica,
    Settings,
    Volume,
    disk_space,
    groups_of,
    has_room,
    has_tags,
    is_potentially_reusable,
    may_share_node,
    may_share_zone,
    mismatch,
    need_of,
    refusal_of,
    takes_replicas,
    usage_of,
)

_EFFORT = 10.0
"""Of one search, in CP-SAT's own measure, which is the same on every machine. Searches of so few
replicas take a hundredth of it."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody knows of the cluster."""

    nodes: Sequence[Node]
    volumes: Mapping[str, Volume]
    replicas: Mapping[str, Sequence[Replica]]
    """By volume."""


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas of one volume that are not placed yet."""

    volume: Volume
    replicas: Sequence[Replica] = ()
    """Those that there are."""
    anywhere: int = 0
    """So many go where Longhorn likes."""
    least: int = 0
    """So many of these must find room; the others may."""
    local: str = ""
    """One more goes to this node; "" if none does."""
    needs_local: bool = False
    """Whether that one must find room."""
    shared: Sequence[Replica] = ()
    """Of a linked clone: the replicas of the volume that it shares data with."""
    by_node: bool = False
    """Whether it may go to all disks of their nodes."""

    @property
    def whole(self) -> "Missing":
        """The same, with room for all of it."""
        return msgspec.structs.replace(self, least=self.anywhere, needs_local=bool(self.local))


class Found(msgspec.Struct, frozen=True):
    """For how many replicas of a volume there is room."""

    anywhere: int
    local: int


def spaces_of(known: Known, settings: Settings, *, by_lists: bool = False) -> list[NodeDisks]:
    """Return what each disk has left beside all replicas that are placed on it.

    Args:
        known: What is known.
        settings: Longhorn's.
        by_lists: Whether replicas that are gone count as well where disks list them still.
    """
    names = {str(each.name) for replicas in known.replicas.values() for each in replicas}
    placed: dict[tuple[object, object], dict[str, int]] = {}
    for each in (each for replicas in known.replicas.values() for each in replicas if each.disk):
        placed.setdefault((each.node, each.disk), {})[str(each.name)] = each.size_bytes
    spaces = []
    for node in known.nodes:
        disks = []
        for disk in node.disks:
            listed = placed.get((node.name, disk.id), {})
            if by_lists:
                gone = {name: size for name, size in disk.listed.items() if name not in names}
                listed = gone | listed
            scheduled = sum(listed.values())
            counted = msgspec.structs.replace(disk, listed=listed, scheduled_bytes=scheduled)
            disks.append(disk_space(counted, settings))
        spaces.append(NodeDisks(node=node, disks=tuple(disks)))
    return spaces


def find_room(
    missing: Iterable[Missing], spaces: Sequence[NodeDisks], settings: Settings
) -> dict[str, Found] | None:
    """Find room for as many replicas as there can be; None if there is none for those that must.

    Args:
        missing: What is to be placed, each volume once.
        spaces: All nodes.
        settings: Longhorn's.
    """
    missing = [*missing]
    model = cp_model.CpModel()
    taken: dict[tuple[str, str], list[Any]] = {}
    chosen: dict[str, tuple[Any, Any]] = {}
    for each in missing:
        here, anywhere = _variables(model, each, spaces, settings)
        local, elsewhere = sum(here.values()), sum(anywhere.values())
        model.add(elsewhere >= each.least)
        model.add(elsewhere <= each.anywhere)
        model.add(local >= each.needs_local)
        model.add(local <= 1)
        _keep_apart(model, each.volume, [*here.items(), *anywhere.items()], spaces, settings)
        for where, variable in [*here.items(), *anywhere.items()]:
            size = each.volume.shard_bytes or each.volume.size_bytes
            taken.setdefault(where, []).append(size * variable)
        chosen[each.volume.name] = (elsewhere, local)
    for space in spaces:
        for disk in space.disks:
            if (space.node.name, disk.disk.name) in taken:
                left = max(0, disk.logical_headroom_bytes)
                model.add(sum(taken[space.node.name, disk.disk.name]) <= left)
    if any(each != each.whole for each in missing):
        model.maximize(sum(elsewhere + local for elsewhere, local in chosen.values()))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = _EFFORT
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE), solver.status_name(status)
    return {
        name: Found(solver.value(elsewhere), solver.value(local))
        for name, (elsewhere, local) in chosen.items()
    }


def most_of(
    missing: Sequence[Missing], spaces: Sequence[NodeDisks], settings: Settings
) -> list[Missing] | None:
    """Return as many as find room together, all of them needed; None without room for the least."""
    found = find_room(missing, spaces, settings)
    if found is None:
        return None
    return [
        msgspec.structs.replace(each, least=there.anywhere, needs_local=bool(there.local))
        for each in missing
        for there in (found[each.volume.name],)
    ]


def has_room_for_more(
    kept: Sequence[Missing], spaces: Sequence[NodeDisks], settings: Settings
) -> bool:
    """Say whether one more replica finds room beside those that are needed of *kept*."""
    return any(
        find_room([*kept[:index], more, *kept[index + 1 :]], spaces, settings) is not None
        for index, each in enumerate(kept)
        for more in _one_more(each)
    )


def filled(
    missing: Sequence[Missing], spaces: Sequence[NodeDisks], settings: Settings
) -> list[Missing]:
    """Return what finds room if all get as much as they can in this order, all of it needed."""
    kept = [*missing]
    for index in range(len(kept)):
        while found := next(
            (
                more
                for more in _one_more(kept[index])
                if find_room([*kept[:index], more, *kept[index + 1 :]], spaces, settings)
                is not None
            ),
            None,
        ):
            kept[index] = found
    return kept


def _one_more(missing: Missing) -> Iterable[Missing]:
    if missing.least < missing.anywhere:
        yield msgspec.structs.replace(missing, least=missing.least + 1)
    if missing.local and not missing.needs_local:
        yield msgspec.structs.replace(missing, needs_local=True)


def _variables(
    model: cp_model.CpModel, missing: Missing, spaces: Sequence[NodeDisks], settings: Settings
) -> tuple[dict[tuple[str, str], Any], dict[tuple[str, str], Any]]:
    """Make a number for each disk that the local replica may go to, and for all others' disks."""
    volume, replicas = missing.volume, (*missing.replicas, *missing.shared)
    need = need_of(volume, None, replicas)
    hosts = [space for space in spaces if refusal_of(space.node) is None]
    counted = [r for r in missing.replicas if not r.failed or is_potentially_reusable(r)]
    takers = {space.node.name: space for space in hosts}
    groups = groups_of(volume, usage_of(counted, takers), settings)
    here, anywhere = {}, {}
    for space in spaces:
        name = space.node.name
        is_local = name == missing.local
        is_allowed = (
            refusal_of(space.node) is None
            and has_tags(space.node, need, settings)
            and any(group.has(name, space.node.zone) for group in groups)
        )
        for disk in space.disks:
            if mismatch(disk.kind, need, settings) is not None:
                continue
            if not _may_share(missing, need, name, disk.disk.id):
                continue
            if not has_room(disk, need, disk.scheduled_bytes):
                continue
            where, label = (
                (str(name), str(disk.disk.name)),
                f"{volume.name} {name} {disk.disk.name}",
            )
            if is_local:
                here[where] = model.new_bool_var(f"local {label}")
            if missing.anywhere and is_allowed and takes_replicas(disk.disk):
                anywhere[where] = model.new_int_var(0, missing.anywhere, label)
    return here, anywhere


def _may_share(missing: Missing, need: Need, node: NodeName, disk: DiskId | None) -> bool:
    """Say whether a disk holds what a linked clone shares; any does for other volumes."""
    if need.places is None:
        return True
    if missing.by_node:
        return any(node == each for each, _ in need.places)
    return (node, disk) in need.places


def _keep_apart(
    model: cp_model.CpModel,
    volume: Volume,
    variables: Sequence[tuple[tuple[str, str], Any]],
    spaces: Sequence[NodeDisks],
    settings: Settings,
) -> None:
    """Have the replicas of a volume share no node, or no zone, where that is asked for."""
    zones = {str(space.node.name): space.node.zone for space in spaces}
    groups: dict[str, list[Any]] = {}
    if may_share_zone(volume, settings):
        if may_share_node(volume, settings):
            return
        for (node, _), variable in variables:
            groups.setdefault(node, []).append(variable)
    else:
        for (node, _), variable in variables:
            groups.setdefault(zones[node], []).append(variable)
    for group in groups.values():
        model.add(sum(group) <= 1)
