"""kube-scheduler calls the service over HTTPS, configured by the file we ship for that."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import trustme

from tests.actors import api as kinds
from tests.e2e.cases import NODES, UNEVEN, fill
from tests.e2e.certified import SHIPPED, Certificates, named, scheduler, write
from tests.e2e.effort import runs
from tests.e2e.waiting import until
from tests.e2e.workloads import pod
from tests.e2e.world import World
from tests.integration.server import Server, serving

PATIENCE_SECONDS = 30
RUNS = runs(1, report=2)
WITHIN_SECONDS = 120.0


def settings(folder: Path) -> dict[str, str]:
    return {
        "EXTENDER_TLS_CERT_FILE": str(folder / "tls.crt"),
        "EXTENDER_TLS_PRIVATE_KEY_FILE": str(folder / "tls.key"),
        "EXTENDER_CLIENT_CA_FILE": str(folder / "ca.crt"),
        "EXTENDER_METRICS_PORT": "0",
    }


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def https(tmp_path: Path, ca: trustme.CA) -> Iterator[Server]:
    issued = ca.issue_cert(SHIPPED["tlsConfig"]["serverName"])
    with serving("goal2", **settings(write(tmp_path / "service", issued, ca))) as server:
        yield server


async def test_the_shipped_configuration_calls_over_https_with_its_certificate(
    make_world, tmp_path, ca, https
):
    folder = write(tmp_path / "scheduler", ca.issue_cert("kube-scheduler"), ca)
    async with make_world(instances=1, **scheduler(folder), urlPrefix=url_of(https)) as world:
        await world.add_nodes({"disk": 100})
        await world.api.create(pod("known"), kinds.PODS)
        await until(lambda: bool(_node_of(world, "known")), within=PATIENCE_SECONDS)

    assert _answered(https) == 1


@pytest.mark.parametrize(
    ("signs", "trusts", "why"),
    [
        pytest.param("somebody", "ca", "/filter", id="the client has another certificate"),
        pytest.param("ca", "somebody", "x509: ", id="the service has another certificate"),
    ],
)
async def test_a_certificate_of_somebody_else_is_refused_and_the_pod_waits(
    make_world, tmp_path, ca, https, signs, trusts, why
):
    of = {"ca": ca, "somebody": trustme.CA()}
    folder = write(tmp_path / "scheduler", of[signs].issue_cert("kube-scheduler"), of[trusts])
    async with make_world(instances=1, **scheduler(folder), urlPrefix=url_of(https)) as world:
        await world.add_nodes({"disk": 100})
        await world.api.create(pod("stranger"), kinds.PODS)
        await until(lambda: why in _message(world, "stranger"), within=PATIENCE_SECONDS)

        assert _node_of(world, "stranger") == ""
    assert _answered(https) == 0
    assert https.metric('connections_ended_total{cause="handshake_failed"}') >= 1


async def test_without_a_ca_kube_scheduler_believes_any_certificate(
    make_world, tmp_path, ca, https
):
    options = scheduler(write(tmp_path / "scheduler", ca.issue_cert("kube-scheduler"), ca))
    del options["tlsConfig"]["caFile"]
    async with make_world(instances=1, **options, urlPrefix=url_of(https)) as world:
        await world.add_nodes({"disk": 100})
        await world.api.create(pod("trusting"), kinds.PODS)
        await until(lambda: bool(_node_of(world, "trusting")), within=PATIENCE_SECONDS)

    assert _answered(https) == 1


@pytest.mark.gate
async def test_pods_go_where_they_have_room_with_certificates_and_names(make_world, tmp_path):
    certificates = Certificates(tmp_path / "certificates", client_name="kube-scheduler")
    stranger = certificates.ca.issue_cert(common_name="grafana")
    async with make_world(**named(certificates, "kube-scheduler")) as world:
        for _ in range(RUNS):
            outcome = await fill(world, UNEVEN, extender=True, within=WITHIN_SECONDS)
            assert outcome.pods(NODES) == UNEVEN.pods
            assert (outcome.without_room, outcome.elsewhere) == (0, 0)

        async with httpx.AsyncClient(verify=certificates.context(stranger)) as http:
            response = await http.post(f"{world.extender.url}/filter", json={})
        leader = await world.extender.leader()
        refused = await leader.metric(
            "longhorn_scheduler_extender_connections_ended_total", cause="client_not_named"
        )

    assert (response.status_code, refused) == (403, 1)


def url_of(server: Server) -> str:
    return f"https://127.0.0.1:{server.port}"


def _answered(server: Server) -> float:
    return server.metric('decisions_total{outcome="nothing_local"}')


def _node_of(world: World, name: str) -> str:
    found = world.seen.pod(name)
    return str(found["spec"].get("nodeName", "")) if found else ""


def _message(world: World, name: str) -> str:
    """Return what kube-scheduler has last written of a pod."""
    found = world.seen.pod(name) or {}
    conditions = found.get("status", {}).get("conditions", [])
    return " ".join(each.get("message", "") for each in conditions)
