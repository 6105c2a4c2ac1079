"""`minercdc lake`: its first argument is CONFIG, or one of its commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from minercdc.cli import app
from minercdc.errors import ConfigError


@pytest.mark.parametrize(
    "arguments",
    [("{}",), ("-v", "{}"), ("verify", "{}"), ("snapshot", "{}", "--table", "A.B"), ("rebuild", "{}", "--table", "A.B")],
)
def test_every_form_takes_the_configuration(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    file = str(tmp_path / "missing.yaml")
    ended = CliRunner().invoke(app, ["lake", *(argument.format(file) for argument in arguments)])
    assert isinstance(ended.exception, ConfigError), ended.output
    assert file in str(ended.exception)


def test_without_arguments_it_lists_its_commands() -> None:
    shown = CliRunner().invoke(app, ["lake"]).output
    assert "CONFIG | COMMAND" in shown
    assert "verify" in shown
    assert "snapshot" in shown
    assert "rebuild" in shown


def test_a_table_to_rebuild_has_to_be_named() -> None:
    assert CliRunner().invoke(app, ["lake", "rebuild", "x.yaml"]).exit_code == 2


def test_an_unknown_option_is_refused() -> None:
    assert CliRunner().invoke(app, ["lake", "--nonsense", "x.yaml"]).exit_code == 2
