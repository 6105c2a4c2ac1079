"""Lines that a command prints or logs, once it has started or at its end: addresses to open and commands to type.

An address that listens everywhere is named localhost, which is true on this machine and, where a container publishes the same port, on
its host.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from minercdc.cli.pasting import program
from minercdc.config.load import ConnectorConfig
from minercdc.config.sections import DatabaseConfig
from minercdc.config.target.catalog_names import CatalogNames
from minercdc.errors import ConfigError
from minercdc.local.ports import EVERYWHERE
from minercdc.observe.http.token import token_file
from minercdc.operate.signals.send import usable_channel
from minercdc.oracle.connect import dsn_of, secrets_in
from minercdc.schema.table import TableId

_LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


def reachable(host: str, port: int) -> str:
    """HOST:PORT that a client on this machine can use."""
    return f"{'localhost' if host in EVERYWHERE else host}:{port}"


def connector_steps(config: ConnectorConfig, file: str, served: str) -> list[str]:
    """Lines: where the database, the records and the status of a connector are, and the command that reads tables again.

    :param file: its configuration, as given on the command line.
    :param served: address of its HTTP port, `http://HOST:PORT`; '' for none.
    """
    return [
        f"database: {_database(config.database)}",
        f"records: {_records(config, file)}",
        f"status: {_status(config, served)}",
        f"read tables again: {_signal(config, file)}",
    ]


def _database(config: DatabaseConfig) -> str:
    """Its connect string without secrets, and the pluggable databases."""
    place = dsn_of(config)
    for secret in secrets_in(config.database_url or ""):
        place = place.replace(secret, "***")
    return f"{place}, {', '.join(config.pdbs)}" if config.pdbs else place


def _records(config: ConnectorConfig, file: str) -> str:
    sink = config.sink
    if sink.debezium_sink_type == "segments":
        stream = f"spark.readStream.format('minercdc').option('config', {file!r})"
        return f"segments in {sink.directory.absolute()}; {stream} reads them"
    if sink.debezium_sink_type == "json":
        return f"JSON lines in {sink.file.absolute()}" if sink.file else "JSON lines on standard output"
    if not sink.is_kafka:
        return f"debezium.sink.type={sink.debezium_sink_type}"
    database = ["<PDB>"] if config.database.has_several_pdbs else []
    topics = config.topics.topic_delimiter.join((config.identity.topic_prefix, *database, "<SCHEMA>", "<TABLE>"))
    return f"topics {topics} at bootstrap.servers={config.kafka.bootstrap_servers}"


def _status(config: ConnectorConfig, served: str) -> str:
    signals = config.signals
    host, port = signals.minercdc_http_host, served.rpartition(":")[2]
    if not port:
        return "no port; minercdc.http.port=8089 opens one"
    address = f"http://{reachable(host, int(port))}"
    if host in _LOOPBACK:
        return f"{address}/ in a browser; curl {address}/health (or /metrics, /api/status, /snapshots, /notifications)"
    kept = token_file(config.capture.minercdc_state_dir, config.identity.name)
    token = "minercdc.http.token" if signals.minercdc_http_token else f"the text of {kept}"
    return f'{address}/ in a browser, with the token; curl {address}/health (or /metrics; /snapshots and /notifications with -H "Authorization: Bearer TOKEN", {token})'


def _signal(config: ConnectorConfig, file: str) -> str:
    try:
        usable_channel(config)
    except ConfigError:
        channel = "kafka" if config.sink.is_kafka else "file"
        return f"not enabled; signal.enabled.channels={channel} enables signals"
    several = config.database.has_several_pdbs
    database = "<PDB>" if several else config.database.database_pdb_name or config.database.database_dbname
    answer = " --wait" if config.signals.minercdc_http_port or config.notifications.sink_topic else ""
    return f"{program()} signal {shlex.quote(file)} execute-snapshot --collection {database}.SCHEMA.TABLE{answer}"


def lake_steps(path: str, file: str, *, several: bool = False) -> list[str]:
    """Lines: where the lake's tables are, and a command that prints rows of one.

    :param path: of the lake.
    :param file: the configuration, as given on the command line.
    :param several: several pluggable databases are captured.
    """
    parts = _parts(several)
    where = f"{path}/{'/'.join(parts)}"
    return [f"tables: a Delta table per source table at {where}; Ctrl-C stops this", _print_one(file, ".".join(parts))]


def catalog_steps(catalog: str, file: str, *, several: bool = False, template: str | None = None) -> list[str]:
    """Lines: the names of the lake's tables in a catalog, and a command that prints rows of one.

    :param catalog: its name in SQL.
    :param file, several: see `lake_steps`.
    :param template: `minercdc.lake.catalog.table.name`.
    """
    named = ".".join(CatalogNames(template, several=several).path(TableId("<PDB>", "<SCHEMA>", "<TABLE>")))
    where = f"tables: an Iceberg table per source table, {catalog}.{named}; Ctrl-C stops this"
    return [where, _print_one(file, ".".join(_parts(several)))]


def _parts(several: bool) -> list[str]:
    return ["<PDB>", "<SCHEMA>", "<TABLE>"] if several else ["<SCHEMA>", "<TABLE>"]


def _print_one(file: str, table: str) -> str:
    return f"print one: {program()} lake show {shlex.quote(file)} '{table}'"


def handover_steps(scn: int | None, file: str) -> list[str]:
    """Lines: what follows a snapshot of the lake.

    :param scn: the connector was set up to stream from this SCN; None: it had an offset before.
    :param file: its configuration, as given on the command line.
    """
    if scn is None:
        return ["the connector goes on from its offset: it delivers what was committed after the snapshot"]
    file = shlex.quote(file)
    return [f"stream from SCN {scn}: {program()} run {file}", f"and into the lake: {program()} lake {file}"]


def broker_steps(bootstrap_servers: str, external: str, data: Path) -> list[str]:
    """Lines: the address that clients connect to, and where the topics' files are.

    :param external: HOST:PORT for clients of another network, '' for none.
    :param data: the broker's directory.
    """
    elsewhere = f", outside of its network bootstrap.servers={external}" if external else ""
    return [f"connect: bootstrap.servers={bootstrap_servers}{elsewhere}", f"topics and broker.log: {data.absolute()}"]
