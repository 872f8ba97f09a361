"""A control plane of Kubernetes' own programs on loopback, in a folder of its own.

What it leaves out is what needs kubelets or moves pods by itself: the node lifecycle, the
attach-detach controller, garbage collection of pods. RBAC is on.
"""

import asyncio
import base64
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import httpx
import trustme
import yaml
from kubernetes_asyncio import client
from kubernetes_asyncio.config import load_kube_config

from tests.actors.api import Api, Object
from tests.e2e.controlplane import programs, versions
from tests.e2e.installation import LONGHORN_PATHS, install
from tests.e2e.users import ADMIN, CONTROLLER, CONTROLLER_MANAGER, EXTENDER, SCHEDULER, Users
from tests.e2e.waiting import until
from tests.ports import free_ports
from tests.processes import Process

_GO_WORD = re.compile("^(?:[A-Z]+(?=[A-Z][a-z])|[A-Z])")
SERVICE_RANGE = "10.96.0.0/16"
START_SECONDS = 90.0
"""On a machine that has much else to do; on an idle one it takes a tenth of it."""

CONTROLLERS = (
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "statefulset-controller",
    "deployment-controller",
    "replicaset-controller",
    "job-controller",
    "disruption-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "endpointslice-controller",
    "endpointslice-mirroring-controller",
    "ephemeral-volume-controller",
    "deployment-controller",
    "replicaset-controller",
    "job-controller",
    "daemonset-controller",
    "resourcequota-controller",
)


class Ports(NamedTuple):
    """Where the programs listen."""

    etcd: int
    etcd_peers: int
    api_server: int
    controller_manager: int
    scheduler: int


