"""Kubelets: when pods run, and when they are gone."""

import asyncio
from collections.abc import Iterable

import pytest

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.kubelet import Kubelets
from tests.actors.longhorn import DRIVER
from tests.unit.actors.bench import Bench, settle
from tests.unit.actors.world import NAMESPACE, VIRTUAL_TIME

pytestmark = VIRTUAL_TIME

END_SECONDS = 5.0
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
SCHEDULED = {"type": "PodScheduled", "status": "True"}


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def kubelets(bench: Bench) -> Kubelets:
    return Kubelets(
        bench.api,
        pods=bench.informer(kinds.PODS),
        claims=bench.informer(kinds.CLAIMS),
        persistent_volumes=bench.informer(kinds.PERSISTENT_VOLUMES),
        volumes=bench.informer(kinds.VOLUMES),
        end_seconds=END_SECONDS,
    )


def put_pod(
    bench: Bench, name: str, *volumes: Object, node: str = "node-1", **metadata: str
) -> None:
    named = [{"name": f"volume-{number}", **each} for number, each in enumerate(volumes)]
    spec = {"volumes": named, **({"nodeName": node} if node else {})}
    bench.put(
        kinds.PODS,
        {
            "metadata": {"namespace": "default", "name": name, **metadata},
            "spec": spec,
            "status": {"phase": "Pending", "conditions": [SCHEDULED]},
        },
    )


def mount(claim: str) -> Object:
    return {"persistentVolumeClaim": {"claimName": claim}}


def put_claim(bench: Bench, name: str, bound_to: str = "") -> None:
    spec = {"volumeName": bound_to} if bound_to else {}
    bench.put(kinds.CLAIMS, {"metadata": {"namespace": "default", "name": name}, "spec": spec})


def put_persistent_volume(bench: Bench, name: str, driver: str = DRIVER) -> None:
    spec = {"csi": {"driver": driver, "volumeHandle": f"volume-of-{name}"}}
    bench.put(kinds.PERSISTENT_VOLUMES, {"metadata": {"name": name}, "spec": spec})


def put_bound(bench: Bench, *claims: str) -> None:
    for name in claims:
        put_claim(bench, name, f"pv-{name}")
        put_persistent_volume(bench, f"pv-{name}")


def attach(bench: Bench, claim: str, node: str = "node-1", state: str = "attached") -> None:
    """Have Longhorn say where the volume of a claim is."""
    metadata = {"namespace": NAMESPACE, "name": f"volume-of-pv-{claim}"}
    status = {"state": state, "currentNodeID": node}
    bench.put(kinds.VOLUMES, {"metadata": metadata, "status": status})


def found(bench: Bench, name: str) -> Object:
    pod = bench.server.get("pods", name, "default")
    assert pod is not None
    return pod


def phase(bench: Bench, name: str = "web") -> str:
    return str(found(bench, name)["status"]["phase"])


