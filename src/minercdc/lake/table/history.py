"""The versions of the source's tables, and what DDL did to their rows, from the connector's schema history.

A history record is delivered with the first rows of its version, or before them. So a reader that has rows and then reads the
history to its end knows their version. A row belongs to the newest version whose SCN is not above the row's; the structure that a snapshot
found is also that of all that was committed after it: DDL that it found done waits for open transactions of the table.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from minercdc.capture.table_selection import captured_by, table_filters, table_names
from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError, SchemaHistoryError
from minercdc.lake.read.skipped import refuse_other_forms
from minercdc.lake.stream.topic_owners import TopicTable, owner_of
from minercdc.lake.table.columns import TableColumn
from minercdc.messages.topics import TopicNames
from minercdc.schema.ddl.parser import parse_ddl
from minercdc.schema.ddl.statements import AlterTable, RenameColumn, TruncateCluster, TruncateTable, Unclear
from minercdc.schema.table import Column, TableId, TableSchema, without_comments
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.schema_history import IDS_ONLY, TRUNCATED, changes_of, starts_over, time_of
from minercdc.sinks.kafka.sink import stored_offset
from minercdc.stream.events import SchemaChange
from minercdc.stream.offset import Offset

_log = logging.getLogger(__name__)
_CREATE = re.compile(r"\s*CREATE\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a source table in one version; DDL that changes the column keeps its id.

    :param id: its first name, and the SCN of the version in which it appeared: `NAME@SCN`.
    :param since: that SCN when it joined a table that was there before, else 0.
    :param default: the DEFAULT of that ADD, as SQL text, which all older rows got; None for none.
    """

    id: str
    column: Column
    since: int = 0
    default: str | None = None

    @property
    def name(self) -> str:
        """The column's name in this version."""
        return self.column.name


@dataclass(frozen=True, slots=True)
class TableVersion:
    """The structure of the rows that were changed at or after SCN `since`; `fields` are aligned with `schema.columns`.

    :param ddl: the statement that made it, '' for a snapshot.
    """

    since: int
    schema: TableSchema
    fields: tuple[Field, ...]
    ddl: str = ""


class Handed(NamedTuple):
    """DDL that rows were changed by without redo, before a RENAME brought them.

    :param at: SCN of the RENAME.
    :param scn, ddl: of the DDL.
    :param moved: it gave rows other ROWIDs; else it removed or brought rows.
    """

    at: int
    scn: int
    ddl: str
    moved: bool


