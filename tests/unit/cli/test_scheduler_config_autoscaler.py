"""`scheduler-config --for cluster-autoscaler`: what is printed, and what is refused."""

import pytest
import yaml

URL = "http://10.96.0.95:9504"


PRINTED = {
    "configuration": ("", "longhorn.io/scheduler-extender"),
    "disks-of-a-group": ("--storage-class fast --storage-class safe --template-node-disk 350Gi "
        "--template-node-disk=1Ti --template-node-label example.com/pool=Big_1",
        "capacity: 1374Gi"),
    # What is no whole GiB keeps its bytes.
    "disk-of-gigabytes": ("--storage-class fast --template-node-disk 500G",
        "maximumVolumeSize: '500000000000'"),
}  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_a_configuration_for_the_autoscaler_is_printed(called, golden, monkeypatch, name):
    arguments, fact = PRINTED[name]
    monkeypatch.setenv("EXTENDER_LONGHORN_NAMESPACE", "storage")

    status, out, _ = called(*f"scheduler-config --for cluster-autoscaler {arguments}".split())

    assert (status, fact in out) == (0, True), out
    assert [*yaml.safe_load_all(out)]
    golden(f"autoscaler/{name}", out)


BOTH = "--storage-class fast --template-node-disk 350Gi"
COMPLAINTS = [
    *("--storage-class fast", "--template-node-disk 350Gi", "--template-node-label a=b"),
    *(f"--storage-class fast --template-node-disk {size}" for size in ("much", "0", "500")),
    "--storage-class Fast --template-node-disk 350Gi",
    *(f"{BOTH} --template-node-label {label}" for label in ("pool", "kubernetes.io/hostname=a")),
    *("--distribution k3s", f"--url {URL}", "-o json"),
]


def test_options_that_cannot_be_used_are_named(complaints):
    rows = [f"scheduler-config --for cluster-autoscaler {each}" for each in COMPLAINTS]
    rows += ["scheduler-config --distribution k3s --storage-class fast"]  # of kube-scheduler's own

    text = complaints("scheduler-config-autoscaler", [*rows, f"scheduler-config --url {URL}"])

    assert "500 is so many bytes, less than any volume has; is 500Gi meant?" in text
