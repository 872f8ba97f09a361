"""The page of a trial: its table, and a picture of the pods on each node. It loads nothing."""

from collections.abc import Iterator
from html import escape

from cli.trial.report import TrialCase, TrialReport, lines, way_told

_BAR, _GAP, _HEIGHT, _LEFT = 18, 6, 120, 8
_COLOURS = {"none": "#999999", "ours": "#0072b2", "longhorn": "#d55e00"}
"""Told apart also by those who see few colours."""
_WIDTH = 160
_STYLE = (
    "body{font:15px sans-serif;margin:2em;max-width:80em}pre{overflow-x:auto}"
    "figure{display:inline-block;margin:1em 2em 1em 0}figcaption{max-width:22em}"
    "text{font-size:11px}"
)


def page(found: TrialReport) -> str:
    """Return the whole page."""
    figures = "".join(_figure(each, found) for each in found.cases)
    table = escape("\n".join(lines(found, _WIDTH)))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>A trial</title><style>{_STYLE}</style></head><body>\n"
        "<h1>Where pods went that use Longhorn</h1>\n"
        "<p>A bar is the pods of a node in the first run, and the line above it how many of their "
        f"claims fit there.</p>\n{figures}\n<pre>{table}</pre>\n</body></html>\n"
    )


def _figure(case: TrialCase, found: TrialReport) -> str:
    width = _LEFT + len(found.nodes) * (_BAR + _GAP)
    bars = "".join(_bars(case, found))
    told = f"{case.case}, {way_told(case.way)}: {case.right} of {len(case.runs)} right"
    return (
        f'<figure><svg width="{width}" height="{_HEIGHT + 30}" role="img" '
        f'aria-label="{escape(told)}">{bars}</svg>'
        f"<figcaption>{escape(told)}</figcaption></figure>"
    )


def _bars(case: TrialCase, found: TrialReport) -> Iterator[str]:
    pods = case.runs[0].by_node
    most = max(1, *pods.values(), *(each.claims for each in found.nodes))
    for number, node in enumerate(found.nodes):
        x, count = _LEFT + number * (_BAR + _GAP), pods.get(node.name, 0)
        height, room = (_HEIGHT * each // most for each in (count, node.claims))
        yield (
            f'<rect x="{x}" y="{_HEIGHT + 10 - height}" width="{_BAR}" height="{height}" '
            f'fill="{_COLOURS[case.way]}"/>'
            f'<path d="M{x - 2} {_HEIGHT + 10 - room}h{_BAR + 4}" stroke="#000"/>'
            f'<text x="{x + _BAR // 2}" y="{_HEIGHT + 24}" text-anchor="middle">{count}</text>'
        )
