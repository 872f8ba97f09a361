"""Pods get the resource by themselves: by the policy, and by the webhook.

Most pods here are only said to be created (dry run), which admission does not treat differently.
"""

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from tests.actors import api as kinds
from tests.actors.api import Api, Key, Kind, Object
from tests.actors.longhorn import NAMESPACE as LONGHORN
from tests.actors.longhorn import storage_class
from tests.admission import of_claim, with_resource
from tests.e2e.cases import NODES, UNEVEN, fill, place_four_claims
from tests.e2e.control_plane import ControlPlane
from tests.e2e.injecting import (
    POLICY,
    SECOND,
    WEBHOOK,
    Way,
    a_pod,
    asks,
    create,
    injecting,
    pod_spec,
)
from tests.e2e.kubernetes import kubernetes_node
from tests.e2e.waiting import until
from tests.e2e.workloads import RESOURCE, STORAGE_CLASS, claim, stateful_set

BOTH = [Way(POLICY), Way(WEBHOOK)]
SECOND_SCHEDULER = [Way(POLICY, second=True), Way(WEBHOOK, second=True)]
PATIENCE_SECONDS = 60.0
DEPLOYMENTS = Kind("apps/v1", "deployments", "Deployment")
DAEMON_SETS = Kind("apps/v1", "daemonsets", "DaemonSet")
JOBS = Kind("batch/v1", "jobs", "Job")
LIMIT_RANGES = Kind("v1", "limitranges", "LimitRange")
RESOURCE_QUOTAS = Kind("v1", "resourcequotas", "ResourceQuota")
OPT_OUT = {"longhorn-scheduler-extender/injection": "disabled"}
ONE = {"limits": {RESOURCE: "1"}, "requests": {RESOURCE: "1"}}

Make = Callable[[str], list[tuple[Object, Kind]]]


@pytest.fixture(scope="module")
def way(
    request: pytest.FixtureRequest,
    control_plane: ControlPlane,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Way]:
    """Install one way of injection, until a test asks for another one."""
    asked: Way = request.param
    with injecting(asked, control_plane, tmp_path_factory.mktemp("injection")):
        yield asked


@pytest.fixture
async def api(control_plane: ControlPlane) -> AsyncIterator[Api]:
    async with await control_plane.client() as client:
        yield Api(client)


@pytest.fixture
async def namespace(api: Api) -> AsyncIterator[str]:
    async with a_namespace(api) as name:
        yield name


@asynccontextmanager
async def a_namespace(api: Api, **labels: str) -> AsyncIterator[str]:
    """Make a namespace; it is deleted with all that is in it."""
    name = f"injection-{uuid.uuid4().hex[:8]}"
    await api.create({"metadata": {"name": name, "labels": labels}}, kinds.NAMESPACES)
    try:
        yield name
    finally:
        await api.delete(kinds.NAMESPACES, Key("", name))


def ephemeral(class_: str = STORAGE_CLASS) -> Object:
    template = claim("none", "1Gi", class_)["spec"]
    return {"ephemeral": {"volumeClaimTemplate": {"spec": template}}}


def with_template(kind: Kind, namespace: str, **spec: object) -> list[tuple[Object, Kind]]:
    """Build a controller's object whose pods use one claim, and the claim."""
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(of_claim("data"))}
    if kind is JOBS:
        template["spec"]["restartPolicy"] = "Never"
    else:
        spec["selector"] = {"matchLabels": labels}
    data = claim("data", "1Gi")
    data["metadata"]["namespace"] = namespace
    metadata = {"name": "web", "namespace": namespace}
    return [
        (data, kinds.CLAIMS),
        ({"metadata": metadata, "spec": {"template": template, **spec}}, kind),
    ]


def a_stateful_set(namespace: str) -> list[tuple[Object, Kind]]:
    made = stateful_set("web", pods=2, size="1Gi", extender=False)
    made["metadata"]["namespace"] = namespace
    return [(made, kinds.STATEFUL_SETS)]


async def pods_in(api: Api, namespace: str, count: int) -> list[Object]:
    """Wait until there are so many pods, and return them."""

    async def are_there() -> bool:
        return len(await api.list(kinds.PODS, namespace)) == count

    await until(are_there, within=PATIENCE_SECONDS, what=f"{count} pods")
    return await api.list(kinds.PODS, namespace)


async def admitted(control_plane: ControlPlane, pod: Object) -> Object:
    """Return what a pod would be created as."""
    created = await create(control_plane, pod, dry_run=True)
    assert created.status == 201, created.body
    return created.body


