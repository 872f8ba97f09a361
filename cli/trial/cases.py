"""What a trial tries: the goals of the charter, and a burst of each kind of StorageClass."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from cli.trial.sizing import Sizing
from extender.kubernetes import StorageClass

PREFIX = "longhorn-scheduler-trial"
"""What names of a trial begin with, where other names are beside them."""
LOCAL = {"numberOfReplicas": "1", "dataLocality": "best-effort"}
"""The parameters of the class that the goals are about."""
_COPIED = (
    "numberOfReplicas",
    "dataLocality",
    "replicaAutoBalance",
    "diskSelector",
    "nodeSelector",
    "replicaSoftAntiAffinity",
    "replicaZoneSoftAntiAffinity",
    "replicaDiskSoftAntiAffinity",
    "disableRevisionCounter",
    "staleReplicaTimeout",
)
"""What a class of the trial takes of one that the cluster has: what Longhorn places replicas by.
Not, for one, the recurring jobs: nothing of a trial is to be backed up."""
_NOT_TRIED = ("backingImage", "encrypted", "migratable", "dataSource", "fromBackup")
"""Volumes of classes with these have more to them than a trial makes."""
_V2 = "v2"
_MOST_CLAIMS, _MOST_MOVED = 8, 4


class Action(StrEnum):
    """What happens to the pods of a case."""

    CREATE = "create"
    """They are created, all at once."""
    DRAIN = "drain"
    """They run on one node, and all go elsewhere."""
    RESTART = "restart"
    """They run, are deleted but for their claims, and created again."""


class Class(msgspec.Struct, frozen=True, kw_only=True):
    """A StorageClass of the trial."""

    name: str
    told: str
    """Its parameters that matter, as people read them."""
    parameters: Mapping[str, str]
    is_immediate: bool = False

    @property
    def replicas(self) -> int:
        """So many a volume of it wants."""
        text = self.parameters.get("numberOfReplicas", "")
        return int(text) if text.isdigit() and int(text) else 3

    @property
    def is_local(self) -> bool:
        """Whether a volume of it wants a replica on its pod's node."""
        return self.parameters.get("dataLocality") in ("best-effort", "strict-local")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is tried."""

    name: str
    told: str
    pods: int
    claims: int = 1
    """Of each pod."""
    class_: Class
    action: Action = Action.CREATE
    start: str = ""
    """Where the pods of a drain are first."""
    fillers: Mapping[str, int] = {}
    """So many claims take room on these nodes beforehand."""


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A case that this cluster cannot have."""

    name: str
    why: str


GOALS = ("1a", "1b", "2", "3a", "3b", "burst")


def cases(
    sizing: Sizing, classes: Sequence[StorageClass], wanted: Sequence[str] = GOALS
) -> tuple[list[Case], list[Skipped]]:
    """Return what can be tried with claims of this size.

    Args:
        sizing: Of the claims.
        classes: Those of Longhorn that the cluster has.
        wanted: The names of cases that are asked for.
    """
    local = Class(name=f"{PREFIX}-local", told=_told(LOCAL), parameters=LOCAL)
    found = [*_goals(sizing, local), *_bursts(sizing, classes)]
    chosen = [each for each in found if each.name.partition(" ")[0] in wanted]
    return (
        [each for each in chosen if isinstance(each, Case)],
        [each for each in chosen if isinstance(each, Skipped)],
    )


def _goals(sizing: Sizing, local: Class) -> list[Case | Skipped]:
    nodes, counts = [*sizing.slots], [*sizing.slots.values()]
    is_even = counts[0] == counts[-1]
    fill = f"{sizing.total} pods at once, which fill all nodes"
    claims = min(counts[0], _MOST_CLAIMS)
    moved = min(counts[1], _MOST_MOVED)
    drain: Case | Skipped = Case(
        name="3a",
        told=f"{moved} pods leave a node; one other has room for them",
        pods=moved,
        class_=local,
        action=Action.DRAIN,
        start=nodes[0],
        fillers={name: sizing.slots[name] for name in nodes[2:] if sizing.slots[name]},
    )
    if len(nodes) < 3:
        drain = Skipped(name="3a", why="needs three nodes: one to leave, and two to choose from")
    even, uneven = "nodes have the same room", "nodes have different room"
    return [
        Case(name="1a", told=f"{fill} equally", pods=sizing.total, class_=local)
        if is_even
        else Skipped(name="1a", why=f"{uneven}: 1b is tried"),
        Case(name="1b", told=f"{fill} unequally", pods=sizing.total, class_=local)
        if not is_even
        else Skipped(name="1b", why=f"{even}: 1a is tried"),
        Case(
            name="2",
            told=f"a pod with {claims} claims, which fit together on one node",
            pods=1,
            claims=claims,
            class_=local,
            fillers={
                name: count - claims + 1
                for name, count in [*sizing.slots.items()][1:]
                if count >= claims
            },
        ),
        drain,
        Case(
            name="3b",
            told=f"{sizing.total} pods are deleted and created again, with their claims",
            pods=sizing.total,
            class_=local,
            action=Action.RESTART,
        ),
    ]


def _bursts(sizing: Sizing, classes: Sequence[StorageClass]) -> list[Case | Skipped]:
    found: list[Case | Skipped] = []
    seen = set[tuple[object, ...]]()
    for each in classes:
        if refused := next((key for key in _NOT_TRIED if each.parameters.get(key)), None):
            found.append(Skipped(name="burst", why=f"a class has {refused}, which is not tried"))
            continue
        if each.parameters.get("dataEngine") == _V2:
            found.append(Skipped(name="burst", why="a class is for engine v2, which is not tried"))
            continue
        parameters = {key: each.parameters[key] for key in _COPIED if key in each.parameters}
        told = _told(parameters)
        if (key := (*sorted(parameters.items()), each.is_immediate)) in seen:
            continue
        seen.add(key)
        class_ = Class(
            name=f"{PREFIX}-{len(seen)}",
            told=told,
            parameters=parameters,
            is_immediate=each.is_immediate,
        )
        pods = sizing.total // class_.replicas
        found.append(
            Case(name=f"burst {len(seen)}", told=f"{pods} pods, {told}", pods=pods, class_=class_)
            if pods
            else Skipped(name="burst", why=f"no volume with {class_.replicas} replicas fits")
        )
    return found or [Skipped(name="burst", why="there is no StorageClass of Longhorn")]


def _told(parameters: Mapping[str, str]) -> str:
    replicas = parameters.get("numberOfReplicas") or "3"
    locality = parameters.get("dataLocality") or "disabled"
    selectors = " with a selector" if {"diskSelector", "nodeSelector"} & {*parameters} else ""
    return f"{replicas} {'replica' if replicas == '1' else 'replicas'}, {locality}{selectors}"
