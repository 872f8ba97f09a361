"""What goals 1 and 2 are about: pods that fill nodes exactly, and a pod that fits on one node."""

import msgspec

from tests.actors import api as kinds
from tests.e2e.outcome import Outcome
from tests.e2e.workloads import claims, pod, stateful_set
from tests.e2e.world import Disks, World

NODES = ("node-1", "node-2", "node-3", "node-4")
PODS = 16
TAKE_OVER_SECONDS = 20.0
"""The lease duration, a second to notice, a call that runs into its timeout, a busy machine."""


class Case(msgspec.Struct, frozen=True):
    """Nodes of goal 1, and how many pods each has room for."""

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


async def fill(world: World, case: Case, *, extender: bool, within: float) -> Outcome:
    """Create all pods of goal 1 at once, and return what has come of them.

    Args:
        world: Without nodes and workloads, as it is left.
        case: Its nodes.
        extender: Whether the manifest of the pods asks for the extender.
        within: Seconds until all must be bound.
    """
    await world.add_nodes(*case.nodes)
    web = stateful_set("web", pods=PODS, extender=extender)
    scheduling = await world.schedule((web, kinds.STATEFUL_SETS), pods=PODS)
    outcome = await scheduling.outcome(within=within)
    await world.wipe()
    return outcome


async def place_four_claims(world: World, *, extender: bool) -> Outcome:
    """Create the pod of goal 2, whose four claims fit on the last of four nodes alone.

    Args:
        world: Without nodes and workloads, as it is left.
        extender: Whether the manifest of the pod asks for the extender.
    """
    await world.add_nodes(*[{f"disk-{n}": 100 for n in range(count)} for count in range(1, 5)])
    wanted = claims("data", 4)
    scheduling = await world.schedule(
        *[(claim, kinds.CLAIMS) for claim in wanted],
        (pod("four", *[c["metadata"]["name"] for c in wanted], extender=extender), kinds.PODS),
        pods=1,
    )
    outcome = await scheduling.outcome()
    await world.wipe()
    return outcome
