"""Of the nodes that fit, pods get the best one: beside their data, in balance.

What other plugins of kube-scheduler want counts as well; here they have little to say, but where a
test is about them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from extender import Balance
from tests.actors import api as kinds
from tests.actors.api import Key, Object
from tests.e2e.effort import FOR_REPORT, runs
from tests.e2e.extender import InstanceProcess
from tests.e2e.lending import ONE_LOOP
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB, claim, pod
from tests.e2e.world import World

pytestmark = ONE_LOOP

WITHOUT_SCORES: Mapping[str, Any] = {"prioritizeVerb": ""}
BOUND_SECONDS = 60.0
IMAGE = "none:latest"
HUGE_BYTES = 100 * GIB
FOUR = [f"node-{number}" for number in range(1, 5)]
TWELVE = {f"web-{number}": [f"web-{number}"] for number in range(12)}


async def place(world: World, pods: Mapping[str, Sequence[str]], **spec: Object) -> None:
    """Create pods with their claims, which may be there; wait until all of them run."""
    for name, claims in pods.items():
        made = pod(name, *claims)
        made["spec"] |= spec
        await world.api.create(made, kinds.PODS)
    await until(
        lambda: all(map(world.seen.is_running, pods)),
        within=BOUND_SECONDS,
        what=world.seen.node_of,
    )


async def begin(
    world: World, pods: Mapping[str, Sequence[str]], *, size: str = "10Gi", **parameters: str
) -> None:
    """Make the class, claims of it, and the pods."""
    await world.add_class("data", **parameters)
    for name in sorted({each for claims in pods.values() for each in claims}):
        await world.api.create(claim(name, size, "data"), kinds.CLAIMS)
    await place(world, pods)


async def come_back(world: World, pods: Mapping[str, Sequence[str]], **spec: Object) -> None:
    """Delete the pods, and create them again with the same claims."""
    await world.delete_workloads(keep_claims=True)
    await until(lambda: not world.seen.attaching(), within=60, what=world.seen.attaching)
    await place(world, pods, **spec)


def beside(world: World, pods: Mapping[str, Sequence[str]]) -> int:
    """Count the pods that have a replica of each volume on their node."""
    return sum(
        all(world.seen.is_beside(name, each) for each in claims) for name, claims in pods.items()
    )


def placed(world: World) -> list[str]:
    """Name all replicas that have a disk."""
    nodes = [f"node-{number}" for number in range(1, 7)]
    return sorted(f"{node}: {each}" for node in nodes for each in world.seen.replicas_on(node))


@pytest.mark.parametrize(
    ("options", "scores"),
    [
        pytest.param(WITHOUT_SCORES, "no scores", id="none", marks=FOR_REPORT),
        pytest.param({"weight": 1}, "weight 1", id="half-the-weight", marks=FOR_REPORT),
        pytest.param({}, "weight 2", marks=pytest.mark.gate, id="scores"),
    ],
)
async def test_pods_come_back_beside_their_data(share_world, report, options, scores):
    """They could use their volumes from any of the six nodes."""
    found = []
    async with share_world(**options) as world:
        for _ in range(runs(1, report=3)):
            await world.add_nodes(*[{"disk": 300}] * 6)
            await begin(world, TWELVE, numberOfReplicas="2", dataLocality="disabled")
            await come_back(world, TWELVE)
            found.append(beside(world, TWELVE))
            await world.wipe()

    what = f"12 pods come back, 2 replicas, disabled, 6 nodes: {scores}"
    report.measured(what, f"beside their data: {', '.join(map(str, found))}")
    assert options is WITHOUT_SCORES or found == [12] * len(found)


async def test_they_do_while_a_node_is_cordoned(share_world, report):
    """And Longhorn copies nothing: with best-effort it would, to a node without a replica."""
    found = []
    async with share_world() as world:
        for _ in range(runs(1, report=3)):
            await world.add_nodes(*[{"disk": 300}] * 6)
            await begin(world, TWELVE, numberOfReplicas="2", dataLocality="best-effort")
            before = placed(world)
            await world.cordon("node-1")
            await come_back(world, TWELVE)

            found.append(beside(world, TWELVE))
            assert "node-1" not in world.seen.node_of().values()
            assert placed(world) == before
            await world.cordon("node-1", on=False)
            await world.wipe()

    what = "12 pods come back, 2 replicas, best-effort, a node cordoned"
    report.measured(what, f"beside their data: {', '.join(map(str, found))}")
    assert found == [12] * len(found)


async def test_pods_of_two_volumes_go_where_both_are(share_world, report):
    pods = {f"pair-{number}": [f"a-{number}", f"b-{number}"] for number in range(12)}
    async with share_world() as world:
        await world.add_nodes(*[{"disk": 300}] * 4)
        await begin(world, pods, numberOfReplicas="2", dataLocality="disabled")
        await come_back(world, pods)
        most = {name: max(there(world, name, node) for node in FOUR) for name in pods}
        found = {name: there(world, name, node) for name, node in world.seen.node_of().items()}

    both = sum(each == 2 for each in most.values())
    report.measured("12 pods of two volumes come back", f"{both} could be beside both, and are")
    assert both, "no node has both volumes of any pod"
    assert found == most


def there(world: World, pair: str, node: str) -> int:
    """Count the volumes of a pod of two that have a replica on a node."""
    number = pair.rpartition("-")[2]
    found = {replica.rpartition("-r-")[0] for replica in world.seen.replicas_on(node)}
    return len(found & {world.seen.volume_of(f"{each}-{number}") for each in "ab"})


async def test_data_outweigh_an_image_and_a_wish_outweighs_data(share_world, report):
    """The shipped weight: an image gives 100 points at most, all of a preferred affinity 200."""
    data, wish = [], []
    async with share_world() as world:
        await world.add_nodes(*[{"disk": 300}] * 4)
        one = {"web": ["web"]}
        await begin(world, one, numberOfReplicas="1", dataLocality="disabled")
        [home] = [node for node in FOUR if world.seen.replicas_on(node)]
        away = next(node for node in FOUR if node != home)
        await give_images(world, away, {"names": [IMAGE], "sizeBytes": HUGE_BYTES})
        for _ in range(runs(2, report=10)):
            await come_back(world, one)
            data.append(world.seen.node_of()["web"] == home)
            await come_back(world, one, affinity=preferred(away))
            wish.append(world.seen.node_of()["web"] == away)

    report.measured("a pod's image elsewhere", f"{sum(data)} of {len(data)} beside the data")
    report.measured("a preferred node elsewhere", f"{sum(wish)} of {len(wish)} on that node")
    assert all(data)
    assert all(wish)


def preferred(node: str) -> Object:
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    term = {"weight": 1, "preference": {"matchExpressions": [here]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


async def give_images(world: World, node: str, *images: Object) -> None:
    status = {"status": {"images": [*images]}}
    await world.api.patch(kinds.KUBERNETES_NODES, Key("", node), status, "status")


async def test_the_leader_counts_what_becomes_of_scores(share_world):
    prefix = "longhorn_scheduler_extender_"
    scored, chosen, attached = (
        f"{prefix}{name}"
        for name in (
            "prioritize_duration_seconds_count",
            "chosen_node_rank_count",
            "attached_bytes_total",
        )
    )
    async with share_world() as world:
        leader = await world.extender.leader()
        before = {name: await leader.metric(name) for name in (scored, chosen, attached)}
        await world.add_nodes({"disk": 300}, {"disk": 300})
        await world.api.create(claim("web", "10Gi"), kinds.CLAIMS)
        await place(world, {"web": ["web"]})

        assert await leader.metric(scored) > before[scored]
        assert await leader.metric(chosen) == before[chosen] + 1
        await until(lambda: _is_counted(leader, attached, before[attached] + 10 * GIB), within=10)


async def _is_counted(leader: InstanceProcess, name: str, expected: float) -> bool:
    return await leader.metric(name) == expected


@pytest.mark.parametrize("balance", [Balance.SPREAD, Balance.PACK])
async def test_what_is_left_is_as_it_is_wanted(share_world, report, balance):
    """Volumes of 50 GiB on four nodes of 400: evenly, or all on one of them."""
    volumes = runs(4, report=8)
    async with share_world(settings={"balance": balance}) as world:
        await world.add_nodes(*[{"disk": 400}] * 4)
        for number in range(volumes):
            name = f"web-{number}"
            await world.api.create(claim(name, "50Gi"), kinds.CLAIMS)
            await place(world, {name: [name]})
        pods = [*world.seen.node_of().values()]

    left = [400 - 50 * pods.count(node) for node in FOUR]
    what = f"{volumes} volumes of 50 GiB on 4 x 400 GiB, {balance}"
    report.measured(what, f"largest volume that still fits: {max(left)} GiB")
    if balance is Balance.PACK:
        assert sorted(left) == [400 - 50 * volumes, 400, 400, 400]
    else:
        assert max(left) <= 350
