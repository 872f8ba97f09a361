"""The dashboard for Grafana, built of the table of panels."""

from collections.abc import Iterator
from itertools import count

from grafana_foundation_sdk.builders import common, dashboard, heatmap, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as records
from grafana_foundation_sdk.models import heatmap as heatmaps
from grafana_foundation_sdk.models import prometheus as formats

from monitoring.panels import NAMESPACE, ROWS, Panel, Query, Row
from monitoring.rules import ALERTS, RUNBOOKS
from monitoring.series import PREFIX, SCRAPE_INTERVAL

UID = "longhorn-scheduler-extender"
"""Links to the dashboard hold it, so it stays."""
_SOURCE = records.DataSourceRef(type_val="prometheus", uid="${datasource}")
_HEIGHTS = {"number": 4, "versions": 4}
_HEIGHT = 8
_GREEN, _RED = "green", "red"

Drawn = timeseries.Panel | heatmap.Panel | stat.Panel


def dashboard_json(runbooks: str = RUNBOOKS) -> str:
    """Return the dashboard as Grafana imports it."""
    return JSONEncoder(sort_keys=True, indent=2).encode(_dashboard(runbooks).build()) + "\n"


def description(panel: Panel, runbooks: str = RUNBOOKS) -> str:
    """Say which question a panel answers, and what to do when it looks bad."""
    names = {alert.name: alert.runbook for alert in ALERTS}
    lines = [panel.question, panel.advice]
    if panel.alerts:
        lines.append("Runbooks: " + ", ".join(runbooks.format(names[a]) for a in panel.alerts))
    return "\n\n".join(lines)


def _dashboard(runbooks: str) -> dashboard.Dashboard:
    built = (
        dashboard.Dashboard("Longhorn scheduler extender")
        .uid(UID)
        .description("Who answers kube-scheduler, what is answered, and what follows.")
        .tags(["longhorn", "kube-scheduler"])
        .time("now-1h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(records.DashboardCursorSync.CROSSHAIR)
        .with_variable(
            dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")
        )
        .with_variable(
            dashboard.QueryVariable(NAMESPACE.removeprefix("$"))
            .label("Namespace")
            .datasource(_SOURCE)
            .query(f"label_values({PREFIX}build_info, namespace)")
            .refresh(records.VariableRefresh.ON_TIME_RANGE_CHANGED)
            .sort(records.VariableSort.ALPHABETICAL_ASC)
        )
    )
    numbers = count(1)
    for row in ROWS:
        _add(built, row, numbers, runbooks)
    return built


def _add(built: dashboard.Dashboard, row: Row, numbers: Iterator[int], runbooks: str) -> None:
    built.with_row(dashboard.Row(row.title).id(next(numbers)))
    for panel in row.panels:
        height = _HEIGHTS.get(panel.kind, _HEIGHT)
        drawn = _drawn(panel)
        drawn.title(panel.title).description(description(panel, runbooks)).datasource(_SOURCE)
        drawn.id(next(numbers)).unit(panel.unit).height(height).span(panel.width)
        for letter, query in zip("ABCDEF", panel.queries, strict=False):
            drawn.with_target(_target(letter, query, panel))
        built.with_panel(drawn)


def _target(letter: str, query: Query, panel: Panel) -> prometheus.Dataquery:
    target = (
        prometheus.Dataquery()
        .ref_id(letter)
        .expr(query.expr)
        .legend_format(query.legend)
        .datasource(_SOURCE)
        .interval(SCRAPE_INTERVAL)
    )
    if panel.kind == "heatmap":
        return target.range().format(formats.PromQueryFormat.HEATMAP)
    return target.instant() if panel.kind in _HEIGHTS else target.range()


def _drawn(panel: Panel) -> Drawn:
    match panel.kind:
        case "heatmap":
            return _heatmap(panel)
        case "number" | "versions":
            return _number(panel)
        case "lines" | "stack":
            return _lines(panel)


def _heatmap(panel: Panel) -> heatmap.Panel:
    colours = heatmap.HeatmapColorOptions().mode(heatmaps.HeatmapColorMode.SCHEME).scheme("Oranges")
    return (
        heatmap.Panel()
        .calculate(calculate=False)
        .color(colours.steps(64))
        .cell_gap(1)
        .filter_values(heatmap.FilterValueRange().le(1e-9))
        .y_axis(heatmap.YAxisConfig().unit(panel.unit))
        .show_legend()
        .show_tooltip()
    )


def _number(panel: Panel) -> stat.Panel:
    drawn = (
        stat.Panel()
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .color_mode(shapes.BigValueColorMode.VALUE)
        .graph_mode(shapes.BigValueGraphMode.NONE)
        .no_value("none")
        .thresholds(_thresholds(panel))
    )
    if panel.kind == "versions":
        drawn.text_mode(shapes.BigValueTextMode.VALUE_AND_NAME)
    return drawn


def _lines(panel: Panel) -> timeseries.Panel:
    drawn = (
        timeseries.Panel()
        .min(0)
        .line_width(1)
        .fill_opacity(30 if panel.kind == "stack" else 5)
        .show_points(shapes.VisibilityMode.NEVER)
        .legend(
            common.VizLegendOptions()
            .display_mode(shapes.LegendDisplayMode.TABLE)
            .placement(shapes.LegendPlacement.BOTTOM)
            .calcs(["lastNotNull", "max"])
            .sort_by("Max")
            .sort_desc(sort_desc=True)
            .show_legend(show_legend=True)
        )
        .tooltip(
            common.VizTooltipOptions()
            .mode(shapes.TooltipDisplayMode.MULTI)
            .sort(shapes.SortOrder.DESCENDING)
        )
    )
    if panel.kind == "stack":
        drawn.stacking(common.StackingConfig().mode(shapes.StackingMode.NORMAL))
    if panel.good:
        drawn.thresholds(_thresholds(panel)).thresholds_style(
            common.GraphThresholdsStyleConfig().mode(shapes.GraphTresholdsStyleMode.DASHED)
        )
    return drawn


def _thresholds(panel: Panel) -> dashboard.ThresholdsConfig:
    """Colour what is outside of the good range red."""
    steps: list[tuple[float | None, str]] = [(None, _GREEN)]
    if panel.good:
        least, most = panel.good
        steps = [(None, _RED), (least, _GREEN), (most, _RED)] if least else [*steps, (most, _RED)]
    return (
        dashboard.ThresholdsConfig()
        .mode(records.ThresholdsMode.ABSOLUTE)
        .steps([records.Threshold(value=value, color=colour) for value, colour in steps])
    )
