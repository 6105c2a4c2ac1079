"""`minercdc check`, `plan` and `bundle`: what a database lacks, what a start would do, what a bug report needs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from minercdc.cli.output import AsJson, ConfigFile, errors, log_to, print_json
from minercdc.cli.pasting import name_config, pasteable
from minercdc.cli.stopping import UNFINISHED, Stop

if TYPE_CHECKING:
    from minercdc.oracle.finding import Finding


def check(
    config: Annotated[
        Path | None,
        typer.Argument(metavar="CONFIG", help="The connector's configuration.", show_default=False, callback=name_config),
    ] = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Print all rules and grants as Markdown without examining anything.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Report what is missing in the database, Kafka, the registry and on disk, why it matters and how to fix it; exit status 3 when capture cannot start."""
    from minercdc.operate.check.page import checks_page, document_of, lines_of, rules_document

    if rules:
        if as_json:
            print_json(rules_document())
        else:
            sys.stdout.write(checks_page())
        return
    if config is None:
        raise typer.BadParameter("give the configuration file, or --rules")
    Stop(patience=0, status=UNFINISHED)  # the clients' calls do not let Python's handlers run while a server does not answer
    from minercdc.config.load import load_config
    from minercdc.operate.check.config_imports import not_loadable
    from minercdc.operate.check.examination import examine

    out = Console(highlight=False, markup=False, soft_wrap=True)
    findings: list[Finding] = []
    for finding in examine(load_config(config, not_loadable)):
        findings.append(finding)
        for line in () if as_json else lines_of(finding):
            out.print(pasteable(line))
    ready = not any(finding.blocking for finding in findings)
    if as_json:
        print_json({"ready": ready, "findings": [document_of(finding) for finding in findings]})
    elif ready and any(finding.suspends for finding in findings):
        out.print("ready, but tables will be suspended for what is missing")
    elif ready:
        out.print("ready" if not findings else "ready, with advice")
    if not ready:
        raise SystemExit(3)


def plan(config: ConfigFile, as_json: AsJson = False) -> None:
    """Print what a start would do: tables, topics, types, rows, estimated time, redo rate and grants; nothing is written."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.operate.check.config_imports import not_loadable
    from minercdc.operate.check.start_plan import plan as lines

    loaded = load_config(config, not_loadable)
    log_to(errors, verbose=False)
    noted: dict[str, object] = {}
    for line in lines(loaded, noted):
        if not as_json:
            print(pasteable(line), flush=True)
    if as_json:
        print_json(noted)


def bundle(
    config: ConfigFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The archive.")] = Path("minercdc-bundle.tar.gz"),
    as_json: AsJson = False,
) -> None:
    """Write an archive for a bug report: configuration, versions, state and figures, without secrets, rows and keys."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.operate.bundle import write_bundle

    loaded = load_config(config)
    log_to(errors, verbose=False)
    names = write_bundle(loaded, config, output)
    if as_json:
        print_json({"file": str(output), "members": names})
    else:
        sys.stdout.write(f"{output}: {', '.join(names)}\n")
