"""What a file asks a plan to place: its workloads, and what else the cluster lacks of it."""

from pathlib import Path

from app.errors import InputError
from cli.documents import load_documents
from cli.kube.resources import PLACED
from cli.manifests import (
    Manifest,
    check_names,
    kinds_of,
    left_out,
    makers,
    read_manifests,
    workloads_in,
)
from cli.stdin import name_of
from planner.additions import Wanted
from planner.steps.workloads import MOST_PODS, Fill, PlaceWorkloads
from planner.workloads import DAEMON_SET, Workload

_USE = "give a StatefulSet, Deployment, ReplicaSet, Job or Pod"


def read_workloads(path: Path, namespace: str) -> Wanted:
    """Read what is to be placed from a YAML or JSON file.

    Pods and ReplicaSets whose controller is in the file too are left out: it makes them.

    Args:
        path: The file, with one or more objects, or lists of them.
        namespace: Of objects that name none.

    Raises:
        InputError: It cannot be read or parsed, some object of it cannot be used, two have one
            name, or there is no workload among them.
    """
    read = read_manifests(load_documents(path), namespace, PLACED)
    check_names(read, _kind)
    found = workloads_in(read)
    placed = [each for each in found if each.kind != DAEMON_SET]
    if not placed:
        raise InputError(
            f"{name_of(path)} holds no workload to place (it has {kinds_of(read)}); {_USE}"
        )
    records = [each.record for each in read if each.record is not None]
    return Wanted(
        objects=tuple(each for each in records if not isinstance(each, Workload) or each in placed),
        notes=(
            *(
                f"{each.key} is not placed: it has a pod on each node"
                for each in found
                if each.kind == DAEMON_SET
            ),
            *left_out(read),
        ),
        unknown=tuple(f"not planned: pods that {each} may make" for each in makers(read)),
    )


def _kind(given: Manifest) -> str:
    """Call all workloads by one word: pods are named after theirs, of whatever kind it is."""
    return "workload" if isinstance(given.record, Workload) else given.kind


def place_step(path: Path, replicas: int | None, namespace: str) -> PlaceWorkloads:
    """Make the step that places what a file holds; *namespace* is that of objects without one.

    Raises:
        InputError: As `read_workloads` does.
    """
    return PlaceWorkloads(wanted=read_workloads(path, namespace), replicas=replicas)


def fill_step(path: Path, most: int | None, group: int, namespace: str) -> Fill:
    """Make the step that places pods of the workload of a file until one does not fit.

    *namespace* is that of objects without one.

    Raises:
        InputError: As `read_workloads` does.
    """
    wanted = read_workloads(path, namespace)
    return Fill(wanted=wanted, group=group, most=most or MOST_PODS)
