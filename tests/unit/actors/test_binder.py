"""The PersistentVolume controller and the protection of claims."""

import pytest

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.binder import Binder
from tests.actors.longhorn import DRIVER, storage_class
from tests.actors.provisioner import PROVISIONER, SELECTED_NODE
from tests.unit.actors.bench import Bench, settle
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME

DELETED = "2026-01-01T00:00:00Z"


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.put(kinds.STORAGE_CLASSES, storage_class("local"))
    bench.put(kinds.STORAGE_CLASSES, storage_class("immediate", binding="Immediate"))
    return bench


@pytest.fixture
def binder(bench: Bench) -> Binder:
    return Binder(
        bench.api,
        pods=bench.informer(kinds.PODS),
        claims=bench.informer(kinds.CLAIMS),
        persistent_volumes=bench.informer(kinds.PERSISTENT_VOLUMES),
        storage_classes=bench.informer(kinds.STORAGE_CLASSES),
    )


def put_claim(bench: Bench, *, kind: str = "local", selected: str = "", **metadata: str) -> Object:
    annotations = {"annotations": {SELECTED_NODE: selected}} if selected else {}
    named = {"name": "data", "namespace": "default", **annotations, **metadata}
    return bench.put(kinds.CLAIMS, {"metadata": named, "spec": {"storageClassName": kind}})


def put_volume(bench: Bench, claim: Object) -> str:
    metadata = claim["metadata"]
    name = f"pvc-{metadata['uid']}"
    reference = {field: metadata[field] for field in ("name", "namespace", "uid")}
    bench.put(
        kinds.PERSISTENT_VOLUMES, {"metadata": {"name": name}, "spec": {"claimRef": reference}}
    )
    return name


def claim_of(bench: Bench) -> Object | None:
    return bench.server.get("persistentvolumeclaims", "data", "default")


def provisioner_of(bench: Bench) -> str:
    found = claim_of(bench)
    assert found is not None
    return str(found["metadata"].get("annotations", {}).get(PROVISIONER, ""))


def phase(bench: Bench, volume: str) -> str:
    found = bench.server.get("persistentvolumes", volume)
    assert found is not None
    return str(found.get("status", {}).get("phase", ""))


@pytest.mark.parametrize(
    ("kind", "selected", "expected"),
    [
        pytest.param("local", "", "", id="waits-for-a-node"),
        pytest.param("local", "node-1", DRIVER, id="has-a-node"),
        pytest.param("immediate", "", DRIVER, id="waits-for-nothing"),
        pytest.param("unknown", "node-1", "", id="no-class"),
    ],
)
async def test_which_claims_get_their_provisioner(
    bench: Bench, binder: Binder, kind: str, selected: str, expected: str
) -> None:
    async with bench.running(binder):
        put_claim(bench, kind=kind, selected=selected)
        await settle()

        assert provisioner_of(bench) == expected


async def test_a_claim_is_bound_to_what_was_provisioned_for_it(
    bench: Bench, binder: Binder
) -> None:
    async with bench.running(binder):
        claim = put_claim(bench, selected="node-1")
        await settle()
        volume = put_volume(bench, claim)
        await settle()

        found = claim_of(bench)
        assert found is not None
        assert found["spec"]["volumeName"] == volume
        assert found["metadata"]["annotations"][SELECTED_NODE] == "node-1"
        assert (found["status"]["phase"], phase(bench, volume)) == ("Bound", "Bound")


async def test_a_volume_is_released_when_its_claim_is_gone(bench: Bench, binder: Binder) -> None:
    async with bench.running(binder):
        volume = put_volume(bench, put_claim(bench, selected="node-1"))
        await settle()
        bench.server.delete("persistentvolumeclaims", "data", "default")
        await settle()

        assert phase(bench, volume) == "Released"


async def test_another_claim_of_the_same_name_does_not_keep_a_volume(
    bench: Bench, binder: Binder
) -> None:
    async with bench.running(binder):
        volume = put_volume(bench, put_claim(bench, selected="node-1"))
        await settle()
        bench.server.delete("persistentvolumeclaims", "data", "default")
        put_claim(bench)
        await settle()

        assert phase(bench, volume) == "Released"
        found = claim_of(bench)
        assert found is not None
        assert "volumeName" not in found["spec"]


async def test_a_deleted_claim_goes_when_no_pod_uses_it(bench: Bench, binder: Binder) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    pod = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"volumes": volumes}}
    bench.put(kinds.PODS, pod)
    async with bench.running(binder):
        put_claim(bench, deletionTimestamp=DELETED)
        await settle()
        assert claim_of(bench) is not None

        bench.server.delete("pods", "web", "default")
        await settle()

        assert claim_of(bench) is None
