"""`minercdc init FILE`: writes a first configuration, and prints the grants that it needs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from minercdc.cli.output import AsJson, errors, log_to, output, print_json
from minercdc.cli.pasting import name_config, pasteable
from minercdc.cli.stopping import UNFINISHED, Stop
from minercdc.errors import ConfigError, PrerequisiteError

_NEXT = "next: minercdc check CONFIG"


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the configuration.", callback=name_config)],
    host: Annotated[str | None, typer.Option(help="Host of the listener.")] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the listener.")] = 1521,
    service: Annotated[str | None, typer.Option(help="Service name: of the container database, or of a PDB.")] = None,
    pdb: Annotated[
        str | None, typer.Option(help="Pluggable database, where the service is that of the container database.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Capture user; its password is read from MINERCDC_PASSWORD, or asked.")
    ] = None,
    brokers: Annotated[str | None, typer.Option(help="Kafka's bootstrap servers.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the connector and prefix of its topics; default: that of the file.")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(metavar="SCHEMA[.TABLE]", help="Capture this table, or all of a schema; may be repeated."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask for what is not given, look at the database, and write a configuration; prints the grants that it needs."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.operate import first_configuration as first
    from minercdc.operate.check.plan_grants import grants, grants_of_session

    if file.exists() and not force:
        raise ConfigError([f"{file} is there already"], hint="Give another name, or --force.")
    log_to(errors, verbose=False)
    answers = first.Answers(
        name or file.stem,
        _asked(host, "--host", "Host of the listener"),
        port,
        _asked(service, "--service", "Service name of the database"),
        _asked(pdb, "--pdb", "Pluggable database, empty for none", ""),
        _asked(user, "--user", "Capture user"),
        _asked(brokers, "--brokers", "Kafka's bootstrap servers", "localhost:9092"),
    )
    password = os.environ.get(first.PASSWORD) or _asked(None, f"{first.PASSWORD} (environment)", "Password", hidden=True)
    try:
        there = first.tables_there(answers, password)
    except PrerequisiteError:
        needed = list(grants_of_session(first.configuration(answers, password)))
        if as_json:
            print_json({"file": None, "grants": needed})
        else:
            _print("grants by a DBA, needed first:", *needed)
        raise
    schemas = first.summary(there)
    for schema, count, rows in () if as_json else schemas:
        _print(f"{schema}: {count} tables, {'rows unknown: no statistics' if rows is None else f'about {rows:,} rows'}")
    wanted = table or []
    if not wanted and len(schemas) > 1 and sys.stdin.isatty():
        wanted = _asked(None, "--table", "Schemas or tables to capture, separated by commas").replace(" ", "").split(",")
    tables = first.chosen(there, wanted)
    file.write_text(first.as_yaml(answers, first.included(there, tables)), encoding="utf-8")
    needed = list(grants(first.configuration(answers, password, tables), tables))
    if as_json:
        there_are = [{"schema": schema, "tables": count, "rows": rows} for schema, count, rows in schemas]
        print_json({"file": str(file), "tables": len(tables), "schemas": there_are, "grants": needed})
        return
    _print(f"{file}: {len(tables)} tables", "", "grants, by a DBA:", *needed)
    _print("", _NEXT if first.PASSWORD in os.environ else f"{_NEXT}, with {first.PASSWORD} in the environment")


def _asked(given: str | None, option: str, question: str, default: str | None = None, *, hidden: bool = False) -> str:
    """What is given, else the answer to a question on a terminal, else the default."""
    if given is not None:
        return given
    if sys.stdin.isatty():
        answer: str = typer.prompt(question, default=default, hide_input=hidden, show_default=bool(default), err=True)
        return answer.strip()
    if default is None:
        raise ConfigError([f"{option}: required, as there is no terminal to prompt on"])
    return default


def _print(*lines: str) -> None:
    for line in lines:
        output().print(pasteable(line), markup=False, soft_wrap=True)
