"""Start and end a cluster with real nodes: `python -m tests.cluster.outside start`, and `stop`.

All of it is in namespaces that one process holds: processes, mounts and interfaces are gone when
that one is. What is left then are cgroups and files; who keeps the cluster removes them.
"""

import argparse
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.config import NAME
from supply.version import version
from tests.cluster import programs
from tests.cluster.images import PAUSE_IMAGE, ROOT, ImageError, images
from tests.cluster.inside import KUBECONFIG, READY_SECONDS, SCHEDULER_CONFIG, Plan
from tests.cluster.loading import loaded
from tests.cluster.node import CGROUPS, DEVICE
from tests.e2e.controlplane.programs import (
    MissingError,
    cache_root,
    kubernetes_version,
    print_at_once,
)

REPOSITORY = f"registry.example/{NAME}"
"""Of our image on the nodes."""
DISKS = (100, 100)
"""Gibibytes of each node's disk."""
_KEEP = b"k"
_PID = "keeper.pid"
_END_SECONDS = 30.0
_LOOK_SECONDS = 0.2
_ENTER = """\
#!/bin/sh
# Run a command in the network of the control plane, or on a node: enter [node-1] COMMAND...
case "$1" in node-*)
    pid=$(cat "{folder}/$1/pid"); shift
    exec nsenter --target {pid} --pid --mount -- nsenter --target "$pid" --mount --net -- "$@"
esac
exec nsenter --target {pid} --mount --net -- "$@"
"""


class ClusterError(Exception):
    """It did not start; the text says where to look."""


