"""The provisioner: which claims get a volume and when, and what becomes of it afterwards."""

import asyncio
from collections.abc import Mapping
from itertools import pairwise

import pytest

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.longhorn import CreateVolumeError, storage_class
from tests.actors.provisioner import (
    PROVISIONER,
    SELECTED_NODE,
    Provisioner,
    ResourceExhaustedError,
)
from tests.unit.actors.bench import Bench, settle
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME

DRIVER = "driver.longhorn.io"
CREATE_SECONDS = 1.0
OURS = {PROVISIONER: DRIVER}
WAITED_FOR = {**OURS, SELECTED_NODE: "node-1"}


class Driver:
    """A CSI driver that knows nothing of disks.

    Attributes:
        volumes: Those that are there, with what was asked for.
        asked_at: When CreateVolume was called.
        errors: How many of the next calls of it fail, with *error*.
    """

    def __init__(self) -> None:
        self.volumes: dict[str, tuple[int, Mapping[str, str]]] = {}
        self.asked_at: list[float] = []
        self.errors = 0
        self.error = CreateVolumeError("any")

    async def create_volume(
        self, name: str, size_bytes: int, parameters: Mapping[str, str]
    ) -> None:
        self.asked_at.append(asyncio.get_running_loop().time())
        if self.errors:
            self.errors -= 1
            raise self.error
        await asyncio.sleep(CREATE_SECONDS)
        self.volumes[name] = (size_bytes, parameters)

    async def delete_volume(self, name: str) -> None:
        self.volumes.pop(name, None)

    @property
    def pauses(self) -> list[int]:
        """The seconds between calls of CreateVolume."""
        return [round(then - now) for now, then in pairwise(self.asked_at)]


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.put(kinds.STORAGE_CLASSES, storage_class("local"))
    bench.put(kinds.STORAGE_CLASSES, storage_class("immediate", binding="Immediate"))
    return bench


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.fixture
def provisioner(bench: Bench, driver: Driver) -> Provisioner:
    return Provisioner(
        bench.api,
        driver,
        claims=bench.informer(kinds.CLAIMS),
        persistent_volumes=bench.informer(kinds.PERSISTENT_VOLUMES),
        storage_classes=bench.informer(kinds.STORAGE_CLASSES),
    )


def put_claim(
    bench: Bench,
    annotations: Mapping[str, str],
    *,
    class_: str = "local",
    bound_to: str = "",
    **metadata: str,
) -> Object:
    spec = {
        "storageClassName": class_,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "10Gi"}},
        **({"volumeName": bound_to} if bound_to else {}),
    }
    named = {"namespace": "default", "name": "data", "annotations": annotations, **metadata}
    return bench.put(kinds.CLAIMS, {"metadata": named, "spec": spec})


def volumes(bench: Bench) -> list[Object]:
    return bench.server.list("persistentvolumes")


def release(bench: Bench, volume: Object) -> None:
    """Do what Kubernetes does to a volume whose claim is gone."""
    bench.put(kinds.PERSISTENT_VOLUMES, {**volume, "status": {"phase": "Released"}})


async def test_a_claim_gets_a_volume_once_a_node_is_selected(
    bench: Bench, driver: Driver, provisioner: Provisioner
) -> None:
    put_claim(bench, OURS)
    async with bench.running(provisioner):
        await asyncio.sleep(600)
        assert (volumes(bench), driver.asked_at) == ([], [])

        claim = put_claim(bench, WAITED_FOR)
        await asyncio.sleep(CREATE_SECONDS + 0.01)

    name = f"pvc-{claim['metadata']['uid']}"
    parameters = storage_class("local")["parameters"]
    [volume] = volumes(bench)
    assert driver.volumes == {name: (10 * 2**30, parameters)}
    assert volume["metadata"]["name"] == name
    assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/provisioned-by": DRIVER}
    assert volume["spec"] == {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "persistentVolumeReclaimPolicy": "Delete",
        "csi": {"driver": DRIVER, "volumeHandle": name, "volumeAttributes": parameters},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": "default",
            "name": "data",
            "uid": claim["metadata"]["uid"],
        },
    }


