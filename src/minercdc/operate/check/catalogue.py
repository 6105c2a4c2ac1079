"""The catalogue of all rules, in the order of docs/checks.md, with the purpose of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of `minercdc check`, in the texts that people read.

    :param name: as in `Finding.rule`.
    :param holds: the rule, in a sentence.
    :param purpose: why it is needed, or what goes wrong without it.
    :param repair: the statement or property that repairs it, with `table`, `user` and the like for what a finding names.
    :param views: what it is examined by, beside what capture reads in any case; without SELECT on them it is not examined.
    """

    name: str
    holds: str
    purpose: str
    repair: str
    views: tuple[str, ...] = ()


RULES: Final = (
    # Privileges
    Rule(
        "grant-logminer",
        "The user may run LogMiner: `LOGMINING` and `EXECUTE` on `DBMS_LOGMNR`.",
        "Without them nothing can be mined, so the start is refused.",
        "GRANT LOGMINING TO user; GRANT EXECUTE ON SYS.DBMS_LOGMNR TO user",
    ),
    Rule(
        "grant-views",
        "The user may read each V$ view that capture reads, by itself or by `SELECT_CATALOG_ROLE`.",
        "They list the logs and prove that none is missing; without them the start is refused.",
        "GRANT SELECT ON SYS.V_$view TO user",
    ),
    Rule(
        "grant-more-views",
        "The user may read the views of figures: memory, sessions, undo, extents.",
        "Capture works without them, but the corresponding figure is missing.",
        "GRANT SELECT ON SYS.V_$view TO user",
    ),
    Rule(
        "grant-instances",
        "With several instances, the user may read `GV$TRANSACTION`.",
        "`V$TRANSACTION` shows the transactions of one instance: a snapshot would miss transactions that are open on other instances.",
        "GRANT SELECT ON SYS.GV_$TRANSACTION TO user",
        ("GV$TRANSACTION",),
    ),
    Rule(
        "grant-dictionary",
        "With `log.mining.strategy=redo_log_catalog`, the user may execute `DBMS_LOGMNR_D`.",
        "The dictionary in the redo cannot be written without it.",
        "GRANT EXECUTE ON SYS.DBMS_LOGMNR_D TO user",
    ),
    Rule(
        "grant-tables",
        "The user may read each captured table.",
        "If a snapshot cannot read a table, the table is suspended.",
        "GRANT SELECT ON table TO user",
    ),
    Rule(
        "grant-flashback",
        "The user may read each captured table as of an SCN.",
        "Snapshots read all tables as of one SCN, so that no change is missed or doubled between them and the stream.",
        "GRANT FLASHBACK ON table TO user",
    ),
    Rule(
        "grant-lock",
        "With `snapshot.locking.mode=shared`, the user may lock each captured table.",
        "The initial snapshot locks out DDL while it reads the structures.",
        "GRANT LOCK ANY TABLE TO user",
    ),
    Rule(
        "grant-dbms-flashback",
        "Where SELECTs of the user's own are read in a snapshot, the user may execute `DBMS_FLASHBACK`.",
        "Such a SELECT is read in a session that is set to the SCN.",
        "GRANT EXECUTE ON SYS.DBMS_FLASHBACK TO user",
    ),
    Rule(
        "grant-flush-table",
        "With `minercdc.log.mining.flush.table`, the user may create that table, or has it.",
        "Its row is changed before each pass, so that the log writer writes.",
        "GRANT CREATE TABLE TO user; ALTER USER user QUOTA 1M ON tablespace",
    ),
    Rule(
        "present-scn",
        "With `flashback`, the user may read an exact SCN.",
        "Otherwise changes arrive up to three seconds later.",
        "GRANT EXECUTE ON DBMS_FLASHBACK TO user",
    ),
    # Redo
    Rule(
        "archivelog",
        "The database is in ARCHIVELOG mode.",
        "Otherwise redo is overwritten before it is read, so the start is refused.",
        "SHUTDOWN IMMEDIATE; STARTUP MOUNT; ALTER DATABASE ARCHIVELOG; ALTER DATABASE OPEN",
    ),
    Rule(
        "minimal-logging",
        "Minimal supplemental logging is on.",
        "Otherwise LogMiner cannot assemble the pieces of a row, so the start is refused.",
        "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA",
    ),
    Rule(
        "table-logging",
        "All columns of each captured table are logged.",
        "Without the key in the redo a table is suspended at its first UPDATE; without all columns, before images are partial.",
        "ALTER TABLE table ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    ),
    Rule(
        "policies",
        "No policy shows the user a part of a captured table, or other values (DBMS_RLS, DBMS_REDACT).",
        "Snapshots have what the policy shows, the stream has what is stored.",
        "GRANT EXEMPT ACCESS POLICY TO user; GRANT EXEMPT REDACTION POLICY TO user",
    ),
    Rule(
        "force-logging",
        "The database forces logging.",
        "Rows of a direct-path load with NOLOGGING are not in the redo, so they are never captured.",
        "ALTER DATABASE FORCE LOGGING",
    ),
    Rule(
        "nologging-tables",
        "Where the database does not force logging, no captured table is NOLOGGING.",
        "Direct-path loads into such a table are not in the redo.",
        "ALTER TABLE table LOGGING",
    ),
    Rule(
        "database-role",
        "`database.*` is a primary database.",
        "The primary has the dictionary, and options may write to it; use `secondary.*` to mine a physical standby. Otherwise the start is refused.",
        "database.hostname=host of the primary database",
    ),
    Rule(
        "standby-role",
        "With `capture.mode=physical_standby`, `secondary.*` is a physical standby of `database.*`, open read only.",
        "LogMiner runs there. Otherwise the start is refused, and the stream ends when the roles are exchanged.",
        "ALTER DATABASE OPEN READ ONLY",
    ),
    Rule(
        "standby-tables",
        "No captured table is partitioned, index-organized or clustered.",
        "Their rows have separate object ids, which LogMiner cannot resolve on a standby without a dictionary, so the start is refused.",
        "table.exclude.list=SCHEMA.TABLE",
    ),
    Rule(
        "standby-apply",
        "The standby applies redo.",
        "Redo that is not applied is not captured.",
        "ALTER DATABASE RECOVER MANAGED STANDBY DATABASE DISCONNECT FROM SESSION",
    ),
    Rule(
        "standby-transport",
        "All logs that the primary has archived, except the newest, have reached the standby.",
        "The standby applies nothing after the first missing log.",
        "ALTER SYSTEM SET LOG_ARCHIVE_DEST_STATE_n = ENABLE",
    ),
    Rule(
        "standby-lag",
        "The standby's applied SCN is at most an hour old.",
        "Changes arrive when their log is archived, shipped and applied.",
        "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 900",
    ),
    Rule(
        "downstream-role",
        "With `capture.mode=downstream`, `secondary.*` is a database with a different DBID, open read write.",
        "LogMiner runs there, and it can load a dictionary from redo only in a writable database. Otherwise the start is refused.",
        "secondary.hostname=host of the downstream database",
    ),
    Rule(
        "downstream-grants",
        "The user also exists in the downstream database, and may run LogMiner and read the received logs.",
        "Without them nothing can be mined, so the start is refused.",
        "GRANT LOGMINING TO user; GRANT EXECUTE ON SYS.DBMS_LOGMNR TO user; GRANT SELECT ON SYS.V_$FOREIGN_ARCHIVED_LOG TO user",
    ),
    Rule(
        "downstream-kind",
        "The downstream database has the source's platform and character set, and its release or a later one.",
        "LogMiner cannot read redo of another platform or of a later release, and misreads text in another character set.",
        "secondary.hostname=host of such a database",
        ("V$INSTANCE",),
    ),
    Rule(
        "downstream-transport",
        "All logs that the source has archived since shipping began, except the newest, have reached the downstream database.",
        "Nothing after the first missing log is captured.",
        "ALTER SYSTEM SET LOG_ARCHIVE_DEST_STATE_n = ENABLE",
    ),
    Rule(
        "archive-destination",
        "A valid local archive destination exists (one of `archive.destination.name` if that is set), and none has failed.",
        "Logs are mined from there once the online logs are overwritten; a failed destination finally stops the database.",
        "ALTER SYSTEM SET LOG_ARCHIVE_DEST_1 = 'LOCATION=directory'",
    ),
    Rule(
        "archive-retention",
        "Archived logs are kept for a day at least.",
        "A restart continues mining where it ended: if that redo was deleted meanwhile, only a snapshot helps.",
        "RMAN: CONFIGURE ARCHIVELOG DELETION POLICY; Amazon RDS: rdsadmin_util.set_configuration('archivelog retention hours', 24)",
    ),
    Rule(
        "recovery-area",
        "The recovery area has room: at least 15 % is free or can be reclaimed.",
        "When it is full, Oracle first deletes archived logs and then stops (ORA-00257).",
        "ALTER SYSTEM SET DB_RECOVERY_FILE_DEST_SIZE = size",
        ("V$RECOVERY_FILE_DEST",),
    ),
    Rule(
        "archive-lag",
        "With archived logs only, or several redo threads, logs are switched by time.",
        "Changes arrive when their log is archived: on a quiet instance that may take days, and it delays the other threads.",
        "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 900",
        ("V$PARAMETER",),
    ),
    Rule(
        "log-switches",
        "No thread switches logs more than twelve times an hour.",
        "Small logs are overwritten while they are mined, and each switch makes the connector list the logs again.",
        "ALTER DATABASE ADD LOGFILE THREAD n SIZE size",
    ),
    Rule(
        "log-groups",
        "Each thread has three groups of online logs at least.",
        "With fewer, a log is overwritten soon after it is full, while it is mined (ORA-00310), and the database waits for its archiver.",
        "ALTER DATABASE ADD LOGFILE THREAD n SIZE size",
    ),
    Rule(
        "old-transactions",
        "The oldest open transaction began after the oldest archived log.",
        "Otherwise the redo of its first changes is deleted, and the transaction can no longer be read in full.",
        "ALTER SYSTEM KILL SESSION 'sid,serial#'",
        ("V$SESSION",),
    ),
    # Undo, memory, sessions
    Rule(
        "undo-retention",
        "Undo is kept at least as long as reading the largest table takes.",
        "A snapshot reads each table as of one SCN: without undo of that time the read ends with ORA-01555, and the table is read again.",
        "ALTER SYSTEM SET UNDO_RETENTION = seconds",
        ("V$UNDOSTAT",),
    ),
    Rule(
        "undo-errors",
        "Within a day, no query failed with ORA-01555, and no transaction failed for lack of undo space.",
        "Otherwise the undo tablespace is too small for its retention, and snapshots fail in the same way.",
        "ALTER DATABASE DATAFILE 'file' AUTOEXTEND ON; ALTER TABLESPACE tablespace RETENTION GUARANTEE",
        ("V$UNDOSTAT",),
    ),
    Rule(
        "pga-limit",
        "PGA_AGGREGATE_LIMIT is at least twice `minercdc.log.mining.session.max.pga.bytes`.",
        "The LogMiner session grows to that size; at the limit Oracle terminates sessions (ORA-04036).",
        "ALTER SYSTEM SET PGA_AGGREGATE_LIMIT = size",
        ("V$PARAMETER",),
    ),
    Rule(
        "character-set",
        "minercdc supports the database's character set.",
        "LogMiner shows rows from before an ALTER TABLE as stored bytes. Their text cannot be read in an unknown character set, so their table is suspended.",
        "log.mining.strategy=redo_log_catalog",
    ),
    Rule(
        "pdb-open",
        "The pluggable database is open for reading and writing.",
        "Otherwise its tables cannot be read.",
        "ALTER PLUGGABLE DATABASE name OPEN",
        ("V$PDBS",),
    ),
    # Tables
    Rule(
        "captured-tables",
        "The include and exclude lists select at least one table.",
        "Nothing is captured without a table; a first start is refused.",
        "table.include.list=SCHEMA.TABLE",
    ),
    Rule(
        "include-list",
        "Each pattern of `schema.include.list` and `table.include.list` matches a table that the user can see.",
        "Usually the cause is a typing error or a missing grant.",
        "GRANT SELECT, FLASHBACK ON table TO user",
    ),
    Rule(
        "exclude-list",
        "Each pattern of `schema.exclude.list` and `table.exclude.list` matches something that the user can see.",
        "Usually the cause is a typing error: what the pattern should exclude is captured.",
        "Correct the pattern that the finding names",
    ),
    Rule(
        "patterns",
        "Each pattern of columns and tables (masks, `message.key.columns`, `column.exclude.list` and similar properties) and each table of `snapshot.select.statement.overrides` matches something, and the envelope has the members that `add.fields` names.",
        "It has no effect: a column that it should hide is published. A snapshot with a SELECT for no captured table is refused, since rows that it should leave out would be published.",
        "Correct the property that the finding names",
    ),
    Rule(
        "keys",
        "Each captured table has a primary key, or a unique key of NOT NULL columns.",
        "Without a key, topics cannot be compacted, and readers cannot relate the changes of a row.",
        "ALTER TABLE table ADD PRIMARY KEY (columns)",
    ),
    Rule(
        "long-names",
        "Names of captured tables and of their columns have at most 30 bytes.",
        "LogMiner shows no SQL for longer names.",
        "ALTER TABLE table RENAME TO name",
    ),
    Rule(
        "mined-types",
        "No captured table has columns of types for which the adapter shows no changes.",
        "Changes of such a table cannot be captured, and it is suspended at the first one.",
        "table.exclude.list=SCHEMA.TABLE",
    ),
    Rule(
        "column-types",
        "All columns have types that records can hold.",
        "Columns of other types are left out of every record.",
        "table.exclude.list=SCHEMA.TABLE",
    ),
    Rule(
        "signal-table",
        "The signal table has the columns ID, TYPE and DATA, in this order and all of them logged, and the user has the privileges for marks.",
        "Otherwise signals are not read, or marks of incremental snapshots cannot be written.",
        "CREATE TABLE table (ID VARCHAR2(42) PRIMARY KEY, TYPE VARCHAR2(32) NOT NULL, DATA VARCHAR2(2048))",
    ),
    Rule(
        "txlog",
        "With `txlog`, its objects exist, and all captured tables belong to one schema and have keys.",
        "The adapter reads changes from a log that triggers write.",
        "minercdc txlog install CONFIG",
    ),
    # Kafka, registry, disk
    Rule(
        "broker",
        "Kafka answers.",
        "Nothing can be delivered without Kafka.",
        "minercdc.kafka.bootstrap.servers=host:port",
    ),
    Rule(
        "offset-topic",
        "The topic of offsets is compacted, and deletes nothing by age or size.",
        "Otherwise the position would be deleted and the connector would start over, so the start is refused.",
        "kafka-configs.sh --alter --entity-type topics --entity-name topic --add-config cleanup.policy=compact",
    ),
    Rule(
        "stored-offset",
        "The stored offset can be read, is of an adapter of the same family (or `minercdc.handover.scn` is set), belongs to this database and includes the pluggable databases of `database.pdb.name`, and the redo from its position, or from that SCN, on exists.",
        "With another database, or without that redo, changes would be missing. Rows of an added pluggable database would be missing, too, and topic names change between one and several pluggable databases. Otherwise the start is refused.",
        "database.pdb.name=the former list, or minercdc offsets reset CONFIG",
    ),
    Rule(
        "captured-later",
        "All captured tables were captured when the snapshot was taken, or were created later, and none was excluded meanwhile.",
        "For a table that was added later, existing rows are not published, only their changes; of one that was excluded for a time, its changes of that time are missing.",
        "minercdc signal CONFIG execute-snapshot --collection DATABASE.SCHEMA.TABLE",
    ),
    Rule(
        "open-transactions-topic",
        "The topic of `minercdc.log.mining.buffer.durable=topic` exists or is created, is compacted, deletes nothing by age or size, and accepts records of 300,000 bytes.",
        "Otherwise rows of open transactions could not be copied, or would be deleted and missing at a start on another machine, so the start is refused.",
        "kafka-configs.sh --alter --entity-type topics --entity-name topic --add-config cleanup.policy=compact",
    ),
    Rule(
        "history-topic",
        "The topic of the schema history is not compacted, and deletes nothing.",
        "Rows cannot be decoded without the whole history.",
        "kafka-configs.sh --alter --entity-type topics --entity-name topic --add-config retention.ms=-1",
    ),
    Rule(
        "replicas",
        "The connector's own topics have at least `min.insync.replicas` replicas, and with three replicas `min.insync.replicas` is two.",
        "Otherwise brokers before Kafka 3.7 accept no records, or the position is lost with one broker.",
        "kafka-configs.sh --alter --entity-type topics --entity-name topic --add-config min.insync.replicas=2",
    ),
    Rule(
        "table-topics",
        "Each captured table has its own topic, which is not one of the connector's; with `topic.creation.enable=false` the topic exists.",
        "Otherwise the connector stops at the table's first record, unless the broker creates missing topics.",
        "kafka-topics.sh --create --topic topic",
    ),
    Rule(
        "compacted-topics",
        "The topic of a table without a key is not compacted.",
        "Kafka refuses records without a key in compacted topics, and the table is suspended.",
        "kafka-configs.sh --alter --entity-type topics --entity-name topic --add-config cleanup.policy=delete",
    ),
    Rule(
        "registry",
        "The schema registry of the converters answers.",
        "Avro and Protobuf cannot be written without it.",
        "value.converter.schema.registry.url=http://host:port",
    ),
    Rule(
        "state-directory",
        "`minercdc.state.dir` can be written, and has enough space for the rows of open transactions.",
        "Rows of large and long transactions are stored there; a full disk stops the connector.",
        "minercdc.state.dir=directory",
    ),
)
BY_NAME: Final = {rule.name: rule for rule in RULES}
