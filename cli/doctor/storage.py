"""Findings on Longhorn and on the StorageClasses."""

from collections.abc import Iterator, Mapping, Sequence

from app.kube.mirror import Known
from cli.doctor.coming import coming
from cli.doctor.facts import ClassSeen, Facts, Unread
from cli.doctor.problems import Check
from cli.doctor.seen import fine, unknown, unread, wrong
from cli.doctor.settings import longhorn_values
from cli.findings import Finding
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.view import build_view
from extender import ClusterView, UnresolvableClaimError
from extender.demand import ANY_CLAIM, LONGHORN_PROVISIONERS, estimate_volume
from extender.space import NodeSpace, why_unusable
from extender.verdicts import node_rejection
from longhorn import CAPACITY_TRACKING, DiskId, DiskSchedule, Unreadable
from planner.naming import counted, first_of

_SHOWN = 5
"""Most nodes named in one text."""
_STATIC_CLASS = "default-longhorn-static-storage-class", "longhorn-static"
"""Setting that names the class which volumes made by hand have, and its default."""


def longhorn(facts: Facts) -> Iterator[Finding]:
    """Judge whether Longhorn is there, and can place replicas."""
    for name, is_served in facts.kinds.items():
        if isinstance(is_served, Unread):
            yield unread(Check.LONGHORN, is_served)
        elif not is_served:
            yield wrong("kind-not-served", f"the API server does not know {name}")
    nodes, namespace = facts.longhorn_nodes, facts.settings.longhorn_namespace
    if isinstance(facts.disk_schedules, Unread):
        yield unread(Check.LONGHORN, facts.disk_schedules)
    for record in _records(facts):
        if isinstance(record, Unreadable):
            yield wrong(
                "object-unreadable", f"{record.kind} {record.name} cannot be read: {record.why}"
            )
    yield from coming(facts)
    if isinstance(nodes, Unread):
        return  # the reason is the one for which its kind is not known
    if not nodes:
        yield wrong("no-longhorn-node", f"there is no Longhorn Node in {namespace}")
        return
    view = _view(facts)
    yield from _unusable(view)
    yield from _unscheduled(view, facts)
    yield fine(
        Check.LONGHORN,
        f"{len(facts.kinds)} kinds are served, {counted(len(nodes), 'Longhorn Node')} in "
        f"{namespace}; {_schedules(view, facts)}",
    )


def _unusable(view: ClusterView) -> Iterator[Finding]:
    """Name the nodes that take no replica whatever its size."""
    unusable: dict[str, list[str]] = {}
    for name, space in sorted(view.spaces.items()):
        why = _why_no_replica(space)
        if why is not None:
            unusable.setdefault(why, []).append(name)
    for why, names in unusable.items():
        yield wrong(
            "node-unusable", f"no new replica can be placed on {first_of(names, _SHOWN)}: {why}"
        )


def _why_no_replica(space: NodeSpace) -> str | None:
    rejection = node_rejection(space)
    if rejection is not None:
        return str(rejection)
    whys = dict.fromkeys(why_unusable(each.disk) for each in space.disks)
    return None if None in whys else "; ".join(filter(None, whys)) or "it has no disk"


def _unscheduled(view: ClusterView, facts: Facts) -> Iterator[Finding]:
    """Name the disks that are counted by their Node while others have a DiskSchedule."""
    if isinstance(facts.disk_schedules, Unread) or not facts.disk_schedules:
        return
    idle: set[DiskId] = set()
    for record in facts.disk_schedules:
        if isinstance(record, DiskSchedule) and not (record.ready or record.deleting):
            idle.add(record.name)
            yield wrong(
                "disk-schedule-not-ready",
                f"DiskSchedule {record.name} (disk {record.disk} of node {record.node}) is not "
                "Ready: nobody decides what is asked of the disk",
            )
    for name, space in sorted(view.spaces.items()):
        for each in space.disks:
            if each.schedule is None and each.disk.id is not None and each.disk.id not in idle:
                yield wrong(
                    "disk-without-schedule",
                    f"disk {each.disk.name} ({each.disk.id}) of node {name} has no DiskSchedule, "
                    "and others have",
                )


def _schedules(view: ClusterView, facts: Facts) -> str:
    """Say by what disks are counted."""
    if facts.disk_schedules is None:
        return "DiskSchedules are not served"
    disks = [disk for space in view.spaces.values() for disk in space.disks]
    used = sum(disk.schedule is not None for disk in disks)
    return f"{used} of {len(disks)} disks are counted by their DiskSchedules"


