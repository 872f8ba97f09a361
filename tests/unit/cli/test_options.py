"""What all commands do alike: how they print an answer, and what they say on stderr."""

import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from fcntl import ioctl
from typing import Any

import msgspec
import pytest
import typer
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cli.__main__ import main
from cli.commands import commands
from cli.documents import parse_yaml
from cli.options import Output, WideOutput, written_answer, written_yaml
from cli.paragraphs import ANY_WIDTH, paragraph
from cli.planning.steps import steps
from tests.unit.cli.plans import ROOT

GROUP: Any = typer.main.get_command(commands)
NAMES = tuple(GROUP.commands)
STEPS: Any = typer.main.get_command(steps)
GROUPS = ("plan", "release")
CALLS = [
    *[(name,) for name in NAMES if name not in GROUPS],
    *[("plan", name) for name in STEPS.commands],
]
"""Each command that has options, by its words."""
SERVICES = ("serve", "disk-schedule-controller")
BUNDLE = ("--cluster-file", "examples/bundle")
SCHEDULER = "manifests/scheduler/k3s.yaml"
ANSWERS = {
    "filter": ("filter", *BUNDLE),
    "overview": ("overview", *BUNDLE),
    "claims": ("claims", *BUNDLE),
    "status": ("status", *BUNDLE),
    "survey": ("survey", *BUNDLE),
    "plan": ("plan", "drain", "node-1", *BUNDLE),
    "may-drain": ("may-drain", "node-4", "--cluster-file", "examples/may-drain"),
    "scheduler-config": ("scheduler-config", "--distribution", "kubeadm", "--check", SCHEDULER),
}
"""A call of each command that answers without a live cluster."""


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


class Told(msgspec.Struct):
    """A report."""

    names: dict[str, str]
    sizes_bytes: tuple[int, ...]
    output: Output
    nothing: None = None


@given(st.dictionaries(st.text() | st.from_regex(r"[-+]?[0-9.]+[eE]?[0-9]*", fullmatch=True),
                       st.text()), st.tuples(st.integers(), st.integers()))  # fmt: skip
def test_yaml_says_what_json_says(names, sizes):
    report = Told(names=names, sizes_bytes=sizes, output=Output.YAML)

    text = written_yaml(report)

    assert yaml.safe_load(text) == json.loads(msgspec.json.encode(report))
    if "<<" not in names:  # a merge key to our own reader
        assert parse_yaml("it", text.encode()) == [yaml.safe_load(text)]


@given(st.dictionaries(st.text(), st.text()))
def test_json_has_escapes_for_what_could_change_a_terminal(names):
    report = Told(names=names, sizes_bytes=(), output=Output.JSON)

    text = written_answer(report, Output.JSON, ())

    assert json.loads(text)["names"] == names
    assert text.replace("\n", "").isprintable()


SHOWN = {
    "\u009b31m": r"\u009b31m",
    "\x7f": r"\u007f",
    "a\u202eb": r"a\u202eb",
    "\u2066": r"\u2066",
    "\U000e0041": r"\udb40\udc41",
    "Größe 木": "Größe 木",
}


@pytest.mark.parametrize(("name", "expected"), SHOWN.items())
def test_letters_of_all_languages_stay_as_they_are(name, expected):
    report = Told(names={"it": name}, sizes_bytes=(), output=Output.JSON)

    assert f'"it": "{expected}"' in written_answer(report, Output.JSON, ())


def test_what_some_readers_take_for_a_number_is_quoted():
    report = Told(names={"12e3": "1e5"}, sizes_bytes=(), output=Output.YAML)

    assert "'12e3': '1e5'" in written_yaml(report)


@pytest.mark.parametrize("command", ANSWERS)
def test_each_answer_can_be_had_as_json_and_as_yaml(command, called):
    status, as_json, _ = called(*ANSWERS[command], "-o", "json")

    found, as_yaml, _ = called(*ANSWERS[command], "-o", "yaml")

    assert (found, yaml.safe_load(as_yaml)) == (status, json.loads(as_json))


