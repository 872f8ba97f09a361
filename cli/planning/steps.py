"""The steps of `plan`, each a command with arguments and options of its own."""

from pathlib import Path
from typing import Annotated

import typer

from cli.kube.workloads import MOST_PODS
from cli.names import node_name
from cli.options import load_settings
from cli.planning.command import InFlight, step, steps
from cli.planning.scenario import Workloads, read_scenario
from cli.planning.values import (
    add_disk,
    names_of,
    new_node,
    resize,
    scale,
    settings_of,
    size_bytes,
)
from cli.planning.workloads import fill_step, place_step
from planner.plan import Step
from planner.steps.disks import RemoveDisk
from planner.steps.draining import Drain
from planner.steps.nodes import AddNode, Cordon, LoseNode
from planner.steps.rebalancing import Rebalance
from planner.steps.workloads import MOST_PODS as MOST_TRIED
from planner.steps.workloads import FillSized, Sized

__all__ = ["steps"]

_MOST_REPLICAS = 20
"""Longhorn allows no more."""

_Nodes = Annotated[
    list[str], typer.Argument(metavar="NODE...", help="Nodes of the cluster.", show_default=False)
]
_Most = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, max=MOST_PODS,
        help=f"Try no more than so many pods. Default: {MOST_TRIED}.",
    ),
]  # fmt: skip
_Size = Annotated[str, typer.Argument(metavar="SIZE", help="Such as 100Gi.", show_default=False)]


@step("place", "Exit status: 0 all of it works, 1 not all of it (a pod gets no node, or "
    "a volume ends degraded), 2 the input "
      "cannot be used. With --until-full it is 0 or 2.")  # fmt: skip
def place(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="With workloads; - is stdin.", show_default=False),
    ],
    replicas: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=MOST_PODS,
            help="How many pods there are to be, of each workload. Default: as its file says.",
        ),
    ] = None,
    until_full: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--until-full", help="Place pods until one does not fit.")
    ] = False,
    most: _Most = None,
    in_flight: InFlight = 20,
    *,
    namespace: str,
) -> list[Step]:  # fmt: skip
    """Create the pods of the workloads in a file."""
    if until_full:
        if replicas is not None:
            raise ValueError("--replicas says how many pods, and --until-full tries; give one")
        return [_workloads(in_flight, namespace).fill(file, most)]
    if most is not None:
        raise ValueError("--most ends --until-full, which is not given")
    return [place_step(file, replicas, namespace)]


@step("capacity", "Exit status: 0 it is known how many fit, 2 the input cannot be used.")
def capacity(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="With one workload; - is stdin.", show_default=False),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--size",
            metavar="SIZE",
            help="In place of FILE: pods with one claim of this size each.",
        ),
    ] = None,
    class_: Annotated[
        str | None,
        typer.Option(
            "--class", metavar="NAME",
            help="With --size: the StorageClass of the claims. Default: the cluster's default.",
        ),
    ] = None,
    volume_replicas: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=_MOST_REPLICAS,
            help="With --size: replicas of each volume. Default: as the class says.",
        ),
    ] = None,
    most: _Most = None,
    in_flight: InFlight = 20,
    *,
    namespace: str,
) -> list[Step]:  # fmt: skip
    """Count how many pods of a workload or a size fit."""
    workloads = _workloads(in_flight, namespace)
    if size is None:
        if class_ is not None or volume_replicas is not None:
            raise ValueError("--class and --volume-replicas go with --size, which is not given")
        if file is None:
            raise ValueError("what is to fit is missing; give a FILE with a workload, or --size")
        return [workloads.fill(file, most)]
    if file is not None:
        raise ValueError("a FILE and --size say both what is to fit; give one")
    sized = Sized(
        size_bytes=size_bytes(size), storage_class=class_, volume_replicas=volume_replicas
    )
    return [workloads.fill_sized(sized, most)]


@step("drain")
def drain(
    nodes: _Nodes,
    force: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--force", help="Delete pods that no controller makes again.")
    ] = False,
    delete_emptydir_data: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--delete-emptydir-data", help="Evict pods with an emptyDir.")
    ] = False,
) -> list[Step]:
    """Drain nodes as kubectl does, one after another."""
    return [Drain(nodes=names_of(nodes), force=force, delete_local_data=delete_emptydir_data)]


@step("lose")
def lose(nodes: _Nodes) -> list[Step]:
    """Take nodes away for good, with their disks, all at once."""
    return [LoseNode(nodes=names_of(nodes))]


@step("cordon")
def cordon(nodes: _Nodes) -> list[Step]:
    """Let no new pod come to nodes."""
    return [Cordon(nodes=names_of(nodes))]


