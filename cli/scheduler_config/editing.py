"""Changes the lines of a configuration that are ours, and no others."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from app.config import RESOURCE
from app.errors import InputError
from cli.documents import parse_yaml
from cli.scheduler_config.given import Given, at
from cli.scheduler_config.owners import Namespaces, OwnedEntry, Owner, leads_to, owned_entries
from cli.scheduler_config.wanted import (
    ALL_NODES,
    DEFAULT_SCHEDULER,
    PROFILES,
    SCHEDULER_NAME,
    Distribution,
    Wanted,
    why,
    without_capacity_score,
)
from cli.scheduler_config.writing import entry_lines, lines_of

_WAS = " # was:"
"""Before what stood behind `extenders:` when there was no extender, so that it can come back."""
_ABOVE_ENTRY = frozenset(why(each)["urlPrefix"] for each in Distribution)
_ADDED: Mapping[str, Sequence[Any]] = {
    ALL_NODES: [100],
    PROFILES: [[without_capacity_score(name)] for name in (DEFAULT_SCHEDULER, SCHEDULER_NAME)],
}
"""What we add besides the entry, where it is not there, with its comment above."""


class _Edit(NamedTuple):
    """What is written in place of a part of the text."""

    start: int
    end: int
    text: str = ""


class _Page:
    """The text of a configuration, and where its parts begin and end."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.text = given.lines

    def joined(self, lines: Iterable[str]) -> str:
        return "".join(f"{line}{self.given.newline}" for line in lines)

    def after_line(self, index: int) -> int:
        return self.text.index("\n", index) + 1

    def end(self, node: yaml.Node) -> int:
        """Return where the lines of a node end; PyYAML counts comments below it as its own."""
        while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            node = last[1] if isinstance(last, tuple) else last
        index = node.end_mark.index
        is_block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
        return self.line(index) if is_block else self.after_line(index)

    def line(self, index: int) -> int:
        """Return where the line begins that *index* is in."""
        return self.text.rfind("\n", 0, index) + 1

    def past_comments(self, index: int, column: int) -> int:
        """Go past comments that are indented more than *column*: they belong to what is above."""
        while index < len(self.text):
            line = self.text[index : self.after_line(index)]
            indent = len(line) - len(line.lstrip(" "))
            if indent <= column or line[indent] != "#":
                break
            index += len(line)
        return index

    def with_comment(self, start: int, comments: frozenset[str]) -> int:
        """Return where our comment above a line begins, or the line if there is none."""
        words, index = list[str](), start
        while index > 0:
            index = self.line(index - 1)
            line = self.text[index : self.after_line(index)].strip()
            if not line.startswith("#"):
                break
            words = [*line[1:].split(), *words]
            if " ".join(words) in comments:
                return index
        return start

    def entry(self, entries: yaml.SequenceNode, index: int) -> tuple[int, int]:
        """Return the lines of one extender's entry, with our comment above it."""
        node, column = entries.value[index], entries.start_mark.column
        start = self.line(node.start_mark.index)
        while start > 0 and self.text[start + column : start + column + 1] != "-":
            start = self.line(start - 1)
        return self.with_comment(start, _ABOVE_ENTRY), self.end(node)

    def changed(self, edits: Iterable[_Edit]) -> str:
        """Write the text with all changes made; two at one place come in their order."""
        parts, done = list[str](), 0
        for edit in sorted(edits, key=lambda edit: edit.start):
            parts += [self.text[done : edit.start], edit.text]
            done = edit.end
        text = "".join([*parts, self.text[done:]])
        return text if self.given.text.endswith("\n") else text.removesuffix(self.given.newline)


def merged(
    given: Given, wanted: Wanted, namespaces: Namespaces, replaced: Collection[str] = ()
) -> str:
    """Return the text with our entry: in the place of the old one, else as the last.

    percentageOfNodesToScore is added if it is not there, and profiles if some are wanted. Whoever
    has set them keeps them.

    Args:
        given: The configuration.
        wanted: Our entry.
        namespaces: Where our Service and Longhorn's are.
        replaced: Where entries that are not known to be ours lead, and may go all the same.

    Raises:
        InputError: Another entry is for the same pods, or the text is written in a way that cannot
            be changed line by line.
    """
    owned = owned_entries(given.entries, wanted.entry["urlPrefix"], namespaces)
    _check_free(given, [each for each in owned if not leads_to(each.url, replaced)])
    ours = [each.index for each in owned]
    others = [entry for index, entry in enumerate(given.entries) if index not in ours]
    place = ours[0] if ours else len(others)  # those before the first of ours are others
    entries = [*others[:place], wanted.entry, *others[place:]]
    around: dict[str, Any] = {ALL_NODES: 100}
    if wanted.profiles:
        around[PROFILES] = [*wanted.profiles]
    expected = {**around, **given.config, "extenders": entries}
    page = _page(given)
    edits = [*_with_entry(page, wanted, ours)]
    for name in (each for each in around if each not in given.config):
        lines = lines_of({name: around[name]}, wanted.why, given.node.start_mark.column)
        end = page.past_comments(page.end(given.node), given.node.start_mark.column)
        edits.append(_Edit(end, end, page.joined(lines)))
    return _checked(given, page.changed(edits), expected)