@pytest.mark.parametrize("command", ANSWERS)
def test_quiet_leaves_out_what_is_on_stderr_and_nothing_else(command, called):
    status, out, err = called(*ANSWERS[command])

    assert called(*ANSWERS[command], "-q") == (status, out, "")
    assert err.startswith("warning: ") or command != "filter"


def test_quiet_keeps_errors(called):
    status, _, err = called("filter", "nobody", *BUNDLE, "--quiet")

    assert (status, err.startswith("error: no file and no pod ")) == (2, True)


def options_of(call: tuple[str, ...]) -> set[str]:
    """Return the options of a command, without --help."""
    *_, name = call
    command = (STEPS if len(call) > 1 else GROUP).commands[name]
    return {
        option
        for parameter in command.params
        for option in [*parameter.opts, *parameter.secondary_opts]
        if option.startswith("-")
    }


@pytest.mark.parametrize("call", [call for call in CALLS if call[0] not in SERVICES])
def test_each_command_that_answers_has_the_same_options(call):
    assert {"--output", "-o", "--quiet", "-q"} <= options_of(call)


@pytest.mark.parametrize("call", [call for call in CALLS if "--cluster-file" in options_of(call)])
def test_a_second_cluster_file_is_refused(call, called):
    status, out, err = called(*call, *BUNDLE, "--cluster-file=examples/goal2")

    assert (status, out) == (2, "")
    assert err == "error: --cluster-file is given twice; give one, and add others with --also\n"


def test_the_forms_of_an_answer_are_the_same_for_all():
    assert {*WideOutput} == {*Output, "wide"}


@pytest.mark.parametrize("call", [*CALLS, ("plan",)])
def test_the_help_fits_into_80_columns_and_nothing_is_cut(call, monkeypatch, called):
    monkeypatch.setenv("COLUMNS", "80")

    status, text, _ = called(*call, "--help")

    assert (status, called(*call, "-h")) == (0, (0, text, ""))
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "…" not in text
    assert [option for option in options_of(call) if option not in text] == []


@pytest.mark.parametrize(("words", "status"), [(("-h",), 0), ((), 2)])
def test_the_list_of_commands_is_not_cut(monkeypatch, called, words, status):
    monkeypatch.setenv("COLUMNS", "80")

    found, text, err = called(*words)

    assert (found, err) == (status, "")
    listed = text.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == [*NAMES]
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.partition("Commands:")[2]


COMPLETED = {
    "sur": ["survey"],
    "overview -o ": [*WideOutput],
    "survey --q": ["--quiet"],
    "plan unc": ["uncordon"],
    "plan drain --fo": ["--force"],
    "plan --seed 3 add-node --li": ["--like"],
}


@pytest.mark.parametrize(("words", "expected"), COMPLETED.items(), ids=COMPLETED)
@pytest.mark.parametrize("program", ["longhorn-scheduler-extender", "kubectl-longhorn_scheduler"])
def test_shells_complete_commands_options_and_values(monkeypatch, capsys, words, expected, program):
    """An installed script, asked as bash asks what the last of these words may be."""
    monkeypatch.setattr("sys.argv", [program])
    monkeypatch.setattr("__main__.__package__", None)
    monkeypatch.setenv(f"_{program.replace('-', '_').upper()}_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"{program} {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" "))))

    with pytest.raises(SystemExit):
        main()

    out, err = capsys.readouterr()
    assert (out.split(), err) == (expected, "")


