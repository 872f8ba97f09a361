"""Who wants a volume attached: Kubernetes' VolumeAttachments, and the tickets in Longhorn's."""

import msgspec

from app.kube.objects import KubeStruct, Metadata, Text
from longhorn import NodeName, VolumeName


class DriverAttachment(msgspec.Struct, frozen=True, kw_only=True):
    """A VolumeAttachment of Kubernetes: it has the driver attach a volume to a node."""

    name: str
    node: NodeName
    persistent_volume: str
    deleting: bool
    error: str
    """Why it could not be attached when that was tried last; empty if nothing is wrong."""


class Ticket(msgspec.Struct, frozen=True):
    """A wish to have a volume attached."""

    type: str
    node: NodeName


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A VolumeAttachment of Longhorn's."""

    name: str
    volume: VolumeName
    tickets: tuple[Ticket, ...]


class Source(KubeStruct, frozen=True):
    persistent_volume_name: Text = None


class DriverAttachmentSpec(KubeStruct, frozen=True):
    node_name: Text = None
    source: Source | None = None


class AttachError(KubeStruct, frozen=True):
    message: Text = None


class DriverAttachmentStatus(KubeStruct, frozen=True):
    attach_error: AttachError | None = None


class DriverAttachmentObject(KubeStruct, frozen=True):
    metadata: Metadata
    spec: DriverAttachmentSpec | None = None
    status: DriverAttachmentStatus | None = None


class TicketObject(KubeStruct, frozen=True):
    type: Text = None
    node_id: Text = msgspec.field(default=None, name="nodeID")


class AttachmentSpec(KubeStruct, frozen=True):
    volume: Text = None
    attachment_tickets: dict[str, TicketObject | None] | None = None


class AttachmentObject(KubeStruct, frozen=True):
    metadata: Metadata
    spec: AttachmentSpec | None = None


def driver_attachment_record(attachment: DriverAttachmentObject) -> DriverAttachment:
    """Translate a VolumeAttachment of Kubernetes."""
    spec = attachment.spec or DriverAttachmentSpec()
    status = attachment.status or DriverAttachmentStatus()
    return DriverAttachment(
        name=attachment.metadata.name,
        node=NodeName(spec.node_name or ""),
        persistent_volume=(spec.source.persistent_volume_name if spec.source else None) or "",
        deleting=bool(attachment.metadata.deletion_timestamp),
        error=(status.attach_error.message if status.attach_error else None) or "",
    )


def attachment_record(attachment: AttachmentObject) -> Attachment:
    """Translate a VolumeAttachment of Longhorn's."""
    spec = attachment.spec or AttachmentSpec()
    tickets = [each or TicketObject() for each in (spec.attachment_tickets or {}).values()]
    return Attachment(
        name=attachment.metadata.name,
        volume=VolumeName(spec.volume or attachment.metadata.name),
        tickets=tuple(Ticket(each.type or "", NodeName(each.node_id or "")) for each in tickets),
    )
