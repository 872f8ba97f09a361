"""`doctor` reads a cluster with the rights of the service, and the leader tells it who calls."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from app.config import NAME
from app.instance.calls import LAST_PRIORITIZE_AT, LAST_REQUEST_AT, MOST_CANDIDATES
from app.kube.connection import Connection
from app.settings import Settings
from cli.catalogue import Severity
from cli.doctor.facts import Facts, Unread
from cli.doctor.findings import findings
from cli.doctor.injecting import WISH
from cli.doctor.inspection import inspect
from cli.doctor.problems import Check
from cli.doctor.rights import SCHEDULER_CONFIG, needed_rights
from tests.builders import document
from tests.fakes import Answer, Call, Fault, FaultKind, Hang, Object
from tests.fakes.installed import NAMESPACE
from tests.integration.instances import NODES, VIRTUAL_TIME, Process, Processes
from tests.integration.processes import LEASES
from tests.integration.rbac import Grant, shipped

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}"
DOCTOR, CLASSES = "doctor", "storageclasses"
SELF_REVIEWS, OWN_REVIEWS, REVIEWS = (
    "selfsubjectreviews",
    "selfsubjectaccessreviews",
    "subjectaccessreviews",
)


def test_the_manifest_grants_what_is_needed_and_nothing_else():
    needed = {
        Grant(right.group, right.resource, right.verb, right.name, right.namespace)
        for right in needed_rights(Settings())
    }

    assert needed == set(shipped().used)


class Cluster(Processes):
    """Instances, and an API server that reviews access by the shipped rules.

    Attributes:
        user: As whom the doctor comes.
        reviewed: The reviews that were asked for.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(pods=2, **options)
        self.user = ACCOUNT
        self.reviewed: list[Call] = []
        self.server.interfere = self._review
        service, rules = self.server.authorize, shipped()
        assert service is not None
        self.server.authorize = lambda call: (
            rules.allow(call) if call.client == DOCTOR else service(call)
        )
        for number in range(2):
            self._label(f"extender-{number}")
        [service_of_ours] = self.server.list("services")
        metadata = {**service_of_ours["metadata"], "annotations": {WISH: "none"}}
        self.server.put({**service_of_ours, "metadata": metadata, "spec": {**SERVICE_SPEC}})
        self.server.put(NETWORK_POLICY)

    async def start_all(self, count: int = 3) -> list[Process]:
        processes = await super().start_all(count)
        await self.leader.filter()
        await self.leader.prioritize()
        return processes

    async def inspect(self, *, is_in_pod: bool = False) -> Facts:
        async with self.server.client(DOCTOR) as client:
            return await inspect(
                Connection(client),
                Settings(),
                is_in_pod=is_in_pod,
                now=datetime(2026, 1, 1, 1, tzinfo=UTC),
            )

    async def problems(self) -> set[str]:
        found = findings(await self.inspect())
        named = {each.code or f"{each.severity} {each.check}" for each in found}
        return named - {f"{Severity.OK} {check}" for check in Check}

    def annotations(self) -> Object:
        lease = self.lease()
        assert lease is not None
        return dict(lease["metadata"].get("annotations") or {})

    def _label(self, pod: str) -> None:
        found = self.server.get("pods", pod, NAMESPACE)
        assert found is not None
        ready = [{"type": "Ready", "status": "True"}]
        self.server.put(
            {
                **found,
                "metadata": {**found["metadata"], "labels": {"app": NAME}},
                "status": {**found["status"], "conditions": ready},
            }
        )

    def _review(self, call: Call) -> FaultKind | None:
        if call.resource not in (SELF_REVIEWS, OWN_REVIEWS, REVIEWS):
            return None
        self.reviewed.append(call)
        if call.resource == SELF_REVIEWS:
            return answer({"userInfo": {"username": self.user}})
        if call.resource == REVIEWS and self.user == ACCOUNT:
            return Answer(403, b"no")
        asked = Call(client=DOCTOR, at=0.0, **call.body["spec"]["resourceAttributes"])
        return answer({"allowed": shipped().allow(asked)})


@asynccontextmanager
async def called() -> AsyncIterator[Cluster]:
    """Run two instances that kube-scheduler calls, until the Lease says so."""
    async with Cluster() as cluster:
        await cluster.start_all(2)
        await asyncio.sleep(2)
        yield cluster


