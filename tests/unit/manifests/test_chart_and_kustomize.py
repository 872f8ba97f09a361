"""The chart and the kustomizations install the same objects, and neither is written twice."""

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from supply.manifests import CLOSED, MANIFESTS, NAMESPACE, OWN, ROOT, STARTUP_TAINT, files
from supply.overlay import Wanted, overlay
from supply.version import version
from tests import tools
from tests.unit.manifests.charted import (
    CLUSTER_SCOPED,
    CONFIGURED,
    DEFAULTS,
    INSECURE,
    NAME,
    WITHOUT_INJECTION,
    charted,
    find,
)
from tests.unit.manifests.rendered import (
    BASE,
    CERT_MANAGER,
    FIXED,
    MONITORING,
    SECONDARY,
    Object,
    at,
    render,
    rendered,
)

pytestmark = pytest.mark.tools

Key = tuple[str, str, str | None]
HASHED = re.compile(r"longhorn-scheduler-config(-[a-z0-9]{10})?")
"""The name of a ConfigMap, to which kustomize adds a hash of its contents."""


def normal(value: Any) -> Any:
    """Sort lists of what has a name, since a patch of kustomize puts its entries first."""
    if isinstance(value, dict):
        return {name: normal(each) for name, each in value.items()}
    if isinstance(value, list):
        entries = [normal(each) for each in value]
        if all(isinstance(each, dict) and "name" in each for each in entries):
            return sorted(entries, key=lambda each: str(each["name"]))
        return entries
    if isinstance(value, str) and HASHED.fullmatch(value):
        return "longhorn-scheduler-config"
    return value


def by_key(objects: tuple[Object, ...]) -> dict[Key, Object]:
    found = {}
    for obj in map(normal, objects):
        metadata = obj["metadata"]
        # Helm alone would take the Service away while kube-scheduler calls it.
        if metadata.get("annotations", {}).pop("helm.sh/resource-policy", "") == "keep":
            metadata["annotations"] = metadata["annotations"] or None
            metadata = obj["metadata"] = {k: v for k, v in metadata.items() if v is not None}
        found[obj["kind"], metadata["name"], metadata.get("namespace")] = obj
    return found


def all_of(folders: Iterable[str]) -> dict[Key, Object]:
    return {key: obj for folder in folders for key, obj in by_key(rendered(folder)).items()}


def kube_version() -> str:
    """The version of kube-scheduler that the kustomization of the secondary one names."""
    text = (MANIFESTS / SECONDARY / "kustomization.yaml").read_text(encoding="utf-8")
    [image] = yaml.safe_load(text)["images"]
    assert isinstance(image["newTag"], str)
    return image["newTag"]


@pytest.mark.parametrize(
    ("values", "folders"),
    [
        (DEFAULTS, [BASE]),
        ("fixed-address", [FIXED]),
        ("tls-cert-manager", [CERT_MANAGER]),
        ("monitoring", [BASE, MONITORING]),
    ],
    ids=str,
)
def test_the_chart_installs_what_the_kustomizations_do(values, folders):
    closed = () if values == "tls-cert-manager" else (CLOSED,)

    assert by_key(charted(values, OWN, *closed, WITHOUT_INJECTION)) == all_of(folders)


def overlaid(folder: Path, **more: Any) -> dict[Key, Object]:
    """Return what `make install-cluster` installs."""
    wanted = Wanted(f"{NAME}:{version(ROOT)}", ["10.96.0.95"], **more)
    content = overlay(wanted, Path(os.path.relpath(ROOT, folder)))
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return by_key(render(folder))


def kustomized(folder: Path, *components: str) -> dict[Key, Object]:
    """Return what the service and these components install."""
    root = Path(os.path.relpath(MANIFESTS, folder))
    content = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [str(root / BASE)],
        "components": [str(root / "components" / each) for each in components],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return by_key(render(folder))


def test_the_right_to_take_a_taint_off_is_the_same(tmp_path):
    assert kustomized(tmp_path, "startup-taint") == by_key(
        charted(DEFAULTS, OWN, CLOSED, WITHOUT_INJECTION, f"--set=startupTaint={STARTUP_TAINT}")
    )


UNTIL = "2027-01-31T12:00:00Z"
SERVED = "--api-versions=admissionregistration.k8s.io/v1/"
LIKE_THE_CHART: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "the policy for pods": (
        {"with_policy": True}, (CONFIGURED, f"{SERVED}MutatingAdmissionPolicy")),
    "the policies on what is written": (
        {"with_admission_policy": True},
        (WITHOUT_INJECTION, f"{SERVED}ValidatingAdmissionPolicy")),
    "plain HTTP for a time": (
        {"plain_until": UNTIL}, (WITHOUT_INJECTION, f"--set=tls.plainUntil={UNTIL}")),
}  # fmt: skip


