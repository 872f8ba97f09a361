"""Helm installs the chart on a real API server, and closes a service that was open.

Only here does the chart see what is in the cluster already. The control plane is one of its own: a
release takes the objects of `manifests/base` over, and the other tests need them.
"""

import asyncio
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from app.config import NAME
from supply.manifests import CHART
from tests.actors.api import LONGHORN_NODES, SERVICES, Api, Key, Kind, Object
from tests.actors.longhorn import longhorn_node
from tests.e2e.control_plane import ControlPlane, running
from tests.e2e.users import ADMIN
from tests.fakes.installed import LONGHORN, NAMESPACE
from tests.unit.manifests.charted import IMAGE, helm

SECRETS = Kind("v1", "secrets", "Secret")
DEPLOYMENTS = Kind("apps/v1", "deployments", "Deployment")
UNTIL = "EXTENDER_PLAIN_UNTIL"
OPEN = "--set=tls.mode=insecure"
ADDRESS = "10.96.0.95"
WAITS_SECONDS = 30
VALUE_SETS = sorted((CHART / "ci").glob("*-values.yaml"))
OF_OPERATORS = ("cert-manager.io/", "monitoring.coreos.com/")
FEWEST = 9
"""Objects of the smallest set, without the Service."""
VALUES = (
    f"--set=service.clusterIP.ipv4={ADDRESS}",
    "--set=mode=second-scheduler",
    IMAGE,
)


WITHOUT_HOOKS = "--no-hooks"
"""Nothing runs pods here."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster in which `kubectl apply -k` has installed the service, at no fixed address."""
    with running(tmp_path_factory.mktemp("chart")) as control_plane:
        asyncio.run(_add_node(control_plane))
        yield control_plane


async def _add_node(control_plane: ControlPlane) -> None:
    """Have one Longhorn Node, without which the chart is not installed."""
    async with await control_plane.client() as client:
        await Api(client).create(longhorn_node("node-1", {"disk": 1}), LONGHORN_NODES)


