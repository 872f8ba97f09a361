"""The kustomization that installs the service with an image and an address."""

import json
from pathlib import Path
from typing import Any

import pytest

from supply.overlay import OverlayError, Wanted, overlay

IMAGE = "registry.example:5000/team/extender:1.2.3"


def made(image: str = IMAGE, *addresses: str, **more: Any) -> dict[str, Any]:
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
    [image] = made("registry.example/extender@sha256:12")["images"]

    assert image["newName"] == "registry.example/extender"
    assert image["digest"] == "sha256:12"


def test_the_address_is_the_services():
    assert patch(made(IMAGE, "10.43.0.95")) == {("Service", "/spec/clusterIP"): "10.43.0.95"}


def test_two_addresses_are_of_both_families():
    assert patch(made(IMAGE, "10.43.0.95", "fd00::95")) == {
        ("Service", "/spec/clusterIP"): "10.43.0.95",
        ("Service", "/spec/clusterIPs"): ["10.43.0.95", "fd00::95"],
        ("Service", "/spec/ipFamilyPolicy"): "RequireDualStack",
    }


@pytest.mark.parametrize(
    ("wanted", "component"),
    [("with_policy", "injection-policy"), ("with_admission_policy", "admission-policy")],
)
def test_policies_are_components(wanted, component):
    given: Any = {wanted: True}

    assert made(**given)["components"] == [f"../../manifests/components/{component}"]


@pytest.mark.parametrize(
    ("more", "components"),
    [
        ({}, []),
        ({"tls": "secret"}, []),
        ({"tls": "cert-manager"}, ["../../manifests/components/cert-manager"]),
        ({"tls": "insecure"}, ["../../manifests/components/insecure"]),
    ],
)
def test_who_does_not_want_certificates_says_so(more, components):
    assert made(**more)["components"] == components


def test_certificates_name_the_address():
    found = patch(made(IMAGE, "10.43.0.95", tls="cert-manager"))

    assert found["Certificate", "/spec/ipAddresses"] == ["10.43.0.95"]
    assert ("Certificate", "/spec/ipAddresses") not in patch(made(IMAGE, "10.43.0.95"))


def test_plain_http_is_answered_for_a_time():
    assert patch(made(plain_until="2027-01-31T12:00:00Z")) == {
        ("Deployment", "/spec/template/spec/containers/0/env/-"): {
            "name": "EXTENDER_PLAIN_UNTIL",
            "value": "2027-01-31T12:00:00Z",
        }
    }


@pytest.mark.parametrize("more", [{"second_scheduler": "v1.33.4"}, {"plain_until": "later"}])
def test_plain_http_for_ever_is_refused_beside_what_ends_it(more):
    with pytest.raises(OverlayError, match="TLS=insecure goes with neither"):
        made(tls="insecure", **more)


def test_a_second_scheduler_has_the_version_of_the_cluster():
    found = made(second_scheduler="v1.33.4")

    assert found["resources"][1] == "../../manifests/secondary-scheduler"
    assert found["images"][1] == {"name": "registry.k8s.io/kube-scheduler", "newTag": "v1.33.4"}


@pytest.mark.parametrize("version", ["1.33.4", "v1.33", "v1.33.4+k3s1"])
def test_what_is_no_version_of_kube_scheduler_is_refused(version):
    with pytest.raises(OverlayError, match="like v1"):
        made(second_scheduler=version)


def test_a_policy_that_names_no_second_scheduler_is_refused_beside_one():
    with pytest.raises(OverlayError, match="no schedulerName"):
        made(second_scheduler="v1.33.4", with_policy=True)

    assert made(IMAGE, "10.43.0.95", second_scheduler="v1.33.4", with_policy=True)


@pytest.mark.parametrize("image", ["", "extender", ":1", "registry.example:5000/extender"])
def test_an_image_without_a_tag_is_refused(image):
    with pytest.raises(OverlayError, match="IMAGE is"):
        made(image)


@pytest.mark.parametrize(
    ("addresses", "why"),
    [(("10.43.0",), "10.43.0"), (("10.43.0.95", "10.43.0.96"), "two addresses of a family")],
)
def test_addresses_that_cannot_be_are_refused(addresses, why):
    with pytest.raises(OverlayError, match=why):
        made(IMAGE, *addresses)


def test_an_installation_stays_in_the_namespace_that_is_named():
    assert made(namespace="longhorn-system")["namespace"] == "longhorn-system"
    assert "namespace" not in made()
    [patch] = made(namespace="longhorn-system", with_policy=True)["patches"]
    assert patch["target"]["kind"] == "MutatingAdmissionPolicyBinding"
    assert '"/spec/paramRef/namespace", "value": "longhorn-system"' in patch["patch"]


@pytest.mark.parametrize("more", [{"second_scheduler": "v1.33.4"}, {"with_admission_policy": True}])
def test_a_namespace_is_refused_beside_what_names_its_own(more):
    with pytest.raises(OverlayError, match="NAMESPACE goes with neither"):
        made(namespace="longhorn-system", **more)
