"""The programs of real nodes, built like those of the control plane.

kubelet and kube-proxy are of the same module as the control plane; containerd and CoreDNS are from
modules of their own. runc, the CNI plugins and nft are Debian's.
"""

import os
import shutil
from pathlib import Path

from tests.cluster import images
from tests.e2e.controlplane import programs
from tests.e2e.controlplane.programs import Program

_HERE = Path(__file__).parent
_RUNTIME, _DNS = _HERE / "runtime", _HERE / "dns"
_CONTAINERD = "github.com/containerd/containerd/v2/cmd"
_TAGS = "no_btrfs,no_devmapper,no_zfs"
PAUSE, CSI_NODE = "pause", "csinode"
_OF_NODES = (
    Program("kubelet", "", "k8s.io/kubernetes/cmd/kubelet"),
    Program("kube-proxy", "", "k8s.io/kubernetes/cmd/kube-proxy"),
    Program("containerd", "", f"{_CONTAINERD}/containerd", _RUNTIME, _TAGS),
    Program(
        "containerd-shim-runc-v2", "", f"{_CONTAINERD}/containerd-shim-runc-v2", _RUNTIME, _TAGS
    ),
    Program("ctr", "", f"{_CONTAINERD}/ctr", _RUNTIME, _TAGS),
    Program(PAUSE, "", "./pause", _RUNTIME),
    Program(CSI_NODE, "", "./csinode", _RUNTIME),
    Program("coredns", "", ".", _DNS),
)
_TOOLS = {
    "conntrack": "conntrack",
    "ip": "iproute2",
    "losetup": "mount",
    "nft": "nftables",
    "nsenter": "util-linux",
    "runc": "runc",
    "setpriv": "util-linux",
    "unshare": "util-linux",
    **images.TOOLS,
}
CNI_PLUGINS = Path("/usr/lib/cni")
"""Where Debian's containernetworking-plugins puts them."""


def missing_packages() -> list[str]:
    """Return the packages of Debian that a cluster needs and that are not there."""
    missing = {package for tool, package in _TOOLS.items() if shutil.which(tool) is None}
    return sorted(missing | (set() if CNI_PLUGINS.exists() else {"containernetworking-plugins"}))


def locate() -> dict[str, Path]:
    """Return the files of all programs, building what there is not.

    Raises:
        MissingError: A program is neither there nor can it be built.
    """
    wanted = (*programs.PROGRAMS, *_OF_NODES)
    return programs.locate(os.environ, programs.print_at_once, wanted)
