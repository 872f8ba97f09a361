"""What `may-drain` says, against what `kubectl drain` then does on the real control plane.

Instance managers, their budgets and kubelets are played; nodes, pods, evictions and the controller
of budgets are Kubernetes' own. The command has the rights that the documentation gives it.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest
import yaml

from cli.draining.report import DrainReport
from tests.actors import api as kinds
from tests.actors.api import Api, Informer, Key, Kind, Object, key_of
from tests.actors.kubelet import Kubelets
from tests.actors.longhorn import NAMESPACE
from tests.actors.longhorn.guards import Guards
from tests.e2e.control_plane import ControlPlane
from tests.e2e.drain_states import NODE, OWNER, DrainState, random_state, state_by_hand
from tests.e2e.effort import runs
from tests.e2e.extender import ROOT
from tests.e2e.users import ADMIN
from tests.e2e.waiting import until
from tests.e2e.workloads import NAMESPACE as WORKLOADS

STATES = runs(8, report=20)
SEED_VARIABLE = "E2E_SEED"
SETTLED_SECONDS = 60.0
QUIET_SECONDS = 2.0
"""Controllers of budgets look again within this."""
DRAIN_SECONDS = {0: 120, 1: 17}
"""After which `kubectl drain` gives up, by the status of `may-drain`. It tries again every five
seconds where a budget is in the way."""
HOOK = ROOT / "examples" / "may-drain" / "rbac.yaml"
_RBAC = "rbac.authorization.k8s.io/v1"
HOOK_KINDS = {
    "ServiceAccount": Kind("v1", "serviceaccounts", "ServiceAccount"),
    "Role": Kind(_RBAC, "roles", "Role"),
    "RoleBinding": Kind(_RBAC, "rolebindings", "RoleBinding"),
    "ClusterRole": Kind(_RBAC, "clusterroles", "ClusterRole", namespaced=False),
    "ClusterRoleBinding": Kind(
        _RBAC, "clusterrolebindings", "ClusterRoleBinding", namespaced=False
    ),
}


class Stage:
    """The control plane with played kubelets and instance managers.

    Args:
        control_plane: Running, without nodes.
        api: Of an administrator.
    """

    def __init__(self, control_plane: ControlPlane, api: Api) -> None:
        self.control_plane = control_plane
        self._api = api
        self.guards = Guards(api)
        empty = [
            Informer(api, kind) for kind in (kinds.CLAIMS, kinds.PERSISTENT_VOLUMES, kinds.VOLUMES)
        ]
        self._informers = empty
        self._kubelets = Kubelets(
            api,
            pods=self.guards.pods,
            claims=empty[0],
            persistent_volumes=empty[1],
            volumes=empty[2],
            end_seconds=0.3,
            left_to_others=None,
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the played parts."""
        runs = [self.guards.run, self._kubelets.run, *(each.run for each in self._informers)]
        tasks = [asyncio.create_task(begin()) for begin in runs]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def set_up(self, state: DrainState) -> None:
        """Create everything, and wait until all controllers are at rest."""
        for namespace in (NAMESPACE, WORKLOADS):
            owner = {"metadata": {"name": OWNER, "namespace": namespace}}
            await self._api.ensure(owner, kinds.CONFIG_MAPS)
        for obj, kind in state.objects:
            await self._api.create(obj, kind)
        for pod in state.pods:
            await self._start(pod)
        await self._start_daemons(state)
        await until(self._are_budgets_counted, within=SETTLED_SECONDS, what="budgets")
        await asyncio.sleep(QUIET_SECONDS)
        await until(lambda: self.guards.is_settled, within=SETTLED_SECONDS, what="Longhorn")

    async def _start(self, pod: Object) -> None:
        owner, ready = pod.pop("owner"), pod.pop("ready")
        if owner is not None:
            kind, name = owner
            found = await self._api.get(kind, name, pod["metadata"]["namespace"])
            assert found is not None, name
            reference = {"apiVersion": kind.api_version, "kind": kind.kind, "name": name}
            reference |= {"uid": found["metadata"]["uid"], "controller": True}
            pod["metadata"]["ownerReferences"] = [reference]
        await self._api.create(pod, kinds.PODS)
        await self._run_pod(key_of(pod), ready=ready)

    async def _run_pod(self, key: Key, *, ready: bool) -> None:
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        status = {"status": {"phase": "Running", "conditions": conditions}}
        await self._api.patch(kinds.PODS, key, status, "status")

    async def _start_daemons(self, state: DrainState) -> None:
        """Bind the pods of DaemonSets, which no scheduler does here."""
        for daemon_set, kind in state.objects:
            if kind is not kinds.DAEMON_SETS:
                continue
            name = daemon_set["metadata"]["name"]

            async def made(name: str = name) -> list[Object]:
                return await self._api.list(kinds.PODS, WORKLOADS, labelSelector=f"app={name}")

            async def is_made() -> bool:
                return bool(await made())

            await until(is_made, within=SETTLED_SECONDS, what=name)
            [pod] = await made()
            node = daemon_set["spec"]["template"]["spec"]["nodeSelector"]["pool"]
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod["metadata"]["name"], "namespace": WORKLOADS},
                "target": target,
            }
            await self._api.create_in(kinds.PODS, key_of(pod), "binding", binding)
            await self._run_pod(key_of(pod), ready=True)

    async def release(self, attachment: str, ticket: str) -> None:
        """Take a ticket back, as who has attached a volume does."""
        change: Object = {"spec": {"attachmentTickets": {ticket: None}}}
        await self._api.patch(kinds.LONGHORN_ATTACHMENTS, Key(NAMESPACE, attachment), change)

    async def _are_budgets_counted(self) -> bool:
        budgets = await self._api.list(kinds.BUDGETS)
        return all(
            (each.get("status") or {}).get("observedGeneration") == each["metadata"]["generation"]
            for each in budgets
        )

    async def wipe(self) -> None:
        """Leave nothing."""
        for namespace in (NAMESPACE, WORKLOADS):
            for kind in (kinds.DAEMON_SETS, kinds.BUDGETS):
                await self._api.delete(kind, Key(namespace, ""))
            await self._api.delete(kinds.PODS, Key(namespace, ""), at_once=True)
            await self._api.delete(kinds.CONFIG_MAPS, Key(namespace, OWNER))
        for kind in (
            kinds.INSTANCE_MANAGERS,
            kinds.REPLICAS,
            kinds.VOLUMES,
            kinds.LONGHORN_ATTACHMENTS,
            kinds.SETTINGS,
        ):
            await self._api.delete(kind, Key(NAMESPACE, ""))
        await self._api.delete(kinds.KUBERNETES_NODES, Key("", ""))
        await self._api.delete(kinds.BUDGETS, Key(NAMESPACE, ""))
        caches = (self.guards.pods, self.guards.managers, self.guards.hosts, self.guards.budgets)
        await until(lambda: not any(each.objects for each in caches), within=SETTLED_SECONDS)


