"""The life of a release on real nodes, while pods with claims come without a pause.

Whatever is done, and whatever goes wrong, each of these pods gets a node. They say nothing of the
extender themselves: injection sends them there, or does not.
"""

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from app.config import NAME
from tests.cluster.coming import pods_created, times_until_scheduled
from tests.cluster.conftest import started
from tests.cluster.installed import no_volumes_are_left
from tests.cluster.outside import REPOSITORY
from tests.cluster.running import RunningCluster
from tests.e2e.workloads import RESOURCE
from tests.fakes.installed import NAMESPACE
from tests.tools import give_up

pytestmark = pytest.mark.nodes

CHART = "charts/longhorn-scheduler-extender"
SCHEDULER = "longhorn-scheduler"
IN_NAMESPACE = f"{NAME} {CHART} --namespace {NAMESPACE}"
INSTALL = f"helm install {IN_NAMESPACE} --wait --set image.repository={REPOSITORY}"
UPGRADE = f"helm upgrade {IN_NAMESPACE} --reset-then-reuse-values --wait"
UNINSTALL = f"helm uninstall {NAME} --namespace {NAMESPACE}"
ROLLBACK = f"helm rollback {NAME} --namespace {NAMESPACE} --wait"
LIVE = f"kubectl --namespace {NAMESPACE} patch configmap {NAME} --type merge --patch"
PAUSE_SECONDS = 4.0
LONGEST = timedelta(seconds=60)
"""In some steps service and scheduler change how they speak with each other."""
KILLED_SECONDS = 15.0
ACQUIRED = timedelta(seconds=3)
EMERGENCY = f"""
kubectl --namespace {NAMESPACE} get configmap longhorn-scheduler-config --output yaml \\
    | grep -vE '^  (resourceVersion|uid|creationTimestamp):' > before.yaml
grep -vE '^ +(filterVerb|preemptVerb|prioritizeVerb|weight):' before.yaml > without.yaml
kubectl apply --server-side --field-manager=helm --force-conflicts -f without.yaml
kubectl --namespace {NAMESPACE} rollout restart deployment/longhorn-scheduler
kubectl --namespace {NAMESPACE} rollout status deployment/longhorn-scheduler
"""
BACK = f"""
kubectl apply --server-side --field-manager=helm --force-conflicts -f before.yaml
kubectl --namespace {NAMESPACE} rollout restart deployment/longhorn-scheduler
kubectl --namespace {NAMESPACE} rollout status deployment/longhorn-scheduler
"""


