"""The examples for kube-scheduler hold what the service relies on, all at one address."""

import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
import yaml

from app.config import Settings
from tests.unit.manifests.rendered import FIXED, MANIFESTS, ROOT, SECONDARY, container_of, one

KUBECONFIGS = {
    "k3s.yaml": "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig",
    "kubeadm.yaml": "/etc/kubernetes/scheduler.conf",
    "rke2.yaml": "/var/lib/rancher/rke2/server/cred/scheduler.kubeconfig",
    "talos.yaml": None,  # Talos fills it in
}
SERVICE = "longhorn-scheduler-extender"
TLS_LINES = "tls.yaml"  # what changes in each of them for HTTPS


class Strict(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """kube-scheduler refuses a file with a field it does not know; so do these."""


class ManagedResource(Strict, frozen=True, kw_only=True):
    name: str
    ignored_by_scheduler: bool


class TlsConfig(Strict, frozen=True, kw_only=True):
    server_name: str
    ca_file: str
    cert_file: str
    key_file: str


class Extender(Strict, frozen=True, kw_only=True):
    url_prefix: str
    filter_verb: str
    enable_https: bool = msgspec.field(name="enableHTTPS")
    node_cache_capable: bool
    ignorable: bool
    http_timeout: str
    managed_resources: tuple[ManagedResource, ...]
    tls_config: TlsConfig | None = None


class ClientConnection(Strict, frozen=True, kw_only=True):
    kubeconfig: str


class LeaderElection(Strict, frozen=True, kw_only=True):
    leader_elect: bool
    resource_name: str | None = None
    resource_namespace: str | None = None


class Profile(Strict, frozen=True, kw_only=True):
    scheduler_name: str


class SchedulerConfiguration(Strict, frozen=True, kw_only=True):
    """The fields of kubescheduler.config.k8s.io/v1 that the examples use."""

    api_version: Literal["kubescheduler.config.k8s.io/v1"]
    kind: Literal["KubeSchedulerConfiguration"]
    client_connection: ClientConnection | None = None
    leader_election: LeaderElection
    percentage_of_nodes_to_score: int
    extenders: tuple[Extender, ...]
    profiles: tuple[Profile, ...] = ()


def extender_at(url: str) -> Extender:
    return Extender(
        url_prefix=url,
        filter_verb="filter",
        enable_https=False,
        node_cache_capable=True,
        ignorable=False,
        http_timeout="5s",
        managed_resources=(
            ManagedResource(name="longhorn.io/scheduler-extender", ignored_by_scheduler=True),
        ),
    )


def read(file: str) -> SchedulerConfiguration:
    document = yaml.safe_load((MANIFESTS / "scheduler" / file).read_text(encoding="utf-8"))
    if file == "talos.yaml":
        document = with_what_talos_adds(document)
    return msgspec.convert(document, SchedulerConfiguration)


def with_what_talos_adds(patch: Any) -> Any:
    """Take the configuration out of a patch that has nothing else in it."""
    assert patch == {"cluster": {"scheduler": {"config": patch["cluster"]["scheduler"]["config"]}}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **patch["cluster"]["scheduler"]["config"],
    }


def fixed_address() -> str:
    address = one(FIXED, "Service", SERVICE)["spec"]["clusterIP"]
    assert isinstance(address, str)
    return address


def test_every_distribution_is_tested() -> None:
    files = {path.name for path in (MANIFESTS / "scheduler").iterdir()}

    assert files == {*KUBECONFIGS, TLS_LINES}


@pytest.mark.parametrize("file", KUBECONFIGS)
def test_the_cluster_s_scheduler(file: str) -> None:
    kubeconfig = KUBECONFIGS[file]

    assert read(file) == SchedulerConfiguration(
        api_version="kubescheduler.config.k8s.io/v1",
        kind="KubeSchedulerConfiguration",
        client_connection=ClientConnection(kubeconfig=kubeconfig) if kubeconfig else None,
        leader_election=LeaderElection(leader_elect=True),
        percentage_of_nodes_to_score=100,
        extenders=(extender_at(f"http://{fixed_address()}:{Settings().port}"),),
    )


@pytest.mark.parametrize("file", KUBECONFIGS)
def test_the_lines_for_https_turn_each_file_into_one_that_calls_over_it(file: str) -> None:
    lines = yaml.safe_load((MANIFESTS / "scheduler" / TLS_LINES).read_text(encoding="utf-8"))
    [plain] = read(file).extenders

    entry = msgspec.convert({**msgspec.to_builtins(plain), **lines}, Extender)

    folder = "/etc/longhorn-scheduler-extender"
    assert entry == msgspec.structs.replace(
        plain,
        url_prefix=plain.url_prefix.replace("http://", "https://"),
        enable_https=True,
        tls_config=TlsConfig(
            server_name=f"{SERVICE}.longhorn-system.svc",
            ca_file=f"{folder}/ca.crt",
            cert_file=f"{folder}/tls.crt",
            key_file=f"{folder}/tls.key",
        ),
    )


def test_the_secondary_scheduler() -> None:
    mounted = one(SECONDARY, "Deployment", "longhorn-scheduler")
    [volume] = mounted["spec"]["template"]["spec"]["volumes"]
    config = one(SECONDARY, "ConfigMap", volume["configMap"]["name"])["data"]["config.yaml"]

    assert msgspec.convert(yaml.safe_load(config), SchedulerConfiguration) == (
        SchedulerConfiguration(
            api_version="kubescheduler.config.k8s.io/v1",
            kind="KubeSchedulerConfiguration",
            leader_election=LeaderElection(
                leader_elect=True,
                resource_name="longhorn-scheduler",
                resource_namespace="longhorn-system",
            ),
            percentage_of_nodes_to_score=100,
            extenders=(extender_at(f"http://{SERVICE}.longhorn-system.svc:{Settings().port}"),),
            profiles=(Profile(scheduler_name="longhorn-scheduler"),),
        )
    )


def test_the_secondary_scheduler_reads_the_file_that_is_mounted() -> None:
    container = container_of(one(SECONDARY, "Deployment", "longhorn-scheduler"))
    [mount] = container["volumeMounts"]

    assert f"--config={mount['mountPath']}/config.yaml" in container["command"]


def test_the_secondary_scheduler_may_take_its_own_lease() -> None:
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


def test_the_address_is_one_that_kubernetes_gives_to_others_last() -> None:
    services = ip_network("10.96.0.0/12")
    last_given = 256  # min(max(16, size / 16), 256) addresses from the start of the range

    number = int(ip_address(fixed_address())) - int(services.network_address)

    assert 10 < number < last_given  # 1 is the API server's, 10 the DNS server's


@pytest.mark.parametrize("file", [*KUBECONFIGS, TLS_LINES, "../../docs/install.md"])
def test_no_other_address_of_the_service_range_is_left_in_a_file(file: str) -> None:
    text = (MANIFESTS / "scheduler" / file).read_text(encoding="utf-8")

    found = set(re.findall(r"\b10\\?\.96\\?\.\d+\\?\.\d+\b(?!/)", text))

    assert {address.replace("\\", "") for address in found} == {fixed_address()}


def test_the_installation_guide_names_every_file() -> None:
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")

    missing = [
        file for file in KUBECONFIGS if Path("manifests/scheduler", file).as_posix() not in text
    ]

    assert missing == []