@pytest.mark.gate
@pytest.mark.parametrize("way", BOTH, ids=str, indirect=True)
@pytest.mark.parametrize(
    ("make", "count"),
    [
        pytest.param(a_stateful_set, 2, id="StatefulSet"),
        pytest.param(lambda ns: with_template(DEPLOYMENTS, ns, replicas=2), 2, id="Deployment"),
        pytest.param(lambda ns: with_template(JOBS, ns), 1, id="Job"),
        pytest.param(
            lambda ns: [(a_pod(ephemeral(), namespace=ns), kinds.PODS)], 1, id="ephemeral"
        ),
        pytest.param(lambda ns: [(a_pod(of_claim("x"), namespace=ns), kinds.PODS)], 1, id="bare"),
    ],
)
async def test_pods_with_claims_ask_for_the_extender(way, api, namespace, make, count):
    for obj, kind in make(namespace):
        await api.create(obj, kind)

    for pod in await pods_in(api, namespace, count):
        first, *others = (each.get("resources", {}) for each in pod["spec"]["containers"])
        assert first["limits"] == {RESOURCE: "1"}, way
        assert first["requests"] == {"cpu": "10m", RESOURCE: "1"}
        assert others in ([], [{}])
        assert pod["spec"]["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize("way", BOTH, ids=str, indirect=True)
async def test_nothing_else_of_a_pod_changes(control_plane, api, way):
    async with a_namespace(api, **OPT_OUT) as elsewhere:
        pod = a_pod(of_claim("x"), initContainers=[{"name": "init", "image": "none"}])
        pod["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}] * 2
        injected = await admitted(control_plane, pod)
        pod["metadata"]["namespace"] = elsewhere
        plain = await admitted(control_plane, pod)

    assert not asks(plain), way
    assert injected["spec"] == with_resource(plain)["spec"]


@pytest.mark.parametrize("way", BOTH, ids=str, indirect=True)
@pytest.mark.parametrize(
    "before",
    [{}, {"limits": {"cpu": "1"}}, {"requests": {"cpu": "1"}}],
    ids=["none", "limits", "requests"],
)
async def test_it_is_added_to_whatever_the_container_asks_for(control_plane, way, before):
    pod = a_pod(of_claim("x"))
    pod["spec"]["containers"][0]["resources"] = before

    resources = (await admitted(control_plane, pod))["spec"]["containers"][0]["resources"]

    assert resources["limits"] == {**before.get("limits", {}), RESOURCE: "1"}, way
    assert resources["requests"][RESOURCE] == "1"


@pytest.mark.parametrize("way", BOTH, ids=str, indirect=True)
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(), id="no volume"),
        pytest.param(a_pod({"emptyDir": {}}), id="no claim"),
        pytest.param(a_pod(of_claim("x"), nodeName="node-1"), id="bound"),
        pytest.param(a_pod(of_claim("x"), namespace="kube-system"), id="kube-system"),
        pytest.param(a_pod(of_claim("x"), namespace=LONGHORN), id="the release's namespace"),
    ],
)
async def test_these_pods_are_left_alone(control_plane, way, pod):
    assert not asks(await admitted(control_plane, pod)), way


@pytest.mark.parametrize("way", BOTH, ids=str, indirect=True)
async def test_a_label_of_the_pod_or_of_its_namespace_opts_out(control_plane, api, way):
    pod = a_pod(of_claim("x"))
    pod["metadata"]["labels"] = OPT_OUT
    assert not asks(await admitted(control_plane, pod)), way

    async with a_namespace(api, **OPT_OUT) as namespace:
        pod = a_pod(of_claim("x"), namespace=namespace)
        assert not asks(await admitted(control_plane, pod))


@pytest.mark.parametrize("way", BOTH, ids=str, indirect=True)
@pytest.mark.parametrize("container", ["first", "second", "init"])
async def test_a_pod_that_asks_by_itself_is_left_alone(control_plane, way, container):
    pod = a_pod(of_claim("x"), initContainers=[{"name": "init", "image": "none"}])
    of = {
        "first": pod["spec"]["containers"][0],
        "second": pod["spec"]["containers"][1],
        "init": pod["spec"]["initContainers"][0],
    }
    of[container]["resources"] = ONE

    spec = (await admitted(control_plane, pod))["spec"]

    found = [
        each["name"]
        for each in (*spec["containers"], *spec["initContainers"])
        if RESOURCE in each["resources"].get("limits", {})
    ]
    assert found == [of[container]["name"]], way


@pytest.mark.parametrize("way", BOTH, ids=str, indirect=True)
async def test_pods_of_a_daemon_set_are_left_alone(api, namespace, way):
    node = kubernetes_node("daemon-node")
    await api.ensure(node, kinds.KUBERNETES_NODES)
    try:
        for obj, kind in with_template(DAEMON_SETS, namespace):
            await api.create(obj, kind)

        [pod] = await pods_in(api, namespace, 1)
    finally:
        await api.delete(kinds.KUBERNETES_NODES, Key("", "daemon-node"))
    assert not asks(pod), way


@pytest.mark.parametrize("way", BOTH, ids=str, indirect=True)
async def test_a_quota_on_the_resource_counts_pods_and_refuses_more(
    control_plane, api, namespace, way
):
    quota = {
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {"hard": {f"requests.{RESOURCE}": "1"}},
    }
    await api.create(quota, RESOURCE_QUOTAS)

    async def is_known() -> bool:
        found = await api.get(RESOURCE_QUOTAS, "one", namespace)
        return bool(found and found.get("status", {}).get("hard"))

    await until(is_known, within=PATIENCE_SECONDS, what="the quota's status")
    first, second = [
        await create(control_plane, a_pod(of_claim("x"), namespace=namespace)) for _ in range(2)
    ]
    without = await create(control_plane, a_pod(namespace=namespace))

    assert (first.status, second.status, without.status) == (201, 403, 201), way
    assert (
        f"exceeded quota: one, requested: requests.{RESOURCE}=1, used: requests.{RESOURCE}=1, "
        f"limited: requests.{RESOURCE}=1"
    ) in second.body["message"]


