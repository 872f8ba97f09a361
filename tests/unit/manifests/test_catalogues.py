"""What Artifact Hub and Rancher read of the chart agrees with the rest of the project."""

import json
import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from supply.manifests import CHART, NAMESPACE
from supply.version import ROOT, notes, version
from tests import tools
from tests.unit.manifests.charted import NAME, default_values
from tests.unit.manifests.rendered import Object

OURS = f"https://github.com/OWNER/{NAME}"
TYPES = {"boolean": bool, "enum": str, "int": int, "string": str}


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def annotation(name: str) -> Any:
    return yaml.safe_load(load(CHART / "Chart.yaml")["annotations"][f"artifacthub.io/{name}"])


def questions() -> list[Object]:
    return list(load(CHART / "questions.yaml")["questions"])


def schema_of(variable: str) -> Object:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    for name in variable.split("."):
        schema = schema["properties"][name]
    return dict(schema)


def test_the_chart_says_what_the_project_says():
    chart = load(CHART / "Chart.yaml")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of_rancher = {
        key.removeprefix("catalog.cattle.io/"): value
        for key, value in chart["annotations"].items()
        if key.startswith("catalog.cattle.io/")
    }

    assert annotation("license") == project["license"]
    assert chart["description"] == project["description"]
    assert [each["image"] for each in annotation("images")] == [
        f"ghcr.io/OWNER/{NAME}:{version(ROOT)}"
    ]
    assert of_rancher["kube-version"] == chart["kubeVersion"]
    assert (of_rancher["namespace"], of_rancher["release-name"]) == (NAMESPACE, NAME)


def test_its_links_are_of_the_project_and_lead_to_files():
    links = [each["url"] for each in annotation("links")]
    paths = [re.sub(rf"{OURS}/(blob|raw)/main/", "", link) for link in links]
    icon = load(CHART / "Chart.yaml")["icon"].removeprefix(f"{OURS}/raw/main/")

    assert [path for path in (*paths, icon) if not (ROOT / path).is_file()] == []


def test_its_changes_are_those_of_this_version():
    """Another version needs others: these are no longer in its part of the changelog."""
    part = plain(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version(ROOT)))
    changes = annotation("changes")

    assert {each["kind"] for each in changes} <= {
        *("added", "changed", "deprecated", "removed", "fixed", "security")
    }
    assert [each for each in changes if plain(each["description"]) not in part] == []


def plain(text: str) -> str:
    return " ".join(text.replace("`", "").split())


@pytest.mark.parametrize("question", questions(), ids=lambda each: str(each["variable"]))
def test_a_question_of_rancher_is_about_a_value(question):
    value: Any = default_values()
    for name in question["variable"].split("."):
        value = value[name]
    schema = schema_of(question["variable"])

    assert question["default"] == value
    assert type(value) is TYPES[question["type"]]
    assert {*question.get("options", ())} <= {*schema.get("enum", ())}
    assert ("options" in question) == (question["type"] == "enum") == ("enum" in schema)
    assert question.get("min") == schema.get("minimum")


def test_what_a_question_depends_on_is_asked_before():
    asked = dict[str, Object]()
    for question in questions():
        if condition := question.get("show_if"):
            variable, _, answer = condition.partition("=")
            assert answer in asked[variable]["options"]
        asked[question["variable"]] = question


@pytest.mark.tools
def test_the_chart_of_a_release_names_its_publisher(tmp_path):
    tools.find("helm")
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(CHART, tmp_path / CHART.relative_to(ROOT))
    source, image = f"https://github.com/somebody/{NAME}", f"ghcr.io/somebody/{NAME}"

    command = ["make", "chart", f"IMAGE={image}", f"SOURCE={source}"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    with tarfile.open(tmp_path / "dist" / f"{NAME}-{version(ROOT)}.tgz") as packed:
        names = packed.getnames()
        member = packed.extractfile(f"{NAME}/Chart.yaml")
        assert member is not None
        text = member.read().decode()
    assert f"{NAME}/questions.yaml" in names
    assert f"image: {image}:{version(ROOT)}" in text
    assert yaml.safe_load(text)["home"] == source
    assert "OWNER" not in text
