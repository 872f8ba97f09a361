"""Which labels a rule asks for, as kube-scheduler reads rules about nodes and about pods.

Source: kubernetes staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity and
staging/src/k8s.io/apimachinery/pkg/labels/selector.go
"""

from collections.abc import Iterable, Mapping

from extender.kubernetes import NodeTerm, Requirement
from planner.records import KubernetesNode, Pod, PodTerm, Selector


def meets(node: KubernetesNode, term: NodeTerm) -> bool:
    """Whether a node meets a term; one that asks for nothing is met by none."""
    return (
        bool(term.labels or term.fields)
        and all(is_met(each, node.labels) for each in term.labels)
        and all(is_met(each, {"metadata.name": node.name}) for each in term.fields)
    )


def selects(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether *labels* are those that a selector asks for; one that asks for nothing takes all."""
    return selector.labels.items() <= labels.items() and all(
        is_met(each, labels) for each in selector.requirements
    )


def is_selected(pod: Pod, term: PodTerm) -> bool:
    """Whether a rule about other pods is about this one."""
    is_near = not term.namespaces or pod.ref.namespace in term.namespaces
    return is_near and selects(term.selector, pod.wishes.labels)


def is_met(wanted: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether *labels* meet a requirement; one whose operator is not known is never met."""
    value, values = labels.get(wanted.key), wanted.values
    match wanted.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(wanted.operator, value, values)
    return False


def shown(terms: Iterable[NodeTerm]) -> str:
    """Write terms for people."""
    texts = (
        " and ".join(_shown(each) for each in (*term.labels, *term.fields)) or "nothing"
        for term in terms
    )
    return ", or ".join(texts) or "nothing"


def _shown(wanted: Requirement) -> str:
    values = f" {','.join(wanted.values)}" if wanted.values else ""
    return f"{wanted.key} {wanted.operator}{values}"


def _compares(operator: str, value: str | None, values: tuple[str, ...]) -> bool:
    try:
        number, [limit] = int(value or ""), [int(each) for each in values]
    except ValueError:
        return False
    return number > limit if operator == "Gt" else number < limit
