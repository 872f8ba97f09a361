"""The versions that pages say were tested with are those that the tests run."""

import re

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, name_of, tables
from tests.e2e.controlplane.programs import kubernetes_version, minor_versions

GATE = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
[HELM] = re.findall(r"helm\.sh/helm/v\d+/cmd/helm@v(\d+\.\d+)\.\d+", GATE)


def text_of(path: str) -> str:
    """Return a page without its line breaks."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def test_kubernetes_is_what_the_control_planes_are_of():
    oldest, *_, newest = minor_versions()

    assert f"**Tested with.** Kubernetes {oldest} to {newest}:" in text_of("README.md")
    assert f"| Kubernetes | 1.26 and newer | {oldest} to {newest}:" in text_of("docs/install.md")
    assert f"tested with Kubernetes {oldest} to {newest}." in text_of("SECURITY.md")


def test_each_control_plane_has_a_row_with_its_patch_version():
    [rows] = tables(DOCS / "compatibility.md", "compatibility")
    run = {row[0]: row[1:] for row in rows if row[1].startswith("run")}

    assert {*run} == {*minor_versions()}
    for minor, cells in run.items():
        version = kubernetes_version({"E2E_KUBERNETES": minor})
        assert all(re.match(rf"run, {re.escape(version)}(;|$)", cell) for cell in cells)


def test_helm_is_the_version_of_the_gate():
    assert f"| Helm | 3.17 and newer | {HELM} |" in text_of("docs/install.md")


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent == DOCS], ids=name_of)
def test_pages_name_the_same_versions_of_longhorn(page):
    named = set(re.findall(r"v1\.\d+ to v1\.\d+", page.read_text(encoding="utf-8")))

    assert named <= {"v1.8 to v1.13"}