class ControlPlane:
    """etcd, kube-apiserver and kube-controller-manager, and a kube-scheduler when asked for.

    Attributes:
        folder: Logs, certificates, kubeconfigs and data.
        users: Who may talk to it, and how.
        audit_log: One JSON line for each request of our accounts, and for each write of anybody to
            an EndpointSlice or a Lease.
        gates: What kube-apiserver and kube-scheduler have switched on when they are started.
        authority: Signs the certificate that the API server shows to webhooks.
    """

    def __init__(self, programs: Mapping[str, Path], folder: Path) -> None:
        self.folder = folder
        self.audit_log = folder / "audit.jsonl"
        self.gates: tuple[str, ...] = ()
        self.ports = Ports(*free_ports(5))
        self._programs = programs
        self.users = Users(folder, self.url)
        self.authority = trustme.CA()
        self._processes: dict[str, Process] = {}

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.ports.api_server}"

    async def client(self, user: str = ADMIN) -> client.ApiClient:
        """Build a client for the running loop; the caller closes it."""
        configuration = client.Configuration()
        await load_kube_config(
            config_file=str(self.users.kubeconfig(user)),
            client_configuration=configuration,
            persist_config=False,
        )
        return client.ApiClient(configuration)

    async def start(self, *, with_service: bool = True) -> None:
        """Start everything but the scheduler, and install the CRDs and our manifests.

        Args:
            with_service: Whether our manifests are installed, too, but for the Deployment.
        """
        self._write_files()
        self._run("etcd", *self._etcd_flags())
        await self.start_api_server()
        self._run("kube-controller-manager", *self._controller_manager_flags())
        async with await self.client() as admin:
            await install(Api(admin), with_service=with_service)
        for path in LONGHORN_PATHS:
            await until(partial(self._is_served, path), within=START_SECONDS)

    async def start_api_server(self, *flags: str) -> None:
        """Start kube-apiserver, with more flags if wished, and wait until it is ready."""
        self._run("kube-apiserver", *self._api_server_flags(), *flags)
        await until(self._is_ready, within=START_SECONDS)

    async def restore_api_server(self) -> None:
        """Start kube-apiserver again if a test has left it dead."""
        if not self._processes["kube-apiserver"].is_running:
            await self.start_api_server()

    def kill_api_server(self) -> None:
        """End kube-apiserver at once; its state is in etcd."""
        self._processes["kube-apiserver"].kill()

    def kill(self) -> None:
        """End everything at once, as a power cut does."""
        for process in self._processes.values():
            process.kill()

    async def start_again(self) -> None:
        """Start everything that was killed, on what it left.

        Without an API server the others end, and elsewhere a kubelet would start them anew.
        """
        self._run("etcd", *self._etcd_flags())
        await self.start_api_server()
        self._run("kube-controller-manager", *self._controller_manager_flags())
        self._run("kube-scheduler", *self._own_scheduler_flags())

    async def start_scheduler(self, configuration: Object) -> None:
        """Start kube-scheduler on a KubeSchedulerConfiguration and wait until it is ready."""
        await self.start_scheduler_with(yaml.safe_dump(configuration))

    async def start_scheduler_with(self, text: str) -> None:
        """Start kube-scheduler on a file with this text and wait until it is ready."""
        self._scheduler_file.write_text(text, encoding="utf-8")
        self._run("kube-scheduler", *self._own_scheduler_flags())
        await until(self._is_scheduler_ready, within=START_SECONDS)

    async def stop_scheduler(self) -> None:
        """End kube-scheduler if it was started."""
        if process := self._processes.get("kube-scheduler"):
            await process.stop()

    @property
    def has_scheduler(self) -> bool:
        """Whether kube-scheduler runs."""
        return self._processes["kube-scheduler"].is_running

    def kill_scheduler(self) -> None:
        """End kube-scheduler at once."""
        self._processes["kube-scheduler"].kill()

    async def scheduler_metrics(self) -> str:
        """Return kube-scheduler's metrics."""
        return await self._ask_scheduler("metrics")

    async def scheduler_configuration(self) -> Object:
        """Return the configuration that kube-scheduler runs with, defaults included."""
        shown: Object = json.loads(await self._ask_scheduler("configz"), object_hook=_as_in_files)
        configuration: Object = shown["componentconfig"]
        return configuration

    async def compact(self) -> None:
        """Make etcd forget all versions but the newest, as kube-apiserver does every five minutes.

        Under the key, kube-apiserver learns of it. It looks every 15 seconds, and lists versions
        from memory until then.
        """
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.ports.etcd}") as etcd:
            key = base64.b64encode(b"compact_rev_key").decode()
            read = await etcd.post("/v3/kv/range", json={"key": key})
            revision = read.raise_for_status().json()["header"]["revision"]
            value = base64.b64encode(str(revision).encode()).decode()
            told = await etcd.post("/v3/kv/put", json={"key": key, "value": value})
            told.raise_for_status()
            done = await etcd.post("/v3/kv/compaction", json={"revision": revision})
            done.raise_for_status()

    def cpu_seconds(self) -> dict[str, float]:
        """Return the time of processors that each program has taken until now."""
        return {name: process.cpu_seconds for name, process in self._processes.items()}

    def scheduler_command(self, configuration: Path, port: int) -> list[str]:
        """Return the command of one more kube-scheduler, with the same account."""
        return [str(self._programs["kube-scheduler"]), *self._scheduler_flags(configuration, port)]

    @property
    def _scheduler_file(self) -> Path:
        return self.folder / "scheduler.yaml"

    async def stop(self) -> None:
        """End everything, the API server last but one and etcd last."""
        for process in reversed(self._processes.values()):
            await process.stop()

    async def version(self) -> str:
        """Return the version of Kubernetes, as the API server says."""
        async with self._http() as http:
            version: str = (await http.get(f"{self.url}/version")).json()["gitVersion"]
        return version

    def _run(self, name: str, *flags: str) -> None:
        before = self._processes.get(name)
        assert before is None or not before.is_running, f"{name} runs already"
        command = [str(self._programs[name]), *flags]
        self._processes[name] = Process(name, command, self.folder / f"{name}.log")

    def _write_files(self) -> None:
        self.users.write_tokens()
        (self.folder / "audit.yaml").write_text(yaml.safe_dump(_AUDIT_POLICY))
        self._write_admission()
        key = self.folder / "sa.key"
        for command in (
            ["openssl", "genrsa", "-out", str(key), "2048"],
            ["openssl", "rsa", "-in", str(key), "-pubout", "-out", str(key.with_suffix(".pub"))],
        ):
            subprocess.run(command, check=True, capture_output=True)

    def _write_admission(self) -> None:
        """Have the API server show a certificate to webhooks that ask for one.

        Source: Kubernetes, "Authenticate API servers" of its page on admission webhooks.
        """
        pair = self.folder / "to-webhooks.pem"
        self.authority.issue_cert(
            common_name="kube-apiserver"
        ).private_key_and_cert_chain_pem.write_to_path(pair)
        names = {"client-certificate": str(pair), "client-key": str(pair)}
        kubeconfig = {"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": names}]}
        webhooks = {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": str(self.folder / "to-webhooks.yaml"),
        }
        plugins = [{"name": "MutatingAdmissionWebhook", "configuration": webhooks}]
        admission = {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AdmissionConfiguration",
            "plugins": plugins,
        }
        (self.folder / "to-webhooks.yaml").write_text(yaml.safe_dump(kubeconfig))
        (self.folder / "admission.yaml").write_text(yaml.safe_dump(admission))

    def _etcd_flags(self) -> list[str]:
        clients = f"http://127.0.0.1:{self.ports.etcd}"
        peers = f"http://127.0.0.1:{self.ports.etcd_peers}"
        return [
            f"--data-dir={self.folder / 'etcd'}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
        ]

    def _api_server_flags(self) -> list[str]:
        return [
            f"--etcd-servers=http://127.0.0.1:{self.ports.etcd}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.ports.api_server}",
            f"--cert-dir={self.folder / 'certificates'}",
            f"--token-auth-file={self.users.tokens}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={self.folder / 'sa.key'}",
            f"--service-account-key-file={self.folder / 'sa.pub'}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--endpoint-reconciler-type=none",
            # No kubelets and no node lifecycle: nobody would take the first taint off again.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            f"--admission-control-config-file={self.folder / 'admission.yaml'}",
            f"--audit-policy-file={self.folder / 'audit.yaml'}",
            f"--audit-log-path={self.audit_log}",
            *versions.chosen(os.environ).policies_flags,
            *self._gate_flags(),
        ]

    def _controller_manager_flags(self) -> list[str]:
        config = self.users.kubeconfig(CONTROLLER_MANAGER)
        return [
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.folder / 'sa.key'}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.ports.controller_manager}",
            f"--cert-dir={self.folder / 'certificates'}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--kube-api-qps=300",
            "--kube-api-burst=600",
        ]

    def _own_scheduler_flags(self) -> list[str]:
        return self._scheduler_flags(self._scheduler_file, self.ports.scheduler)

    def _scheduler_flags(self, configuration: Path, port: int) -> list[str]:
        config = self.users.kubeconfig(SCHEDULER)
        return [
            f"--config={configuration}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder / 'certificates'}",
            *self._gate_flags(),
        ]

    def _gate_flags(self) -> list[str]:
        return [f"--feature-gates={gate}=true" for gate in self.gates]

    async def _ask_scheduler(self, path: str) -> str:
        async with self._http() as http:
            response = await http.get(f"https://127.0.0.1:{self.ports.scheduler}/{path}")
        return response.raise_for_status().text

    def _http(self) -> httpx.AsyncClient:
        # The certificates are made by the programs at their start, for themselves.
        return httpx.AsyncClient(
            verify=False,  # noqa: S501
            headers={"Authorization": f"Bearer {self.users.token(ADMIN)}"},
            timeout=5.0,
        )

    async def _answers(self, process: str, url: str) -> bool:
        self._processes[process].assert_running()
        try:
            async with self._http() as http:
                return (await http.get(url)).status_code == 200
        except httpx.TransportError:
            return False

    async def _is_ready(self) -> bool:
        return await self._answers("kube-apiserver", f"{self.url}/readyz")

    async def _is_served(self, path: str) -> bool:
        return await self._answers("kube-apiserver", self.url + path)

    async def _is_scheduler_ready(self) -> bool:
        url = f"https://127.0.0.1:{self.ports.scheduler}/readyz"
        return await self._answers("kube-scheduler", url)


