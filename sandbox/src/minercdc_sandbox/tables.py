"""Tables in the dictionary: columns, constraints, indexes, log groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.partitioning import Partitioning, TablePartition
from minercdc_sandbox.records import StoredColumn, TableVersion

ALL_LOGGING = "ALL COLUMN LOGGING"
KEY_LOGGING = "PRIMARY KEY LOGGING"
UNIQUE_LOGGING = "UNIQUE KEY LOGGING"
FOREIGN_LOGGING = "FOREIGN KEY LOGGING"
USER_GROUP = "USER LOG GROUP"


class LengthSemantics(StrEnum):
    """Whether the length of a character type counts bytes or characters; the values are those of ALL_TAB_COLUMNS.CHAR_USED."""

    BYTE = "B"
    CHAR = "C"


@dataclass(slots=True)
class Column:
    """A column of a table, view or result.

    :param precision: NUMBER: decimal digits, 0 when left out (`*`); FLOAT: binary digits; INTERVAL: leading digits; VECTOR:
        dimensions, 0 for any number.
    :param scale: NUMBER: -127 unconstrained; TIMESTAMP and INTERVAL: fractional digits.
    :param size: bytes; for character columns the limit in bytes, with `char_length` the limit in characters.
    :param semantics: of character types.
    :param nullable: False with a NOT NULL constraint or a primary key.
    :param default: text of the default expression; None without one.
    :param float_: declared as FLOAT, REAL or DOUBLE PRECISION: `type` is NUMBER.
    :param slot: physical column of the segment; survives renames and dropped neighbours.
    :param national: NCHAR, NVARCHAR2 or NCLOB: lengths count UTF-16 units.
    :param storage: of LOB columns SECUREFILE or BASICFILE, of XMLTYPE columns `BINARY XML` or `CLOB XML`, of VECTOR columns the
        format; '' of others.
    :param in_row: False of LOB columns with DISABLE STORAGE IN ROW.
    :param virtual: expression of a virtual column, which has no place in the segment; None of others.
    :param on_null: DEFAULT ON NULL: an explicit NULL takes the default too.
    :param identity: of identity columns ALWAYS or BY DEFAULT, else None; the default draws from its sequence.
    :param system: made by Oracle, as ORA_ARCHIVE_STATE of ROW ARCHIVAL, and SYS_NCn$ of columns that are added with a default.
    :param unused: SET UNUSED was said of it: nothing is known of it but its place in the stored rows.
    :param shown_after: rank in the order of `*`: raised when the column is made VISIBLE again, which moves it to the end.
    """

    name: str
    type: OraType
    precision: int = 0
    scale: int = 0
    size: int = 0
    char_length: int = 0
    semantics: LengthSemantics = LengthSemantics.BYTE
    nullable: bool = True
    default: str | None = None
    float_: bool = False
    slot: int = 0
    comment: str | None = None
    national: bool = False
    storage: str = ""
    in_row: bool = True
    virtual: str | None = None
    invisible: bool = False
    on_null: bool = False
    identity: str | None = None
    system: bool = False
    unused: bool = False
    shown_after: int = 0

    @property
    def data_type(self) -> str:
        """DATA_TYPE of ALL_TAB_COLUMNS: `NUMBER`, `FLOAT`, `VARCHAR2`, `TIMESTAMP(6)`, .. without the length or precision of
        NUMBER, RAW and character types."""
        if self.type is OraType.NUMBER:
            return "FLOAT" if self.float_ else "NUMBER"
        if self.type in (OraType.TIMESTAMP, OraType.TIMESTAMP_TZ, OraType.TIMESTAMP_LTZ):
            tail = {OraType.TIMESTAMP_TZ: " WITH TIME ZONE", OraType.TIMESTAMP_LTZ: " WITH LOCAL TIME ZONE"}
            return f"TIMESTAMP({self.scale})" + tail.get(self.type, "")
        if self.type is OraType.INTERVAL_YM:
            return f"INTERVAL YEAR({self.precision}) TO MONTH"
        if self.type is OraType.INTERVAL_DS:
            return f"INTERVAL DAY({self.precision}) TO SECOND({self.scale})"
        if self.type is OraType.LONG_RAW:
            return "LONG RAW"
        return "N" + self.type.name if self.national else self.type.name

    @property
    def declared(self) -> str:
        """The type as SQL text with its length or precision, e.g. `NUMBER(10,2)`, `VARCHAR2(20 CHAR)`."""
        if self.type is OraType.NUMBER:
            if self.float_:
                return f"FLOAT({self.precision})"
            if self.scale == -127:
                return "NUMBER"
            digits = str(self.precision) if self.precision else "*"
            return f"NUMBER({digits})" if self.scale == 0 and self.precision else f"NUMBER({digits},{self.scale})"
        if self.national and self.type is not OraType.CLOB:
            return f"{self.data_type}({self.char_length})"
        if self.type is OraType.VECTOR:
            return f"VECTOR({self.precision or '*'},{self.storage})"
        if self.type is OraType.UROWID:
            return f"UROWID({self.size})"
        if self.type in (OraType.VARCHAR2, OraType.CHAR):
            return (
                f"{self.type.name}({self.char_length} CHAR)"
                if self.semantics == LengthSemantics.CHAR
                else f"{self.type.name}({self.size})"
            )
        return f"RAW({self.size})" if self.type is OraType.RAW else self.data_type

    def stored(self) -> StoredColumn:
        """The column for LogMiner's dictionary."""
        return StoredColumn(
            self.name,
            self.type,
            self.declared,
            self.precision,
            self.scale,
            self.size,
            self.national,
            self.storage,
            self.in_row,
        )


