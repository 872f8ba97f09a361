"""One performance: asks the service as kube-scheduler does, checks each answer, and shows it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from examples.demo.players import Cluster
from examples.demo.screen import (
    difference,
    headline,
    print_lines,
    reasons,
    remark,
    row,
    table_head,
)
from examples.demo.service import Service
from tests.fakes import Object


class Asked(NamedTuple):
    """What came of one pod."""

    pod: str
    node: str
    """Where it goes, empty if it waits."""
    rejected: dict[str, str]
    """Why it cannot go elsewhere, by node."""


class Stage:
    """The service and the cluster, and what was found so far.

    Args:
        cluster: What the service runs on.
        service: The service.

    Attributes:
        cluster: The same.
        checked: How many answers were compared with what is expected.
        wrong: How many of them were not as expected.
    """

    def __init__(self, cluster: Cluster, service: Service) -> None:
        self.cluster = cluster
        self.checked = 0
        self.wrong = 0
        self._service = service
        self._woken_at: dict[str, str] = {}
        """When each pod had been woken as it was asked about."""

    def begin(self, title: str, situation: str, objects: Sequence[Object]) -> None:
        """Begin a screen with another cluster."""
        self.cluster.replace(objects)
        self._settled(_holds_nothing)
        print_lines(headline(title, situation))

    def ask_without_holds(
        self, pods: Sequence[str], candidates: Sequence[str], expected: Sequence[str], news: str
    ) -> None:
        """Ask about pods with holds switched off, none of which gets a node; print *news*."""
        with self._service.without_holds():
            for pod in pods:
                self._filter(pod, candidates, expected)
        print_lines(remark(news))

    def begin_table(self) -> None:
        """Print what stands above the bars."""
        print_lines(table_head(self._settled(_holds_nothing)["nodes"]))

    def ask(self, pod: str, candidates: Sequence[str], expected: Sequence[str]) -> Asked:
        """Have a pod scheduled, and check the answer.

        It gets the accepted node with the highest score, of several the first. kube-scheduler would
        draw lots among these.

        Args:
            pod: Its name.
            candidates: The nodes that kube-scheduler would ask about.
            expected: Those that must be accepted.
        """
        answer = self._filter(pod, candidates, expected)
        accepted: list[str] = answer["NodeNames"]
        node = ""
        if accepted:
            scores = self._service.prioritize(self.cluster.pod(pod), accepted)
            node = max(accepted, key=lambda each: scores[each])
            self.cluster.choose(pod, node)
        return Asked(pod, node, answer["FailedAndUnresolvableNodes"])

    def show(self, asked: Asked, *, why: bool = False) -> None:
        """Print a line for a pod once its node shows; if it waits, or for *why*, the reasons."""
        print_lines([row(asked.pod, asked.node, self._settled(_has_chosen)["nodes"])])
        if why or not asked.node:
            print_lines(reasons(asked.rejected))

    def show_placed(self, news: str) -> None:
        """Print *news* and the disks, once Longhorn's figures show all and nothing is held."""
        print_lines([*remark(news), row("", "", self._settled(_holds_nothing)["nodes"])])

    def show_woken(self, *pods: str, news: str) -> None:
        """Print *news* once the service has woken pods that wait, since they were asked about."""
        for pod in pods:
            self._service.wait_until(f"{pod} is woken", partial(self._is_woken, pod))
        print_lines(remark(news))

    def _is_woken(self, pod: str, _: Object) -> bool:
        return self.cluster.woken_at(pod) != self._woken_at[pod]

    def check(self, what: str, found: object, expected: object) -> None:
        """Compare what was found with what is expected, and tell at once if it is not the same."""
        self.checked += 1
        if found != expected:
            self.wrong += 1
            print_lines([difference(what, found, expected)])

    def _filter(self, pod: str, candidates: Sequence[str], expected: Sequence[str]) -> Object:
        self._woken_at[pod] = self.cluster.woken_at(pod)
        answer = self._service.filter(self.cluster.pod(pod), candidates)
        found = answer["Error"] or answer["NodeNames"]
        self.check(f"nodes for {pod}", found, [*expected])
        return answer

    def _settled(self, is_so: Callable[[Object], bool]) -> Object:
        """Return the state in which the service knows all that changed, and *is_so* is true."""
        return self._service.wait_until(
            "it has followed the cluster",
            lambda state: self.cluster.is_known(state) and is_so(state),
        )


def _has_chosen(state: Object) -> bool:
    """Whether the node of each pod with a hold has shown."""
    return all(each["state"] == "chosen" for each in state["holds"])


def _holds_nothing(state: Object) -> bool:
    return not state["holds"]
