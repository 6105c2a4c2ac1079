"""`minercdc qualify CONFIG`: tries a real database with a history of every type, and says what differs."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minercdc.cli.output import AsJson, ConfigFile, Verbose, errors, log_to, print_json, progress
from minercdc.cli.pasting import pasteable
from minercdc.cli.stopping import UNFINISHED, Stop
from minercdc.errors import ConfigError

if TYPE_CHECKING:
    from minercdc.config.load import ConnectorConfig
    from minercdc.operate.qualify.place import Access
    from minercdc.operate.qualify.report import Report

ADMIN_PASSWORD = "MINERCDC_ADMIN_PASSWORD"
SCHEMA_PASSWORD = "MINERCDC_SCHEMA_PASSWORD"
_STOP_SECONDS = 60.0  # what it may take to drop the tables


def qualify(
    config: ConfigFile,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write a zip to send in: results, settings, a recording; no names."),
    ] = None,
    admin: Annotated[
        str | None,
        typer.Option(
            metavar="USER",
            help=f"Who creates the schema, and switches logs; its password is read from {ADMIN_PASSWORD}, or asked. Default: the capture user.",
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="USER",
            help=f"Use a schema that is there; its password is read from {SCHEMA_PASSWORD}, or asked. No user is created.",
        ),
    ] = None,
    service: Annotated[
        str, typer.Option(help="Service name of the pluggable database, if it is not that of the database itself.")
    ] = "",
    case: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Run only cases with this in their name; may be repeated.")
    ] = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Try a database: create tables of every type in a schema of its own, change them, capture that, compare, and drop them; exit status 1 when something differs."""
    stop = Stop(_STOP_SECONDS, UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.operate.qualify.runner import Request
    from minercdc.operate.qualify.runner import qualify as run

    loaded = load_config(config)
    log_to(errors, verbose)
    if not verbose:  # what the captures warn of shows in the results
        logging.getLogger().setLevel(logging.ERROR)
        logging.getLogger("minercdc.operate.qualify").setLevel(logging.INFO)
    request = Request(_access(loaded, admin, schema, service), tuple(case or ()), report)
    with _shown() as said:
        found = run(loaded, request, stop, said)
    if found is None:
        errors.print("stopped; what it made in the database is removed", markup=False, highlight=False)
        raise SystemExit(UNFINISHED)
    _print(found, report, as_json=as_json)
    if found.differing:
        raise SystemExit(1)


def _access(config: ConnectorConfig, admin: str | None, schema: str | None, service: str) -> Access:
    from pydantic import SecretStr

    from minercdc.operate.qualify.place import Access, in_pdb

    capture = config.database
    by = capture
    if admin:
        password = SecretStr(_password(ADMIN_PASSWORD, admin))
        given = {"database_user": admin, "database_password": password, "minercdc_database_token_location": None}
        by = capture.model_copy(update=given)
    owner = in_pdb(capture, schema, _password(SCHEMA_PASSWORD, schema), service) if schema else None
    return Access(capture, by, owner, service)


def _password(variable: str, user: str) -> str:
    if found := os.environ.get(variable):
        return found
    if not sys.stdin.isatty():
        raise ConfigError(
            [f"{variable} (environment): the password of {user} is required, as there is no terminal to prompt on"]
        )
    answer: str = typer.prompt(f"Password of {user}", hide_input=True, err=True)
    return answer


@contextmanager
def _shown() -> Iterator[Callable[[str, int, int], None]]:
    """A function that shows how far the run is: a bar on a terminal, a line for each part elsewhere."""
    with progress("cases:") as bar:
        task, last = bar.add_task("", total=None), ""

        def said(what: str, done: int, total: int) -> None:
            nonlocal last
            if what != last and not errors.is_terminal:
                errors.print(what, markup=False, highlight=False)
            last = what
            bar.update(task, description=what, completed=done, total=total)

        yield said


def _print(found: Report, report: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(found.document())
        return
    lines = [line for result in found.results for line in result.lines()]
    if report is not None:
        lines.append(f"report: {report}")
    if found.not_offered():
        lines.append(found.not_offered())
    for line in [*lines, found.summary()]:
        sys.stdout.write(pasteable(line) + "\n")
    sys.stdout.flush()
