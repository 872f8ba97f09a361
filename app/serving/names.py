"""Names in what clients send: only what Kubernetes would have accepted goes any further.

Source: kubernetes staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go.
"""

import re
from collections.abc import Callable, Collection
from itertools import compress, count, repeat
from operator import not_

from msgspec import Raw

from app.errors import BadRequestError
from app.kube.objects import Pod
from longhorn import NodeName

MOST_CHARACTERS = 253
MOST_CHARACTERS_OF_LABEL = 63
MOST_CHARACTERS_OF_UID = 128
"""The API server makes UUIDs, of 36 characters."""
MOST_VOLUMES = 1_000
"""Of a pod. Linux allows some hundred disks on a machine, and each is mounted for the pod."""
_NO_NAME = NodeName("")
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
    """Refuse a pod with a name, namespace, uid, group, volume, claim or node that cannot be.

    What is absent or empty is no error, but for the pod's name. The claim of an ephemeral volume
    has the names of the pod and of the volume. Nor can a pod have more than `MOST_VOLUMES`.

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
    _check_group(pod)
    volumes = (pod.spec.volumes if pod.spec else None) or ()
    if len(volumes) > MOST_VOLUMES:
        raise BadRequestError(f"`Pod.spec.volumes` has more than {MOST_VOLUMES} volumes")
    for index, volume in enumerate(volumes):
        if volume.name and not is_label(volume.name):
            check_label(f"Pod.spec.volumes[{index}].name", volume.name)
        claim = volume.persistent_volume_claim and volume.persistent_volume_claim.claim_name
        if claim and not is_name(claim):
            field = f"Pod.spec.volumes[{index}].persistentVolumeClaim.claimName"
            check_name(field, claim)


def _check_group(pod: Pod) -> None:
    group = pod.spec.scheduling_group if pod.spec else None
    if group and group.pod_group_name:
        check_name("Pod.spec.schedulingGroup.podGroupName", group.pod_group_name)


class NodeNames:
    """Checks names of nodes, thousands at a time.

    To check 5,000 of them one by one takes as long as all else of an answer. So those of nodes that
    are known are only looked up, and no others are remembered: anybody can invent names. What goes
    on are the same objects each time, which are found twice as fast, and take no memory again.

    Args:
        current_nodes: Returns the nodes that are known now.
    """

    def __init__(self, current_nodes: Callable[[], Collection[NodeName]]) -> None:
        self._current_nodes = current_nodes
        self._known: dict[NodeName, NodeName] = {}
        """Names that nodes have, or had when a new one was last asked about."""
        self._last: list[NodeName] = []
        """Of such names the last list that named each once. Most requests repeat it."""
        self._last_sent = b""
        """The same as it was sent."""

    def of_list(
        self, sent: Raw, names_of: Callable[[Raw], list[NodeName]]
    ) -> tuple[list[NodeName], int]:
        """Return the names in a list as it was sent (`each_once`), which *names_of* decodes.

        The same list as the last is not decoded again.
        """
        if memoryview(sent).nbytes == len(self._last_sent) and bytes(sent) == self._last_sent:
            return self._last, 0
        names, unknown = self.each_once(names_of(sent), "NodeNames[{}]")
        if names is self._last:
            self._last_sent = bytes(sent)
        return names, unknown

    def is_last(self, names: list[NodeName]) -> bool:
        """Whether these are the last names that were found to be of known nodes, each once."""
        return names is self._last and bool(self._last_sent)

    def each_once(self, names: list[NodeName], field: str) -> tuple[list[NodeName], int]:
        """Return *names* in their order, each once, and how many of them no known node has.

        Args:
            names: What was sent.
            field: Where, with `{}` for the index.

        Raises:
            BadRequestError: One is none; the text names the field and shows the value, shortened.
        """
        if names == self._last:
            return self._last, 0
        same = [*map(self._known.get, names, repeat(_NO_NAME))]
        once, unknown = {*same}, 0
        if _NO_NAME in once:
            missing = [*compress(count(), map(not_, same))]
            _check_names(names, missing, field)
            others = {names[index] for index in missing}
            unknown = self._unknown(others)
            for index in missing:
                same[index] = self._known.get(names[index], names[index])
            once.discard(_NO_NAME)
            once |= others
        elif len(once) == len(same):
            self._last, self._last_sent = same, b""
        return (same if len(once) == len(same) else list(dict.fromkeys(same))), unknown

    def _unknown(self, names: set[NodeName]) -> int:
        """Count the names that no node has, also of the nodes that are known since."""
        nodes = self._current_nodes()
        if any(map(nodes.__contains__, names)):
            self._known = {name: name for name in nodes}
        return len(names.difference(self._known))


def _check_names(names: list[NodeName], some: list[int], field: str) -> None:
    """Refuse those of *names* at *some* places that are none."""
    sent = [names[index] for index in some]
    if not all(map(_SUBDOMAIN.fullmatch, sent)) or max(map(len, sent)) > MOST_CHARACTERS:
        for index in some:
            check_name(field.format(index), names[index])


def _bad(field: str, text: str, wanted: str) -> BadRequestError:
    shown = text[:_SHOWN_CHARACTERS]
    more = f" and {len(text) - len(shown)} more characters" if len(text) > len(shown) else ""
    return BadRequestError(f"`{field}` is {shown!a}{more}; it must be {wanted}")
