"""The dashboard has what Grafana needs, and every panel says what it is for."""

import json
from typing import Any

import pytest

from monitoring.dashboard import dashboard_json, description
from monitoring.panels import ROWS
from monitoring.rules import ALERTS

COLUMNS = 24
DASHBOARD: dict[str, Any] = json.loads(dashboard_json())
PANELS = [panel for row in ROWS for panel in row.panels]
EVERY_PANEL = pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)


def drawn() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def test_links_to_it_stay():
    assert DASHBOARD["uid"] == "longhorn-scheduler-extender"


def test_data_source_and_namespace_are_variables():
    source, namespace = DASHBOARD["templating"]["list"]

    assert (source["type"], source["query"]) == ("datasource", "prometheus")
    assert (namespace["type"], namespace["name"]) == ("query", "namespace")
    assert namespace["query"].startswith("label_values(longhorn_scheduler_extender_")


def test_everything_comes_from_the_chosen_data_source():
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    sources = [target["datasource"] for panel in drawn() for target in panel["targets"]]
    sources += [panel["datasource"] for panel in drawn()]

    assert all(source == chosen for source in sources)


def test_every_panel_is_drawn_with_its_queries():
    assert [panel["title"] for panel in drawn()] == [panel.title for panel in PANELS]
    assert [[target["expr"] for target in panel["targets"]] for panel in drawn()] == [
        [query.expr for query in panel.queries] for panel in PANELS
    ]


def test_ids_and_titles_are_unique():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    titles = [panel.title for panel in PANELS]

    assert len({*ids}) == len(ids)
    assert len({*titles}) == len(titles)


@EVERY_PANEL
def test_a_panel_asks_a_question_and_gives_advice(panel):
    assert panel.question.endswith("?")
    assert panel.advice.endswith(".")
    assert panel.question in description(panel)
    assert panel.advice in description(panel)


@EVERY_PANEL
def test_a_panel_leads_to_the_runbooks_of_its_alerts(panel):
    runbooks = {alert.name: alert.runbook for alert in ALERTS}

    assert all(f"docs/runbooks.md#{runbooks[name]}" in description(panel) for name in panel.alerts)


def test_every_alert_can_be_seen_on_a_panel():
    assert {name for panel in PANELS for name in panel.alerts} == {a.name for a in ALERTS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title)
def test_panels_fill_whole_lines(row):
    filled = 0
    for panel in row.panels:
        filled += panel.width
        assert filled <= COLUMNS
        filled %= COLUMNS

    assert filled == 0


def test_panels_do_not_overlap():
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len({*cells}) == len(cells)
