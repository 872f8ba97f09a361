"""The chart comes before kube-scheduler is configured for its address: no pod waits for that.

Pods are scheduled as if there were no extender until the release is told that kube-scheduler asks.
"""

import json
import sys

from app.config import NAME
from supply.version import version
from tests.actors.api import CLAIMS, PODS, Object
from tests.e2e.control_plane import ControlPlane
from tests.e2e.deployed import Administrator, DeployedExtender
from tests.e2e.extender import ROOT
from tests.e2e.injecting import asks, create
from tests.e2e.kubernetes import scheduler_configuration
from tests.e2e.users import ADMIN, SCHEDULER
from tests.e2e.waiting import until
from tests.e2e.workloads import NAMESPACE as WORKLOADS
from tests.e2e.workloads import claim, pod
from tests.e2e.world import World
from tests.fakes.installed import NAMESPACE
from tests.unit.manifests.charted import INSECURE, WITH_ADDRESS, find, hooks

CHART = f"charts/{NAME}"
IN_NAMESPACE = ("--namespace", NAMESPACE)
BEGIN = ("--reset-then-reuse-values", "--set", "kubeSchedulerConfigured=true")
"""As the notes have it."""
PROBE = f"{NAME}-test"
"""The pod of `helm test` that asks for the extender itself."""
PATIENCE_SECONDS = 60.0


async def test_pods_are_scheduled_before_kube_scheduler_is_configured_and_asked_about_after(
    bare, tmp_path
):
    async with World(bare, tmp_path, make_extender=DeployedExtender, extenders=[]) as world:
        service = world.extender
        assert isinstance(service, DeployedExtender)
        service.sources[version(ROOT)] = ROOT
        administrator = Administrator(bare.users.kubeconfig(ADMIN), ROOT)
        await world.add_nodes({"disk": 100}, {"disk": 100})
        options = (f"--set=image.repository=registry.example/{NAME}", WITH_ADDRESS, INSECURE)
        await administrator.run("helm", "install", NAME, CHART, *IN_NAMESPACE, *options)
        await service.serve()

        before = await _scheduled(world, "before")
        waits = await _injection(administrator)
        await world.api.create(find(hooks("fixed-address"), "Pod", PROBE), PODS)
        await until(lambda: _is_refused(world), within=PATIENCE_SECONDS)

        await _configure(bare, service.url)
        await until(lambda: _is_bound(world), within=PATIENCE_SECONDS)
        between = await _scheduled(world, "between")

        async def is_seen_asking() -> bool:
            return "; kube-scheduler called " in (await _injection(administrator))["text"]

        await until(is_seen_asking, within=PATIENCE_SECONDS)
        still = await _injection(administrator)

        await administrator.run("helm", "upgrade", NAME, CHART, *IN_NAMESPACE, *BEGIN)
        await until(lambda: _is_injected(bare), within=PATIENCE_SECONDS)
        after = await _scheduled(world, "after")
        begun = await _injection(administrator)

        assert [asks(each) for each in (before, between, after)] == [False, False, True]
        asked_about = [bool(world.calls_for(each)) for each in ("before", "between", "after")]
        assert asked_about == [False, False, True]
    assert (waits["code"], still["code"]) == ("injection-waits", "injection-waits")
    assert "; kube-scheduler has not called since " in waits["text"]
    assert begun["severity"] == "ok", begun


async def _scheduled(world: World, name: str) -> Object:
    """Create a pod that says nothing of the extender; return it once it runs."""
    await world.api.create(claim(name, "10Gi"), CLAIMS)
    await world.api.create(pod(name, name, extender=False), PODS)
    await until(lambda: world.seen.is_running(name), within=PATIENCE_SECONDS, what=name)
    found = await world.api.get(PODS, name, WORKLOADS)
    assert found is not None
    return found


async def _injection(administrator: Administrator) -> Object:
    """Return what doctor finds of injection."""
    done = await administrator.attempt(sys.executable, "-m", "cli", "doctor", "--output", "json")
    report = json.loads(done.stdout)["findings"]
    [finding] = [each for each in report if each["check"] == "injection"]
    assert isinstance(finding, dict)
    return finding


async def _configure(control_plane: ControlPlane, url: str) -> None:
    """Give kube-scheduler the configuration that we ship, and start it anew."""
    await control_plane.stop_scheduler()
    kubeconfig = control_plane.users.kubeconfig(SCHEDULER)
    await control_plane.start_scheduler(scheduler_configuration(kubeconfig, url))


async def _is_refused(world: World) -> bool:
    """Whether kube-scheduler has found no node for the pod of `helm test`."""
    found = await _probe(world)
    conditions = found["status"].get("conditions") or ()
    return any("longhorn.io/scheduler-extender" in each.get("message", "") for each in conditions)


async def _is_bound(world: World) -> bool:
    return "nodeName" in (await _probe(world))["spec"]


async def _probe(world: World) -> Object:
    found = await world.api.get(PODS, PROBE, NAMESPACE)
    assert found is not None
    return found


async def _is_injected(control_plane: ControlPlane) -> bool:
    """Whether a new pod with a claim would get the resource."""
    tried = await create(control_plane, pod("any", "any", extender=False), dry_run=True)
    return asks(tried.body)
