"""What a plan takes of a pod: amounts as kube-scheduler adds them up, ports, disks, rules."""

from typing import Any

import pytest

from app.config import RESOURCE
from cli.kube.decoding import read_object
from cli.kube.pods import Pod
from cli.kube.resources import PLANNED
from extender.kubernetes import Requirement
from longhorn import Unreadable
from planner.records import CloudDisk, HostPort, PodTerm, Selector, Wishes
from tests.builders import GIB, MIB, core_document

WITHOUT_ANY = Selector(requirements=(Requirement(key="", operator="In"),))


def wishes(metadata: dict[str, Any] | None = None, **spec: Any) -> Wishes:
    found = read_object(core_document("Pod", "web", metadata=metadata or {}, spec=spec), PLANNED)
    assert isinstance(found, Pod), found
    assert found.wishes is not None
    return found.wishes


def container(**requests: Any) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def limited(limits: dict[str, Any], **requests: Any) -> dict[str, Any]:
    return {"resources": {"requests": requests, "limits": limits}}


def sidecar(**requests: Any) -> dict[str, Any]:
    return container(**requests) | {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        pytest.param({}, {}, id="no-containers"),
        pytest.param({"containers": [{}]}, {}, id="no-resources"),
        pytest.param(
            {"containers": [container(cpu="100m", memory="64Mi"), container(cpu=0.5)]},
            {"cpu": 600, "memory": 64 * MIB},
            id="containers-are-added",
        ),
        pytest.param(
            {"containers": [limited({"cpu": 2, "memory": "1Gi"}, cpu=1)]},
            {"cpu": 1000, "memory": GIB},
            id="a-limit-counts-where-nothing-is-requested",
        ),
        pytest.param(
            {"containers": [container(cpu=1)], "initContainers": [container(cpu=3)]},
            {"cpu": 3000},
            id="the-largest-init-container-counts",
        ),
        pytest.param(
            {"containers": [container(cpu=3)], "initContainers": [container(cpu=1)] * 4},
            {"cpu": 3000},
            id="init-containers-are-not-added",
        ),
        pytest.param(
            {"containers": [container(cpu=1)], "initContainers": [sidecar(cpu=1)]},
            {"cpu": 2000},
            id="a-sidecar-is-added",
        ),
        pytest.param(
            {
                "containers": [container(cpu=1)],
                "initContainers": [container(cpu=3), sidecar(cpu=1)],
            },
            {"cpu": 3000},
            id="an-init-container-before-the-sidecar",
        ),
        pytest.param(
            {
                "containers": [container(cpu=1)],
                "initContainers": [sidecar(cpu=1), container(cpu=3)],
            },
            {"cpu": 4000},
            id="an-init-container-after-the-sidecar",
        ),
        pytest.param(
            {"initContainers": [container(memory="1Gi")], "containers": [container(cpu=1)]},
            {"cpu": 1000, "memory": GIB},
            id="each-resource-by-itself",
        ),
        pytest.param(
            {"containers": [container(cpu=1)], "overhead": {"cpu": "250m", "memory": "120Mi"}},
            {"cpu": 1250, "memory": 120 * MIB},
            id="the-overhead-comes-on-top",
        ),
        pytest.param(
            {
                "containers": [container(cpu=1, memory="1Gi")],
                "resources": {"requests": {"cpu": 4, "hugepages-2Mi": "4Mi", "gpu": 1}},
                "overhead": {"cpu": "1"},
            },
            {"cpu": 5000, "memory": GIB, "hugepages-2Mi": 4 * MIB},
            id="the-pods-own-come-in-place",
        ),
        pytest.param(
            {
                "containers": [container(cpu=1)],
                "resources": {"limits": {"cpu": 4, "memory": "2Gi"}},
            },
            {"cpu": 1000, "memory": 2 * GIB},
            id="the-pods-limit-counts-where-no-container-requests",
        ),
        pytest.param(
            {"containers": [container(**{"example.com/gpu": 2, "cpu": 0, "memory": None})]},
            {"example.com/gpu": 2},
            id="devices-and-nothing",
        ),
        pytest.param(
            {"containers": [container(**{RESOURCE: 1})]}, {}, id="the-extenders-own-is-passed-over"
        ),
    ],
)
def test_requests(spec: dict[str, Any], requests: dict[str, int]) -> None:
    assert wishes(**spec).requests == requests


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"containers": [container(cpu="much")]}, "cpu: 'much' is not a quantity"),
        ({"containers": [container(memory="-1Gi")]}, "memory: '-1Gi' is negative"),
        ({"initContainers": [limited({"cpu": "1x"})]}, "cpu: '1x' is not a quantity"),
        ({"overhead": {"cpu": "?"}}, "cpu: '?' is not a quantity"),
        ({"resources": {"limits": {"memory": "a"}}}, "memory: 'a' is not a quantity"),
        ({"containers": [container(cpu=[1])]}, "got `array`"),
        ({"containers": [{"ports": [{"hostPort": 70_000}]}]}, "<= 65535"),
    ],
)
def test_a_pod_whose_requests_cannot_be_read_is_named(spec: dict[str, Any], why: str) -> None:
    found = read_object(core_document("Pod", "web", spec=spec), PLANNED)

    assert isinstance(found, Unreadable)
    assert (found.kind, found.name) == ("Pod", "default/web")
    assert why in found.why


