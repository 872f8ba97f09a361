"""A picture of the dashboard from the numbers that its queries returned, without Grafana."""

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import cycle
from math import isfinite, nan
from pathlib import Path
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator
from PIL import Image

from monitoring.panels import ROWS, Panel, Query, Row

_COLUMNS = 24
_HEIGHT, _SMALL, _ROW = 8, 4, 1
"""Units of the grid, as in the dashboard."""
_UNIT_INCHES = 0.27
_WIDTH_INCHES = 17.0
_DPI = 100
_BACKGROUND, _CARD, _TEXT, _FAINT = "#f4f5f5", "#ffffff", "#24292e", "#d8dadd"
_GREEN, _RED = "#37872d", "#c4162a"
_COLOURS = (
    "#3274d9", "#e0752d", "#56a64b", "#a352cc", "#e02f44", "#8f3bb8", "#f2cc0c", "#37872d",
    "#1f60c4", "#c4162a", "#806eb7", "#447ebc",
)  # fmt: skip
_SECONDS = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


class Series(Protocol):
    """One series of the answer to a query; times are in seconds since 1970."""

    @property
    def labels(self) -> dict[str, str]: ...

    @property
    def points(self) -> list[tuple[float, float]]: ...


Answers = Mapping[Query, Sequence[Series]]


def draw(answers: Answers, file: Path, rows: Sequence[Row] = ROWS) -> None:
    """Draw the dashboard, or some rows of it, into a PNG."""
    units = sum(_ROW + _height_of(row.panels) for row in rows)
    figure = Figure(figsize=(_WIDTH_INCHES, units * _UNIT_INCHES), dpi=_DPI, facecolor=_BACKGROUND)
    times = [at for found in answers.values() for each in found for at, _ in each.points]
    began_at, ended_at = min(times), max(times)
    top = 0
    for row in rows:
        figure.text(
            0.006, 1 - (top + 0.75) / units, row.title, fontsize=12, weight="bold", color=_TEXT
        )
        top += _ROW
        left = 0
        for panel in row.panels:
            if left + panel.width > _COLUMNS:
                left, top = 0, top + _height(panel)
            _card(figure, panel, answers, (left, top, units), (began_at, ended_at))
            left += panel.width
        top += _height(row.panels[-1])
    _save(figure, file)


def _save(figure: Figure, file: Path) -> None:
    """Write few colours, since it is kept in the repository."""
    drawn = BytesIO()
    figure.savefig(drawn)
    Image.open(drawn).convert("RGB").quantize(160).save(file, optimize=True)


def legend(query: Query, labels: Mapping[str, str]) -> str:
    """Name a series."""
    text = query.legend
    for name, value in labels.items():
        text = text.replace("{{" + name + "}}", value)
    return " ".join(re.sub(r"\{\{\w+\}\}", "", text).split())  # an empty label is none


def _height(panel: Panel) -> int:
    return _SMALL if panel.kind in ("number", "versions") else _HEIGHT


def _height_of(panels: Sequence[Panel]) -> int:
    """Return the height of panels that are broken into lines of 24 columns."""
    columns = sum(panel.width for panel in panels)
    return columns // _COLUMNS * _height(panels[0])


def _card(
    figure: Figure,
    panel: Panel,
    answers: Answers,
    place: tuple[int, int, int],
    span: tuple[float, float],
) -> None:
    left, top, units = place
    height = _height(panel)
    x, y = left / _COLUMNS, 1 - (top + height) / units
    wide = panel.width / _COLUMNS
    card = figure.add_axes((x + 0.003, y + 0.1 / units, wide - 0.006, (height - 0.2) / units))
    card.set(xticks=[], yticks=[], facecolor=_CARD)
    for edge in card.spines.values():
        edge.set_color(_FAINT)
    figure.text(
        x + 0.008, y + (height - 0.75) / units, panel.title, fontsize=10.5, weight="bold",
        color=_TEXT, va="center",
    )  # fmt: skip
    if panel.kind in ("number", "versions"):
        _number(card, panel, answers)
        return
    plot = figure.add_axes((x + 0.036, y + 2.6 / units, wide - 0.05, (height - 4.1) / units))
    if panel.kind == "heatmap":
        _heatmap(plot, panel, answers, span[0])
    else:
        _name(card, panel, plot, _lines(plot, panel, answers, span[0]))
    plot.set_xlim(0, span[1] - span[0])
    plot.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} s"))
    plot.tick_params(labelsize=8, colors=_TEXT, length=2)
    for name, edge in plot.spines.items():
        edge.set_visible(name in ("left", "bottom"))
        edge.set_color(_FAINT)


def _number(card: Axes, panel: Panel, answers: Answers) -> None:
    """Write the last number of each series."""
    texts = []
    colour = _GREEN
    for query in panel.queries:
        for series in answers[query]:
            last = [value for _, value in series.points if isfinite(value)][-1]
            if panel.good and not panel.good[0] <= last < panel.good[1]:
                colour = _RED
            name = legend(query, series.labels) + ": " if panel.kind == "versions" else ""
            texts.append(name + written(last, panel.unit))
    card.text(
        0.5, 0.4, "\n".join(texts), fontsize=22, ha="center", va="center", color=colour,
        transform=card.transAxes,
    )  # fmt: skip


