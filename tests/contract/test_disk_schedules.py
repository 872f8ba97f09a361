"""What a real API server does with the kind DiskSchedule, by the definition that we ship.

The in-memory one has no definitions, so it is not asked. Numbers of scenarios are those of
tests/unit/longhorn/test_disk_schedule.py.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml
from kubernetes_asyncio.client import ApiClient

from app.disk_schedule.objects import KnownNode, deletion_patch, new_object
from longhorn import DiskId, DiskName, NodeName
from tests.contract.exchange import Folder, Reply, ask
from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import MANIFESTS
from tests.e2e.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.gate]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "diskschedules.longhorn.io"
OBJECTS = "/apis/longhorn.io/v1beta2/diskschedules"
PATIENCE_SECONDS = 10.0


@pytest.fixture
async def api_client(control_plane: ControlPlane) -> AsyncIterator[ApiClient]:
    async with await control_plane.client() as api_client:
        yield api_client


@pytest.fixture
async def conditions(api_client: ApiClient) -> dict[str, str]:
    """Install the definition, unless it is there; return its conditions once it is served."""
    text = (MANIFESTS / "disk-schedule" / "crd.yaml").read_text(encoding="utf-8")
    created = await ask(api_client, "POST", DEFINITIONS, body=yaml.safe_load(text))
    assert created.status in (201, 409)

    async def is_served() -> bool:
        return (await ask(api_client, "GET", OBJECTS)).status == 200

    await until(is_served, within=PATIENCE_SECONDS)
    found = (await ask(api_client, "GET", f"{DEFINITIONS}/{NAME}")).json
    return {each["type"]: each["status"] for each in found["status"]["conditions"]}


@pytest.fixture
def schedules(api_client: ApiClient, conditions: dict[str, str], namespace: str) -> Folder:
    assert conditions
    path = f"/apis/longhorn.io/v1beta2/namespaces/{namespace}/diskschedules"
    return Folder(api_client, path, apiVersion="longhorn.io/v1beta2", kind="DiskSchedule")


def spec(**replicas: int) -> dict[str, Any]:
    """Return what is asked of disk-1 of node-1."""
    return {"name": "disk-1", "nodeID": "node-1", "replicas": replicas, "backingImages": {}}


@pytest.fixture
async def created(schedules: Folder) -> Reply:
    """Create a DiskSchedule of which nothing is asked."""
    return await schedules.create(spec=spec())


def changed(stored: Reply, part: str, **fields: Any) -> dict[str, Any]:
    body = stored.json
    return {**body, part: {**body.get(part, {}), **fields}}


async def test_the_definition_is_accepted_as_it_is(conditions):
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"


async def test_kubectl_finds_it_by_its_short_name(api_client, conditions):
    assert conditions
    kinds = await ask(api_client, "GET", "/apis/longhorn.io/v1beta2")

    found = {each["name"]: each for each in kinds.json["resources"]}
    assert found["diskschedules"]["shortNames"] == ["lhds"]
    assert "diskschedules/status" in found


@pytest.mark.parametrize("field", ["name", "nodeID"])
async def test_scenario_41_name_and_node_cannot_be_changed(schedules, created, field):
    body = changed(created, "spec", **{field: "other"})
    refused = await schedules.put(body)

    assert refused.refusal == (422, "Invalid")
    assert refused.wrong_fields == {f"spec.{field}"}


@pytest.mark.parametrize("field", ["name", "nodeID"])
async def test_name_and_node_are_required(schedules, field):
    other = {name: "some" for name in ("name", "nodeID") if name != field}

    refused = await schedules.post(schedules.body(spec=other))

    assert refused.refusal == (422, "Invalid")
    assert f"spec.{field}" in refused.wrong_fields


async def test_the_object_and_its_status_are_written_apart(schedules):
    entry = {"r": {"state": "scheduled", "scheduledSize": 2**40}}
    created = await schedules.create(spec=spec(), status={"replicas": entry})

    body = changed(created, "status", replicas=entry, storageScheduled=2**40)
    as_object = await schedules.put(body)
    body = changed(as_object, "spec", replicas={"r": 1})
    body["status"] = {"replicas": entry, "storageScheduled": 2**40}
    as_status = await schedules.put(body, "a/status")

    assert "status" not in created.json
    assert "status" not in as_object.json
    assert as_status.json["spec"]["replicas"] == {}
    assert as_status.json["status"] == {"replicas": entry, "storageScheduled": 2**40}


async def test_the_status_is_written_with_the_version_that_the_object_got(schedules, created):
    """So are requirements that are purged, and after them the entries."""
    body = {"metadata": {"resourceVersion": created.version}, "spec": {"replicas": {"r": 1}}}
    written = await schedules.patch(body)

    status = {"replicas": {"r": {"state": "scheduled", "scheduledSize": 1}}}
    stale = {"metadata": {"resourceVersion": created.version}, "status": status}
    newest = {"metadata": {"resourceVersion": written.version}, "status": status}
    refused = await schedules.patch(stale, "a/status")
    taken = await schedules.patch(newest, "a/status")

    assert refused.refusal == (409, "Conflict")
    assert (taken.status, taken.json["status"]) == (200, status)


@pytest.mark.parametrize("name", ["a", "a/status"], ids=["object", "status"])
async def test_scenario_39_a_write_of_an_old_version_is_a_conflict(schedules, created, name):
    asked = changed(created, "spec", replicas={"r": 2**30})
    await schedules.put(asked)

    body = changed(created, "status", storageScheduled=1)
    refused = await schedules.put(body, name)

    assert refused.refusal == (409, "Conflict")
    assert "status" not in (await schedules.read()).json


async def test_a_patch_takes_single_names_out(schedules):
    created = await schedules.create(spec=spec(a=1, b=2))

    patch = {"metadata": {"resourceVersion": created.version}, "spec": {"replicas": {"a": None}}}
    patched = await schedules.patch(patch)

    assert patched.json["spec"]["replicas"] == {"b": 2}


@pytest.mark.parametrize("value", [None, [], [{"type": "Ready", "status": "True"}]])
async def test_conditions_may_be_null(schedules, created, value):
    body = changed(created, "status", conditions=value)
    written = await schedules.put(body, "a/status")

    assert (written.status, written.json["status"]["conditions"]) == (200, value)


async def test_an_entry_says_its_state(schedules, created):
    body = changed(created, "status", replicas={"r": {"scheduledSize": 1}})
    refused = await schedules.put(body, "a/status")

    assert refused.refusal == (422, "Invalid")
    assert "status.replicas.r.state" in refused.wrong_fields


@pytest.mark.parametrize("size", [0, -1, 2**63 - 1])
async def test_any_size_of_64_bits_may_be_asked_for(schedules, size):
    """Longhorn's webhook refuses negative ones; without it they come, and mean nothing."""
    created = await schedules.create(spec=spec(r=size))

    assert created.json["spec"]["replicas"] == {"r": size}


