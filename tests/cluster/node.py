"""One node: a network of its own, containerd, kubelet, kube-proxy, and Longhorn's CSI driver.

It sees its own `/run`, `/var/lib` and `/var/log`, so that its programs find everything where they
do on a machine of their own. Nothing of what it mounts or changes is seen outside.
"""

import asyncio
import contextlib
import json
import os
import shlex
import signal
import subprocess
from asyncio.subprocess import DEVNULL
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.actors.longhorn import DRIVER
from tests.cluster import addresses
from tests.cluster.certificates import Certificates
from tests.cluster.images import PAUSE_IMAGE
from tests.cluster.loading import link
from tests.cluster.programs import CNI_PLUGINS, CSI_NODE
from tests.processes import Process

CGROUPS = Path("/sys/fs/cgroup")
DEVICE = "device"
"""This file of a node has the number of the file system that its volumes are on."""
_KUBELET_PORT = 10250
_SYSCTLS = {"vm/overcommit_memory": 1, "kernel/panic": 10, "kernel/panic_on_oops": 1}
"""What a kubelet sets if it is anything else (`setupKernelTunables`); they are the machine's."""
_SETUP = """\
set -eu
for folder in run var/lib var/log; do mount -t tmpfs tmpfs "/$folder"; done
mkdir -p /var/lib/containerd
mount --bind "$FOLDER/containerd" /var/lib/containerd
for sysctl in $SYSCTLS; do
    name="${sysctl%=*}"
    echo "${sysctl#*=}" > "/run/${name#*/}"
    mount --bind "/run/${name#*/}" "/proc/sys/$name"
done
echo 1 > /proc/sys/net/ipv4/ip_forward
# Or pods of one node answer each other past the translation of the Service's address.
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables
ip link set lo up
touch "$FOLDER/ready"
exec sleep infinity
"""


class Node:
    """One of the nodes; they are counted from 1.

    Attributes:
        name: As in Kubernetes.
    """

    def __init__(
        self,
        number: int,
        folder: Path,
        programs: Mapping[str, Path],
        certificates: Certificates,
        loaded: Path,
    ) -> None:
        self.name = f"node-{number}"
        self._number = number
        self._folder = folder / self.name
        self._programs = programs
        self._certificates = certificates
        self._processes: dict[str, Process] = {}
        self._folder.mkdir()
        link(loaded, self._folder / "containerd")
        path = f"{programs['containerd-shim-runc-v2'].parent}:{os.environ['PATH']}"
        self._environ = {**os.environ, "PATH": path}

    @property
    def is_made(self) -> bool:
        """Whether its namespaces are there."""
        self._holder.assert_running()
        return (self._folder / "ready").exists()

    def make(self) -> None:
        """Start what holds its namespaces; `is_made` says when they can be used."""
        (self._folder / "ready").unlink(missing_ok=True)
        sysctls = " ".join(f"{name}={value}" for name, value in _SYSCTLS.items())
        environ = {**os.environ, "FOLDER": str(self._folder), "SYSCTLS": sysctls}
        self._holder = Process(
            self.name,
            ["unshare", "--net", "--mount", "sh", "-c", _SETUP],
            self._folder / "namespaces.log",
            environ,
        )
        self._processes["namespaces"] = self._holder
        self._write("pid", str(self._holder.pid))

    def connect(self, bridge: str, nodes: int) -> None:
        """Connect it to the others, by a cable to *bridge* and a route to the pods of each."""
        cable, pid = addresses.cable_of(self.name), str(self._holder.pid)
        # kubelet makes loop devices of raw volumes, which are the machine's.
        self._write(DEVICE, str(Path(f"/proc/{pid}/root/var/lib").stat().st_dev))
        address = addresses.node_address(self._number)
        for line in (
            f"ip link add {cable} type veth peer name eth0 netns {pid}",
            f"ip link set {cable} master {bridge} up",
            f"ip route replace {addresses.pods_of(self._number)} via {address}",
        ):
            do(line)
        for line in (
            f"ip address add {address}/24 dev eth0",
            "ip link set eth0 up",
            f"ip route add default via {addresses.CONTROL_PLANE}",
            *(
                f"ip route add {addresses.pods_of(other)} via {addresses.node_address(other)}"
                for other in range(1, nodes + 1)
                if other != self._number
            ),
        ):
            do(shlex.join(self.inside(*shlex.split(line))))

    def lose_power(self, cgroup: str) -> None:
        """End all that runs on it at once; nothing but containerd's folder stays.

        Args:
            cgroup: Of all pods.
        """
        own = _mounts_of(self._holder.pid)
        for process in self._processes.values():
            process.kill()
        self._processes.clear()
        shims = [pid for pid in _pids() if _mounts_of(pid) == own]
        for pid in {*shims, *_pids_below(f"{cgroup}/{self.name}")}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # The network goes some time after the last process in it, and the cable with it.
        delete = ["ip", "link", "delete", addresses.cable_of(self.name)]
        subprocess.run(delete, capture_output=True, check=False)

    def start_runtime(self) -> None:
        """Start containerd."""
        cni = self._folder / "cni"
        cni.mkdir(exist_ok=True)
        _write_json(cni / "10-pods.conflist", _network(self._number))
        config = self._write("containerd.toml", _CONTAINERD.format(cni=cni, plugins=CNI_PLUGINS))
        self._start("containerd", f"--config={config}")

    async def has_runtime(self) -> bool:
        """Whether containerd answers."""
        self._processes["containerd"].assert_running()
        command = self.inside(*self._ctr(), "version")
        done = await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=DEVNULL)
        return await done.wait() == 0

    def join(self, server: str, cgroup: str) -> None:
        """Start kubelet and CSI driver."""
        user = f"system:node:{self.name}"
        address = addresses.node_address(self._number)
        kubeconfig = self._certificates.kubeconfig(server, user, "system:nodes")
        serving, key = self._certificates.issue(f"{self.name}-kubelet", "", self.name, address)
        config = _kubelet(self._certificates.authority, serving, key, f"{cgroup}/{self.name}")
        file = self._write("kubelet.yaml", yaml.safe_dump(config))
        self._start(
            "kubelet",
            f"--config={file}",
            f"--kubeconfig={kubeconfig}",
            f"--hostname-override={self.name}",
            f"--node-ip={address}",
        )
        self._start(CSI_NODE, DRIVER, self.name)

    def start_proxy(self, server: str) -> None:
        """Start kube-proxy, which looks for the node when it starts."""
        config = kube_proxy(self._folder, self._certificates, server, self.name)
        self._start("kube-proxy", f"--config={config}")

    def inside(self, *command: str) -> list[str]:
        """Return what runs a command on the node."""
        return ["nsenter", f"--target={self._holder.pid}", "--net", "--mount", *command]

    def assert_running(self) -> None:
        """Fail if one of its programs has ended."""
        for process in self._processes.values():
            process.assert_running()

    def _ctr(self) -> tuple[str, ...]:
        return (str(self._programs["ctr"]), "--namespace=k8s.io")

    def _start(self, name: str, *flags: str) -> None:
        log = self._folder / f"{name}.log"
        command = self.inside(str(self._programs[name]), *flags)
        self._processes[name] = Process(f"{name} of {self.name}", command, log, self._environ)

    def _write(self, name: str, text: str) -> Path:
        path = self._folder / name
        path.write_text(text, encoding="utf-8")
        return path


