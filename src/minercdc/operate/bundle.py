"""`minercdc bundle`: an archive for a bug report. What might hold rows or keys is left out; secrets of four characters and more
are masked in every file.

versions.txt        minercdc, Python, libraries, system
configuration.txt   what `minercdc config FILE` prints, secrets hidden
check.txt           the findings that `minercdc check` prints
offset.json         position, snapshots, suspensions: counts and SCNs, without keys, conditions and reasons
tables.json         structures at the offset, without defaults
topics.txt          settings of the topics of offset and schema history, and the ends of all with the prefix
database.txt        version, modes of the database, log groups, archived logs
status.json, metrics.txt   of the running process, where its port answers: figures, without texts of errors and keys
"""

from __future__ import annotations

import io
import json
import logging
import platform
import re
import sys
import tarfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from minercdc.capture.table_selection import table_names
from minercdc.config.in_force import HIDDEN, in_force, report
from minercdc.config.load import SECTIONS, ConnectorConfig
from minercdc.config.urls import secrets_in
from minercdc.errors import MinerCdcError
from minercdc.messages.topics import TopicNames
from minercdc.native import PATH
from minercdc.observe.http.client import fetch_status
from minercdc.observe.http.token import http_token
from minercdc.operate.check.examination import examine
from minercdc.operate.check.page import lines_of
from minercdc.operate.offsets.read import StoredOffset, read_stored
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import connect
from minercdc.oracle.finding import Finding
from minercdc.pipeline.start_checks import check_broker, unanswered
from minercdc.schema.table import TableNames
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.stream.offset_json import offset_to_bytes
from minercdc.stream.state_directory import private_opener
from minercdc.web.client import ask

_log = logging.getLogger(__name__)

_LIBRARIES = ("oracledb", "confluent-kafka", "pydantic", "fastavro", "pyspark", "typer", "prometheus-client")
_QUERIES: Final[Mapping[str, str]] = {
    "version": "SELECT BANNER_FULL FROM V$VERSION",
    "database": "SELECT LOG_MODE, SUPPLEMENTAL_LOG_DATA_MIN, FORCE_LOGGING, CDB, CURRENT_SCN, RESETLOGS_CHANGE# FROM V$DATABASE",
    "log groups": "SELECT GROUP#, THREAD#, SEQUENCE#, BYTES, STATUS, FIRST_CHANGE# FROM V$LOG",
    "archived logs": "SELECT THREAD#, DELETED, COUNT(*), MIN(FIRST_CHANGE#), MAX(NEXT_CHANGE#) FROM V$ARCHIVED_LOG GROUP BY THREAD#, DELETED",
}
# Members whose texts may hold values of rows or names of people.
_OFFSET_TEXTS = {"reason", "fix", "condition", "last", "maximum", "failure"}
_STATUS_TEXTS = {"trouble", "sentence", "reason", "fix", "last", "maximum", "notices", "user", "program", "machine", "sid"}
_SHORTEST = 4  # characters of a secret that is looked for in the files
_CALL_SECONDS = 5.0


def write_bundle(config: ConnectorConfig, path: Path, file: Path) -> list[str]:
    """Write the archive, a .tar.gz, with mode 0600 when it is new; returns the names of the files in its folder
    `minercdc-bundle`. A file that cannot be made, as when the database does not answer, holds the error instead. Connects to the
    database, Kafka and the HTTP port of the running process; logs a warning when Kafka does not answer.

    :param path: of the configuration.
    :param file: of the archive; one that is there is replaced, and keeps its mode.
    :raises OSError: the archive cannot be written.
    """
    secrets = secret_values(config)
    broker = _broker(config)
    if silent := unanswered(broker or ()):
        _log.warning("%s; the files of the bundle say so", _scrubbed(silent.problem, secrets))
    files = {name: _scrubbed(_made(make), secrets) for name, make in _files(config, path, broker).items()}
    with open(file, "wb", opener=private_opener) as target, tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, text in files.items():
            content = text.encode()
            member = tarfile.TarInfo(f"minercdc-bundle/{name}")
            member.size, member.mode, member.mtime = len(content), 0o600, int(time.time())
            archive.addfile(member, io.BytesIO(content))
    return list(files)


def secret_values(config: ConnectorConfig) -> list[str]:
    """Every secret of at least four characters that the configuration holds, each once, longest first; those in URLs, connect
    strings and JAAS configurations, too."""
    found: set[str] = set()
    for name in SECTIONS:
        section = getattr(config, name)
        for field in type(section).model_fields:
            value = getattr(section, field)
            if isinstance(value, SecretStr):
                found.add(value.get_secret_value())
    hidden = {one.name for one in in_force(config) if one.value == HIDDEN}
    passed_on = {**config.kafka_client, **config.signal_client, **config.lake_spark, **config.lake_catalog, **config.given}
    for name, value in passed_on.items():
        if any(shown.endswith(name) for shown in hidden):
            found.add(value)
        found.update(secrets_in(value))
    for secret in list(found):  # of URLs, of `user:password`, and of a JAAS configuration
        found.update(secrets_in(secret))
        found.update(re.findall(r"^[^:\s]+:(\S+)$", secret))
        found.update(re.findall(r"password\s*=\s*[\"']([^\"']+)", secret))
    return sorted((one for one in found if len(one) >= _SHORTEST), key=len, reverse=True)