async def test_scenario_33_a_deleted_object_stays_until_its_finalizer_is_gone(schedules):
    await schedules.create(spec=spec(), metadata={"finalizers": ["longhorn.io"]})

    await schedules.delete()
    deleting = await schedules.read()
    body = {"metadata": {"resourceVersion": deleting.version, "finalizers": None}}
    await schedules.patch(body)
    gone = await schedules.read()

    assert deleting.json["metadata"]["deletionTimestamp"]
    assert gone.status == 404


async def test_scenario_42_the_disk_that_replaces_another_has_an_object_of_its_own(schedules):
    """Both have the name and the node of the disk: the UUID tells them apart."""
    created = await schedules.create("uuid-1", "uuid-2", spec=spec())

    assert created.json["metadata"]["name"] == "uuid-2"
    assert created.json["spec"]["replicas"] == {}


async def test_the_object_that_the_controller_makes_is_taken_and_found_by_its_node(
    schedules, namespace
):
    node = KnownNode(NodeName("node-1"), "3c7bb5d2-4d0c-4b4c-8a1c-000000000001", {})
    body = new_object(node, DiskName("disk-1"), DiskId("uuid-1"), namespace)
    # There is no such node, so that the garbage collector takes what it owns away at any time.
    lasting = new_object(node, DiskName("disk-2"), DiskId("uuid-2"), namespace)
    del lasting["metadata"]["ownerReferences"]

    created = await schedules.post(body)
    await schedules.post(lasting)
    again = await schedules.post(lasting)

    async def is_found() -> bool:  # a kind that was just defined may be listed a moment late
        answer = await schedules.list(labelSelector="longhornnode=node-1")
        return "uuid-2" in [each["metadata"]["name"] for each in answer.json["items"]]

    assert (created.status, again.refusal) == (201, (409, "AlreadyExists"))
    await until(is_found, within=PATIENCE_SECONDS)
    [owner] = created.json["metadata"]["ownerReferences"]
    assert owner == body["metadata"]["ownerReferences"][0]


async def test_what_has_changed_since_it_was_seen_is_not_deleted(schedules, created):
    annotated = await schedules.patch(deletion_patch(created.version))
    late = await schedules.patch(deletion_patch(created.version))
    body = changed(annotated, "spec", replicas={"r": 1})
    asked = await schedules.put(body)

    def seen(version: str) -> dict[str, Any]:
        return {"preconditions": {"resourceVersion": version}}

    kept = await schedules.delete(body=seen(annotated.version))
    gone = await schedules.delete(body=seen(asked.version))

    assert (annotated.status, late.refusal) == (200, (409, "Conflict"))
    assert (kept.refusal, gone.status) == ((409, "Conflict"), 200)
    assert (await schedules.read()).status == 404
