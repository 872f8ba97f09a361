"""DiskSchedules, whose object and status are written apart: neither write reaches the other part.

What a real API server does is asked in tests/contract/test_disk_schedules.py.
"""

import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.actors.api import DISK_SCHEDULES as KIND
from tests.actors.api import Api, Key, Object, RefusedError
from tests.fakes import FakeApiServer
from tests.fakes.resources import DISK_SCHEDULES, RESOURCES

KEY = Key("longhorn-system", "uuid")
GRANTED = {"replicas": {"a": {"state": "scheduled", "scheduledSize": 5}}, "storageScheduled": 5}

pytestmark = pytest.mark.looptime


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    server = FakeApiServer(random.Random(0), resources=(*RESOURCES, DISK_SCHEDULES))
    api = Api(server.client("test"))
    yield api
    await api.close()


def schedule(version: str = "", *, status: Object | None = None, **replicas: int) -> Object:
    metadata = {"namespace": KEY.namespace, "name": KEY.name, "resourceVersion": version}
    spec = {"name": "disk-1", "nodeID": "node-1", "replicas": replicas}
    return {"metadata": metadata, "spec": spec, "status": status or {}}


def version_of(obj: Object) -> str:
    return str(obj["metadata"]["resourceVersion"])


async def write(api: Api, method: str, obj: Object, subresource: str = "") -> Any:
    if method == "PUT":
        return await api.replace(obj, KIND, subresource)
    return await api.patch(KIND, KEY, obj, subresource)


async def test_a_created_object_has_no_status(api):
    created = await api.create(schedule(status=GRANTED, a=5), KIND)

    assert created["spec"]["replicas"] == {"a": 5}
    assert "status" not in created


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_write_to_the_status_leaves_the_rest(api, method):
    created = await api.create(schedule(a=5), KIND)

    body = schedule(version_of(created), status=GRANTED, b=7)
    written = await write(api, method, body, "status")

    assert (written["spec"]["replicas"], written["status"]) == ({"a": 5}, GRANTED)
    assert version_of(written) != version_of(created)


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_write_to_the_object_leaves_the_status(api, method):
    created = await api.create(schedule(a=5), KIND)
    body = schedule(version_of(created), status=GRANTED)
    granted = await write(api, "PUT", body, "status")

    body = schedule(version_of(granted), status={"storageScheduled": 9}, a=9)
    written = await write(api, method, body)

    assert (written["spec"]["replicas"], written["status"]) == ({"a": 9}, GRANTED)


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("subresource", ["", "status"])
async def test_a_write_of_an_old_version_is_a_conflict(api, method, subresource):
    created = await api.create(schedule(a=5), KIND)
    await write(api, "PUT", schedule(version_of(created), status=GRANTED), "status")

    with pytest.raises(RefusedError) as refused:
        await write(api, method, schedule(version_of(created), b=7), subresource)

    assert refused.value.status == 409
