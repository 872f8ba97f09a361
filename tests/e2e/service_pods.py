"""The kubelets of the service's pods: the container of each pod is a process on this machine.

What the Deployment, or the Job of a hook, says decides: the command, the variables, the account,
the Secrets, the probe. The process has the token that the API server issues for the account, so it
may do what was installed for it and nothing else. Only the address and the ports are of this
machine.
"""

import asyncio
import contextlib
import os
import sys
from base64 import b64decode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import httpx
import msgspec

from app.config import NAME, PREFIX
from tests.actors.api import PODS, Api, Informer, Key, Kind, Object, key_of
from tests.actors.controller import Controller
from tests.actors.kubelet import is_bound
from tests.e2e.proxy import Endpoint
from tests.e2e.waiting import until
from tests.ports import free_port
from tests.processes import Process

SECRETS = Kind("v1", "secrets", "Secret")
SERVICE_ACCOUNTS = Kind("v1", "serviceaccounts", "ServiceAccount")
ROLLED_OUT_SECONDS = 90.0
METRICS_PORT = f"{PREFIX}METRICS_PORT"
_LOOK_SECONDS = 0.25
_PROBE_SECONDS = 2.0
_TOKEN_SECONDS = 3600
_WORKERS = 4


class Container(msgspec.Struct, kw_only=True):
    """What programs in one container run with."""

    environ: Mapping[str, str]
    folder: Path
    """The tree that its image stands for."""
    kubeconfig: Path
    """With the token of the pod's account: in a real pod the programs find it by themselves."""

    def command(self, name: str, *arguments: str) -> list[str]:
        """Return what runs a command of the container on this machine."""
        assert name == NAME, f"the image has no {name}"
        # In releases until 0.2.0 the commands were part of the service.
        module = "cli" if (self.folder / "cli").exists() else "app"
        return [sys.executable, "-m", module, *arguments, "--kubeconfig", str(self.kubeconfig)]


class _Running(msgspec.Struct, kw_only=True):
    process: Process
    endpoint: Endpoint
    metrics_port: int
    container: Container