SERVICE_SPEC = {
    "type": "ClusterIP",
    "clusterIP": "10.96.0.95",
    "ipFamilies": ["IPv4"],
    "ports": [{"name": "http", "port": 9504, "protocol": "TCP", "targetPort": 9504}],
}
SCHEDULER = "longhorn-scheduler"


def ours(api_version: str, kind: str, name: str, **fields: Any) -> Object:
    """Build an object in the namespace of the service."""
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app": name}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


NETWORK_POLICY = ours(
    "networking.k8s.io/v1",
    "NetworkPolicy",
    NAME,
    spec={
        "podSelector": {"matchLabels": {"app": NAME}},
        "ingress": [{"from": [{"ipBlock": {"cidr": "192.0.2.11/32"}}]}],
    },
)


def second_scheduler() -> list[Object]:
    """Build the objects of a second scheduler that knows the service, and calls no verb of it."""
    url = f"http://{NAME}.{NAMESPACE}.svc:9504"
    managed = [{"name": "longhorn.io/scheduler-extender"}]
    config = json.dumps({"extenders": [{"urlPrefix": url, "managedResources": managed}]})
    volume = {"name": "config", "configMap": {"name": SCHEDULER_CONFIG}}
    spec = {"containers": [{"image": "kube-scheduler:v1.36.0"}], "volumes": [volume]}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    pod = ours("v1", "Pod", SCHEDULER, spec={"nodeName": "node-1"}, status=ready)
    return [
        ours("apps/v1", "Deployment", SCHEDULER, spec={"template": {"spec": spec}}),
        ours("v1", "ConfigMap", SCHEDULER_CONFIG, data={"config.yaml": config}),
        pod,
    ]


SCALERS: list[Object] = [
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": str(number), "namespace": "kube-system", "labels": labels},
        "spec": {"containers": [{"name": "scaler", "command": ["./cluster-autoscaler"]}]},
    }
    for number, labels in enumerate(
        (
            {"app": "cluster-autoscaler"},
            {"k8s-app": "cluster-autoscaler"},
            {"app.kubernetes.io/name": "aws-cluster-autoscaler"},
        )
    )
]
"""Pods of the cluster-autoscaler, by each label that it is found by."""


def answer(status: Object) -> Answer:
    return Answer(201, json.dumps({"status": status}).encode())


@VIRTUAL_TIME
async def test_an_installation_that_is_called_is_fine_with_the_rights_of_the_service():
    async with called() as cluster:
        assert await cluster.problems() == set()
        read = [call for call in cluster.server.calls if call.client == DOCTOR]
        assert {call.verb for call in read if call not in cluster.reviewed} <= {"get", "list"}
        assert len(cluster.reviewed) == 1 + len(needed_rights(Settings()))


@VIRTUAL_TIME
async def test_objects_of_each_kind_are_read_with_the_rights_of_the_service():
    """What their fields mean is told in rows in unit/cli/test_doctor_findings."""
    async with called() as cluster:
        cluster.server.put(document("Volume", "vol", spec={"dataEngineTransport": "rdma"}))
        cluster.server.delete("networkpolicies.networking.k8s.io", NAME, NAMESPACE)
        cluster.server.remove_resource("longhorn.io", "backingimages")
        for each in (*second_scheduler(), *SCALERS):
            cluster.server.put(each)

        facts = await cluster.inspect()

    assert isinstance(facts.autoscalers, list)
    assert {each.name for each in facts.autoscalers} == {f"kube-system/{n}" for n in range(3)}
    assert {each.code for each in findings(facts)} - {""} == {
        "autoscaler-not-told",
        "autoscaler-sees-no-room",
        "emergency-on",
        "feature-not-judged",
        "kind-not-served",
        "port-open",
    }


@VIRTUAL_TIME
async def test_after_an_uninstall_the_leases_and_the_pods_that_ask_are_told():
    async with called() as cluster:
        for each in ("extender-0", "extender-1"):
            cluster.server.delete("pods", each, NAMESPACE)
        cluster.server.delete("services", NAME, NAMESPACE)
        cluster.server.delete("configmaps", NAME, NAMESPACE)
        for name, node in (("waits", None), ("runs", "node-1")):
            metadata = {"name": name, "namespace": "shop"}
            spec = {"schedulerName": SCHEDULER, **({"nodeName": node} if node else {})}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            cluster.server.put({**pod, "status": {"phase": "Pending"}})

        [_, found] = findings(await cluster.inspect())

    assert found.code == "not-installed"
    assert f"Lease {NAME}" in found.text
    assert found.text.endswith("schedulerName longhorn-scheduler): shop/waits")


