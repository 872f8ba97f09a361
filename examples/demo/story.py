"""The screens of the demonstration: the goals of the charter, one after the other."""

from collections.abc import Callable
from pathlib import Path

from examples.demo.players import another, load
from examples.demo.stage import Stage

_EXAMPLES = Path(__file__).parents[1]
_FOUR = ("node-1", "node-2", "node-3", "node-4")


def burst(stage: Stage) -> None:
    """Show more pods than there is room for, faster than Longhorn shows any of their volumes."""
    objects = load(_EXAMPLES / "goal1")
    pods, late = [f"web-{number}" for number in range(16)], ["web-16", "web-17"]
    stage.begin(
        "Goal 1: a burst of pods",
        "18 pods at once, each with a new volume of 100 GiB, and four nodes with a disk of "
        "400 GiB. Longhorn's figures show nothing of it until much later.",
        [*objects, *(each for pod in late for each in another(objects, pod, like="web-15"))],
    )
    stage.ask_without_holds(
        [*pods, *late],
        _FOUR,
        expected=_FOUR,
        news="With holds switched off, each of the 18 may go to any node. With holds:",
    )
    stage.begin_table()
    for number, pod in enumerate(pods):
        stage.show(stage.ask(pod, _FOUR, expected=_FOUR[max(0, number - 12) :]))
    for pod in late:
        stage.show(stage.ask(pod, _FOUR, expected=[]))
    for pod in pods:
        stage.cluster.provision(pod)
        stage.cluster.place(pod)
    stage.show_placed("Longhorn has placed all replicas, so no hold is left. Two pods wait:")
    stage.show_woken(*late, news="They are woken, and told that no disk has room.")
    for pod in late:
        stage.ask(pod, _FOUR, expected=[])
    stage.cluster.delete("web-5")
    stage.show_woken("web-16", news="web-5 and its volume are deleted. The service wakes web-16:")
    for pod, expected in (("web-16", ["node-2"]), ("web-17", [])):
        stage.show(stage.ask(pod, _FOUR, expected))


def several_volumes(stage: Stage) -> None:
    """Show pods with several volumes, which must find room together."""
    stage.begin(
        "Goal 2: pods with several volumes",
        "node-1 to node-4 have as many disks of 100 GiB as their number says. quad has four "
        "volumes of 100 GiB, pair has two and single has one. All volumes of a pod must be on "
        "one node, and each on one disk.",
        load(_EXAMPLES / "goal2"),
    )
    stage.begin_table()
    for pod, expected in (("quad", _FOUR[3:]), ("pair", _FOUR[1:3]), ("single", _FOUR[:3])):
        asked = stage.ask(pod, _FOUR, expected)
        stage.cluster.provision(pod)
        stage.cluster.place(pod)
        stage.show(asked, why=True)


def drain(stage: Stage) -> None:
    """Show the pods of a drained node, and a new pod that comes too late."""
    stage.begin(
        "Goal 3, case A: a node is drained",
        "db-0 to db-3 ran on node-1, each with a volume of 100 GiB. node-2 has room for four of "
        "these; node-3 and node-4 have disks of 99 GiB. new-0 is a new pod, and comes last.",
        load(_EXAMPLES / "goal3a"),
    )
    stage.begin_table()
    for number in range(4):
        asked = stage.ask(f"db-{number}", _FOUR[1:], expected=["node-2"])
        stage.show(asked, why=number == 0)
    stage.show(stage.ask("new-0", _FOUR[1:], expected=[]))


def restart(stage: Stage) -> None:
    """Show pods whose replicas exist."""
    stage.begin(
        "Goal 3, case B: pods are made again",
        "A StatefulSet was deleted and comes back. The volume of each pod has its only replica on "
        "one node. The pod goes there again: nothing is copied, so nothing is held.",
        load(_EXAMPLES / "goal3b"),
    )
    stage.begin_table()
    for number in range(4):
        asked = stage.ask(f"restarted-{number}", _FOUR, expected=[_FOUR[number]])
        stage.show(asked, why=number == 0)


STORY: tuple[Callable[[Stage], None], ...] = (burst, several_volumes, drain, restart)
