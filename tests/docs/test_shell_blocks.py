"""Every shell block of the documentation works, and prints what it shows."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docs.consoles import Chapter, agrees, commands_of, shell_blocks
from tests.docs.pages import DOCS, PAGES, blocks, name_of
from tests.docs.workspace import Workspace
from tests.integration.server import serving

pytestmark = pytest.mark.tools

CERTIFICATES = Chapter(DOCS / "tls.md", "without-helm")
OWNED = "longhorn-scheduler-extender-{}"
READS_A_NODE = re.compile(r"(cat|grep|openssl|sed)\b.* /(etc|var)/", re.DOTALL)
"""Commands that are left out, since what they read is on the nodes of a cluster."""


CHAPTERS = list(
    dict.fromkeys(Chapter(page, block.section) for page in PAGES for block in shell_blocks(page))
)


@pytest.fixture(scope="module")
def service_port() -> Iterator[int]:
    """The service on the cluster that `make serve` takes."""
    with serving("goal2") as server:
        yield server.port


@contextmanager
def service_with(files: Path) -> Iterator[int]:
    """Run the service with certificates; yield its port."""
    with serving(
        "goal2",
        EXTENDER_METRICS_PORT="0",
        EXTENDER_TLS_CERT_FILE=str(files / "tls.crt"),
        EXTENDER_TLS_PRIVATE_KEY_FILE=str(files / "tls.key"),
        EXTENDER_CLIENT_CA_FILE=str(files / "ca.crt"),
    ) as server:
        yield server.port


def run_all(chapter: Chapter, workspace: Workspace) -> None:
    for command in commands_of(chapter):
        if READS_A_NODE.match(command.text):
            continue
        done = workspace.run(command.text)
        place = f"{name_of(chapter.page)}:{command.line}: {command.text}\n{done.stderr}"
        # What stand-ins print is little: nothing may be found in it.
        finds_nothing = done.status == 1 and re.search(r"\| grep .*$", command.text)
        asks = re.search(r" (plan |may-drain |--check |filter (pvc|volume)/)", command.text)
        is_answer = done.status == 1 and command.shown and asks
        assert done.status == 0 or finds_nothing or is_answer, place
        assert workspace.trouble() == "", place
        if command.shown:
            assert agrees(command.shown, done.stdout), f"{place}{done.stdout}"


def asks_the_service(chapter: Chapter) -> bool:
    """Whether it sends requests that the service answers also for a cluster from a file."""
    return asks(chapter, r"9504/(filter|healthz|readyz|metrics)")


def asks_over_tls(chapter: Chapter) -> bool:
    return asks(chapter, r"https://[^/]+:9504/filter")


def asks(chapter: Chapter, url: str) -> bool:
    return any(re.search(url, command.text) for command in commands_of(chapter))


@pytest.mark.parametrize(
    "chapter", [chapter for chapter in CHAPTERS if not asks_the_service(chapter)], ids=str
)
def test_commands_work_and_print_what_is_shown(chapter, tmp_path):
    run_all(chapter, Workspace(tmp_path))


@pytest.mark.parametrize(
    "chapter",
    [chapter for chapter in CHAPTERS if asks_the_service(chapter) and not asks_over_tls(chapter)],
    ids=str,
)
def test_requests_are_answered_as_shown(chapter, tmp_path, service_port):
    workspace = Workspace(tmp_path)
    workspace.send_requests_to(service_port)

    run_all(chapter, workspace)


@pytest.mark.parametrize("chapter", [*filter(asks_over_tls, CHAPTERS)], ids=str)
def test_the_certificates_that_are_made_serve_kube_scheduler(chapter, tmp_path):
    workspace = Workspace(tmp_path)
    run_all(CERTIFICATES, workspace)
    written = workspace.secrets()
    for name, folder in (("tls", tmp_path), ("kube-scheduler", workspace.folder)):
        for file, content in written[OWNED.format(name)].items():
            (folder / file).write_bytes(content)

    with service_with(tmp_path) as port:
        workspace.send_requests_to(port)
        run_all(chapter, workspace)
        refused = workspace.run("curl --cacert ca.crt https://10.96.0.95:9504/healthz")

    assert (refused.status != 0, refused.stdout) == (True, "")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_stand_in_blocks_that_are_run(page):
    others = [block for block in blocks(page) if block not in shell_blocks(page)]

    hidden = [b.place for b in others if re.search(r"^(\$ |make |kubectl )", b.text, re.MULTILINE)]

    assert hidden == []


def test_the_blocks_are_found():
    assert len(CHAPTERS) > 10
    assert Chapter(DOCS / "install.md", "the-command") in CHAPTERS
