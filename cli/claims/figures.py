"""The figures of `claims`: what each claim of Longhorn has."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from app.errors import InputError
from cli.data import data_in, trouble_with
from cli.kube.pods import Pod
from cli.volumes.attaching import pods_of
from cli.volumes.finding import target_of
from cli.volumes.report import State
from cli.volumes.unbound import NOT_CREATED, unbound
from cli.volumes.waiting import count_of
from extender import ClusterView
from extender.kubernetes import Claim, ClaimKey, class_name
from longhorn import Volume
from planner.naming import natural


class ClaimFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One claim."""

    claim: str
    """By namespace and name."""
    storage_class: str
    volume: str = ""
    """Empty if there is none."""
    size_bytes: int
    """Of the volume; without one, what the claim asks for."""
    written_bytes: int = 0
    """What each replica holds, with all snapshots: it may be more than the size."""
    wanted_replicas: int = 0
    """Or shards, if it is erasure-coded."""
    healthy_replicas: int = 0
    """With all data, where they can be used now."""
    locality: str = ""
    attached_to: str = ""
    nodes: Sequence[str] = ()
    """Where its replicas are, but for failed ones."""
    note: str = ""
    """What it waits for, or what is wrong with its data; empty if nothing is."""

    @property
    def missing_replicas(self) -> int:
        """How many of its replicas are not healthy."""
        return max(0, self.wanted_replicas - self.healthy_replicas)


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What `claims -o json` prints."""

    claims: Sequence[ClaimFigures]


def claim_figures(
    view: ClusterView, pods: Iterable[Pod], namespace: str | None
) -> Iterator[ClaimFigures]:
    """Yield the claims of Longhorn, of one namespace or of all, by their names."""
    users: dict[ClaimKey, list[Pod]] = {}
    for pod in pods:
        for key in pod.ref.claims:
            users.setdefault(key, []).append(pod)
    for key, claim in sorted(view.claims.items(), key=lambda each: natural(each[0])):
        if namespace in (None, key.partition("/")[0]):
            yield from _of_claim(claim, pods_of(key, users.get(key, ())), view)


def _of_claim(claim: Claim, users: Sequence[Pod], view: ClusterView) -> Iterator[ClaimFigures]:
    asked = ClaimFigures(
        claim=claim.key,
        storage_class=class_name(claim.storage_class, view.storage_classes),
        size_bytes=claim.requested_bytes,
    )
    try:
        target = target_of(claim, view)
    except InputError as error:
        yield msgspec.structs.replace(asked, note=str(error))
        return
    if target.volume is not None:
        yield _with_volume(asked, target.volume, view)
    elif not target.driver:
        found = unbound(claim, users, view)
        if found.state is not State.OTHER_STORAGE:
            yield msgspec.structs.replace(asked, note=found.answer.removeprefix(NOT_CREATED))


def _with_volume(asked: ClaimFigures, volume: Volume, view: ClusterView) -> ClaimFigures:
    data = data_in(view, volume.name)
    count, trouble = count_of(volume, data), trouble_with(volume, data, view)
    placed = {each.node for each in view.replicas.get(volume.name, ()) if not each.failed}
    return msgspec.structs.replace(
        asked,
        volume=volume.name,
        size_bytes=volume.size_bytes,
        written_bytes=volume.actual_bytes,
        wanted_replicas=count.wanted,
        healthy_replicas=count.complete,
        locality=volume.locality,
        attached_to=volume.attached_to or "",
        nodes=sorted((str(node) for node in placed if node is not None), key=natural),
        note="being deleted" if volume.deleting else trouble.text if trouble else "",
    )


SORTED_BY: Mapping[str, str] = {
    "name": "",
    "size": "size_bytes",
    "written": "written_bytes",
    "missing": "missing_replicas",
}
"""What claims may be sorted by, and the figure of it; the largest first but for names."""


def by(claims: Iterable[ClaimFigures], key: str) -> list[ClaimFigures]:
    """Return claims in the order of a figure; those with the same one by their names."""
    figure = SORTED_BY[key]
    return sorted(claims, key=lambda each: -getattr(each, figure) if figure else 0)