def names(pods: Iterable[Object]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


async def test_a_pod_runs_once_all_its_volumes_are_attached(
    bench: Bench, kubelets: Kubelets
) -> None:
    put_bound(bench, "a", "b")
    attach(bench, "a")
    async with bench.running(kubelets):
        put_pod(bench, "web", mount("a"), mount("b"))
        await settle()
        assert phase(bench) == "Pending"

        attach(bench, "b", state="attaching")
        await settle()
        assert phase(bench) == "Pending"

        attach(bench, "b")
        await settle()
        assert phase(bench) == "Running"


async def test_a_pod_that_runs_says_so_in_all_its_conditions(
    bench: Bench, kubelets: Kubelets
) -> None:
    put_pod(bench, "web")
    async with bench.running(kubelets):
        await settle()

    conditions = found(bench, "web")["status"]["conditions"]
    assert conditions == [
        SCHEDULED,
        {"type": "Initialized", "status": "True"},
        {"type": "ContainersReady", "status": "True"},
        {"type": "Ready", "status": "True"},
    ]


async def test_a_volume_that_is_attached_elsewhere_is_waited_for(
    bench: Bench, kubelets: Kubelets
) -> None:
    put_bound(bench, "a")
    attach(bench, "a", "node-2")
    put_pod(bench, "web", mount("a"))
    async with bench.running(kubelets):
        await asyncio.sleep(60)
        assert phase(bench) == "Pending"

        attach(bench, "a", "node-1")
        await settle()
        assert phase(bench) == "Running"


async def test_a_pod_does_not_run_before_its_node_is_known(
    bench: Bench, kubelets: Kubelets
) -> None:
    put_pod(bench, "web", node="")
    async with bench.running(kubelets):
        await asyncio.sleep(60)
        assert phase(bench) == "Pending"

        put_pod(bench, "web")
        await settle()
        assert phase(bench) == "Running"


async def test_a_pod_does_not_run_before_its_claims_are_known_to_be_bound(
    bench: Bench, kubelets: Kubelets
) -> None:
    """News of claims may come later than that of the pod, and than that of the attachment."""
    attach(bench, "a")
    put_pod(bench, "web", mount("a"))
    async with bench.running(kubelets):
        for bound_to in ("", "pv-a"):
            put_claim(bench, "a", bound_to)
            await settle()
            assert phase(bench) == "Pending"

        put_persistent_volume(bench, "pv-a")
        await settle()
        assert phase(bench) == "Running"


async def test_a_claim_that_is_bound_last_starts_the_pod(bench: Bench, kubelets: Kubelets) -> None:
    put_persistent_volume(bench, "pv-a")
    attach(bench, "a")
    put_pod(bench, "web", mount("a"))
    async with bench.running(kubelets):
        put_claim(bench, "a", "pv-a")
        await settle()

        assert phase(bench) == "Running"


async def test_volumes_of_pods_themselves_are_waited_for(bench: Bench, kubelets: Kubelets) -> None:
    put_bound(bench, "web-volume-1")
    put_pod(bench, "web", {"emptyDir": {}}, {"ephemeral": {"volumeClaimTemplate": {}}})
    async with bench.running(kubelets):
        await settle()
        assert phase(bench) == "Pending"

        attach(bench, "web-volume-1")
        await settle()
        assert phase(bench) == "Running"


async def test_volumes_of_others_are_not_waited_for(bench: Bench, kubelets: Kubelets) -> None:
    put_claim(bench, "a", "pv-a")
    put_persistent_volume(bench, "pv-a", driver="other")
    put_pod(bench, "web", mount("a"))
    async with bench.running(kubelets):
        await settle()

    assert phase(bench) == "Running"


async def test_deleted_pods_go_when_their_containers_have_ended(
    bench: Bench, kubelets: Kubelets
) -> None:
    """However many there are; pods that are not bound have no kubelet."""
    async with bench.running(kubelets):
        for number in range(40):
            put_pod(bench, f"web-{number}", **DELETED)
        put_pod(bench, "free", node="", **DELETED)
        put_pod(bench, "web")
        await asyncio.sleep(END_SECONDS - 0.01)
        assert len(bench.server.list("pods")) == 42

        await asyncio.sleep(0.02)
        assert names(bench.server.list("pods")) == ["free", "web"]


async def test_a_change_of_a_pod_that_ends_does_not_prolong_it(
    bench: Bench, kubelets: Kubelets
) -> None:
    async with bench.running(kubelets):
        put_pod(bench, "web", **DELETED)
        await asyncio.sleep(END_SECONDS / 2)
        put_pod(bench, "web", mount("any"), **DELETED)
        await asyncio.sleep(END_SECONDS / 2 + 0.01)

        assert bench.server.list("pods") == []


async def test_a_successor_of_the_same_name_lives(bench: Bench, kubelets: Kubelets) -> None:
    """A pod that was deleted by force, and that its StatefulSet has made anew."""
    async with bench.running(kubelets):
        put_pod(bench, "web", **DELETED)
        await asyncio.sleep(END_SECONDS / 2)
        bench.server.delete("pods", "web", "default")
        put_pod(bench, "web")
        await asyncio.sleep(60)

        assert phase(bench) == "Running"


async def test_a_successor_that_is_not_heard_of_yet_lives(bench: Bench, kubelets: Kubelets) -> None:
    async with bench.running(kubelets):
        put_pod(bench, "web", **DELETED)
        await settle()
        bench.server.watch_delay = lambda _: 2 * END_SECONDS
        bench.server.delete("pods", "web", "default")
        put_pod(bench, "web")
        await asyncio.sleep(60)

        assert phase(bench) == "Running"


async def test_what_was_written_meanwhile_is_kept(bench: Bench, kubelets: Kubelets) -> None:
    """kube-scheduler writes the conditions of pods, too."""
    bench.server.watch_delay = lambda _: 1.0
    condition = {"type": "Other", "status": "True"}
    async with bench.running(kubelets):
        put_pod(bench, "web")
        await asyncio.sleep(0.5)
        pod = found(bench, "web")
        pod["status"]["conditions"].append(condition)
        bench.put(kinds.PODS, pod)
        await asyncio.sleep(2)

    assert phase(bench) == "Running"
    assert condition in found(bench, "web")["status"]["conditions"]