@pytest.fixture(scope="module", params=["helm", "helm3"])
def cluster(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[RunningCluster]:
    """A cluster with nothing of ours, for an administrator who has this version of Helm."""
    programs = tmp_path_factory.mktemp("programs")
    helm = shutil.which(request.param)
    if helm is None:
        give_up(f"{request.param} is not on the PATH; docs/real-nodes.md says what it is")
    (programs / "helm").symlink_to(helm)
    with started(folder) as cluster:
        cluster.put_first(programs)
        yield cluster


class Life:
    """What is done to a release, and what that meant for the pods that came meanwhile."""

    def __init__(self, cluster: RunningCluster, folder: Path) -> None:
        self.cluster = cluster
        self.run = cluster.administrator.run
        self._folder = folder

    async def step(self, what: str, *commands: str, fails: str = "", injects: bool) -> str:
        """Do something while pods come; return what the last command prints.

        Args:
            what: Said in the report.
            commands: For a shell.
            fails: What the last command says when it fails; empty if it must not.
            injects: Whether new pods are to be injected in the end.
        """

        async def act() -> str:
            printed = ""
            for command in commands:
                printed = await self._shell(command, fails=fails if command == commands[-1] else "")
            return printed

        return await self.during(what, act, injects=injects)

    async def during(self, what: str, act: Callable[[], Awaitable[str]], *, injects: bool) -> str:
        """Do the same with a function."""
        began = asyncio.get_running_loop().time()
        async with pods_created(self.cluster, asks=False) as names:
            await asyncio.sleep(PAUSE_SECONDS)
            printed = await act()
            seconds = asyncio.get_running_loop().time() - began - PAUSE_SECONDS
            await asyncio.sleep(PAUSE_SECONDS)
        waits = await times_until_scheduled(self.cluster, names)
        last = await self.cluster.get("pod", names[-1])
        await self.run("kubectl", "delete", "pods", "--selector=app=one-of-many")
        await no_volumes_are_left(self.cluster)
        row = f"{what}: {seconds:.0f} s; {len(waits)} pods, longest wait {max(waits).seconds} s"
        sys.stderr.write(f"{row}\n")
        assert len(waits) == len(names)
        assert max(waits) <= LONGEST, row
        limits = last["spec"]["containers"][0].get("resources", {}).get("limits", {})
        assert (RESOURCE in limits) is injects, what
        return printed

    async def _shell(self, command: str, *, fails: str) -> str:
        administrator = self.cluster.administrator
        text = f"cd {self._folder}\n{command}" if "before.yaml" in command else command
        done = await administrator.attempt("bash", "-euc", text)
        printed = done.stdout + done.stderr
        assert bool(done.returncode) is bool(fails), printed
        assert fails in printed
        return printed


async def test_no_pod_is_left_by_an_install_and_by_upgrades(cluster, tmp_path):
    life = Life(cluster, tmp_path)
    await life.run("kubectl", "apply", "--filename", "manifests/namespace.yaml")
    await installed_wrongly(life)
    await life.step("install", INSTALL, injects=True)
    await upgraded(life)
    await switched(life)
    await life.run("bash", "-euc", UNINSTALL)


async def test_no_pod_is_left_by_an_emergency(cluster, tmp_path):
    life = await installed(cluster, tmp_path)
    await in_an_emergency(life)
    await life.run("bash", "-euc", UNINSTALL)


async def test_no_pod_is_left_by_the_end(cluster, tmp_path):
    await uninstalled(await installed(cluster, tmp_path))


async def installed(cluster: RunningCluster, folder: Path) -> Life:
    life = Life(cluster, folder)
    await life.run("kubectl", "apply", "--filename", "manifests/namespace.yaml")
    await life.run("bash", "-euc", INSTALL)
    return life


async def installed_wrongly(life: Life) -> None:
    await life.step(
        "install into default",
        INSTALL.replace(f"--namespace {NAMESPACE}", "--namespace default"),
        fails="say --namespace longhorn-scheduler",
        injects=False,
    )
    await life.step(
        "install for a Longhorn that is elsewhere",
        f"{INSTALL} --set longhornNamespace=storage",
        fails="set longhornNamespace to where they are: longhorn-system",
        injects=False,
    )
    await life.step(
        "install with an image that does not exist",
        f"{INSTALL} --set image.tag=typo --timeout 20s",
        fails="INSTALLATION FAILED",
        injects=False,
    )
    await life.step("uninstall that", f"{UNINSTALL} --no-hooks", injects=False)
    await life.step(
        "install without --wait, nobody leading",
        f"{INSTALL.replace(' --wait', '')} --set liveSettings.enabled=false",
        injects=False,
    )
    await life.step("uninstall that, too", UNINSTALL, injects=False)


async def upgraded(life: Life) -> None:
    await life.step("upgrade of nothing", UPGRADE, injects=True)
    await life.step("policy to webhook", f"{UPGRADE} --set injection.mode=webhook", injects=True)
    await life.step("webhook to policy", f"{UPGRADE} --set injection.mode=policy", injects=True)
    await life.step("to plain HTTP", f"{UPGRADE} --set tls.mode=insecure", injects=True)
    await life.step("to closed doors", f"{UPGRADE} --set tls.mode=selfSigned", injects=True)
    await life.step("rollback to open ones", ROLLBACK, injects=True)
    await life.step("closed again", f"{UPGRADE} --set tls.mode=selfSigned", injects=True)
    await life.step(
        "upgrade to an image that does not exist, and back",
        f"{UPGRADE} --set image.tag=typo --timeout 15s || {ROLLBACK}",
        injects=True,
    )


async def switched(life: Life) -> None:
    """From the second scheduler to the cluster's own, and back."""
    to_own = await configured(life)
    await life.step("second scheduler to the cluster's own", f"{UPGRADE} {to_own}", injects=True)
    await life.step(
        "the cluster's own to the second scheduler",
        f"{UPGRADE} --set mode=second-scheduler",
        injects=True,
    )


async def configured(life: Life) -> str:
    """Have the cluster's own kube-scheduler ask the service; return the options that say so."""
    service = await life.cluster.get("service", NAME, "--namespace", NAMESPACE)
    address = service["spec"]["clusterIP"]
    configuration = await life.run(
        *(sys.executable, "-m", "cli", "scheduler-config", "--distribution", "kubeadm"),
        *("--url", f"https://{address}:9504"),
    )
    await life.cluster.copy_certificates(NAMESPACE)
    life.cluster.configure_scheduler(configuration)
    own = "mode=cluster-scheduler,kubeSchedulerConfigured=true"
    return f"--set {own},service.clusterIP.ipv4={address}"


async def in_an_emergency(life: Life) -> None:
    await life.step(
        "Emergency by Helm, on",
        f"{UPGRADE} --set secondaryScheduler.ask=false",
        injects=True,
    )
    await life.step("and off", f"{UPGRADE} --set secondaryScheduler.ask=true", injects=True)
    await life.step("Emergency by kubectl, on", EMERGENCY, injects=True)
    await life.step("and off", BACK, injects=True)
    await life.step("Emergency by kubectl, on", EMERGENCY, injects=True)
    await life.step("and off by an upgrade", UPGRADE, injects=True)
    live_setting = "scheduler-extender-pod-scheduling-timeout"
    await life.step(
        "a live setting by kubectl, and an upgrade to plain HTTP",
        f'{LIVE} \'{{"data":{{"{live_setting}":"4"}}}}\'',
        f"{UPGRADE} --set tls.mode=insecure",
        injects=True,
    )
    await life.step("rollback after it", ROLLBACK, injects=True)
    found = await life.cluster.get("configmap", NAME, "--namespace", NAMESPACE)
    assert found["data"][live_setting] == "4"
    await life.step(
        "injection off by kubectl, and on by an upgrade",
        f'{LIVE} \'{{"data":{{"scheduler-extender-inject":"false"}}}}\'',
        UPGRADE,
        injects=True,
    )


async def uninstalled(life: Life) -> None:
    await life.step("uninstall", UNINSTALL, injects=False)
    assert await left(life.cluster) == []
    await life.step("reinstall", INSTALL, injects=True)
    acquired = await acquired_after(life.cluster)
    sys.stderr.write(f"the new second scheduler had the Lease after {acquired.total_seconds()} s\n")
    assert acquired <= ACQUIRED
    await life.during(
        "the leading second scheduler killed", lambda: kill_scheduler(life.cluster), injects=True
    )
    to_own = await configured(life)
    await life.step(
        "to the cluster's own scheduler, uninstall, its entry left",
        f"{UPGRADE} {to_own}",
        UNINSTALL,
        injects=False,
    )
    # The slice, which is the Service's, says that nobody is there. kube-scheduler has copies of the
    # certificates, so they must be those of the next release.
    assert await left(life.cluster) == [
        f"service/{NAME}",
        *(f"secret/{NAME}-{whose}" for whose in ("client", "kube-scheduler", "tls")),
        f"endpointslice.discovery.k8s.io/{NAME}-ipv4",
    ]
    await life.step("reinstall over that", f"{INSTALL} {to_own}", injects=True)
    await life.run("kubectl", "delete", "namespace", NAMESPACE)
    await life.step("once the namespace was deleted", "true", injects=False)


async def left(cluster: RunningCluster) -> list[str]:
    """Name what is left in the namespace, but for what each namespace has."""
    kinds = "all,configmaps,secrets,leases,endpointslices,roles,rolebindings,serviceaccounts"
    found = await cluster.administrator.run("kubectl", "get", kinds, "-n", NAMESPACE, "-o", "name")
    usual = ("configmap/kube-root-ca.crt", "serviceaccount/default")
    return [each for each in found.split() if each not in usual]


async def acquired_after(cluster: RunningCluster) -> timedelta:
    """Return how long the second scheduler that schedules had to wait for the Lease, by its log."""
    printed = await cluster.administrator.run(
        *("kubectl", "--namespace", NAMESPACE, "logs", "--prefix", "--tail=-1"),
        f"--selector=app={SCHEDULER}",
    )
    acquired = [line for line in printed.splitlines() if "uccessfully acquired lease" in line]
    [pod] = {line.partition(" ")[0] for line in acquired}
    first = next(
        line
        for line in printed.splitlines()
        if line.startswith(pod) and "ttempting to acquire leader lease" in line
    )
    return _said_at(acquired[0]) - _said_at(first)


def _said_at(line: str) -> datetime:
    """Read the time of a line of klog, such as `[pod/...] I1127 02:00:00.123456`."""
    return datetime.strptime(line.split()[2], "%H:%M:%S.%f")  # noqa: DTZ007 (of one day)


async def kill_scheduler(cluster: RunningCluster) -> str:
    """Kill the second scheduler that schedules, which cannot give its Lease back."""
    lease = await cluster.get("lease", SCHEDULER, "--namespace", NAMESPACE)
    name = str(lease["spec"]["holderIdentity"]).partition("_")[0]
    cluster.signal(await cluster.get("pod", name, "--namespace", NAMESPACE), "SIGKILL")
    await asyncio.sleep(KILLED_SECONDS)
    return name
