"""`scheduler-config --for cluster-autoscaler`: what is printed, and what is refused."""

import pytest
import yaml

from tests.unit.cli.plans import Run

URL = "http://10.96.0.95:9504"
CLASS = ("--storage-class", "fast")
DISK = ("--template-node-disk", "350Gi")


@pytest.fixture
def scaler(called: Run) -> Run:
    """Ask for what cluster-autoscaler needs."""
    return lambda *arguments: called("scheduler-config", "--for", "cluster-autoscaler", *arguments)


def test_the_configuration_ignores_the_resource_and_has_no_extender(scaler: Run) -> None:
    status, out, _ = scaler()

    fit = {
        "name": "NodeResourcesFit",
        "args": {"ignoredResources": ["longhorn.io/scheduler-extender"]},
    }
    assert status == 0
    assert yaml.safe_load(out) == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [fit]}],
    }


def test_new_nodes_of_a_group_have_their_disks_for_each_class(
    monkeypatch: pytest.MonkeyPatch, scaler: Run
) -> None:
    monkeypatch.setenv("EXTENDER_LONGHORN_NAMESPACE", "storage")
    group = ("--template-node-label", "example.com/pool=Big_1")

    _, out, _ = scaler(*CLASS, "--storage-class", "safe", *DISK, "--template-node-disk=1Ti", *group)

    first, second = yaml.safe_load_all(out)
    assert first == {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "template-node-fast-big-1", "namespace": "storage"},
        "storageClassName": "fast",
        "nodeTopology": {
            "matchLabels": {
                "cluster-autoscaler.kubernetes.io/template-node": "true",
                "example.com/pool": "Big_1",
            }
        },
        "capacity": "1374Gi",
        "maximumVolumeSize": "1024Gi",
    }
    assert (second["metadata"]["name"], second["storageClassName"]) == (
        "template-node-safe-big-1",
        "safe",
    )


def test_sizes_that_are_no_whole_gibibytes_keep_their_bytes(scaler: Run) -> None:
    _, out, _ = scaler(*CLASS, "--template-node-disk", "500G")

    assert yaml.safe_load(out)["maximumVolumeSize"] == "500000000000"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (CLASS, "--template-node-disk is missing: capacity of new nodes is by class and disk"),
        (DISK, "--storage-class is missing: capacity of new nodes is by class and disk"),
        (("--template-node-label", "a=b"), "--storage-class is missing: capacity of new nodes is "
         "by class and disk"),
        ((*CLASS, "--template-node-disk", "much"), "--template-node-disk: 'much' is not a quantity "
         "such as 100Gi"),
        ((*CLASS, "--template-node-disk", "0"), "--template-node-disk: 0 is no size; give one such "
         "as 100Gi"),
        ((*CLASS, "--template-node-disk", "500"), "--template-node-disk: 500 is so many bytes, "
         "less than any volume has; is 500Gi meant?"),
        (("--storage-class", "Fast", *DISK), "--storage-class 'Fast' is no name of a StorageClass"),
        ((*CLASS, *DISK, "--template-node-label", "pool"), "--template-node-label 'pool' is no "
         "label; it must be like pool=storage"),
        ((*CLASS, *DISK, "--template-node-label", "kubernetes.io/hostname=a"),
         "--template-node-label kubernetes.io/hostname cannot be given: no group is known by it"),
        (("--distribution", "k3s"), "--distribution is of no use with --for cluster-autoscaler"),
        (("--url", URL), "--url is of no use with --for cluster-autoscaler"),
        (("-o", "json"), "-o json is of no use with --for cluster-autoscaler"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(arguments: tuple[str, ...], error: str, scaler: Run) -> None:
    assert scaler(*arguments) == (2, "", f"error: {error}\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--distribution", "k3s", *CLASS), "--storage-class is of no use with --for "
         "kube-scheduler"),
        (("--url", URL), "--distribution is missing: what kube-scheduler is run by, one of "
         "kubeadm, k3s, rke2, talos, secondary"),
    ],
)  # fmt: skip
def test_kube_schedulers_options_are_as_before(
    arguments: tuple[str, ...], error: str, called: Run
) -> None:
    assert called("scheduler-config", *arguments) == (2, "", f"error: {error}\n")
