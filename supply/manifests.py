"""Write what is made from the chart: ``python -m supply.manifests``.

The chart is the one place where the objects are written. Helm renders it once for each folder of
`manifests/` that has objects of it, comments included, so that kustomize installs the same. What
kustomize adds, such as overlays and patches, is written by hand. The table in the chart's README is
made from its values and their schema.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "longhorn-scheduler-extender"
MANIFESTS = ROOT / "manifests"
README = CHART / "README.md"
NAMESPACE = "longhorn-scheduler"
"""Of `manifests/namespace.yaml`."""

_SOURCE = re.compile(r"^---\n# Source: [^/\n]+/(.+)\n", re.MULTILINE)
"""What Helm writes above each document: the chart and the template."""
OWN = "--set=mode=cluster-scheduler"
"""Manifests are for the cluster's own kube-scheduler; the second one is a folder of its own."""
CLOSED = "--set=tls.mode=secret,tls.clientNames={kube-scheduler}"
"""And for clients with a certificate from `manifests/certificates.sh` or from cert-manager."""
STARTUP_TAINT = "startup-taint.cluster-autoscaler.kubernetes.io/longhorn"
"""The key that docs/cluster-autoscaler.md proposes."""
_SCHEDULER = "templates/secondary-scheduler"
_TIMEOUT_SECONDS = 60
_LONGEST_DEFAULT = 40
_TABLE = re.compile(r"(?<=<!-- values -->\n).*(?=<!-- /values -->)", re.DOTALL)


class HelmError(Exception):
    """Helm is missing, or does not render the chart; the text is what it says."""


class Folder(NamedTuple):
    """A folder below `manifests/`, and what of the chart is written into it."""

    path: str
    options: tuple[str, ...]
    """Options for `helm template`."""
    templates: Mapping[str, str]
    """The template of each file."""


FOLDERS = (
    Folder(
        "base",
        ("--set=injection.mode=none",),
        {
            f"{name}.yaml": f"templates/{name}.yaml"
            for name in (
                *("configmap", "deployment", "longhorn-rbac", "networkpolicy", "pdb", "rbac"),
                *("service", "serviceaccount"),
            )
        },
    ),
    Folder(
        "components/admission-policy",
        ("--api-versions=admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy",),
        {"policy.yaml": "templates/admission-policy.yaml"},
    ),
    Folder(
        "components/cert-manager",
        ("--set=tls.mode=certManager",),
        {
            "ca.yaml": "templates/cert-manager/ca.yaml",
            "certificates.yaml": "templates/cert-manager/certificates.yaml",
        },
    ),
    Folder(
        "components/disk-schedule-controller",
        ("--set=diskScheduleController.enabled=true",),
        {
            f"{name}.yaml": f"templates/disk-schedule/{name}.yaml"
            for name in ("deployment", "networkpolicy", "rbac", "serviceaccount")
        },
    ),
    Folder(
        "components/disk-schedule-monitoring",
        ("--set=diskScheduleController.enabled=true", "--set=metrics.podMonitor.enabled=true"),
        {"podmonitor.yaml": "templates/disk-schedule/podmonitor.yaml"},
    ),
    Folder(
        "components/disk-schedule-objects",
        (
            "--set=diskScheduleController.enabled=true",
            "--set=diskScheduleController.manageObjects=true",
        ),
        {"rbac.yaml": "templates/disk-schedule/objects-rbac.yaml"},
    ),
    Folder(
        "components/injection-policy",
        (
            "--set=injection.mode=policy",
            "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy",
        ),
        {"policy.yaml": "templates/injection-policy.yaml"},
    ),
    Folder(
        "components/startup-taint",
        (f"--set=startupTaint={STARTUP_TAINT}",),
        {f"{name}.yaml": f"templates/startup-taint/{name}.yaml" for name in ("policy", "rbac")},
    ),
    Folder(
        "disk-schedule",
        ("--set=diskScheduleController.definition=true",),
        {"crd.yaml": "templates/disk-schedule/crd.yaml"},
    ),
    Folder(
        "monitoring",
        ("--set=metrics.podMonitor.enabled=true",),
        {"podmonitor.yaml": "templates/monitoring/podmonitor.yaml"},
    ),
    Folder(
        "secondary-scheduler",
        ("--set=mode=second-scheduler", "--kube-version=v1.36.2"),
        {f"{name}.yaml": f"{_SCHEDULER}/{name}.yaml" for name in ("deployment", "pdb", "rbac")},
    ),
)
"""The version of Kubernetes is the one in `manifests/secondary-scheduler/kustomization.yaml`."""


def render(*options: str) -> str:
    """Return what `helm template` prints of the chart, in the service's namespace.

    Raises:
        HelmError: Helm is missing, or refuses the options or their values.
    """
    helm = shutil.which("helm")
    if helm is None:
        raise HelmError("helm is not on the PATH; CONTRIBUTING.md says how to install it")
    place = f"--namespace={NAMESPACE}"
    command = [helm, "template", CHART.name, str(CHART), place, "--values=-", *options]
    done = subprocess.run(  # noqa: S603 (our own chart)
        command,
        input=f"image: {{repository: {CHART.name}}}",
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode:
        raise HelmError(done.stderr.strip())
    return done.stdout


def by_template(rendered: str) -> dict[str, list[str]]:
    """Return the documents of each template, in the order in which Helm renders them."""
    _, *parts = _SOURCE.split(rendered)
    documents: dict[str, list[str]] = {}
    for template, text in zip(parts[::2], parts[1::2], strict=True):
        documents.setdefault(template, []).append(text.rstrip() + "\n")
    return documents


def files() -> dict[Path, str]:
    """Return what is written, by path.

    Raises:
        HelmError: As `render` does.
    """
    written = {README: readme(README.read_text(encoding="utf-8"))}
    for folder in FOLDERS:
        documents = by_template(render(OWN, CLOSED, *folder.options))
        for name, template in folder.templates.items():
            text = "---\n".join(documents[template])
            written[MANIFESTS / folder.path / name] = _head(template) + text
        if config_maps := documents.get(f"{_SCHEDULER}/configmap.yaml"):
            # kustomize makes the ConfigMap itself: its name ends in a hash of this file.
            [config_map] = config_maps
            text = yaml.safe_load(config_map)["data"]["config.yaml"]
            head = _head("templates/_scheduler_config.tpl")
            written[MANIFESTS / folder.path / "config.yaml"] = head + text
    return written


def readme(text: str) -> str:
    """Return the README with its table of values made anew."""
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    table = "| Value | Default | What |\n|---|---|---|\n" + "".join(_rows(values, schema, ""))
    return _TABLE.sub(lambda _: f"\n{table}\n", text)


def _rows(values: Mapping[str, Any], schema: Mapping[str, Any], above: str) -> Iterator[str]:
    """Go through the values that the schema describes one by one."""
    for name, value in values.items():
        described = schema["properties"][name]
        if value and "properties" in described:
            yield from _rows(value, described, f"{above}{name}.")
            continue
        default = json.dumps(value)
        default = f"`{default}`" if len(default) <= _LONGEST_DEFAULT else "in `values.yaml`"
        yield f"| `{above}{name}` | {default} | {described['description']} |\n"


def _head(template: str) -> str:
    return f"# Written by `make manifests` from the chart's {template}.\n"


def main() -> None:
    """Write the files."""
    try:
        written = files()
    except HelmError as error:
        sys.exit(f"manifests: {error}")
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
