"""What of Longhorn runs on a node besides its manager, and what it can do there without it.

Sources: longhorn-manager datastore CheckInstanceManagersReadiness and CheckDataEngineImageReadiness
for replicas; for volumes manager/volume.go Attach, and what the engine needs to start.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum

import msgspec

from longhorn.needs import Engine
from longhorn.records import NodeName, Volume

V2_OFF_LABEL = "node.longhorn.io/disable-v2-data-engine"
"""Of a Kubernetes Node: with "true" data engine v2 is off there; any other value means nothing."""


class EngineImage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Longhorn EngineImage: the programs of data engine v1 in one version."""

    name: str
    image: str
    """As volumes name it."""
    nodes: frozenset[NodeName]
    """Where it is ready."""


class InstanceManager(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Longhorn InstanceManager: the pod in which engines and replicas of one node run."""

    name: str
    node: NodeName
    is_v2: bool
    image: str
    is_running: bool
    deleting: bool = False


class Engines(msgspec.Struct, frozen=True, kw_only=True):
    """What runs on one node. Where nothing is known of a kind, all of it counts as running."""

    has_driver: bool = True
    """Whether Longhorn's CSI driver is registered, without which nothing is mounted."""
    runs_v1: bool = True
    """Whether the instance manager of data engine v1 runs that new engines and replicas go to."""
    runs_v2: bool = True
    allows_v2: bool = True
    """Whether no label of the Kubernetes Node switches data engine v2 off."""
    has_v1: bool = True
    """Whether there is an instance manager at all that those of data engine v1 go to."""
    has_v2: bool = True
    images: frozenset[str] | None = None
    """The engine images that are ready there, None for any."""

    def runs(self, *, is_v2: bool) -> bool:
        """Whether an instance manager of a data engine runs."""
        return self.runs_v2 if is_v2 else self.runs_v1

    def has_manager(self, *, is_v2: bool) -> bool:
        """Whether there is an instance manager of a data engine, running or not."""
        return self.has_v2 if is_v2 else self.has_v1

    def has_image(self, image: str) -> bool:
        """Whether an engine image is ready; one that nobody names is."""
        return not image or self.images is None or image in self.images


ALL_RUNS = Engines()


class Attachment(msgspec.Struct, frozen=True, order=True):
    """What a volume asks of the node that it is to be attached to."""

    is_v2: bool
    images: tuple[str, ...]
    """Engine images that must be ready there; none for data engine v2."""
    is_shared: bool
    """Whether its engine runs elsewhere, and the node only mounts it."""


class AttachRefusal(StrEnum):
    """Why a volume cannot be attached to a node."""

    NO_DRIVER = "the CSI driver is not registered"
    NOT_READY = "the node is not ready"
    NO_IMAGE = "its engine image is not ready"
    NO_MANAGER = "no instance manager runs"
    V2_OFF = "data engine v2 is switched off"


def attachment_of(volume: Volume) -> Attachment:
    """Say what *volume* asks of the node that it is to be attached to.

    A local replica that is yet to be placed there needs the image that the others have, which is
    another one while the engine is upgraded.
    """
    images = () if volume.is_v2 or not volume.engine_image else (volume.engine_image,)
    others = volume.current_image
    if others and others not in images and volume.needs_local_replica and not volume.is_v2:
        images = tuple(sorted((*images, others)))
    return Attachment(is_v2=volume.is_v2, images=images, is_shared=volume.shared)


def attach_refusal(engines: Engines, asked: Attachment, *, is_ready: bool) -> AttachRefusal | None:
    """Say why a volume cannot be attached to a node, None if it can; in Longhorn's order.

    Whether new replicas may go there does not matter: a cordoned node attaches volumes. An instance
    manager that is not there, and the label, are noticed only when the engine is to start; then the
    volume hangs in attaching.
    """
    if not engines.has_driver:
        return AttachRefusal.NO_DRIVER
    if not is_ready:
        return AttachRefusal.NOT_READY
    if not all(engines.has_image(image) for image in asked.images):
        return AttachRefusal.NO_IMAGE
    if asked.is_shared:
        return None
    if not engines.runs(is_v2=asked.is_v2):
        return AttachRefusal.NO_MANAGER
    if asked.is_v2 and not engines.allows_v2:
        return AttachRefusal.V2_OFF
    return None


def starts_replicas(engines: Engines, engine: Engine) -> bool:
    """Say whether new replicas start on a node; else Longhorn passes it over."""
    if engine.is_v2:
        return engines.runs_v2 and engines.allows_v2
    return engines.runs_v1 and engines.has_image(engine.image)


def is_ready(manager: InstanceManager) -> bool:
    """Say whether an instance manager takes new engines and replicas.

    Longhorn takes one of data engine v1 that is being deleted for ready, whatever its state.
    """
    return manager.is_running or (manager.deleting and not manager.is_v2)


def of_engine(
    managers: Iterable[InstanceManager], image: str, *, is_v2: bool
) -> list[InstanceManager]:
    """Return those of a node's instance managers that its engines and replicas go to.

    Args:
        image: The one that setting default-instance-manager-image names, which those of v1 must
            have; empty if the setting is not known.
    """
    return [
        each for each in managers if each.is_v2 == is_v2 and (is_v2 or image in ("", each.image))
    ]


def engines_of(
    managers: Iterable[InstanceManager] | None,
    image: str,
    *,
    images: frozenset[str] | None = None,
    has_driver: bool = True,
    allows_v2: bool = True,
) -> Engines:
    """Say what runs on a node.

    Args:
        managers: The instance managers there; None if those of no node are known.
        image: As for `of_engine`.
        images: As for `Engines`, as the others.
    """
    if managers is None:
        return Engines(has_driver=has_driver, allows_v2=allows_v2, images=images)
    managers = [*managers]
    v1, v2 = of_engine(managers, image, is_v2=False), of_engine(managers, "", is_v2=True)
    return Engines(
        has_driver=has_driver,
        runs_v1=any(map(is_ready, v1)),
        runs_v2=any(map(is_ready, v2)),
        allows_v2=allows_v2,
        has_v1=bool(v1),
        has_v2=bool(v2),
        images=images,
    )


def images_on(node: NodeName, images: Collection[EngineImage]) -> frozenset[str] | None:
    """Return the engine images that are ready on a node, None if there are none anywhere."""
    return frozenset(each.image for each in images if node in each.nodes) if images else None