def removed(given: Given, url: str | None, namespaces: Namespaces) -> str:
    """Return the text without our entry, and without what `merged` has added to it.

    Longhorn's entry stays, and everybody else's.

    Raises:
        InputError: No entry is known to be ours, and one may be; or the text is written in a way
            that cannot be changed line by line.
    """
    owned = owned_entries(given.entries, url, namespaces)
    ours = [each.index for each in owned if each.owner is Owner.OURS]
    found = given.field("extenders")
    if not ours or found is None:
        _check_known(given, owned)
        return given.text
    page, (key, value) = _page(given), found
    assert isinstance(value, yaml.SequenceNode)
    others = [entry for index, entry in enumerate(given.entries) if index not in ours]
    expected = {**given.config, "extenders": others}
    edits = [_Edit(*page.entry(value, index)) for index in ours]
    if not others:
        edits.append(_empty(page, key))
    for name, values in _ADDED.items():
        field = given.field(name)
        if field is None or given.config[name] not in values:
            continue
        line = page.line(field[0].start_mark.index)
        comments = frozenset(why(each)[name] for each in Distribution)
        if (start := page.with_comment(line, comments)) < line:
            edits.append(_Edit(start, page.end(field[1])))
            del expected[name]
    return _checked(given, page.changed(edits), expected)


def _check_free(given: Given, owned: Sequence[OwnedEntry]) -> None:
    """Refuse to add our entry beside one for the same pods: kube-scheduler would not start."""
    others = [each for each in owned if each.owner is not Owner.OURS]
    if not others:
        return
    flags = " ".join(f"--replace {each.url}" for each in others if each.url is not None)
    by_hand = any(each.url is None for each in others)
    action = "remove what has no URL by hand" if by_hand else f"give {flags} to put ours there"
    raise InputError(
        f"{given.origin}: {'; '.join(map(str, others))}. kube-scheduler takes one extender for "
        f"{RESOURCE}: {action}"
    )


def _check_known(given: Given, owned: Sequence[OwnedEntry]) -> None:
    """Refuse to leave an entry that may be the one to be removed."""
    for each in owned:
        if each.owner is Owner.UNKNOWN:
            remedy = "remove it by hand" if each.url is None else f"give --url {each.url}"
            raise InputError(f"{given.origin}: {each}. If it leads to this service, {remedy}")


def _with_entry(page: _Page, wanted: Wanted, ours: Sequence[int]) -> Iterator[_Edit]:
    column = page.given.node.start_mark.column
    new = page.joined(entry_lines(wanted.entry, wanted.why, column + 2))
    found = page.given.field("extenders")
    if found is None:
        end = page.past_comments(page.end(page.given.node), column)
        yield _Edit(end, end, page.joined([f"{' ' * column}extenders:"]) + new)
        return
    key, value = found
    if not isinstance(value, yaml.SequenceNode) or not value.value:
        start, end = _behind(page, key)
        was = page.text[start:end]
        mark = was if was.startswith(_WAS) else f"{_WAS}{was}"
        yield _Edit(start, page.after_line(start), page.joined([mark]) + new)
        return
    new = page.joined(entry_lines(wanted.entry, wanted.why, value.start_mark.column))
    for index in ours:
        yield _Edit(*page.entry(value, index), new if index == ours[0] else "")
    if not ours:
        end = page.past_comments(page.end(value), value.start_mark.column)
        yield _Edit(end, end, new)


def _empty(page: _Page, key: yaml.ScalarNode) -> _Edit:
    """Remove `extenders:`, or write behind it what was there before there was any."""
    start, end = _behind(page, key)
    if page.text.startswith(_WAS, start):
        return _Edit(start, end, page.text[start + len(_WAS) : end])
    return _Edit(page.line(start), page.after_line(end))


def _behind(page: _Page, key: yaml.ScalarNode) -> tuple[int, int]:
    """Return what stands behind the colon of a key, on its line."""
    start = page.text.index(":", key.end_mark.index) + 1
    behind = page.text[start : page.after_line(start)].removesuffix("\n").removesuffix("\r")
    return start, start + len(behind)


def _page(given: Given) -> _Page:
    found = given.field("extenders")
    nodes = [given.node] if found is None or not given.entries else [given.node, found[1]]
    if any(isinstance(node, yaml.CollectionNode) and node.flow_style for node in nodes):
        raise InputError(
            f"{given.origin} is JSON, or has its extenders between brackets; write one field or "
            f"entry on each line, as YAML has it"
        )
    return _Page(given)


def _checked(given: Given, text: str, expected: Mapping[str, Any]) -> str:
    """Return the text if it says what was meant, and everything else as before."""
    try:
        documents = parse_yaml(given.origin, text.encode())
    except InputError:
        documents = []
    before = list(given.documents)
    before[given.index] = _with(before[given.index], given.path, expected)
    if _with_list(documents, given) != _with_list(before, given):
        raise InputError(
            f"{given.origin} is written in a way that cannot be changed line by line; write its "
            f"extenders as manifests/scheduler/kubeadm.yaml has them"
        )
    return text


def _with_list(documents: Sequence[Any], given: Given) -> list[Any]:
    """Make one of all that means no extender: the field absent, empty, or an empty list."""
    if len(documents) <= given.index:
        return []
    config = at(documents[given.index], given.path) or {}
    one = {**config, "extenders": config.get("extenders") or []}
    whole = list(documents)
    whole[given.index] = _with(whole[given.index], given.path, one)
    return whole


def _with(document: Any, path: Sequence[str], config: Mapping[str, Any]) -> Any:
    """Return the document with another configuration at its path."""
    if not path:
        return config
    return {**document, path[0]: _with(document[path[0]], path[1:], config)}