async def test_an_immediate_claim_waits_for_nobody(bench: Bench, provisioner: Provisioner) -> None:
    put_claim(bench, OURS, class_="immediate")
    async with bench.running(provisioner):
        await asyncio.sleep(CREATE_SECONDS + 0.01)

    assert len(volumes(bench)) == 1


@pytest.mark.parametrize(
    ("annotations", "more"),
    [
        pytest.param({SELECTED_NODE: "node-1"}, {}, id="nobodys-yet"),
        pytest.param({SELECTED_NODE: "node-1", PROVISIONER: "other"}, {}, id="anothers"),
        pytest.param(WAITED_FOR, {"bound_to": "any"}, id="bound"),
        pytest.param(WAITED_FOR, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, id="deleted"),
    ],
)
async def test_what_it_leaves_alone(
    bench: Bench,
    driver: Driver,
    provisioner: Provisioner,
    annotations: Mapping[str, str],
    more: Mapping[str, str],
) -> None:
    put_claim(bench, annotations, **more)
    async with bench.running(provisioner):
        await asyncio.sleep(600)

    assert (volumes(bench), driver.asked_at) == ([], [])


async def test_without_room_another_node_is_to_be_selected(
    bench: Bench, driver: Driver, provisioner: Provisioner
) -> None:
    driver.errors, driver.error = 1, ResourceExhaustedError("any")
    put_claim(bench, WAITED_FOR)
    async with bench.running(provisioner):
        await asyncio.sleep(600)
        found = bench.server.get("persistentvolumeclaims", "data", "default")
        assert found is not None
        assert (found["metadata"]["annotations"], len(driver.asked_at)) == (OURS, 1)

        put_claim(bench, {**OURS, SELECTED_NODE: "node-2"})
        await asyncio.sleep(CREATE_SECONDS + 0.01)

    assert len(volumes(bench)) == 1


async def test_a_claim_that_changes_meanwhile_gets_one_volume(
    bench: Bench, driver: Driver, provisioner: Provisioner
) -> None:
    async with bench.running(provisioner):
        for number in range(5):
            put_claim(bench, {**WAITED_FOR, "changed": str(number)})
            await asyncio.sleep(0.3)
        await asyncio.sleep(60)
        asked = len(driver.asked_at)
        put_claim(bench, {**WAITED_FOR, "changed": "again"})
        await asyncio.sleep(60)

    assert len(volumes(bench)) == len(driver.volumes) == 1
    assert len(driver.asked_at) == asked


async def test_many_claims_are_worked_on_at_a_time(
    bench: Bench, driver: Driver, provisioner: Provisioner
) -> None:
    async with bench.running(provisioner):
        for number in range(50):
            put_claim(bench, WAITED_FOR, name=f"data-{number}")
        await asyncio.sleep(CREATE_SECONDS + 0.01)

        assert len(volumes(bench)) == len(driver.volumes) == 50


async def test_a_claim_that_is_deleted_meanwhile_leaves_nothing(
    bench: Bench, driver: Driver, provisioner: Provisioner
) -> None:
    async with bench.running(provisioner):
        claim = put_claim(bench, WAITED_FOR)
        await asyncio.sleep(CREATE_SECONDS / 2)
        bench.server.delete("persistentvolumeclaims", "data", "default")
        await asyncio.sleep(CREATE_SECONDS)

        [volume] = volumes(bench)
        assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
        release(bench, volume)
        await settle()
        assert (volumes(bench), driver.volumes) == ([], {})


async def test_what_fails_is_tried_again_later_and_later(
    bench: Bench, driver: Driver, provisioner: Provisioner
) -> None:
    driver.errors = 12
    put_claim(bench, WAITED_FOR)
    async with bench.running(provisioner):
        await asyncio.sleep(3600)

    assert driver.pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert len(volumes(bench)) == 1


