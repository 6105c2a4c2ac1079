"""`minercdc init`: a configuration made of a few answers and of what the database has."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import yaml

from minercdc.capture.table_selection import table_filter
from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError
from minercdc.oracle.connect import connect, database_name
from minercdc.oracle.dictionary.tables import read_row_statistics, read_table_ids
from minercdc.schema.table import TableId

PASSWORD: Final = "MINERCDC_PASSWORD"
"""The environment variable that the file names in place of the password."""

_NO_BROKERS: Final = {"debezium.sink.type": "json", "minercdc.sink.path": "-"}  # nothing of Kafka is asked here


@dataclass(frozen=True, slots=True)
class Answers:
    """What a user says of the source and of where its changes go.

    :param service: `database.dbname`; `pdb` '' where that is no container database, or a service of a pluggable one.
    :param brokers: `minercdc.kafka.bootstrap.servers`.
    """

    name: str
    host: str
    port: int
    service: str
    pdb: str
    user: str
    brokers: str

    def properties(self) -> dict[str, str]:
        """The connector's properties, without a password and without tables."""
        found = {
            "name": self.name,
            "topic.prefix": self.name,
            "database.hostname": self.host,
            "database.port": str(self.port),
            "database.user": self.user,
            "database.dbname": self.service,
            "database.pdb.name": self.pdb,
            "minercdc.kafka.bootstrap.servers": self.brokers,
        }
        return {name: value for name, value in found.items() if value}


def tables_there(answers: Answers, password: str) -> Mapping[TableId, int | None]:
    """The tables that the user sees, with their rows by the optimizer's statistics; without Oracle's own, and without the user's own
    where there are others. Opens a session, and closes it.

    :raises ConfigError: an answer is not valid.
    :raises SourceError, PrerequisiteError: Oracle cannot be reached, or refuses.
    """
    config = configuration(answers, password)
    with closing(connect(config.database)) as connection:
        name = database_name(config.database)
        ids = read_table_ids(connection, table_filter(config, name), name)
        ids = [one for one in ids if one.schema != config.database.session_user.upper()] or ids
        rows = read_row_statistics(connection, ids)
    return {table: rows.get(table) for table in ids}


def configuration(answers: Answers, password: str, tables: Sequence[TableId] = ()) -> ConnectorConfig:
    """The configuration that captures these tables, all for none, as a start would read it. Raises ConfigError."""
    given = {**answers.properties(), "database.password": password}
    if not answers.brokers:
        given |= _NO_BROKERS
    if tables:
        given["table.include.list"] = _patterns(tables)
    return parse_properties(given)


def chosen(there: Mapping[TableId, int | None], wanted: Sequence[str]) -> list[TableId]:
    """The tables that schemas and names stand for, in any case unless a name is there as it is given; all of the only schema for none.

    :param wanted: SCHEMA or SCHEMA.TABLE each.
    :raises ConfigError: one is not there, or none is wanted and there are several schemas, or no table.
    """
    schemas = sorted({table.schema for table in there})
    if not there:
        raise ConfigError(
            ["the user sees no table"], hint="GRANT SELECT, FLASHBACK ON schema.table TO the user, on each table."
        )
    if not wanted and len(schemas) > 1:
        raise ConfigError([f"--table: needed, since there are several schemas: {', '.join(schemas)}"])
    found: set[TableId] = set()
    for one in wanted or schemas:
        named = {table for table in there if one in (table.schema, str(table))}
        named = named or {t for t in there if one.upper() in (t.schema.upper(), str(t).upper())}
        if not named:
            raise ConfigError(
                [f"--table: {one} is neither a schema nor a table here"], hint=f"Schemas: {', '.join(schemas)}."
            )
        found |= named
    return sorted(found)


def summary(there: Mapping[TableId, int | None]) -> list[tuple[str, int, int | None]]:
    """(schema, number of tables, their rows by statistics; None where no table has them), in order of name."""
    rows: dict[str, list[int | None]] = defaultdict(list)
    for table, count in there.items():
        rows[table.schema].append(count)
    return [
        (schema, len(counts), sum(known) if (known := [c for c in counts if c is not None]) else None)
        for schema, counts in sorted(rows.items())
    ]


def included(there: Mapping[TableId, int | None], tables: Sequence[TableId]) -> tuple[str, str]:
    """(Property, value) that includes the tables: whole schemas where all tables of them are wanted."""
    schemas = {table.schema for table in tables}
    if {table for table in there if table.schema in schemas} == set(tables):
        return "schema.include.list", ",".join(_pattern(schema) for schema in sorted(schemas))
    return "table.include.list", _patterns(tables)


def as_yaml(answers: Answers, include: tuple[str, str]) -> str:
    """The text of the file, with comments."""
    given, (include_name, patterns) = answers.properties(), include

    def line(name: str, value: str | int | None = None) -> str:
        return yaml.safe_dump(
            {name: given.get(name, "") if value is None else value}, width=10_000, allow_unicode=True
        ).rstrip()

    lines = [
        "# A connector of minercdc. All properties: docs/configuration.md; those in force: minercdc config CONFIG",
        "# The name owns the offset and the transactional id: change it, and capture begins anew.",
        line("name"),
        line("topic.prefix"),
        "",
        line("database.hostname"),
        line("database.port", answers.port),
        line("database.user"),
        f"database.password: ${{env:{PASSWORD}}}",
        line("database.dbname"),
        *([line("database.pdb.name")] if answers.pdb else []),
        "",
        "# Regular expressions of whole names, separated by commas.",
        line(include_name, patterns),
        "",
        line("minercdc.kafka.bootstrap.servers"),
        "signal.enabled.channels: kafka       # minercdc signal CONFIG execute-snapshot --collection ..",
        "minercdc.http.port: 8089             # the status page, /health and /metrics, on 127.0.0.1",
    ]
    return "\n".join(lines) + "\n"


def _pattern(name: str) -> str:
    """The regular expression of a name, without the comma that would end it in a list."""
    return re.sub(r"[^\w,]", r"\\\g<0>", name).replace(",", ".")


def _patterns(tables: Sequence[TableId]) -> str:
    return ",".join(_pattern(str(table)) for table in tables)
