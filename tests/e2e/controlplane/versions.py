"""What differs between the versions of Kubernetes that the end-to-end tests run, in one table.

Source: kubernetes pkg/features/kube_features.go of each version, apiserver pkg/features, and the
folders of staging/src/k8s.io/api.
"""

from collections.abc import Mapping

import msgspec
from msgspec import structs

from tests.e2e.controlplane.programs import module_of

_GROUP = "scheduling.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One minor version.

    Attributes:
        groups_api: The apiVersion of PodGroup; empty: it has none.
        groups_gates: What has kube-scheduler bind a PodGroup together, off as shipped.
        policies_api: The apiVersion of MutatingAdmissionPolicy.
        policies_flags: What has kube-apiserver serve it; empty: it does so as shipped.
        ends_expectations: Whether a binding takes nominatedNodeName from the pod, as shipped
            (ClearingNominatedNodeNameAfterBinding).
        scores_capacity: Whether VolumeBinding scores nodes by the free storage that
            CSIStorageCapacity tells of (StorageCapacityScoring), as shipped.
    """

    groups_api: str = ""
    groups_gates: tuple[str, ...] = ()
    policies_api: str = f"{_ADMISSION}/v1"
    policies_flags: tuple[str, ...] = ()
    ends_expectations: bool = True
    scores_capacity: bool = False


_BEFORE_GROUPS = Version(
    policies_api=f"{_ADMISSION}/v1beta1",
    policies_flags=(
        "--feature-gates=MutatingAdmissionPolicy=true",
        f"--runtime-config={_ADMISSION}/v1beta1=true",
    ),
)
"""1.35 has groups, but in another kind, Workload; PodGroup came with 1.36."""

VERSIONS: Mapping[str, Version] = {
    "1.34": structs.replace(_BEFORE_GROUPS, ends_expectations=False),
    "1.35": _BEFORE_GROUPS,
    "1.36": Version(
        groups_api=f"{_GROUP}/v1alpha2", groups_gates=("GenericWorkload", "GangScheduling")
    ),
    "1.37": Version(
        groups_api=f"{_GROUP}/v1beta1", groups_gates=("GenericWorkload",), scores_capacity=True
    ),
}


def chosen(environ: Mapping[str, str]) -> Version:
    """Return the version that the tests run."""
    return VERSIONS[module_of(environ).name]