def kube_proxy(folder: Path, certificates: Certificates, server: str, node: str) -> Path:
    """Write the configuration of a kube-proxy into a folder.

    Args:
        folder: Of the configuration.
        certificates: Of the cluster.
        server: Of the API.
        node: On which it runs.
    """
    path = folder / "kube-proxy.yaml"
    config = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": addresses.PODS,
        "hostnameOverride": node,
        # These are the machine's: they are left as they are.
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "clientConnection": {
            "kubeconfig": str(certificates.kubeconfig(server, "system:kube-proxy", ""))
        },
    }
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def _pids() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]


def _mounts_of(pid: int) -> str:
    """Name the mount namespace of a process; nothing if it has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/mnt").readlink())
    except OSError:
        return ""


def _pids_below(cgroup: str) -> set[int]:
    """Return the processes of all cgroups below one, of whatever hierarchy."""
    return {
        int(pid)
        for file in CGROUPS.glob(f"*/{cgroup.lstrip('/')}/**/cgroup.procs")
        for pid in file.read_text(encoding="ascii").split()
    }


def do(line: str) -> None:
    """Run a command that does its work at once."""
    done = subprocess.run(shlex.split(line), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}: {done.stderr}"


def _kubelet(authority: Path, certificate: Path, key: Path, cgroup: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "port": _KUBELET_PORT,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(certificate),
        "tlsPrivateKeyFile": str(key),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "clusterDNS": [addresses.CONTROL_PLANE],
        "clusterDomain": addresses.DOMAIN,
        "resolvConf": "",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        # The disk is the machine's, and nothing is deleted because others fill it.
        "evictionHard": {
            "memory.available": "0%",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
        },
        "imageGCHighThresholdPercent": 100,
        "registerWithTaints": [],
    }


def _network(number: int) -> dict[str, Any]:
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "pods",
                "isGateway": True,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": addresses.pods_of(number)}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }
        ],
    }


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


_CONTAINERD = f"""\
version = 3
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
  # Without CAP_SYS_RESOURCE nothing may be lowered, and runc fails.
  restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["{{plugins}}"]
  conf_dir = "{{cni}}"
"""
