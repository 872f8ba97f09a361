"""Looks at a cluster before a trial: what may be tried there, and what may not."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from app.errors import AppError, InputError
from app.kube.connection import Connection
from app.settings import Settings
from cli.explaining.explainer import Explainer
from cli.kube.asking import SCHEDULER
from cli.scheduler_config.wanted import DEFAULT_SCHEDULER
from cli.trial import requests as kinds
from cli.trial.cases import Skipped, cases
from cli.trial.looking import Plan
from cli.trial.manifests import Asking, Way
from cli.trial.requests import Requests
from cli.trial.rooms import classes, rooms
from cli.trial.sizing import Rooms, size_claims
from longhorn import Node

LEAST_NODES = 2
_GIB = 2**30
_METRICS_PORT = 9505
_THEIR_SETTING = "scheduler-extender-enabled"
_PAUSE = re.compile(r"(?:^|/)(?:mirrored-)?pause(?::[\w.-]+)?$")
_NEEDED = (
    ("create", kinds.NAMESPACES),
    ("delete", kinds.NAMESPACES),
    ("create", kinds.CLASSES),
    ("delete", kinds.CLASSES),
    ("create", kinds.STATEFUL_SETS),
    ("patch", kinds.STATEFUL_SETS),
    ("delete", kinds.STATEFUL_SETS),
    ("create", kinds.PODS),
    ("delete", kinds.PODS),
    ("delete", kinds.CLAIMS),
)


class Wished(msgspec.Struct, frozen=True, kw_only=True):
    """What is wished of a trial, by the options of the command."""

    cases: Sequence[str]
    ways: Sequence[Way]
    repeat: int
    most_pods: int
    most_nodes: int
    leave_gib: float
    image: str | None
    scheduler: str | None
    within_seconds: float
    settle_seconds: float
    namespace: str


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster, and what is done on it."""

    plan: Plan
    skipped: Sequence[Skipped]
    rooms: Rooms
    kubernetes: str
    longhorn: str


async def prepare(connection: Connection, settings: Settings, wished: Wished) -> Ground:
    """Look at the cluster, and decide what to try.

    Raises:
        AppError: It cannot be tried here; the text says why.
    """
    from cli.kube.snapshot import read_snapshot  # noqa: PLC0415 (it takes long)

    cluster, _ = await read_snapshot(connection, settings)
    if not cluster.of(Node):
        raise InputError("there is no Longhorn Node, so there is nothing to try")
    requests = Requests(connection)
    await _check_rights(requests, wished.namespace)
    if await requests.read(kinds.NAMESPACES, wished.namespace) is not None:
        raise InputError(
            f"namespace {wished.namespace} exists: a trial is under way, or was cut off and "
            "`trial clean` removes it; or name another one with --namespace"
        )
    explainer = Explainer(cluster, settings, datetime.now(UTC), None)
    room = rooms(explainer, wished.most_nodes)
    if len(room) < LEAST_NODES:
        raise InputError(
            f"a trial needs {LEAST_NODES} nodes that take a pod with a new volume, and there are "
            f"{len(room)}: `overview` says what the others lack"
        )
    sizing = size_claims(room, most_pods=wished.most_pods, leave_bytes=int(wished.leave_gib * _GIB))
    if sizing is None:
        raise InputError(
            f"no size of claims meets the limits of these disks with {wished.most_pods} pods at "
            f"most, and leaves {wished.leave_gib:g} GiB on each: `overview` says what they have "
            "left; change --nodes, --pods or --leave, or make room"
        )
    tried, skipped = cases(sizing, classes(explainer), wished.cases)
    if not tried:
        why = "; ".join(f"{each.name}: {each.why}" for each in skipped)
        raise InputError(f"nothing of it can be tried here: {why}")
    versions = await _versions(requests, settings, connection)
    return Ground(
        plan=Plan(
            namespace=wished.namespace,
            longhorn_namespace=settings.longhorn_namespace,
            own_namespace=settings.namespace,
            metrics_port=settings.metrics_port or _METRICS_PORT,
            sizing=sizing,
            cases=tried,
            asking=await _ways(requests, settings, wished, await _image(requests, [*room], wished)),
            repeat=wished.repeat,
            within_seconds=wished.within_seconds,
            settle_seconds=wished.settle_seconds,
        ),
        skipped=skipped,
        rooms=room,
        kubernetes=versions[0],
        longhorn=versions[1],
    )