@pytest.fixture
async def stage(control_plane: ControlPlane) -> AsyncIterator[Stage]:
    """Run the played parts beside the control plane."""
    async with await control_plane.client() as client:
        stage = Stage(control_plane, Api(client))
        async with stage.running():
            await stage.wipe()
            yield stage
            await stage.wipe()
        await asyncio.sleep(0.2)  # for the goodbyes of TLS


@pytest.fixture
async def hook(control_plane: ControlPlane) -> AsyncIterator[Path]:
    """Install the rights of the documentation; return a kubeconfig with them and no others."""
    documents = [*yaml.safe_load_all(HOOK.read_text(encoding="utf-8"))]
    async with await control_plane.client() as client:
        api = Api(client)
        for each in documents:
            await api.ensure(each, HOOK_KINDS[each["kind"]])
        account = next(each for each in documents if each["kind"] == "ServiceAccount")
        issued = await api.create_in(
            HOOK_KINDS["ServiceAccount"],
            key_of(account),
            "token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        )
        assert issued is not None
        token = issued["status"]["token"]
        yield control_plane.users.kubeconfig_of(token, "may-drain", control_plane.url)
        for each in documents:
            await api.delete(HOOK_KINDS[each["kind"]], key_of(each))


async def run(*command: str, seconds: float = 300) -> tuple[int, str, str]:
    """Run a program; return its status and what it printed."""
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, capture_output=True, text=True, timeout=seconds,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


async def ask(kubeconfig: Path, *words: str) -> tuple[int, DrainReport]:
    """Run the command, which must answer."""
    command = [sys.executable, "-m", "cli", "may-drain", *words, "-o", "json"]
    status, out, err = await run(*command, "--kubeconfig", str(kubeconfig))
    assert out, err
    return status, msgspec.json.decode(out, type=DrainReport)


async def drain(control_plane: ControlPlane, flags: Sequence[str], seconds: int) -> tuple[int, str]:
    """Run `kubectl drain`; return its status, and all that it printed."""
    config = str(control_plane.users.kubeconfig(ADMIN))
    command = ["kubectl", "drain", NODE, "--kubeconfig", config, "--ignore-daemonsets"]
    status, out, err = await run(*command, *flags, f"--timeout={seconds}s")
    return status, out + err


@pytest.mark.slow
async def test_kubectl_drain_ends_exactly_where_it_says_yes(stage, hook, report):
    seed = os.environ.get(SEED_VARIABLE, "1")
    yes, wrong = 0, []
    for number in range(STATES):
        state = random_state(Random(f"{seed} {number}"))
        await stage.set_up(state)

        status, said = await ask(hook, NODE, *state.flags)
        assert status in DRAIN_SECONDS, said
        ended, told = await drain(stage.control_plane, state.flags, DRAIN_SECONDS[status])

        yes += status == 0
        if (status == 0) != (ended == 0):
            codes = [f"{each.code} {each.object}" for each in said.nodes[0].obstacles]
            wrong.append((number, state.troubles, state.flags, status, codes, told[-600:]))
        await stage.wipe()

    report.measured(
        f"kubectl drain in {STATES} random states (seed {seed})",
        f"may-drain says yes in {yes}, and in {STATES - len(wrong)} it is as it says",
    )
    assert wrong == []
    assert STATES / 5 <= yes <= STATES * 4 / 5


@pytest.mark.slow
async def test_it_waits_until_the_last_obstacle_is_gone(stage, hook):
    """A volume that is attached by hand is detached while the command waits."""
    await stage.set_up(state_by_hand())

    early, _ = await ask(hook, NODE, "--watch", "--interval", "1", "--timeout", "2")
    waiting = asyncio.create_task(ask(hook, NODE, "--watch", "--interval", "1", "--timeout", "120"))
    await asyncio.sleep(5)
    still_waits = not waiting.done()
    await stage.release("by-hand", "it")
    status, said = await waiting

    assert (early, still_waits, status) == (1, True, 0)
    assert not said.nodes[0].obstacles