@pytest.mark.parametrize(("more", "options"), LIKE_THE_CHART.values(), ids=LIKE_THE_CHART)
def test_the_command_installs_what_the_chart_does(tmp_path, more, options):
    assert overlaid(tmp_path, **more) == by_key(charted("fixed-address", CLOSED, *options))


LIKE_FOLDERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "certificates of a Secret": ({"tls": "secret"}, [FIXED]),
    "certificates of cert-manager": ({"tls": "cert-manager"}, [CERT_MANAGER]),
    "a second scheduler": ({"second_scheduler": kube_version()}, [FIXED, SECONDARY]),
}


@pytest.mark.parametrize(("more", "folders"), LIKE_FOLDERS.values(), ids=LIKE_FOLDERS)
def test_the_command_installs_what_the_folders_do(tmp_path, more, folders):
    assert overlaid(tmp_path, **more) == all_of(folders)


def test_the_command_installs_plain_http_if_that_is_asked_for(tmp_path):
    found = overlaid(tmp_path, tls="insecure")
    pod = at(found["Deployment", NAME, NAMESPACE], "pod")
    # Nothing is left of these but their names.
    assert (pod.pop("volumes"), pod["containers"][0].pop("volumeMounts")) == ([], [])

    assert found == by_key(charted("fixed-address", INSECURE, WITHOUT_INJECTION))


def test_the_secondary_scheduler_is_the_same_but_for_how_a_new_configuration_restarts_it():
    expected = all_of([BASE, SECONDARY])
    config_map = expected["ConfigMap", "longhorn-scheduler-config", NAMESPACE]
    head, _, config = config_map["data"]["config.yaml"].partition("\n")
    config_map["data"]["config.yaml"] = config

    version = f"--kube-version={kube_version()}"
    found = by_key(charted("secondary-scheduler", version, CLOSED, WITHOUT_INJECTION))
    # Helm lets these pods alone in; with kustomize nobody knows what else a cluster has.
    del found["NetworkPolicy", NAME, NAMESPACE], expected["NetworkPolicy", NAME, NAMESPACE]
    pods = found["Deployment", "longhorn-scheduler", NAMESPACE]["spec"]["template"]
    restarts_by = pods["metadata"].pop("annotations")

    assert found == expected
    assert "make manifests" in head
    assert f":{kube_version()}\n" in (MANIFESTS / SECONDARY / "deployment.yaml").read_text()
    assert restarts_by == {"checksum/config": hashlib.sha256(config.rstrip().encode()).hexdigest()}


def test_another_configuration_restarts_the_secondary_scheduler():
    def checksum(*options: str) -> str:
        objects = charted("secondary-scheduler", *options)
        metadata = find(objects, "Deployment", "longhorn-scheduler")["spec"]["template"]["metadata"]
        return str(metadata["annotations"]["checksum/config"])

    assert checksum() == checksum("--set=replicas=3") != checksum("--set=service.port=443")


def test_what_is_made_from_the_chart_is_as_it_is_written():
    tools.find("helm")

    stale = [
        path.relative_to(ROOT).as_posix()
        for path, text in files().items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `make manifests`"


def test_every_object_of_the_kustomizations_is_made_from_the_chart_or_by_the_monitoring():
    by_hand = {
        path.relative_to(MANIFESTS).as_posix()
        for path in MANIFESTS.rglob("*.yaml")
        if path.parent.name != "scheduler" and "Written by `make" not in path.read_text()
    }

    # What only kustomize has: how parts go together, and the patch of a Deployment. And what comes
    # before both: Helm makes the namespace of a release without labels.
    assert {path for path in by_hand if not path.endswith("kustomization.yaml")} == {
        "components/insecure/deployment.yaml",
        "begin-injection.yaml",
        "namespace.yaml",
    }


def test_objects_of_the_chart_are_in_a_namespace_if_they_can_be():
    places = {
        (obj["kind"] in CLUSTER_SCOPED, obj["metadata"].get("namespace"))
        for obj in charted("everything", "--namespace=storage")
    }

    # charted() fills in the namespace for what leaves it to Helm.
    assert places == {
        (True, None),
        (False, NAMESPACE),
        (False, "longhorn-elsewhere"),
        (False, "storage"),
        (False, "kube-system"),
    }