@dataclass(slots=True)
class TableHistory:
    """What happened to one table name.

    :param name: of the table in the lake's records and in messages; '' for `SCHEMA.TABLE`.
    :ivar versions: in the order of SCNs.
    :ivar created: SCNs of CREATE TABLE: rows and structure of before are gone.
    :ivar truncated: SCNs of TRUNCATE TABLE: rows changed before are gone.
    :ivar snapshots: SCNs at which the structure was read again by a snapshot, which may have read all rows again.
    :ivar reads: SCNs as of which an initial snapshot read all rows: older ones that it did not find are gone.
    :ivar lost: (SCN, statement) of partition DDL that removed or brought rows without redo of them.
    :ivar moved: (SCN, statement) of DDL that gave rows other ROWIDs.
    :ivar handed: what was in `lost` and `moved` under earlier names, and no snapshot had read again when the rows came to this one.
    :ivar earlier: names of table and topic that its rows had earlier -> SCN of the rename.
    :ivar renamed_from, renamed_to: (SCN, the table whose rows this one took over, or that took over its rows).
    :ivar dropped: SCNs of DROPs, of renames to another name, and of initial snapshots that did not find it.
    :ivar comments: of the columns, by their ids, as the history has them last; None where comments are not captured.
    :ivar comment: of the table, '' for none, as the history has it last; None where comments are not captured.
    :ivar times: SCN of DDL, or of a snapshot -> its time, in microseconds since 1970.
    """

    table: TableId
    topic: str
    versions: list[TableVersion] = field(default_factory=list)
    created: list[int] = field(default_factory=list)
    truncated: list[int] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    lost: list[tuple[int, str]] = field(default_factory=list)
    moved: list[tuple[int, str]] = field(default_factory=list)
    handed: list[Handed] = field(default_factory=list)
    earlier: dict[str, int] = field(default_factory=dict)
    renamed_from: list[tuple[int, TableId]] = field(default_factory=list)
    renamed_to: list[tuple[int, TableId]] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    times: dict[int, int] = field(default_factory=dict)
    name: str = ""
    comments: dict[str, str] | None = None
    comment: str | None = None

    def __post_init__(self) -> None:
        self.name = self.name or str(self.table)

    def version_at(self, scn: int) -> TableVersion:
        """The version of a row that was changed at this SCN; the oldest one for an SCN before all. There has to be a version."""
        return self.versions[self.index_at(scn)]

    def index_at(self, scn: int) -> int:
        """Index in `versions` of `version_at`; 0 where there are none."""
        return max(bisect_right(self.versions, scn, key=lambda version: version.since) - 1, 0)

    def of_commit(self, index: int) -> bool:
        """Whether a version, by its index, is also that of rows that were changed before its SCN, and committed at it or later."""
        since = self.versions[index].since
        return index > 0 and not self.versions[index].ddl and (since in self.reads or since in self.snapshots)

    def index_of(self, scn: int, commit_scn: int) -> int:
        """Index in `versions` of the version of a row by the SCNs of its change and its COMMIT."""
        of_commit = (i for i in range(self.index_at(commit_scn), 0, -1) if self.of_commit(i))
        return max(self.index_at(scn), next(of_commit, 0))

    def condition(self, index: int) -> str:
        """SQL of whether a row, with `scn` and `commit_scn`, is of a version or a later one."""
        since = self.versions[index].since
        return f"(scn >= {since} OR commit_scn >= {since})" if self.of_commit(index) else f"scn >= {since}"

    def commented(self, columns: Iterable[TableColumn]) -> list[TableColumn]:
        """Columns of the lake, with Oracle's comments where they are captured."""
        known = self.comments
        return [replace(one, comment=None if known is None else known.get(one.id, "")) for one in columns]

    def exists_at(self, scn: int) -> bool:
        """Whether the source has a table of this name at an SCN, as far as the history is read."""
        created = max((version.since for version in self.versions if version.since <= scn), default=0)
        return created > max((gone for gone in self.dropped if gone <= scn), default=0)

    def has_event(self, after: int, until: int) -> bool:
        """Whether DDL, or an initial snapshot, above SCN `after` and not above `until` changed the table or its rows."""
        scns = [version.since for version in self.versions] + self.truncated + self.dropped + self.reads
        scns += [scn for scn, _ in self.renamed_from + self.renamed_to]
        scns += [scn for scn, _ in self.lost + self.moved]
        return any(after < scn <= until for scn in scns)


