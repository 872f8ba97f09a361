"""Blocks of YAML and JSON can be parsed, and kustomizations rendered."""

import json

import pytest
import yaml

from tests.docs.pages import PAGES, Block, blocks
from tests.unit.manifests.rendered import MANIFESTS, render

_KUSTOMIZATION = "# kustomization.yaml\n"


def of(*languages: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.language in languages]


@pytest.mark.parametrize("block", of("yaml", "json"), ids=lambda block: block.place)
def test_data_can_be_parsed(block):
    if block.language == "json":
        assert json.loads(block.text)
    else:
        assert all(yaml.safe_load_all(block.text))


@pytest.mark.tools
@pytest.mark.parametrize(
    "block",
    [block for block in of("yaml") if block.text.startswith(_KUSTOMIZATION)],
    ids=lambda block: block.place,
)
def test_kustomizations_can_be_rendered(block, tmp_path):
    (tmp_path / "manifests").symlink_to(MANIFESTS)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(block.text, encoding="utf-8")

    assert render(folder)
