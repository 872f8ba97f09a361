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


def container_of(deployment: Object) -> Object:
    """The only container of a Deployment."""
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container
