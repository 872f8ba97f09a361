"""A configuration that is there already: what it says, and where in its text each part stands.

The text is not written anew from what was read: only our lines are changed in it, so that all
other lines stay as they are, with their comments, quotes and indentation.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import yaml

from app.errors import InputError
from cli.documents import parse_yaml
from cli.scheduler_config.wanted import (
    API_VERSION,
    KIND,
    TALOS_KIND,
    Distribution,
)

SIZE_LIMIT_BYTES = 2**18
"""Most that is read of one file; a real one is a hundred times smaller."""
_TALOS_PATHS = (("cluster", "scheduler", "config"), ("config",))


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration as it was read."""

    origin: str
    text: str
    newline: str
    documents: Sequence[Any]
    """All documents of the file; Talos has others beside ours."""
    index: int
    path: Sequence[str]
    """Where the configuration is: in which document, and where there."""
    config: Mapping[str, Any]
    node: yaml.MappingNode
    """The same with its positions in *lines*."""

    @property
    def lines(self) -> str:
        """The text with an end at its last line, too."""
        return _ended(self.text, self.newline)

    @property
    def entries(self) -> Sequence[Mapping[str, Any]]:
        """All extenders, ours or not."""
        return self.config.get("extenders") or []

    def field(self, name: str) -> tuple[yaml.ScalarNode, yaml.Node] | None:
        """Return where a field of the configuration stands: its key and its value."""
        for key, value in self.node.value:
            if key.value == name:
                return key, value
        return None


def read_given(origin: str, content: bytes, distribution: Distribution) -> Given:
    """Read the one configuration of kube-scheduler that *content* holds.

    Raises:
        InputError: It is no YAML, or it holds none, or several; or something where the extenders
            should be.
    """
    if len(content) > SIZE_LIMIT_BYTES:
        raise InputError(f"{origin} is larger than {SIZE_LIMIT_BYTES} B")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{origin} is not UTF-8: wrong byte at {error.start}") from error
    if text.startswith("\ufeff"):
        raise InputError(f"{origin} starts with a byte order mark; save it without")
    _check_anchors(origin, content)
    documents = parse_yaml(origin, content)
    index, path = _place(origin, documents, distribution)
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    ended = _ended(text, newline)
    node: yaml.Node = list(yaml.compose_all(ended, yaml.CSafeLoader))[index]
    for name in path:
        node = next(value for key, value in node.value if key.value == name)
    assert isinstance(node, yaml.MappingNode)
    config = at(documents[index], path)
    _check(origin, config)
    return Given(
        origin=origin,
        text=text,
        newline=newline,
        documents=documents,
        index=index,
        path=path,
        config=config,
        node=node,
    )


def at(document: Any, path: Sequence[str]) -> Any:
    """Return what is at *path* in a document; None if there is nothing."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _ended(text: str, newline: str) -> str:
    return text if text.endswith("\n") else text + newline


def _check_anchors(origin: str, content: bytes) -> None:
    """Refuse what stands at one place and counts at another: it cannot be changed in one alone."""
    try:
        for event in yaml.parse(content, yaml.CSafeLoader):
            anchor = getattr(event, "anchor", None)
            if anchor is not None:
                raise InputError(
                    f"{origin} has an anchor or an alias, {anchor}; write out what it stands for"
                )
    except yaml.YAMLError:
        return  # said in full by who reads the values


def _place(
    origin: str, documents: Sequence[Any], distribution: Distribution
) -> tuple[int, Sequence[str]]:
    """Find the configuration: the index of its document, and the path to it there."""
    found = [
        (index, path)
        for index, document in enumerate(documents)
        for path in _paths(document)
        if isinstance(at(document, path), dict)
    ]
    is_talos = distribution is Distribution.TALOS
    if not found:
        kinds = [str(kind) for each in documents if (kind := at(each, ["kind"]))]
        there = f" but {', '.join(kinds)[:60]}" if kinds else ""
        patch = f"a patch with cluster.scheduler.config, or a {TALOS_KIND} with config"
        right = patch if is_talos else f"a file of kind {KIND}"
        raise InputError(
            f"{origin} holds no configuration of kube-scheduler{there}; give {right}, or leave the "
            f"option out and get a whole one"
        )
    index, path = found[0]
    if bool(path) is not is_talos:
        whose = "Talos" if path else "another distribution than Talos"
        raise InputError(f"{origin} is a file for {whose}; name that with --distribution")
    if len(found) > 1 or (len(documents) > 1 and not is_talos):
        raise InputError(f"{origin} holds {len(documents)} documents; give a file with one")
    version = at(documents[index], ["apiVersion"])
    if not is_talos and version != API_VERSION:
        raise InputError(
            f"{origin} has apiVersion {str(version)[:60]}; set {API_VERSION}, which kube-scheduler "
            f"knows from Kubernetes 1.25 on"
        )
    return index, path


def _paths(document: Any) -> Iterator[Sequence[str]]:
    """Say where a configuration may be in a document."""
    kind = at(document, ["kind"])
    if kind == KIND:
        yield ()
    elif kind == TALOS_KIND:
        yield _TALOS_PATHS[1]
    elif kind is None:
        yield _TALOS_PATHS[0]


def _check(origin: str, config: Mapping[str, Any]) -> None:
    extenders = config.get("extenders")
    if not isinstance(extenders, list | None):
        raise InputError(f"{origin}: extenders is {_type(extenders)}; it must be a list")
    for index, entry in enumerate(extenders or ()):
        if not isinstance(entry, dict):
            raise InputError(
                f"{origin}: extenders[{index}] is {_type(entry)}; it must have fields such as "
                f"urlPrefix, or be removed"
            )


def _type(value: object) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "a boolean"}
    return "empty" if value is None else names.get(type(value), "a number")
