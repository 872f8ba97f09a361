"""What `kubectl apply -k` would send, for the tests of this folder."""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).parents[3]
MANIFESTS = ROOT / "manifests"
BASE, FIXED, SECONDARY = "base", "overlays/fixed-cluster-ip", "secondary-scheduler"
TLS, CERT_MANAGER, MONITORING = "overlays/tls", "overlays/tls-cert-manager", "monitoring"

Object = dict[str, Any]


@cache
def rendered(folder: str) -> tuple[Object, ...]:
    """The objects of a folder below `manifests/`."""
    return render(MANIFESTS / folder)


def render(folder: Path) -> tuple[Object, ...]:
    """Build a kustomization with whichever tool is there."""
    command = _command()
    if command is None:
        give_up("neither kustomize nor kubectl is on the PATH, so no manifest can be rendered")
    done = subprocess.run(
        [*command, str(folder)], capture_output=True, text=True, timeout=60, check=False
    )
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


def give_up(reason: str) -> NoReturn:
    """Skip the test for want of a tool, except in CI: there all would be skipped unnoticed."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


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


def _command() -> list[str] | None:
    if path := shutil.which("kustomize"):
        return [path, "build"]
    if path := shutil.which("kubectl"):
        return [path, "kustomize"]
    return None
