"""Write a kustomization that installs the service: `python -m supply.overlay --image … FOLDER`.

`make install-cluster` applies it. So nobody has to edit a file of the repository to name an image
or an address.
"""

import argparse
import ipaddress
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
NAME = "longhorn-scheduler-extender"
BASE, SECOND = Path("manifests/base"), Path("manifests/secondary-scheduler")
_COMPONENTS = Path("manifests/components")
TLS = {"secret": (), "cert-manager": ("cert-manager",), "insecure": ("insecure",)}
"""The components for each way to get certificates, or to do without."""
_BINDING = "MutatingAdmissionPolicyBinding"
_SCHEDULER = "registry.k8s.io/kube-scheduler"


class OverlayError(Exception):
    """An argument that cannot be used; the text says which, and what it must be like."""


class Wanted(NamedTuple):
    """What is to be installed."""

    image: str
    """Like REPOSITORY:TAG, or REPOSITORY@sha256:DIGEST."""
    addresses: Sequence[str] = ()
    """Of the Service, at most one of each family."""
    with_policy: bool = False
    """Whether pods are to have the extender's resource by themselves."""
    with_admission_policy: bool = False
    """Whether what the account may change is limited by more than RBAC."""
    tls: str = "secret"
    """Where certificates come from: one of `TLS`."""
    plain_until: str = ""
    """Until when plain HTTP is answered as well, like 2027-01-31T12:00:00Z; empty: never."""
    second_scheduler: str = ""
    """The version of a second kube-scheduler, like v1.36.2; empty: none."""
    namespace: str = ""
    """Where an installation stands that is to stay there; empty: in the namespace of the files."""


def main() -> int:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m supply.overlay", description=__doc__)
    parser.add_argument("--image", required=True, metavar="REPOSITORY:TAG")
    parser.add_argument(
        "--cluster-ip",
        default="",
        metavar="ADDRESS",
        help="of the Service; two, with a blank between them, for both families; none: any",
    )
    parser.add_argument("--injection", choices=("none", "policy"), default="none")
    parser.add_argument("--admission", choices=("none", "policy"), default="none")
    parser.add_argument("--tls", choices=TLS, default="secret")
    parser.add_argument("--plain-until", default="", metavar="TIME")
    parser.add_argument("--second-scheduler", default="", metavar="VERSION")
    parser.add_argument("--namespace", default="")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    wanted = Wanted(
        arguments.image,
        arguments.cluster_ip.split(),
        arguments.injection == "policy",
        arguments.admission == "policy",
        arguments.tls,
        arguments.plain_until,
        arguments.second_scheduler,
        arguments.namespace,
    )
    try:
        content = overlay(wanted, Path(os.path.relpath(ROOT, arguments.folder)))
    except OverlayError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "kustomization.yaml").write_text(json.dumps(content, indent=2) + "\n")
    return 0


def overlay(wanted: Wanted, root: Path) -> dict[str, Any]:
    """Return the kustomization.

    Args:
        wanted: What is to be installed.
        root: The repository, from the folder of the kustomization.

    Raises:
        OverlayError: The image, an address or a version cannot be used.
    """
    _refuse(wanted)
    policies = {
        "injection-policy": wanted.with_policy,
        "admission-policy": wanted.with_admission_policy,
    }
    components = [*TLS[wanted.tls], *(name for name, is_wanted in policies.items() if is_wanted)]
    content: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [str(root / BASE)],
        "images": [{"name": NAME, **_image(wanted.image)}],
        "components": [str(root / _COMPONENTS / each) for each in components],
        "patches": [*_patches(wanted)],
    }
    if wanted.namespace:
        content["namespace"] = wanted.namespace
    if version := wanted.second_scheduler:
        content["resources"].append(str(root / SECOND))
        content["images"].append({"name": _SCHEDULER, "newTag": version})
    return content


def _refuse(wanted: Wanted) -> None:
    """Refuse what does not go together, and what is no version."""
    version = wanted.second_scheduler
    if wanted.namespace and (version or wanted.with_admission_policy):
        raise OverlayError(
            "NAMESPACE goes with neither SECOND_SCHEDULER nor ADMISSION=policy, which say in more "
            "places where they are: install with Helm, or leave it out"
        )
    if wanted.tls == "insecure" and (version or wanted.plain_until):
        raise OverlayError(
            "TLS=insecure goes with neither SECOND_SCHEDULER, which calls with its certificate, "
            "nor PLAIN_UNTIL: install with Helm, or leave it out"
        )
    if wanted.with_policy and version and not wanted.addresses:
        raise OverlayError(
            "INJECTION=policy gives pods the resource and no schedulerName, so they would wait "
            "for ever: leave it out with SECOND_SCHEDULER, or install with Helm"
        )
    if version and not re.fullmatch(r"v\d+\.\d+\.\d+", version):
        raise OverlayError(f"SECOND_SCHEDULER is {version!r}; it must be like v1.36.2")


def _patches(wanted: Wanted) -> Iterator[dict[str, Any]]:
    if wanted.addresses:
        yield _patch("Service", NAME, _service(wanted.addresses))
        if wanted.tls == "cert-manager":
            yield _patch("Certificate", NAME, [("ipAddresses", [*wanted.addresses])])
    if wanted.plain_until:
        variable = {"name": "EXTENDER_PLAIN_UNTIL", "value": wanted.plain_until}
        yield _patch("Deployment", NAME, [("template/spec/containers/0/env/-", variable)])
    if wanted.namespace and wanted.with_policy:
        at = [("paramRef/namespace", wanted.namespace)]
        yield _patch(_BINDING, f"{NAME}-injection.longhorn-scheduler", at)


def _patch(kind: str, name: str, fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    steps = [{"op": "add", "path": f"/spec/{field}", "value": value} for field, value in fields]
    return {"target": {"kind": kind, "name": name}, "patch": json.dumps(steps)}


def _image(image: str) -> dict[str, str]:
    repository, at, digest = image.partition("@")
    if at:
        return {"newName": repository, "digest": digest}
    repository, colon, tag = image.rpartition(":")
    if not colon or "/" in tag or not repository:
        raise OverlayError(f"IMAGE is {image!r}; it must be like REPOSITORY/{NAME}:TAG")
    return {"newName": repository, "newTag": tag}


def _service(addresses: Sequence[str]) -> list[tuple[str, Any]]:
    """Return the fields of the Service that say its addresses."""
    try:
        families = [ipaddress.ip_address(each).version for each in addresses]
    except ValueError as error:
        raise OverlayError(f"CLUSTER_IP: {error}") from error
    if len(set(families)) != len(families):
        raise OverlayError("CLUSTER_IP has two addresses of a family; at most one of each can be")
    if not addresses:
        return []
    first = ("clusterIP", addresses[0])
    if len(addresses) == 1:
        return [first]
    return [first, ("clusterIPs", [*addresses]), ("ipFamilyPolicy", "RequireDualStack")]


if __name__ == "__main__":
    sys.exit(main())
