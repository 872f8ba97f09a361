"""The examples for kube-scheduler hold what the service relies on, all at one address.

As a whole each is what `scheduler-config` prints, of which tests/unit/cli has golden files:
`test_the_shipped_file_is_what_is_printed` compares them there.
"""

import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config import OWN_NAMESPACE
from app.settings import Settings
from tests.unit.manifests.rendered import FIXED, MANIFESTS, ROOT, SECONDARY, container_of, one

pytestmark = pytest.mark.tools

KUBECONFIGS = {
    "k3s.yaml": "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig",
    "kubeadm.yaml": "/etc/kubernetes/scheduler.conf",
    "rke2.yaml": "/var/lib/rancher/rke2/server/cred/scheduler.kubeconfig",
    "talos.yaml": None,  # Talos fills it in
}
SERVICE = "longhorn-scheduler-extender"
SERVER_NAME = f"{SERVICE}.{OWN_NAMESPACE}.svc"

SCORE_POINTS = 10 * 10
"""What kube-scheduler makes of the highest score of an extender, at weight 1."""
IMAGE_LOCALITY_POINTS = 100
NODE_AFFINITY_POINTS = 2 * 100
"""What its own plugins give a node at most, at the weights that it has by default."""


def read(file: str) -> Any:
    """Return a configuration; Talos has it within its own."""
    found = yaml.safe_load((MANIFESTS / "scheduler" / file).read_text(encoding="utf-8"))
    return found["cluster"]["scheduler"]["config"] if "cluster" in found else found


def mounted() -> Any:
    """Return the configuration of the secondary scheduler."""
    deployment = one(SECONDARY, "Deployment", "longhorn-scheduler")
    [volume, _] = deployment["spec"]["template"]["spec"]["volumes"]
    config_map = one(SECONDARY, "ConfigMap", volume["configMap"]["name"])
    return yaml.safe_load(config_map["data"]["config.yaml"])


def fixed_address() -> str:
    address = one(FIXED, "Service", SERVICE)["spec"]["clusterIP"]
    assert isinstance(address, str)
    return address


def test_every_distribution_is_tested():
    files = {path.name for path in (MANIFESTS / "scheduler").iterdir()}

    assert files == {*KUBECONFIGS}


@pytest.mark.parametrize("file", KUBECONFIGS)
def test_the_cluster_s_scheduler_calls_the_fixed_address(file):
    config, kubeconfig = read(file), KUBECONFIGS[file]
    [extender] = config["extenders"]

    assert extender["urlPrefix"] == f"https://{fixed_address()}:{Settings().port}"
    assert extender["tlsConfig"]["serverName"] == SERVER_NAME
    assert config.get("clientConnection") == (kubeconfig and {"kubeconfig": kubeconfig})


@pytest.mark.parametrize("file", KUBECONFIGS)
def test_what_to_remove_to_do_without_scores_is_said_above_it(file):
    text = (MANIFESTS / "scheduler" / file).read_text(encoding="utf-8")
    [comment] = re.findall(r"((?: *#.*\n)+) *prioritizeVerb: prioritize\n *weight: 2\n", text)

    assert "To do without scores, remove these two lines" in re.sub(r"\s+#?\s*", " ", comment)


@pytest.mark.parametrize("file", KUBECONFIGS)
def test_data_outweigh_images_and_no_preference_of_a_user_s(file):
    [weight] = [each["weight"] for each in read(file)["extenders"]]

    assert weight * SCORE_POINTS * 7 // 10 > IMAGE_LOCALITY_POINTS  # data are 7 of the 10
    assert weight * SCORE_POINTS <= NODE_AFFINITY_POINTS


def test_the_secondary_scheduler_calls_the_service_by_its_name():
    config = mounted()
    [extender] = config["extenders"]
    lease = {"resourceName": "longhorn-scheduler", "resourceNamespace": OWN_NAMESPACE}

    assert extender["urlPrefix"] == f"https://{SERVER_NAME}:{Settings().port}"
    assert config["leaderElection"].items() >= lease.items()
    assert [each["schedulerName"] for each in config["profiles"]] == ["longhorn-scheduler"]


def test_the_secondary_scheduler_reads_the_file_that_is_mounted():
    container = container_of(one(SECONDARY, "Deployment", "longhorn-scheduler"))
    [mount, tls] = container["volumeMounts"]

    assert f"--config={mount['mountPath']}/config.yaml" in container["command"]
    assert tls["mountPath"] == f"/etc/{SERVICE}"


def test_the_secondary_scheduler_may_take_its_own_lease():
    rules = one(SECONDARY, "Role", "longhorn-scheduler")["rules"]

    assert rules == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["longhorn-scheduler"],
            "verbs": ["get", "update"],
        },
    ]


def test_the_address_is_one_that_kubernetes_gives_to_others_last():
    services = ip_network("10.96.0.0/12")
    last_given = 256  # min(max(16, size / 16), 256) addresses from the start of the range

    number = int(ip_address(fixed_address())) - int(services.network_address)

    assert 10 < number < last_given  # 1 is the API server's, 10 the DNS server's


@pytest.mark.parametrize("file", [*KUBECONFIGS, "../../docs/kube-scheduler.md"])
def test_no_other_address_of_the_service_range_is_left_in_a_file(file):
    text = (MANIFESTS / "scheduler" / file).read_text(encoding="utf-8")

    found = set(re.findall(r"\b10\\?\.96\\?\.\d+\\?\.\d+\b(?!/)", text))

    assert {address.replace("\\", "") for address in found} == {fixed_address()}


def test_the_installation_guide_names_every_file():
    text = (ROOT / "docs" / "kube-scheduler.md").read_text(encoding="utf-8")

    missing = [
        file for file in KUBECONFIGS if Path("manifests/scheduler", file).as_posix() not in text
    ]

    assert missing == []
