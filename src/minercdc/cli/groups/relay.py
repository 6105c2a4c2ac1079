"""`minercdc relay CONFIG` and `minercdc relay schemas CONFIG`."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from minercdc.cli.groups.order import nearest
from minercdc.cli.output import Verbose, log_to
from minercdc.cli.stopping import UNFINISHED, Stop
from minercdc.errors import ConfigError

if TYPE_CHECKING:
    from minercdc.config.load import ConnectorConfig
    from minercdc.schema.table import TableSchema

_STOP_SECONDS = 4.0
_SCHEMAS = "schemas"

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="[schemas] CONFIG", help="The configuration; after `schemas`: generate its tables' Avro schemas."
    ),
]


def relay(words: Words, verbose: Verbose = False) -> None:
    """Capture changes into a buffer that many clients read over HTTP; prints `ready HOST:PORT` when they may connect."""
    from minercdc.config.load import load_relay_config
    from minercdc.operate.check.config_imports import not_loadable

    match words:
        case [config] if config != _SCHEMAS:
            stop = Stop(_STOP_SECONDS)
            log_to(Console(stderr=True), verbose)
            _serve(load_relay_config(Path(config), not_loadable), stop)
        case [first, config] | [config, first] if first == _SCHEMAS:
            Stop(patience=0, status=UNFINISHED)
            log_to(Console(stderr=True), verbose)
            _schemas(load_relay_config(Path(config)))
        case _:
            meant = next((near for word in words if (near := nearest(word, [_SCHEMAS]))), "")
            hint = f"Did you mean {meant}?" if meant else ""
            raise ConfigError([f"{' '.join(words)}: give one CONFIG, or `schemas` and one CONFIG"], hint=hint)


def _serve(config: ConnectorConfig, stop: Stop) -> None:
    from minercdc.relay.server.process import Relay

    Relay(config).run(stop, lambda address: print(f"ready {address}", flush=True))
    logging.getLogger(__name__).info("stopped")


def _schemas(config: ConnectorConfig) -> None:
    """Generate what is missing in the registry, and print as Databus's generator does."""
    from minercdc.messages.configured import key_columns, published_columns
    from minercdc.relay.server.process import registry_of

    registry = registry_of(config)
    published, keys = published_columns(config.filters), key_columns(config.filters)
    for table in _tables(config):
        key = keys(table)
        positions = [i for i, column in enumerate(table.columns) if i in key or published(table.id, column)]
        print(f"Generating schema for {table.id}")
        for i in positions:
            print(f"Processing column {table.id}.{table.columns[i].name}:{table.columns[i].type_name}")
        source, version = registry.version_of(table, positions)
        print("Generated Schema:", json.dumps(version.schema, indent=2, ensure_ascii=False), sep="\n")
        print(f"Source {source.id} {source.name}, version {version.number}, in {registry.file(source.name, version.number)}")
    sys.stdout.flush()


def _tables(config: ConnectorConfig) -> list[TableSchema]:
    from minercdc.capture.table_selection import table_filter
    from minercdc.oracle.connect import connect, database_name
    from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
    from minercdc.values.supported import without_unsupported

    with closing(connect(config.database, "pdb")) as connection:
        ids = read_table_ids(connection, table_filter(config), database_name(config.database))
        return [without_unsupported(table) for table in read_tables(connection, ids)]
