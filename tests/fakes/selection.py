"""Which objects a list or watch asks for: namespace, field selector, label selector."""

from collections.abc import Callable, Mapping

import msgspec

from tests.fakes.resources import Object, Resource
from tests.fakes.status import bad_request

Predicate = Callable[[Object], bool]


class Selection(msgspec.Struct, frozen=True):
    """The objects of one kind that all predicates hold for."""

    predicates: tuple[Predicate, ...]
    selective: bool

    def matches(self, obj: Object | None) -> bool:
        return obj is not None and all(predicate(obj) for predicate in self.predicates)


def select(resource: Resource, namespace: str, query: Mapping[str, str]) -> Selection:
    """Read the selectors of a request.

    Raises:
        StatusError: 400 for a field that cannot be selected by, or a set-based label selector,
            which this server lacks.
    """
    fields = _fields(query.get("fieldSelector", ""))
    labels = query.get("labelSelector", "")
    predicates = [_field(resource, *term) for term in fields]
    predicates += [_label(term.strip()) for term in labels.split(",") if term]
    selective = bool(predicates)
    if namespace:
        predicates.append(lambda obj: obj["metadata"].get("namespace") == namespace)
    return Selection(tuple(predicates), selective)


def selected_name(query: Mapping[str, str]) -> str:
    """Return the name a field selector singles out, or "": the request is authorised by it."""
    fields = _fields(query.get("fieldSelector", ""))
    return next((value for key, value, wanted in fields if key == "metadata.name" and wanted), "")


def _fields(selector: str) -> list[tuple[str, str, bool]]:
    terms = []
    for term in filter(None, selector.split(",")):
        field, sign, value = term.partition("=")
        terms.append((field.rstrip("!"), value.removeprefix("="), not field.endswith("!")))
        if not sign:
            raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
    return terms


def _field(resource: Resource, field: str, value: str, wanted: bool) -> Predicate:  # noqa: FBT001
    defaults = {"metadata.name": "", "metadata.namespace": "", **dict(resource.fields)}
    if field not in defaults:
        raise bad_request(f"field label not supported: {field}")
    default = defaults[field]
    return lambda obj: (_look_up(obj, field, default) == value) is wanted


def _look_up(obj: Object, field: str, default: str) -> str:
    found: object = obj
    for part in field.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if isinstance(found, bool):
        return str(found).lower()
    return default if found is None else str(found)


def _label(term: str) -> Predicate:
    if " " in term or "(" in term:
        raise bad_request(f"the fake API server does not know set-based selectors: {term!r}")
    key, sign, value = term.partition("=")
    if sign and key.endswith("!"):
        return lambda obj: _labels(obj).get(key[:-1]) != value
    if sign:
        return lambda obj: _labels(obj).get(key) == value.removeprefix("=")
    if key.startswith("!"):
        return lambda obj: key[1:] not in _labels(obj)
    return lambda obj: key in _labels(obj)


def _labels(obj: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels
