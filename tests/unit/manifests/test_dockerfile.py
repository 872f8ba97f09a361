"""The image fits the Deployment, as far as that can be seen without building it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from app.settings import Settings
from supply.base import pinned, tagged, with_digest
from supply.sbom import pins
from tests.unit.manifests.rendered import BASE, ROOT, container_of, one

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
NAME = "longhorn-scheduler-extender"
CHECKED_WITH = "cyclonedx-python-lib"


def instruction(name: str) -> str:
    """The argument of an instruction that occurs once."""
    [argument] = re.findall(rf"^{name} (.+)$", DOCKERFILE, flags=re.MULTILINE)
    assert isinstance(argument, str)
    return argument


@pytest.mark.tools
def test_the_user_is_the_one_of_the_deployment():
    security = one(BASE, "Deployment", NAME)["spec"]["template"]["spec"]["securityContext"]

    assert instruction("USER") == f"{security['runAsUser']}:{security['runAsGroup']}"


def test_the_port_is_the_default():
    assert instruction("EXPOSE") == str(Settings().port)


@pytest.mark.tools
def test_the_entry_point_is_the_console_script():
    command = [*json.loads(instruction("ENTRYPOINT")), *json.loads(instruction("CMD"))]

    assert command[0] in PROJECT["scripts"]
    assert command == container_of(one(BASE, "Deployment", NAME))["command"]


def test_dependencies_are_installed_by_their_hashes():
    installs = re.findall(r"--requirement (\S+)", DOCKERFILE)

    assert installs == [f"requirements/{name}.txt" for name in ("build", "runtime", "sbom")]
    assert DOCKERFILE.count("--require-hashes") == len(installs)
    for file in installs:
        assert "--hash=sha256:" in (ROOT / file).read_text(encoding="utf-8")


def test_the_list_is_checked_with_what_the_linters_see():
    versions = [
        next(p.version for p in pins((ROOT / file).read_text("utf-8")) if p.name == CHECKED_WITH)
        for file in ("requirements/sbom.txt", "requirements/dev.txt")
    ]

    assert versions[0] == versions[1]


def test_the_list_is_made_as_make_makes_it():
    def options(file: str) -> list[str]:
        [command] = re.findall(r"cyclonedx-py environment ((?:.|\\\n)+?) --output-file", file)
        return re.findall(r"--\S+", command)

    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert options(DOCKERFILE) == options(makefile)
    assert "--output-reproducible" in options(makefile)


def test_the_labels_in_the_dockerfile_are_those_of_the_project():

    assert dict(re.findall(r'org\.opencontainers\.image\.(\S+)="(.+)"', DOCKERFILE)) == {
        "title": PROJECT["name"],
        "description": PROJECT["description"],
        "licenses": PROJECT["license"],
        "base.name": tagged(DOCKERFILE),
    }


def test_every_stage_is_built_on_the_pinned_image_or_on_what_is_given_instead():
    images = re.findall(r"^FROM (\S+)", DOCKERFILE, flags=re.MULTILINE)

    assert instruction("ARG") == "PYTHON_IMAGE=pinned"
    assert images[0].partition("@")[0] == tagged(DOCKERFILE)
    assert set(images[1:]) == {"${PYTHON_IMAGE}", "build"}


def with_docker(folder: Path, script: str) -> dict[str, str]:
    """Put a script in the place of docker; return the environment that finds it."""
    docker = folder / "docker"
    docker.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    docker.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "MAKEFLAGS": ""}


def test_make_writes_the_digest_that_the_tag_has_now(tmp_path):
    digest = "sha256:" + "0123456789abcdef" * 4
    asked = "buildx imagetools inspect python:3.13-slim --format {{.Manifest.Digest}}"
    environ = with_docker(tmp_path, f'[ "$*" = "{asked}" ] && echo {digest}')
    for name in ("Makefile", "Dockerfile"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "supply", tmp_path / "supply")
    command = ["make", "--silent", "base-image", f"PYTHON={sys.executable}"]

    subprocess.run(command, cwd=tmp_path, env=environ | {"PYTHONPATH": ""}, check=True)

    text = (tmp_path / "Dockerfile").read_text(encoding="utf-8")
    assert pinned(text) == f"python:3.13-slim@{digest}"
    assert text.replace(f"@{digest}", "") == with_digest(DOCKERFILE, digest).replace(
        f"@{digest}", ""
    )


def make_image(folder: Path, *variables: str) -> list[str]:
    """Return the arguments that `make image` gives to docker, which is not needed."""
    environ = with_docker(folder, 'printf "%s\\n" "$@"')
    command = ["make", "--silent", "image", *variables]
    return subprocess.check_output(command, cwd=ROOT, env=environ, text=True).splitlines()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone: there is no revision")
def test_make_adds_the_labels_that_depend_on_the_commit(tmp_path):
    command = ["git", "log", "-1", "--format=%H %cI"]
    revision, created = subprocess.check_output(command, cwd=ROOT, text=True).split()

    *_, version_label, _, revision_label, _, created_label, context = make_image(tmp_path)

    prefix = "org.opencontainers.image"
    assert version_label == f"{prefix}.version={PROJECT['version']}"
    assert revision_label.removesuffix("-dirty") == f"{prefix}.revision={revision}"
    assert created_label == f"{prefix}.created={created}"
    assert context == "."


def test_what_only_the_builder_knows_is_passed_on(tmp_path):
    variables = ("IMAGE=some/name:7", "SOURCE=https://sources.test/", "PYTHON_IMAGE=python:test")

    arguments = make_image(tmp_path, *variables)

    assert arguments[:3] == ["build", "--tag", "some/name:7"]
    assert arguments[-7:] == [
        *("--label", "org.opencontainers.image.source=https://sources.test/"),
        *("--label", "org.opencontainers.image.base.name=python:test"),
        *("--build-arg", "PYTHON_IMAGE=python:test"),
        ".",
    ]


def test_what_the_build_needs_reaches_it():
    packages = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    needed = {"pyproject.toml", "README.md", "LICENSE", "requirements", "supply", *packages}

    assert needed.isdisjoint(ignored)
