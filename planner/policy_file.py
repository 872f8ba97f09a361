"""Reading a policy that an administrator wrote as JSON.

The form is that of kube-scheduler's first policy files. Whatever is not known is refused: a
misspelt name would silently leave a rule out.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from planner.policy import (
    MOST_WEIGHT,
    TODAY_POLICY,
    ChosenPredicate,
    ChosenPriority,
    LabelPreference,
    LabelsPresence,
    Policy,
    PolicyError,
    ServiceAffinity,
    ServiceAntiAffinity,
)
from planner.predicates import LONGHORN_FIT, PREDICATES
from planner.priorities import PRIORITIES

Chosen = TypeVar("Chosen", ChosenPredicate, ChosenPriority)

_PREDICATE_ARGUMENTS = ("serviceAffinity", "labelsPresence")
_PRIORITY_ARGUMENTS = ("serviceAntiAffinity", "labelPreference")
_MOST_ENTRIES = 100
_MOST_CHARACTERS = 253
_LABEL = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


def read_policy(document: object) -> Policy:
    """Read a policy from decoded JSON.

    A list that is given replaces the default one whole; one that is not given is that of
    TODAY_POLICY. Each priority has to say its weight: one that is forgotten would count as much as
    any other. `presence` of a labelPreference is true if it is not given.

    Raises:
        PolicyError: Something is wrong; only the first thing is told.
    """
    policy = _object(document, "the policy", ("kind", "version", "predicates", "priorities"))
    for key, value in (("kind", "Policy"), ("version", "v1")):
        if policy.get(key) != value:
            raise PolicyError(f'{key}: must be "{value}", {_but(policy, key)}')
    return Policy(
        predicates=_list(policy, "predicates", _predicate, TODAY_POLICY.predicates),
        priorities=_list(policy, "priorities", _priority, TODAY_POLICY.priorities),
    )


def _list(
    policy: Mapping[str, Any],
    key: str,
    read: Callable[[object, str], Chosen],
    default: tuple[Chosen, ...],
) -> tuple[Chosen, ...]:
    if key not in policy:
        return default
    entries = policy[key]
    if not isinstance(entries, list):
        raise PolicyError(f"{key}: must be a list, {_but(policy, key)}")
    if len(entries) > _MOST_ENTRIES:
        raise PolicyError(f"{key}: has {len(entries)} entries; at most {_MOST_ENTRIES} are allowed")
    found = tuple(read(entry, f"{key}[{index}]") for index, entry in enumerate(entries))
    first = dict[str, int]()
    for index, each in enumerate(found):
        before = first.setdefault(each.name, index)
        if before != index:
            text = f"{_shown(each.name)} is the name of {key}[{before}] already; give it another"
            raise PolicyError(f"{key}[{index}].name: {text}")
    return found


def _predicate(entry: object, place: str) -> ChosenPredicate:
    fields = _object(entry, place, ("name", "argument"))
    name = _name(fields, place, "predicate", (*PREDICATES, LONGHORN_FIT), _PREDICATE_ARGUMENTS)
    if "argument" not in fields:
        return ChosenPredicate(name)
    where = f"{place}.argument"
    kind, argument = _argument(fields["argument"], where, _PREDICATE_ARGUMENTS)
    where = f"{where}.{kind}"
    if kind == "serviceAffinity":
        given = _object(argument, where, ("labels",))
        return ChosenPredicate(name, ServiceAffinity(_labels(given, where)))
    given = _object(argument, where, ("labels", "presence"))
    return ChosenPredicate(name, LabelsPresence(_labels(given, where), _presence(given, where)))


def _priority(entry: object, place: str) -> ChosenPriority:
    fields = _object(entry, place, ("name", "weight", "argument"))
    name = _name(fields, place, "priority", PRIORITIES, _PRIORITY_ARGUMENTS)
    weight = _weight(fields, place)
    if "argument" not in fields:
        return ChosenPriority(name, weight)
    where = f"{place}.argument"
    kind, argument = _argument(fields["argument"], where, _PRIORITY_ARGUMENTS)
    where = f"{where}.{kind}"
    spreads = kind == "serviceAntiAffinity"
    given = _object(argument, where, ("label",) if spreads else ("label", "presence"))
    label = _label(given.get("label"), f"{where}.label", _but(given, "label"))
    if spreads:
        return ChosenPriority(name, weight, ServiceAntiAffinity(label))
    presence = _presence(given, where) if "presence" in given else True
    return ChosenPriority(name, weight, LabelPreference(label, presence=presence))


def _name(
    fields: Mapping[str, Any],
    place: str,
    what: str,
    known: Iterable[str],
    arguments: tuple[str, ...],
) -> str:
    """Return the name: one that is known without argument, or any other with one."""
    where, name = f"{place}.name", fields.get("name")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise PolicyError(f"{where}: must be a text that can be printed, {_but(fields, 'name')}")
    if len(name) > _MOST_CHARACTERS:
        raise PolicyError(f"{where}: has {len(name)} characters; {_MOST_CHARACTERS} are allowed")
    if name in known and "argument" in fields:
        text = f"{name} takes no argument; remove it, or choose another name"
        raise PolicyError(f"{place}.argument: {text}")
    if name not in known and "argument" not in fields:
        instead, own = _instead(name, known), " or ".join(arguments)
        text = f"there is no {what} {_shown(name)}; {instead} A name of your own needs an argument"
        raise PolicyError(f"{where}: {text} {own}")
    return name


def _argument(argument: object, place: str, kinds: tuple[str, ...]) -> tuple[str, object]:
    """Return the one key that says which kind it is, and what belongs to it."""
    given = _object(argument, place, kinds)
    if len(given) != 1:
        raise PolicyError(f"{place}: must have exactly one of {' and '.join(kinds)}")
    [(kind, value)] = given.items()
    return kind, value


def _weight(fields: Mapping[str, Any], place: str) -> int:
    weight = fields.get("weight")
    if isinstance(weight, int) and not isinstance(weight, bool) and 1 <= weight <= MOST_WEIGHT:
        return weight
    text = f"must be a whole number from 1 to {MOST_WEIGHT}, {_but(fields, 'weight')}"
    raise PolicyError(f"{place}.weight: {text}")


def _labels(fields: Mapping[str, Any], place: str) -> tuple[str, ...]:
    where, labels = f"{place}.labels", fields.get("labels")
    if not isinstance(labels, list) or not labels or len(labels) > _MOST_ENTRIES:
        text = f"must be a list of 1 to {_MOST_ENTRIES} labels, {_but(fields, 'labels')}"
        raise PolicyError(f"{where}: {text}")
    found = tuple(
        _label(each, f"{where}[{index}]", f"not {_shown(each)}")
        for index, each in enumerate(labels)
    )
    for index, label in enumerate(found):
        if label in found[:index]:
            raise PolicyError(f"{where}[{index}]: {_shown(label)} is there twice; remove one")
    return found


def _label(label: object, place: str, but: str) -> str:
    if isinstance(label, str) and _LABEL.fullmatch(label):
        return label
    raise PolicyError(f'{place}: must be the name of a label, such as "zone", {but}')


def _presence(fields: Mapping[str, Any], place: str) -> bool:
    presence = fields.get("presence")
    if isinstance(presence, bool):
        return presence
    raise PolicyError(f"{place}.presence: must be true or false, {_but(fields, 'presence')}")


def _object(value: object, place: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    """Return *value* if it is a JSON object that has no other keys than *keys*."""
    if not isinstance(value, dict):
        raise PolicyError(f"{place}: must be an object, not {_shown(value)}")
    for key in value:
        if key not in keys:
            raise PolicyError(f"{place}: has no key {_shown(key)}; {_instead(key, keys)}")
    return value


def _instead(given: object, allowed: Iterable[str]) -> str:
    names = sorted(allowed)
    near = get_close_matches(str(given)[:_MOST_CHARACTERS], names, n=1)
    return f"did you mean {near[0]}?" if near else f"allowed: {', '.join(names)}."


def _but(fields: Mapping[str, Any], key: str) -> str:
    return f"not {_shown(fields[key])}" if key in fields else "and is missing"


def _shown(value: object) -> str:
    """Say what was given as JSON would; of lists and objects only what they are."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case dict():
            return "an object" if value else "an empty object"
        case list():
            return "this list" if value else "an empty list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
