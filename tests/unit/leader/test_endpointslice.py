"""The slices that lead to a pod, and what is written for them to be so."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leader import Body, Collection
from leader.endpointslice import (
    Backend,
    Create,
    Delete,
    Repair,
    Replace,
    backend_of,
    desired_slices,
    repairs,
    withdrawals,
)
from tests.unit.leader.services import (
    PORT,
    SERVICE,
    V4,
    V6,
    backend,
    endpoint,
    endpoint_slice,
    pod,
    port,
    service,
)
from tests.unit.leader.store import Objects

SLICES = Collection.ENDPOINT_SLICES
SERVICE_LABEL = "kubernetes.io/service-name"
OURS = endpoint_slice(endpoint())
OURS_V6 = endpoint_slice(endpoint("us", V6), family="IPv6")
STRAY = endpoint_slice(endpoint("them", "10.0.0.9"), name="stray")


def desired(of: Body | None = None, to: Backend | None = None) -> list[dict[str, Any]]:
    return desired_slices(of or service(), to or backend(), PORT)


def kept(*bodies: Body) -> list[dict[str, Any]]:
    """Return what a listing shows of these bodies once they are written."""
    return applied([Create(body=body) for body in bodies], [])


def applied(steps: Iterable[Repair], existing: Sequence[Body]) -> list[dict[str, Any]]:
    """Return what a listing shows after these steps."""
    objects = Objects()
    for body in existing:
        objects.put(SLICES, body)
    for step in steps:
        name = step.body["metadata"]["name"]
        assert isinstance(step, Create) is (objects.get(SLICES, name) is None)
        if isinstance(step, Delete):
            objects.remove(SLICES, name)
        else:
            objects.put(SLICES, step.body)
    return objects.select(SLICES, {SERVICE_LABEL: SERVICE})


@pytest.mark.parametrize(
    ("status", "addresses"),
    [
        pytest.param({"podIP": V6, "podIPs": [{"ip": V6}]}, {"IPv6": V6}, id="ipv6"),
        pytest.param(
            {"podIP": V6, "podIPs": [{"ip": V6}, {"ip": V4}]}, {"IPv4": V4, "IPv6": V6}, id="dual"
        ),
        pytest.param(
            {"podIPs": [{"ip": V4}, {"ip": "10.0.0.8"}]}, {"IPv4": V4}, id="first-of-a-family"
        ),
        pytest.param({"podIP": V4, "podIPs": None}, {"IPv4": V4}, id="null-list"),
        pytest.param({"podIP": V4, "podIPs": [{}, None, {"ip": None}]}, {"IPv4": V4}, id="holes"),
        pytest.param({"podIP": "", "podIPs": [{"ip": ""}]}, {}, id="empty-text"),
        pytest.param(None, {}, id="null-status"),
        pytest.param(
            {"podIP": "10.0.0", "podIPs": [{"ip": "x"}, {"ip": V6}]}, {"IPv6": V6}, id="one-of-them"
        ),
        pytest.param({"podIP": 7, "podIPs": [{"ip": 10}]}, {}, id="numbers"),
        pytest.param({"podIP": "10.0.0.7/24"}, {}, id="a-network"),
    ],
)
def test_addresses_of_a_pod(status, addresses):
    assert backend_of({**pod(), "status": status}).addresses == addresses


def test_a_pod_is_known_by_name_uid_and_node():
    assert backend_of(pod("us", V4)) == backend("us")


@pytest.mark.parametrize("body", [{}, {"metadata": None, "spec": None, "status": None}])
def test_a_half_written_pod_has_no_address(body):
    assert backend_of(body) == Backend(pod="", uid="", node="", addresses={})


@pytest.mark.parametrize(
    ("families", "addresses", "expected"),
    [
        pytest.param(["IPv4"], {"IPv4": V4, "IPv6": V6}, [OURS], id="one-of-the-pods"),
        pytest.param(["IPv6", "IPv4"], {"IPv4": V4, "IPv6": V6}, [OURS_V6, OURS], id="both"),
        pytest.param(
            ["IPv4", "IPv6"], {"IPv6": V6}, [endpoint_slice(), OURS_V6], id="one-the-pod-lacks"
        ),
        pytest.param(["IPv4", "IPv9"], {"IPv4": V4}, [OURS], id="unknown"),
        pytest.param([], {"IPv4": V4}, [OURS], id="none-named"),
        pytest.param(None, {"IPv6": V6}, [OURS_V6], id="null"),
    ],
)
def test_each_family_of_the_service_has_its_slice(families, addresses, expected):
    of = service()
    of["spec"]["ipFamilies"] = families

    assert desired(of, backend(**addresses)) == expected


@pytest.mark.parametrize(
    ("of_service", "of_slice"),
    [
        pytest.param([port(None)], [""], id="unnamed"),
        pytest.param([{"port": 80}], [""], id="bare"),
        pytest.param([port("a"), port("b", number=80)], ["a", "b"], id="several"),
        pytest.param([port("u", protocol="UDP"), port("t", protocol=None)], ["t"], id="not-udp"),
        pytest.param(None, [], id="null"),
    ],
)
def test_ports_are_named_as_those_of_the_service_and_lead_to_the_pods(of_service, of_slice):
    [body] = desired_slices(service(ports=of_service), backend(), 8443)

    assert body["ports"] == [port(name, number=8443) for name in of_slice]


def test_a_pod_on_no_node_yet_is_published_without():
    [body] = desired(to=backend_of(pod("us", V4, node=None)))

    assert "nodeName" not in body["endpoints"][0]


@pytest.mark.parametrize(
    "of",
    [
        pytest.param({"metadata": {"name": SERVICE}}, id="name-only"),
        pytest.param({"metadata": {"name": SERVICE, "uid": None}, "spec": None}, id="nulls"),
    ],
)
def test_a_half_written_service_has_slices_without_an_owner(of):
    [body] = desired(of)

    assert body["metadata"]["name"] == f"{SERVICE}-ipv4"
    assert body["metadata"]["ownerReferences"] == []


def test_what_others_note_on_a_slice_is_no_reason_to_write():
    [found] = kept(OURS)
    found["metadata"]["annotations"] = {"note": "a"}
    found["metadata"]["labels"]["team"] = "storage"

    assert repairs(desired(), [found]) == []


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(endpoint_slice(endpoint(address="10.0.0.8")), id="another-address"),
        pytest.param(endpoint_slice(endpoint(), endpoint("them")), id="one-more"),
        pytest.param(endpoint_slice(endpoint(), ports=[port("web")]), id="port-name"),
        pytest.param({**OURS, "ports": None}, id="null-ports"),
        pytest.param(endpoint_slice(endpoint(), labels={SERVICE_LABEL: SERVICE}), id="no-manager"),
        pytest.param(endpoint_slice(endpoint(), labels={}), id="of-no-service"),
        pytest.param(endpoint_slice(endpoint(), ownerReferences=[]), id="no-owner"),
        pytest.param(endpoint_slice(endpoint(), ownerReferences=[{"uid": "old"}]), id="old-owner"),
    ],
)
def test_an_edited_slice_is_written_over_its_version(found):
    found = Objects().put(SLICES, found)

    steps = repairs(desired(), [found])

    metadata = {**OURS["metadata"], "resourceVersion": "1", "uid": found["metadata"]["uid"]}
    assert steps == [Replace(body={**OURS, "metadata": metadata})]


def test_what_others_note_is_kept_when_a_slice_is_written():
    [found] = kept(endpoint_slice(annotations={"note": "a"}, finalizers=["example.com/kept"]))
    found["metadata"]["labels"] |= {
        "team": "storage",
        "endpointslice.kubernetes.io/managed-by": "somebody",
    }

    [step] = repairs(desired(), [found])

    assert step.body["metadata"] == {
        **found["metadata"],
        "labels": {**OURS["metadata"]["labels"], "team": "storage"},
    }


def test_strays_are_emptied_over_their_version_and_otherwise_left():
    found = kept(OURS, {**STRAY, "ports": [port("web")]}, endpoint_slice(name="empty-stray"))
    stray = found[-1]

    steps = repairs(desired(), found)

    kind = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"}
    assert steps == [Replace(body={**kind, **stray, "endpoints": []})]


def test_only_slices_that_name_this_very_pod_are_withdrawn():
    target = endpoint()["targetRef"]
    found = kept(
        OURS,
        STRAY,
        endpoint_slice(endpoint("them"), endpoint(), name="another"),
        endpoint_slice(name="empty"),
        endpoint_slice({"addresses": [V4]}, name="without-a-target"),
        endpoint_slice({"addresses": [V4], "targetRef": None}, name="with-a-null-target"),
        endpoint_slice({"addresses": [V4], "targetRef": {**target, "uid": "later"}}, name="later"),
    )

    steps = withdrawals(found, "us-uid")

    assert [step.body["metadata"]["name"] for step in steps] == ["another", f"{SERVICE}-ipv4"]
    assert all(step.body["endpoints"] == [] for step in steps)
    assert all(step.body["metadata"]["resourceVersion"] for step in steps)


families = st.lists(st.sampled_from(["IPv4", "IPv6"]), min_size=1, max_size=2, unique=True)
pods = st.fixed_dictionaries({}, optional={"IPv4": st.just(V4), "IPv6": st.just(V6)}).filter(bool)
some_ports = st.lists(
    st.builds(
        port,
        st.sampled_from(["a", "b", None]),
        protocol=st.sampled_from(["TCP", "UDP", None]),
        number=st.integers(1, 65535),
    ),
    max_size=3,
)
found_slices = st.lists(
    st.builds(
        endpoint_slice,
        st.builds(endpoint, st.sampled_from(["us", "them"]), st.just(V4)),
        family=st.just("IPv4"),
        name=st.sampled_from([f"{SERVICE}-ipv4", f"{SERVICE}-ipv6", "stray", "another"]),
        ports=some_ports,
        annotations=st.none() | st.just({"note": "a"}),
        ownerReferences=st.none() | st.just([]),
    ),
    max_size=4,
    unique_by=lambda body: str(body["metadata"]["name"]),
)


@given(families=families, addresses=pods, ports=some_ports, found=found_slices)
def test_whatever_is_found_is_as_desired_after_one_round(families, addresses, ports, found):
    slices = desired(service(*families, ports=ports), backend(**addresses))
    existing = kept(*found)

    after = applied(repairs(slices, existing), existing)

    assert repairs(slices, after) == []
    named = {
        address
        for body in after
        for entry in body["endpoints"] or ()
        for address in entry["addresses"]
    }
    assert named == {addresses[family] for family in families if family in addresses}
