"""What a cluster lacks, so that no answer can be given, or none that is a yes."""

from collections.abc import Collection, Iterator

from app.errors import InputError
from app.kube.longhorn.resources import SETTINGS, SHARDS
from app.kube.resource import Resource
from cli.draining.cluster import Cluster
from cli.draining.guarding import AUTOSCALER, POLICY
from cli.kube.draining.kinds import COPIES, GUARDS, GUESTS, HOSTS, MANAGERS, USES
from cli.kube.resources import ATTACHMENTS


def check_files(cluster: Cluster, origin: str) -> None:
    """Raise InputError if files lack a kind without which nothing can be said of any node."""
    lacking = [*_lacking(cluster)]
    if lacking:
        names = ", ".join(each.name for each, _ in lacking)
        why = "; ".join(f"{each.name}: {sign}" for each, sign in lacking)
        raise InputError(
            f"{origin}: no {names}, without which no node can be judged ({why}); to add what is "
            f"missing: {_how_to_add(*(each for each, _ in lacking))}"
        )


def check_live(cluster: Cluster, namespace: str) -> None:
    """Raise InputError if Longhorn is not where it is looked for."""
    if not cluster.managers:
        raise InputError(
            f"there is no InstanceManager (instancemanagers.longhorn.io) in {namespace}, so what "
            f"Longhorn holds back is not known; if Longhorn is elsewhere, name its namespace in "
            f"EXTENDER_LONGHORN_NAMESPACE"
        )


def unknown(cluster: Cluster) -> Iterator[str]:
    """Say what is not known of a cluster, so that the answer cannot be yes."""
    if cluster.unreadable:
        more = f" and {len(cluster.unreadable) - 1} more" if len(cluster.unreadable) > 1 else ""
        yield f"{cluster.unreadable[0]}{more} cannot be read"
    sharded = [each.name for each in cluster.uses.values() if each.shards]
    if sharded and not cluster.shards:
        how = _how_to_add(SHARDS)
        sign = f"Volume {sharded[0]} is erasure-coded"
        yield f"no Shards are known, though {sign}; to add them: {how}"


def unknown_pods(cluster: Cluster, bundled: Collection[str]) -> Iterator[str]:
    """Say which pods files lack; a live cluster is asked for all of a node, be it none.

    Args:
        cluster: All that is known.
        bundled: The namespaces that a support bundle among the files has objects of.
    """
    namespaces = {each.namespace for there in cluster.guests.values() for each in there}
    how = _how_to_add(GUESTS, GUARDS)
    if not namespaces:
        yield f"no pods are known, so what kubectl refuses is not; to add them: {how}"
    elif namespaces <= {*bundled}:
        names = ", ".join(sorted(bundled))
        yield (
            f"a support bundle has the pods and PodDisruptionBudgets of some namespaces only, "
            f"here {names}; to add the others: {how}"
        )


def _lacking(cluster: Cluster) -> Iterator[tuple[Resource, str]]:
    managers = [each for there in cluster.managers.values() for each in there]
    if not cluster.hosts:
        yield HOSTS, "every cluster has some"
    if not managers:
        yield MANAGERS, "every cluster with Longhorn has some"
    if POLICY not in cluster.settings:
        yield SETTINGS, f"every cluster has {POLICY}"
    guarded = [each for each in managers if each.runs and each.node not in cluster.cordoned]
    budgets_differ = cluster.settings.get(AUTOSCALER) != "true"
    if guarded and budgets_differ and not any(each.key in cluster.guards for each in guarded):
        yield GUARDS, f"InstanceManager {guarded[0].name} runs, so it has one"
    replicas = [name for each in managers for name in each.replicas]
    if replicas and not cluster.copies:
        yield COPIES, f"{replicas[0]} runs"
    engines = [name for each in managers for name in each.engines]
    if not cluster.uses and (cluster.copies or engines):
        yield USES, f"{next(iter(cluster.copies), None) or engines[0]} is of one"
    if engines and not cluster.tickets:
        yield ATTACHMENTS, f"{engines[0]} runs"


def _how_to_add(*resources: Resource) -> str:
    kinds = ",".join(each.name for each in resources)
    return f"kubectl get --all-namespaces -o json {kinds} > more.json, then add --also more.json"
