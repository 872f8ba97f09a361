"""Asks the real service about the charter's pods: `make demo`.

For each embedded cluster it starts `serve` on a free port of loopback, posts the pods to /filter
as kube-scheduler does, prints the answers, and stops the service. The exit status is 0 only if
every answer is the expected one.
"""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from app.cli.files import load_cluster, load_documents
from app.cli.report import make_report, table_lines
from app.config import Settings
from app.kube.translate import Pod
from app.kube.view import build_view
from extender import Extender, explain
from longhorn import NodeName

EXAMPLES = Path(__file__).parent
_TIMEOUT_SECONDS = 20.0
_LIMITS = Settings().step_limits


class Question(NamedTuple):
    """A pod to ask about, its candidates, and those that must be accepted."""

    pod: str
    candidates: Sequence[str]
    expected: Sequence[str]


class Chapter(NamedTuple):
    """One embedded cluster and what it shows; the disks are shown for its first question."""

    example: str
    title: str
    questions: Sequence[Question]


FOUR = ("node-1", "node-2", "node-3", "node-4")
ELEVEN = (
    *("cp-1", "node-a1", "node-a2", "node-a3", "node-b1", "node-b2"),
    *("node-b3", "node-b4", "node-c1", "node-c2", "node-c3"),
)

STORY = (
    Chapter(
        "goal1",
        "Goal 1: four nodes with one disk of 400 GiB, 16 pods with a claim of 100 GiB each",
        [Question(f"web-{n}", FOUR, FOUR) for n in range(16)],
    ),
    Chapter(
        "goal2",
        "Goal 2: nodes with 1, 2, 3 and 4 disks of 100 GiB; quad needs four volumes of 100 GiB",
        [
            Question("quad", FOUR, FOUR[3:]),
            Question("pair", FOUR, FOUR[1:]),
            Question("single", FOUR, FOUR),
        ],
    ),
    Chapter(
        "goal3a",
        "Goal 3A: node-1 is drained; node-2 has 400 GiB, node-3 and node-4 have 99 GiB",
        [Question(pod, FOUR[1:], ["node-2"]) for pod in ("db-0", "db-1", "db-2", "db-3", "new-0")],
    ),
    Chapter(
        "goal3b",
        "Goal 3B: a StatefulSet is made again; each pod's volume has its replica on one node",
        [Question(f"restarted-{n}", FOUR, [FOUR[n]]) for n in range(4)],
    ),
    Chapter(
        "rich",
        "Tags, zones, block disks, replicas in every state: ledger has a strict-local volume",
        [
            Question("ledger", ELEVEN, ["node-a1"]),
            Question("queue-0", ELEVEN, ["node-a2"]),
            Question("cron-0", ELEVEN, ["node-b2"]),
            Question("moved-0", ELEVEN, ["node-a1"]),
            Question("legacy-0", ELEVEN, ["node-a1"]),
            Question("files", ELEVEN, ELEVEN),
            Question("report", ELEVEN, ELEVEN),
            Question("lost-0", ELEVEN, ["node-a1", "node-a2", "node-b1"]),
            Question("first-0", ELEVEN, ["node-a2", "node-b1"]),
            Question("neighbour-0", ELEVEN, ["node-a1", "node-a2"]),
            Question("guest-1", ELEVEN, ["node-a2", "node-b1"]),
            Question("pair", ELEVEN, ["node-c1"]),
            Question("render", ELEVEN, ["node-c1"]),
            Question("batch", ELEVEN, ["node-a1", "node-a2", "node-c1"]),
        ],
    ),
)


def main() -> int:
    """Tell the story; return the number of answers that were not the expected ones."""
    console = Console(width=None if sys.stdout.isatty() else 140)
    asked = wrong = 0
    for chapter in STORY:
        console.rule(chapter.title, align="left")
        with _service(EXAMPLES / chapter.example) as address:
            for question in chapter.questions:
                answer = _ask(address, EXAMPLES / chapter.example, question)
                if question is chapter.questions[0]:
                    _print_disks(console, EXAMPLES / chapter.example, question)
                asked += 1
                wrong += not _print_answer(console, question, answer)
    console.rule(f"{asked} pods asked for, {asked - wrong} answers as expected", align="left")
    return wrong


@contextmanager
def _service(cluster: Path) -> Iterator[str]:
    """Run the service on *cluster*; yield its address; stop it and check that it ended well."""
    command = [sys.executable, "-m", "app", "serve", "--cluster-file", str(cluster), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1"], stdout=subprocess.PIPE, text=True, cwd=EXAMPLES.parent
    )
    try:
        assert process.stdout is not None
        started = json.loads(process.stdout.readline() or "{}")
        if started.get("event") != "serve.started":
            raise SystemExit(f"the service did not start: {started}")
        yield f"http://127.0.0.1:{started['port']}"
    finally:
        process.terminate()
        try:
            process.communicate(timeout=_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    if process.returncode != 0:
        raise SystemExit(f"the service ended with status {process.returncode}")


def _ask(address: str, example: Path, question: Question) -> dict[str, Any]:
    """Post the pod as kube-scheduler does with nodeCacheCapable: true."""
    pod = next(
        document
        for _, document in load_documents(example / "pods.yaml")
        if isinstance(document, dict) and document["metadata"]["name"] == question.pod
    )
    arguments = {
        "Pod": {key: pod[key] for key in ("metadata", "spec", "status")},
        "Nodes": None,
        "NodeNames": list(question.candidates),
    }
    request = urllib.request.Request(  # noqa: S310 (a fixed scheme)
        f"{address}/filter",
        data=json.dumps(arguments).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
    return answer


def _print_answer(console: Console, question: Question, answer: dict[str, Any]) -> bool:
    """Print one answer, nodes of one reason together; return whether it is the expected one."""
    accepted: list[str] = answer["NodeNames"]
    console.print(f"[bold]{question.pod}[/]: [green]{' '.join(accepted) or 'no node'}[/]")
    by_reason: dict[str, list[str]] = {}
    for node, reason in answer["FailedAndUnresolvableNodes"].items():
        by_reason.setdefault(reason, []).append(node)
    for reason, nodes in by_reason.items():
        console.print(f"    not {' '.join(nodes)}: [red]{reason}[/]", soft_wrap=True)
    if accepted == list(question.expected) and not answer["Error"]:
        return True
    console.print(f"    [red]WRONG, expected {' '.join(question.expected)}[/] {answer['Error']}")
    return False


def _print_disks(console: Console, example: Path, question: Question) -> None:
    """Print what `filter` shows for the pod: each node's disks before and after it."""
    cluster, _ = load_cluster(example)
    view, pod = build_view(cluster), cluster.of(Pod)[f"default/{question.pod}"].ref
    extender = Extender(_LIMITS)
    candidates = [NodeName(name) for name in question.candidates]
    result = extender.filter(pod, candidates, view)
    scores = extender.prioritize(pod, candidates, view)
    plans = explain(result, view, _LIMITS, extender.ledger)
    report = make_report(result, scores, plans, view, {}, {})
    for line in table_lines(report, pod, result.basis):
        console.out(line, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
