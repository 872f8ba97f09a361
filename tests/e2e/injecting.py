"""The two ways in which pods get the resource, installed as the chart renders them."""

import asyncio
import os
import time
import uuid
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import trustme

from tests.actors.api import (
    CONFIG_MAPS,
    CSI_DRIVERS,
    PODS,
    STORAGE_CLASSES,
    Api,
    Key,
    Kind,
    Object,
    key_of,
)
from tests.actors.longhorn import csi_driver, storage_class
from tests.admission import of_claim
from tests.certificates import write_certificate
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controlplane import versions
from tests.e2e.extender import InstanceProcess
from tests.e2e.users import ADMIN, EXTENDER
from tests.e2e.waiting import until
from tests.e2e.workloads import RESOURCE, STORAGE_CLASS
from tests.fakes.installed import config_map
from tests.ports import free_ports
from tests.unit.manifests.charted import CONFIGURED, WITH_ADDRESS, template

POLICY, WEBHOOK = "policy", "webhook"
SECOND = "longhorn-scheduler"
_SECOND_OPTIONS = ("--set", "mode=second-scheduler")
_PLURALS = {
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
}
_EFFECT_SECONDS = 60.0
_PATIENCE_SECONDS = 30.0
_LONE_POD = 9
"""No pod has this number, so the instance has no address and never leads."""


class Way(NamedTuple):
    """How pods get the resource, and whether they go to a second scheduler."""

    name: str
    second: bool = False

    def __str__(self) -> str:
        return f"{self.name}-second-scheduler" if self.second else self.name


class Created(NamedTuple):
    """What the API server answers to who creates an object."""

    status: int
    body: Object
    warnings: list[str]
    seconds: float


async def create(
    control_plane: ControlPlane, obj: Object, kind: Kind = PODS, *, dry_run: bool = False
) -> Created:
    """Create an object as an administrator; with *dry_run* only say what would become of it."""
    document = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
    url = control_plane.url + kind.path(obj["metadata"].get("namespace", ""))
    began = time.monotonic()
    async with _client(control_plane) as http:
        response = await http.post(url, params={"dryRun": "All"} if dry_run else {}, json=document)
    seconds = time.monotonic() - began
    warnings = response.headers.get_list("warning")
    return Created(response.status_code, response.json(), warnings, seconds)


async def failures_ignored(control_plane: ControlPlane) -> float:
    """Return how many calls of webhooks have failed and were ignored, by the API server's count."""
    async with _client(control_plane) as http:
        text = (await http.get(f"{control_plane.url}/metrics")).raise_for_status().text
    return sum(
        float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith("apiserver_admission_webhook_fail_open_count{")
    )


def pod_spec(*volumes: Object, **spec: object) -> Object:
    """Build a pod's spec: a container that asks for CPU, and one that asks for nothing."""
    resources = {"requests": {"cpu": "10m"}}
    return {
        "containers": [
            {"name": "app", "image": "none", "resources": resources},
            {"name": "sidecar", "image": "none"},
        ],
        "volumes": [{"name": f"volume-{n}", **each} for n, each in enumerate(volumes)],
        **spec,
    }


def a_pod(*volumes: Object, namespace: str = "default", **spec: object) -> Object:
    """Build a pod with a name of its own."""
    metadata = {"name": f"pod-{uuid.uuid4().hex[:8]}", "namespace": namespace}
    return {"metadata": metadata, "spec": pod_spec(*volumes, **spec)}


def asks(pod: Object) -> bool:
    """Whether some container of a pod has the resource."""
    return any(
        RESOURCE in container.get("resources", {}).get("limits", {})
        for container in pod["spec"]["containers"]
    )


@contextmanager
def injecting(way: Way, control_plane: ControlPlane, folder: Path) -> Iterator[None]:
    """Install one way, for tests with loops of their own; what it logs goes to *folder*."""
    if way.name == POLICY:
        with installed(control_plane, policy(way)):
            yield
    else:
        with (
            answering(way, control_plane, folder) as (port, ca),
            installed(control_plane, [webhook(way, port, ca)]),
        ):
            yield


