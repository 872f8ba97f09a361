"""The webhook of the real process over HTTPS: what it makes of new pods, and of bad input."""

import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
import yaml

from tests.admission import Object, admitted, ephemeral, new_pod, of_claim, review, with_resource
from tests.certificates import HOST, webhook_settings, write_certificate
from tests.integration.server import (
    PATIENCE_SECONDS,
    Server,
    by_names,
    pods,
    serving,
)
from tests.pod_process import ROOT

SECOND = "longhorn-scheduler"
LIMIT_BYTES = 300_000
"""More than a body that is read whatever else is in memory."""
OTHERS = [
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": "other",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "ebs.csi.aws.com",
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "other", "namespace": "default"},
        "spec": {"storageClassName": "other", "resources": {"requests": {"storage": "1Gi"}}},
    },
]


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with the objects of goal 2, and a claim of other storage."""
    folder = tmp_path_factory.mktemp("cluster")
    shutil.copy(ROOT / "examples" / "goal2" / "cluster.yaml", folder)
    (folder / "others.yaml").write_text(yaml.safe_dump_all(OTHERS))
    return folder


@pytest.fixture(scope="module")
def server(
    ca: trustme.CA, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with serving(str(folder), **webhook_settings(ca, tmp_path_factory.mktemp("tls"))) as server:
        yield server


@pytest.fixture
def strict(ca: trustme.CA, folder: Path, tmp_path: Path) -> Iterator[Server]:
    """Run one with narrow limits that names a second scheduler."""
    limits = {
        "EXTENDER_BODY_LIMIT_BYTES": str(LIMIT_BYTES),
        "EXTENDER_BODY_TIMEOUT_SECONDS": "0.5",
        "EXTENDER_WEBHOOK_SCHEDULER_NAME": SECOND,
    }
    with serving(str(folder), **webhook_settings(ca, tmp_path), **limits) as server:
        yield server


def trusting(ca: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    ca.configure_trust(context)
    return context


@pytest.fixture(scope="module")
def client(ca: trustme.CA) -> Iterator[httpx.Client]:
    with httpx.Client(verify=trusting(ca), timeout=PATIENCE_SECONDS) as client:
        yield client


def send(client: httpx.Client, server: Server, **body: Any) -> httpx.Response:
    return client.post(f"https://{HOST}:{server.webhook_port}/mutate", **body)


def created(client: httpx.Client, server: Server, pod: Object) -> Object:
    """Return what the API server would create."""
    response = send(client, server, json=review(pod))
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    return admitted(pod, response.json())


@pytest.mark.parametrize(
    "volumes",
    [[of_claim("other"), of_claim("quad-a")], [ephemeral(storageClassName="longhorn-local")]],
    ids=["claim", "ephemeral"],
)
def test_a_pod_that_may_have_longhorn_volumes_gets_the_resource(client, server, volumes):
    pod = new_pod(*volumes)

    assert created(client, server, pod) == with_resource(pod)


@pytest.mark.parametrize(
    "volumes", [[of_claim("other")], [ephemeral()]], ids=["claim", "ephemeral-of-the-default-class"]
)
def test_a_pod_with_other_volumes_is_created_as_it_is(client, server, volumes):
    pod = new_pod(*volumes)

    assert created(client, server, pod) == pod


def test_outcomes_and_times_are_counted(client, ca, folder, tmp_path):
    asking = with_resource(new_pod(of_claim("quad-a")))
    with serving(str(folder), **webhook_settings(ca, tmp_path)) as server:
        for pod in (new_pod(of_claim("quad-a")), asking, new_pod(), new_pod(nodeName="node-1")):
            created(client, server, pod)
        bad = send(client, server, content=b"{")
        assert (bad.status_code, [*bad.json()]) == (400, ["error"])

        for outcome in ("injected", "asks_already", "no_claims", "bound", "bad_request"):
            assert server.metric(f'mutations_total{{outcome="{outcome}"}}') == 1
        assert server.metric("mutate_duration_seconds_count") == 4
        assert server.metric("requests_in_flight") == 0


def test_a_body_that_is_too_large_is_refused_and_others_are_served(client, strict):
    pod = new_pod(of_claim("quad-a"))
    large = {**pod, "metadata": {"annotations": {"filler": "x" * LIMIT_BYTES}}}

    assert send(client, strict, json=review(large)).status_code == 413
    assert created(client, strict, pod) == with_resource(pod, schedulerName=SECOND)


def test_each_port_serves_its_own_clients_alone(client, server):
    url = f"https://{HOST}:{server.webhook_port}"

    statuses = [client.get(url + path).status_code for path in ("/metrics", "/healthz", "/mutate")]
    assert statuses == [404, 404, 405]
    assert client.post(f"{url}/filter", json=by_names(pods("goal2")["quad"])).status_code == 404
    assert server.call("POST", "/mutate", b"{}")[0] == 404


def test_a_new_certificate_is_served_without_a_restart(ca, folder, tmp_path):
    new = trustme.CA()
    pod = new_pod(of_claim("quad-a"))
    with serving(str(folder), **webhook_settings(ca, tmp_path)) as server:
        with httpx.Client(verify=trusting(ca)) as client:
            assert created(client, server, pod) == with_resource(pod)
        write_certificate(new, tmp_path)
        server.wait_for(lambda: server.metric('tls_reloads_total{outcome="loaded"}') == 1)
        with httpx.Client(verify=trusting(new)) as client:
            assert created(client, server, pod) == with_resource(pod)