def classes(facts: Facts) -> Iterator[Finding]:
    """Judge whether the extender can help with the volumes of Longhorn's StorageClasses."""
    if isinstance(facts.classes, Unread):
        yield unread(Check.STORAGE_CLASSES, facts.classes)
        return
    name, default = _STATIC_CLASS
    static = longhorn_values(facts).get(name, default)
    found = [each for each in facts.classes if _is_longhorns(each) and each.record.name != static]
    if not found:
        yield wrong("no-class", "there is no StorageClass that makes Longhorn volumes")
        return
    if isinstance(facts.longhorn_nodes, Unread) or isinstance(facts.longhorn_settings, Unread):
        yield unknown(
            Check.STORAGE_CLASSES,
            f"what {_names(found)} ask for is not known without Longhorn's Nodes and Settings",
        )
        return
    view = _view(facts)
    fit, reached = list[ClassSeen](), list[ClassSeen]()
    for each in found:
        problem = _class_problem(each, view)
        if problem is None:
            fit.append(each)
            continue
        yield problem
        if problem.code == "class-not-local":
            reached.append(each)
    yield from _left_out(reached, view, longhorn_values(facts))
    yield fine(
        Check.STORAGE_CLASSES, f"{_names(fit)}: volumes wait for a node, and are local to it"
    )


def _class_problem(seen: ClassSeen, view: ClusterView) -> Finding | None:
    name, is_immediate = seen.record.name, seen.binding_mode == "Immediate"
    try:
        volume = estimate_volume(ANY_CLAIM, seen.record, view)
    except UnresolvableClaimError as error:
        return wrong("class-unusable", str(error))
    if not volume.needs_local_replica:
        binding = ", and volumeBindingMode is Immediate" if is_immediate else ""
        return wrong(
            "class-not-local",
            f"volumes of {name} need no room on their pod's node, so that nothing is decided "
            f"there: {_why_not_local(seen, view)}{binding}",
        )
    if is_immediate:
        return wrong(
            "class-immediate",
            f"volumes of {name} are made before kube-scheduler looks at their pod: "
            "volumeBindingMode is Immediate",
        )
    return None


def _left_out(
    seen: Sequence[ClassSeen], view: ClusterView, values: Mapping[str, str]
) -> Iterator[Finding]:
    """Name nodes that kube-scheduler leaves out by what Longhorn tells it of their disks.

    It then wants room on the pod's node for each new volume, also where none is needed there.
    Source: longhorn-manager csi/controller_server.go GetCapacity.

    Args:
        seen: Classes whose volumes need no replica on their pod's node.
        view: The nodes.
        values: Longhorn's settings.
    """
    if values.get(CAPACITY_TRACKING) != "true":
        return
    names = [
        name
        for name, space in sorted(view.spaces.items())
        if space.node.ready.is_true and _why_no_replica(space) is not None
    ]
    for each in seen if names else ():
        is_by_node = each.record.parameters.get("storageCapacityMode", "node") == "node"
        if is_by_node and each.binding_mode != "Immediate":
            yield wrong(
                "compute-nodes-left-out",
                f"kube-scheduler leaves out {first_of(names, _SHOWN)} for pods with new volumes of "
                f"{each.record.name}: no replica can be placed there, and Longhorn's setting "
                f"{CAPACITY_TRACKING} is true; the volumes could be used from there",
            )


def _why_not_local(seen: ClassSeen, view: ClusterView) -> str:
    if seen.record.parameters.get("dataLayout.type") == "sharded":
        return "they are sharded"
    if "dataLocality" in seen.record.parameters:
        return "dataLocality is disabled"
    setting = view.setting_values.get("default-data-locality")
    where = "Setting" if setting else "default of Setting"
    return f"no dataLocality is given, and the {where} default-data-locality is disabled"


def _is_longhorns(seen: ClassSeen) -> bool:
    return seen.record.provisioner in LONGHORN_PROVISIONERS


def _names(seen: Sequence[ClassSeen]) -> str:
    return ", ".join(each.record.name for each in seen)


def _view(facts: Facts) -> ClusterView:
    """Return the Nodes, Settings and DiskSchedules as decisions see them."""
    cluster = ClusterObjects()
    for record in _records(facts):
        cluster.add(record)
    return build_view(cluster)


def _records(facts: Facts) -> Iterator[Known]:
    for known in (facts.longhorn_nodes, facts.longhorn_settings, facts.disk_schedules):
        yield from () if known is None or isinstance(known, Unread) else known