@VIRTUAL_TIME
async def test_an_administrator_asks_for_the_account():
    async with Cluster() as cluster:
        cluster.user = "admin"
        await cluster.start_all(1)

        facts = await cluster.inspect()

        assert isinstance(facts.rights, dict)
        assert all(facts.rights.values())
        asked = [call for call in cluster.reviewed if call.resource == REVIEWS]
        assert {call.body["spec"]["user"] for call in asked} == {ACCOUNT}
        assert f"system:serviceaccounts:{NAMESPACE}" in asked[0].body["spec"]["groups"]


@VIRTUAL_TIME
@pytest.mark.parametrize("is_in_pod", [True, False])
async def test_before_kubernetes_1_28_who_is_in_a_pod_asks_for_itself(*, is_in_pod):
    async with Cluster() as cluster:
        await cluster.start_all(1)
        cluster.server.faults.append(Fault(Answer(404), lambda call: call.resource == SELF_REVIEWS))

        facts = await cluster.inspect(is_in_pod=is_in_pod)

        assert isinstance(facts.rights, dict if is_in_pod else Unread)


@VIRTUAL_TIME
async def test_lease_that_nobody_renews_is_watched_until_others_should_have_it():
    async with Cluster() as cluster:
        for process in await cluster.start_all(2):
            process.freeze()
        began = asyncio.get_running_loop().time()

        facts = await cluster.inspect()

        assert facts.lease is not None
        assert not isinstance(facts.lease, Unread)
        assert not facts.lease.is_renewed
        assert 8 < facts.lease.watched_seconds < 10
        assert asyncio.get_running_loop().time() - began < 11
        assert (facts.lease.pod or "").startswith("extender-")


@VIRTUAL_TIME
@pytest.mark.parametrize("kind", [Hang(), Answer(403, b"no")], ids=["silent", "refused"])
async def test_what_cannot_be_read_is_unknown_in_bounded_time(kind):
    async with called() as cluster:
        strikes = Fault(kind, lambda call: (call.client, call.resource) == (DOCTOR, CLASSES))
        cluster.server.faults.append(strikes)
        began = asyncio.get_running_loop().time()

        assert await cluster.problems() == {"unknown storage-classes"}
        assert asyncio.get_running_loop().time() - began < 15


@VIRTUAL_TIME
async def test_the_next_leader_keeps_what_the_last_one_noted():
    async with called() as cluster:
        noted = cluster.annotations()
        assert noted.keys() >= {LAST_PRIORITIZE_AT, LAST_REQUEST_AT}
        assert noted[MOST_CANDIDATES] == str(len(NODES))
        first = cluster.leader
        first.kill()
        await cluster.until(lambda: cluster.leaders not in ([], [first]), within=10)
        await asyncio.sleep(2)
        assert cluster.annotations() == noted

        await asyncio.sleep(120)
        request = {"Pod": {"metadata": {"name": "p", "uid": "u"}}, "NodeNames": ["node-1"]}
        await cluster.leader.filter(body=json.dumps(request).encode())
        await asyncio.sleep(2)

        later = cluster.annotations()
        assert later[MOST_CANDIDATES] == noted[MOST_CANDIDATES]
        assert later[LAST_REQUEST_AT] > noted[LAST_REQUEST_AT]


@VIRTUAL_TIME
async def test_calls_cost_no_write():
    async with Cluster() as cluster:
        await cluster.start_all(2)
        quiet = await writes_in(cluster, 30)
        for _ in range(10):
            await cluster.ask()
        asked = await writes_in(cluster, 30)

        assert abs(quiet - asked) <= 1
        assert quiet <= 31


async def writes_in(cluster: Cluster, seconds: float) -> int:
    """Count the writes of the Lease in so many seconds."""
    before = len(cluster.server.calls)
    await asyncio.sleep(seconds)
    written = [
        call
        for call in cluster.server.calls[before:]
        if (call.resource, call.verb) == (LEASES.partition(".")[0], "update")
    ]
    return len(written)
