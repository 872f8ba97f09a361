"""kube-scheduler takes the configurations we ship, as they are but for paths of other machines."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import MANIFESTS
from tests.e2e.users import SCHEDULER

SHIPPED = (
    "scheduler/kubeadm.yaml",
    "scheduler/k3s.yaml",
    "scheduler/rke2.yaml",
    "scheduler/talos.yaml",
    "secondary-scheduler/config.yaml",
)


@pytest.mark.parametrize("name", SHIPPED)
async def test_kube_scheduler_starts_with(control_plane: ControlPlane, name: str) -> None:
    config = _configuration(MANIFESTS / name)
    config["clientConnection"] = {"kubeconfig": str(control_plane.users.kubeconfig(SCHEDULER))}

    try:
        await control_plane.start_scheduler(config)
    finally:
        await control_plane.stop_scheduler()


async def test_it_would_refuse_a_misspelt_field(control_plane: ControlPlane) -> None:
    config = _configuration(MANIFESTS / SHIPPED[0])
    config["clientConnection"] = {"kubeconfig": str(control_plane.users.kubeconfig(SCHEDULER))}
    config["extenders"][0]["nodeCacheable"] = True

    with pytest.raises(AssertionError, match=r"unknown field .*nodeCacheable"):
        await control_plane.start_scheduler(config)


def _configuration(path: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(path.read_text())
    if "cluster" in config:  # Talos adds what it leaves out
        config = config["cluster"]["scheduler"]["config"]
        config["apiVersion"] = "kubescheduler.config.k8s.io/v1"
        config["kind"] = "KubeSchedulerConfiguration"
    return config
