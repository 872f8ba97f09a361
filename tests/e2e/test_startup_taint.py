"""New nodes of cluster-autoscaler: how many come for one pod, and what the service may do to them.

The autoscaler is played as it was measured (cluster-autoscaler 1.36.1, provider kwok). A node that
is not ready, or has a startup taint, is one that is still to come, and no other is added. A ready
node counts with what Longhorn tells of its room: as long as that is nothing, each round adds one
more, until the group has its largest size.
"""

from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from typing import NamedTuple

import msgspec
import pytest

from app.quantity import parse_bytes
from supply.manifests import STARTUP_TAINT
from tests.actors import api as kinds
from tests.actors.api import Api, Key, Object, RefusedError, key_of
from tests.actors.longhorn import NAMESPACE, DiskSpec, longhorn_node
from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import install_startup_taint, remove_startup_taint
from tests.e2e.kubernetes import NODE_STATUS, kubernetes_node
from tests.e2e.users import ADMIN, EXTENDER
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB, claim, pod
from tests.e2e.world import DELAYS, World

TAINT = {"key": STARTUP_TAINT, "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
DEDICATED = {"key": "dedicated", "value": "storage", "effect": "NoSchedule"}
LARGEST_GROUP = 6
LONGHORN_ROUNDS = 2 * LARGEST_GROUP
"""So long after a node was added Longhorn comes: all that could be added are there then."""
CLAIM_GIB, DISK_GIB = 80, 100
DELAYS_HERE = msgspec.structs.replace(DELAYS, capacity_poll=5.0)
BOUND_SECONDS = 90.0


class Group(NamedTuple):
    """A node group, and the autoscaler that makes it larger."""

    world: World
    taints: list[Object]
    """Of a new node."""
    ages: dict[str, int]
    """Rounds since each node was added."""

    async def round(self) -> bool:
        """Let nodes come further, and add one for a pod that fits on none; say if a pod waits."""
        for name in self.ages:
            self.ages[name] += 1
            if self.ages[name] == 1:
                await self._boot(name)
            if self.ages[name] == LONGHORN_ROUNDS:
                await self._start_longhorn(name)
        waits = any(not node for node in self.world.seen.node_of().values())
        if waits and len(self.ages) < LARGEST_GROUP and not await self._is_enough():
            await self._add(f"new-{len(self.ages) + 1}")
        return waits

    async def _is_enough(self) -> bool:
        """Whether a node is still to come, or has room for the claim by what is told of it."""
        for name in self.ages:
            node = await self.world.api.get(kinds.KUBERNETES_NODES, name)
            assert node is not None
            if node["spec"].get("taints") or await self._told_bytes(name) >= CLAIM_GIB * GIB:
                return True
        return False

    async def _told_bytes(self, name: str) -> int:
        told = await self.world.api.list(kinds.CSI_STORAGE_CAPACITIES, NAMESPACE)
        return max(
            parse_bytes(each["maximumVolumeSize"]) * (name in str(each["nodeTopology"]))
            for each in told
        )

    async def _add(self, name: str) -> None:
        node = kubernetes_node(name)
        node["spec"] = {"taints": [NOT_READY, *self.taints]}
        await self.world.api.create(node, kinds.KUBERNETES_NODES)
        self.ages[name] = 0

    async def _boot(self, name: str) -> None:
        api, key = self.world.api, Key("", name)
        await api.patch(kinds.KUBERNETES_NODES, key, {"status": NODE_STATUS}, "status")
        await api.patch(kinds.KUBERNETES_NODES, key, {"spec": {"taints": self.taints}})

    async def _start_longhorn(self, name: str) -> None:
        """Start Longhorn, whose disk is ready only after its room was asked for the first time."""
        await self.world.let_run(name)
        disk = DiskSpec(size_bytes=DISK_GIB * GIB, allow_scheduling=False)
        await self.world.api.create(longhorn_node(name, {"disk-1": disk}), kinds.LONGHORN_NODES)

        async def is_told() -> bool:
            told = await self.world.api.list(kinds.CSI_STORAGE_CAPACITIES, NAMESPACE)
            return any(name in str(each["nodeTopology"]) for each in told)

        await until(is_told, within=BOUND_SECONDS, what=f"what is told of {name}")
        await self.world.let_schedule(name, "disk-1", on=True)


@pytest.fixture
async def allowed(control_plane: ControlPlane) -> AsyncIterator[None]:
    """Install the right, and its limits."""
    async with await control_plane.client() as client:
        await install_startup_taint(Api(client))
        yield
        await remove_startup_taint(Api(client))


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize(
    ("taints", "nodes"),
    [
        pytest.param([TAINT], 1, id="with-the-taint"),
        pytest.param([], LARGEST_GROUP, id="without"),
    ],
)
async def test_so_many_nodes_come_for_one_pod(make_world, taints, nodes):
    settings = {"startup_taint": STARTUP_TAINT}
    async with make_world(instances=2, delays=DELAYS_HERE, settings=settings) as world:
        await world.set_longhorn("csi-storage-capacity-tracking", "true")
        await world.add_nodes({"disk-1": CLAIM_GIB - 1})
        group = Group(world, taints, {})
        await world.api.create(claim("data", f"{CLAIM_GIB}Gi"), kinds.CLAIMS)
        await world.api.create(pod("app", "data"), kinds.PODS)
        await until(world.seen.any_pods, within=BOUND_SECONDS)

        async def is_bound() -> bool:
            return not await group.round()

        await until(is_bound, within=BOUND_SECONDS, what=lambda: group.ages)

        assert len(group.ages) == nodes
        bound_to = world.seen.node_of()["app"]
        node = await world.api.get(kinds.KUBERNETES_NODES, bound_to)
        assert bound_to in group.ages
        assert node is not None
        assert "taints" not in node["spec"]


class Users(NamedTuple):
    """The API as an administrator, and as the service."""

    admin: Api
    account: Api


NODE = Key("", "tainted")


@pytest.fixture
async def users(control_plane: ControlPlane, allowed: None) -> AsyncIterator[Users]:  # noqa: ARG001
    """Have a node with two taints."""
    async with AsyncExitStack() as stack:
        users = Users(
            *[
                Api(await stack.enter_async_context(await control_plane.client(user)))
                for user in (ADMIN, EXTENDER)
            ]
        )
        node = kubernetes_node(NODE.name)
        node["metadata"]["annotations"] = {"mine": "x"}
        node["spec"] = {"taints": [DEDICATED, TAINT], "podCIDR": "10.1.0.0/24"}
        await users.admin.create(node, kinds.KUBERNETES_NODES)

        async def applies() -> bool:
            return (
                await refusal(patched(users.account, {"metadata": {"labels": {"a": "b"}}})) == 422
            )

        await until(applies, within=30, what="the policy")
        yield users
        await users.admin.delete(kinds.KUBERNETES_NODES, key_of(node))


def patched(api: Api, changes: Object, subresource: str = "") -> Awaitable[object]:
    return api.patch(kinds.KUBERNETES_NODES, NODE, changes, subresource)


async def refusal(request: Awaitable[object]) -> int:
    """Return the status with which a request is refused, 0 if it is not."""
    try:
        await request
    except RefusedError as error:
        return error.status
    return 0


async def test_the_account_takes_that_taint_off(users):
    before = await users.admin.get(kinds.KUBERNETES_NODES, NODE.name)
    assert before is not None

    assert await refusal(patched(users.account, {"spec": {"taints": [DEDICATED]}})) == 0

    after = await users.admin.get(kinds.KUBERNETES_NODES, NODE.name)
    assert after is not None
    assert after["spec"] == {**before["spec"], "taints": [DEDICATED]}


async def test_it_takes_it_off_a_node_that_has_nothing_else(users):
    await users.admin.delete(kinds.KUBERNETES_NODES, NODE)
    node = {**kubernetes_node(NODE.name), "spec": {"taints": [TAINT]}}
    await users.admin.create(node, kinds.KUBERNETES_NODES)

    assert await refusal(patched(users.account, {"spec": {"taints": []}})) == 0


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"spec": {"taints": [TAINT]}}, id="another-taint-removed"),
        pytest.param({"spec": {"taints": []}}, id="all-taints-removed"),
        pytest.param({"spec": {"taints": None}}, id="taints-unset"),
        pytest.param({"spec": {"taints": [DEDICATED, NOT_READY]}}, id="one-taint-for-another"),
        pytest.param(
            {"spec": {"taints": [{**DEDICATED, "effect": "NoExecute"}]}}, id="effect-changed"
        ),
        pytest.param({"spec": {"unschedulable": True}}, id="cordoned"),
        pytest.param(
            {"spec": {"taints": [DEDICATED], "unschedulable": True}}, id="cordoned-besides"
        ),
        pytest.param({"spec": {"taints": [DEDICATED], "providerID": "x"}}, id="provider"),
        *(
            pytest.param(
                {"metadata": metadata, "spec": {"taints": [DEDICATED]}}, id=f"besides-{name}"
            )
            for name, metadata in {
                "a-label": {"labels": {"node-role.kubernetes.io/control-plane": ""}},
                "a-label-removed": {"labels": {"kubernetes.io/hostname": None}},
                "all-labels": {"labels": None},
                "an-annotation": {"annotations": {"mine": "y"}},
                "annotations": {"annotations": None},
                "a-finalizer": {"finalizers": ["example.com/x"]},
                "an-owner": {
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "x"}
                    ]
                },
            }.items()
        ),
    ],
)
async def test_it_changes_nothing_else_of_a_node(users, changes):
    before = await users.admin.get(kinds.KUBERNETES_NODES, NODE.name)

    assert await refusal(patched(users.account, changes)) == 422
    assert await users.admin.get(kinds.KUBERNETES_NODES, NODE.name) == before


async def test_rbac_refuses_the_rest(users):
    account = users.account

    assert await refusal(patched(account, {"status": {"phase": "Running"}}, "status")) == 403
    assert await refusal(account.delete(kinds.KUBERNETES_NODES, NODE)) == 403
    assert await refusal(account.create(kubernetes_node("mine"), kinds.KUBERNETES_NODES)) == 403


async def test_others_change_nodes_as_before(users):
    assert await refusal(patched(users.admin, {"spec": {"taints": [], "unschedulable": True}})) == 0