def test_the_script_for_a_shell_can_be_had():
    """Typer finds out which shell it is started from."""
    program = f"{sys.executable} -m cli --show-completion; exit $?"
    done = subprocess.run(["/bin/bash", "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, "complete_bash" in done.stdout) == (0, True)


def test_kubectl_completes_by_the_script_of_the_page(tmp_path):
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    script = tmp_path / "kubectl_complete-longhorn_scheduler"
    script.write_text("#!/bin/sh" + page.partition("#!/bin/sh")[2].partition("```")[0])
    plugin = tmp_path / "kubectl-longhorn_scheduler"
    plugin.write_text(f"#!{sys.executable}\nfrom cli.__main__ import main\nmain()\n")
    plugin.chmod(0o755)

    done = subprocess.run(
        ["/bin/sh", str(script), "may"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.stdout.split(), done.stderr) == (["may-drain"], "")


def test_a_message_is_broken_and_what_is_to_be_copied_is_not():
    text = "to add what is missing: kubectl get -o json a,b,c > more.json, then add --also more"

    assert [*paragraph("warning: ", text, 40)] == [
        "warning: to add what is missing:",
        "      kubectl get -o json a,b,c > more.json,",
        "      then add --also more",
    ]
    assert [*paragraph("warning: ", text, ANY_WIDTH)] == [f"warning: {text}"]


def terminal(*arguments: str, environ: Mapping[str, str], columns: int = 80) -> tuple[int, str]:
    """Run the program on a terminal; return the status and what it shows."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    inherited = {n: v for n, v in os.environ.items() if n not in ("COLUMNS", "NO_COLOR", "TERM")}
    with subprocess.Popen(
        [sys.executable, "-m", "cli", *arguments],
        env={**inherited, "TERM": "xterm", **environ},
        stdin=slave, stdout=slave, stderr=slave,
    ) as process:  # fmt: skip
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 65536):
                shown += piece
        except OSError:  # the other end is closed
            pass
    os.close(master)
    return process.returncode, shown.decode().replace("\r\n", "\n")


PAINTED = ANSWERS["survey"]


def test_a_terminal_gets_colours():
    assert "\x1b[33m" in terminal(*PAINTED, environ={})[1]


NO_COLOUR = {"NO_COLOR": "1"}
PLAIN: list[tuple[tuple[str, ...], dict[str, str]]] = [
    (PAINTED, NO_COLOUR),
    (PAINTED, {"TERM": "dumb"}),
    (("survey", "--help"), NO_COLOUR),
    (("survey", "--bogus"), NO_COLOUR),
]


@pytest.mark.parametrize(("arguments", "environ"), PLAIN)
def test_a_terminal_gets_no_escape_sequences_where_they_are_not_wished(arguments, environ):
    assert "\x1b" not in terminal(*arguments, environ=environ)[1]


@pytest.mark.parametrize("arguments", [PAINTED, ("survey", "--help")])
def test_without_a_terminal_there_are_no_escape_sequences(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "cli", *arguments],
        env={**os.environ, "FORCE_COLOR": "1", "GITHUB_ACTIONS": "true"},
        capture_output=True, check=False,
    )  # fmt: skip

    assert b"\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("columns", [40, 120])
def test_warnings_and_errors_are_as_wide_as_the_terminal(columns):
    status, shown = terminal("filter", "nobody", *BUNDLE, columns=columns, environ=NO_COLOUR)

    lines = [line for line in shown.splitlines() if "kubectl get" not in line]
    assert (status, shown.count("error: ")) == (2, 1)
    assert max(map(len, lines)) <= columns
    assert len(lines) > 2


@pytest.mark.parametrize(
    ("closed", "status"), [(">&-", 2), ("2>&-", 0), ("<&-", 0), (">&- 2>&-", 2)]
)
def test_closed_streams_are_no_traceback(closed, status):
    command = f'"{sys.executable}" -m cli overview {" ".join(BUNDLE)} {closed}'
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)

    assert done.returncode == status
    assert "Traceback" not in done.stderr
    said = re.findall("error: .*", done.stderr)
    assert said == (
        ["error: the output cannot be written: it is closed"] if closed == ">&-" else []
    )


def test_a_closed_input_is_an_error(monkeypatch, called):
    monkeypatch.setattr("sys.stdin", None)

    said = called("scheduler-config", "--distribution", "k3s", "--check", "-")

    assert said == (2, "", "error: the input is closed; name a file\n")