async def test_the_next_claim_of_the_name_is_not_kept_waiting(
    bench: Bench, driver: Driver, provisioner: Provisioner
) -> None:
    driver.errors = 5
    put_claim(bench, WAITED_FOR)
    async with bench.running(provisioner):
        await asyncio.sleep(100)
        bench.server.delete("persistentvolumeclaims", "data", "default")
        await asyncio.sleep(100)
        driver.asked_at.clear()
        driver.errors = 2
        put_claim(bench, WAITED_FOR)
        await asyncio.sleep(100)

    assert driver.pauses == [1, 2]


async def test_a_claim_that_is_gone_is_not_tried_again(
    bench: Bench, driver: Driver, provisioner: Provisioner
) -> None:
    driver.errors = 100
    put_claim(bench, WAITED_FOR)
    async with bench.running(provisioner):
        await asyncio.sleep(2)
        bench.server.delete("persistentvolumeclaims", "data", "default")
        await asyncio.sleep(3600)

    assert driver.pauses == [1]


async def test_a_failing_claim_does_not_hold_up_others(
    bench: Bench, driver: Driver, provisioner: Provisioner
) -> None:
    driver.errors = 1
    async with bench.running(provisioner):
        put_claim(bench, WAITED_FOR, name="failing")
        await settle()
        put_claim(bench, WAITED_FOR, name="well")
        await asyncio.sleep(CREATE_SECONDS + 0.01)

        [volume] = volumes(bench)
        assert volume["spec"]["claimRef"]["name"] == "well"


async def test_a_class_that_is_not_heard_of_yet_is_waited_for(
    bench: Bench, provisioner: Provisioner
) -> None:
    put_claim(bench, WAITED_FOR, class_="new")
    async with bench.running(provisioner):
        await asyncio.sleep(10)
        assert volumes(bench) == []

        bench.put(kinds.STORAGE_CLASSES, storage_class("new"))
        await asyncio.sleep(20)
        assert len(volumes(bench)) == 1


@pytest.mark.parametrize(
    ("changes", "phase", "stays"),
    [
        pytest.param({}, "Released", False, id="delete"),
        pytest.param({"persistentVolumeReclaimPolicy": "Retain"}, "Released", True, id="retain"),
        pytest.param({}, "Bound", True, id="bound"),
        pytest.param({}, "Available", True, id="available"),
    ],
)
async def test_volumes_go_by_their_reclaim_policy(
    bench: Bench,
    driver: Driver,
    provisioner: Provisioner,
    changes: Mapping[str, str],
    phase: str,
    *,
    stays: bool,
) -> None:
    put_claim(bench, WAITED_FOR)
    async with bench.running(provisioner):
        await asyncio.sleep(CREATE_SECONDS + 0.01)
        [volume] = volumes(bench)
        bench.server.delete("persistentvolumeclaims", "data", "default")
        spec = {**volume["spec"], **changes}
        bench.put(kinds.PERSISTENT_VOLUMES, {**volume, "spec": spec, "status": {"phase": phase}})
        await asyncio.sleep(60)

    assert (len(volumes(bench)), len(driver.volumes)) == (stays, stays)


async def test_the_policy_is_that_of_the_class(bench: Bench, provisioner: Provisioner) -> None:
    kept = {**storage_class("kept"), "reclaimPolicy": "Retain"}
    bench.put(kinds.STORAGE_CLASSES, kept)
    put_claim(bench, WAITED_FOR, class_="kept")
    async with bench.running(provisioner):
        await asyncio.sleep(CREATE_SECONDS + 0.01)

    [volume] = volumes(bench)
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


async def test_volumes_of_others_stay(bench: Bench, provisioner: Provisioner) -> None:
    spec = {"persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": "/any"}}
    async with bench.running(provisioner):
        release(bench, {"metadata": {"name": "any"}, "spec": spec})
        await asyncio.sleep(60)

    assert len(volumes(bench)) == 1
