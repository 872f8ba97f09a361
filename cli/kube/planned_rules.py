"""What plans read of pods besides: rules about where a pod is to be, by nodes and other pods."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import structs

from app.kube import objects
from cli.kube import placement
from extender.kubernetes import Requirement
from planner.records import PodTerm, PreferredNodes, PreferredPods, Selector, Spread

_NO_POD = Selector(requirements=(Requirement(key="", operator="In"),))
_REQUIRED, _PREFERRED = "DoNotSchedule", "ScheduleAnyway"
_HONOR, _IGNORE = "Honor", "Ignore"


class LabelSelector(objects.KubeStruct, frozen=True):
    match_labels: dict[str, objects.Text] | None = None
    match_expressions: list[placement.Expression] | None = None


class PodAffinityTerm(objects.KubeStruct, frozen=True):
    label_selector: LabelSelector | None = None
    topology_key: objects.Text = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WeightedPodAffinityTerm(objects.KubeStruct, frozen=True):
    weight: objects.Integer | None = None
    pod_affinity_term: PodAffinityTerm | None = None


class PodAffinity(placement.PodAffinity, frozen=True, rename="camel"):
    required: list[PodAffinityTerm] | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[WeightedPodAffinityTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PreferredTerm(objects.KubeStruct, frozen=True):
    weight: objects.Integer | None = None
    preference: placement.NodeSelectorTerm | None = None


class NodeAffinity(placement.NodeAffinity, frozen=True, rename="camel"):
    preferred: list[PreferredTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(placement.Affinity, frozen=True, rename="camel"):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None

    @property
    def pod_terms(self) -> list[PodAffinityTerm]:
        """All rules about other pods."""
        found = list[PodAffinityTerm]()
        for rules in filter(None, (self.pod_affinity, self.pod_anti_affinity)):
            found += rules.required or ()
            found += filter(None, (each.pod_affinity_term for each in rules.preferred or ()))
        return found


class SpreadConstraint(placement.SpreadConstraint, frozen=True, rename="camel"):
    topology_key: objects.Text = None
    max_skew: objects.Integer | None = None
    min_domains: objects.Integer | None = None
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    node_affinity_policy: objects.Text = None
    node_taints_policy: objects.Text = None


def selector_of(given: LabelSelector) -> Selector:
    """Translate a label selector."""
    return Selector(
        labels={name: value or "" for name, value in (given.match_labels or {}).items()},
        requirements=placement.requirements(given.match_expressions),
    )


def asks_for_some(selector: LabelSelector | None) -> bool:
    """Whether a selector leaves anything out."""
    return selector is not None and bool(selector.match_labels or selector.match_expressions)


def required_pods(
    rules: PodAffinity | None, namespace: str, labels: Mapping[str, str]
) -> tuple[PodTerm, ...]:
    """Translate the rules that must be met."""
    given = (rules.required if rules else None) or ()
    return tuple(_pod_term(each, namespace, labels) for each in given)


def preferred_pods(
    affinity: Affinity, namespace: str, labels: Mapping[str, str]
) -> tuple[PreferredPods, ...]:
    """Translate the rules that make nodes better, and with negative weights those that do not."""
    return tuple(
        PreferredPods(
            sign * (each.weight or 0),
            _pod_term(each.pod_affinity_term or PodAffinityTerm(), namespace, labels),
        )
        for sign, rules in ((1, affinity.pod_affinity), (-1, affinity.pod_anti_affinity))
        for each in (rules.preferred if rules else None) or ()
    )


def preferred_nodes(affinity: NodeAffinity | None) -> tuple[PreferredNodes, ...]:
    """Translate the preferred node affinity."""
    return tuple(
        PreferredNodes(each.weight or 0, placement.node_term(each.preference))
        for each in (affinity.preferred if affinity else None) or ()
        if each.preference is not None
    )


def spreads(
    given: Iterable[SpreadConstraint] | None, labels: Mapping[str, str]
) -> tuple[Spread, ...]:
    """Translate topology spread constraints.

    Raises:
        ValueError: One is not as the API server would have it.
    """
    return tuple(
        _spread(each, f"topologySpreadConstraints[{number}]", labels)
        for number, each in enumerate(given or ())
    )


def _spread(given: SpreadConstraint, place: str, labels: Mapping[str, str]) -> Spread:
    """Translate one.

    Source: kubernetes pkg/apis/core/validation ValidateTopologySpreadConstraints, and for what is
    absent pkg/scheduler/framework/plugins/podtopologyspread/common.go.
    """
    if not given.topology_key:
        raise ValueError(f"{place} has no topologyKey; name a label of nodes")
    if given.max_skew is None or given.max_skew < 1:
        raise ValueError(f"{place}.maxSkew is {given.max_skew}; use 1 or more")
    if given.min_domains is not None and given.min_domains < 1:
        raise ValueError(f"{place}.minDomains is {given.min_domains}; use 1 or more")
    selector = given.label_selector
    return Spread(
        topology_key=given.topology_key,
        max_skew=given.max_skew,
        selector=None
        if selector is None
        else _with_keys(selector_of(selector), given.match_label_keys, "In", labels),
        is_required=_one_of(
            f"{place}.whenUnsatisfiable", given.when_unsatisfiable, _REQUIRED, _PREFERRED
        ),
        least_domains=given.min_domains or 1,
        only_allowed=_one_of(
            f"{place}.nodeAffinityPolicy", given.node_affinity_policy or _HONOR, _HONOR, _IGNORE
        ),
        only_tolerated=_one_of(
            f"{place}.nodeTaintsPolicy", given.node_taints_policy or _IGNORE, _HONOR, _IGNORE
        ),
    )


def _one_of(place: str, given: str | None, first: str, second: str) -> bool:
    """Whether *given* is the first of two words; raise ValueError if it is neither."""
    if given not in (first, second):
        raise ValueError(f"{place} is {(given or '')[:60]!r}; use {first} or {second}")
    return given == first


def _pod_term(term: PodAffinityTerm, namespace: str, labels: Mapping[str, str]) -> PodTerm:
    """Translate one rule; the labels of namespaces are not read, so a selector of them takes all.

    The API server writes matchLabelKeys into the selector as well; pods in files lack that
    (pkg/registry/core/pod/strategy.go applyMatchLabelKeysAndMismatchLabelKeys).
    """
    selector = _NO_POD
    if term.label_selector is not None:
        selector = selector_of(term.label_selector)
        selector = _with_keys(selector, term.match_label_keys, "In", labels)
        selector = _with_keys(selector, term.mismatch_label_keys, "NotIn", labels)
    own = (namespace,) if not term.namespaces else tuple(term.namespaces)
    return PodTerm(
        selector=selector,
        topology_key=term.topology_key or "",
        namespaces=own if term.namespace_selector is None else (),
    )


def _with_keys(
    selector: Selector, keys: Iterable[str] | None, operator: str, labels: Mapping[str, str]
) -> Selector:
    """Return *selector* with those values of *keys* that the pod itself has."""
    more = (
        Requirement(key=key, operator=operator, values=(labels[key],))
        for key in keys or ()
        if key in labels
    )
    return structs.replace(selector, requirements=(*selector.requirements, *more))
