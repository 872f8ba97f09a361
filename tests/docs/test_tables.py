"""The tables that list everything of a kind list everything, as it is in force."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from app.config import PREFIX
from app.disk_schedule.metrics import ControllerMetrics
from app.disk_schedule.settings import ControllerSettings
from app.instance.live_settings import _FIELDS as LIVE_FIELDS
from app.instance.live_settings import LiveSettings
from app.metrics import ProcessMetrics
from app.serving.metrics import Metrics
from app.settings import Settings
from cli.catalogue import DISKS, ERRORS, REJECTIONS
from extender.errors import ClaimProblem
from extender.holds.hold import End
from extender.space import DiskRefusal
from extender.verdicts import REASONS, ClusterChange
from extender.verdicts.rejections import Rejection
from supply.catalogue import pages, written
from tests.docs.pages import DOCS, REPORTS, ROOT, code_in, tables

METRIC_PREFIX = "longhorn_scheduler_extender_"
SAMPLES: dict[str, dict[str, list[Any]]] = {
    "insufficient_storage": {"size_bytes": [2**30]},
    "filesystem_limit": {"size_bytes": [2**30]},
    "volumes_do_not_fit": {"size_bytes": [2**30], "volumes": [7]},
    "setting_unreadable": {"setting": ["SETTING"]},
    "no_disk_of_type": {"type": ["TYPE"]},
    "node_tags": {"selector": [("TAGS",), ()]},
    "disk_tags": {"selector": [("TAGS",), ()]},
    "room_held": {"by_open": [True]},
    "replicas_cannot_start": {"awaited": [("WHAT",)]},
    "no_room_anywhere": {
        "size_bytes": [2**30] * 3,
        "by_open": [False] * 3,
        "beside_own": [False, True, False],
        "beyond_limits": [False, False, True],
    },
    "too_few_shards": {"wanted": [7], "size_bytes": [2**30], "by_open": [False]},
    "too_few_replicas": {"wanted": [7], "size_bytes": [2**30], "by_open": [False]},
}
"""Values that show each text of the rejections that have fields."""
ENDINGS = {
    ClusterChange.NODE: (
        "The node comes, or has another state, tags or zone, or something else runs on it"
    ),
    ClusterChange.DISKS: "A disk of the node comes, or has another state, type or tags",
    ClusterChange.ROOM: "A disk of the node has more room",
    ClusterChange.HOLDS: "Less is held on the node for other pods",
    ClusterChange.VOLUMES: "A volume of the pod, or a replica of it",
    ClusterChange.SETTINGS: "A setting of Longhorn",
    ClusterChange.ANYWHERE: "Any of these anywhere, what other volumes are about to get, and time",
}
PLACEHOLDERS = {"1 GiB": "SIZE", "the 7 volumes": "the N volumes", "all 7": "all N"}


def table(page: str, section: str) -> list[list[str]]:
    [only] = tables(DOCS / page, section)
    return only


def test_every_setting_has_a_row_with_its_default():
    rows = [code_in(row[0]) for row in table("settings.md", "settings-of-the-process")]

    assert {name: "".join(default) for name, *default in rows} == {
        f"{PREFIX}{field.upper()}": str(getattr(Settings(), field))
        for field in Settings.__struct_fields__
    }


def test_the_settings_of_the_controller_are_those_of_the_service_and_one_more():
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    _, heading, chapter = page.partition("## Settings of the controller of DiskSchedules")
    ours = set(ControllerSettings.__struct_fields__)

    assert heading
    assert {*re.findall(rf"`{PREFIX}(\w+)`", chapter)} == {field.upper() for field in ours}
    assert ours - {*Settings.__struct_fields__} == {"manage_objects"}
    assert [
        field
        for field in ours & {*Settings.__struct_fields__}
        if getattr(ControllerSettings(), field) != getattr(Settings(), field)
    ] == []


def test_every_live_setting_has_a_row_with_its_default():
    rows = table("settings.md", "settings-that-change-without-a-restart")

    assert dict(code_in(row[0]) for row in rows) == {
        name: str(getattr(LiveSettings(), field)).lower() for name, field in LIVE_FIELDS.items()
    }


def types_in(section: str) -> dict[str, str]:
    """Return the metrics of a table, each with its type; some stand together in one row."""
    return {
        re.sub(r"\{.*", "", name).removesuffix("_total"): row[1]
        for row in table("metrics.md", section)
        for name in code_in(row[0])
    }


def types_of(metrics: ProcessMetrics, prefix: str) -> dict[str, str]:
    return {family.name.removeprefix(prefix): family.type for family in metrics.registry.collect()}


def test_every_metric_has_a_row_with_its_type():
    metrics = Metrics(CollectorRegistry(), version="1")

    assert types_in("all-metrics") == types_of(metrics, METRIC_PREFIX)


def test_every_metric_of_the_controller_has_a_row_or_is_one_of_every_process():
    prefix = f"{METRIC_PREFIX}disk_schedule_"
    controller = ControllerMetrics(CollectorRegistry(), version="1")
    controller.show_disks(list)
    everywhere = types_of(ProcessMetrics(CollectorRegistry(), prefix[:-1], version="1"), prefix)
    rows = types_in("the-controller-of-diskschedules")

    assert {**rows, **everywhere} == types_of(controller, prefix)
    assert not rows.keys() & everywhere.keys()
    chapter = (DOCS / "metrics.md").read_text(encoding="utf-8").partition("## The controller")[2]
    assert {name.removesuffix("_total") for name in code_in(chapter)} >= everywhere.keys()


def test_every_end_of_a_hold_has_a_row():
    rows = [code_in(row[0])[0] for row in table("holds.md", "how-a-hold-ends")]

    assert sorted(rows) == sorted(End)


def test_rejections_stand_with_the_beginnings_of_their_texts():
    rows = [code_in(reason) for reason, _ in table("troubleshooting.md", "rejections")]

    assert rows
    for reason, *texts in rows:
        whole = [*texts_of(REASONS[reason])]
        assert len(whole) == len(texts)
        for text, full in zip(texts, whole, strict=True):
            assert full.startswith(text.removesuffix("…")) if text.endswith("…") else text == full


@pytest.mark.parametrize(
    ("section", "reasons"),
    [("Rejections", REJECTIONS), ("The extender cannot find a volume", ERRORS)],
    ids=["rejections", "errors"],
)
def test_every_reason_of_an_event_is_there(section, reasons):
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    chapter = page.partition(f"## {section}\n")[2].partition("\n## ")[0]

    assert reasons.keys() - {*re.findall(r"`(\w+)`", chapter)} == set()


def test_every_reason_of_the_code_has_a_remedy():
    assert sorted(REJECTIONS) == sorted(REASONS)
    assert sorted(DISKS) == sorted(f"disk_{each.name.lower()}" for each in DiskRefusal)
    assert sorted(ERRORS) == sorted(ClaimProblem)


def test_every_rejection_stands_with_what_may_end_it():
    """What may be anywhere may be on the node itself as well."""
    anywhere = ClusterChange.ANYWHERE
    rows = {row[0]: sorted(code_in(row[1])) for row in table("reasons.md", "what-ends-a-rejection")}

    assert rows == {
        ENDINGS[change]: sorted(
            code
            for code, each in REASONS.items()
            if change in (anywhere if anywhere in each.ended_by else each.ended_by)
        )
        for change in ClusterChange
    }


def texts_of(kind: type[Rejection]) -> Iterator[str]:
    """Return every text of a rejection, with placeholders for what varies."""
    fields = SAMPLES.get(kind.reason, {})
    for number in range(max([len(values) for values in fields.values()], default=1)):
        text = str(kind(**{name: values[number] for name, values in fields.items()}))
        for sample, placeholder in PLACEHOLDERS.items():
            text = text.replace(sample, placeholder)
        yield text


def test_every_right_has_a_row():
    rules = {*_shipped("base/rbac.yaml", {"its namespace": "Role", "everywhere": "ClusterRole"})}
    rules |= {*_shipped("base/longhorn-rbac.yaml", {"Longhorn's": "Role"})}
    names = {name for rule in rules for name in rule if name.startswith("longhorn-")}

    rows = set()
    for where, objects, verbs, _ in table("security.md", "rights-in-the-cluster"):
        given = [code for code in code_in(objects) if code != "longhorn.io"]
        limits = [code for code in given if code in names]
        for resource in given:
            if resource not in limits:
                rows.add((where, resource, *limits, *sorted(code_in(verbs))))

    assert rows == rules


def _shipped(file: str, wheres: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """Go through the rules of a file, each with the word that the table has for its kind."""
    words = {kind: where for where, kind in wheres.items()}
    text = (ROOT / "manifests" / file).read_text(encoding="utf-8")
    for role in yaml.safe_load_all(text):
        for rule in role.get("rules", ()):
            for resource in rule["resources"]:
                named = rule.get("resourceNames", [])
                yield (words[role["kind"]], resource, *named, *sorted(rule["verbs"]))


def test_the_figures_of_the_limits_are_those_of_the_benchmarks():
    rows = re.findall(
        r"^(names|nodes) +(\d+) +4 +(again|new) +\d+ +\S+ +\S+ +(\S+)",
        max(REPORTS.glob("*/speed.md")).read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    medians = {(form, needs, int(nodes)): f"{median} ms" for form, nodes, needs, median in rows}
    asked = [("names", "again"), ("names", "new"), ("nodes", "new")]

    assert [row[1:] for row in table("limits.md", "what-it-costs")] == [
        [medians[form, needs, nodes] for nodes in (100, 1000, 5000)] for form, needs in asked
    ]


@pytest.mark.parametrize("page", ["settings.md", "metrics.md", "troubleshooting.md", "reasons.md"])
def test_tables_have_rows_of_one_length(page):
    # A bar within a cell would begin another one, which is left out.
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)

    assert found
    for rows in found:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows.splitlines()}) == 1


def test_tables_of_the_catalogue_are_as_it_has_them():
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}

    assert {page.name for page in texts} >= {"reasons.md", "survey.md", "may-drain.md"}
    assert {page.name for page, text in texts.items() if written(text) != text} == set()
