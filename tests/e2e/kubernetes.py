"""What differs from a real Kubernetes: nodes without kubelets, and this machine's addresses."""

import os
from pathlib import Path

import yaml

from tests.actors.api import Object
from tests.e2e.controlplane.programs import kubernetes_version
from tests.e2e.installation import MANIFESTS

NODE_STATUS = {
    "capacity": {"cpu": "64", "memory": "256Gi", "pods": "250"},
    "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "250"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    "nodeInfo": {"kubeletVersion": kubernetes_version(os.environ)},
}


def kubernetes_node(name: str) -> Object:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {"metadata": {"name": name, "labels": labels}}


def scheduler_configuration(
    kubeconfig: Path,
    extender_url: str,
    manifests: Path = MANIFESTS,
    file: str = "scheduler/kubeadm.yaml",
) -> Object:
    """Read a shipped configuration of kube-scheduler, with paths and addresses of this machine.

    Its own election is off: the tests that restart it would wait for the old lease to run out.
    """
    config: Object = yaml.safe_load((manifests / file).read_text())
    config["clientConnection"] = {"kubeconfig": str(kubeconfig)}
    config["leaderElection"] = {"leaderElect": False}
    [extender] = config["extenders"]
    extender["urlPrefix"] = extender_url
    if extender_url.startswith("http:"):
        extender.pop("tlsConfig", None)
        extender["enableHTTPS"] = False
    return config
