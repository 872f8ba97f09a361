"""The commands of docs/kube-scheduler.md, run as they stand there, lead to pods that have room.

What they need besides this clone is stood in for: the image is what runs here, and a control-plane
node is a script that takes what is sent to it.
"""

import os

import yaml

from app.config import NAME
from supply.version import version
from tests.actors.api import Object
from tests.docs.consoles import Chapter, commands_of
from tests.docs.pages import DOCS
from tests.e2e.control_plane import ControlPlane
from tests.e2e.deployed import Administrator, DeployedExtender, clean_clone, write_program
from tests.e2e.extender import ROOT
from tests.e2e.users import ADMIN, SCHEDULER
from tests.e2e.waiting import until
from tests.e2e.world import World

CHAPTER = Chapter(DOCS / "kube-scheduler.md", "kubeadm")
MOST_COMMANDS = 9
PODS = 16
NODES = ("node-1", "node-2", "node-3", "node-4")
DISKS = [{"disk": 80}, {"disk": 40}, {"disk": 20}, {"disk": 20}]
"""Goal 1b at a tenth: so that volumes of 10 GiB fill them exactly."""
EXPECTED = "8/4/2/2"
ADDRESS = "10.96.0.95"
"""What propose-address finds in the range of the tests."""
BOUND_SECONDS = 60.0


async def test_nine_commands_lead_to_pods_that_have_room(bare, tmp_path, report):
    commands = [
        command.text.replace("REPOSITORY", "registry.example") for command in commands_of(CHAPTER)
    ]
    assert len(commands) <= MOST_COMMANDS
    sent, certificates = tmp_path / "sent-to-the-node", tmp_path / "copies"
    certificates.mkdir()
    programs = tmp_path / "programs"
    write_program(
        programs / "ssh",
        f'case "$2" in *tar*) tar -xC "{certificates}" ;; *) cat > "{sent}" ;; esac',
    )
    async with World(bare, tmp_path, make_extender=DeployedExtender, extenders=[]) as world:
        service = world.extender
        assert isinstance(service, DeployedExtender)
        clone = clean_clone(tmp_path)
        path = f"{programs}:{os.environ['PATH']}"
        administrator = Administrator(bare.users.kubeconfig(ADMIN), clone, PATH=path)
        service.sources[version(ROOT)] = clone
        await world.add_nodes(*DISKS)
        for command in commands:
            await administrator.run("bash", "-euc", command)
            if "get secret" in command:
                service.call_with(clone)
                await service.serve()
            if sent.exists():
                text = sent.read_text().replace(f"/etc/{NAME}", str(certificates))
                await _restart_scheduler(bare, yaml.safe_load(text), service.url)
                sent.unlink()
        await until(lambda: len(world.seen.pods()) == PODS, within=BOUND_SECONDS)
        nodes = world.seen.node_of
        await until(lambda: all(nodes().values()), within=BOUND_SECONDS, what=nodes)
        await world.settle()

        placed = [*nodes().values()]
        assert "/".join(str(placed.count(node)) for node in NODES) == EXPECTED
        assert world.seen.without_room() == 0
        assert world.seen.overcommitted_disks() == []
    report.measured("commands from a clone to pods that have room", str(len(commands)))


async def _restart_scheduler(control_plane: ControlPlane, config: Object, url: str) -> None:
    """Start kube-scheduler with what was sent, but for the addresses of this machine."""
    [extender] = config["extenders"]
    assert extender["urlPrefix"] == f"https://{ADDRESS}:9504"
    extender["urlPrefix"] = url
    config["clientConnection"] = {"kubeconfig": str(control_plane.users.kubeconfig(SCHEDULER))}
    config["leaderElection"] = {"leaderElect": False}
    await control_plane.stop_scheduler()
    await control_plane.start_scheduler(config)
