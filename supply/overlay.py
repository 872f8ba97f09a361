"""Write a kustomization that installs the service: `python -m supply.overlay --image … FOLDER`.

`make install-cluster` applies it. So nobody has to edit a file of the repository to name an image
or an address.
"""

import argparse
import ipaddress
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NAME = "longhorn-scheduler-extender"
BASE, POLICY = "manifests/base", "manifests/components/injection-policy"
NONE, INJECTED = "none", "policy"


class OverlayError(Exception):
    """An argument that cannot be used; the text says which, and what it must be like."""


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
    parser.add_argument("--injection", choices=(NONE, INJECTED), default=NONE)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    try:
        content = overlay(
            arguments.image,
            arguments.cluster_ip.split(),
            with_policy=arguments.injection == INJECTED,
            root=Path(os.path.relpath(ROOT, arguments.folder)),
        )
    except OverlayError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "kustomization.yaml").write_text(json.dumps(content, indent=2) + "\n")
    return 0


def overlay(
    image: str, addresses: Sequence[str], *, with_policy: bool, root: Path
) -> dict[str, Any]:
    """Return the kustomization.

    Args:
        image: Like REPOSITORY:TAG, or REPOSITORY@sha256:DIGEST.
        addresses: Of the Service, at most one of each family.
        with_policy: Whether pods are to have the extender's resource by themselves.
        root: The repository, from the folder of the kustomization.

    Raises:
        OverlayError: The image or an address cannot be used.
    """
    patches = [{"op": "add", "path": f"/spec/{k}", "value": v} for k, v in _service(addresses)]
    content: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [str(root / BASE)],
        "images": [{"name": NAME, **_image(image)}],
    }
    if with_policy:
        content["components"] = [str(root / POLICY)]
    if patches:
        target = {"kind": "Service", "name": NAME}
        content["patches"] = [{"target": target, "patch": json.dumps(patches)}]
    return content


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