def _lines(plot: Axes, panel: Panel, answers: Answers, began_at: float) -> int:
    """Draw a line for each series; return how many are not shown, since they stay 0.

    A quantile of what never happened has no numbers: it is left out, and not counted.
    """
    drawn = sorted(
        (
            (legend(query, each.labels), each)
            for query in panel.queries
            for each in answers[query]
            if any(isfinite(value) for _, value in each.points)
        ),
        key=lambda named: -_most(named[1]),
    )
    shown = [named for named in drawn if _most(named[1]) > 0] or drawn[:1]
    times = sorted({at for _, series in shown for at, _ in series.points})
    seconds = [at - began_at for at in times]
    below = [0.0] * len(times)
    for (name, series), colour in zip(shown, cycle(_COLOURS), strict=False):
        values = dict(series.points)
        if panel.kind == "stack":
            above = [low + _or_zero(values.get(at)) for low, at in zip(below, times, strict=True)]
            plot.fill_between(seconds, below, above, color=colour, alpha=0.6, lw=0)
            line = below = above
        else:
            line = [values.get(at, nan) for at in times]
        # A line at 0 lies on the edge of the plot: clipped there, it could hardly be seen.
        plot.plot(seconds, line, color=colour, lw=1.5, label=name, clip_on=False, zorder=3)
    most = max([*below, *(_most(series) for _, series in shown)], default=0)
    plot.set_ylim(0, 1.1 * most or 1)
    if panel.good and panel.good[1] < 2 * most:
        plot.axhline(panel.good[1], color=_RED, lw=1, ls="--")
    plot.yaxis.set_major_locator(MaxNLocator(4, integer=panel.unit == "short"))
    plot.yaxis.set_major_formatter(FuncFormatter(lambda value, _: written(value, panel.unit)))
    plot.grid(axis="y", color=_FAINT, lw=0.5)
    return len(drawn) - len(shown)


def _name(card: Axes, panel: Panel, plot: Axes, zeros: int) -> None:
    handles, labels = plot.get_legend_handles_labels()
    most = 8 if panel.width >= _COLUMNS // 2 else 6
    more = max(0, len(labels) - most)
    handles, labels = handles[:most], labels[:most]
    rest = [f"{more} more"] * (more > 0) + [f"{zeros} stay 0"] * (zeros > 0)
    if rest:
        handles, labels = [*handles, Line2D([], [], lw=0)], [*labels, "… " + ", ".join(rest)]
    card.legend(
        handles, labels, loc="lower left", ncols=(len(labels) + 1) // 2 if len(labels) > 3 else 3,
        fontsize=7.5, frameon=False, handlelength=1, columnspacing=1, labelcolor=_TEXT,
        borderaxespad=0.2,
    )  # fmt: skip


def _heatmap(plot: Axes, panel: Panel, answers: Answers, began_at: float) -> None:
    """Colour how many answers were in each bucket; Prometheus's buckets hold the ones below."""
    [query] = panel.queries
    buckets = sorted(answers[query], key=lambda each: float(each.labels["le"]))
    times = sorted({at for each in buckets for at, _ in each.points})
    rows: list[list[float]] = []
    below = [0.0] * len(times)
    for bucket in buckets:
        values = dict(bucket.points)
        up_to = [_or_zero(values.get(at)) for at in times]
        rows.append([max(0.0, a - b) or nan for a, b in zip(up_to, below, strict=True)])
        below = up_to
    edges = [at - began_at for at in [*times, times[-1] + 1]]
    plot.pcolormesh(edges, range(len(rows) + 1), rows, cmap="Oranges", vmin=0)
    names = [each.labels["le"] for each in buckets]
    ticks = [*range(1, len(names), 3)]
    texts = [written(float(names[tick - 1]), panel.unit) for tick in ticks]
    plot.set_yticks(ticks, texts)


def written(value: float, unit: str) -> str:
    """Write a number in a unit of Grafana's."""
    match unit:
        case "s":
            factor, name = next((each for each in _SECONDS if abs(value) >= each[0]), (1, "s"))
            return f"{value / factor:.3g} {name}"
        case "bytes":
            factor, name = next((each for each in _BYTES if abs(value) >= each[0]), (1, "B"))
            return f"{value / factor:.{4 if value >= 1000 * factor else 3}g} {name}"
        case "percentunit":
            return f"{100 * value:.3g} %"
        case "reqps" | "ops":
            return f"{value:.3g}/s"
        case _:
            return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _most(series: Series) -> float:
    return max((value for _, value in series.points if isfinite(value)), default=0)


def _or_zero(value: float | None) -> float:
    return 0.0 if value is None or not isfinite(value) else value