@pytest.mark.parametrize("way", BOTH, ids=str, indirect=True)
@pytest.mark.parametrize(
    ("limits", "first", "second"),
    [
        pytest.param(
            {"default": {"cpu": "1"}, "min": {"cpu": "5m"}, "max": {"cpu": "2"}},
            {"limits": {"cpu": "1", RESOURCE: "1"}, "requests": {"cpu": "10m", RESOURCE: "1"}},
            {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
            id="of CPU: both",
        ),
        pytest.param(
            {"max": {RESOURCE: "1"}},
            {"limits": {RESOURCE: "1"}, "requests": {"cpu": "10m", RESOURCE: "1"}},
            ONE,
            id="of the resource: every container has its maximum already",
        ),
    ],
)
async def test_a_limit_range_is_applied_before(
    control_plane, api, namespace, way, limits, first, second
):
    metadata = {"name": "range", "namespace": namespace}
    spec = {"limits": [{"type": "Container", **limits}]}
    await api.create({"metadata": metadata, "spec": spec}, LIMIT_RANGES)

    async def is_in_force() -> bool:
        pod = await admitted(control_plane, a_pod(of_claim("x"), namespace=namespace))
        resources = [each.get("resources") for each in pod["spec"]["containers"]]
        return resources == [first, second]

    await until(is_in_force, within=PATIENCE_SECONDS, what=str(way))


@pytest.mark.parametrize("way", SECOND_SCHEDULER, ids=str, indirect=True)
@pytest.mark.parametrize("before", ["", "default-scheduler"])
async def test_with_a_second_scheduler_pods_go_there(control_plane, way, before):
    pod = a_pod(of_claim("x"), schedulerName=before)

    injected = await admitted(control_plane, pod)

    assert (asks(injected), injected["spec"]["schedulerName"]) == (True, SECOND), way


@pytest.mark.parametrize("way", SECOND_SCHEDULER, ids=str, indirect=True)
async def test_with_a_second_scheduler_so_do_pods_that_ask_by_themselves(control_plane, way):
    pod = a_pod(of_claim("x"))
    pod["spec"]["containers"][1]["resources"] = ONE

    spec = (await admitted(control_plane, pod))["spec"]

    assert spec["schedulerName"] == SECOND, way
    assert RESOURCE not in spec["containers"][0]["resources"].get("limits", {})


@pytest.mark.parametrize("way", SECOND_SCHEDULER, ids=str, indirect=True)
async def test_the_choice_of_another_scheduler_and_pods_without_claims_stand(control_plane, way):
    chosen = await admitted(control_plane, a_pod(of_claim("x"), schedulerName="volcano"))
    without = await admitted(control_plane, a_pod())

    assert (asks(chosen), chosen["spec"]["schedulerName"]) == (True, "volcano"), way
    assert without["spec"]["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize(
    ("way", "expected"),
    [(BOTH[0], True), (BOTH[1], False)],
    ids=[POLICY, WEBHOOK],
    indirect=["way"],
)
async def test_only_the_webhook_tells_other_storage_from_longhorn(
    control_plane, api, namespace, way, *, expected
):
    other = {**storage_class("other-storage"), "provisioner": "ebs.csi.aws.com"}
    await api.ensure(other, kinds.STORAGE_CLASSES)
    data = claim("data", "1Gi", "other-storage")
    data["metadata"]["namespace"] = namespace
    await api.create(data, kinds.CLAIMS)

    async def is_so() -> bool:
        made = [of_claim("data"), ephemeral("other-storage")]
        pods = [await admitted(control_plane, a_pod(each, namespace=namespace)) for each in made]
        return [asks(pod) for pod in pods] == [expected] * 2

    try:
        await until(is_so, within=PATIENCE_SECONDS, what=str(way))
    finally:
        await api.delete(kinds.STORAGE_CLASSES, Key("", "other-storage"))


@pytest.mark.parametrize("way", [Way(POLICY)], ids=str, indirect=True)
async def test_goal_1b_is_reached_by_manifests_that_name_no_resource(make_world, way):
    async with make_world() as world:
        outcome = await fill(world, UNEVEN, extender=False, within=PATIENCE_SECONDS)

    assert outcome.pods(NODES) == UNEVEN.pods, way
    assert (outcome.without_room, outcome.elsewhere, outcome.overcommitted_disks) == (0, 0, 0)


@pytest.mark.parametrize("way", [Way(WEBHOOK)], ids=str, indirect=True)
async def test_so_is_goal_2(make_world, way):
    async with make_world() as world:
        outcome = await place_four_claims(world, extender=False)

    assert outcome.placement == {"node-4": 1}, way
    assert outcome.without_room == 0
