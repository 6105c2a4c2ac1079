"""The page of commands, made from the command line's own help; docs/reference/cli.md is its output.

``python -m minercdc.cli.pages.reference`` prints it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from minercdc.cli import PANELS, app
from minercdc.config.page_lines import wrapped

_HEAD = """# Command line

Look up a command and its options here. Made by `make docs` from the help of each command, which `minercdc COMMAND --help` prints; do not edit.

`CONFIG` is a file of properties: YAML, JSON or `.properties` ([configuration](../configuration.md)). It is the first argument, after the words of the
command; in `lake`, `offsets`, `relay`, `signal` and `txlog` it may stand before the second word or after it. The [exit status](../errors.md) says what
happened: 0 done, 1 failed, 2 the configuration or command line is wrong, 3 the database lacks something, 4 another instance took over,
130 stopped before the end.
"""


def reference_page() -> str:
    """The text of docs/reference/cli.md."""
    commands: Any = get_command(app)
    return (
        wrapped(
            "\n".join(
                [
                    _HEAD,
                    *_table(
                        [
                            f"| [`{one.name}`](#minercdc-{one.name}) | {_first(commands.commands[one.name])} |"
                            for one in _all()
                        ],
                        "command",
                        "does",
                    ),
                    *(
                        line
                        for panel, listed in PANELS.items()
                        for line in (
                            f"## {panel}",
                            "",
                            *(
                                line
                                for one in listed
                                for line in _command(commands.commands[one.name], one.name, one.example)
                            ),
                        )
                    ),
                ]
            )
        ).rstrip()
        + "\n"
    )


def _all() -> Iterator[Any]:
    for listed in PANELS.values():
        yield from listed


def _command(command: Any, name: str, example: str) -> Iterator[str]:
    """A command, and those of its group."""
    yield from (f"### minercdc {name}", "", _text(command.help), "", *_example(example))
    yield from _parameters(command, name)
    for part, member in getattr(command, "commands", {}).items():
        if not member.hidden:
            yield from (f"#### minercdc {name} {part}", "", _text(member.help), "")
            yield from _example(member.epilog.removeprefix("Example: minercdc "))
            yield from _parameters(member, f"{name} {part}")


def _example(typed: str) -> list[str]:
    return ["```sh", f"minercdc {typed}", "```", ""]


def _parameters(command: Any, name: str) -> Iterator[str]:
    """Arguments and options, each with what its help says."""
    context = command.context_class(command, info_name=f"minercdc {name}")
    shown = [
        record for one in command.params if not getattr(one, "hidden", False) and (record := one.get_help_record(context))
    ]
    if shown:
        yield from _table(
            [f"| `{_cell(names)}` | {_cell(_text(text))} |" for names, text in shown], "argument or option", "meaning"
        )


def _table(rows: list[str], *heads: str) -> Iterator[str]:
    yield from (f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *rows, "")


def _text(text: str | None) -> str:
    """Help in one line."""
    return " ".join((text or "").split())


def _first(command: Any) -> str:
    """The first sentence of a command's help."""
    return _cell(_text(command.help).split(". ")[0].rstrip(".:"))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(reference_page())
