"""The kinds that `may-drain` reads."""

from msgspec import structs

from app.kube.longhorn.resources import INSTANCE_MANAGERS, REPLICAS, SETTINGS, SHARDS, VOLUMES
from app.kube.resource import Kinds
from cli.kube.draining import objects, records
from cli.kube.resources import ATTACHMENTS, BUDGETS, KUBERNETES_NODES, PODS

HOSTS = structs.replace(
    KUBERNETES_NODES,
    structure=objects.HostObject,
    record=records.Host,
    record_of=objects.host_record,
)
MANAGERS = structs.replace(
    INSTANCE_MANAGERS,
    structure=objects.ManagerObject,
    record=records.Manager,
    record_of=objects.manager_record,
)
GUARDS = structs.replace(
    BUDGETS,
    structure=objects.GuardObject,
    record=records.Guard,
    record_of=objects.guard_record,
)
USES = structs.replace(
    VOLUMES, structure=objects.UseObject, record=records.Use, record_of=objects.use_record
)
COPIES = structs.replace(
    REPLICAS, structure=objects.CopyObject, record=records.Copy, record_of=objects.copy_record
)
GUESTS = structs.replace(
    PODS, structure=objects.GuestObject, record=records.Guest, record_of=objects.guest_record
)

DRAINED: Kinds = {
    (each.group, each.kind): each
    for each in (HOSTS, MANAGERS, GUARDS, SETTINGS, USES, COPIES, SHARDS, ATTACHMENTS, GUESTS)
}
"""By group and kind."""
