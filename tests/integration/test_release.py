"""How an installation begins and ends, on an API server: no pod is left that nobody schedules."""

import asyncio
import random
from typing import Any

import pytest

from app.config import CONTROLLER_NAME, NAME, RESOURCE
from app.errors import InputError
from app.kube.connection import Connection
from cli.kube.asking import SCHEDULER
from cli.release.steps import Installation
from tests.fakes import FakeApiServer, Object
from tests.fakes.installed import NAMESPACE, config_map
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.rbac import rules_of
from tests.unit.manifests.charted import template

pytestmark = VIRTUAL_TIME

INJECT = "scheduler-extender-inject"
DEPLOYMENTS, LEASES = "deployments.apps", "leases.coordination.k8s.io"
NAMES = (SCHEDULER, NAME, CONTROLLER_NAME)
PATIENCE_SECONDS = 92.0
PUBLISHED_AND_TRIED_SECONDS = 60 + 10
"""external-provisioner's --capacity-poll-interval, and kube-scheduler's podMaxBackoffSeconds."""


class Cluster:
    """An API server with an installation, and what the step has said."""

    def __init__(self) -> None:
        self.server = FakeApiServer(random.Random(0))
        self.lines: list[str] = []
        self.server.put(config_map(scheduler_extender_inject="true"))
        for name in NAMES:
            self.server.put(ours("apps/v1", "Deployment", name))
            self.server.put(lease(name, holder=f"{name}-7d9f-abcde_1"))

    def installation(self, scheduler: str = SCHEDULER) -> Installation:
        connection = Connection(self.server.client("release"))
        return Installation(connection, NAMESPACE, scheduler, self.lines.append)

    @property
    def injects(self) -> str | None:
        found = self.server.get("configmaps", NAME, NAMESPACE)
        assert found is not None
        value: str | None = found["data"].get(INJECT)
        return value

    def names(self, resource: str) -> list[str]:
        return [each["metadata"]["name"] for each in self.server.list(resource, NAMESPACE)]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def ours(api_version: str, kind: str, name: str, **spec: str) -> Object:
    """Build an object of the installation."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def lease(name: str, holder: str) -> Object:
    return ours("coordination.k8s.io/v1", "Lease", name, holderIdentity=holder)


def pod(name: str, *, asks: bool = True, owner: str = "", **spec: Any) -> Object:
    limits = {RESOURCE: "1"} if asks else {}
    owners = [{"kind": "StatefulSet", "name": owner, "controller": True}] if owner else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "ownerReferences": owners},
        "spec": {
            "containers": [{"name": "a"}, {"name": "b", "resources": {"limits": limits}}],
            **spec,
        },
        "status": {"phase": "Pending"},
    }


async def test_it_begins_with_the_first_pod_that_has_come_through(cluster):
    cluster.server.put(config_map(scheduler_extender_pod_scheduling_timeout="7"))

    await cluster.installation().begin()

    assert cluster.injects == "true"
    found = cluster.server.get("configmaps", NAME, NAMESPACE)
    assert found is not None
    assert found["data"]["scheduler-extender-pod-scheduling-timeout"] == "7"


async def test_it_cannot_begin_where_nothing_is_installed():
    connection = Connection(FakeApiServer(random.Random(0)).client("release"))

    with pytest.raises(InputError, match=f"ConfigMap {NAME} is not in {NAMESPACE}"):
        await Installation(connection, NAMESPACE, SCHEDULER, print).begin()


async def test_nothing_that_acts_is_left_and_each_can_do_its_last_work(cluster):
    await cluster.installation().end()

    assert cluster.injects == "false"
    assert cluster.names(DEPLOYMENTS) == cluster.names(LEASES) == []
    assert cluster.lines == ["no pod that asks for the extender waits for a node"]
    changing = [each for each in cluster.server.calls if each.verb in ("patch", "delete")]
    assert [(call.verb, call.resource, call.name) for call in changing] == [
        ("patch", "configmaps", NAME),
        *(("delete", "deployments", name) for name in NAMES),
        *(("delete", "leases", name) for name in NAMES),
    ]

    await cluster.installation().end()
    assert cluster.names(DEPLOYMENTS) == []


async def test_a_lease_that_longhorns_own_extender_holds_stays(cluster):
    cluster.server.put(lease(NAME, holder="longhorn-manager-xk2p1"))

    await cluster.installation().end()

    assert cluster.names(LEASES) == [NAME]


async def test_it_waits_until_pods_that_were_sent_have_nodes(cluster):
    cluster.server.put(pod("sent"))
    ending = asyncio.create_task(cluster.installation().end())
    await asyncio.sleep(PUBLISHED_AND_TRIED_SECONDS)
    assert cluster.injects == "false"
    assert cluster.names(DEPLOYMENTS) == sorted(NAMES)

    cluster.server.put(pod("sent", nodeName="node-1"))
    await ending

    assert cluster.names(DEPLOYMENTS) == []
    assert cluster.lines == [
        "pods that ask for the extender and wait for a node: 1; they have 90 s to get one",
        "no pod that asks for the extender waits for a node",
    ]


async def test_pods_that_find_no_node_hold_nothing_up_and_are_named(cluster):
    for each in (
        pod("web-0", owner="web"),
        pod("bare"),
        pod("by-name", asks=False, schedulerName="custom"),
        pod("of-others", asks=False, schedulerName="default-scheduler"),
    ):
        cluster.server.put(each)

    async with asyncio.timeout(PATIENCE_SECONDS + 5):
        await cluster.installation(scheduler="custom").end()

    assert cluster.names(DEPLOYMENTS) == []
    assert cluster.lines == [
        "pods that ask for the extender and wait for a node: 3; they have 90 s to get one",
        "3 waiting for a node that nobody gives them once the extender is gone:",
        "  default/bare",
        "  default/by-name",
        "  default/web-0 (of StatefulSet web)",
        "-> kubectl --namespace default delete pod web-0 (made again at once)",
        "-> make default/bare, default/by-name again from a manifest that does not ask",
    ]


async def test_pods_that_are_ending_are_waited_for_by_nobody(cluster):
    ending = pod("ending")
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    cluster.server.put(ending)

    await cluster.installation().end()

    assert cluster.lines == ["no pod that asks for the extender waits for a node"]


async def test_of_thousands_some_are_named(cluster):
    for number in range(1200):
        cluster.server.put(pod(f"bare-{number:04}"))

    await cluster.installation().end()

    assert cluster.lines[1].startswith("1200 waiting")
    assert cluster.lines[21:23] == ["  default/bare-0019", "  and 1180 more"]


ODD: dict[str, dict[str, Any]] = {
    "containers-null": {"containers": None},
    "resources-null": {"containers": [{"name": "a", "resources": None}]},
    "limits-and-request-null": {"containers": [
        {"name": "a", "resources": {"limits": None, "requests": {RESOURCE: None}}}]},
    "scheduler-and-init-containers-null": {"schedulerName": None, "initContainers": None},
    "resources-missing": {"initContainers": [{"name": "i"}, {"name": "j", "resources": {}}]},
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
async def test_odd_pods_stop_nothing(cluster, odd):
    cluster.server.put(pod("odd", asks=False, **odd))

    await cluster.installation().end()

    assert cluster.names(DEPLOYMENTS) == []


async def test_before_the_second_scheduler_goes_it_gets_no_more_pods(cluster):
    await cluster.installation().pause()

    assert cluster.injects == "false"
    assert cluster.names(DEPLOYMENTS) == sorted(NAMES)


async def test_without_a_second_scheduler_an_upgrade_pauses_nothing(cluster):
    cluster.server.delete(DEPLOYMENTS, SCHEDULER, NAMESPACE)

    await cluster.installation().pause()

    assert cluster.injects == "true"


@pytest.mark.tools
async def test_the_jobs_may_do_what_they_do_and_nothing_else(cluster):
    roles = [each for each in template("release/rbac") if each["kind"].endswith("Role")]
    rules = rules_of(roles)
    cluster.server.authorize = rules.allow
    installation = cluster.installation()

    await installation.begin()
    await installation.pause()
    await installation.end()

    assert [grant for grant, times in rules.used.items() if not times] == []
