"""A plot of pods bound over time as SVG."""

from collections.abc import Mapping, Sequence
from io import StringIO

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
    drawn = StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
