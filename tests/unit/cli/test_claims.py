"""What `claims` shows: each claim of Longhorn in a line, and what some wait for."""

import json
from typing import Any

import pytest

from app.kube.resource import AnyRecord
from cli.claims.figures import ClaimFigures, by, claim_figures
from cli.claims.lines import lines
from cli.kube.pods import Pod
from extender.kubernetes import PodStatus
from tests.builders import (
    GIB,
    bare_class,
    bound,
    claim,
    disk,
    node,
    persistent_volume,
    pod,
    replica,
    storage_class,
    view_of,
    volume,
)
from tests.unit.cli.plans import ROOT

RICH = ("claims", "--cluster-file", str(ROOT / "examples" / "rich"), "-q")
NODES = [node(f"node-{n}", disk(f"d{n}")) for n in (1, 2)]
LOCAL = storage_class()


def figures(*records: AnyRecord, pods: tuple[Pod, ...] = ()) -> list[ClaimFigures]:
    return [*claim_figures(view_of(*NODES, LOCAL, *records), pods, None)]


def copy(on: int, **how: Any) -> AnyRecord:
    return replica(f"vol-r-{on}", on=f"node-{on}", disk=f"d{on}", **how)


def test_a_claim_with_a_volume():
    of = volume(replicas=2, actual_bytes=12 * GIB, attached_to="node-1")

    [found] = figures(*bound(of), copy(1), copy(2, failed=True))

    assert found == ClaimFigures(
        claim="default/vol",
        storage_class="local",
        volume="vol",
        size_bytes=10 * GIB,
        written_bytes=12 * GIB,
        wanted_replicas=2,
        healthy_replicas=1,
        locality="best-effort",
        attached_to="node-1",
        nodes=["node-1"],
    )


WAITS = "class local has WaitForFirstConsumer, and "
NOTES: dict[str, tuple[str, list[AnyRecord]]] = {
    "pod-that-waits": (f"{WAITS}its pod default/pod has no node yet", [claim()]),
    "pod-missing": (f"{WAITS}no pod uses the claim", [claim("other")]),
    "class-missing": ("StorageClass gone", [claim(storage_class="gone")]),
    "persistent-volume-missing":
        ("there is no PersistentVolume pv; there are none", [claim(persistent_volume="pv")]),
    "volume-missing": ("there is no Longhorn volume vol; there are none",
        [claim(persistent_volume="pv"), persistent_volume()]),
    "volume-faulted": ("all replicas with its data have failed (node-1/d1), and nothing is lost "
        "yet", [*bound(volume()), copy(1, failed=True)]),
    "volume-being-deleted": ("being deleted", bound(volume(deleting=True))),
    "volume-well": ("", [*bound(volume()), copy(1)]),
}  # fmt: skip


@pytest.mark.parametrize(("note", "records"), NOTES.values(), ids=NOTES)
def test_what_a_claim_waits_for(note, records):
    waiting = Pod(ref=pod("data"), status=PodStatus())

    [found] = figures(*records, pods=(waiting,))

    assert found.note.startswith(note)
    assert bool(found.note) is bool(note)


def test_a_claim_of_other_storage_is_left_out():
    bound_ = [claim(persistent_volume="pv"), persistent_volume(driver="ebs.csi.aws.com")]
    unbound = [claim(storage_class="ebs"), bare_class("ebs", provisioner="ebs.csi", parameters={})]

    assert figures(*bound_) == figures(*unbound) == []
    assert [*lines([], 80)] == ["no claim of Longhorn"]


ORDERS = {
    **{"name": "a-2 a-10 b", "size": "b a-2 a-10", "written": "a-10 a-2 b"},
    "missing": "a-2 a-10 b",
}


@pytest.mark.parametrize(("key", "expected"), ORDERS.items())
def test_claims_are_sorted_by_a_figure_and_then_by_name(key, expected):
    records = bound(
        volume("b", size_bytes=9 * GIB, replicas=1),
        volume("a-10", size_bytes=GIB, replicas=2, actual_bytes=1),
        volume("a-2", size_bytes=GIB, replicas=3),
    )

    found = by(figures(*records), key)

    assert [each.volume for each in found] == expected.split()


@pytest.mark.parametrize("output", ["table", "wide"])
def test_the_screen_of_an_example(called, golden, output):
    status, out, _ = called(*RICH, "-o", output)

    assert (status, "30 claims: 2824.7 GiB, 114.0 GiB written" in out) == (0, True)
    golden(f"claims-{output}", out)


@pytest.mark.parametrize(("namespace", "count"), [("default", 30), ("shop", 0)])
def test_one_namespace_can_be_asked_about(called, namespace, count):
    status, out, _ = called(*RICH, "-n", namespace, "-o", "json")

    assert (status, len(json.loads(out)["claims"])) == (0, count)


def test_an_order_that_is_none_is_an_error(called):
    error = "error: --sort age: use one of name, size, written, missing\n"
    assert called(*RICH, "--sort", "age") == (2, "", error)