def _as_in_files(shown: Object) -> Object:
    """Name fields as files do, and leave out empty ones: before 1.36 they are named as in Go."""
    named = ((_GO_WORD.sub(lambda found: found[0].lower(), key), shown[key]) for key in shown)
    return {key: value for key, value in named if value is not None}


@contextmanager
def running(folder: Path, *, with_service: bool = True) -> Iterator[ControlPlane]:
    """Run a control plane, for tests with loops of their own. Logs stay in *folder*.

    Args:
        folder: Of the control plane.
        with_service: Whether our manifests are installed, too, but for the Deployment.

    Raises:
        programs.MissingError: Its programs are not there.
    """
    found = programs.find(
        os.environ, programs.cache_folder(os.environ, programs.module_of(os.environ))
    )
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise programs.MissingError(f"{', '.join(missing)}: run `make e2e`, which builds them")
    control_plane = ControlPlane({name: path for name, path in found.items() if path}, folder)
    try:
        asyncio.run(control_plane.start(with_service=with_service))
        yield control_plane
    finally:
        asyncio.run(control_plane.stop())


_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "users": [EXTENDER, CONTROLLER]},
        {
            "level": "Metadata",
            "verbs": ["create", "update", "patch", "delete", "deletecollection"],
            "resources": [
                {"group": "discovery.k8s.io", "resources": ["endpointslices"]},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
            ],
        },
        {"level": "None"},
    ],
}
