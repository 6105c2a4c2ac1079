"""Commands in messages can be pasted as they are printed: they are there, and have the file of the command line."""

from __future__ import annotations

import ast
import json
import logging
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from minercdc.cli import app
from minercdc.cli.groups.send import shown_answer
from minercdc.cli.next_steps import handover_steps, lake_steps
from minercdc.cli.pasting import PasteableMessages, name_config, pasteable
from minercdc.schema.patterns import configured_pattern, literal_pattern

SRC = Path(__file__).parents[3] / "src" / "minercdc"
# Pages of documents, and the commands' own descriptions of themselves.
PAGES = {"config", "operate/check/page.py", "cli/pages/types.py", "cli/pages/errors.py", "operate/check/catalogue.py"}
# Names of commands where nothing is to be typed, as they go on.
NAMES = (
    *("minercdc lake`", "minercdc verify`", "minercdc lake snapshot`", "minercdc tail`", "minercdc record`"),
    *(
        "minercdc offsets export`",
        "minercdc offsets`",
        "minercdc check`",
        "minercdc plan`",
        "minercdc relay`",
        "minercdc txlog`",
        "minercdc txlog purge removed",
    ),
    *("minercdc txlog install, so", "minercdc txlog install has", "minercdc txlog install goes on", "minercdc verify, tail"),
)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("sys.argv", ["/usr/bin/minercdc"])
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    name_config(Path("my shop/it's $1.yaml"))
    yield
    name_config(None)


@pytest.mark.usefixtures("given")
def test_a_command_has_the_file_of_the_command_line_in_quotes() -> None:
    text = pasteable("hint: Read it again: minercdc lake rebuild CONFIG --table SHOP.ORDERS; or `minercdc check CONFIG`.")
    assert shlex.split(text.partition("again: ")[2].partition("; or")[0]) == [
        *("minercdc", "lake", "rebuild", "my shop/it's $1.yaml", "--table", "SHOP.ORDERS")
    ]
    assert "CONFIG" not in text
    for other in ("CONFIG of minercdc", "minercdc.CONFIG", "dbms_minercdc check CONFIG", "minercdc CONFIG"):
        assert pasteable(other) == other


@pytest.mark.usefixtures("given")
def test_the_answers_to_a_signal_have_them_too() -> None:
    fix = "minercdc signal CONFIG resume-table --collection SHOP.ORDERS, once it can be read"
    answer = {"aggregate_type": "Table", "type": "SUSPENDED", "additional_data": {"fix": fix, "connector_name": "shop"}}
    details = json.loads(shown_answer(answer).removeprefix("Table SUSPENDED "))
    assert list(details) == ["fix"]
    assert shlex.split(details["fix"].partition(",")[0])[2:4] == ["my shop/it's $1.yaml", "resume-table"]


def test_without_a_configuration_the_placeholder_stays() -> None:
    name_config(None)
    assert pasteable("minercdc run CONFIG") == "minercdc run CONFIG"


@pytest.mark.usefixtures("given")
@pytest.mark.parametrize(
    ("called", "found", "expected"),
    [
        ("/v/bin/minercdc", True, "minercdc run "),
        ("v x/bin/minercdc", False, "'v x/bin/minercdc' run "),
        ("/s/minercdc/__main__.py", False, " -m minercdc run "),
        ("/s/minercdc/cli/submit.py", False, "minercdc run "),
    ],
)
def test_the_program_is_called_as_this_process_was(
    monkeypatch: pytest.MonkeyPatch, called: str, found: bool, expected: str
) -> None:
    monkeypatch.setattr("sys.argv", [called])
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if found else None)
    assert expected in pasteable("minercdc run CONFIG")


@pytest.mark.usefixtures("given")
def test_the_log_has_them_too() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "start it: minercdc run CONFIG (%s)", ("now",), None)
    assert PasteableMessages().filter(record)
    assert (
        record.getMessage() == f"start it: minercdc run {shlex.quote(str(Path('my shop/it' + chr(39) + 's $1.yaml')))} (now)"
    )


@pytest.mark.parametrize("name", ["SHOP.ORDERS", "PDB.SHOP.A$B", "S.two words", "S.it's", "S.A(B)"])
def test_a_table_is_given_as_the_pattern_of_its_name(name: str) -> None:
    (word,) = shlex.split(literal_pattern(name))
    assert configured_pattern(word).matches(name)
    assert not configured_pattern(word).matches(name + "X")
    assert (name == "SHOP.ORDERS") == (literal_pattern(name) == name)


def test_next_steps_quote_their_paths() -> None:
    assert shlex.split(handover_steps(1, "my $1.yaml")[0].partition(": ")[2])[-1] == "my $1.yaml"
    assert shlex.split(lake_steps("/lake", "it's $1.yaml")[1].partition(": ")[2])[-2] == "it's $1.yaml"


def _texts(tree: ast.AST) -> Iterator[str]:
    """The text of each string of a program but its docstrings, with ? for what is computed."""
    documents = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body and isinstance(node.body[0], ast.Expr)
    }
    joined = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "?" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documents | joined:
            yield node.value


def _commands() -> dict[str, bool]:
    """Words after `minercdc` -> whether a configuration follows."""
    found = {}

    def visit(command: object, words: tuple[str, ...]) -> None:
        below = getattr(command, "commands", {})
        for name, one in below.items():
            visit(one, (*words, name))
        takes = any(getattr(one, "metavar", "") in ("CONFIG", "[schemas] CONFIG") for one in getattr(command, "params", ()))
        if not below or words == ("lake",):
            found[" ".join(words)] = takes or words == ("lake",)

    visit(get_command(app), ())
    return found


def test_every_command_that_a_message_names_is_there_and_names_its_configuration() -> None:
    commands, wrong = _commands(), []
    assert commands["lake rebuild"]
    assert commands["txlog install"]
    assert "signal resume-table" in commands
    groups = {words.split()[0] for words in commands}
    for file in sorted(SRC.rglob("*.py")):
        name = file.relative_to(SRC).as_posix()
        if not any(name.startswith(page) for page in PAGES):
            source = file.read_text()
            for text in _texts(ast.parse(source)) if "minercdc " in source else ():
                wrong += [f"{name}: {one}" for one in _wrong(text, commands, groups)]
    assert not wrong, "\n".join(wrong)


def _wrong(text: str, commands: dict[str, bool], groups: set[str]) -> Iterator[str]:
    for match in re.finditer(r"(?<![\w./-])minercdc((?: [a-z][a-z-]*)+)(.{0,12})", text):
        words, rest = match[1].split(), match[2]
        if words[0] not in groups or text[match.start() :].startswith(NAMES):
            continue
        if words[0] == "signal":  # its configuration comes before its own command
            typed = re.match(r" (?:CONFIG|\?) ?([a-z-]*)", rest)
            if len(words) > 1 or typed is None:
                yield match[0]
            continue
        known = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in commands), None)
        follows = f"{match[1]}{rest}"
        if known is None or (
            commands[known] and not follows.startswith((f" {known} CONFIG", f" {known} FILE", f" {known} ?"))
        ):
            yield match[0]
