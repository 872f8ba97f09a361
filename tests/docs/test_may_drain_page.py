"""The page about `may-drain` names all that it takes and says; its rights are what it reads."""

import re
from typing import Any

import typer
import yaml

from cli.catalogue import OBSTACLES
from cli.commands import commands
from cli.draining.obstacles import Code, Hint
from cli.kube.draining.kinds import DRAINED
from tests.docs.pages import DOCS, ROOT, code_in, tables

PAGE = DOCS / "may-drain.md"
RIGHTS = ROOT / "examples" / "may-drain" / "rbac.yaml"
COMMAND: Any = typer.main.get_command(commands)


def test_everything_in_the_way_has_a_row_in_the_order_of_its_remedies():
    _, cautions = tables(PAGE, "what-may-be-in-the-way")

    assert [*OBSTACLES] == [*Code]
    assert [code_in(row[0])[0] for row in cautions] == [*Hint]


def test_every_option_has_a_row():
    names = {
        name
        for parameter in COMMAND.commands["may-drain"].params
        for name in parameter.opts
        if name.startswith("--") and name != "--help"
    }

    options, _ = tables(PAGE, "options")

    assert {name for row in options for name in code_in(row[0])} == names


def test_the_exit_statuses_are_those_of_the_help():
    said = " ".join(COMMAND.commands["may-drain"].help.split())
    _, statuses = tables(PAGE, "options")

    told = ", ".join(f"{status} {meaning}" for status, meaning in statuses)
    assert f"Exit status: {told}." in said


def test_the_rights_are_to_list_what_is_read():
    rules = [
        (group, plural, rule["verbs"])
        for role in yaml.safe_load_all(RIGHTS.read_text(encoding="utf-8"))
        for rule in role.get("rules", ())
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    ]

    assert sorted(rules) == sorted((each.group, each.plural, ["list"]) for each in DRAINED.values())


def test_the_page_names_the_rights():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    [said] = re.findall(r"The command lists (.*?)\. The service", text)

    named = {*re.findall(r"[A-Za-z]+", said)}
    plurals = {name.lower() for name in named}
    assert {each.plural for each in DRAINED.values()} <= plurals
