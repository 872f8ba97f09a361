"""Names in what clients send: only what Kubernetes would have accepted goes any further.

Source: kubernetes staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go.
"""

import re
from itertools import islice

from app.errors import BadRequestError
from app.kube.objects import Pod
from longhorn import NodeName

MOST_CHARACTERS = 253
MOST_CHARACTERS_OF_LABEL = 63
MOST_CHARACTERS_OF_UID = 128
"""The API server makes UUIDs, of 36 characters."""
_MOST_REMEMBERED = 10_000
"""Twice the nodes of the largest cluster that Kubernetes supports."""
_SHOWN_CHARACTERS = 60
_ALPHABET = "lower-case letters, digits, - and ."

LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
UID = "[!-~]+"
"""Patterns of a whole namespace, name and uid."""
_LABEL, _SUBDOMAIN, _UID = re.compile(LABEL), re.compile(SUBDOMAIN), re.compile(UID)
_BEGINNING = re.compile("[a-z0-9][-.a-z0-9]*")


def is_name(text: str) -> bool:
    """Whether a pod, a claim or a node can have this name: a DNS-1123 subdomain."""
    return len(text) <= MOST_CHARACTERS and _SUBDOMAIN.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Whether a namespace or a volume of a pod can have this name: a DNS-1123 label."""
    return len(text) <= MOST_CHARACTERS_OF_LABEL and _LABEL.fullmatch(text) is not None


def check_name(field: str, text: str) -> None:
    """Refuse what no pod, claim or node can be called.

    Raises:
        BadRequestError: It is none; the text names *field* and shows the value, shortened.
    """
    if not is_name(text):
        wanted = f"a name as Kubernetes allows it: {_ALPHABET}, at most {MOST_CHARACTERS}"
        raise _bad(field, text, f"{wanted}, no part of it with - at an end")


def check_beginning(field: str, text: str) -> None:
    """Refuse what no name can begin with, the same way: it may end in any of its characters."""
    if not (len(text) <= MOST_CHARACTERS and _BEGINNING.fullmatch(text)):
        raise _bad(field, text, f"the beginning of a name: {_ALPHABET}, at most {MOST_CHARACTERS}")


def check_label(field: str, text: str) -> None:
    """Refuse what no namespace and no volume of a pod can be called, the same way: a label."""
    if not is_label(text):
        wanted = "a name of lower-case letters, digits and - between them"
        raise _bad(field, text, f"{wanted}, at most {MOST_CHARACTERS_OF_LABEL}")


def check_uid(field: str, text: str) -> None:
    """Refuse what is no uid, the same way."""
    if not (len(text) <= MOST_CHARACTERS_OF_UID and _UID.fullmatch(text)):
        wanted = "a uid: printable characters of ASCII without spaces"
        raise _bad(field, text, f"{wanted}, at most {MOST_CHARACTERS_OF_UID}")


def check_pod(pod: Pod) -> None:
    """Refuse a pod with a name, namespace, uid, volume, claim or node that cannot be.

    What is absent or empty is no error, but for the pod's name. The claim of an ephemeral volume
    has the names of the pod and of the volume.

    Raises:
        BadRequestError: There is one.
    """
    metadata, status = pod.metadata, pod.status
    check_name("Pod.metadata.name", metadata.name)
    if metadata.namespace:
        check_label("Pod.metadata.namespace", metadata.namespace)
    if metadata.uid:
        check_uid("Pod.metadata.uid", metadata.uid)
    if pod.spec and pod.spec.node_name:
        check_name("Pod.spec.nodeName", pod.spec.node_name)
    if status and status.nominated_node_name:
        check_name("Pod.status.nominatedNodeName", status.nominated_node_name)
    for index, volume in enumerate((pod.spec.volumes if pod.spec else None) or ()):
        if volume.name and not is_label(volume.name):
            check_label(f"Pod.spec.volumes[{index}].name", volume.name)
        claim = volume.persistent_volume_claim and volume.persistent_volume_claim.claim_name
        if claim and not is_name(claim):
            field = f"Pod.spec.volumes[{index}].persistentVolumeClaim.claimName"
            check_name(field, claim)


class NodeNames:
    """Checks names of nodes, thousands at a time.

    To check 5,000 of them one by one takes as long as all else of an answer. kube-scheduler sends
    the same again and again, so those that were right are remembered, up to a bound. The same
    objects go on to all that looks names up, which takes half as long with them. No result depends
    on it.
    """

    def __init__(self) -> None:
        self._right: dict[NodeName, NodeName] = {}

    def each_once(self, names: list[NodeName], field: str) -> list[NodeName]:
        """Return *names* in their order, each once.

        Args:
            names: What was sent.
            field: Where, with `{}` for the index.

        Raises:
            BadRequestError: One is none; the text names the field and shows the value, shortened.
        """
        try:
            same = [*map(self._right.__getitem__, names)]
        except KeyError:
            new = {name: name for name in names if name not in self._right}
            for index, name in enumerate(names):
                if name in new:
                    check_name(field.format(index), name)
            if len(self._right) + len(new) > _MOST_REMEMBERED:
                self._right.clear()
            self._right |= islice(new.items(), _MOST_REMEMBERED)
            same = names
        return same if len(set(same)) == len(same) else list(dict.fromkeys(same))


def _bad(field: str, text: str, wanted: str) -> BadRequestError:
    shown = text[:_SHOWN_CHARACTERS]
    more = f" and {len(text) - len(shown)} more characters" if len(text) > len(shown) else ""
    return BadRequestError(f"`{field}` is {shown!a}{more}; it must be {wanted}")
