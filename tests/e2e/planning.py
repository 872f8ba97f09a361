"""What the command `plan` says will happen on the live cluster of a test."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import yaml
from msgspec import structs

from app.settings import Settings
from cli.kube import snapshot
from cli.planning.running import Planned, run_plan
from cli.planning.workloads import place_step
from planner.outcome import PlanReport
from planner.picture import Kind
from planner.policy import TODAY_POLICY, Policy
from tests.actors import api as kinds
from tests.actors.api import Object
from tests.e2e.extender import ROOT
from tests.e2e.users import ADMIN
from tests.e2e.workloads import NAMESPACE
from tests.e2e.world import World

SEEDS = range(1, 31)
MANY_SEEDS = range(1, 151)
"""So many that a real run is hardly ever outside of what the plans show."""
BY_LOT = structs.replace(TODAY_POLICY, priorities=())
"""Of the nodes that fit, any: what such plans agree on, no score and no timing decides."""
IN_FLIGHT = 20
"""As the command has it by default."""
_COMMAND_SECONDS = 60.0
_MOVES = frozenset({Kind.PLACED, Kind.MOVED})
_WAITS = frozenset({Kind.PENDING, Kind.NOT_CREATED})


class Forecast(msgspec.Struct, frozen=True):
    """What became of pods, really or in a plan."""

    node_of: Mapping[str, str]
    """The nodes of the pods that have one, by pod."""
    waiting: frozenset[str]
    """The pods that got no node, or are not created since an earlier one does not run."""

    @property
    def placed(self) -> int:
        return len(self.node_of)

    def waiting_of(self, workloads: Iterable[str]) -> dict[str, int]:
        """Return how many pods of each workload wait."""
        counts = Counter(name.rpartition("-")[0] or name for name in self.waiting)
        return {name: counts[name] for name in workloads}

    def counts(self, nodes: Sequence[str]) -> tuple[int, ...]:
        """Return how many pods each of the nodes has, in the order of *nodes*."""
        counts = Counter(self.node_of.values())
        return tuple(counts[node] for node in nodes)


class Planning:
    """Plans on the cluster as it is at that moment, as an administrator.

    Args:
        world: The cluster.
        folder: For the files with workloads.
        settings: Of the process that forecasts.
    """

    def __init__(self, world: World, folder: Path, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._kubeconfig = world.control_plane.users.kubeconfig(ADMIN)
        self._file = folder / "workload.yaml"

    async def place(
        self, objects: Iterable[tuple[Object, kinds.Kind]], *, runs: int = 1
    ) -> Forecast:
        """Run `plan place` on a file with the objects; of several runs it is the worst."""
        self._write(objects)
        return await self._command("place", str(self._file), "--runs", str(runs))

    async def drain(self, node: str, *, runs: int = 1) -> Forecast:
        """Run `plan drain`; of several runs it is the worst."""
        return await self._command("drain", node, "--runs", str(runs))

    async def forecasts(
        self,
        objects: Iterable[tuple[Object, kinds.Kind]],
        *,
        policy: Policy = TODAY_POLICY,
        seeds: Sequence[int] = SEEDS,
    ) -> list[Forecast]:
        """Plan with each seed, on the cluster as it is read once."""
        self._write(objects)
        return await asyncio.to_thread(self._forecasts, policy, seeds)

    def _write(self, objects: Iterable[tuple[Object, kinds.Kind]]) -> None:
        documents = [
            {"apiVersion": kind.api_version, "kind": kind.kind, **obj} for obj, kind in objects
        ]
        self._file.write_text(yaml.safe_dump_all(documents), encoding="utf-8")

    def _forecasts(self, policy: Policy, seeds: Sequence[int]) -> list[Forecast]:
        settings = self._settings
        objects, problems, _ = snapshot.read_cluster(
            settings, self._kubeconfig, None, snapshot.PLANNING
        )
        assert not problems, problems
        planned = Planned(
            objects=objects,
            origin="",
            utc=datetime.now(UTC),
            steps=[place_step(self._file, None, "default")],
            policy=policy,
            policy_name="",
            settings=settings,
            in_flight=IN_FLIGHT,
        )
        return [forecast_of(run_plan(planned, seed)) for seed in seeds]

    async def _command(self, *words: str) -> Forecast:
        command = [sys.executable, "-m", "cli", "plan", *words]
        command += ["--kubeconfig", str(self._kubeconfig), "--output", "json"]
        done = await asyncio.to_thread(
            subprocess.run,
            command,
            cwd=ROOT,
            capture_output=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr.decode()
        forecast = forecast_of(msgspec.json.decode(done.stdout, type=PlanReport))
        assert bool(done.returncode) == bool(forecast.waiting), done.stdout.decode()
        return forecast


def forecast_of(report: PlanReport) -> Forecast:
    """Return where a plan leaves the pods that it tells of."""
    node_of, waiting = dict[str, str](), set[str]()
    for event in (event for step in report.steps for event in step.events):
        name = event.object.removeprefix(f"{NAMESPACE}/")
        if event.kind in _MOVES:
            node_of[name] = event.node or ""
            waiting.discard(name)
        elif event.kind in _WAITS:
            waiting.add(name)
    return Forecast(node_of, frozenset(waiting))


def real(world: World, expected: Iterable[str]) -> Forecast:
    """Return where the pods of the cluster are; *expected* also names those not created."""
    found = world.seen.node_of()
    placed = {name: node for name, node in found.items() if node}
    return Forecast(placed, frozenset({*expected, *found} - placed.keys()))
