"""`minercdc offsets`: shows and changes the stored offset of a connector."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from minercdc.cli.groups.order import CommandFirst
from minercdc.cli.output import AsJson, ConfigFile, Verbose, errors, log_to, print_json
from minercdc.cli.pasting import pasteable
from minercdc.cli.stopping import UNFINISHED, Stop

if TYPE_CHECKING:
    from minercdc.operate.offsets.move import Repositioning

offsets = typer.Typer(
    cls=CommandFirst, no_args_is_help=True, help="Show, move, export, import or remove the stored offset of a connector."
)
Yes = Annotated[bool, typer.Option("--yes", help="Store the result; without --yes it is only shown.")]


@offsets.callback()
def _group() -> None:
    """Show, move, export, import or remove the stored offset of a connector."""


@offsets.command()
def show(config: ConfigFile, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Print where the connector goes on, what is under way, and whether what it has to read is there."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.operate.offsets.read import read_stored, report

    loaded = load_config(config)
    log_to(errors, verbose)
    stored = read_stored(loaded)
    name = loaded.identity.name
    if as_json:
        facts = {} if stored is None else {what: pasteable(how) for what, how in report(loaded, stored)}
        print_json({"connector": name, "topic.prefix": loaded.identity.topic_prefix, "stored": stored is not None, **facts})
        return
    if stored is None:
        _out().print(f"connector {name} has no offset: its next start is its first start")
        return
    _out().print(f"connector {name}, topic.prefix {loaded.identity.topic_prefix}")
    for what, how in report(loaded, stored):
        _out().print(pasteable(f"  {what}: {how}"))


@offsets.command()
def export(config: ConfigFile, verbose: Verbose = False) -> None:
    """Print the offset, with the structures of the tables, as JSON that `import` takes."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.errors import ConfigError
    from minercdc.operate.offsets.read import read_stored, to_document

    loaded = load_config(config)
    log_to(errors, verbose)
    stored = read_stored(loaded)
    if stored is None:
        raise ConfigError([f"connector {loaded.identity.name} has no offset to export"])
    typer.echo(to_document(loaded, stored))


@offsets.command(name="import")
def import_offset(
    config: ConfigFile,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="What `minercdc offsets export` printed.", dir_okay=False)
    ] = None,
    from_debezium: Annotated[
        str | None,
        typer.Option(
            metavar="FILE_OR_TOPIC", help="Debezium's offset file or Kafka Connect's offset topic, instead of FILE."
        ),
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Go on from an exported offset, or where a stopped Debezium connector ended; says what it would do, and does it with --yes."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config

    if (file is None) == (from_debezium is None):
        raise typer.BadParameter("give either FILE or --from-debezium FILE_OR_TOPIC")
    loaded = load_config(config)
    log_to(errors, verbose)
    if file is not None:
        from minercdc.operate.offsets.move import look_import

        _carry_out(look_import(loaded, file), yes, as_json)
        return
    from minercdc.operate.offsets.debezium.importing import look

    assert from_debezium is not None
    found = look(loaded, from_debezium)
    if yes:
        found.store()
    if as_json:
        print_json({"done": yes, "lines": [pasteable(line) for line in found.lines()]})
        return
    for line in found.lines():
        _out().print(pasteable(line))
    if yes:
        _out().print(pasteable("stored; start it with: minercdc run CONFIG"))
    else:
        _out().print("Nothing is stored yet. Stop Debezium, and repeat this with --yes.")


@offsets.command(name="set")
def set_offset(
    config: ConfigFile,
    scn: Annotated[
        int | None, typer.Option(min=1, help="The stream delivers changes that were committed after this SCN.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="A time instead of --scn: ISO 8601; UTC unless it has an offset.")] = None,
    yes: Yes = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Go on after another SCN or time; says what is delivered again, or never, and does it with --yes."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.operate.offsets.move import look_set

    if (scn is None) == (time is None):
        raise typer.BadParameter("give either --scn or --time")
    loaded = load_config(config)
    log_to(errors, verbose)
    _carry_out(look_set(loaded, scn, time), yes, as_json)


@offsets.command()
def reset(config: ConfigFile, yes: Yes = False, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Remove the offset, so that the next start is the first one; says what that means, and does it with --yes."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.operate.offsets.move import look_reset

    loaded = load_config(config)
    log_to(errors, verbose)
    _carry_out(look_reset(loaded), yes, as_json)


def _carry_out(found: Repositioning, yes: bool, as_json: bool) -> None:
    done = "removed" if found.offset is None else "stored"
    if yes:
        found.store()  # first: the lines say what it did
    if as_json:
        print_json({"done": yes, "lines": [pasteable(line) for line in found.lines]})
        return
    for line in found.lines:
        _out().print(pasteable(line))
    if yes:
        _out().print(pasteable(f"{done}; start it with: minercdc run CONFIG"))
    else:
        _out().print(f"Nothing is {done} yet. Stop the connector, and repeat this with --yes.")


def _out() -> Console:
    return Console(highlight=False, markup=False, soft_wrap=True)
