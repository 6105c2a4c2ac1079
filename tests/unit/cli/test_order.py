"""CONFIG before a group's command or after it; what was probably meant by a word that is neither."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from minercdc.cli import app
from minercdc.cli.groups.order import command_first, config_first, nearest

COMMANDS = ("show", "log")


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        (["show", "a.yaml", "-v"], ["show", "a.yaml", "-v"]),
        (["a.yaml", "show", "-v"], ["show", "a.yaml", "-v"]),
        (["a.yaml"], ["a.yaml"]),
        (["a.yaml", "shwo", "-v"], ["shwo", "a.yaml", "-v"]),
        (["shwo", "a.yaml"], ["shwo", "a.yaml"]),
        (["a.yaml", "b.yaml"], ["a.yaml", "b.yaml"]),
        (["a.yaml", "--show"], ["a.yaml", "--show"]),
        (["show", "log"], ["show", "log"]),
        (["--help"], ["--help"]),
        ([], []),
    ],
)
def test_the_command_of_a_group_may_come_second(given: list[str], ordered: list[str]) -> None:
    assert command_first(given, COMMANDS) == ordered


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        (["a.yaml", "log", "x"], ["a.yaml", "log", "x"]),
        (["log", "a.yaml", "x"], ["a.yaml", "log", "x"]),
        (["log", "--wait", "a.yaml"], ["log", "--wait", "a.yaml"]),
        (["log", "show"], ["log", "show"]),
        (["lgo", "a.yaml", "x"], ["a.yaml", "lgo", "x"]),
        (["a.yaml", "lgo"], ["a.yaml", "lgo"]),
    ],
)
def test_config_may_come_second_where_the_group_takes_it(given: list[str], ordered: list[str]) -> None:
    assert config_first(given, COMMANDS) == ordered


def test_a_file_that_is_there_is_no_typo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert nearest("shwo", COMMANDS) == "show"
    assert nearest("orders.yaml", COMMANDS) == ""
    (tmp_path / "shwo").touch()
    assert nearest("shwo", COMMANDS) == ""


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("offsets shwo orders.yaml", "Did you mean 'show'?"),
        ("lake statsu orders.yaml", "Did you mean 'status'?"),
        ("signal orders.yaml pause-straming", "Did you mean 'pause-streaming'"),
        ("offsets orders.yaml shwo", "Did you mean 'show'?"),
        ("lake orders.yaml optimise", "Did you mean 'optimize'?"),
        ("signal pause-straming orders.yaml", "Did you mean 'pause-streaming'"),
        ("signal log --wait orders.yaml", "CONFIG comes first: "),
        ("status orders.yaml --jsno", "--json"),
        ("sandbox --sead x.sql", "--seed"),
    ],
)
def test_a_typo_is_answered_with_what_is_nearest(typed: str, answer: str) -> None:
    done = CliRunner().invoke(app, typed.split(), env={"COLUMNS": "200", "TERMINAL_WIDTH": "200", "NO_COLOR": "1"})
    assert done.exit_code == 2
    assert answer in " ".join(done.output.split())


def test_each_option_of_the_sandbox_is_one_of_its_command() -> None:
    from typer.main import get_command

    from minercdc_sandbox.__main__ import parser

    ours = {name for one in get_command(app).commands["sandbox"].params for name in one.opts}  # type: ignore[attr-defined]
    theirs = {name for one in parser("x")._actions for name in one.option_strings}
    assert theirs - {"-h", "--help"} == ours - {"-h", "--help"}
