"""Blocks of YAML and JSON are what Kubernetes' programs take."""

import json
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.docs.pages import PAGES, Block, blocks
from tests.unit.manifests.rendered import MANIFESTS, render

VERSION = "1.36"
_KUSTOMIZATION = "# kustomization.yaml\n"


def of(*languages: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.language in languages]


def objects() -> list[tuple[Block, Any]]:
    return [
        (block, document)
        for block in of("yaml")
        for document in yaml.safe_load_all(block.text)
        if _is_known(document.get("apiVersion", "./"))
    ]


def _is_known(api_version: str) -> bool:
    """Whether objects of this version are Kubernetes' own."""
    group, slash, _ = api_version.partition("/")
    return not slash or "." not in group or group.endswith(".k8s.io")


@pytest.mark.parametrize("block", of("yaml", "json"), ids=lambda block: block.place)
def test_data_can_be_parsed(block: Block) -> None:
    if block.language == "json":
        assert json.loads(block.text)
    else:
        assert all(yaml.safe_load_all(block.text))


@pytest.mark.parametrize(
    ("block", "document"),
    objects(),
    ids=[f"{block.place}-{document['kind']}" for block, document in objects()],
)
def test_kubernetes_accepts_the_objects(block: Block, document: Any) -> None:
    assert block.place
    kubernetes_validate.validate(document, VERSION, strict=True)


@pytest.mark.parametrize(
    "block",
    [block for block in of("yaml") if block.text.startswith(_KUSTOMIZATION)],
    ids=lambda block: block.place,
)
def test_kustomizations_can_be_rendered(block: Block, tmp_path: Path) -> None:
    (tmp_path / "manifests").symlink_to(MANIFESTS)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(block.text, encoding="utf-8")

    assert render(folder)