class ConstraintKind(StrEnum):
    """Kinds of constraint; the values are ALL_CONSTRAINTS.CONSTRAINT_TYPE. NOT NULL is a CHECK, too."""

    PRIMARY = "P"
    UNIQUE = "U"
    FOREIGN = "R"
    CHECK = "C"


KEYS = (ConstraintKind.PRIMARY, ConstraintKind.UNIQUE)


@dataclass(slots=True)
class Constraint:
    """A constraint of a table.

    :param columns: names, of a key and a foreign key in their order.
    :param index: name of the index that enforces a key; None of other constraints and of a disabled key.
    :param generated: its name was not given, Oracle made it.
    :param condition: text of a CHECK, NOT NULL included; None of others.
    :param reference: of foreign keys owner and table, and the columns there; None of others.
    :param delete_rule: of foreign keys NO ACTION, CASCADE or SET NULL.
    :param deferrable, deferred: DEFERRABLE, and INITIALLY DEFERRED.
    :param changed: when it was made, enabled or disabled, in host seconds (Reference, ALL_CONSTRAINTS, LAST_CHANGE).
    """

    name: str
    kind: ConstraintKind
    columns: tuple[str, ...]
    index: str | None = None
    generated: bool = False
    condition: str | None = None
    reference: tuple[str, str, tuple[str, ...]] | None = None
    delete_rule: str = "NO ACTION"
    enabled: bool = True
    validated: bool = True
    deferrable: bool = False
    deferred: bool = False
    rely: bool = False
    changed: float = 0.0


@dataclass(slots=True)
class Index:
    """An index of stored columns, by name in their order, also one that enforces a key; `created` is in host seconds. `implied`: it was made
    with a key, and goes with it, whatever they are called by then."""

    owner: str
    name: str
    columns: tuple[str, ...]
    unique: bool
    object_id: int
    created: float
    implied: bool = False


