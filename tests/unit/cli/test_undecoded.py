"""Objects of JSON are read in one step, and only those asked for: as if all were decoded first."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BrokenObjectError, InputError
from cli.documents import Undecoded, objects
from cli.files import load_cluster
from cli.kube.decoding import read_object
from cli.kube.resources import PLANNED
from longhorn import Volume
from planner.records import KubernetesNode
from tests.unit.cli.given_files import nodes_of

LONGHORN = "longhorn.io/v1beta2"
NODE = b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}'

numbers = st.sampled_from(
    ["0", "-1", "1.0", "5e+09", "1.5", "9.007199254740993e+15", "1e400", "NaN", "9" * 30]
)
values = numbers | st.sampled_from(["null", "true", '"5Gi"', '"5"', '"\\ud800"', "[]", "{}"])
kinds = st.sampled_from([LONGHORN, "longhorn.io/v1beta1", "longhorn.rancher.io/v1beta1", "v1"])
texts = st.builds(
    lambda head, kind, name, size, storage, cpu: (
        f'{{"apiVersion":{head},"kind":{kind},"metadata":{{"name":{name}}},'
        f'"spec":{{"size":{size},"containers":[{{"name":"c","resources":{{"requests":'
        f'{{"cpu":{cpu}}}}}}}],"resources":{{"requests":{{"storage":{storage}}}}}}},'
        f'"status":{{"allocatable":{{"cpu":{cpu}}}}}}}'
    ),
    kinds.map(json.dumps) | values,
    st.sampled_from(['"Volume"', '"Node"', '"Pod"', '"PersistentVolumeClaim"', '"Secret"'])
    | values,
    st.just('"a"') | values,
    values,
    values,
    values,
)


def outcome(document: object) -> object:
    """Return what is read of an object, or what is complained of."""
    try:
        return read_object(document, PLANNED)
    except BrokenObjectError as error:
        return str(error)


@given(texts)
def test_an_object_is_read_as_if_all_of_it_were_decoded_first(text):
    for origin, each in objects("c.json", ".json", f'{{"items":[{text}]}}'.encode()):
        whole = each.decoded() if isinstance(each, Undecoded) else each

        assert (origin, outcome(each)) == ("c.json[0].items[0]", outcome(whole))


NOT_ASKED_FOR = {
    "list": b'{"items":[%b,{"kind":"Secret","apiVersion":"v1","x":"\xff"}]}',
    "two": b'%b\n{"kind":"Secret","apiVersion":"v1","x":"\xff"}',
    "array": b'[%b,{"kind":"TagList","apiVersion":"v1","items":[{"":"\xff"}]}]',
}


@pytest.mark.parametrize("text", NOT_ASKED_FOR.values(), ids=NOT_ASKED_FOR)
def test_what_is_not_asked_for_is_not_decoded(write, text):
    assert nodes_of(write(text % NODE, "c.json")) == ["a"]


def test_what_is_asked_for_and_cannot_be_parsed_is_named_with_its_place(write):
    path = write(b'{"items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"\xff"}}]}', "c")

    with pytest.raises(InputError, match=r"c\[0\]\.items\[0\] cannot be parsed: 'utf-8' codec"):
        load_cluster(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_objects_one_after_another_are_found_whatever_is_in_their_texts(write, end):
    first: dict[str, Any] = {"apiVersion": LONGHORN, "kind": "Volume"}
    first |= {"metadata": {"name": "v"}, "spec": {"size": "1"}, "said": "}\n{", "in": [{}, {}]}
    text = end.join([json.dumps(first, indent=0), NODE.decode()])

    cluster, problems = load_cluster(write(text, "c.json"))

    assert ([*cluster.of(Volume)], [*cluster.of(KubernetesNode)], problems) == (["v"], ["a"], [])
