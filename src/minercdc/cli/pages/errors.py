"""The page of errors, made from the classes and from the table of Oracle's codes; docs/errors.md is its output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from minercdc import errors
from minercdc.config.page_lines import wrapped
from minercdc.errors import MinerCdcError
from minercdc.oracle.codes import DPY, ORA, Known

_HEAD = """# Errors

Look up the code of a message here. Every failure ends with one message: a code, what happened and where, and possibly a hint. The code
determines what to do; the exit status gives a supervisor the same information.

| exit status | meaning | start again? |
|---|---|---|
| 0 | done, or stopped by SIGTERM or SIGINT | as you like |
| 1 | failed | once the cause is repaired; nothing is lost |
| 2 | the configuration or the command line is wrong | after correcting it |
| 3 | something is missing in the database | after running the SQL in the message |
| 4 | another instance of the connector has taken over | no; or with `--standby` |

A transient failure does not end the connector. The log has a warning with the cause and the wait (`going on from the last
offset in 2.0 s`), and the connector retries, without limit or `errors.max.retries` times. Waits double up to `retriable.restart.connector.wait.ms`.
Records and offset are committed in one Kafka transaction, so a restart neither loses nor repeats a change.
"""

# What the message of each class means to a user: the words after its code, and a paragraph.
_PARAGRAPHS: Mapping[type[MinerCdcError], tuple[str, str]] = {
    errors.MinerCdcError: (
        "",
        """The base of all codes. A message with this code is a defect of minercdc; please report it.""",
    ),
    errors.ConfigError: (
        "configuration",
        """*Exit status 2.* The file cannot be read, or properties are missing, misspelt, malformed, contradictory or not supported. All
problems are listed at once, one line each, with file and line, and a suggested property. `minercdc config FILE` finds all that `run` would, without a
database: expressions, Python code and settings of librdkafka are loaded, too. Correct them; `minercdc config` prints every
property. The same code says that a stored offset belongs to another adapter: use another `name`, or remove the offset.""",
    ),
    errors.PrerequisiteError: (
        "the database is not prepared",
        """*Exit status 3.* Archiving, supplemental logging, a grant or an object is missing, so changes would be lost. The message
holds the SQL; `minercdc check` shows all findings, including those that do not prevent capture (`advice`). Checked at every start of
the process. Oracle's ORA-00942, ORA-01031, ORA-01045, ORA-01354, ORA-06550, ORA-16000 and ORA-65040 end here, too, and what
python-oracledb's thin mode cannot connect to: native network encryption (DPY-3001), a database before 12.1 (DPY-3010), a password verifier of
10g (DPY-3015).
See [prepare Oracle](how-to/prepare-oracle.md).""",
    ),
    errors.SourceError: (
        "Oracle refused",
        """*Exit status 1.* Oracle or its driver reported an error that a retry would meet again: a wrong password
