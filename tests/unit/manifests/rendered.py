"""What `kubectl apply -k` would send, for the tests of this folder."""

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

from tests import tools

ROOT = Path(__file__).parents[3]
MANIFESTS = ROOT / "manifests"
BASE, FIXED, SECONDARY = "base", "overlays/fixed-cluster-ip", "secondary-scheduler"
CERT_MANAGER, MONITORING = "overlays/tls-cert-manager", "monitoring"

Object = dict[str, Any]


@cache
def rendered(folder: str) -> tuple[Object, ...]:
    """The objects of a folder below `manifests/`."""
    return render(MANIFESTS / folder)


def render(folder: Path) -> tuple[Object, ...]:
    """Build a kustomization with whichever tool is there."""
    program = Path(tools.find("kustomize", "kubectl"))
    command = [program, "build" if program.name == "kustomize" else "kustomize", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    # Both tools name deprecated fields on stderr and go on, so that must be empty, too.
    assert (done.returncode, done.stderr) == (0, "")
    return documents(done.stdout)


def documents(text: str) -> tuple[Object, ...]:
    """Read YAML with libyaml, which is much quicker than Python."""
    return tuple(yaml.load_all(text, yaml.CSafeLoader))


def check(obj: Object, version: str) -> None:
    """Fail if this version of Kubernetes would not take an object, or not all of it."""
    _check(json.dumps(obj), version)


@cache
def _check(text: str, version: str) -> None:
    """Many renderings have the same object, and for each the library reads all of the schema."""
    kubernetes_validate.validate(json.loads(text), version, strict=True)


def write_overlay(folder: Path, base: str, content: Object) -> None:
    """Write a kustomization on top of ours; kustomize takes relative paths only."""
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(MANIFESTS / base, folder)],
        **content,
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(overlay), encoding="utf-8")


def one(folder: str, kind: str, name: str) -> Object:
    """The only object of this kind and name."""
    [found] = [
        obj for obj in rendered(folder) if (obj["kind"], obj["metadata"]["name"]) == (kind, name)
    ]
    return found


def rows_of(text: str) -> dict[str, tuple[str, ...]]:
    """Read a table: a row of each line, with bars between its cells; all but the last name it."""
    rows = [tuple(cell.strip() for cell in line.split("|")) for line in text.strip().splitlines()]
    found = {" ".join(row[:-1]): row for row in rows}
    assert len(found) == len(rows), "two rows of a name"
    return found


def at(value: Any, path: str) -> Any:
    """Return what stands at a path within an object, None if nothing does.

    `spec.replicas` are names of fields. `ports.http` is the entry of a list with that name, and
    `rules.*.verbs` a list of those of all entries. `pod` is short for the `spec.template.spec` of
    a Deployment or Job, and `container` for its only container.
    """
    first, _, rest = path.partition(".")
    if first == "pod":
        found = value["spec"]["template"]["spec"]
    elif first == "container":
        [found] = value["spec"]["template"]["spec"]["containers"]
    elif first == "*":
        return [at(each, rest) if rest else each for each in value]
    elif isinstance(value, list):
        found = next((each for each in value if each["name"] == first), None)
    else:
        found = value.get(first)
    return at(found, rest) if rest and found is not None else found


def container_of(deployment: Object) -> Object:
    """The only container of a Deployment."""
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container