def _scrubbed(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _made(make: Callable[[], str]) -> str:
    try:
        return make()
    except MinerCdcError as error:
        return f"unavailable: {error.code}: {error.message}\n"


def _broker(config: ConnectorConfig) -> Sequence[Finding] | None:
    """The findings of `check_broker`; None where it raises, as it does for check.txt then."""
    try:
        return check_broker(config)
    except MinerCdcError:
        return None


def _files(config: ConnectorConfig, path: Path, broker: Sequence[Finding] | None) -> dict[str, Callable[[], str]]:
    silent = unanswered(broker or ())

    def of_kafka(make: Callable[[], str]) -> Callable[[], str]:
        return (lambda: f"unavailable: {silent.problem}\n") if silent else make

    return {
        "versions.txt": _versions,
        "configuration.txt": lambda: report(config, path),
        "check.txt": lambda: _lines(list(examine(config, broker))),
        "offset.json": of_kafka(lambda: _offset(read_stored(config))),
        "tables.json": of_kafka(lambda: _tables(read_stored(config), table_names(config))),
        "topics.txt": of_kafka(lambda: _topics(config)),
        "database.txt": lambda: "".join(_database(config)),
        "status.json": lambda: _status(config),
        "metrics.txt": lambda: _metrics(config),
    }


def _versions() -> str:
    lines = [f"minercdc {metadata.version('minercdc')} ({PATH})", f"Python {sys.version}", platform.platform()]
    for name in _LIBRARIES:
        try:
            lines.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{name} is not installed")
    return "\n".join(lines) + "\n"


def _lines(findings: list[Finding]) -> str:
    return "".join(f"{line}\n" for finding in findings for line in lines_of(finding)) or "ready\n"


def _offset(stored: StoredOffset | None) -> str:
    if stored is None:
        return "none\n"
    document = json.loads(offset_to_bytes(stored.offset))
    return json.dumps(_without(document, _OFFSET_TEXTS), indent=1) + "\n"


def _tables(stored: StoredOffset | None, names: TableNames) -> str:
    found = {}
    for one, known in (stored.tables() if stored else {}).items():
        columns = [f"{c.name} {c.type_name} {c.length} {c.scale}" for c in known.schema.columns]
        found[names.of(one)] = {"scn": known.scn, "key": known.schema.key, "columns": columns}
    return json.dumps(found, indent=1) + "\n"


def _topics(config: ConnectorConfig) -> str:
    if not config.sink.is_kafka:
        return f"debezium.sink.type is {config.sink.debezium_sink_type}\n"
    client, topics = KafkaClient(config.kafka, config.topics, config.kafka_client), TopicNames(config)
    lines = [
        f"{name}: {state.replicas} replicas, {dict(sorted(state.settings.items()))}"
        for name, state in client.states([topics.offsets, topics.schema_history]).items()
    ]
    ends = client.all_ends(re.compile(re.escape(config.identity.topic_prefix) + ".*"))
    return (
        "\n".join([*lines, *(f"{topic} {partition}: ends at {end}" for (topic, partition), end in sorted(ends.items()))])
        + "\n"
    )


def _database(config: ConnectorConfig) -> Iterator[str]:
    with closing(connect(config.database, "root")) as connection, connection.cursor() as cursor:
        for what, query in _QUERIES.items():
            yield f"-- {what}\n"
            try:
                with oracle_errors(query):
                    cursor.execute(query)
                    yield from (", ".join(map(str, row)) + "\n" for row in cursor.fetchall())
            except MinerCdcError as error:
                yield f"unavailable: {error.message}\n"


def _status(config: ConnectorConfig) -> str:
    signals = config.signals
    if not signals.minercdc_http_port:
        return "minercdc.http.port is not set\n"
    document = fetch_status(signals.minercdc_http_host, signals.minercdc_http_port, http_token(config))
    return json.dumps(_without(document, _STATUS_TEXTS), indent=1) + "\n"


def _without(document: Any, names: Collection[str]) -> Any:
    if isinstance(document, dict):
        return {name: _without(value, names) for name, value in document.items() if name not in names}
    return [_without(one, names) for one in document] if isinstance(document, list) else document


def _metrics(config: ConnectorConfig) -> str:
    signals = config.signals
    if not signals.minercdc_http_port:
        return "minercdc.http.port is not set\n"
    try:
        return ask(signals.minercdc_http_host, signals.minercdc_http_port, "/metrics", _CALL_SECONDS)[1].decode()
    except (OSError, UnicodeDecodeError) as error:  # the port may be another program's
        return f"unavailable: {error!r}\n"
