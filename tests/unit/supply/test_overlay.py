"""The kustomization that installs the service with an image and an address."""

import json
from pathlib import Path
from typing import Any

import pytest

from supply.overlay import OverlayError, overlay

IMAGE = "registry.example:5000/team/extender:1.2.3"


def made(image: str = IMAGE, *addresses: str, with_policy: bool = False) -> dict[str, Any]:
    return overlay(image, addresses, with_policy=with_policy, root=Path("../.."))


def patch(content: dict[str, Any]) -> dict[str, Any]:
    [found] = content["patches"]
    return {each["path"]: each["value"] for each in json.loads(found["patch"])}


def test_it_names_the_image_and_leaves_the_address_to_kubernetes() -> None:
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
    }


def test_an_image_may_be_named_by_its_digest() -> None:
    [image] = made("registry.example/extender@sha256:12")["images"]

    assert image["newName"] == "registry.example/extender"
    assert image["digest"] == "sha256:12"


def test_the_address_is_the_services() -> None:
    assert patch(made(IMAGE, "10.43.0.95")) == {"/spec/clusterIP": "10.43.0.95"}


def test_two_addresses_are_of_both_families() -> None:
    assert patch(made(IMAGE, "10.43.0.95", "fd00::95")) == {
        "/spec/clusterIP": "10.43.0.95",
        "/spec/clusterIPs": ["10.43.0.95", "fd00::95"],
        "/spec/ipFamilyPolicy": "RequireDualStack",
    }


def test_the_policy_is_a_component() -> None:
    assert made(with_policy=True)["components"] == ["../../manifests/components/injection-policy"]


@pytest.mark.parametrize("image", ["", "extender", ":1", "registry.example:5000/extender"])
def test_an_image_without_a_tag_is_refused(image: str) -> None:
    with pytest.raises(OverlayError, match="IMAGE is"):
        made(image)


@pytest.mark.parametrize(
    ("addresses", "why"),
    [(("10.43.0",), "10.43.0"), (("10.43.0.95", "10.43.0.96"), "two addresses of a family")],
)
def test_addresses_that_cannot_be_are_refused(addresses: tuple[str, ...], why: str) -> None:
    with pytest.raises(OverlayError, match=why):
        made(IMAGE, *addresses)
