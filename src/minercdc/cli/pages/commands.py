"""`minercdc config`, `types` and `errors`: the properties, types and error codes, as Markdown; or the properties in force."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from minercdc.cli.output import AsJson, print_json


def config(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="CONFIG", help="Print the properties in force with this file.", show_default=False),
    ] = None,
    given: Annotated[
        bool,
        typer.Option("--given", help="Print only what the file and the environment give, and the default in its place."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print every property in force with a file: value, origin, effect; without one, all properties as Markdown."""
    if file is None:
        from minercdc.config.document import configuration_document, configuration_page

        if as_json:
            print_json(configuration_document())
        else:
            sys.stdout.write(configuration_page())
        return
    from minercdc.config.in_force import as_document, report
    from minercdc.config.load import load_config
    from minercdc.operate.check.config_imports import not_loadable

    loaded = load_config(file, not_loadable)
    if as_json:
        print_json(as_document(loaded, given=given))
    else:
        sys.stdout.write(report(loaded, file, given=given))


def types(as_json: AsJson = False) -> None:
    """Print what each Oracle type becomes in the topic and in Spark, as Markdown."""
    from minercdc.cli.pages.types import types_document, types_page

    if as_json:
        print_json(types_document())
    else:
        sys.stdout.write(types_page())


def error_codes(as_json: AsJson = False) -> None:
    """Print what each error code means and what to do about it, as Markdown."""
    from minercdc.cli.pages.errors import errors_document, errors_page

    if as_json:
        print_json(errors_document())
    else:
        sys.stdout.write(errors_page())
