"""A plot of pods bound over time as SVG, with no more than it needs. Pure.

By hand, as it is one kind of plot: a library for it would bring a dozen packages to everyone who
runs the tests.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import log2

WIDTH, HEIGHT = 720, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 40, 45
_COLOURS = ("#555555", "#0072b2", "#d55e00", "#009e73")
"""Told apart also by those who see few colours."""


def bound_over_time(title: str, bound_at: Mapping[str, Sequence[float]], pods: int) -> str:
    """Draw how many pods were bound by when, a line of steps for each variant.

    Args:
        title: Stands above.
        bound_at: When each pod was bound, in seconds, in rising order; by variant.
        pods: How many there are; some may never have been bound.
    """
    all_times = [at for each in bound_at.values() for at in each]
    ticks = _powers_of_two(min(all_times), max(all_times))
    span = log2(ticks[-1] / ticks[0])

    def x(seconds: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * log2(seconds / ticks[0]) / span

    def y(count: int) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * count / pods

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(WIDTH / 2, 18, title, anchor="middle"),
        _text(
            WIDTH / 2,
            HEIGHT - 8,
            "seconds since the wish, each mark twice the one before",
            anchor="middle",
        ),
    ]
    for tick in ticks:
        lines.append(_path([(x(tick), y(0)), (x(tick), y(pods))], "#dddddd"))
        lines.append(_text(x(tick), y(0) + 16, f"{tick:g}", anchor="middle"))
    for count in (0, pods // 2, pods):
        lines.append(_path([(x(ticks[0]), y(count)), (x(ticks[-1]), y(count))], "#dddddd"))
        lines.append(_text(_LEFT - 8, y(count) + 4, str(count), anchor="end"))
    for row, ((name, times), colour) in enumerate(zip(bound_at.items(), _COLOURS, strict=False)):
        steps = [(x(at), y(count)) for i, at in enumerate(times) for count in (i, i + 1)]
        lines.append(_path(steps, colour, width=2))
        lines.append(_text(WIDTH - _RIGHT - 12, y(0) - 12 - 16 * row, name, colour=colour))
    return "\n".join([*lines, "</svg>", ""])


def _powers_of_two(least: float, most: float) -> list[float]:
    """Return the fewest powers of two, at least two of them, that enclose a range."""
    ticks = [2.0 ** int(log2(least) // 1)]
    while ticks[-1] < most or len(ticks) < 2:
        ticks.append(2 * ticks[-1])
    return ticks


def _path(points: Iterable[tuple[float, float]], colour: str, *, width: int = 1) -> str:
    along = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{along}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "end", colour: str = "#222222") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{escape(text)}</text>'
