"""What the demonstration prints: a line for each pod, with the disks of all nodes as bars.

All of it is at most 80 columns wide. Colours are left out where stdout is no terminal.
"""

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap

import typer

from tests.fakes import Object

WIDTH = 80
_LEGEND = "# in use by Longhorn's figures   + held for pods by the service   . left"
_POD_WIDTH, _NODE_WIDTH = 11, 6
_GIB = 2**30
_CELLS_PER_100_GIB = 3


def headline(title: str, situation: str) -> Iterator[str]:
    """Begin a screen: its title, and what the cluster is like."""
    yield ""
    yield _ruled(title)
    yield from wrap(situation, WIDTH)


def table_head(nodes: Mapping[str, Object]) -> Iterator[str]:
    """Say what the bars mean, and which nodes they are of."""
    names = (f"{name:{len(bars(node))}}" for name, node in nodes.items())
    yield ""
    yield typer.style(_LEGEND, dim=True)
    yield f"{'pod':{_POD_WIDTH}} {'node':{_NODE_WIDTH}} {' '.join(names)}".rstrip()


def row(pod: str, node: str, nodes: Mapping[str, Object]) -> str:
    """Write where a pod goes, and all disks after it. A pod without *node* waits."""
    choice = node or ("waits" if pod else "")
    styled = typer.style(f"{choice:{_NODE_WIDTH}}", "green" if node else "red")
    return f"{pod:{_POD_WIDTH}} {styled} {' '.join(bars(each) for each in nodes.values())}"


def bars(node: Object) -> str:
    """Draw the disks of a node as /debug/state shows it.

    What is held there is drawn into the disks in their order: a hold is for a node, and Longhorn
    chooses the disk.
    """
    held_bytes = sum(sum(each["volume_bytes"].values()) for each in node["holds"])
    text = ""
    for disk in node["disks"]:
        here_bytes = min(held_bytes, max(disk["logical_headroom_bytes"], 0))
        held_bytes -= here_bytes
        text += _bar(disk["limit_bytes"], disk["scheduled_bytes"], here_bytes)
    return text


def reasons(rejected: Mapping[str, str]) -> Iterator[str]:
    """Say why nodes were rejected, those of one reason together."""
    by_reason: dict[str, list[str]] = {}
    for node, reason in rejected.items():
        by_reason.setdefault(reason, []).append(node)
    for reason, nodes in by_reason.items():
        text = f"not {', '.join(nodes)}: {reason}"
        yield from wrap(text, WIDTH, initial_indent="    ", subsequent_indent="      ")


def remark(text: str) -> Iterator[str]:
    """Say what happened between two pods."""
    for line in wrap(text, WIDTH):
        yield typer.style(line, bold=True)


def difference(what: str, found: object, expected: object) -> str:
    """Say that something is not as expected."""
    return typer.style(f"WRONG: {what}: {found}, expected {expected}", "red")


def verdict(checked: int, wrong: int) -> Iterator[str]:
    """End with how many answers were checked, and how many of them were wrong."""
    yield ""
    yield _ruled(f"{checked} answers, {checked - wrong} as expected")


def print_lines(lines: Iterable[str]) -> None:
    """Print lines, without their colours if stdout is no terminal."""
    for line in lines:
        typer.echo(line)


def _ruled(text: str) -> str:
    return typer.style(f"== {text} ".ljust(WIDTH, "="), bold=True)


def _bar(limit_bytes: int, scheduled_bytes: int, held_bytes: int) -> str:
    width, used, taken = (
        round(size * _CELLS_PER_100_GIB / (100 * _GIB))
        for size in (limit_bytes, scheduled_bytes, scheduled_bytes + held_bytes)
    )
    return f"[{'#' * used}{'+' * (taken - used)}{'.' * (width - taken)}]"
