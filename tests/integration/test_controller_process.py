"""The real process of the controller of DiskSchedules: its start, what it serves, and its end."""

import signal
from pathlib import Path

import pytest

from app.config import CONTROLLER_NAME
from cli.commands import run_command
from tests.fakes import DISK_SCHEDULES, in_a_thread
from tests.integration.test_live_process import (
    STOP_SECONDS,
    api_server,
    serving_cluster,
    written,
)


def test_it_leads_serves_its_health_and_gives_the_lease_back(tmp_path: Path) -> None:
    server = api_server()
    server.add_resource(DISK_SCHEDULES)
    with (
        in_a_thread(server) as served,
        serving_cluster(tmp_path, served.port, "disk-schedule-controller") as live,
    ):
        live.wait_for(lambda: any("lease.acquired" in line for line in [*live.log]))
        assert live.is_ready()
        assert live.server.call("GET", "/healthz") == (200, b"ok")
        name = 'disk_schedule_heartbeat{node="node-1"}'
        metrics = live.server._replace(metrics_port=live.server.port)
        assert metrics.metric(name) == 1

        status, errors = live.server.end(signal.SIGTERM, within_seconds=STOP_SECONDS)

    assert (status, errors) == (0, "")
    leases = written(server.calls, "leases")
    assert {lease["metadata"]["name"] for lease in leases} == {CONTROLLER_NAME}
    assert leases[-1]["spec"]["holderIdentity"] == ""
    assert live.events()[-1]["event"] == "serve.stopped"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("EXTENDER_STEP_LIMIT", "there is no setting 'EXTENDER_STEP_LIMIT'"),
        ("EXTENDER_MANAGE_OBJECTS", "EXTENDER_MANAGE_OBJECTS"),
        ("EXTENDER_PORT", "EXTENDER_PORT"),
    ],
)
def test_a_setting_that_it_does_not_have_or_cannot_use_is_an_error_of_one_line(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "much")

    assert run_command(["disk-schedule-controller"]) == 2

    [line] = capsys.readouterr().err.splitlines()
    assert text in line
