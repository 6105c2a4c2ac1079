"""`minercdc txlog`: the objects that the adapter `txlog` needs, in the schema of the captured tables."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from minercdc.cli.groups.order import CommandFirst
from minercdc.cli.output import AsJson, ConfigFile, errors, log_to, print_json
from minercdc.cli.pasting import pasteable
from minercdc.cli.stopping import UNFINISHED, Stop
from minercdc.errors import ConfigError, TransientSourceError

if TYPE_CHECKING:
    import oracledb

    from minercdc.config.load import ConnectorConfig
    from minercdc.schema.table import TableSchema
    from minercdc.stream.offset import Position

txlog = typer.Typer(
    cls=CommandFirst,
    no_args_is_help=True,
    help="As the owner of the tables, create, check and remove the objects of the adapter txlog, and purge its log.",
)
Readers = Annotated[
    list[Path],
    typer.Argument(
        metavar="CONFIG",
        help="Configurations of all connectors and relays that read the log; the first one's user owns the log.",
    ),
]
Print = Annotated[bool, typer.Option("--print", help="Only print the SQL; change nothing.")]


@txlog.callback()
def _group() -> None:
    """As the owner of the tables, create, check and remove the objects of the adapter txlog, and purge its log."""


@txlog.command()
def install(config: ConfigFile, only_print: Print = False, as_json: AsJson = False) -> None:
    """Make what is missing or not current; safe to repeat. With --print, only print the SQL for it; where the database does not answer, for everything, if table.include.list has plain names."""
    loaded = _loaded(config)
    from minercdc.capture.txlog.installation import install as make

    if only_print:
        script = _script(loaded)
        if as_json:
            print_json({"sql": script})
        else:
            typer.echo(script)
        return
    done: list[str] = []
    with closing(_connected(loaded)) as connection:
        made = make(connection, _tables(connection, loaded), done.append if as_json else lambda what: _out().print(what))
    if as_json:
        print_json({"installed": done})
    else:
        _out().print("installed" if made else "nothing to do: everything exists")


@txlog.command()
def check(config: ConfigFile, as_json: AsJson = False) -> None:
    """Print each object, and whether it is there, valid and current; exit status 3 when one is not."""
    loaded = _loaded(config)
    from minercdc.capture.txlog.dictionary import read_existing
    from minercdc.capture.txlog.installation import objects

    with closing(_connected(loaded)) as connection:
        tables = _tables(connection, loaded)
        found = list(objects(read_existing(connection), tables))
    if as_json:
        print_json([{"object": one.what, "problem": one.problem or None} for one in found])
        if any(one.problem for one in found):
            raise SystemExit(3)
        return
    for one in found:
        _out().print(f"{'wrong' if one.problem else 'ok   '}  {one.what}{': ' if one.problem else ''}{one.problem}")
    wrong = sum(bool(one.problem) for one in found)
    if wrong:
        _out().print(pasteable(f"{wrong} of {len(found)} objects are missing or wrong. Run: minercdc txlog install CONFIG"))
        raise SystemExit(3)
    _out().print(f"all {len(found)} objects exist, valid and current")


@txlog.command()
def remove(config: ConfigFile, only_print: Print = False, as_json: AsJson = False) -> None:
    """Remove every object; of the column TXN only what `install` added. Safe to repeat."""
    loaded = _loaded(config)
    from minercdc.capture.txlog.dictionary import read_existing
    from minercdc.capture.txlog.installation import removals
    from minercdc.capture.txlog.installation import remove as take_away
    from minercdc.capture.txlog.printing import script

    with closing(_connected(loaded)) as connection:
        if only_print:
            text = script(list(removals(read_existing(connection))))
            if as_json:
                print_json({"sql": text})
            else:
                typer.echo(text)
            return
        done: list[str] = []
        count = take_away(connection, done.append if as_json else lambda what: _out().print(what))
    if as_json:
        print_json({"removed": done})
    else:
        _out().print("removed" if count else "nothing to do: there are no objects")


@txlog.command()
def purge(configs: Readers, as_json: AsJson = False) -> None:
    """Remove the rows of SY$TXLOG that every reader has delivered; name the configuration of each connector and relay that reads it."""
    loaded = [_loaded(config) for config in configs]
    from minercdc.capture.txlog.purge import purge as take_away

    read = [_read_up_to(one) for one in loaded]
    scn = min(read)
    with closing(_connected(loaded[0])) as connection:
        count = take_away(connection, _owner(loaded[0]), scn)
    if as_json:
        print_json({"transactions": count, "scn": str(scn), "readers": [_name(one) for one in loaded]})
        return
    _out().print(f"removed {count} transactions up to SCN {scn}, which {' and '.join(map(_name, loaded))} delivered")


def _name(config: ConnectorConfig) -> str:
    return config.identity.name


def _read_up_to(config: ConnectorConfig) -> int:
    """The commit SCN up to which a connector has delivered the log, as it stored it last."""
    from minercdc.capture.txlog.position import TxlogPosition

    position = _position(config)
    if not isinstance(position, TxlogPosition):
        how = "has no offset yet" if position is None else "continues from a position of another adapter"
        raise ConfigError([f"connector {_name(config)} {how}, so it is unknown how far it has read the log of transactions"])
    return position.whole_scn


def _position(config: ConnectorConfig) -> Position | None:
    """What the connector or relay goes on from; None when it stored nothing."""
    from minercdc.operate.offsets.read import position_of, stored_position

    if config.sink.debezium_sink_type != "relay":
        return stored_position(config)
    from minercdc.config.target.sink import relay_directory
    from minercdc.relay.buffer.progress_file import OffsetFile
    from minercdc.stream.offset_json import offset_from_bytes

    kept = OffsetFile(relay_directory(config.capture.minercdc_state_dir, _name(config)) / "offset.json").load()
    if kept is None or kept.offset is None:
        return None
    return position_of(config, offset_from_bytes(kept.offset.encode(), "the relay's offset.json"))


def _loaded(config: object) -> ConnectorConfig:
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config

    log_to(errors, False)
    return load_config(Path(str(config)))


def _out() -> Console:
    return Console(highlight=False, markup=False, soft_wrap=True)


def _connected(config: ConnectorConfig) -> oracledb.Connection:
    from minercdc.oracle.connect import connect

    return connect(config.database, "pdb")


def _owner(config: ConnectorConfig) -> str:
    user = config.database.session_user
    return user[1:-1] if user.startswith('"') else user.upper()


def _tables(connection: oracledb.Connection, config: ConnectorConfig) -> list[TableSchema]:
    """The captured tables, and the signal table if there is one."""
    from minercdc.capture.table_selection import table_filter
    from minercdc.capture.txlog.installation import refuse_unusable
    from minercdc.oracle.connect import database_name
    from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
    from minercdc.signals.stage_builder import mined_tables, signal_table

    mined = mined_tables(table_filter(config), signal_table(config))
    found = read_tables(connection, read_table_ids(connection, mined, database_name(config.database)))
    refuse_unusable(found, _owner(config), connection.version)
    return found


def _script(config: ConnectorConfig) -> str:
    """SQL that makes what is missing in the database; everything where it does not answer and `table.include.list` has
    plain names."""
    from minercdc.capture.txlog.dictionary import Existing, read_existing
    from minercdc.capture.txlog.installation import objects, refuse_unmakeable
    from minercdc.capture.txlog.printing import script, tables_by_name
    from minercdc.signals.stage_builder import signal_table

    try:
        with closing(_connected(config)) as connection:
            tables = _tables(connection, config)
            wanted = list(objects(read_existing(connection), tables))
            refuse_unmakeable(wanted)
            return script(wanted)
    except TransientSourceError as error:
        listed = config.filters.table_include_list
        signals = signal_table(config)
        if listed and signals is not None and str(signals) not in listed:
            listed = (*listed, str(signals))
        named = tables_by_name(listed, _owner(config))
        if not named:
            raise ConfigError(
                [
                    f"--print cannot reach the database ({error.message}) and needs table.include.list with plain names of tables of {_owner(config)}"
                ]
            ) from error
        return script(list(objects(Existing(), named)), without_columns=True)