class TableHistories:
    """The tables of one connector, by the records of its schema history; subclasses read them. Of several tables of one topic only the
    one that has it is given (`topic_owners`).

    :raises LakeError: the connector's records are in a form that is not read back.
    :raises ConfigError: as `TopicNames`.
    :ivar topic: topic or file that has the history; error messages name it, too.
    :ivar names: how tables are named, `SCHEMA.TABLE`, and with several pluggable databases `PDB.SCHEMA.TABLE`.
    """

    topic: str

    def __init__(self, config: ConnectorConfig) -> None:
        refuse_other_forms(config)
        self._config, self._topics, self.names = config, TopicNames(config), table_names(config)
        self._is_captured = captured_by(table_filters(config))
        self._server = config.identity.topic_prefix
        self._forget()

    def _forget(self) -> None:
        """Drop all tables, as before the first record of the history."""
        self._tables: dict[TableId, TableHistory] = {}
        self._by_topic: dict[str, list[TableHistory]] = {}
        self._shared: dict[TableId, str] = {}
        self._found: tuple[int, set[TableId]] = (0, set())  # SCN of the last snapshot, and the tables that it found
        self._unreadable: Exception | None = None

    def refresh(self) -> None:
        """Read what the history has gained since the last call; subclasses do it. The first call reads all.

        :raises SinkError: Kafka, or the segments, cannot be read.
        :raises SchemaHistoryError: a record of the history cannot be read.
        :raises ConfigError: as `TopicNames.name_of`.
        """
        raise NotImplementedError

    def refresh_if_any(self) -> None:
        """`refresh`, with its errors, if there is a history; else nothing."""
        self.refresh()

    def _refuse_unreadable(self) -> None:
        if self._unreadable is not None:
            raise SchemaHistoryError(
                f"a record of the schema history {self.topic} cannot be read: {self._unreadable!r}",
                hint="Start the connector once with snapshot.mode=recovery, and then the lake again.",
            )

    def of_topic(self, topic: str) -> TableHistory | None:
        """The table whose changes the topic holds; None when the history, as read so far, has none, or does not say which."""
        return next((one for one in self._by_topic.get(topic, ()) if one.table not in self._shared), None)

    def find(self, name: str) -> TableHistory | None:
        """The table of a name that `names` gives; None when the history, as read so far, has none, or its topic is another one's."""
        return next((table for table in self.tables() if table.name == name), None)

    def given(self, name: str) -> list[TableHistory]:
        """The tables that a user means by a name (`TableNames.given`), sorted; [] for none."""
        return sorted((one for one in self.tables() if name in self.names.given(one.table)), key=lambda one: one.name)

    def shared(self, name: str) -> str:
        """Why the table of a name that `names` gives has no topic of its own; '' when it has one, or the history has no such
        table."""
        return next((reason for table, reason in self._shared.items() if self.names.of(table) == name), "")

    def settle(self) -> None:
        """Find out which tables have the topics that several would have; one that is left out from now on is logged as a
        warning. Subclasses call this at the end of the history. Raises SinkError or SchemaHistoryError when the
        connector's offset cannot be read."""
        several = [tables for tables in self._by_topic.values() if len(tables) > 1]
        stored = self._offset() if several else None
        codes = {entry.table: entry.code for entry in stored.suspended} if stored else {}
        shared: dict[TableId, str] = {}
        for tables in several:
            owner = owner_of([TopicTable(one.table, self._is_there(one), codes.get(one.name, "")) for one in tables])
            names = ", ".join(one.name for one in tables)
            whose = self.names.of(owner) if owner else "another table"
            text = f"the topic {tables[0].topic} is that of {whose} (of {names})"
            shared |= {one.table: text for one in tables if one.table != owner}
        for table in sorted(shared.keys() - self._shared.keys()):
            if self._is_there(self._tables[table]):
                _log.warning("%s is left out: %s", self.names.of(table), shared[table])
        self._shared = shared

    def _is_there(self, table: TableHistory) -> bool:
        return table.exists_at(sys.maxsize) and self._is_captured(table.table)

    def _offset(self) -> Offset | None:
        """The connector's stored offset, None before the first one."""
        raise NotImplementedError

    def known(self, name: str) -> TableHistory:
        """The one table that a user means by a name (`given`). Raises LakeError when the history, as read so far, has no structure of
        it, its topic is another table's, or several pluggable databases have such a table."""
        found = [one for one in self.given(name) if one.versions]
        if not found:
            for table, reason in self._shared.items():
                if name in self.names.given(table):
                    raise LakeError(f"{name} has no topic of its own: {reason}")
            raise self.unknown(name)
        if len(found) > 1:
            names = ", ".join(one.name for one in found)
            raise LakeError(f"{name} is a table of several pluggable databases", hint=f"Give one of: {names}")
        return found[0]

    def unknown(self, name: str) -> LakeError:
        """The error that the history, as read so far, has no such table."""
        known = ", ".join(sorted(one.name for one in self.tables())) or "none"
        return LakeError(f"the schema history {self.topic} has no table {name}", hint=f"It has: {known}")

    def tables(self) -> Iterable[TableHistory]:
        """All tables that have a topic of their own, dropped ones among them, in the order in which the history names them."""
        return [one for table, one in self._tables.items() if table not in self._shared]

    def _read(self, value: bytes) -> None:
        if starts_over(value, self._server):
            self._unreadable = None
        try:
            document = json.loads(value)
            if document["source"]["server"] == self._server:
                self.apply(document)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            self._unreadable = self._unreadable or error

    def apply(self, document: Mapping[str, Any]) -> None:
        """Follow one record of the history. Another form raises KeyError, ValueError, TypeError, IndexError or
        AttributeError. Raises ConfigError as `TopicNames.name_of`."""
        if document["position"].get(IDS_ONLY):
            return
        scn = int(document["position"]["scn"])
        ddl = document.get("ddl") or ""
        statement = parse_ddl(ddl) if ddl else None
        for change in changes_of(dict(document)):
            self._table(change.table).times[scn] = change.time_us
            if change.after is None:
                self._table(change.table).dropped.append(scn)
                continue
            before = change.before.id if change.before is not None else None
            moved = before is not None and before != change.after.id
            if moved and before is not None:
                self._take_over(before, change.after.id, scn)
            table = self._table(change.after.id)
            alter = statement if isinstance(statement, AlterTable) else None
            # A table whose name the connector meets in an ALTER is in the history as CREATE, too.
            created = change.before is None and _CREATE.match(ddl) is not None and not change.snapshot
            if created:
                table.created.append(scn)
            elif change.snapshot and table.versions:
                table.snapshots.append(scn)
            if change.snapshot:
                self._note_found(change, table, scn)
            self._add_version(table, scn, without_comments(change.after), alter, ddl, created=created)
            if self._config.messages.include_schema_comments:
                pairs = zip(table.versions[-1].fields, change.after.columns, strict=True)
                table.comments = {field.id: column.comment or "" for field, column in pairs}
                table.comment = change.after.comment or ""
            # Beside the table that it names, TRUNCATE .. CASCADE may have emptied others.
            if isinstance(statement, TruncateTable) or (
                isinstance(statement, AlterTable | Unclear) and statement.loses_rows
            ):
                table.lost.append((scn, ddl))
            if isinstance(statement, AlterTable | Unclear) and statement.moves_rows:
                table.moved.append((scn, ddl))
        if isinstance(statement, TruncateTable | TruncateCluster) and not document["tableChanges"]:
            database, schema = document.get("databaseName") or "", document.get("schemaName") or ""
            emptied = document["position"].get(TRUNCATED)
            if emptied is not None or isinstance(statement, TruncateCluster):
                name = TableId(database, schema, emptied or "")
            else:
                name = statement.name.within(database, schema)
            if name in self._tables:
                self._tables[name].truncated.append(scn)
                self._tables[name].times[scn] = time_of(document)

    def _table(self, table: TableId) -> TableHistory:
        if table not in self._tables:
            made = self._tables[table] = TableHistory(table, self._topics.name_of(table), name=self.names.of(table))
            self._by_topic.setdefault(made.topic, []).append(made)
        return self._tables[table]

    def _note_found(self, change: SchemaChange, table: TableHistory, scn: int) -> None:
        """Note a table that a snapshot found, and whether its rows are read."""
        if self._found[0] != scn:
            self.end_vanished()
            self._found = (scn, set())
        self._found[1].add(change.table)
        if change.rows:
            table.reads.append(scn)

    def end_vanished(self) -> None:
        """Note as dropped, at the SCN of the last snapshot, each table that it did not find, if it was an initial one.

        Subclasses call this at the end of the history: all records of a snapshot's structures are in one Kafka transaction.
        """
        scn, found = self._found
        if not any(scn in table.reads for table in self._tables.values()):
            return
        for table in self._tables.values():
            if table.table not in found and table.exists_at(scn):
                table.dropped.append(scn)

    def _take_over(self, old: TableId, new: TableId, scn: int) -> None:
        """RENAME: the new name gets the rows of the old one, and its newest version, from `scn` on; the old name is
        dropped there."""
        source, target = self._table(old), self._table(new)
        target.renamed_from.append((scn, old))
        target.versions += [
            replace(version, since=scn, schema=replace(version.schema, id=new)) for version in source.versions[-1:]
        ]
        target.earlier |= {**source.earlier, source.name: scn, source.topic: scn}
        # Of a name that rows came to by a RENAME before, what happened under it earlier was done to others.
        came = max((at for at, _ in source.renamed_from), default=0)
        begun = max((at for at in (*source.reads, *source.created)), default=0)
        own = [Handed(scn, at, ddl, moved=False) for at, ddl in source.lost]
        own += [Handed(scn, at, ddl, moved=True) for at, ddl in source.moved]
        target.handed += [one for one in own if one.scn > max(begun, came)]
        target.handed += [one._replace(at=scn) for one in source.handed if one.at == came > begun]
        source.renamed_to.append((scn, new))
        source.dropped.append(scn)

    @staticmethod
    def _add_version(
        table: TableHistory, scn: int, schema: TableSchema, alter: AlterTable | None, ddl: str, *, created: bool
    ) -> None:
        previous = table.versions[-1] if table.versions and not created and table.exists_at(scn) else None
        version = TableVersion(scn, schema, tuple(_fields(previous, schema, alter, scn)), ddl)
        if previous is not None and (previous.fields, previous.schema.key) == (version.fields, version.schema.key):
            return
        table.versions.append(version)