@pytest.mark.parametrize("values", VALUE_SETS, ids=lambda path: path.stem)
def test_the_api_server_accepts_every_object(cluster, values):
    """What operators own is left out, and IPv6: neither is served here."""
    kubeconfig = f"--kubeconfig={cluster.users.kubeconfig(ADMIN)}"
    there = f"--set=longhornNamespace={LONGHORN}"
    options = (f"--namespace={NAMESPACE}", f"--values={values}", IMAGE, there)
    rendered = helm("template", NAME, str(CHART), *options)
    objects = [obj for obj in yaml.safe_load_all(rendered) if obj]
    known = [
        obj
        for obj in objects
        if not obj["apiVersion"].startswith(OF_OPERATORS)
        and "::" not in str((obj.get("spec") or {}).get("clusterIPs"))
        and "::" not in str((obj.get("spec") or {}).get("clusterIP"))
    ]
    # Under the names that they have, some are there already.
    new = [_renamed(obj) for obj in known]

    done = subprocess.run(
        ["kubectl", kubeconfig, "create", "--dry-run=server", "--validate=strict", "-f", "-"],
        input=yaml.safe_dump_all(new),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(new) >= FEWEST


def _renamed(obj: Object) -> Object:
    if obj["kind"] == "CustomResourceDefinition":
        return obj  # its name says what it defines, which is not there
    metadata = {**obj["metadata"], "name": f"{obj['metadata']['name']}-other"}
    return {**obj, "metadata": metadata}


@pytest.fixture(scope="module")
def release(cluster: ControlPlane) -> ControlPlane:
    """The same cluster once Helm has taken the service over."""
    kubeconfig = f"--kubeconfig={cluster.users.kubeconfig(ADMIN)}"
    taking = ("--take-ownership", "--force-conflicts", IMAGE)
    helm(
        "install", NAME, str(CHART), kubeconfig, f"--namespace={NAMESPACE}", *taking, WITHOUT_HOOKS
    )
    return cluster


def upgrade(cluster: ControlPlane, *options: str) -> None:
    kubeconfig = f"--kubeconfig={cluster.users.kubeconfig(ADMIN)}"
    where = (kubeconfig, f"--namespace={NAMESPACE}", WITHOUT_HOOKS)
    helm("upgrade", NAME, str(CHART), *where, *VALUES, *options)


async def certificates(api: Api) -> list[Object]:
    """Return what the Secrets with certificates have."""
    found = await api.list(SECRETS, NAMESPACE)
    return [each["data"] for each in found if each["type"] == "kubernetes.io/tls"]


async def environ(cluster: ControlPlane) -> dict[str, str]:
    """Return the variables of the service."""
    async with await cluster.client() as client:
        deployment = await Api(client).get(DEPLOYMENTS, NAME, NAMESPACE)
    assert deployment is not None
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value", "") for each in container["env"]}


async def test_a_release_takes_over_what_kubectl_has_installed(release):
    async with await release.client() as client:
        service = await Api(client).get(SERVICES, NAME, NAMESPACE)

    assert service is not None
    assert service["metadata"]["annotations"]["meta.helm.sh/release-name"] == NAME


async def test_a_release_that_was_open_answers_by_plain_http_until_all_have_certificates(release):
    async with await release.client() as client:
        api = Api(client)
        # Its address cannot be changed.
        await api.delete(SERVICES, Key(NAMESPACE, NAME))
        upgrade(release, OPEN)
        upgrade(release)
        closing, until = await environ(release), await scheduler_waits(api)
        upgrade(release, "--set=replicas=3")
        later = await environ(release)

    left = datetime.fromisoformat(closing[UNTIL]) - datetime.now(UTC)
    assert timedelta(minutes=13) < left <= timedelta(minutes=15)
    assert closing["EXTENDER_CLIENT_CA_FILE"]
    assert until == WAITS_SECONDS
    assert later[UNTIL] == closing[UNTIL]


async def scheduler_waits(api: Api) -> int:
    """Return how long the second scheduler's new pods run before old ones end, in seconds."""
    deployment = await api.get(DEPLOYMENTS, "longhorn-scheduler", NAMESPACE)
    assert deployment is not None
    return int(deployment["spec"].get("minReadySeconds", 0))


async def test_where_the_cluster_s_own_scheduler_asks_the_user_says_for_how_long(release):
    own = "--set=mode=cluster-scheduler"
    upgrade(release, own, OPEN)
    for past in ("", "2026-01-01T00:00:00Z"):
        with pytest.raises(AssertionError, match=r"set with tls\.plainUntil, such as 20"):
            upgrade(release, own, f"--set=tls.plainUntil={past}")
    until = "2999-12-24T12:00:00Z"
    upgrade(release, own, f"--set=tls.plainUntil={until}")

    assert (await environ(release))[UNTIL] == until
    upgrade(release, own)  # the door is closed already
    assert UNTIL not in await environ(release)


async def test_the_secondary_scheduler_has_the_version_of_the_cluster(release):
    upgrade(release)
    async with await release.client() as client:
        deployment = await Api(client).get(DEPLOYMENTS, "longhorn-scheduler", NAMESPACE)

    assert deployment is not None
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    version = (await release.version()).partition("+")[0]
    assert container["image"] == f"registry.k8s.io/kube-scheduler:{version}"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--namespace=other"], f"the namespace {NAMESPACE} has a release with a second scheduler"),
        (["--namespace=default"], "say --namespace longhorn-scheduler"),
        (
            ["--namespace=other", "--set=longhornNamespace=storage"],
            f"the namespace storage has no Longhorn Node: set longhornNamespace to where they are: "
            f"{LONGHORN}",
        ),
    ],
)
def test_what_could_not_work_is_refused_before_anything_is_made(release, options, why):
    upgrade(release)  # it has a second scheduler

    kubeconfig = f"--kubeconfig={release.users.kubeconfig(ADMIN)}"
    with pytest.raises(AssertionError, match=why):
        helm("install", NAME, str(CHART), kubeconfig, IMAGE, "--dry-run=server", *options)


async def test_the_next_release_has_what_kube_scheduler_was_given_by_the_last_one(release):
    """The Service, whose address it calls, and the certificates that it has copies of."""
    own = "--set=mode=cluster-scheduler"
    upgrade(release, own)
    kubeconfig = f"--kubeconfig={release.users.kubeconfig(ADMIN)}"
    where = (kubeconfig, f"--namespace={NAMESPACE}", WITHOUT_HOOKS)
    async with await release.client() as client:
        api = Api(client)
        given = await certificates(api)
        helm("uninstall", NAME, *where, "--cascade=background")
        service, left = await api.get(SERVICES, NAME, NAMESPACE), await certificates(api)
        helm("install", NAME, str(CHART), *where, *VALUES, own)
        found = await certificates(api)

    assert service is not None
    assert len(given) == 3
    assert given == left == found