@step("uncordon")
def uncordon(nodes: _Nodes) -> list[Step]:
    """Let pods come to nodes again."""
    return [Cordon(nodes=names_of(nodes), is_cordoned=False)]


@step("add-node")
def add_node(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", show_default=False)],
    like: Annotated[
        str,
        typer.Option(
            metavar="NODE",
            help="The new nodes are as this one is, with empty disks.", show_default=False,
        ),
    ],
) -> list[Step]:  # fmt: skip
    """Add nodes that are as another one."""
    known = node_name(like)
    return [AddNode(name=new_node(name), like=known) for name in names_of(names)]


@step("add-disk")
def add_empty_disk(
    disk: Annotated[str, typer.Argument(metavar="NODE/DISK", show_default=False)],
    size: _Size,
    reserved: Annotated[
        str, typer.Option(metavar="SIZE", help="Reserved on the new disk.")
    ] = "0",
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="Of the new disk. May be given several times."),
    ] = None,
) -> list[Step]:  # fmt: skip
    """Add an empty disk to a node."""
    return [add_disk(*_disk(disk), size, reserved=reserved, tags=tuple(tags or ()))]


@step("remove-disk")
def remove_disks(
    disks: Annotated[list[str], typer.Argument(metavar="NODE/DISK...", show_default=False)],
) -> list[Step]:
    """Have Longhorn move all replicas away from disks."""
    return [RemoveDisk(node=node, disk=disk) for node, disk in map(_disk, disks)]


@step("rebalance", "Exit status: 0 no disk is above the level, if one is given, 1 some disk stays "
      "above it, or a volume ends degraded, 2 the input cannot be used.")  # fmt: skip
def rebalance(
    below: Annotated[
        int | None, typer.Option(metavar="PERCENT", min=1, max=100, help="Of each disk's limit."),
    ] = None,
    moves: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=1_000, show_default=False,
            help="At most so many moves; with --below 100 if it is not given.",
        ),
    ] = None,
) -> list[Step]:  # fmt: skip
    """Say which replicas to move so that disks come below a level, or as even as moves allow."""
    if below is None and moves is None:
        raise ValueError("what is to be reached is missing; give --below, --moves or both")
    namespace = load_settings().longhorn_namespace
    return [Rebalance(most_moves=moves or 100, below_percent=below, namespace=namespace)]


@step("resize")
def resize_claim(
    claim: Annotated[str, typer.Argument(metavar="[NAMESPACE/]CLAIM", show_default=False)],
    size: _Size,
    namespace: str,
) -> list[Step]:
    """Expand the volume of a claim."""
    return [resize(claim, size, namespace)]


@step("scale")
def scale_workload(
    workload: Annotated[str, typer.Argument(metavar="[KIND/][NAMESPACE/]NAME", show_default=False)],
    replicas: Annotated[
        int,
        typer.Argument(
            metavar="N", min=0, max=MOST_PODS, show_default=False,
            help="How many pods there are to be.",
        ),
    ],
    namespace: str,
) -> list[Step]:  # fmt: skip
    """Give a workload of the cluster more pods or fewer."""
    return [scale(workload, replicas, namespace)]


@step("set")
def set_settings(
    values: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", show_default=False)],
) -> list[Step]:
    """Change settings of Longhorn."""
    pairs = {}
    for word in values:
        name, equals, value = word.partition("=")
        if not (name and equals):
            raise ValueError(f"{word[:60]!r} sets nothing; give NAME=VALUE")
        if name in pairs:
            raise ValueError(f"{name[:60]} is set twice; set it once")
        pairs[name] = value
    return settings_of(pairs)


@step("run")
def run(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO.yaml", show_default=False,
            help="With the steps, as docs/plan.md says; - is stdin.",
        ),
    ],
    in_flight: InFlight = 20,
    *,
    namespace: str,
) -> list[Step]:  # fmt: skip
    """Take the steps of a file, one after another."""
    return read_scenario(scenario, _workloads(in_flight, namespace))


def _workloads(in_flight: int, namespace: str) -> Workloads:
    """Return what makes steps of files with workloads."""
    return Workloads(
        namespace=namespace,
        place=lambda path, replicas: place_step(path, replicas, namespace),
        fill=lambda path, most: fill_step(path, most, in_flight, namespace),
        fill_sized=lambda sized, most: FillSized(
            sized=sized, group=in_flight, most=most or MOST_TRIED
        ),
    )


def _disk(word: str) -> tuple[str, str]:
    named = node_name(word) if word.count("/") > 1 else word  # a node may be called `no`
    node, slash, disk = named.partition("/")
    if not (node and slash and disk):
        raise ValueError(f"{word[:60]!r} names no disk; give NODE/DISK")
    return node, disk