@contextmanager
def answering(
    way: Way, control_plane: ControlPlane, folder: Path, **settings: str
) -> Iterator[tuple[int, trustme.CA]]:
    """Run an instance with the webhook; yields its port, and who has signed its certificate."""
    port, webhook_port = free_ports(2)
    ca = trustme.CA()
    own = {
        **certificate(ca, folder),
        "webhook_port": webhook_port,
        "webhook_scheduler_name": SECOND if way.second else "",
    }
    kubeconfig = control_plane.users.kubeconfig(EXTENDER)
    instance = InstanceProcess(_LONE_POD, port, folder, kubeconfig, own | settings)
    instance.start()
    try:
        asyncio.run(until(lambda: _listens(webhook_port), within=_EFFECT_SECONDS))
        yield webhook_port, ca
    finally:
        asyncio.run(instance.process.stop())


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


def certificate(ca: trustme.CA, folder: Path) -> Mapping[str, str]:
    """Write a certificate for this machine; return the settings that name it."""
    chain, key = write_certificate(ca, folder)
    return {"webhook_cert_file": chain, "webhook_private_key_file": key}


def policy(way: Way) -> list[Object]:
    """Return the policy and its binding."""
    version = versions.chosen(os.environ).policies_api
    served = ("--api-versions", f"{version}/MutatingAdmissionPolicy")
    return template("injection-policy", *served, WITH_ADDRESS, CONFIGURED, *_options(way))


def webhook(way: Way, port: int, ca: trustme.CA) -> Object:
    """Return the configuration of the webhook, with an address of this machine for the Service."""
    options = ("--set", "injection.mode=webhook", WITH_ADDRESS, *_options(way))
    [found] = [
        obj
        for obj in template("injection-webhook", *options)
        if obj["kind"] == "MutatingWebhookConfiguration"
    ]
    [only] = found["webhooks"]
    assert only["clientConfig"]["service"]["path"] == "/mutate"
    only["clientConfig"] = {
        "url": f"https://127.0.0.1:{port}/mutate",
        "caBundle": b64encode(ca.cert_pem.bytes()).decode(),
    }
    return found


@contextmanager
def installed(
    control_plane: ControlPlane, objects: list[Object], *, works: bool = True
) -> Iterator[None]:
    """Install objects, and remove them at the end; if it *works*, wait until that has an effect."""
    try:
        asyncio.run(install(control_plane, objects))
        if works:
            asyncio.run(probe_until(control_plane, expected=True))
        yield
    finally:
        asyncio.run(remove(control_plane, objects))
        asyncio.run(probe_until(control_plane, expected=False))


async def install(control_plane: ControlPlane, objects: list[Object]) -> None:
    """Install objects, and what they are about."""
    async with await control_plane.client() as client:
        api = Api(client)
        await api.ensure(csi_driver(), CSI_DRIVERS)
        await api.ensure(storage_class(STORAGE_CLASS), STORAGE_CLASSES)
        await begin(api)
        for obj in objects:
            await api.create(obj, _kind(obj))


async def begin(api: Api) -> None:
    """Let injection have an effect, as the chart's hook does."""
    found = config_map(scheduler_extender_inject="true")
    await api.ensure(found, CONFIG_MAPS)
    await api.patch(CONFIG_MAPS, key_of(found), {"data": found["data"]})


async def probe_until(control_plane: ControlPlane, *, expected: bool) -> None:
    """Wait until new pods get the resource, or until they do so no longer."""

    async def is_so() -> bool:
        probe = await create(control_plane, a_pod(of_claim("none")), dry_run=True)
        return asks(probe.body) is expected

    await until(is_so, within=_EFFECT_SECONDS, what=f"injection: {expected}")


async def remove(control_plane: ControlPlane, objects: list[Object]) -> None:
    """Remove objects."""
    async with await control_plane.client() as client:
        api = Api(client)
        for obj in objects:
            await api.delete(_kind(obj), Key("", obj["metadata"]["name"]))


def _kind(obj: Object) -> Kind:
    name = obj["kind"]
    return Kind(obj["apiVersion"], _PLURALS[name], name, namespaced=False)


def _options(way: Way) -> tuple[str, ...]:
    return _SECOND_OPTIONS if way.second else ()


def _client(control_plane: ControlPlane) -> httpx.AsyncClient:
    # The certificates are made by the programs at their start, for themselves.
    return httpx.AsyncClient(
        verify=False,  # noqa: S501
        headers={"Authorization": f"Bearer {control_plane.users.token(ADMIN)}"},
        timeout=_PATIENCE_SECONDS,
    )
