"""The image, built by the unchanged Dockerfile, and what runs in it."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import httpx
import pytest
from packaging.utils import canonicalize_name
from typer.main import get_group

from app.config import NAME
from cli.commands import commands
from supply.version import version
from tests.cluster import container
from tests.cluster.images import ROOT, TOOLS, Images, images
from tests.e2e.controlplane import programs
from tests.e2e.waiting import until
from tests.ports import free_ports
from tests.tools import give_up

pytestmark = pytest.mark.image

MOST_BYTES = 140 * 2**20
"""What the image adds to its base."""
MOST_CPU_SECONDS = 2.0
READY_SECONDS = 60.0
COMPILERS = {"cc", "gcc", "c++", "g++", "clang", "as", "ld", "make", "cargo", "rustc", "go"}
COMMANDS = sorted(get_group(commands).commands)
GOAL = ("--cluster-file", "/shown/goal2/cluster.yaml")
RUN = {
    "version": ("--version",),
    "filter": ("filter", "quad", *GOAL, "--also", "/shown/goal2/pods.yaml"),
    "scheduler-config": (
        *("scheduler-config", "--distribution", "kubeadm"),
        *("--url", "http://10.96.0.95:9504"),
    ),
    "plan": ("plan", *GOAL, "drain", "node-1"),
}


class Built:
    """An image, and its file system unpacked."""

    def __init__(self, name: str, rootfs: Path, config: dict[str, Any]) -> None:
        self.name = name
        self.rootfs = rootfs
        self.config = config

    @property
    def site_packages(self) -> Path:
        [found] = self.rootfs.glob("opt/venv/lib/python3*/site-packages")
        return found


@pytest.fixture(scope="module")
def store() -> Images:
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("images are built as root, who may make mounts")
    if missing := [tool for tool in (*TOOLS, "runc") if shutil.which(tool) is None]:
        give_up(f"the image needs {', '.join(missing)}, which Debian has packages of")
    return images()


def _unpacked(store: Images, name: str, folder: str) -> Built:
    rootfs = Path(folder) / "rootfs"
    store.unpack(name, rootfs)
    return Built(name, rootfs, json.loads(store.describe(name))["OCIv1"]["config"])


@pytest.fixture(scope="module")
def base(store: Images) -> Iterator[Built]:
    with tempfile.TemporaryDirectory() as folder:
        yield _unpacked(store, store.base(), folder)


@pytest.fixture(scope="module")
def image(store: Images) -> Iterator[Built]:
    with tempfile.TemporaryDirectory() as folder:
        yield _unpacked(store, store.service(), folder)


def test_it_is_small(image, base):
    assert _bytes(image.rootfs) - _bytes(base.rootfs) < MOST_BYTES


def test_it_says_who_runs_in_it_and_what(image):
    assert image.config["User"] == f"{container.USER}:{container.USER}"
    assert image.config["Entrypoint"] == [NAME]
    assert image.config["Cmd"] == ["serve"]
    assert image.config["ExposedPorts"] == {"9504/tcp": {}}


def test_it_says_what_it_was_built_from(image, base):
    prefix = "org.opencontainers.image."
    labels = {
        key.removeprefix(prefix): value
        for key, value in image.config["Labels"].items()
        if key.startswith(prefix)
    }

    assert labels["title"] == NAME
    assert labels["version"] == version(ROOT)
    assert labels["base.name"] == base.name
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", labels["revision"])
    assert labels["created"].startswith("20")


def test_nothing_can_be_installed_or_compiled_in_it(image):
    programs = {path.name for path in image.rootfs.glob("**/bin/*")}
    modules = {path.name for path in image.rootfs.glob("**/*-packages/*")}

    assert "python" in programs
    assert "fastapi" in modules
    assert not {name for name in programs if name.startswith("pip") or name in COMPILERS}
    assert not {name for name in modules if re.fullmatch(r"pip|pip-.*\.dist-info", name)}
    assert not [*image.rootfs.glob("**/ensurepip"), *image.rootfs.glob("**/pip-*.whl")]


def test_it_has_the_service_and_no_tests_of_it(image):
    [project] = image.site_packages.glob("longhorn_scheduler_extender-*.dist-info/RECORD")
    installed = {line.partition("/")[0] for line in project.read_text().splitlines()}
    sources = {path.name for path in (ROOT / "tests").rglob("*.py")} - {"__init__.py"}

    assert {"app", "cli", "extender", "leader", "longhorn", "packing", "planner"} <= installed
    assert not installed & {"tests", "benchmarks", "supply", "examples"}
    assert not {path.name for path in image.rootfs.rglob("test_*.py")} & sources
    assert not [*image.rootfs.glob("src")]


def test_it_has_the_list_of_what_is_in_it(image):
    file = image.rootfs / "usr/share/sbom/longhorn-scheduler-extender.cdx.json"
    components = json.loads(file.read_text(encoding="utf-8"))["components"]
    listed = {(canonicalize_name(each["name"]), each["version"]) for each in components}
    installed = {
        (canonicalize_name(each.name), each.version)
        for each in distributions(path=[str(image.site_packages)])
    }

    assert installed - listed == {(NAME, version(ROOT))}
    assert listed <= installed


def test_nothing_of_the_machine_that_built_it_is_in_it(image, base):
    """What is mounted while it is built stays outside."""
    bundle = "etc/ssl/certs/ca-certificates.crt"

    assert (image.rootfs / bundle).read_bytes() == (base.rootfs / bundle).read_bytes()
    assert not [*image.rootfs.rglob("pip.conf")]
    assert names(image.rootfs / "root") == names(base.rootfs / "root")
    assert {each.partition("=")[0] for each in image.config["Env"]} == {
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONUNBUFFERED",
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_starts(image, tmp_path, command):
    with run(image, tmp_path, NAME, command, "--help") as shown:
        assert shown.ended() == 0, shown.log.read_text()


@pytest.mark.parametrize("arguments", RUN.values(), ids=RUN)
def test_what_needs_no_cluster_runs(image, tmp_path, arguments):
    with run(image, tmp_path, NAME, *arguments) as ran:
        assert ran.ended() == 0, ran.log.read_text()


async def test_it_is_ready_soon_and_ends_when_told_to(image, tmp_path):
    [port] = free_ports(1)
    command = [*image.config["Entrypoint"], *image.config["Cmd"], *GOAL]
    with run(image, tmp_path, *command, "--host", "127.0.0.1", "--port", str(port)) as serving:

        async def is_ready() -> bool:
            try:
                async with httpx.AsyncClient() as http:
                    return (await http.get(f"http://127.0.0.1:{port}/readyz")).is_success
            except httpx.TransportError:
                return False

        await until(is_ready, within=READY_SECONDS, what=serving.log.read_text)
        cpu_seconds = serving.cpu_seconds()
        serving.send("TERM")
        status = serving.ended()

    assert cpu_seconds < MOST_CPU_SECONDS
    assert status == 0


def test_nothing_can_be_written_in_it(image, tmp_path):
    """So what runs above runs on a file system that is read-only."""
    code = "import os; os.mkdir('/opt/venv/new')"
    with run(image, tmp_path, "python", "-c", code) as tried:
        assert tried.ended() == 1
        assert "Read-only file system" in tried.log.read_text()


def test_the_second_scheduler_has_an_image(store, tmp_path):
    program = programs.locate(os.environ, programs.print_at_once)["kube-scheduler"]
    with tempfile.TemporaryDirectory() as folder:
        built = _unpacked(store, store.program(program), folder)
        with run(built, tmp_path, "kube-scheduler", "--version") as shown:
            assert shown.ended() == 0
            assert programs.kubernetes_version(os.environ) in shown.log.read_text()


def run(image: Built, folder: Path, *command: str) -> Any:
    """Run a command in a container of the image, which sees the examples."""
    return container.running(
        image.rootfs,
        folder / "container",
        *command,
        environ=image.config["Env"],
        shown=ROOT / "examples",
    )


def names(folder: Path) -> set[str]:
    """Return all that is below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def _bytes(folder: Path) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files)
