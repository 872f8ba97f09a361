"""The kustomization that installs the service with an image and an address."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from supply.overlay import OverlayError, Wanted, overlay

IMAGE = "registry.example:5000/team/extender:1.2.3"


COMPONENTS = "../../manifests/components"


def made(*addresses: str, image: str = IMAGE, **more: Any) -> dict[str, Any]:
    return overlay(Wanted(image, addresses, **more), Path("../.."))


def patch(content: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {
        (each["target"]["kind"], step["path"]): step["value"]
        for each in content["patches"]
        for step in json.loads(each["patch"])
    }


def test_it_names_the_image_and_leaves_the_address_to_kubernetes():
    assert made() == {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["../../manifests/base"],
        "images": [
            {
                "name": "longhorn-scheduler-extender",
                "newName": "registry.example:5000/team/extender",
                "newTag": "1.2.3",
            }
        ],
        "components": [],
        "patches": [],
    }


def test_an_image_may_be_named_by_its_digest():
    [image] = made(image="registry.example/extender@sha256:12")["images"]

    assert image["newName"] == "registry.example/extender"
    assert image["digest"] == "sha256:12"


def test_the_address_is_the_services():
    assert patch(made("10.43.0.95")) == {("Service", "/spec/clusterIP"): "10.43.0.95"}


def test_two_addresses_are_of_both_families():
    assert patch(made("10.43.0.95", "fd00::95")) == {
        ("Service", "/spec/clusterIP"): "10.43.0.95",
        ("Service", "/spec/clusterIPs"): ["10.43.0.95", "fd00::95"],
        ("Service", "/spec/ipFamilyPolicy"): "RequireDualStack",
    }


WANTED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, []),
    "a policy for pods": ({"with_policy": True}, ["injection-policy"]),
    "policies on what is written": ({"with_admission_policy": True}, ["admission-policy"]),
    "certificates of a Secret": ({"tls": "secret"}, []),
    "certificates of cert-manager": ({"tls": "cert-manager"}, ["cert-manager"]),
    "no certificates": ({"tls": "insecure"}, ["insecure"]),
}


@pytest.mark.parametrize(("more", "components"), WANTED.values(), ids=WANTED)
def test_what_is_wanted_besides_is_a_component(more, components):
    assert made(**more)["components"] == [f"{COMPONENTS}/{each}" for each in components]


def test_certificates_name_the_address():
    found = patch(made("10.43.0.95", tls="cert-manager"))

    assert found["Certificate", "/spec/ipAddresses"] == ["10.43.0.95"]
    assert ("Certificate", "/spec/ipAddresses") not in patch(made("10.43.0.95"))


def test_plain_http_is_answered_for_a_time():
    assert patch(made(plain_until="2027-01-31T12:00:00Z")) == {
        ("Deployment", "/spec/template/spec/containers/0/env/-"): {
            "name": "EXTENDER_PLAIN_UNTIL",
            "value": "2027-01-31T12:00:00Z",
        }
    }


def test_a_second_scheduler_has_the_version_of_the_cluster():
    found = made(second_scheduler="v1.33.4")

    assert found["resources"][1] == "../../manifests/secondary-scheduler"
    assert found["images"][1] == {"name": "registry.k8s.io/kube-scheduler", "newTag": "v1.33.4"}


def test_a_policy_beside_a_second_scheduler_may_come_with_an_address():
    assert made("10.43.0.95", second_scheduler="v1.33.4", with_policy=True)


def test_an_installation_stays_in_the_namespace_that_is_named():
    assert made(namespace="longhorn-system")["namespace"] == "longhorn-system"
    assert "namespace" not in made()
    [patch] = made(namespace="longhorn-system", with_policy=True)["patches"]
    assert patch["target"]["kind"] == "MutatingAdmissionPolicyBinding"
    assert '"/spec/paramRef/namespace", "value": "longhorn-system"' in patch["patch"]


SECOND = {"second_scheduler": "v1.33.4"}
OTHER_NAMESPACE = {"namespace": "longhorn-system"}
PLAIN = {"tls": "insecure"}
REFUSED: dict[str, tuple[Sequence[str], dict[str, Any], str]] = {
    "plain HTTP, a second scheduler": ((), PLAIN | SECOND, "TLS=insecure goes with neither"),
    "plain HTTP, until a time": (
        (), PLAIN | {"plain_until": "later"}, "TLS=insecure goes with neither"),
    "a namespace, a second scheduler": (
        (), OTHER_NAMESPACE | SECOND, "NAMESPACE goes with neither"),
    "a namespace, policies that name their own": (
        (), OTHER_NAMESPACE | {"with_admission_policy": True}, "NAMESPACE goes with neither"),
    "a policy that names no second scheduler": (
        (), SECOND | {"with_policy": True}, "no schedulerName"),
    "a version without v": ((), {"second_scheduler": "1.33.4"}, "like v1"),
    "a version in part": ((), {"second_scheduler": "v1.33"}, "like v1"),
    "a version of a distribution": ((), {"second_scheduler": "v1.33.4+k3s1"}, "like v1"),
    "no image": ((), {"image": ""}, "IMAGE is"),
    "an image without a tag": ((), {"image": "extender"}, "IMAGE is"),
    "a tag without an image": ((), {"image": ":1"}, "IMAGE is"),
    "a port and no tag": ((), {"image": "registry.example:5000/extender"}, "IMAGE is"),
    "no address": (("10.43.0",), {}, "10.43.0"),
    "addresses of a family": (("10.43.0.95", "10.43.0.96"), {}, "two addresses of a family"),
}  # fmt: skip


@pytest.mark.parametrize(("addresses", "more", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused(addresses, more, why):
    with pytest.raises(OverlayError, match=why):
        made(*addresses, **more)
