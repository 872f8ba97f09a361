"""The image fits the Deployment, as far as that can be seen without building it."""

import json
import re
import tomllib

import pytest

from app.config import Settings
from tests.unit.manifests.rendered import BASE, ROOT, container_of, one

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
NAME = "longhorn-scheduler-extender"


def instruction(name: str) -> str:
    """The argument of an instruction that occurs once."""
    [argument] = re.findall(rf"^{name} (.+)$", DOCKERFILE, flags=re.MULTILINE)
    assert isinstance(argument, str)
    return argument


def test_the_user_is_the_one_of_the_deployment() -> None:
    security = one(BASE, "Deployment", NAME)["spec"]["template"]["spec"]["securityContext"]

    assert instruction("USER") == f"{security['runAsUser']}:{security['runAsGroup']}"


def test_the_port_is_the_default() -> None:
    assert instruction("EXPOSE") == str(Settings().port)


def test_the_entry_point_is_the_console_script() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    command = [*json.loads(instruction("ENTRYPOINT")), *json.loads(instruction("CMD"))]

    assert list(project["scripts"]) == [command[0]]
    assert command == container_of(one(BASE, "Deployment", NAME))["command"]


def test_dependencies_are_installed_by_their_hashes() -> None:
    installs = re.findall(r"--requirement (\S+)", DOCKERFILE)

    assert installs == ["requirements/build.txt", "requirements/runtime.txt"]
    assert DOCKERFILE.count("--require-hashes") == len(installs)
    for file in installs:
        assert "--hash=sha256:" in (ROOT / file).read_text(encoding="utf-8")


def test_both_stages_share_a_base_that_a_build_can_pin() -> None:
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, flags=re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2


@pytest.mark.parametrize("needed", ["pyproject.toml", "README.md", "LICENSE", "requirements"])
def test_what_the_build_needs_reaches_it(needed: str) -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert needed not in ignored


def test_packages_reach_the_build() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert set(packages).isdisjoint(ignored)
