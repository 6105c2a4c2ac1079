"""The error tree: the type of an error determines how it is handled.

    MinerCdcError                     carries a code "MC-nnnn" and a hint; docs/errors.md has a paragraph per code
    |- ConfigError            1xxx    exit 2; lists all problems that were found
    |- PrerequisiteError      2xxx    exit 3; lists what the database lacks, with the SQL that fixes it where SQL does
    |- SourceError            3xxx    stop
    |  |- UnknownSourceError          not classified: retry a few times with back-off, then stop
    |  |- TransientSourceError        reconnect and go on from the last offset, with back-off
    |  |- MiningSessionError          open a new LogMiner session, with back-off; after a few times as TransientSourceError
    |  |- LogGapError                 stop: redo is missing; bring it back, or take a new snapshot
    |  |- LostTransactionError        stop (minercdc.log.mining.unknown.transaction.mode=fail)
    |  `- SnapshotTooOldError         try again, then leave the table to an incremental snapshot
    |- DecodeError            4xxx    event.processing.failure.handling.mode; carries where in the redo it was
    |  |- RedoSyntaxError
    |  |- ValueDecodeError
    |  |- SchemaMismatchError
    |  |  `- MissingKeyError          redo lacks the key: supplemental logging is missing
    |  |- UnsupportedRowError
    |  `- RecordSchemaError           a table whose records cannot have the schema they would need
    |     `- SharedTopicError         its topic is another one's: the mode `suspend` suspends the table, each other one stops
    |- SchemaHistoryError     5xxx    stop
    |- SinkError              6xxx    stop
    |  |- DeliveryError               restart from the last offset
    |  `- FencedError                 stop: another instance of the same name took over
    |- RelayError             91xx    the relay, or its client, ended
    |  |- RelayDataError              damaged bytes: the client reads them once more, then stops
    |  `- FellOffError                stop, or read a snapshot (bootstrap)
    |- LakeError              8xxx    the lake cannot be written or read; run the command again once the cause is gone
    |- VerificationError      90xx    source and target cannot be compared
    `- LocalServiceError      7xxx    Java, jars, broker or Spark did not start; an HTTP port cannot be used, or gives no answer
       `- StateDirectoryError         stop: minercdc.state.dir is full, not writable or no directory

Exceptions of the driver and of Kafka are classified once, where they are raised.
"""

from __future__ import annotations

from collections.abc import Sequence


class MinerCdcError(Exception):
    """Any error that minercdc reports to its user.

    :param message: what happened and where.
    :param hint: what the user should do; '' when the message says it all.
    """

    code = "MC-0000"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.code}: {self.message}"
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class ConfigError(MinerCdcError):
    """The configuration, or what a command is given beside it, cannot be used; or a command may not be run now.

    :param problems: every problem found, one line each.
    :param where: the file, or another place that holds the configuration; '' when that is clear.
    """

    code = "MC-1001"

    def __init__(self, problems: Sequence[str], *, where: str = "", hint: str = "") -> None:
        self.problems = tuple(problems)
        head = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}" + (f" in {where}" if where else "")
        super().__init__("\n  - ".join([head, *self.problems]), hint=hint)


class PrerequisiteError(MinerCdcError):
    """The database is not prepared for what is configured, cannot do it there, or refuses for want of a grant; the message or
    hint says what to do, with SQL where SQL does it."""

    code = "MC-2001"


