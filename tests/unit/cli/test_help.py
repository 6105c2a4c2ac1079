"""`minercdc --help`: commands in panels, an example of each that its parser takes, and the nearest command for a typo."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from minercdc.cli import PANELS, app

COMMANDS = [command for commands in PANELS.values() for command in commands]


def printed(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1"})
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
    assert {command.name for command in COMMANDS} == set(get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_help_of_a_command_fits_a_terminal_and_ends_with_an_example(command: Any) -> None:
    assert command.example.split()[0] == command.name
    status, text = printed(command.name, "--help")
    assert status == 0
    assert f"Example: minercdc {command.example}" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_help_of_the_commands_of_a_group_fits_a_terminal(command: Any) -> None:
    group = get_command(app).commands[command.name]  # type: ignore[attr-defined]
    for name in getattr(group, "commands", {}):
        first = ["CONFIG", name] if command.name == "signal" else [name]
        status, text = printed(command.name, *first, "--help")
        assert status == 0, text
        assert max(map(len, text.splitlines())) <= 80


def test_a_typo_is_answered_with_the_nearest_command() -> None:
    status, text = printed("statsu")
    assert status == 2
    assert "Did you mean 'status'?" in text