class ServicePods:
    """Runs the pods of the service.

    Args:
        api: Where pods are written.
        namespace: Where they are.
        endpoints: The addresses for the pods, and the port of this machine that each stands for.
        folder: For logs and kubeconfigs.
        kubeconfig: Writes one for a token, and returns it.
        sources: The tree to run for the tag of the image.
    """

    def __init__(
        self,
        api: Api,
        *,
        namespace: str,
        endpoints: list[Endpoint],
        folder: Path,
        kubeconfig: Callable[[str, str], Path],
        sources: Mapping[str, Path],
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._free = [*endpoints]
        self._folder = folder
        self._kubeconfig = kubeconfig
        self._sources = sources
        self._running: dict[str, _Running] = {}
        self._pods = Informer(api, PODS, namespace)
        self._pods.handlers.append(self._changed)
        self._controller = Controller(self._reconcile, workers=_WORKERS)

    def all(self) -> set[str]:
        """Return the pods that there are."""
        return {key.name for key, pod in self._pods.objects.items() if _is_ours(pod)}

    def ready(self) -> set[str]:
        """Return those that are ready."""
        return {
            key.name for key, pod in self._pods.objects.items() if _is_ours(pod) and _is_ready(pod)
        }

    def container(self, pod: str) -> Container:
        """Return the container of a pod that runs."""
        found = self._pods.get(pod, self._namespace)
        assert found is not None, f"there is no pod {pod}"
        return self._running[found["metadata"]["uid"]].container

    async def replaced(self, before: set[str]) -> None:
        """Wait until none of the pods *before* is left, and as many others are ready."""

        def are_replaced() -> bool:
            return self.all() == self.ready() and len(self.all() - before) == len(before)

        await until(are_replaced, within=ROLLED_OUT_SECONDS, what=lambda: sorted(self.all()))

    async def run(self) -> NoReturn:
        """Work until cancelled; then all processes end."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pods.run())
                tasks.create_task(self._controller.run())
        finally:
            for each in self._running.values():
                each.process.kill()
        raise AssertionError("informers and controllers do not end")

    def _changed(self, _old: Object | None, new: Object | None) -> None:
        if new is not None and (_is_ours(new) or _is_of_a_hook(new)) and is_bound(new):
            self._controller.add(key_of(new))

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.objects.get(key)
        if pod is None:
            return None
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            return await self._end(key, uid)
        if uid not in self._running:
            await self._start(pod, uid)
        running = self._running[uid]
        if _is_of_a_hook(pod):
            return await self._end_of_hook(key, running.process)
        running.process.assert_running()
        is_ready = await _answers(pod, running)
        if is_ready != _is_ready(pod):
            await self._api.patch(PODS, key, {"status": _status(running, is_ready)}, "status")
        return _LOOK_SECONDS

    async def _written(self, secret: str) -> Path:
        """Write the files of a Secret, and return their folder."""
        found = await self._api.get(SECRETS, secret, self._namespace)
        assert found is not None, f"there is no Secret {secret}"
        folder = self._folder / secret
        folder.mkdir(exist_ok=True)
        for file, content in found["data"].items():
            (folder / file).write_bytes(b64decode(content))
        return folder

    async def _end_of_hook(self, key: Key, process: Process) -> float | None:
        """Say how the container of a Job has ended, once it has."""
        if process.is_running:
            return _LOOK_SECONDS
        phase = "Failed" if process.returncode else "Succeeded"
        await self._api.patch(PODS, key, {"status": {"phase": phase}}, "status")
        return None

    async def _end(self, key: Key, uid: str) -> float | None:
        if running := self._running.get(uid):
            if running.process.is_running:
                running.process.terminate()
                return _LOOK_SECONDS
            del self._running[uid]
        await self._api.delete(PODS, key, at_once=True, uid=uid)
        return None

    async def _start(self, pod: Object, uid: str) -> None:
        [container] = pod["spec"]["containers"]
        account = Key(self._namespace, pod["spec"]["serviceAccountName"])
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _TOKEN_SECONDS},
        }
        issued = await self._api.create_in(SERVICE_ACCOUNTS, account, "token", request)
        assert issued is not None, f"there is no account {account.name}"
        name, endpoint = pod["metadata"]["name"], self._free.pop(0)
        environ = {key: text for key, text in os.environ.items() if not key.startswith(PREFIX)}
        environ |= {each["name"]: _value(each, pod) for each in container.get("env") or ()}
        mounts = {each["name"]: each["mountPath"] for each in container.get("volumeMounts") or ()}
        for volume in pod["spec"].get("volumes") or ():
            if "secret" in volume:
                folder = await self._written(volume["secret"]["secretName"])
                place = mounts[volume["name"]]
                environ |= {
                    key: text.replace(place, str(folder), 1)
                    for key, text in environ.items()
                    if key.startswith(PREFIX) and text.startswith(place)
                }
        tag = container["image"].rpartition(":")[2]
        metrics_port = free_port()
        if METRICS_PORT in environ:
            environ[METRICS_PORT] = str(metrics_port)
        runs_with = Container(
            environ=environ,
            folder=self._sources[tag],
            kubeconfig=self._kubeconfig(name, issued["status"]["token"]),
        )
        command = runs_with.command(*container["command"])
        listening = () if _is_of_a_hook(pod) else ("--host=127.0.0.1", f"--port={endpoint.port}")
        process = Process(
            name,
            [*command, *listening],
            self._folder / f"{name}.log",
            runs_with.environ,
            runs_with.folder,
        )
        running = _Running(
            process=process, endpoint=endpoint, metrics_port=metrics_port, container=runs_with
        )
        self._running[uid] = running
        key = key_of(pod)
        await self._api.patch(PODS, key, {"status": _status(running, is_ready=False)}, "status")


def _is_ours(pod: Object) -> bool:
    return bool((pod["metadata"].get("labels") or {}).get("app") == NAME)


def _is_of_a_hook(pod: Object) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return labels.get("app.kubernetes.io/name") == f"{NAME}-release"


def _is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)


def _status(running: _Running, is_ready: bool) -> dict[str, Any]:  # noqa: FBT001 (a field's value)
    address = running.endpoint.address
    types = ("Initialized", "PodScheduled", *(("ContainersReady", "Ready") if is_ready else ()))
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": each, "status": "True"} for each in types],
    }


def _value(variable: Object, pod: Object) -> str:
    """Return the value of a variable, which may be a field of the pod."""
    if "value" in variable:
        return str(variable["value"])
    found: Any = pod
    for part in variable["valueFrom"]["fieldRef"]["fieldPath"].split("."):
        found = found[part]
    return str(found)


async def _answers(pod: Object, running: _Running) -> bool:
    """Whether the readiness probe of a pod succeeds."""
    [container] = pod["spec"]["containers"]
    probe = container["readinessProbe"]["httpGet"]
    # Releases until 0.2.0 had no other.
    port = {"http": running.endpoint.port, "metrics": running.metrics_port}[probe["port"]]
    with contextlib.suppress(httpx.HTTPError):
        async with httpx.AsyncClient(timeout=_PROBE_SECONDS) as http:
            return (await http.get(f"http://127.0.0.1:{port}{probe['path']}")).is_success
    return False