class SourceError(MinerCdcError):
    """Oracle, or a server that reads its redo, refused or failed, or does not have what is wanted; repeating would not help,
    unless a subclass says otherwise.

    :param ora_code: the ORA- or DPY- number, 0 when there is none.
    """

    code = "MC-3001"

    def __init__(self, message: str, *, hint: str = "", ora_code: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.ora_code = ora_code


class UnknownSourceError(SourceError):
    """Oracle reported a code that is not classified, or a server sent what cannot be read: it is retried a few times."""

    code = "MC-3002"


class TransientSourceError(SourceError):
    """The source is not there at present, such as a connection, instance or PDB: reconnect and go on from the last offset."""

    code = "MC-3101"


class MiningSessionError(SourceError):
    """The LogMiner session cannot be used any more, or gave rows that cannot be: a new one lists the logs again."""

    code = "MC-3201"


class LogGapError(SourceError):
    """Redo that is needed is not there: deleted, not shipped yet, or of another incarnation; going on would lose rows."""

    code = "MC-3301"


class LostTransactionError(SourceError):
    """The database does not know an open transaction any more, and the redo that was read does not hold its end."""

    code = "MC-3302"


class SnapshotTooOldError(SourceError):
    """The past cannot be read any more: undo is gone (ORA-01555, ORA-22924, ORA-30052), the SCN lies too far back (ORA-08181), or
    the table changed its shape (ORA-01466) or its name after it."""

    code = "MC-3401"


class DecodeError(MinerCdcError):
    """A row cannot be decoded, or its record cannot be encoded.

    :param where: SCN, RS_ID, SSN, XID and table of the row, as far as they are known, as text; '' when none is.
    """

    code = "MC-4001"

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(f"{message} ({where})" if where else message, hint=hint)
        self.where = where


class RedoSyntaxError(DecodeError):
    """SQL_REDO text that is not in the grammar LogMiner prints."""

    code = "MC-4101"


class ValueDecodeError(DecodeError):
    """A value that does not fit its column's type, or that a mask, a transformation or the relay cannot take."""

    code = "MC-4201"


class SchemaMismatchError(DecodeError):
    """A row does not fit the known version of its table, or there is none; or its record key cannot be made or read."""

    code = "MC-4301"


class MissingKeyError(SchemaMismatchError):
    """Redo does not hold the key of a changed row: the table has no supplemental logging, or had none when the row was
    written."""

    code = "MC-4302"


class UnplacedRowError(SchemaMismatchError):
    """A row of an object that the dictionary does not have any more, nor the schema history: it may be of a partition that came and
    went before its redo was read."""

    code = "MC-4303"


class UnsupportedRowError(DecodeError):
    """LogMiner shows that a row was changed, but not how: its table has a type that LogMiner does not support. Or the columns that
    an incremental snapshot is to read a table in order of cannot be used for that."""

    code = "MC-4401"


class RecordSchemaError(DecodeError):
    """A table cannot be published as it is now: its table or key lacks a column that the configuration names, two fields of its
    records have one name, the format cannot hold its schema, or the schema registry refuses or lacks it. It concerns all rows of
    that table version."""

    code = "MC-4501"


class SharedTopicError(RecordSchemaError):
    """The topic of a table is another table's already, or one of the connector's own."""

    code = "MC-4502"


class SchemaHistoryError(MinerCdcError):
    """The schema history cannot be read or written, or misses what the offset refers to; or the stored offset cannot be read."""

    code = "MC-5001"


class SinkError(MinerCdcError):
    """Kafka, the schema registry or the sink's files refused a record or request, or cannot be read, and repeating would not
    help, unless a subclass says otherwise."""

    code = "MC-6001"


class DeliveryError(SinkError):
    """Kafka or the schema registry does not answer, a record or transaction did not get through, or the sink's disk is full:
    restart from the last offset."""

    code = "MC-6101"


class FencedError(SinkError):
    """Another instance with the same connector name, or in the same files, has taken over; or these files were replaced."""

    code = "MC-6201"


class LocalServiceError(MinerCdcError):
    """A server or tool that minercdc starts on this machine did not come up; or an HTTP port of minercdc cannot be used: it is
    taken, does not answer, or refuses the request; or a signal got no answer in time."""

    code = "MC-7001"


class StateDirectoryError(LocalServiceError):
    """`minercdc.state.dir` cannot be used: full, not readable or writable, not a directory. Restart once it can; the stream loses
    nothing."""

    code = "MC-7101"


class RelayError(MinerCdcError):
    """The relay, or a client of it, cannot go on, or was given what it cannot use."""

    code = "MC-9101"


class RelayDataError(RelayError):
    """What a relay holds or sent is damaged, or not of the form that it should have."""

    code = "MC-9102"


class FellOffError(RelayError):
    """The relay's buffer does not hold the client's place any more: what lies between was overwritten."""

    code = "MC-9103"


class LakeError(MinerCdcError):
    """The stream into the lake failed, or cannot read these records: it goes on from its checkpoint when it is run again. Or the
    lake does not have what a command or reader needs."""

    code = "MC-8001"


class VerificationError(MinerCdcError):
    """Source and target cannot be compared: there is nothing to compare yet, no table, or not this table or database, is captured,
    or a record is not ours."""

    code = "MC-9001"
