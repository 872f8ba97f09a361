"""What the page on Longhorn's own extender does with a configuration leads there and back."""

import pytest
import yaml

from tests.docs.consoles import Chapter, commands_of
from tests.docs.pages import DOCS
from tests.docs.workspace import Workspace
from tests.scheduler_configurations import LONGHORNS_URL, OF_LONGHORN

PAGE = DOCS / "longhorns-own-extender.md"
ON_THE_NODE = "/etc/kubernetes/kube-scheduler-config.yaml"
WRITTEN = "kube-scheduler-config.yaml"
OTHER = "http://127.0.0.1:9251"


def run(workspace: Workspace, section: str) -> list[str]:
    """Run the one command of a chapter on the file; return where the entries then lead."""
    [command] = commands_of(Chapter(PAGE, section))
    done = workspace.run(command.text.replace(ON_THE_NODE, "on-the-node.yaml"))
    assert done.status == 0, done.stderr
    text = (workspace.folder / WRITTEN).read_text(encoding="utf-8")
    (workspace.folder / "on-the-node.yaml").write_text(text, encoding="utf-8")
    return [each["urlPrefix"] for each in yaml.safe_load(text)["extenders"]]


def test_from_theirs_to_ours_and_back(tmp_path):
    workspace = Workspace(tmp_path)
    (workspace.folder / "on-the-node.yaml").write_text(OF_LONGHORN, encoding="utf-8")

    assert run(workspace, "from-theirs-to-ours") == ["https://10.96.0.95:9504", OTHER]
    assert run(workspace, "from-ours-to-theirs") == [OTHER]


@pytest.mark.parametrize("section", ["from-theirs-to-ours", "from-ours-to-theirs"])
def test_the_chapters_show_how_longhorns_entry_is_named_and_kept(section):
    [command] = commands_of(Chapter(PAGE, section))

    assert (f"--replace {LONGHORNS_URL}" in command.text) is ("--merge" in command.text)