def plan(
    folder: Path,
    disks: Mapping[str, int],
    commits: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> Plan:
    """Build what a cluster needs, if it is not there.

    Args:
        folder: Of the cluster.
        disks: Gibibytes of each node's disk, by the node's name.
        commits: Nodes have the images of these as well, with the commit as the tag.
        flags: More flags of kube-apiserver.
    """
    found = programs.locate()
    store = images()
    older = {f"{REPOSITORY}:{commit}": store.service_of(commit) for commit in commits}
    scheduler = f"registry.k8s.io/kube-scheduler:{kubernetes_version(os.environ)}"
    wanted = {
        PAUSE_IMAGE: store.program(found[programs.PAUSE]),
        f"{REPOSITORY}:{version(ROOT)}": store.service(),
        scheduler: store.program(found["kube-scheduler"]),
        **older,
    }
    return Plan(
        programs=found,
        loaded=loaded(store, found, wanted),
        disks=dict(disks),
        cgroup=_cgroup(folder),
        flags=[*flags],
    )


def start(
    folder: Path,
    disks: Mapping[str, int],
    commits: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> "subprocess.Popen[bytes]":
    """Start a cluster that stays when this process ends; what an older one left goes first.

    Args:
        folder: For everything.
        disks: Gibibytes of each node's disk, by the node's name.
        commits: Nodes have the images of these as well, with the commit as the tag.
        flags: More flags of kube-apiserver.

    Returns:
        Its keeper, which ends when the cluster is stopped.

    Raises:
        ClusterError: It did not start.
    """
    if missing := programs.missing_packages():
        raise ClusterError(f"nodes need Debian's packages {', '.join(missing)}")
    if os.geteuid() != 0:
        raise ClusterError("nodes are started as root")
    stop(folder)
    folder.mkdir(parents=True)
    plan(folder, disks, commits, flags).write(folder)
    with (folder / "cluster.log").open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.outside", "keep", f"--folder={folder}"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            start_new_session=True,
        )
    assert keeper.stdin is not None
    with keeper.stdin as told:
        deadline = time.monotonic() + READY_SECONDS
        while not (folder / KUBECONFIG).exists():
            if keeper.poll() is not None or time.monotonic() > deadline:
                last_lines = (folder / "cluster.log").read_text(errors="replace")[-2000:]
                raise ClusterError(f"{last_lines}\nlogs are in {folder}")
            time.sleep(_LOOK_SECONDS)
        told.write(_KEEP)
    return keeper


def stop(folder: Path) -> None:
    """End the cluster of a folder, whatever is left of it, and remove the folder."""
    pid = folder / _PID
    if pid.exists() and (keeper := _pidfd(int(pid.read_text()), folder)) is not None:
        signal.pidfd_send_signal(keeper, signal.SIGTERM)
        select.select([keeper], [], [], _END_SECONDS)
        os.close(keeper)
    _detach_devices(folder)
    _remove_cgroups(folder)
    shutil.rmtree(folder, ignore_errors=True)


def keep(folder: Path) -> None:
    """Hold the cluster until told to end, or until who started it ends before it is there."""
    (folder / _PID).write_text(str(os.getpid()), encoding="utf-8")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    _make_cgroups(folder)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio would not
    command = [sys.executable, "-m", "tests.cluster.inside", str(folder), str(listener.fileno())]
    child = subprocess.Popen(
        [
            *("setpriv", "--pdeathsig", "KILL", "--"),
            *("unshare", "--pid", "--kill-child", "--mount-proc", "--net", "--"),
            # The first process must wait for those whose parents have ended, as a shell does.
            *("sh", "-c", '"$@"; exit "$?"', "sh", *command),
        ],
        stdin=subprocess.DEVNULL,
        pass_fds=[listener.fileno()],
        cwd=ROOT,
    )
    listener.close()
    try:
        _write_enter(folder, child.pid)
        _wait(child)
    finally:
        child.kill()
        child.wait()
        _remove_cgroups(folder)


def _detach_devices(folder: Path) -> None:
    """Detach the loop devices that kubelets have made of raw volumes; they outlive these."""
    of_nodes = {int(each.read_text()) for each in folder.glob(f"*/{DEVICE}")}
    command = ["losetup", "--list", "--json", "--output", "NAME,BACK-MAJ:MIN"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for each in json.loads(listed)["loopdevices"] if listed.strip() else ():
        major, _, minor = str(each["back-maj:min"]).partition(":")
        if minor and os.makedev(int(major), int(minor)) in of_nodes:
            subprocess.run(["losetup", "--detach", each["name"]], check=False)


def _wait(child: "subprocess.Popen[bytes]") -> None:
    """Return when the child has ended, or should."""
    is_kept = False
    while child.poll() is None:
        if is_kept:
            time.sleep(_LOOK_SECONDS)
        elif select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
            is_kept = os.read(sys.stdin.fileno(), 1) == _KEEP
            if not is_kept:
                return


def _write_enter(folder: Path, holder: int) -> None:
    """Write the script that leads inside."""
    children = Path(f"/proc/{holder}/task/{holder}/children")
    while not (pids := children.read_text(encoding="utf-8").split()):
        time.sleep(_LOOK_SECONDS)
    script = folder / "enter"
    script.write_text(_ENTER.format(pid=pids[0], folder=folder), encoding="utf-8")
    script.chmod(0o755)


def _pidfd(pid: int, folder: Path) -> int | None:
    """Return a handle of the keeper of a folder; None if that process is another one by now."""
    try:
        handle = os.pidfd_open(pid)
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
    except OSError:
        return None
    return handle if f"--folder={folder}" in words else None


def _hierarchies() -> list[Path]:
    """Return the roots of all cgroups: one of them, or one for each controller."""
    if (CGROUPS / "cgroup.procs").exists():
        return [CGROUPS]
    return [
        each
        for each in CGROUPS.iterdir()
        if (each / "cgroup.procs").exists() and not each.is_symlink()
    ]


def _cgroup(folder: Path) -> str:
    """Return the cgroup of the pods of a cluster."""
    return f"/nodes-{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"


def _make_cgroups(folder: Path) -> None:
    """Make those that the kubelets make theirs in; they must be there."""
    made = Plan.read(folder)
    for hierarchy in _hierarchies():
        for node in made.disks:
            path = hierarchy / made.cgroup.strip("/") / node
            path.mkdir(parents=True, exist_ok=True)


def cgroups(folder: Path) -> list[Path]:
    """Return the cgroups of a cluster, the innermost first."""
    tops = [hierarchy / _cgroup(folder).strip("/") for hierarchy in _hierarchies()]
    found = [path for top in tops for path in (top, *top.rglob("*/")) if path.is_dir()]
    return sorted(found, reverse=True)


def _remove_cgroups(folder: Path) -> None:
    """Remove them all; those who were in them have ended, or will at once."""
    deadline = time.monotonic() + _END_SECONDS
    for path in cgroups(folder):
        while path.is_dir() and time.monotonic() < deadline:
            try:
                path.rmdir()
            except OSError:
                time.sleep(_LOOK_SECONDS)


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("start", "stop", "keep"))
    default = cache_root(os.environ) / "cluster"
    parser.add_argument("--folder", type=Path, default=default)
    parser.add_argument("--disks", default="/".join(map(str, DISKS)), help="GiB of each node's")
    arguments = parser.parse_args()
    if arguments.what == "stop":
        stop(arguments.folder)
    elif arguments.what == "keep":
        keep(arguments.folder)
    else:
        sizes = [int(size) for size in arguments.disks.split("/")]
        disks = {f"node-{number}": size for number, size in enumerate(sizes, start=1)}
        try:
            start(arguments.folder, disks)
        except (ClusterError, ImageError, MissingError) as error:
            sys.stderr.write(f"{error}\n")
            return 1
        _explain(arguments.folder)
    return 0


def _explain(folder: Path) -> None:
    """Say how to use the cluster."""
    for line in (
        f"export KUBECONFIG={folder / KUBECONFIG}",
        f"# our image on the nodes: {REPOSITORY}:{version(ROOT)}",
        f"# kube-scheduler takes {folder / SCHEDULER_CONFIG}, whenever it is written",
        f"# {folder / 'enter'} COMMAND... runs where kube-scheduler does, with node-1 on that node",
        "# make cluster-stop ends it",
    ):
        print_at_once(line)


if __name__ == "__main__":
    sys.exit(main())
