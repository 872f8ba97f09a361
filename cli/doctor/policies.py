"""The fields that `doctor` reads of NetworkPolicies, as in JSON."""

import msgspec

from app.kube.objects import KubeStruct, Metadata, Text
from cli.kube.planned_rules import LabelSelector


class IpBlock(KubeStruct, frozen=True):
    cidr: str


class Peer(KubeStruct, frozen=True):
    ip_block: IpBlock | None = None
    namespace_selector: LabelSelector | None = None
    pod_selector: LabelSelector | None = None


class PolicyPort(KubeStruct, frozen=True):
    port: int | str | None = None
    end_port: int | None = None
    protocol: Text = None


class IngressRule(KubeStruct, frozen=True):
    from_: list[Peer] | None = msgspec.field(default=None, name="from")
    ports: list[PolicyPort] | None = None


class NetworkPolicySpec(KubeStruct, frozen=True):
    pod_selector: LabelSelector | None = None
    policy_types: list[str] | None = None
    ingress: list[IngressRule] | None = None


class NetworkPolicy(KubeStruct, frozen=True):
    metadata: Metadata
    spec: NetworkPolicySpec = NetworkPolicySpec()

    @property
    def is_for_ingress(self) -> bool:
        """Whether it says who may come in."""
        return "Ingress" in (self.spec.policy_types or ["Ingress"])


class NetworkPolicies(KubeStruct, frozen=True):
    items: list[NetworkPolicy] | None = None
