"""The versions that pages say were tested with are those that the tests run."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, name_of

MODULES = (ROOT / "tests" / "e2e" / "controlplane" / "go.mod").read_text(encoding="utf-8")
GATE = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
[KUBERNETES] = re.findall(r"k8s\.io/kubernetes v(\S+)", MODULES)
[HELM] = re.findall(r"helm\.sh/helm/v\d+/cmd/helm@v(\d+\.\d+)\.\d+", GATE)


def text_of(path: str) -> str:
    """Return a page without its line breaks."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def test_kubernetes_is_the_version_of_the_control_plane() -> None:
    assert f"**Tested with.** Kubernetes {KUBERNETES}:" in text_of("README.md")
    assert f"| Kubernetes | 1.26 and newer | {KUBERNETES}:" in text_of("docs/install.md")


def test_helm_is_the_version_of_the_gate() -> None:
    assert f"| Helm | 3.17 and newer | {HELM} |" in text_of("docs/install.md")


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent == DOCS], ids=name_of)
def test_pages_name_the_same_versions_of_longhorn(page: Path) -> None:
    named = set(re.findall(r"v1\.\d+ to v1\.\d+", page.read_text(encoding="utf-8")))

    assert named <= {"v1.8 to v1.13"}
