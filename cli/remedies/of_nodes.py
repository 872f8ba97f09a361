"""What can be done about a node, whatever its disks, so that it takes a replica."""

from collections.abc import Iterator

from msgspec import structs

from cli.remedies.of_disks import Wanted, disk_back, waits_for_node
from cli.remedies.remedy import Edit, Remedy, node_edit
from extender import ViewBuilder
from extender.kubernetes import CsiNode
from extender.space import NodeSpace
from longhorn import CORDONED, Condition, EngineImage, InstanceManager, Node, NodeName

_TRUE = Condition(status="True")


def of_node(space: NodeSpace, wanted: Wanted, builder: ViewBuilder) -> Iterator[Remedy]:
    """Yield what can be done about a node, whatever its disks."""
    node, name = space.node, space.node.name
    figures = {"node": name}
    if not node.ready.is_true:
        why = ": ".join(filter(None, (node.ready.reason, node.ready.message))) or "it is not ready"
        edits = [Edit(Node, name, _back), *running(name, builder)]
        yield Remedy(code="node_back", figures={**figures, "why": why}, edits=edits)
    else:
        yield from _not_running(space, wanted, builder)
    if node.schedulable.reason == CORDONED:
        yield Remedy(code="uncordon", figures=figures, edits=[node_edit(name, schedulable=_TRUE)])
    if node.evicting:
        edits = [node_edit(name, evicting=False), node_edit(name, allow_scheduling=True)]
        yield Remedy(code="end_node_eviction", figures=figures, edits=edits)
    elif not node.allow_scheduling:
        edit = node_edit(name, allow_scheduling=True)
        yield Remedy(code="allow_node", figures=figures, edits=[edit])
    if tags := wanted.node_tags - node.tags:
        edit = node_edit(name, tags=node.tags | tags)
        told = {**figures, "tags": ", ".join(sorted(tags))}
        yield Remedy(code="tag_node", figures=told, edits=[edit])


def _not_running(space: NodeSpace, wanted: Wanted, builder: ViewBuilder) -> Iterator[Remedy]:
    """Yield what runs on other nodes, each for itself, that does not on one that is ready."""
    engines, name = space.engines, space.node.name
    found = dict[str, list[Edit]]()
    kinds = {each.is_v2 for each in builder.of(InstanceManager).values()}
    kinds |= {each.engine.is_v2 for each in wanted.needs}
    if not all(engines.runs(is_v2=each) for each in kinds):
        found["instance manager"] = [*_managers_on(name, builder)]
    for edit, image in _images_on(name, builder):
        if not engines.has_image(image):
            found[f"engine image {image}"] = [edit]
    for what, edits in found.items():
        yield Remedy(code="start_manager", figures={"node": name, "what": what}, edits=edits)


def _back(node: Node) -> Node:
    """Return a node that is ready again, and its disks with it; a cordon stays.

    Source: longhorn-manager controller/node_controller.go setReadyAndSchedulableConditions and
    markAllDisksNotReadyWhenNodeNotReady.
    """
    is_cordoned = node.schedulable.reason == CORDONED
    return structs.replace(
        node,
        ready=_TRUE,
        schedulable=node.schedulable if is_cordoned else _TRUE,
        disks=tuple(disk_back(d) if waits_for_node(d) else d for d in node.disks),
    )


def running(node: NodeName, builder: ViewBuilder) -> Iterator[Edit]:
    """Let run on a node what runs on others."""
    yield from _managers_on(node, builder)
    yield from (edit for edit, _ in _images_on(node, builder))
    if builder.of(CsiNode):
        yield _put(CsiNode(name=node, has_longhorn=True), node)


def _managers_on(node: NodeName, builder: ViewBuilder) -> Iterator[Edit]:
    image = builder.view.settings.instance_manager_image
    for is_v2 in (False, True) if builder.of(InstanceManager) else ():
        name = f"{node}-{is_v2}"
        manager = InstanceManager(name=name, node=node, is_v2=is_v2, image=image, is_running=True)
        yield _put(manager, name)


def _images_on(node: NodeName, builder: ViewBuilder) -> Iterator[tuple[Edit, str]]:
    for name, image in builder.of(EngineImage).items():
        yield _put(structs.replace(image, nodes=image.nodes | {node}), name), image.image


def _put(record: InstanceManager | EngineImage | CsiNode, name: str) -> Edit:
    return Edit(type(record), name, lambda _: record)
