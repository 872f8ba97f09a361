"""What kube-scheduler asks before it evicts pods is understood in both of its forms."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.errors import BadRequestError
from app.serving import victims
from app.serving.arguments import MOST_NODES, MOST_POD_BYTES
from app.serving.names import NodeNames
from app.serving.victims import MOST_VICTIMS, Preemption, encode_victims
from longhorn import NodeName

WIRE = Path(__file__).parents[3] / "data" / "wire"
POD = {"metadata": {"name": "pod", "namespace": "default", "uid": "1"}}
A = NodeName("a")


def decode(body: object) -> Preemption:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return victims.decode_preemption(sent, NodeNames(lambda: [A]))


def of_uids(**nodes: object) -> dict[str, Any]:
    return {"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": nodes}


def of_pods(**nodes: object) -> dict[str, Any]:
    return {"Pod": POD, "NodeNameToVictims": nodes, "NodeNameToMetaVictims": None}


@pytest.mark.parametrize("form", ["names", "nodes"])
def test_recorded_requests_are_answered_with_the_uids_that_they_have(form):
    body = (WIRE / f"preempt-{form}-1.36.json").read_bytes()
    sent = json.loads(body)
    sent = sent["NodeNameToMetaVictims"] or sent["NodeNameToVictims"]

    found = decode(body)
    answer = json.loads(encode_victims(found, [NodeName("node-2")]))

    [victim] = sent["node-2"]["Pods"]
    uid = victim["UID"] if form == "names" else victim["metadata"]["uid"]
    kept = {"node-2": {"Pods": [{"UID": uid}], "NumPDBViolations": 0}}
    assert answer == {"NodeNameToMetaVictims": kept}
    assert sorted(found.request.candidates) == ["node-1", "node-2", "node-3"]
    assert found.request.pod.claims == ("default/data", "default/log")


@pytest.mark.parametrize(
    ("victims_", "kept"),
    [
        ({"Pods": None, "NumPDBViolations": 3}, {"Pods": None, "NumPDBViolations": 3}),
        ({"Pods": []}, {"Pods": [], "NumPDBViolations": 0}),
        ({}, {"Pods": None, "NumPDBViolations": 0}),
    ],
)
def test_a_node_without_victims_is_no_error(victims_, kept):
    found = decode(of_uids(a=victims_))

    assert json.loads(encode_victims(found, [A])) == {"NodeNameToMetaVictims": {"a": kept}}


@pytest.mark.parametrize("body", [of_uids(), of_pods(), {"Pod": POD}])
def test_no_node_is_no_error(body):
    found = decode(body)

    assert (found.request.candidates, encode_victims(found, [])) == (
        [],
        b'{"NodeNameToMetaVictims":{}}',
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "the body is empty"),
        (b"  \n", "cannot be decoded"),
        (b"[" * 100_000, "cannot be decoded"),
        ({**of_uids(), "Pod": None}, "the request has no Pod"),
        ({"NodeNameToVictims": {}}, "the request has no Pod"),
        ({}, "the request has no Pod"),
        ({**of_uids(), "Pod": {"metadata": {"name": "../x"}}}, r"`Pod\.metadata\.name` is"),
        (of_uids(**{"A b": {}}), "`NodeNameToMetaVictims, key 0` is 'A b'"),
        (of_pods(**{"": {}}), "`NodeNameToVictims, key 0` is ''"),
        (of_uids(a=None), r"cannot be decoded: Expected `object`, got `null`"),
        (of_uids(a={"Pods": [None]}), "cannot be decoded"),
        (of_uids(a={"Pods": [{}]}), "missing required field `UID`"),
        (of_uids(a={"Pods": [{"UID": 5}]}), "the uid of a victim must be a text"),
        (of_uids(a={"Pods": [{"UID": "x" * 129}]}), "at most 128 characters"),
        (of_pods(a={"Pods": [{"metadata": {}}]}), "missing required field `uid`"),
        (of_uids(a={"NumPDBViolations": "x"}), "cannot be decoded"),
        (of_uids(**{f"n{n}": {} for n in range(MOST_NODES + 1)}), "more than 20000 candidates"),
        (of_pods(**{f"n{n}": {} for n in range(MOST_NODES + 1)}), "more than 20000 candidates"),
        (of_uids(a={"Pods": [{"UID": ""}] * (MOST_VICTIMS + 1)}), "more than 200000 victims"),
        (
            {**of_uids(), "Pod": {**POD, "x": "x" * MOST_POD_BYTES}},
            "`Pod` is larger than 2097152 B",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(body, text):
    with pytest.raises(BadRequestError, match=text):
        decode(body)


def test_the_numbers_of_an_earlier_request_do_not_count():
    many = of_uids(**{f"n{number}": {} for number in range(MOST_NODES)})

    assert [len(decode(many).request.candidates) for _ in range(2)] == [MOST_NODES] * 2