class LakeHistory(TableHistories):
    """The tables of one connector, by its history's topic. Raises as `TableHistories`.

    :param client: of the connector's cluster.
    """

    def __init__(self, config: ConnectorConfig, client: KafkaClient) -> None:
        super().__init__(config)
        self.topic = self._topics.schema_history
        self._client = client
        self._own = re.compile(re.escape(self.topic))
        self._id, self._read_to = "", 0

    def refresh(self) -> None:
        """Read the committed records that the history topic has gained since the last call, to its present end; waits until
        open transactions before that are decided. A topic that was made again since is read from its beginning, as by a lake that starts.

        :raises DeliveryError, SinkError: Kafka cannot be read.
        :raises SchemaHistoryError: a record since the last snapshot.mode=recovery, or the connector's offset, cannot be read.
        :raises ConfigError: as `TopicNames.name_of` and `TableFilter.includes`.
        """
        number, end = self._client.topic_ids(self._own).get(self.topic, ""), self._client.end_offset(self.topic)
        if self._read_to and (number != self._id or end < self._read_to):
            _log.warning("the schema history %s was made again: the tables are those that it has now", self.topic)
            self._forget()
            self._read_to = 0
        self._id = number
        if end > self._read_to:
            for message in self._client.read_range(self.topic, 0, self._read_to, end):
                if (value := message.value()) is not None:
                    self._read(value)
            self._read_to = end
            self.end_vanished()
        self.settle()
        self._refuse_unreadable()

    def _offset(self) -> Offset | None:
        name = self._config.identity.name
        return stored_offset(self._client, self._topics, name) if self._client.ends(self._topics.offsets) else None

    def refresh_if_any(self) -> None:
        """As `TableHistories` says: the topic may not have been made."""
        if self._client.ends(self.topic):
            self.refresh()


def _fields(previous: TableVersion | None, schema: TableSchema, alter: AlterTable | None, scn: int) -> Iterator[Field]:
    """The columns of a new version: those of the version before, by their names or by the names they had before, and new ones."""
    if previous is None:
        yield from (Field(f"{column.name}@{scn}", column) for column in schema.columns)
        return
    known = {one.name: one for one in previous.fields}
    renamed = [change for change in (alter.changes if alter else ()) if isinstance(change, RenameColumn)]
    for change in renamed:
        if change.name in known:
            known[change.new_name] = known.pop(change.name)
    for column in schema.columns:
        if (old := known.get(column.name)) is not None:
            yield Field(old.id, column, old.since, old.default)
        else:
            yield Field(f"{column.name}@{scn}", column, scn, column.default)
