"""The connector streams on from a snapshot that another process takes: `minercdc lake snapshot`, which reads the rows.

    no offset yet   structures are read, and the position to stream from is stored: the connector's own start with `no_data`
    an offset       the stream goes on from it; what was committed after it will be delivered

Either way the stream delivers every commit after the SCN at which rows are read from now on, so the steps may be killed and
repeated. The connector may be started at any time after `hand_over`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from minercdc.capture.registry import adopt
from minercdc.capture.table_selection import table_names
from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, SourceError
from minercdc.messages.topics import TopicNames
from minercdc.pipeline.engine import run_once
from minercdc.pipeline.factory import adapter_of, build
from minercdc.pipeline.history import schema_history
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.sink import stored_offset
from minercdc.sinks.opening import need_kafka
from minercdc.snapshot.initial.mode import Start, Steps, decision_of
from minercdc.stream.offset import Offset, Position

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Handover:
    """Where the connector streams from.

    :param scn: it was set up to stream from this SCN just now: rows are to be read as of it. None: it has an offset already.
    :param since: per table, named as `TableNames.of` does, the SCN from which on the stream has its changes.
    :param suspended: names of tables whose changes are left out.
    """

    scn: int | None
    since: Mapping[str, int] = field(default_factory=dict)
    suspended: frozenset[str] = frozenset()

    def refusal(self, table: str, scn: int) -> str:
        """Why the stream would not bring a table that is read as of `scn` up to date; '' when it does.

        :param table: its name, as in `since`.
        """
        since = self.since.get(table)
        if since is None:
            return (
                "the connector's schema history does not have the table, so the stream may lack its changes; start the connector once"
                " with snapshot.mode=recovery, or let it pass the CREATE TABLE, and read the table then"
            )
        if scn < since:
            return f"the connector has its changes from SCN {since} on, but {scn} is earlier"
        if table in self.suspended:
            return "the connector leaves its changes out, since the table is suspended; send resume-table first"
        return ""


def hand_over(config: ConnectorConfig, scn: int | None = None) -> Handover:
    """Make sure that the connector streams every commit after an SCN at which rows are read from now on.

    A connector without an offset gets one: structures are read from the database and stored with it. No process of the
    connector may be starting meanwhile: it would be fenced.

    :param scn: of rows that are to be read as of the past; None: as of the present.
    :raises ConfigError: as `need_kafka`; `snapshot.mode` does not stream, the schema history is in a file, or the offset is of
        another family of adapters.
    :raises LogGapError: redo that the stream needs is gone.
    :raises PrerequisiteError, SourceError, SinkError, SchemaHistoryError: database, Kafka or the schema history cannot be used.
    :raises MinerCdcError: as `engine.run_once`, by which a connector without an offset gets one.
    """
    if not decision_of(config.snapshot)(Start(offset_exists=True, snapshot_under_way=False)).stream:
        raise ConfigError([f"snapshot.mode: {config.snapshot.snapshot_mode} does not stream after `minercdc lake snapshot`"])
    need_kafka(config, "`minercdc lake snapshot`")
    if config.history.file is not None:
        raise ConfigError(
            [
                "schema.history.internal: the lake reads the tables from the topic of the schema history; a file is not supported"
            ]
        )
    client, topics = KafkaClient(config.kafka, config.topics, config.kafka_client), TopicNames(config)

    def stored() -> Offset | None:
        return stored_offset(client, topics, config.identity.name) if client.ends(topics.offsets) else None

    begun, offset = False, stored()
    if offset is None:
        _begin(config, scn)
        begun, offset = True, stored()
    if offset is None:
        raise SourceError("no position to stream from was stored")
    position = _readable(config, offset)
    since: dict[str, int] = {}
    names = table_names(config)
    for change in schema_history(config, client, topics).recover(offset.history):
        if change.after is None:
            since.pop(names.of(change.table), None)
        else:
            since.setdefault(names.of(change.after.id), change.scn)
    suspended = frozenset(table.table for table in offset.suspended)
    return Handover(position.delivered_scn if begun else None, since, suspended)


def _begin(config: ConnectorConfig, scn: int | None) -> None:
    """Store the structures, and the position to stream from, as a start with `snapshot.mode=no_data` does: it claims the
    connector's name.

    :param scn: to stream from; None: the present one.
    """
    past = {"minercdc_start_scn": scn, "minercdc_start_timestamp": None}
    given = replace(config, snapshot=config.snapshot.model_copy(update=past))
    factory = build(given, decide=lambda start: Steps(data=False, schema=start.is_first, stream=False))
    run_once(factory, threading.Event())


def _readable(config: ConnectorConfig, offset: Offset) -> Position:
    """The position that the stream goes on from; during an initial snapshot, the one after it."""
    adopted = adopt(offset, config.database.database_connection_adapter, handover_scn=None)
    assert adopted is not None
    saved = adopted.position
    if saved is None and adopted.snapshot is not None:
        saved = adopted.snapshot.start
    if saved is None:
        raise SourceError("the connector's offset has no position to stream from")
    adapter = adapter_of(config)
    position = adapter.capture.load_position(saved)
    if gap := adapter.unreadable(position):
        raise gap
    return position
