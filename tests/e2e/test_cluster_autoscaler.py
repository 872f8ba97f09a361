"""What cluster-autoscaler would think, as far as kube-scheduler's own plugins say it.

No cluster-autoscaler runs here. It asks the plugins of kube-scheduler, configured by its
--scheduler-config-file and without extenders, whether a pod fits on a node, or on one that it would
add. So a kube-scheduler runs with what `scheduler-config --for cluster-autoscaler` prints, and a
node with the label of such a new one is really there. Claims are not provisioned: the node that is
chosen is the one that their annotation names.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple

import pytest
import yaml

from cli.running import run_command
from longhorn import Capacity
from tests.actors import api as kinds
from tests.actors.api import Api, Key, Object, key_of
from tests.actors.longhorn import NAMESPACE, csi_driver, storage_class
from tests.actors.longhorn.capacity import Segment, capacity_object
from tests.e2e.control_plane import ControlPlane
from tests.e2e.kubernetes import NODE_STATUS, kubernetes_node
from tests.e2e.users import SCHEDULER
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB, RESOURCE, STORAGE_CLASS, claim, pod
from tests.e2e.workloads import NAMESPACE as WORKLOADS

TEMPLATE_LABELS = {"cluster-autoscaler.kubernetes.io/template-node": "true", "pool": "storage"}
NO_LABELS: Mapping[str, str] = {}
TEMPLATE = "template-node-for-storage"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
KNOWS_NO_NODES = "no nodes available to schedule pods"
"""What kube-scheduler says as long as it has not heard of any; then it tries again."""
JUDGED_SECONDS = 30.0
NO_ROOM = "did not have enough free storage"
PLAIN = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Cluster(NamedTuple):
    """Nodes that tell of their room, and the scheduler that stands for the autoscaler."""

    control_plane: ControlPlane
    api: Api
    output: pytest.CaptureFixture[str]

    def printed(self, *options: str) -> str:
        """Return what the command prints for cluster-autoscaler."""
        assert run_command(["scheduler-config", "--for", "cluster-autoscaler", *options]) == 0
        return self.output.readouterr().out

    async def start(self, text: str) -> Object:
        """Start kube-scheduler on a configuration; return the only profile that it has loaded."""
        kubeconfig = self.control_plane.users.kubeconfig(SCHEDULER)
        here = {
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "leaderElection": {"leaderElect": False},
        }
        await self.control_plane.start_scheduler_with(f"{text}{yaml.safe_dump(here)}")
        loaded = await self.control_plane.scheduler_configuration()
        assert not loaded.get("extenders")
        [profile] = loaded["profiles"]
        return dict(profile)

    async def add_node(
        self, name: str, *, disks: Sequence[int] = (), labels: Mapping[str, str] = NO_LABELS
    ) -> None:
        """Add a node; with disks, of as many GiB, Longhorn tells of its room."""
        node = kubernetes_node(name)
        node["metadata"]["labels"] |= labels
        await self.api.create(node, kinds.KUBERNETES_NODES)
        await self.api.patch(
            kinds.KUBERNETES_NODES, key_of(node), {"status": NODE_STATUS}, "status"
        )
        if disks:
            room = Capacity(sum(disks) * GIB, max(disks) * GIB)
            segment = Segment(STORAGE_CLASS, name)
            told = capacity_object(segment, room, namespace=NAMESPACE)
            await self.api.create(told, kinds.CSI_STORAGE_CAPACITIES)

    async def add_template(self, *options: str) -> None:
        """Add the node that the autoscaler thinks of, and what is printed of its room."""
        await self.add_node(TEMPLATE, labels=TEMPLATE_LABELS)
        for told in yaml.safe_load_all(self.printed("--storage-class", STORAGE_CLASS, *options)):
            await self.api.create(told, kinds.CSI_STORAGE_CAPACITIES)

    async def judged(self, *sizes: str) -> str:
        """Create a pod with claims; return the node that fits, or why none does."""
        names = [f"data-{number}" for number in range(len(sizes))]
        for name, size in zip(names, sizes, strict=True):
            await self.api.create(claim(name, size), kinds.CLAIMS)
        await self.api.create(pod("app", *names), kinds.PODS)
        verdict = ""

        async def is_judged() -> bool:
            nonlocal verdict
            verdict = await self._verdict()
            return verdict not in ("", KNOWS_NO_NODES)

        await until(is_judged, within=JUDGED_SECONDS, what="a verdict on the pod")
        return verdict

    async def _verdict(self) -> str:
        found = await self.api.get(kinds.CLAIMS, "data-0", WORKLOADS)
        assert found is not None
        if node := found["metadata"].get("annotations", {}).get(SELECTED_NODE):
            return str(node)
        waiting = await self.api.get(kinds.PODS, "app", WORKLOADS)
        assert waiting is not None
        return "".join(
            condition.get("message", "") for condition in waiting["status"].get("conditions", ())
        )


@pytest.fixture
async def cluster(
    control_plane: ControlPlane, capfd: pytest.CaptureFixture[str]
) -> AsyncIterator[Cluster]:
    async with await control_plane.client() as client:
        api = Api(client)
        await api.ensure(csi_driver(), kinds.CSI_DRIVERS)
        await api.delete(kinds.STORAGE_CLASSES, Key("", ""))
        await api.create(storage_class(STORAGE_CLASS), kinds.STORAGE_CLASSES)
        yield Cluster(control_plane, api, capfd)
        await control_plane.stop_scheduler()
        await api.delete(kinds.PODS, Key(WORKLOADS, ""), at_once=True)
        await api.delete(kinds.CLAIMS, Key(WORKLOADS, ""))
        await api.delete(kinds.KUBERNETES_NODES, Key("", ""))
        await api.delete(kinds.CSI_STORAGE_CAPACITIES, Key(NAMESPACE, ""))
        await api.delete(kinds.STORAGE_CLASSES, Key("", ""))

        async def is_clean() -> bool:
            return not await api.list(kinds.CLAIMS, WORKLOADS)

        await until(is_clean, within=JUDGED_SECONDS, what="no claims")


async def test_only_the_resource_differs_from_the_default(cluster):
    by_default = await cluster.start(PLAIN)
    await cluster.control_plane.stop_scheduler()

    told = await cluster.start(cluster.printed())

    assert told["plugins"] == by_default["plugins"]
    [fit] = [each["args"] for each in told["pluginConfig"] if each["name"] == "NodeResourcesFit"]
    assert fit.pop("ignoredResources") == [RESOURCE]
    assert fit in [each["args"] for each in by_default["pluginConfig"]]


async def test_without_it_a_pod_fits_on_no_node(cluster):
    await cluster.start(PLAIN)
    await cluster.add_node("roomy", disks=[200])
    await cluster.add_template("--template-node-disk", "200Gi")

    assert f"2 Insufficient {RESOURCE}" in await cluster.judged("100Gi")


async def test_no_node_is_added_where_a_disk_has_room(cluster):
    await cluster.start(cluster.printed())
    await cluster.add_node("full", disks=[99, 99])
    await cluster.add_node("roomy", disks=[100])

    assert await cluster.judged("100Gi") == "roomy"


async def test_where_no_disk_has_room_a_new_node_would(cluster):
    await cluster.start(cluster.printed())
    await cluster.add_node("full", disks=[99, 99])
    await cluster.add_template("--template-node-disk", "100Gi")

    assert await cluster.judged("100Gi") == TEMPLATE


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--template-node-disk=99Gi"] * 2, id="its-disks-are-too-small"),
        pytest.param(
            ["--template-node-disk=100Gi", "--template-node-label=pool=compute"],
            id="another-group-has-the-disks",
        ),
    ],
)
async def test_a_new_node_without_room_would_not_help(cluster, options):
    await cluster.start(cluster.printed())
    await cluster.add_node("full", disks=[99])
    await cluster.add_template(*options)

    assert f"2 node(s) {NO_ROOM}" in await cluster.judged("100Gi")


async def test_the_group_that_has_the_disks_would_help(cluster):
    await cluster.start(cluster.printed())
    await cluster.add_template("--template-node-disk=100Gi", "--template-node-label=pool=storage")

    assert await cluster.judged("100Gi") == TEMPLATE


async def test_without_capacity_of_new_nodes_none_would_help(cluster):
    await cluster.start(cluster.printed())
    await cluster.add_node(TEMPLATE, labels=TEMPLATE_LABELS)

    assert f"1 node(s) {NO_ROOM}" in await cluster.judged("100Gi")


async def test_claims_are_looked_at_one_by_one(cluster):
    """The limit that the page names: the extender refuses this node, the autoscaler adds none."""
    await cluster.start(cluster.printed())
    await cluster.add_node("one-disk", disks=[100])

    assert await cluster.judged("60Gi", "60Gi") == "one-disk"
