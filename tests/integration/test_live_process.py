"""The real process on a live cluster: its start, its end, and what it tells meanwhile."""

import contextlib
import json
import signal
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import httpx
import pytest

from app.config import CONTROLLER_NAME
from tests.fakes import DISK_SCHEDULES, Call, FakeApiServer, Object, in_a_thread
from tests.fakes.installed import instance_pod, service
from tests.integration.instances import NOT_KNOWING, filter_request
from tests.integration.server import BEARER, serving_cluster
from tests.pod_process import instance_process

STOP_SECONDS = 3.0
_WRITES = ("create", "update", "patch")


def api_server(*objects: Object) -> FakeApiServer:
    """Make an API server with a cluster that has nothing but *objects*."""
    server = FakeApiServer(Random(1))
    for each in objects:
        server.put(each)
    return server


def written(calls: Sequence[Call], resource: str) -> list[Object]:
    """Return what was to be written of a kind, in order."""
    return [call.body for call in calls if call.resource == resource and call.verb in _WRITES]


class Life(NamedTuple):
    """What was seen of a process from its start to its end."""

    status: int
    errors: list[str]
    log: list[str]
    calls: list[Call]
    answer: bytes
    metrics: bytes


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Start a process, wait until it leads, ask it, and send SIGTERM."""
    with contextlib.ExitStack() as stack:
        server = api_server(service(), instance_pod(0))
        port = stack.enter_context(in_a_thread(server)).port
        live = stack.enter_context(serving_cluster(tmp_path_factory.mktemp("life"), port))
        live.wait_for(live.is_ready)
        live.wait_for(lambda: live.events("endpointslice.published"))
        _, answer = live.call("POST", "/filter", filter_request("pair"))
        _, metrics = live.call("GET", "/metrics")
        status, errors = live.end(signal.SIGTERM, within_seconds=STOP_SECONDS)
        return Life(status, errors, live.lines(), server.calls, answer, metrics)


def test_sigterm_ends_it_with_success(life):
    assert (life.status, life.errors) == (0, [])


def test_it_takes_the_lease_and_gives_it_back(life):
    holders = [lease["spec"]["holderIdentity"] for lease in written(life.calls, "leases")]

    assert holders[0].startswith("extender-0_")
    assert [*dict.fromkeys(holders)] == [holders[0], ""]


def test_it_publishes_its_pod_and_withdraws_it(life):
    published = [
        [endpoint["addresses"] for endpoint in each["endpoints"]]
        for each in written(life.calls, "endpointslices")
    ]

    assert published == [[["10.42.0.1"]], []]


def test_it_answers_from_what_it_has_read(life):
    assert "pair-a is not in the cluster" in json.loads(life.answer)["Error"]


def test_its_heartbeat_beats(life):
    assert b'longhorn_scheduler_extender_heartbeat{node="node-1"} 1.0' in life.metrics


def test_every_line_is_an_event(life):
    events = [json.loads(line)["event"] for line in life.log]

    assert {"serve.started", "lease.acquired", "endpointslice.published"} <= {*events}
    assert events[-3:] == ["lease.released", "endpointslice.withdrawn", "serve.stopped"]


def test_its_log_does_not_tell_its_token(life):
    assert BEARER not in "".join(life.log)


def test_it_ends_soon_if_the_api_server_has_gone(tmp_path):
    with contextlib.ExitStack() as until_gone, contextlib.ExitStack() as stack:
        port = until_gone.enter_context(in_a_thread(api_server(service(), instance_pod(0)))).port
        live = stack.enter_context(serving_cluster(tmp_path, port))
        live.wait_for(lambda: live.events("endpointslice.published"))
        until_gone.close()

        status, errors = live.end(signal.SIGTERM, within_seconds=STOP_SECONDS)

    assert (status, errors) == (0, [])


async def test_process_whose_log_is_on_a_full_disk_answers_and_ends_well(tmp_path):
    (tmp_path / "extender-0.log").symlink_to("/dev/full")
    with in_a_thread(api_server(service(), instance_pod(0))) as served:
        live = instance_process(tmp_path, 0, served.port)
        live.start()
        await live.leads()
        async with httpx.AsyncClient() as http:
            url = f"http://127.0.0.1:{live.port}/filter"
            answer = await http.post(url, content=filter_request("pair"))
        await live.process.stop()

    assert "pair-a is not in the cluster" in answer.json()["Error"]
    assert live.process.returncode == 0


def test_without_an_api_server_it_stays_up_and_says_why_it_is_not_ready(tmp_path):
    with in_a_thread(api_server()) as closed:
        pass
    with serving_cluster(tmp_path, closed.port) as live:
        live.wait_for(lambda: b"cannot be reached" in live.call("GET", "/readyz")[1])
        unready = live.call("GET", "/readyz")
        healthy = live.call("GET", "/healthz")
        answer = live.call("POST", "/filter", filter_request("pair"))

        status, errors = live.end(signal.SIGTERM, within_seconds=STOP_SECONDS)

    assert unready[0] == 503
    assert unready[1].startswith(b"persistentvolumeclaims: not listed yet: the API server cannot")
    assert healthy == (200, b"ok")
    assert json.loads(answer[1])["Error"] == NOT_KNOWING
    assert (status, errors) == (0, [])


def test_the_controller_leads_serves_its_health_and_gives_the_lease_back(tmp_path):
    server = api_server()
    server.add_resource(DISK_SCHEDULES)
    with (
        in_a_thread(server) as served,
        serving_cluster(tmp_path, served.port, "disk-schedule-controller") as live,
    ):
        live.wait_for(lambda: live.events("lease.acquired"))
        assert live.is_ready()
        assert live.call("GET", "/healthz") == (200, b"ok")
        assert live.metric('disk_schedule_heartbeat{node="node-1"}') == 1

        status, errors = live.end(signal.SIGTERM, within_seconds=STOP_SECONDS)
        assert live.events()[-1]["event"] == "serve.stopped"

    assert (status, errors) == (0, [])
    leases = written(server.calls, "leases")
    assert {lease["metadata"]["name"] for lease in leases} == {CONTROLLER_NAME}
    assert leases[-1]["spec"]["holderIdentity"] == ""
