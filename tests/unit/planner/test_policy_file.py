"""Reading policies: what is taken, and what is refused with which words."""

from typing import Any

import pytest

from planner.policy import (
    SEED_POLICY,
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
from planner.policy_file import read_policy
from planner.predicates import LONGHORN_FIT, PREDICATES
from planner.priorities import PRIORITIES

HEAD = {"kind": "Policy", "version": "v1"}


def predicate(**entry: Any) -> dict[str, Any]:
    return {**HEAD, "predicates": [entry]}


def priority(**entry: Any) -> dict[str, Any]:
    return {**HEAD, "priorities": [{"weight": 1, **entry}]}


def labels(**argument: Any) -> dict[str, Any]:
    return predicate(name="Mine", argument={"labelsPresence": {"presence": True, **argument}})


def prefer(**argument: Any) -> dict[str, Any]:
    return priority(name="Mine", argument={"labelPreference": {"label": "a", **argument}})


@pytest.mark.parametrize("name", [*PREDICATES, LONGHORN_FIT])
def test_static_predicates_are_given_by_their_names(name):
    assert read_policy(predicate(name=name)).predicates == (ChosenPredicate(name),)


@pytest.mark.parametrize("name", PRIORITIES)
def test_static_priorities_are_given_by_their_names_and_weights(name):
    found = read_policy(priority(name=name, weight=3))

    assert found.priorities == (ChosenPriority(name, 3),)


@pytest.mark.parametrize("name", ["Zone", "RequireRegion", "My rule: ä"])
def test_configurable_predicates_have_any_name_and_are_known_by_their_argument(name):
    affinity = {"serviceAffinity": {"labels": ["region", "zone"]}}
    presence = {"labelsPresence": {"labels": ["region"], "presence": False}}

    found = [read_policy(predicate(name=name, argument=each)) for each in (affinity, presence)]

    assert [each.predicates for each in found] == [
        (ChosenPredicate(name, ServiceAffinity(("region", "zone"))),),
        (ChosenPredicate(name, LabelsPresence(("region",), presence=False)),),
    ]


@pytest.mark.parametrize("name", ["RackSpread", "RackPreferred", "x"])
def test_configurable_priorities_have_any_name_and_are_known_by_their_argument(name):
    spread = {"serviceAntiAffinity": {"label": "rack"}}
    preference = {"labelPreference": {"label": "example.com/rack", "presence": False}}

    found = [
        read_policy(priority(name=name, weight=2, argument=each)) for each in (spread, preference)
    ]

    assert [each.priorities for each in found] == [
        (ChosenPriority(name, 2, ServiceAntiAffinity("rack")),),
        (ChosenPriority(name, 2, LabelPreference("example.com/rack", presence=False)),),
    ]


def test_label_preference_without_presence_prefers_the_label():
    found = read_policy(
        priority(name="RackPreferred", argument={"labelPreference": {"label": "r"}})
    )

    assert found.priorities[0].argument == LabelPreference("r", presence=True)


def test_functions_of_one_kind_are_combined_under_different_names():
    spread = [
        {"name": name, "weight": 1, "argument": {"serviceAntiAffinity": {"label": name}}}
        for name in ("building", "room")
    ]

    found = read_policy({**HEAD, "priorities": spread})

    assert found.priorities == tuple(
        ChosenPriority(name, 1, ServiceAntiAffinity(name)) for name in ("building", "room")
    )


def test_a_given_list_replaces_the_default_one_whole():
    found = read_policy({**HEAD, "predicates": [{"name": "HostName"}], "priorities": []})

    assert found == Policy(predicates=(ChosenPredicate("HostName"),), priorities=())


def test_a_list_that_is_not_given_is_the_default_one():
    assert read_policy(HEAD) == TODAY_POLICY
    assert read_policy({**HEAD, "priorities": []}).predicates == TODAY_POLICY.predicates


def test_the_seed_policy_is_the_default_of_the_first_scheduler():
    assert [each.name for each in SEED_POLICY.predicates] == [
        "PodFitsPorts",
        "PodFitsResources",
        "NoDiskConflict",
        "MatchNodeSelector",
        "HostName",
    ]
    assert [(each.name, each.weight) for each in SEED_POLICY.priorities] == [
        ("LeastRequestedPriority", 1),
        ("BalancedResourceAllocation", 1),
        ("ServiceSpreadingPriority", 1),
    ]
    assert SEED_POLICY.highest_score == 30


@pytest.mark.parametrize("weight", [1, 2, 1_000_000])
def test_weights_are_whole_numbers_from_1(weight):
    found = read_policy(priority(name="EqualPriority", weight=weight))

    assert found.priorities[0].weight == weight


@pytest.mark.parametrize(
    ("weight", "shown"),
    [
        (0, "0"),
        (-1, "-1"),
        (1.5, "1.5"),
        (2.0, "2.0"),
        (True, "true"),
        ("1", "'1'"),
        (None, "null"),
        (1_000_001, "1000001"),
        (10**99, "1" + "0" * 56 + "..."),
        (float("inf"), "inf"),
    ],
)
def test_a_weight_that_is_0_or_negative_or_no_whole_number_is_refused(weight, shown):
    text = refusal_of(priority(name="EqualPriority", weight=weight))

    place = "priorities[0].weight"
    assert text == f"{place}: must be a whole number from 1 to 1000000, not {shown}"


def test_a_weight_is_required():
    text = refusal_of({**HEAD, "priorities": [{"name": "EqualPriority"}]})

    place = "priorities[0].weight"
    assert text == f"{place}: must be a whole number from 1 to 1000000, and is missing"


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ([], "the policy: must be an object, not an empty list"),
        (None, "the policy: must be an object, not null"),
        ({"version": "v1"}, 'kind: must be "Policy", and is missing'),
        ({"kind": "Pod", "version": "v1"}, "kind: must be \"Policy\", not 'Pod'"),
        ({"kind": "Policy", "version": 1}, 'version: must be "v1", not 1'),
        (
            {**HEAD, "predicate": []},
            "the policy: has no key 'predicate'; did you mean predicates?",
        ),
        (
            {**HEAD, "x" * 99: []},
            f"the policy: has no key {'x' * 56!r}...; allowed: "
            "kind, predicates, priorities, version.".replace("'...", "..."),
        ),
        ({**HEAD, "predicates": None}, "predicates: must be a list, not null"),
        ({**HEAD, "priorities": {"a": 1}}, "priorities: must be a list, not an object"),
        (
            {**HEAD, "predicates": [{"name": "HostName"}] * 101},
            "predicates: has 101 entries; at most 100 are allowed",
        ),
        ({**HEAD, "predicates": ["HostName"]}, "predicates[0]: must be an object, not 'HostName'"),
        (predicate(), "predicates[0].name: must be a text that can be printed, and is missing"),
        (predicate(name=""), "predicates[0].name: must be a text that can be printed, not ''"),
        (
            predicate(name="a\nb"),
            "predicates[0].name: must be a text that can be printed, not 'a\\nb'",
        ),
        (
            predicate(name="x" * 254, argument={}),
            "predicates[0].name: has 254 characters; 253 are allowed",
        ),
        (
            predicate(name="PodFitPorts"),
            "predicates[0].name: there is no predicate 'PodFitPorts'; did you mean PodFitsPorts? "
            "A name of your own needs an argument serviceAffinity or labelsPresence",
        ),
        (
            priority(name="PodFitsPorts"),
            "priorities[0].name: there is no priority 'PodFitsPorts'; allowed: "
            f"{', '.join(sorted(PRIORITIES))}. "
            "A name of your own needs an argument serviceAntiAffinity or labelPreference",
        ),
        (
            predicate(name="HostName", weight=1),
            "predicates[0]: has no key 'weight'; allowed: argument, name.",
        ),
        (
            predicate(name="HostName", argument={"serviceAffinity": {"labels": ["a"]}}),
            "predicates[0].argument: HostName takes no argument; remove it, or choose another name",
        ),
        (
            priority(name="EqualPriority", argument=None),
            "priorities[0].argument: EqualPriority takes no argument; remove it, or choose another "
            "name",
        ),
        (
            {**HEAD, "predicates": [{"name": "HostName"}, {"name": "HostName"}]},
            "predicates[1].name: 'HostName' is the name of predicates[0] already; give it another",
        ),
        (
            predicate(name="Mine", argument={}),
            "predicates[0].argument: must have exactly one of serviceAffinity and labelsPresence",
        ),
        (
            predicate(name="Mine", argument=None),
            "predicates[0].argument: must be an object, not null",
        ),
        (
            predicate(name="Mine", argument={"serviceAntiAffinity": {"label": "a"}}),
            "predicates[0].argument: has no key 'serviceAntiAffinity'; "
            "did you mean serviceAffinity?",
        ),
        (
            priority(name="Mine", argument={"serviceAntiAffinity": {"labels": ["a"]}}),
            "priorities[0].argument.serviceAntiAffinity: has no key 'labels'; did you mean label?",
        ),
        (
            predicate(name="Mine", argument={"serviceAffinity": {}}),
            "predicates[0].argument.serviceAffinity.labels: must be a list of 1 to 100 labels, "
            "and is missing",
        ),
        (
            labels(labels=[]),
            "predicates[0].argument.labelsPresence.labels: must be a list of 1 to 100 labels, "
            "not an empty list",
        ),
        (
            labels(labels=["a", 1]),
            "predicates[0].argument.labelsPresence.labels[1]: must be the name of a label, "
            'such as "zone", not 1',
        ),
        (
            labels(labels=["a", "b", "a"]),
            "predicates[0].argument.labelsPresence.labels[2]: 'a' is there twice; remove one",
        ),
        (
            labels(labels=["a"], presence="yes"),
            "predicates[0].argument.labelsPresence.presence: must be true or false, not 'yes'",
        ),
        (
            predicate(name="Mine", argument={"labelsPresence": {"labels": ["a"]}}),
            "predicates[0].argument.labelsPresence.presence: must be true or false, and is missing",
        ),
        (
            prefer(presence=0),
            "priorities[0].argument.labelPreference.presence: must be true or false, not 0",
        ),
        (
            prefer(label="not a label"),
            "priorities[0].argument.labelPreference.label: must be the name of a label, "
            "such as \"zone\", not 'not a label'",
        ),
        (
            priority(name="Mine", argument={"labelPreference": {}}),
            "priorities[0].argument.labelPreference.label: must be the name of a label, "
            'such as "zone", and is missing',
        ),
    ],
)
def test_what_is_refused_and_how(document, text):
    assert refusal_of(document) == text


def refusal_of(document: object) -> str:
    """Return the text of the error, which is one line."""
    with pytest.raises(PolicyError) as raised:
        read_policy(document)
    text = str(raised.value)
    assert "\n" not in text
    return text
