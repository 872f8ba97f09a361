"""Nodes that so many pods, each with a claim of 100 GiB, fill exactly: what goal 1 is about."""

import msgspec

from tests.e2e.world import Disks

NODES = ("node-1", "node-2", "node-3", "node-4")
PODS = 16
TAKE_OVER_SECONDS = 20.0
"""The lease duration, a second to notice, a call that runs into its timeout, a busy machine."""


class Case(msgspec.Struct, frozen=True):
    """Nodes, and how many pods each has room for."""

    name: str
    nodes: tuple[Disks, ...]
    pods: str

    def __str__(self) -> str:
        return self.name.removeprefix("goal ").partition(":")[0]


def _case(name: str, pods: str, *gibibytes: int) -> Case:
    return Case(name, tuple({"disk": gib} for gib in gibibytes), pods)


EVEN = _case("goal 1a: 4 x 400 GiB", "4/4/4/4", 400, 400, 400, 400)
UNEVEN = _case("goal 1b: 800/400/200/200 GiB", "8/4/2/2", 800, 400, 200, 200)
SEVERAL = Case(
    "goal 1b on several disks: 4 x 200/2 x 200/2 x 100/200 GiB",
    (
        {"a": 200, "b": 200, "c": 200, "d": 200},
        {"a": 200, "b": 200},
        {"a": 100, "b": 100},
        {"a": 200},
    ),
    "8/4/2/2",
)
