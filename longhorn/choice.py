"""Which of the candidate disks Longhorn takes: the one that leaves the others most in balance.

The node comes first, as if its disks were one; then a disk of it. In GiB, for a size of 100: node A
has 300 and 200 unused, B 400. Taken from A that leaves (400, 400), from B (500, 300), so A. There
(200, 200, 400) is more even than (300, 100, 400): the disk of 300.

Source: longhorn-manager scheduler/replica_scheduler.go getDiskWithMostBalanceScore, since v1.11.
"""

from collections.abc import Mapping

from longhorn.balance import level_of, most_even, together
from longhorn.candidates import Candidate, Candidates
from longhorn.hosts import Host
from longhorn.records import DiskId, NodeName


def choices(candidates: Candidates, size_bytes: int) -> tuple[Candidate, ...]:
    """Return every disk that Longhorn may take for a replica of *size_bytes*, sorted.

    Several where its choice is arbitrary: where they leave the same balance, or where none of them
    has the size unused, as on disks that are over-provisioned or partly written. None if there
    are no candidates.
    """
    hosts = candidates.preferred
    nodes = chosen_nodes(hosts, size_bytes)
    chosen = {node: chosen_disks(hosts, node, size_bytes) for node in nodes}
    if not all(chosen.values()):
        chosen = {}
    chosen = chosen or {node: [*host.unused_bytes] for node, host in hosts.items()}
    return tuple(sorted(Candidate(node, disk) for node, disks in chosen.items() for disk in disks))


def chosen_nodes(hosts: Mapping[NodeName, Host], size_bytes: int) -> list[NodeName]:
    """Return the nodes among which the choice is arbitrary; none if that is so for all disks."""
    if not hosts:
        return []
    unused = {name: host.level.total for name, host in hosts.items()}
    return most_even(level_of(unused.values()), unused, size_bytes)


def chosen_disks(hosts: Mapping[NodeName, Host], node: NodeName, size_bytes: int) -> list[DiskId]:
    """Return the same of the disks of one of the chosen nodes."""
    level = together([host.level for host in hosts.values()])
    return most_even(level, hosts[node].unused_bytes, size_bytes)