@dataclass(slots=True)
class SupplementalLogGroup:
    """Supplemental logging of a table, a row of ALL_LOG_GROUPS.

    :param kind: LOG_GROUP_TYPE, one of the constants of this module; only a USER LOG GROUP has `columns`.
    :param always: ALWAYS: logged with every UPDATE, not only with one of its columns.
    :param generated: its name was not given.
    :param unlogged: those of `columns` that are NO LOG: a change of one has the others logged, and it is not logged itself.
    """

    name: str
    kind: str
    always: bool = True
    columns: tuple[str, ...] = ()
    generated: bool = True
    unlogged: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Table:
    """A table, or a view in the form of one, as the dictionary has it; its rows lie in `storage.store`. Changed under the storage
    lock only.

    :param columns: the stored ones in the order of their definition; positions everywhere are places in it.
    :param created, last_ddl: host seconds.
    :param version: DATA_OBJV#, increased by each change of the stored columns' definition.
    :param ddl_scn: SCN of the newest definition; AS OF below it is ORA-01466.
    :param constraints: keys, foreign keys and NOT NULLs, which are of kind C; `checks` the other CHECKs.
    :param row_dependencies: ROWDEPENDENCIES: ORA_ROWSCN is of each row, not of its block.
    :param next_rid: number of the next row inserted; ROWIDs are made of it. Of a partitioned table each partition has its own.
    :param last_rid: number of the row inserted last; -1 before the first.
    :param row_movement: rows may change their partition (else ORA-14402).
    :param next_slot: physical column the next ADD COLUMN gets.
    :param virtual: virtual columns, each with its place among all columns.
    :param analyzed: host seconds when DBMS_STATS last counted its rows, and how many there were; None before.
    :param history_of: the data object id whose old versions lie apart, which TRUNCATE leaves as it was; 0 before any move.
    :param index_organized: made with ORGANIZATION INDEX, which is a heap here: its primary key stays.
    :param temporary: of a global temporary table TRANSACTION or SESSION: how long its rows live; None of any other.
    :param dropped_as: its BIN$ name in the recycle bin; None elsewhere.
    """

    container: int
    owner: str
    name: str
    object_id: int
    data_object_id: int
    columns: list[Column]
    created: float
    last_ddl: float
    ddl_scn: int
    version: int = 1
    constraints: list[Constraint] = field(default_factory=list)
    checks: list[Constraint] = field(default_factory=list)
    indexes: list[Index] = field(default_factory=list)
    log_groups: list[SupplementalLogGroup] = field(default_factory=list)
    comment: str | None = None
    next_rid: int = 0
    last_rid: int = -1
    next_slot: int = 0
    tablespace: str = "USERS"
    row_dependencies: bool = False
    dropped_as: str | None = None
    is_view: bool = False
    virtual: list[tuple[int, Column]] = field(default_factory=list)
    temporary: str | None = None
    partitioning: Partitioning | None = None
    row_movement: bool = False
    read_only: bool = False
    analyzed: tuple[float, int] | None = None
    history_of: int = 0
    index_organized: bool = False

    @property
    def has_history(self) -> bool:
        """Whether old row versions of its present segment have moved to a table of their own, see `storage.history`."""
        return self.history_of == self.data_object_id

    @property
    def is_composite(self) -> bool:
        """Whether its partitions have subpartitions."""
        return self.partitioning is not None and self.partitioning.divided is not None

    @property
    def archival(self) -> Column | None:
        """ORA_ARCHIVE_STATE of a table with ROW ARCHIVAL, else None: rows in which it is not 0 are archived."""
        return next((column for column in self.columns if column.system and column.name == "ORA_ARCHIVE_STATE"), None)

    def all_columns(self) -> list[Column]:
        """Stored and virtual columns in the order of their definition, also invisible ones; a new list."""
        found = list(self.columns)
        for place, column in self.virtual:
            found.insert(place, column)
        return found

    def shown_columns(self) -> list[Column]:
        """All columns, invisible ones too, the visible ones in the order of COLUMN_ID, which `*` and an INSERT without columns
        follow; a new list."""
        return sorted(self.all_columns(), key=lambda column: column.shown_after)

    def last_shown(self) -> int:
        """`shown_after` of a column that is added now: the highest of the table's columns."""
        return max(column.shown_after for column in self.all_columns())

    @property
    def key(self) -> Constraint | None:
        """The primary key, else None."""
        return next((c for c in self.constraints if c.kind == ConstraintKind.PRIMARY), None)

    def position(self, name: str) -> int:
        """0-based position of a stored column. Raises ORA-00904."""
        for at, column in enumerate(self.columns):
            if column.name == name:
                return at
        raise OraError(904, f'"{name}": invalid identifier')

    def positions(self, names: tuple[str, ...]) -> tuple[int, ...]:
        """`position` of each name, in the order given. Raises ORA-00904."""
        return tuple(self.position(name) for name in names)

    def object_ids(self) -> tuple[int, ...]:
        """OBJECT_ID of the table, then of its partitions in their order, each with its subpartitions."""
        return (self.object_id, *(p.object_id for p in (self.partitioning.all_parts() if self.partitioning else ())))

    def partition(self, object_id: int) -> TablePartition | None:
        """The partition or subpartition with this OBJECT_ID, else None."""
        found = self.partitioning.all_parts() if self.partitioning is not None else ()
        return next((partition for partition in found if partition.object_id == object_id), None)

    def segment_of(self, rid: int) -> tuple[int, int]:
        """OBJECT_ID and DATA_OBJECT_ID of the segment that shows a row number: those of its partition, or of the table if it is
        not partitioned. Raises ORA-08103 for a partition that was dropped or got new storage."""
        if self.partitioning is None:
            return self.object_id, self.data_object_id
        found = self.partitioning.numbered(rid)
        return found.object_id, found.data_object_id

    def row_ids(self) -> str:
        """SQL of the argument that identifies the table in functions on ROWIDs, see `sql.sqlite_functions.rowids`."""
        return str(self.data_object_id if self.partitioning is None else -self.object_id)

    def holding(self, row: tuple[bytes | str | None, ...]) -> TablePartition:
        """The partition or subpartition for a row, with cells of all stored columns, of a partitioned table; makes none. Raises ORA-14400 when
        there is none for it."""
        assert self.partitioning is not None
        found = self.partitioning.holding(self.partition_key(row))
        if found is None:
            raise OraError(14400, "inserted partition key does not map to any partition")
        return found

    def partition_key(self, row: tuple[bytes | str | None, ...]) -> tuple[bytes | str | None, ...]:
        """The cells of a row that decide where it goes, in the order of `Partitioning.key_columns`; only of a partitioned table."""
        assert self.partitioning is not None
        return tuple([row[at] for at in self.positions(self.partitioning.key_columns)])

    def stored(self, object_id: int = 0) -> TableVersion:
        """The table's present version for LogMiner, of the partition with this OBJECT_ID, or of the table for 0 and any other
        number."""
        partition = self.partition(object_id)
        return TableVersion(
            self.owner,
            self.dropped_as or self.name,
            self.object_id if partition is None else partition.object_id,
            self.data_object_id if partition is None else partition.data_object_id,
            self.version,
            tuple(c.stored() for c in self.columns),
            self.positions(self.key.columns) if self.key else (),
            self.temporary is not None,
            None if partition is None else partition.name,
            partition is not None and self.is_composite and partition.subpartitions is None,
        )