def test_what_only_plans_read_does_not_make_a_pod_unreadable_for_others() -> None:
    found = read_object(core_document("Pod", "web", spec={"containers": [container(cpu="much")]}))

    assert isinstance(found, Pod)


PORT = {"containerPort": 80}


@pytest.mark.parametrize(
    ("spec", "ports"),
    [
        pytest.param({"containers": [{"ports": [PORT]}]}, (), id="no-host-port"),
        pytest.param(
            {"containers": [{"ports": [PORT | {"hostPort": 8080}]}]},
            (HostPort(8080),),
            id="host-port",
        ),
        pytest.param(
            {"containers": [{"ports": [PORT | {"hostPort": 53, "protocol": "UDP"}]}]},
            (HostPort(53, "UDP"),),
            id="protocol",
        ),
        pytest.param(
            {
                "containers": [
                    {"ports": [{"hostPort": 1, "hostIP": "0.0.0.0"}]},  # noqa: S104
                    {"ports": [{"hostPort": 2, "hostIP": "10.0.0.1"}]},
                ]
            },
            (HostPort(1), HostPort(2, address="10.0.0.1")),
            id="addresses",
        ),
        pytest.param(
            {"hostNetwork": True, "containers": [{"ports": [PORT]}]},
            (HostPort(80),),
            id="on-the-network-of-the-node",
        ),
        pytest.param(
            {
                "initContainers": [
                    {"ports": [{"hostPort": 1}]},
                    {"ports": [{"hostPort": 2}], "restartPolicy": "Always"},
                ]
            },
            (HostPort(2),),
            id="of-init-containers-those-of-sidecars",
        ),
    ],
)
def test_ports_of_the_node(spec: dict[str, Any], ports: tuple[HostPort, ...]) -> None:
    assert wishes(**spec).ports == ports


def test_volumes_that_matter_besides_claims() -> None:
    found = wishes(
        volumes=[
            {"name": "a", "gcePersistentDisk": {"pdName": "disk", "readOnly": True}},
            {"name": "b", "awsElasticBlockStore": {"volumeID": "vol"}},
            {"name": "c", "emptyDir": {}},
        ]
    )

    assert found.cloud_disks == (
        CloudDisk("gcePersistentDisk", "disk", read_only=True),
        CloudDisk("awsElasticBlockStore", "vol"),
    )
    assert found.has_local_data
    assert not wishes(volumes=[{"name": "c", "emptyDir": None}]).has_local_data


def test_owner_is_the_controller() -> None:
    owners = [{"kind": "Other", "name": "o"}, {"kind": "Job", "name": "j", "controller": True}]

    assert wishes({"ownerReferences": owners}).owner == ("Job", "j")
    assert wishes({"ownerReferences": owners[:1]}).owner is None


def test_a_static_pod_has_the_annotation_of_its_mirror() -> None:
    assert wishes({"annotations": {"kubernetes.io/config.mirror": "abc"}}).is_static
    assert not wishes({"annotations": {"other": "abc"}}).is_static


ZONE, LABELS = "topology.kubernetes.io/zone", {"app": "web", "rev": "1"}
WEB = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
IS_WEB = Selector(labels={"app": "web"})


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param(WEB, PodTerm(IS_WEB, ZONE, ("default",)), id="own-namespace"),
        pytest.param(
            WEB | {"namespaces": ["a", "b"]}, PodTerm(IS_WEB, ZONE, ("a", "b")), id="namespaces"
        ),
        pytest.param(
            WEB | {"namespaceSelector": {}, "namespaces": ["a"]},
            PodTerm(IS_WEB, ZONE, ()),
            id="all-namespaces",
        ),
        pytest.param(
            {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
            PodTerm(
                Selector(requirements=(Requirement(key="a", operator="Exists"),)), "", ("default",)
            ),
            id="expressions",
        ),
        pytest.param({"labelSelector": {}}, PodTerm(Selector(), "", ("default",)), id="all-pods"),
        pytest.param({}, PodTerm(WITHOUT_ANY, "", ("default",)), id="no-selector-selects-no-pod"),
        pytest.param(
            WEB | {"matchLabelKeys": ["rev", "absent"], "mismatchLabelKeys": ["app"]},
            PodTerm(
                Selector(
                    labels={"app": "web"},
                    requirements=(
                        Requirement(key="rev", operator="In", values=("1",)),
                        Requirement(key="app", operator="NotIn", values=("web",)),
                    ),
                ),
                ZONE,
                ("default",),
            ),
            id="labels-of-the-pod-itself",
        ),
    ],
)
def test_rules_about_other_pods(rule: dict[str, Any], expected: PodTerm) -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}

    near = wishes({"labels": LABELS}, affinity={"podAffinity": required})
    apart = wishes({"labels": LABELS}, affinity={"podAntiAffinity": required})

    assert (near.affinity, near.anti_affinity) == ((expected,), ())
    assert (apart.affinity, apart.anti_affinity) == ((), (expected,))
    assert near.has_pod_rules


def test_what_commands_that_explain_read_is_read_too() -> None:
    found = wishes(
        {"labels": LABELS},
        schedulerName="own",
        nodeSelector={"disk": "ssd"},
        tolerations=[{"operator": "Exists"}],
        containers=[container(cpu=1)],
    )

    assert (found.scheduler, found.labels) == ("own", LABELS)
    assert found.node_selector == {"disk": "ssd"}
    assert [each.operator for each in found.tolerations] == ["Exists"]
    assert found.resources == {"cpu"}