(ORA-01017; repeated attempts would lock the account), a locked or expired account (ORA-28000, ORA-28001), a pluggable database that does not exist
(ORA-65011). The message holds Oracle's own text; act on that.""",
    ),
    errors.UnknownSourceError: (
        "an unclassified Oracle error",
        """*Retried five times without progress*, with growing waits, then *exit status 1*. Oracle reported a code that minercdc does not classify, so the error
may be transient. In the SELECT of one table (a snapshot) only that table fails. The message holds Oracle's own text; act on that, and please
report the code.""",
    ),
    errors.TransientSourceError: (
        "the connection is lost, or there is none yet",
        """*Retried.* The listener cannot be reached, the service is not registered, the session was killed, the network or the
instance went away, no session or process is free, the archiver is stuck, the database is restricted or changes its role, a stream is to begin while a transaction is in doubt (ORA-01591; DBA_2PC_PENDING), a call ran into `database.query.timeout.ms`, or logging on into `database.connection.timeout.ms`. An unknown
service is retried as well: an instance that starts registers its services with the listener late. When it does not pass, check
`database.hostname`, `database.port` and `database.dbname` in the message.""",
    ),
    errors.MiningSessionError: (
        "the LogMiner session broke",
        """*Retried*, first within the capture with a new session (`log.mining.log.query.max.retries` times), then from the last offset. Logs
were switched, archived or overwritten while they were read, or LogMiner ran out of memory (then lower
`minercdc.log.mining.session.max.pga.bytes` or `log.mining.session.max.ms`).
It ends with status 1 only when `errors.max.retries` is spent.""",
    ),
    errors.LogGapError: (
        "redo is missing",
        """*Exit status 1.* A log that is still needed is no longer online nor archived, a block of it is corrupt, the database was
opened with RESETLOGS, or the pluggable database alone was, or it was unplugged and plugged in again; or it is not the database that was captured: its DBID or that of the pluggable database differs, or it has not reached the SCN of the stored position, for example because it was restored
or created again, or `database.hostname` is wrong. Going on
would lose changes. Restore the archived logs that the message names, and start again. If they cannot be restored, take a new
snapshot: [archived logs are gone](how-to/archived-logs-are-gone.md) has the steps, and says how to prevent it. With `capture.mode=downstream` the message names a log that has not reached
the [downstream database](how-to/mine-elsewhere.md#a-downstream-database) while later ones have: it may still be shipped.""",
    ),
    errors.LostTransactionError: (
        "a transaction is lost",
        """The connector has an open transaction that the database no longer knows, and the redo that was read contains neither its
COMMIT nor its ROLLBACK. The message names its XID, user, begin and number of changes. Raised with
`minercdc.log.mining.unknown.transaction.mode: fail` only; `skip` drops the transaction, `warn` keeps waiting.""",
    ),
    errors.SnapshotTooOldError: (
        "the snapshot is too old",
        """*The table only.* It can no longer be read as of the snapshot's SCN: undo was overwritten (ORA-01555), or the table's definition
changed meanwhile (ORA-01466). The table is left to an incremental snapshot, see [snapshots](snapshots.md#when-a-table-cannot-be-read). Raise
UNDO_RETENTION, or snapshot fewer tables at a time (`snapshot.include.collection.list`), to prevent it.""",
    ),
    errors.DecodeError: (
        "a row cannot be decoded",
        """The base of the following codes; also raised itself for a kind of redo row that is not supported.
`event.processing.failure.handling.mode` decides: by default the row's *table is suspended*: its changes are left out from then on, all
other tables continue, and `resume-table` reads it again once the cause is repaired ([how](how-to/suspended-table.md)). `fail` stops with
status 1, `warn` leaves the row out with a warning, `skip` leaves it out silently. A row of an unknown table always stops the connector. The message holds SCN, RS_ID, SSN and XID, which identify the row in V$LOGMNR_CONTENTS.""",
    ),
    errors.RedoSyntaxError: (
        "SQL_REDO is not understood",
        """As MC-4001. LogMiner printed a statement that does not follow the known grammar. Please report it with the statement, its values altered.""",
    ),
    errors.ValueDecodeError: (
        "a value does not fit its column",
        """As MC-4001. A literal or a value from the driver does not fit the column's type: often the character set, or a date outside of the range that
`time.precision.mode` can express.""",
    ),
    errors.SchemaMismatchError: (
        "the table's structure does not fit the row",
        """As MC-4001. The row was written under a version of the table that is not known, usually because its DDL was not mined:
redo is missing, or the table was excluded at that time; or a column came without DDL, as by DBMS_REDEFINITION. A new snapshot of the table helps.""",
    ),
    errors.MissingKeyError: (
        "redo does not hold the key",
        """As MC-4001. A row with a key was changed or deleted, and its redo does not identify the row: the table has no supplemental logging,
or had none when the row was written. The message holds the `ALTER TABLE .. ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS`. Rows written before
it are not changed, so the suspended table is read again afterwards.""",
    ),
    errors.UnplacedRowError: (
        "the table of a row is no longer known",
        """As MC-4001. Redo names a row of a partition by the partition's object id. The ids of all partitions are known from the dictionary, at each start
and with each DDL of partitions, and the schema history keeps them. A partition that was made and dropped, split or merged before its redo was read was
never seen: LogMiner shows its rows as `OBJ# n`. They may be of any captured table that rows make partitions of (INTERVAL, AUTOMATIC, or by reference), or for which DDL made some that were
gone when it was followed, if it had DDL since, or is gone. So these are suspended, and `resume-table` reads them again. Keep the lag shorter than the lifetime of a partition.

Rows of a table that is not captured look the same once it is dropped with PURGE. The object ids of such tables are known from rows and DDL that the
connector has read since its start: a table that was dropped while it was down is not among them, and may suspend tables needlessly. DROP without PURGE leaves the rows
a name (`BIN$..`): they suspend only a captured table of the named kinds that is gone, too.""",
    ),
    errors.UnsupportedRowError: (
        "LogMiner does not support the row",
        """As MC-4001. LogMiner printed the row as `Unsupported` (operation code 255): it shows that a row was changed, but not how. That
happens for tables with a column of a type that LogMiner cannot show, such as BOOLEAN, JSON, VECTOR or an object type; rows of
such a table come from snapshots only, and it stays suspended. For JSON, `ALTER SYSTEM SET ENABLE_GOLDENGATE_REPLICATION = TRUE` makes later
rows visible ([types](types.md)); otherwise leave the table out (`table.exclude.list`), or set
`event.processing.failure.handling.mode=warn` to continue without its changes.""",
    ),
    errors.RecordSchemaError: (
        "the records of a table cannot have their schema",
        """As MC-4001, of all rows of the table: by default the table is suspended and all others go on. The message names table, topic and field:

* **a field would exist twice**: a step of [transforms](transforms.md#fields-that-would-exist-twice) adds or renames a field to a name that the table has, or two columns become the same name by
  `field.name.adjustment.mode=avro`;
* **a name is not valid in Avro or Protobuf**, such as `EMP$ID`: the hint names the property, or the step, that changes it;
* **the schema registry refuses the schema**: the message has the registry's compatibility level, and the earlier and the new form of each field; or a required schema does not exist
  (`auto.register.schemas=false`, `use.latest.version=true`);
* **Kafka refuses the topic's name, or a record** as it is: one without a key in a topic that is compacted, or one that the broker's own validation does not take (INVALID_RECORD); one whose time, which is this
  machine's, is too far from the broker's for `message.timestamp.before.max.ms` or `.after.max.ms` of the topic (INVALID_TIMESTAMP, INVALID_RECORD of several); or the topic is missing, and `topic.creation.enable=false`. The connector restarts
  once from its offset, since the Kafka transaction is lost, and leaves the table out. What all topics have in common (a right, a policy, compression, the size of records) ends it with MC-6001;
* **`message.key.columns`** names a column that the table no longer has, or `minercdc.topic.partition.columns` one that its key does not have.

Repair the cause, restart after a change of a property, then send `resume-table`. A schema that no table has (of schema changes, heartbeats, notifications, transaction metadata) stops the connector as
[MC-6001](#mc-6001-the-sink-refused).""",
    ),
    errors.SharedTopicError: (
        "the topic is another table's",
        """As MC-4501: two tables would have the same topic, as `EMP$1` and `EMP#1`, whose other characters become `_`; or topics that differ in `.` and `_` only, of which Kafka takes one; or it would be one of the connector's own. The first table is published, the other one is
suspended, where `event.processing.failure.handling.mode` is `suspend`; with any other mode the connector stops, because the first table could differ at each start. Exclude one of them
(`table.exclude.list`), or set a `topic.naming.strategy` that keeps them apart (`…SchemaUnicodeTopicNamingStrategy`).

`resume-table` is refused, with the two names, as long as the other table has the topic. It has it until it is dropped, renamed or suspended itself, or is left out from a start on. The table that is resumed
then takes the topic over: keys of the other table's rows that it does not have are deleted there.""",
    ),
    errors.SchemaHistoryError: (
        "the schema history",
        """*Exit status 1.* The schema history cannot be used. One of these is the cause:

* a record of the topic or file cannot be read;
* the first records were deleted by retention: the topic must be kept forever (`retention.ms=-1`);
* a file is missing, or shorter than the offset says;
* a table that the offset refers to is missing.

Restore it, or start once with `snapshot.mode=recovery`. The structures are then read from the database again and appended; earlier records are ignored,
and nothing needs to be deleted. Rows from before a DDL since the offset are decoded with the later shape. Or [reset the
connector](how-to/move-the-position.md#reset). A topic that was deleted as a whole looks like a new one: present shapes are taken, with one warning per table.""",
    ),
    errors.SinkError: (
        "the sink refused",
        """*Exit status 1.* Kafka refused a record or a request, and a retry would not help: a record larger than
`max.message.bytes`, no permission for a topic or for the transactional id, a wrong SASL password, an invalid setting. The message holds the
topic and Kafka's reason. Or the schema registry refuses us (user, token, URL), or a schema that no table has, or a name that all tables have by
`topic.prefix`. With `debezium.sink.type=segments` or `json`: a file cannot be written or read, is missing, damaged, or another
connector's. The message holds the file, where it is damaged, and [what to do](sinks.md#when-something-goes-wrong).""",
    ),
    errors.DeliveryError: (
        "the sink does not answer",
        """*Retried.* No broker could be reached within `minercdc.kafka.timeout.ms`, or a transaction was aborted. The connector continues from the
last offset once the broker is back. If it does not, check `minercdc.kafka.bootstrap.servers` and the listeners that the brokers advertise.
With another sink than Kafka: the disk of `minercdc.sink.path` is full. The connector continues once there is room.""",
    ),
    errors.FencedError: (
        "another instance took over",
        """*Exit status 4.* Another process of the same `name` has claimed the name, so this one stopped. Exactly one continues. Or a process
of this machine has the connector already (`runs here already`): then the second one does not begin. A supervisor
should not start this one again, except with `--standby`; a standby does not end but waits again ([high
availability](how-to/standby.md)). If both were meant to run, give each its own `name` and `topic.prefix`. With
files (`minercdc.sink.path`) the second one stops; the first one stops when its files are removed or replaced.""",
    ),
    errors.LocalServiceError: (
        "a local server or tool",
        """*Exit status 1.* Java, a jar, the broker, Spark or the sandbox that minercdc runs on this machine did not start: a port
in use (choose another by `--port`), no network to fetch jars, a full disk. The message names the log file to look into.""",
    ),
    errors.StateDirectoryError: (
        "the state directory",
        """*Exit status 1.* `minercdc.state.dir` cannot be written: full, read-only, or not a directory. It holds rows of large open transactions,
which are mined again after a restart, and signals given by HTTP or in process until they are acted on. Make room or name another directory, and start again.""",
    ),
    errors.LakeError: (
        "the lake",
        """*Exit status 1.* The stream into the Delta tables failed; the message holds Spark's reason. Start `minercdc lake` again once the cause is
gone: it continues from its checkpoint.""",
    ),
    errors.VerificationError: (
        "nothing to compare",
        """*Exit status 1.* `minercdc verify` found no offset of the connector, an initial snapshot that is not complete, a table that is not
captured, no captured table at all, or a record of another program in a topic of ours. The message says which, and where.""",
    ),
    errors.RelayError: (
        "the relay or its client cannot go on",
        """*Exit status 1* of `minercdc relay`: a file of the relay cannot be read, a transaction is larger than its buffer, or an upstream
relay refuses. In a client: the relay refused a request, or does not have a requested source. The message says which; the [relay's page](relay.md)
has the limits.""",
    ),
    errors.RelayDataError: (
        "damaged bytes of a relay",
        """A CRC of an event differs, or bytes are no event of version 1. A client, and a chained relay, read the window three times before
they stop with it. A mapped buffer that is damaged is emptied at the start, with a warning. When it comes again, look for what changes bytes
between relay and client.""",
    ),
    errors.FellOffError: (
        "the relay does not hold the client's place any more",
        """Windows that the client has not read were overwritten, or the relay was started without them. A client with a bootstrap reads a
snapshot and goes on; others stop. Give the client a bootstrap, or make `minercdc.relay.buffer.bytes` larger, so that the buffer holds
what is written while a client is away.""",
    ),
}

