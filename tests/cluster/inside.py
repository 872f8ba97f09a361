"""What runs within the namespaces of a cluster: its control plane, its nodes, and Longhorn.

`outside.py` starts it as a child of the first process there: when that one ends, all end. The
network is that of the control plane. The way in is a socket that it is handed.
"""

import asyncio
import os
import socket
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NoReturn, Self

import msgspec
import yaml

from tests.actors import api as kinds
from tests.actors.api import Api, Object
from tests.cluster import addresses, longhorn
from tests.cluster.certificates import Certificates
from tests.cluster.control_plane import PORT, NodesControlPlane
from tests.cluster.node import Node, do, kube_proxy
from tests.e2e.control_plane import SERVICE_RANGE
from tests.e2e.relay import Relay
from tests.e2e.users import ADMIN, SCHEDULER
from tests.e2e.waiting import until
from tests.processes import Process

KUBECONFIG = "kubeconfig"
"""Of an administrator; there as soon as all nodes are ready."""
POWER_CUT = "power-cut"
"""A file that makes everything end at once and start again; it goes when all of it is started."""
SCHEDULER_CONFIG = "kube-scheduler-config.yaml"
"""kube-scheduler is started anew when this file changes."""
READY_SECONDS = 180.0
_BRIDGE = "nodes"
_PLAN = "plan.json"
_LOOK_SECONDS = 0.5
_SCHEDULER = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
_COREDNS = """\
.:53 {{
    kubernetes {domain} {{
        kubeconfig {kubeconfig}
    }}
}}
"""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster is made of."""

    programs: dict[str, Path]
    """Their files, by name."""
    loaded: Path
    """What containerd of each node begins with."""
    disks: dict[str, int]
    """Gibibytes of the disk of each node, by the node's name."""
    cgroup: str
    """Of all pods, such as `/nodes`."""
    flags: list[str] = []
    """More flags of kube-apiserver."""

    def write(self, folder: Path) -> None:
        """Leave it in the folder of the cluster."""
        (folder / _PLAN).write_bytes(msgspec.json.encode(self, enc_hook=str))

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return what was left there."""
        return msgspec.json.decode(
            (folder / _PLAN).read_bytes(), type=cls, dec_hook=lambda _type, text: Path(text)
        )


class Cluster:
    """Everything, in a folder.

    Args:
        folder: For all files.
        plan: What it is made of.
        listener: Where connections to the API server come in.
    """

    def __init__(self, folder: Path, plan: Plan, listener: socket.socket) -> None:
        self._folder = folder
        self._plan = plan
        self._listener = listener
        self._certificates = Certificates(folder / "certificates")
        own = folder / "control-plane"
        own.mkdir()
        self._control_plane = NodesControlPlane(plan.programs, own, self._certificates, plan.flags)
        self._nodes = [
            Node(number, folder, plan.programs, self._certificates, plan.loaded)
            for number in range(1, len(plan.disks) + 1)
        ]
        self._processes: list[Process] = []

    async def run(self) -> NoReturn:
        """Be the cluster until something fails, which ends it."""
        _make_network()
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
            for node in self._nodes:
                node.make()
                tasks.create_task(self._prepare(node))
            await self._control_plane.start(with_service=False)
            client = await stack.enter_async_context(await self._control_plane.client())
            api = Api(client)
            await stack.enter_async_context(longhorn.running(api, self._plan.disks))
            await stack.enter_async_context(Relay(PORT, self._listener).running())
            await until(lambda: self._are_ready(api), within=READY_SECONDS, what="nodes are ready")
            self._start_services()
            for node in self._nodes:
                node.start_proxy(self._control_plane.url)
            await self._start_scheduler(_SCHEDULER)
            self._write_kubeconfig()
            await self._go_on()
        raise AssertionError("it goes on until it fails")

    async def _prepare(self, node: Node) -> None:
        """Bring a node to where it joins."""
        await until(lambda: node.is_made, within=READY_SECONDS)
        node.connect(_BRIDGE, len(self._nodes))
        node.start_runtime()
        await until(node.has_runtime, within=READY_SECONDS)
        node.join(self._control_plane.url, self._plan.cgroup)

    def _start_services(self) -> None:
        """Start what Services need where kube-scheduler runs: kube-proxy, and their names."""
        own, url = self._folder / "control-plane", self._control_plane.url
        corefile = own / "Corefile"
        names = _COREDNS.format(
            domain=addresses.DOMAIN,
            kubeconfig=self._control_plane.users.kubeconfig(ADMIN),
        )
        corefile.write_text(names, encoding="utf-8")
        # No kubelet runs here, so there is no node of this name; it stands for the first one.
        proxy = kube_proxy(own, self._certificates, url, self._nodes[0].name)
        for name, flag in (("coredns", f"-conf={corefile}"), ("kube-proxy", f"--config={proxy}")):
            command = [str(self._plan.programs[name]), flag]
            self._processes.append(Process(name, command, own / f"{name}.log"))

    async def _start_scheduler(self, config: Object) -> None:
        """Start kube-scheduler, but for the paths with a given configuration."""
        kubeconfig = str(self._control_plane.users.kubeconfig(SCHEDULER))
        await self._control_plane.stop_scheduler()
        await self._control_plane.start_scheduler(
            config
            | {
                "clientConnection": {"kubeconfig": kubeconfig},
                # Alone as it is, it need not wait for the lease of the one before.
                "leaderElection": {"leaderElect": False},
            }
        )

    async def _are_ready(self, api: Api) -> bool:
        self._assert_running()
        listed = await api.list(kinds.KUBERNETES_NODES)
        ready = [
            node
            for node in listed
            for condition in node["status"].get("conditions") or ()
            if (condition["type"], condition["status"]) == ("Ready", "True")
        ]
        return len(ready) == len(self._nodes)

    def _write_kubeconfig(self) -> None:
        port = self._listener.getsockname()[1]
        server = f"https://127.0.0.1:{port}"
        made = self._certificates.kubeconfig(server, ADMIN, "system:masters")
        made.replace(self._folder / KUBECONFIG)

    async def _go_on(self) -> NoReturn:
        """Do what the files in the folder ask for; fail if a program ends."""
        started_with, before = "", ""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self._assert_running()
            cut = self._folder / POWER_CUT
            if cut.exists():
                await self._lose_power()
                await self._return()
                cut.unlink()
            now = self._scheduler_config()
            # What is the same twice is written to its end.
            if now == before != started_with:
                started_with = now
                try:
                    await self._start_scheduler(yaml.safe_load(now))
                except AssertionError as error:
                    sys.stderr.write(f"{error}\n")
            before = now

    async def _lose_power(self) -> None:
        """End everything but Longhorn's controllers, which are played here, at once."""
        for node in self._nodes:
            node.lose_power(self._plan.cgroup)
        for process in self._processes:
            process.kill()
        self._processes.clear()
        self._control_plane.kill()

    async def _return(self) -> None:
        """Start what has ended, all at the same time, as machines do."""
        self._start_services()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._control_plane.start_again())
            for node in self._nodes:
                node.make()
                tasks.create_task(self._return_of(node))

    async def _return_of(self, node: Node) -> None:
        await self._prepare(node)
        node.start_proxy(self._control_plane.url)

    def _scheduler_config(self) -> str:
        file = self._folder / SCHEDULER_CONFIG
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def _assert_running(self) -> None:
        for process in self._processes:
            process.assert_running()
        for node in self._nodes:
            node.assert_running()


def _make_network() -> None:
    """Make the network that connects the nodes, with the control plane in it."""
    for line in (
        "ip link set lo up",
        f"ip link add {_BRIDGE} type bridge",
        f"ip address add {addresses.CONTROL_PLANE}/24 dev {_BRIDGE}",
        f"ip link set {_BRIDGE} up",
        # Elsewhere a default route leads there; kube-proxy replaces the address before it is taken.
        f"ip route add {SERVICE_RANGE} dev {_BRIDGE}",
    ):
        do(line)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="utf-8")


def main() -> NoReturn:
    """Run what the folder says, on the socket of this number."""
    folder, descriptor = Path(sys.argv[1]), int(sys.argv[2])
    os.umask(0o022)
    asyncio.run(Cluster(folder, Plan.read(folder), socket.socket(fileno=descriptor)).run())
    raise AssertionError("it goes on until it fails")


if __name__ == "__main__":
    main()
