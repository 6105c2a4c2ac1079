"""Commands and properties that the pages show are those of the product."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from minercdc.cli import app
from minercdc.config.load import load_config

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS: Any = get_command(app)


def blocks(page: Path, language: str) -> Iterator[str]:
    for indent, text in re.findall(rf"(?ms)^( *)```{language}\n(.*?)^ *```", page.read_text()):
        yield re.sub(rf"(?m)^{indent}", "", text)


def typed(page: Path) -> Iterator[list[str]]:
    """The words of each command in a page's blocks of shell."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            if "minercdc" not in line:  # may begin a text of several lines
                continue
            words = shlex.split(line, comments=True)
            if "minercdc" in words and "docker" not in words and "systemctl" not in words and "kill" not in words:
                after = words[words.index("minercdc") + 1 :]
                yield [word for word in after if word not in ("&", "|", ">", "/dev/null")]


# The sandbox has options of its own, and `--version` is no command.
ALL = [(page, words) for page in PAGES for words in typed(page) if words and words[0] not in ("sandbox", "--version")]


@pytest.mark.parametrize(
    ("page", "words"), ALL, ids=lambda value: value.name if isinstance(value, Path) else " ".join(value)
)
def test_a_command_of_a_page_has_these_options(page: Path, words: list[str]) -> None:
    command = COMMANDS.commands[words[0]]
    for word in words[1:]:
        command = getattr(command, "commands", {}).get(word, command)
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    assert not [word for word in words if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known], known


def test_pages_show_most_commands() -> None:
    assert len(ALL) > 60
    assert len({words[0] for _, words in ALL}) > 15


BASE = """
name: orders
topic.prefix: orders
database.hostname: db
database.user: U
database.password: p
database.dbname: D
minercdc.kafka.bootstrap.servers: b:9092
"""


@pytest.mark.parametrize(
    "block",
    [
        block
        for page in sorted((ROOT / "docs" / "how-to").glob("*.md"))
        for block in blocks(page, "yaml")
        if "scrape_configs" not in block
    ],
    ids=lambda block: block.splitlines()[0],
)
def test_properties_of_a_task_are_known_and_go_together(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r"\$\{env:(\w+)\}", block):
        monkeypatch.setenv(name, "x")
    for path, member in re.findall(r"\$\{file:([^:}]+):(\w+)\}", block):
        (tmp_path / "secrets").write_text(f"{member}=x\n")
        block = block.replace(path, str(tmp_path / "secrets"))
    config = tmp_path / "orders.yaml"
    config.write_text(yaml.safe_dump({**yaml.safe_load(BASE), **yaml.safe_load(block)}))
    load_config(config)
