"""kubectl's configuration is looked for where kubectl looks, and missing it has a way on."""

from pathlib import Path

import pytest

from app.errors import InputError
from app.kube.kubeconfig import kubeconfig_files


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a kubeconfig, and another one beside it."""
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").touch()
    (tmp_path / "other").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("given", "environ", "expected"),
    [
        pytest.param(None, {}, "~/.kube/config", id="default"),
        pytest.param(None, {"KUBECONFIG": ""}, "~/.kube/config", id="empty-variable"),
        pytest.param(None, {"KUBECONFIG": "other"}, "other", id="variable"),
        pytest.param(None, {"KUBECONFIG": "gone:other"}, "gone:other", id="one-of-two"),
        pytest.param(Path("other"), {"KUBECONFIG": "gone"}, "other", id="given"),
    ],
)
def test_files_are_those_of_kubectl(given, environ, expected):
    assert kubeconfig_files(given, environ) == expected


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("given", "environ", "named"),
    [
        pytest.param(None, {"KUBECONFIG": "gone"}, "gone", id="variable"),
        pytest.param(None, {"KUBECONFIG": "gone:lost"}, "gone:lost", id="two"),
        pytest.param(None, {"KUBECONFIG": ":"}, ":", id="no-name"),
        pytest.param(Path("gone"), {"KUBECONFIG": "other"}, "gone", id="given"),
        pytest.param(Path("x" * 300), {}, "x" * 300, id="long-name"),
        pytest.param(Path("~nobody-of-this-name/config"), {}, "~nobody", id="unknown-home"),
    ],
)
def test_none_of_them_is_an_error_with_a_way_on(given, environ, named):
    with pytest.raises(InputError) as caught:
        kubeconfig_files(given, environ)

    text = str(caught.value)
    assert text.startswith(f"there is no kubeconfig {named}")
    assert "--kubeconfig" in text
    assert "--cluster-file" in text
