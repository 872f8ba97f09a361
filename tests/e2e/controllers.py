"""The controller of DiskSchedules as processes, with the account and rights that are shipped."""

from pathlib import Path

import httpx

from app.config import CONTROLLER_NAME
from tests.actors.api import Api
from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import install_controller
from tests.e2e.users import CONTROLLER
from tests.e2e.waiting import until
from tests.pod_process import PodProcess

START_SECONDS = 60.0
_INSTANCES = 2
"""As the Deployment has."""
_METRICS = "longhorn_scheduler_extender_disk_schedule_"


class Controllers:
    """Two instances, of which one leads and the other stands by."""

    def __init__(
        self, control_plane: ControlPlane, api: Api, folder: Path, *, manage_objects: bool
    ) -> None:
        """Nothing runs yet.

        Args:
            control_plane: Which gives tokens.
            api: Of an administrator, who installs the rights.
            folder: For logs.
            manage_objects: Whether it also creates and deletes the DiskSchedules.
        """
        self._control_plane = control_plane
        self._api = api
        self._folder = folder
        self._manage_objects = manage_objects
        self._instances: list[PodProcess] = []
        self._conflicts_before = 0.0

    async def start(self) -> None:
        """Start all; return when one leads and the other could."""
        await install_controller(self._api, manage_objects=self._manage_objects)
        command = ["disk-schedule-controller"]
        command += ["--manage-objects"] if self._manage_objects else []
        for number in range(_INSTANCES):
            pod = f"{CONTROLLER_NAME}-{number}"
            instance = PodProcess(
                pod,
                command,
                log=self._folder / f"{pod}.log",
                kubeconfig=self._control_plane.users.kubeconfig(CONTROLLER),
                settings={},
            )
            instance.start()
            self._instances.append(instance)
        for instance in self._instances:
            await until(instance.is_ready, within=START_SECONDS, what=instance.pod)
        await until(self._is_led, within=START_SECONDS, what="no controller leads")

    async def stop(self) -> None:
        """End all; the leader gives back its lease."""
        for instance in self._instances:
            await instance.process.stop()

    async def kill_leader(self) -> None:
        """End the one that decides at once, be it between two writes, and start it again.

        If none decides yet, that is as soon as one does. After it nobody decides until the lease is
        over, and then the other one does.
        """
        await until(self._is_led, within=START_SECONDS, what="no controller leads")
        leader = await self.leader()
        assert leader is not None
        self._conflicts_before += await _conflicts_of(leader)
        leader.process.kill()
        leader.start()

    async def leader(self) -> PodProcess | None:
        """Return the one that may write now."""
        for instance in self._instances:
            if await _leads(instance):
                return instance
        return None

    async def conflicts(self) -> int:
        """Return how many of their writes met another one, by their own count."""
        running = [await _conflicts_of(each) for each in self._instances]
        return int(self._conflicts_before + sum(running))

    async def _is_led(self) -> bool:
        return await self.leader() is not None


async def _leads(instance: PodProcess) -> bool:
    try:
        return await instance.metric(f"{_METRICS}heartbeat") > 0
    except httpx.TransportError:  # it has only just been started
        return False


async def _conflicts_of(instance: PodProcess) -> float:
    return await instance.metric(f"{_METRICS}passes_total", outcome="conflict")
