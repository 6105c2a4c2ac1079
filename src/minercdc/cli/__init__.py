"""The command line: parses, calls, prints; no logic. `PANELS` lists all commands, in the order of `minercdc --help`.

Exit status: 0 done, 1 failed, 2 the configuration or command line is wrong, 3 the database lacks something, 4 another instance
of the connector took over, 130 stopped before the end.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from io import TextIOWrapper
from typing import Annotated, Any, Final

import typer
import typer.main

from minercdc.cli.check import bundle, check, plan
from minercdc.cli.groups.offsets import offsets
from minercdc.cli.groups.relay import relay
from minercdc.cli.groups.send import signals
from minercdc.cli.groups.txlog import txlog
from minercdc.cli.init import init
from minercdc.cli.lake.commands import lake
from minercdc.cli.output import errors
from minercdc.cli.pages.commands import config, error_codes, types
from minercdc.cli.pasting import pasteable
from minercdc.cli.plain_help import Command, Group
from minercdc.cli.qualify import qualify
from minercdc.cli.recording import record, replay
from minercdc.cli.run import run
from minercdc.cli.servers import demo, kafka, registry, sandbox
from minercdc.cli.status import status
from minercdc.cli.tail import tail
from minercdc.cli.verify import verify
from minercdc.errors import ConfigError, FencedError, MinerCdcError, PrerequisiteError

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: minercdc demo; the documentation begins at docs/first-pipeline.md of the source.",
)


@dataclass(frozen=True, slots=True)
class _Command:
    """A command, or a group of them.

    :param example: what a user types after `minercdc`.
    :param members: the same for each command of a group, by its name.
    """

    name: str
    does: Callable[..., Any] | typer.Typer
    example: str
    members: Mapping[str, str] = field(default_factory=dict)


_LAKE: Final = {
    "verify": "lake verify orders.yaml --table SHOP.ORDERS",
    "snapshot": "lake snapshot orders.yaml",
    "status": "lake status orders.yaml",
    "show": "lake show orders.yaml SHOP.ORDERS --rows 5",
    "optimize": "lake optimize orders.yaml",
    "rebuild": "lake rebuild orders.yaml --table SHOP.ORDERS",
}
_SIGNALS: Final = {
    "execute-snapshot": "signal orders.yaml execute-snapshot --collection ORCLPDB1.SHOP.ORDERS --wait",
    "stop-snapshot": "signal orders.yaml stop-snapshot --collection ORCLPDB1.SHOP.ORDERS",
    "pause-snapshot": "signal orders.yaml pause-snapshot",
    "resume-snapshot": "signal orders.yaml resume-snapshot",
    "pause-streaming": "signal orders.yaml pause-streaming",
    "resume-streaming": "signal orders.yaml resume-streaming",
    "resume-table": "signal orders.yaml resume-table --collection ORCLPDB1.SHOP.ORDERS --wait",
    "log": "signal orders.yaml log 'before the batch, at {}'",
    "drop-transaction": "signal orders.yaml drop-transaction 0A001F00C3020000",
    "list-transactions": "signal orders.yaml list-transactions --wait",
    "schema-changes": "signal orders.yaml schema-changes tables.json",
}
_OFFSETS: Final = {
    "show": "offsets show orders.yaml",
    "export": "offsets export orders.yaml > offset.json",
    "import": "offsets import orders.yaml offset.json",
    "set": "offsets set orders.yaml --time 2026-11-29T08:00:00",
    "reset": "offsets reset orders.yaml",
}
_TXLOG: Final = {
    "install": "txlog install orders.yaml",
    "check": "txlog check orders.yaml",
    "remove": "txlog remove orders.yaml --print",
    "purge": "txlog purge orders.yaml invoices.yaml",
}

PANELS: Final[Mapping[str, Sequence[_Command]]] = {
    "Run": (
        _Command("init", init, "init orders.yaml --host db.example.com --service ORCLCDB --pdb ORCLPDB1"),
        _Command("run", run, "run orders.yaml"),
        _Command("lake", lake, "lake orders.yaml", _LAKE),
        _Command("relay", relay, "relay orders.yaml"),
        _Command(
            "signal", signals, "signal orders.yaml execute-snapshot --collection ORCLPDB1.SHOP.ORDERS --wait", _SIGNALS
        ),
    ),
    "Look": (
        _Command("status", status, "status orders.yaml --watch"),
        _Command("tail", tail, "tail orders.yaml SHOP.ORDERS"),
        _Command("check", check, "check orders.yaml"),
        _Command("plan", plan, "plan orders.yaml"),
        _Command("qualify", qualify, "qualify orders.yaml --admin SYSTEM --report qualified.zip"),
        _Command("verify", verify, "verify orders.yaml --table SHOP.ORDERS"),
    ),
    "Repair": (
        _Command("offsets", offsets, "offsets show orders.yaml", _OFFSETS),
        _Command("txlog", txlog, "txlog install orders.yaml", _TXLOG),
        _Command("bundle", bundle, "bundle orders.yaml"),
        _Command("record", record, "record orders.yaml --seconds 60"),
        _Command("replay", replay, "replay minercdc-recording.gz"),
    ),
    "Try": (
        _Command("demo", demo, "demo"),
        _Command("sandbox", sandbox, "sandbox --port 1521 --seed signals/shop.sql"),
        _Command("kafka", kafka, "kafka --port 9092"),
        _Command("registry", registry, "registry --port 8081"),
    ),
    "Reference": (
        _Command("config", config, "config orders.yaml"),
        _Command("types", types, "types"),
        _Command("errors", error_codes, "errors"),
    ),
}

for _panel, _commands in PANELS.items():
    for _one in _commands:
        _shown: dict[str, Any] = {"rich_help_panel": _panel, "epilog": f"Example: minercdc {_one.example}"}
        if isinstance(_one.does, typer.Typer):
            app.add_typer(_one.does, name=_one.name, **_shown)
            for _member in _one.does.registered_commands:
                _member.cls = Command
                _name = str(_member.name or getattr(_member.callback, "__name__", ""))
                _member.epilog = f"Example: minercdc {_one.members[_name]}" if _name in _one.members else None
        else:
            app.command(name=_one.name, cls=Command, **_shown)(_one.does)


@cache
def parser() -> Any:
    """That of all commands, which is called with the arguments of the process. It takes a tenth of a second of CPU to make."""
    return typer.main.get_command(app)


def main() -> None:
    """Entry point: every failure that is not a defect ends in one message on standard error and an exit status (SystemExit).

    What standard output and error cannot encode is replaced, by `?`. Where the locale's encoding is ASCII, the process begins again in
    UTF-8: arguments and names of files are taken for that.
    """
    _begin_in_utf8()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        _refuse_undecoded(sys.argv)
        parser()()
    except ConfigError as error:
        _fail(str(error), 2)
    except PrerequisiteError as error:
        _fail(str(error), 3)
    except FencedError as error:
        _fail(str(error), 4)
    except MinerCdcError as error:
        _fail(str(error), 1)
    except OSError as error:  # a directory that cannot be written, a full disk
        _fail(f"{error.strerror or error}: {error.filename or 'no file named'}", 1)


def _begin_in_utf8() -> None:
    """Replace the process by one in UTF-8 mode, where names of files are ASCII: `LC_ALL=C` with `PYTHONUTF8=0`."""
    if codecs.lookup(sys.getfilesystemencoding()).name == "ascii" and os.environ.get("PYTHONUTF8") != "1":
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONUTF8": "1"})


def _refuse_undecoded(arguments: Sequence[str]) -> None:
    """Raise ConfigError for arguments that are no text in the locale's encoding."""
    problems = []
    for number, argument in enumerate(arguments):
        try:
            argument.encode()
        except UnicodeEncodeError:
            encoding, shown = sys.getfilesystemencoding(), os.fsencode(argument).decode("ascii", "backslashreplace")
            problems.append(f"argument {number}: {shown} is not valid text in {encoding}, the encoding of the locale")
    if problems:
        raise ConfigError(
            problems, hint="Type it in that encoding, or set LC_ALL to a locale with the encoding of your terminal."
        )


def _fail(message: str, status: int) -> None:
    errors.print(pasteable(message), style="red", markup=False, highlight=False, soft_wrap=True)
    sys.stdout.flush()
    raise SystemExit(status)


def _print_version(wanted: bool) -> None:
    if wanted:
        from minercdc.native import PATH

        sys.stdout.write(f"minercdc {metadata.version('minercdc')} ({PATH})\n")
        raise typer.Exit


@app.callback()
def command(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version, and `native` or `python` for the path in use.",
        ),
    ] = False,
) -> None:
    """Change data capture from Oracle."""