async def _check_rights(requests: Requests, namespace: str) -> None:
    """Raise InputError with all that may not be done."""
    refused = []
    for verb, kind in _NEEDED:
        attributes = {"verb": verb, "group": kind.group, "resource": kind.plural}
        if kind.is_namespaced:
            attributes["namespace"] = namespace
        review = await requests.create(kinds.REVIEWS, {"spec": {"resourceAttributes": attributes}})
        if not (review.get("status") or {}).get("allowed"):
            refused.append(f"{verb} {kind.plural}")
    if refused:
        raise InputError(
            f"you may not {', '.join(refused)}, which a trial needs; use a kubeconfig of an "
            "administrator"
        )


async def _image(requests: Requests, nodes: Sequence[str], wished: Wished) -> str:
    """Return an image of pods that do nothing, which all nodes have.

    Raises:
        InputError: There is none.
    """
    if wished.image:
        return wished.image
    common: set[str] | None = None
    for name in nodes:
        node = await requests.read(kinds.NODES, name) or {}
        images = (node.get("status") or {}).get("images") or ()
        names = {text for each in images for text in each.get("names") or ()}
        pauses = {*filter(_PAUSE.search, names)}
        common = pauses if common is None else common & pauses
    if not common:
        raise InputError(
            "no pause image is on all nodes of the trial, as far as they say; name one that they "
            "have or can get with --image, such as registry.k8s.io/pause:3.10"
        )
    return min(common)


async def _ways(requests: Requests, settings: Settings, wished: Wished, image: str) -> list[Asking]:
    """Return how pods ask, in each way.

    Raises:
        InputError: A way cannot be told from another one, or is switched off.
    """
    scheduler = wished.scheduler
    if scheduler is None:
        second = await requests.read(kinds.DEPLOYMENTS, SCHEDULER, settings.namespace)
        scheduler = DEFAULT_SCHEDULER if second is None else SCHEDULER
    ways = [*dict.fromkeys(wished.ways)]
    if Way.LONGHORN in ways:
        setting = await requests.read(kinds.SETTINGS, _THEIR_SETTING, settings.longhorn_namespace)
        if (setting or {}).get("value") != "true":
            raise InputError(
                f"--way longhorn: Longhorn's setting {_THEIR_SETTING} is not true here: switch its "
                "extender on (Longhorn 1.13), or leave this way out"
            )
        if Way.OURS in ways and scheduler == DEFAULT_SCHEDULER:
            raise InputError(
                "--way ours and longhorn: both would be asked by default-scheduler, which has one "
                "extender for the resource; name another scheduler for ours with --scheduler"
            )
    named = {Way.OURS: scheduler}
    return [
        Asking(way=each, scheduler=named.get(each, DEFAULT_SCHEDULER), image=image) for each in ways
    ]


async def _versions(
    requests: Requests, settings: Settings, connection: Connection
) -> tuple[str, str]:
    """Return the versions of Kubernetes and Longhorn, empty if they are not known."""
    try:
        content = await connection.request("GET", "/version", deadline_seconds=20)
        kubernetes = str(msgspec.json.decode(content).get("gitVersion") or "")
    except (AppError, msgspec.DecodeError, AttributeError):
        kubernetes = ""
    setting = await requests.read(
        kinds.SETTINGS, "current-longhorn-version", settings.longhorn_namespace
    )
    return kubernetes, str((setting or {}).get("value") or "")
