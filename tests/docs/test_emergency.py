"""The way to schedule without the extender keeps what makes kube-scheduler ignore the resource."""

import pytest
import yaml

from tests.docs.consoles import Chapter, commands_of
from tests.docs.pages import DOCS, ROOT, headings
from tests.docs.workspace import Workspace

pytestmark = pytest.mark.tools

PAGE = DOCS / "troubleshooting.md"
EMERGENCY = Chapter(PAGE, "emergency-schedule-without-the-extender")
ASKING = {"filterVerb", "preemptVerb", "prioritizeVerb", "weight"}


def test_the_configuration_asks_for_nothing_and_ignores_the_resource(tmp_path):
    workspace = Workspace(tmp_path)

    for command in commands_of(EMERGENCY):
        done = workspace.run(command.text)
        assert done.status == 0, command

    assert workspace.trouble() == ""
    made = yaml.safe_load((workspace.folder / "without.yaml").read_text(encoding="utf-8"))
    shipped = yaml.safe_load((ROOT / "manifests/secondary-scheduler/config.yaml").read_text())
    [entry] = shipped["extenders"]
    assert entry.keys() >= ASKING
    kept = {name: value for name, value in entry.items() if name not in ASKING}
    assert yaml.safe_load(made["data"]["config.yaml"]) == {**shipped, "extenders": [kept]}
    assert "resourceVersion" not in made["metadata"]


def test_it_stands_first():
    assert next(each for each in headings(PAGE) if each.level == 2).anchor == EMERGENCY.section