_CODES = """## Codes of Oracle and its driver

What each code that the connector can meet makes of the run. One that is not listed is MC-3001, unless python-oracledb says that
a new session may help (MC-3101).

| code | what happened | becomes |
|---|---|---|
"""


def errors_page() -> str:
    """The text of docs/errors.md: a paragraph per error code, then what each of Oracle's codes counts as."""
    sections = [f"## {error.code} {words}".rstrip() + f"\n\n{text}\n" for error, (words, text) in _PARAGRAPHS.items()]
    return wrapped("\n".join([_HEAD, *sections, _CODES])) + "".join(_rows("ORA", 5, ORA)) + "".join(_rows("DPY", 4, DPY))


def errors_document() -> dict[str, list[dict[str, str]]]:
    """What the page has: `codes` of ours with their paragraphs in Markdown, and the codes of Oracle and its driver with that of ours that each
    becomes."""
    ours = [
        {"code": error.code, "name": name, "text": " ".join(text.split())} for error, (name, text) in _PARAGRAPHS.items()
    ]
    oracle = [
        {"code": f"{prefix}-{number:0{digits}}", "meaning": known.meaning, "becomes": known.kind.code}
        for prefix, digits, codes in (("ORA", 5, ORA), ("DPY", 4, DPY))
        for number, known in sorted(codes.items())
    ]
    return {"codes": ours, "oracle": oracle}


def _rows(prefix: str, digits: int, codes: Mapping[int, Known]) -> Iterator[str]:
    for number, known in sorted(codes.items()):
        anchor = f"{known.kind.code} {_PARAGRAPHS[known.kind][0]}".lower().replace(" ", "-").replace(",", "")
        yield f"| {prefix}-{number:0{digits}} | {known.meaning} | [{known.kind.code}](#{anchor}) |\n"
