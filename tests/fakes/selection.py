"""Which objects a list or watch asks for: namespace, field selector, label selector."""

import re
from collections.abc import Callable, Mapping

import msgspec

from tests.fakes.resources import Object, Resource
from tests.fakes.status import bad_request

Predicate = Callable[[Object], bool]


_BETWEEN_TERMS = re.compile(r",(?![^(]*\))")
_IN = re.compile(r"([^ ,=!]+) in \(([^()]+)\)")


class Selection(msgspec.Struct, frozen=True):
    """The objects of one kind that all predicates hold for."""

    predicates: tuple[Predicate, ...]
    selective: bool

    def matches(self, obj: Object | None) -> bool:
        return obj is not None and all(predicate(obj) for predicate in self.predicates)


def select(resource: Resource, namespace: str, query: Mapping[str, str]) -> Selection:
    """Read the selectors of a request.

    Raises:
        StatusError: 400 for a field that cannot be selected by, or any selector but equalities
            and, of fields, `!=`, of labels, `in`, which this server lacks.
    """
    fields = _fields(query.get("fieldSelector", ""))
    labels = query.get("labelSelector", "")
    predicates = [_field(resource, *term) for term in fields]
    predicates += [_label(term.strip()) for term in _BETWEEN_TERMS.split(labels) if term]
    selective = bool(predicates)
    if namespace:
        predicates.append(lambda obj: obj["metadata"].get("namespace") == namespace)
    return Selection(tuple(predicates), selective)


def selected_name(query: Mapping[str, str]) -> str:
    """Return the name a field selector singles out, or "": the request is authorised by it."""
    return dict(_fields(query.get("fieldSelector", ""))).get("metadata.name", "")


def _fields(selector: str) -> list[tuple[str, str]]:
    terms = [term.partition("=") for term in filter(None, selector.split(","))]
    if any(not sign for _, sign, _ in terms):
        raise bad_request(f"the fake API server does not know this selector: {selector!r}")
    return [(field, value.removeprefix("=")) for field, _, value in terms]


def _field(resource: Resource, field: str, value: str) -> Predicate:
    plain = field.removesuffix("!")
    if plain not in ("metadata.name", "metadata.namespace", *resource.fields):
        raise bad_request(f"field label not supported: {plain}")
    return lambda obj: (_look_up(obj, plain) == value) is (plain == field)


def _look_up(obj: Object, field: str) -> object:
    """Return what a field holds, "" if nothing; tests also put objects that are broken."""
    found: object = obj
    for part in field.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found or ""


def _label(term: str) -> Predicate:
    if match := _IN.fullmatch(term):
        values = {each.strip() for each in match[2].split(",")}
        return lambda obj: _labels(obj).get(match[1]) in values
    key, sign, value = term.partition("=")
    if not sign or key.endswith("!") or " " in term:
        raise bad_request(f"the fake API server does not know this selector: {term!r}")
    return lambda obj: _labels(obj).get(key) == value.removeprefix("=")


def _labels(obj: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels
