"""`minercdc --help`: commands in panels, an example of each that its parser takes, and the nearest command for a typo."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
from click.testing import CliRunner
from typer.main import get_command

from minercdc.cli import PANELS, app

COMMANDS = [command for commands in PANELS.values() for command in commands]


# Typer makes the tree of all commands anew each time that it is asked for it, in a tenth of a second of CPU.
TREE: Any = get_command(app)


def printed(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(TREE, arguments, env={"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1"})
    return done.exit_code, done.output


def test_what_some_commands_need_is_imported_by_these_only() -> None:
    """A second of CPU, which `minercdc --help` and shell completion would wait for."""
    code = (
        "import json, sys, minercdc.cli;"
        "print(json.dumps([name for name in ('pydantic', 'oracledb', 'confluent_kafka', 'pyspark') if name in sys.modules]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == []


def test_the_panels_hold_every_command_in_order() -> None:
    status, text = printed("--help")
    assert status == 0
    assert re.findall(r"^╭─ (\w+) ─", text, re.M) == ["Options", *PANELS]
    assert {command.name for command in COMMANDS} == set(TREE.commands)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_help_of_a_command_fits_a_terminal_and_ends_with_an_example(command: Any) -> None:
    assert command.example.split()[0] == command.name
    status, text = printed(command.name, "--help")
    assert status == 0
    assert f"Example: minercdc {command.example}" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_help_of_the_commands_of_a_group_fits_a_terminal_and_ends_with_an_example(command: Any) -> None:
    group = TREE.commands[command.name]
    for name, member in getattr(group, "commands", {}).items():
        first = ["CONFIG", name] if command.name == "signal" else [name]
        status, text = printed(command.name, *first, "--help")
        assert status == 0, text
        assert max(map(len, text.splitlines())) <= 80
        if not member.hidden:
            assert f"Example: minercdc {command.members[name]}" in " ".join(text.split())


EXAMPLES = [example for command in COMMANDS for example in (command.example, *command.members.values())]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_one_that_the_command_takes(example: str) -> None:
    command = TREE
    context, words = None, shlex.split(example.partition(" > ")[0])
    while True:
        context = command.make_context("minercdc", words, parent=context)
        words = [*getattr(context, "_protected_args", ()), *context.args]
        if not words or not hasattr(command, "commands"):
            break
        _, command, words = command.resolve_command(context, words)
    assert words == []
    assert not hasattr(command, "commands")


def test_a_flag_has_no_type_and_an_argument_no_braces() -> None:
    _, text = printed("run", "--help")
    assert "run [OPTIONS] CONFIG" in text
    assert "<bool>" not in text
    _, text = printed("tail", "--help")
    assert "tail [OPTIONS] CONFIG [TABLE]" in text
    _, text = printed("--help")
    assert "<bool>" not in text


# What prints nothing for people, and why.
WITHOUT_JSON = {
    "run": "a log",
    "relay": "a log; `schemas` prints what Databus's generator does",
    "lake stream": "a log",
    "demo": "a play, whose end is its exit status",
    "sandbox": "a server's line `ready`",
    "kafka": "a server's line `ready`",
    "registry": "a server's line `ready`",
    "offsets export": "JSON",
}


def test_all_commands_that_print_for_people_print_json_too() -> None:
    without = set()
    for name, command in TREE.commands.items():
        for part, member in getattr(command, "commands", {"": command}).items():
            if not any("--json" in one.opts for one in member.params):
                without.add(f"{name} {part}".rstrip())
    assert without == set(WITHOUT_JSON)


def test_a_typo_is_answered_with_the_nearest_command() -> None:
    status, text = printed("statsu")
    assert status == 2
    assert "Did you mean 'status'?" in text
