"""The command `filter`: of a pod, of workloads, of all pods that wait, of a claim or volume."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from app.errors import InputError
from app.kube.resource import Kinds, Resource
from app.settings import Settings
from cli.asked import Asked, asked_in_file, workload_of_cluster
from cli.explaining.answering import Answering, look
from cli.explaining.explainer import Explainer
from cli.explaining.lines import lines
from cli.explaining.pending import pending_lines, pending_pods
from cli.explaining.report import Explanation
from cli.explaining.stuck_claims import with_what_is_stuck
from cli.explaining.workloads import WorkloadsReport, workloads_lines, workloads_report
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.kube.resources import ASKED, MAKERS, PODS
from cli.missing import ASKED_FROM
from cli.names import Named, node_name, split_kind
from cli.nodes.lines import node_lines
from cli.nodes.report import node_report
from cli.options import (
    DEFAULT_NAMESPACE,
    Namespace,
    PrintedWide,
    Warn,
    WideOutput,
    check_origin,
    command_of,
    load_settings,
    origin_of,
    read_files,
    warner,
    written_answer,
)
from cli.pages import Form
from cli.paragraphs import output_width
from cli.pods import find_pod, is_file
from cli.stdin import INPUT
from cli.volumes.command import VOLUMES, explain_volume
from cli.volumes.lines import volume_lines
from cli.volumes.report import VolumeReport
from cli.watching import Answer, Watched, print_answers
from longhorn import Moment, Node, NodeName, Unreadable
from planner.errors import unknown
from planner.naming import first_of
from planner.records import KubernetesNode

_FITS, _DOES_NOT_FIT, _NOT_JUDGED = 0, 1, 3
_DONE, _NOT_DONE = 0, 1
_NO_PODS = (*VOLUMES, Named.NODE)
"""The kinds that are not about pods."""


class _Options(Watched, frozen=True, kw_only=True):
    """What is given to the command."""

    wanted: Annotated[
        str | None,
        typer.Argument(
            metavar="[POD]",
            show_default=False,
            help="The pod: pod/NAME or NAME as for kubectl, NAMESPACE/NAME, or a file (- is "
            "stdin). Without it: all pods that wait for a node. Or the pods of a workload: "
            "sts/NAME, deploy/NAME and so on, or a file with some. Or a claim or volume: "
            "pvc/NAME, pvc/NAMESPACE/NAME, volume/NAME. Or node/NAME.",
        ),
    ] = None
    pod: Annotated[
        str | None,
        typer.Option("--pod", metavar="POD", show_default=False, help="The same, as an option."),
    ] = None
    namespace: Namespace = None
    nodes: Annotated[
        str | None, typer.Option(metavar="A,B", help="The candidate nodes; all by default.")
    ] = None
    output: PrintedWide = WideOutput.TABLE
    all_nodes: Annotated[bool, typer.Option("--all", help="Show every node with every disk.")] = (
        False
    )


@command_of(_Options)
def filter_pod(given: _Options) -> None:
    """Show which nodes can hold a pod's volumes, how good each is, and why others cannot.

    Without a pod: all pods that wait for a node, each in a line. CPU, memory, ports and rules about
    other pods are not judged: `plan place` counts them.

    Of a workload: the pods of it that have no node, those included that are not made yet. A file
    may have several, such as the output of `helm template`; what only `helm test` makes is left
    out. Each pod is judged alone.

    Of a node (node/NAME): whether it takes new replicas, what fills its disks, and what would help.
    Exit status as for a pod.

    Of a claim or a volume: whether its replicas are placed and it is attached,
    and why not. Exit status then: 0 all of it is, 1 not all, 2 the input cannot
    be used.

    Exit status: 0 the pod fits on some node (or every pod that has none), 1 it fits on none,
    kube-scheduler refuses it, it waits on its node for a volume, or nobody is there to answer about
    it or to schedule it, 2 the input cannot be used, 3 a pod, or a claim of it, cannot be judged.
    """
    settings = load_settings()
    name = _only_one(given.wanted, given.pod)
    check_origin(given.cluster_file, given.kubeconfig, given.context, given.also)
    if given.watch and name == str(INPUT):
        raise InputError("--watch reads it again, and stdin can be read once; name a file")
    warn = warner(quiet=given.quiet)
    print_answers(lambda: _answer(name, given, settings, warn), given, given.output)


def _answer(name: str | None, given: _Options, settings: Settings, warn: Warn) -> Answer:
    """Read the cluster, and answer about what has this name."""
    kind, plain = split_kind(name) if name and not is_file(name) else (None, "")
    maker = MAKERS.get(kind or "")
    more = {} if maker is None else _kind_of(maker)
    cluster, namespace, utc = _read(given, settings, more, warn)
    candidates = cluster.candidates() if given.nodes is None else _node_names(given.nodes, cluster)
    asked: Pod | Asked | None = None
    if kind is not None and maker is not None:
        asked = workload_of_cluster(kind, plain, namespace, cluster)
    elif name is not None and kind not in _NO_PODS:  # the cluster gets the claims of a file
        asked = find_pod(name, namespace, cluster) or asked_in_file(Path(name), namespace, cluster)
    origin = None if given.cluster_file is None else origin_of(given.cluster_file, given.also)
    answering = Answering()
    if given.cluster_file is None and kind not in _NO_PODS:
        answering = look(settings, given.kubeconfig, given.context).answering
    explainer = Explainer(cluster, settings, utc, origin, answering)
    if kind is Named.NODE:
        node = node_report(NodeName(plain), explainer.builder)
        status = _FITS if node.takes else _DOES_NOT_FIT
        return _written(node, node_lines(node, _form(given)), given, status)
    if kind in VOLUMES:
        volume = explain_volume(kind, plain, namespace, explainer, candidates)
        return _of_volume(with_what_is_stuck(volume, explainer), given)
    if asked is None:
        return _of_pending(explainer, candidates, given)
    if isinstance(asked, Asked):
        found = workloads_report(asked, explainer, candidates, all_nodes=given.all_nodes)
        return _of_workloads(found, given)
    return _of_pod(explainer.explain(asked, candidates, all_nodes=given.all_nodes), given)


def _kind_of(resource: Resource) -> Kinds:
    return {(resource.group, resource.kind): resource}


def _read(
    given: _Options, settings: Settings, more: Kinds, warn: Warn
) -> tuple[ClusterObjects, str, Moment | None]:
    """Read the cluster; return it, the namespace of what is given without one, and the time."""
    kinds = {**ASKED, **more}
    if given.cluster_file is None:
        from cli.kube import snapshot  # noqa: PLC0415 (it takes long)

        without = dict(snapshot.EXPLAINING.without)
        if more:  # of a workload is asked which of its pods are there
            del without[PODS.name]
        cluster, problems, in_use = snapshot.read_cluster(
            settings, given.kubeconfig, given.context, snapshot.Scope(kinds, without)
        )
        utc = datetime.now(UTC)
    else:
        cluster, problems = read_files(given.cluster_file, given.also, ASKED_FROM, kinds)
        in_use, utc = DEFAULT_NAMESPACE, None  # of when it is, nobody knows
    warn(problems)
    return cluster, given.namespace or in_use, utc


def _of_volume(found: VolumeReport, given: _Options) -> Answer:
    status = _DONE if found.done else _NOT_DONE
    return _written(found, volume_lines(found, _form(given)), given, status)


def _of_pod(found: Explanation, given: _Options) -> Answer:
    status = _FITS if found.fits else _DOES_NOT_FIT
    return _written(found, lines(found, _form(given)), given, status, found.error)


def _of_workloads(found: WorkloadsReport, given: _Options) -> Answer:
    status = _FITS if all(each.fits for each in found.pods) else _DOES_NOT_FIT
    if any(each.explanation.error for each in found.pods):
        status = _NOT_JUDGED
    return _written(found, workloads_lines(found, _form(given)), given, status)


def _of_pending(explainer: Explainer, candidates: Sequence[NodeName], given: _Options) -> Answer:
    """Answer about all pods that wait."""
    cluster = explainer.cluster
    unread = [each for kind, each in cluster.of(Unreadable) if kind == PODS.label]
    if not (unread or cluster.of(Pod)):
        raise InputError("no pod is known, so none can be judged; add pods, or name a file")
    found, error = pending_pods(explainer, candidates), ""
    status = _FITS if all(each.fits for each in found.pods) else _DOES_NOT_FIT
    if any(each.error for each in found.pods):
        status = _NOT_JUDGED
    if unread:
        error = f"Pod {first_of(unread, 3)} cannot be read: whether it waits is not known"
    return _written(found, pending_lines(found, output_width()), given, status, error)


def _written(
    report: msgspec.Struct, shown: Iterable[str], given: _Options, status: int, error: str = ""
) -> Answer:
    """Return an answer; what could not be judged is an *error*."""
    text = written_answer(report, given.output, shown)
    return Answer(text=text, status=_NOT_JUDGED if error else status, error=error)


def _form(given: _Options) -> Form:
    is_wide = given.output is WideOutput.WIDE
    return Form(width=output_width(), all_nodes=given.all_nodes, wide=is_wide)


def _node_names(names: str, cluster: ClusterObjects) -> list[NodeName]:
    found = [NodeName(node_name(name.strip())) for name in names.split(",") if name.strip()]
    if not found:
        raise InputError("--nodes names no node")
    known = {*cluster.of(KubernetesNode), *cluster.of(Node)}
    for name in found:
        if name not in known:
            raise InputError(f"--nodes: {unknown('node', name, known)}")
    return found


def _only_one(wanted: str | None, option: str | None) -> str | None:
    """Return the pod, which is given as the argument or with --pod, if one is."""
    if wanted is not None and option is not None:
        raise InputError(f"two pods are given, {wanted} and {option}; give one")
    name = option if wanted is None else wanted
    if name == "":
        raise InputError("a pod without a name is given; give POD, or nothing for all that wait")
    return name
