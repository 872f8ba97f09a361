"""The commands that move a replica, one after another.

The old replica is deleted only once the volume wants no more than are left: else Longhorn would
build another one in its place. What keeps Longhorn from moving replicas of the volume by itself
stays until then.
"""

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

import msgspec

from longhorn import Disk, Locality, Volume
from planner.moving import Move

_WORDS = {None: "ignored", True: "enabled", False: "disabled"}


def commands_of(move: Move, disk: Disk, namespace: str) -> Iterator[str]:
    """Yield what is to be run, each line once the one before has ended.

    Args:
        move: The move.
        disk: Its target.
        namespace: Longhorn's.
    """
    kubectl, volume, tags = f"kubectl -n {quote(namespace)}", move.volume.name, sorted(disk.tags)
    before, meanwhile = _spec(move.volume), _spec(move.meanwhile)
    changed = {name: value for name, value in meanwhile.items() if value != before[name]}
    back = {name: before[name] for name in changed}
    more, as_many = (
        {"numberOfReplicas": each.wanted_replicas} for each in (move.meanwhile, move.volume)
    )

    def patch(kind: str, name: str, spec: Mapping[str, Any]) -> str:
        text = msgspec.json.encode({"spec": spec}).decode()
        return f"{kubectl} patch {kind}.longhorn.io {quote(name)} --type merge -p {quote(text)}"

    def with_tags(*names: str) -> str:
        return patch("nodes", move.target.node, {"disks": {disk.name: {"tags": [*names]}}})

    if move.tags:
        yield with_tags(*tags, *move.tags)
    yield patch("volumes", volume, more | changed)
    labels = quote(f"longhornvolume={volume},longhorndiskuuid={move.target.disk}")
    asked = (
        f"{kubectl} get replicas.longhorn.io -l {labels} -o jsonpath='{{.items[*].spec.healthyAt}}'"
    )
    # In one: who ends the waiting must not delete the old replica by what was pasted after it.
    yield (
        f"until {asked} | grep -q .; do sleep 10; done && {patch('volumes', volume, as_many)} && "
        f"{kubectl} delete replicas.longhorn.io {quote(move.replica.name)}"
    )
    if back:
        yield patch("volumes", volume, back)
    if move.tags:
        yield with_tags(*tags)


def _spec(volume: Volume) -> dict[str, Any]:
    """Return of a Volume's spec what a move may change, but for the number of replicas."""
    return {
        "diskSelector": volume.disk_selector,
        "dataLocality": Locality(volume.locality),
        "replicaAutoBalance": volume.auto_balance or "ignored",
        "replicaSoftAntiAffinity": _WORDS[volume.soft_anti_affinity],
        "replicaZoneSoftAntiAffinity": _WORDS[volume.zone_soft_anti_affinity],
    }
