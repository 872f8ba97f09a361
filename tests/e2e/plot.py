"""Plots of what came of scheduling some pods, as SVG."""

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = ("#555555", "#0072b2", "#d55e00", "#009e73")
"""Told apart also by those who see few colours."""


def bound_over_time(title: str, bound_at: Mapping[str, Sequence[float]], pods: int) -> str:
    """Draw how many pods were bound by when, a line of steps for each variant.

    Args:
        title: Stands above.
        bound_at: When each pod was bound, in seconds, in rising order; by variant.
        pods: How many there are; some may never have been bound.
    """
    # Each process of `make test` collects these tests and draws nothing: a second each.
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter  # noqa: PLC0415

    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    axes = figure.add_subplot(title=title, xlabel="seconds since the wish", ylim=(0, pods))
    for (name, times), colour in zip(bound_at.items(), _COLOURS, strict=False):
        axes.step([times[0], *times], range(len(times) + 1), color=colour, label=name, where="post")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(color="#dddddd")
    axes.legend(loc="lower right")
    return _svg(figure)


def pods_and_room(
    title: str, room: Mapping[str, int], pods: Mapping[str, Mapping[str, int]]
) -> str:
    """Draw how many pods each node got beside how many it has room for.

    Args:
        title: Stands above.
        room: For how many pods each node has room.
        pods: How many each node got; by variant.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (as above)
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    names = [*room]
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    figure.suptitle(title)
    highest = max(*room.values(), *(n for each in pods.values() for n in each.values())) + 1
    for index, (variant, got) in enumerate(pods.items(), start=1):
        axes = figure.add_subplot(1, len(pods), index, title=variant, ylim=(0, highest))
        with_room = [min(got.get(name, 0), room[name]) for name in names]
        without = [max(0, got.get(name, 0) - room[name]) for name in names]
        axes.bar(names, with_room, color=_COLOURS[1], label="pods with room")
        axes.bar(names, without, bottom=with_room, color=_COLOURS[2], label="pods without room")
        limits = [*room.values()]
        axes.bar(names, limits, fill=False, edgecolor=_COLOURS[0], linewidth=2, label="room")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(loc="upper right")
    return _svg(figure)


def _svg(figure: "Figure") -> str:
    drawn = StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
