"""What Helm makes of the chart, for the tests of this folder."""

import subprocess
from functools import cache
from typing import Any

import yaml

from supply.manifests import CHART, NAMESPACE, OWN, HelmError, render
from tests import tools
from tests.unit.manifests.rendered import Object, documents

NAME = "longhorn-scheduler-extender"
CLUSTER_SCOPED = {
    *("ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration"),
    "CustomResourceDefinition",
    *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
}
DEFAULTS = ""
VALUES = [DEFAULTS, *sorted(path.name for path in (CHART / "ci").iterdir())]
"""Files of values that the chart is rendered with, and none."""
WITH_ADDRESS = "--set=service.clusterIP.ipv4=10.96.0.95"
"""With it a kube-scheduler can be configured."""
CONFIGURED = "--set=kubeSchedulerConfigured=true"
"""With it as well, it is configured, and injection begins."""
WITHOUT_INJECTION = "--set=injection.mode=none"
"""With it the chart has what manifests have that leave it to a component."""
INSECURE = "--set=tls.mode=insecure"
IMAGE = f"--set=image.repository={NAME}"
SHORT = {"ADDRESS": WITH_ADDRESS, "CONFIGURED": CONFIGURED, "INSECURE": INSECURE, "OWN": OWN}
_HOOK = "helm.sh/hook"


def options_of(text: str) -> tuple[str, ...]:
    """Read the arguments of `charted`: `- a=1 --debug` are `"", "--set=a=1", "--debug"`.

    The first word is the file of values, `-` for none; one in capitals is a key of `SHORT`.
    """
    values, *words = text.split()
    options = [
        SHORT.get(word, word if word.startswith("--") else f"--set={word}") for word in words
    ]
    return ("" if values == "-" else values, *options)


@cache
def charted(values: str, *options: str) -> tuple[Object, ...]:
    """Return what Helm installs, each object with its namespace.

    Args:
        values: One of `VALUES`, with or without its ending.
        options: For `helm template`.
    """
    return tuple(obj for obj in _rendered(values, *options) if _HOOK not in annotations(obj))


def hooks(values: str, *options: str) -> tuple[Object, ...]:
    """Return what Helm creates for `helm test`; arguments as of `charted`."""
    return tuple(obj for obj in _rendered(values, *options) if _HOOK in annotations(obj))


def template(name: str, *options: str) -> list[Object]:
    """Return the objects of one template; *options* are of `helm template`."""
    tools.find("helm")
    try:
        text = render(f"--show-only=templates/{name}.yaml", *options)
    except HelmError as error:
        if "could not find template" in str(error):  # it renders nothing
            return []
        raise
    return [obj for obj in documents(text) if obj is not None]


def refusal(*options: str) -> str:
    """Return what Helm says against the options."""
    tools.find("helm")
    try:
        render(*options)
    except HelmError as error:
        return str(error)
    raise AssertionError(f"Helm takes {options}")


def helm(*arguments: str) -> str:
    """Return what Helm prints."""
    done = subprocess.run(
        [tools.find("helm"), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def values_option(values: str) -> tuple[str, ...]:
    """Return the option that gives Helm these values."""
    name = values.removesuffix("-values.yaml")
    return (f"--values={CHART}/ci/{name}-values.yaml",) if name else ()


def find(objects: tuple[Object, ...], kind: str, name: str = NAME) -> Object:
    """Return the only object of this kind and name."""
    [found] = [obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == (kind, name)]
    return found


def default_values() -> dict[str, Any]:
    """Return the chart's values."""
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert isinstance(values, dict)
    return values


def annotations(obj: Object) -> Object:
    return obj["metadata"].get("annotations") or {}


@cache
def _rendered(values: str, *options: str) -> tuple[Object, ...]:
    tools.find("helm")
    objects = documents(render(*values_option(values), *options))
    for obj in objects:
        if obj["kind"] not in CLUSTER_SCOPED:
            obj["metadata"].setdefault("namespace", NAMESPACE)
    return objects
