"""The data dictionary: containers, users, tables with their columns, constraints and log groups, database-wide flags.

Changed under the storage lock only; views read it without (they iterate over copies).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from minercdc.sandbox.interfaces import OraError, OraType, StoredColumn, TableVersion
from minercdc.sandbox.objects import Role, SchemaObject, Sequence, StoredView, Synonym
from minercdc.sandbox.partitioning import Partitioning, TablePartition

ROOT, SEED, PDB = 1, 2, 3

ALL_LOGGING = "ALL COLUMN LOGGING"
KEY_LOGGING = "PRIMARY KEY LOGGING"
UNIQUE_LOGGING = "UNIQUE KEY LOGGING"
FOREIGN_LOGGING = "FOREIGN KEY LOGGING"
USER_GROUP = "USER LOG GROUP"

STANDARD, EXTENDED = "STANDARD", "EXTENDED"
"""MAX_STRING_SIZE: VARCHAR2 up to 4000 bytes and RAW up to 2000, or both up to 32767."""


@dataclass(slots=True)
class Column:
    """A column as declared.

    :param precision: NUMBER: decimal digits, 0 when left out (`*`); FLOAT: binary digits; INTERVAL: leading digits.
    :param scale: NUMBER: -127 unconstrained; TIMESTAMP and INTERVAL: fractional digits.
    :param size: bytes; for character columns the limit in bytes, with `char_length` the limit in characters.
    :param semantics: `B` or `C`, of character types.
    :param national: NCHAR or NVARCHAR2: lengths count UTF-16 units.
    :param default: text of the default expression.
    :param storage: of LOB columns SECUREFILE or BASICFILE, of XMLTYPE columns `BINARY XML` or `CLOB XML`.
    :param virtual: expression of a virtual column, which has no place in the segment.
    :param on_null: DEFAULT ON NULL: an explicit NULL takes the default too.
    :param identity: of identity columns ALWAYS or BY DEFAULT; the default draws from its sequence.
    :param slot: physical column of the segment; survives renames and dropped neighbours.
    """

    name: str
    type: OraType
    precision: int = 0
    scale: int = 0
    size: int = 0
    char_length: int = 0
    semantics: str = "B"
    nullable: bool = True
    default: str | None = None
    float_: bool = False
    slot: int = 0
    comment: str | None = None
    national: bool = False
    storage: str = ""
    virtual: str | None = None
    invisible: bool = False
    on_null: bool = False
    identity: str | None = None

    @property
    def data_type(self) -> str:
        """DATA_TYPE of ALL_TAB_COLUMNS: `NUMBER`, `FLOAT`, `VARCHAR2`, `TIMESTAMP(6)`, .."""
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
        """The type as one would write it, e.g. `NUMBER(10,2)`, `VARCHAR2(20 CHAR)`."""
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
                f"{self.type.name}({self.char_length} CHAR)" if self.semantics == "C" else f"{self.type.name}({self.size})"
            )
        return f"RAW({self.size})" if self.type is OraType.RAW else self.data_type

    def stored(self) -> StoredColumn:
        return StoredColumn(
            *(self.name, self.type, self.declared, self.precision, self.scale, self.size, self.national, self.storage)
        )


@dataclass(slots=True)
class Constraint:
    """A constraint.

    :param kind: as in ALL_CONSTRAINTS: P, U, R, or C for NOT NULL and CHECK.
    :param reference: of foreign keys owner and table, and the columns there.
    :param delete_rule: NO ACTION, CASCADE or SET NULL.
    """

    name: str
    kind: str
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


@dataclass(slots=True)
class Index:
    owner: str
    name: str
    columns: tuple[str, ...]
    unique: bool
    object_id: int
    created: float


@dataclass(slots=True)
class SupplementalLogGroup:
    """A row of ALL_LOG_GROUPS; `columns` of USER LOG GROUPs only."""

    name: str
    kind: str
    always: bool = True
    columns: tuple[str, ...] = ()
    generated: bool = True


@dataclass(slots=True, eq=False)
class Table:
    """A table as it is now.

    :param version: DATA_OBJV#, raised by ADD, DROP and MODIFY of columns.
    :param ddl_scn: SCN of the newest definition; AS OF below it is ORA-01466.
    :param checks: CHECK constraints (`constraints` has the NOT NULLs, also of kind C).
    :param row_dependencies: ROWDEPENDENCIES: ORA_ROWSCN tells of each row, not of its block.
    :param next_rid: number of the next row inserted; ROWIDs are made of it. Of a partitioned table each partition has its own.
    :param last_rid: number of the row inserted last.
    :param row_movement: rows may change their partition (ORA-14402).
    :param next_slot: physical column the next ADD COLUMN gets.
    :param virtual: virtual columns, each with its place among all columns.
    :param analyzed: when DBMS_STATS last counted its rows, and how many there were.
    :param history_of: the data object id whose old versions lie apart.
    :param temporary: of a global temporary table TRANSACTION or SESSION: how long its rows live.
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
    virtual: list[tuple[int, Column]] = field(default_factory=list)
    temporary: str | None = None
    partitioning: Partitioning | None = None
    row_movement: bool = False
    read_only: bool = False
    analyzed: tuple[float, int] | None = None
    history_of: int = 0

    @property
    def has_history(self) -> bool:
        """Whether some of its versions have moved, see `storage.history`."""
        return self.history_of == self.data_object_id

    def all_columns(self) -> list[Column]:
        """Stored and virtual columns in the order of their definition."""
        found = list(self.columns)
        for place, column in self.virtual:
            found.insert(place, column)
        return found

    @property
    def foreign_keys(self) -> list[Constraint]:
        """Enabled references to other tables."""
        return [c for c in self.constraints if c.kind == "R" and c.enabled]

    @property
    def key(self) -> Constraint | None:
        """The primary key."""
        return next((c for c in self.constraints if c.kind == "P"), None)

    def position(self, name: str) -> int:
        """0-based position of a column. Raises ORA-00904."""
        for at, column in enumerate(self.columns):
            if column.name == name:
                return at
        raise OraError(904, f'"{name}": invalid identifier')

    def positions(self, names: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(self.position(name) for name in names)

    def object_ids(self) -> tuple[int, ...]:
        """OBJECT_ID of the table and of its partitions."""
        return (self.object_id, *(p.object_id for p in (self.partitioning.partitions if self.partitioning else ())))

    def partition(self, object_id: int) -> TablePartition | None:
        """The partition with an OBJECT_ID."""
        found = self.partitioning.partitions if self.partitioning is not None else ()
        return next((partition for partition in found if partition.object_id == object_id), None)

    def segment_of(self, rid: int) -> tuple[int, int]:
        """OBJECT_ID and DATA_OBJECT_ID of what a row lies in: the table, or one of its partitions."""
        if self.partitioning is None:
            return self.object_id, self.data_object_id
        found = self.partitioning.numbered(rid)
        return found.object_id, found.data_object_id

    def row_ids(self) -> str:
        """SQL of what functions on ROWIDs are told of the table, see `sql.scalars.rowids`."""
        return str(self.data_object_id if self.partitioning is None else -self.object_id)

    def holding(self, row: tuple[bytes | str | None, ...]) -> TablePartition:
        """The partition for a row of a partitioned table. Raises ORA-14400."""
        assert self.partitioning is not None
        found = self.partitioning.holding(self.partition_key(row))
        if found is None:
            raise OraError(14400, "inserted partition key does not map to any partition")
        return found

    def partition_key(self, row: tuple[bytes | str | None, ...]) -> tuple[bytes | str | None, ...]:
        assert self.partitioning is not None
        return tuple([row[at] for at in self.positions(self.partitioning.columns)])

    def stored(self, object_id: int = 0) -> TableVersion:
        """What LogMiner needs of this version, of the table or of the partition with an OBJECT_ID."""
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
        )


@dataclass(frozen=True, slots=True)
class Grant:
    """A privilege or role; `object` is `OWNER.NAME` for object privileges."""

    privilege: str
    object: str | None = None
    option: bool = False


@dataclass(slots=True)
class User:
    """A user of one container, or a common user known in all."""

    name: str
    password: str
    user_id: int
    created: float
    common: bool = False
    locked: bool = False
    expired: bool = False
    grants: set[Grant] = field(default_factory=set)
    default_tablespace: str = "USERS"
    oracle_maintained: bool = False

    def has(self, privilege: str) -> bool:
        """Whether a system privilege or role was granted, directly or by DBA."""
        names = {g.privilege for g in self.grants if g.object is None}
        return privilege in names or "DBA" in names or "ALL PRIVILEGES" in names


@dataclass(slots=True)
class Container:
    con_id: int
    name: str
    dbid: int
    guid: bytes
    open_mode: str = "READ WRITE"
    users: dict[str, User] = field(default_factory=dict)
    tables: dict[tuple[str, str], Table] = field(default_factory=dict)
    dropped: dict[str, Table] = field(default_factory=dict)
    views: dict[tuple[str, str], StoredView] = field(default_factory=dict)
    synonyms: dict[tuple[str, str], Synonym] = field(default_factory=dict)
    sequences: dict[tuple[str, str], Sequence] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)


@dataclass(slots=True)
class DatabaseLogging:
    """Database-wide supplemental logging as V$DATABASE shows it."""

    minimal: bool = False
    primary_key: bool = False
    unique: bool = False
    foreign_key: bool = False
    all: bool = False
    procedural: bool = False
    subset: bool = False

    @property
    def minimal_status(self) -> str:
        """NO, YES, or IMPLICIT when another kind switched it on."""
        if self.minimal:
            return "YES"
        return "IMPLICIT" if self.primary_key or self.unique or self.foreign_key or self.all else "NO"


CONNECTOR_GRANTS = (
    *("CREATE SESSION", "SET CONTAINER", "FLASHBACK ANY TABLE", "SELECT ANY TABLE", "SELECT ANY TRANSACTION"),
    *("SELECT_CATALOG_ROLE", "EXECUTE_CATALOG_ROLE", "LOGMINING", "CREATE TABLE", "LOCK ANY TABLE", "CREATE SEQUENCE"),
)


class Catalog:
    """The dictionary of database ORCLCDB with its containers CDB$ROOT, PDB$SEED and ORCLPDB1."""

    database_name = "ORCLCDB"
    instance_name = "ORCLCDB"
    dbid = 2_859_123_456
    log_mode = "ARCHIVELOG"
    max_string_size = STANDARD

    def __setstate__(self, state: dict[str, object]) -> None:
        """Read back from a data directory."""
        self.__dict__.update(state)
        for place in self.containers.values():
            for sequence in place.sequences.values():
                sequence.resume()

    @property
    def stamp(self) -> int:
        """Changes with everything that must outlive the process: definitions, and ranges of sequence numbers."""
        return self.version + self.cache_fills

    def __init__(self, now: float) -> None:
        self.cache_fills = 0
        self._last_ids = {"object": 73_200, "user": 103, "constraint": 8_300}
        self.created = now
        self.version = 0
        self.logging = DatabaseLogging()
        names = ((ROOT, "CDB$ROOT"), (SEED, "PDB$SEED"), (PDB, "ORCLPDB1"))
        self.containers = {
            con_id: Container(con_id, name, self.dbid + con_id - 1, con_id.to_bytes(16, "big")) for con_id, name in names
        }
        self.containers[SEED].open_mode = "READ ONLY"
        self._by_object: dict[int, Table] = {}
        self._national: dict[tuple[int, int], frozenset[int]] = {}
        self._versions: dict[tuple[int, int], TableVersion] = {}
        dba = frozenset({"DBA", "CREATE SESSION"})
        for name, password, user_id in (("SYS", "oracle", 0), ("SYSTEM", "oracle", 9)):
            self._add_common(
                User(name, password, user_id, now, True, grants={Grant(g) for g in dba}, oracle_maintained=True)
            )
        connector = User("C##MINERCDC", "minercdc", self._next("user"), now, True)
        connector.grants |= {Grant(g) for g in CONNECTOR_GRANTS}
        connector.grants |= {Grant("EXECUTE", "SYS.DBMS_LOGMNR"), Grant("EXECUTE", "SYS.DBMS_LOGMNR_D")}
        self._add_common(connector)

    def _add_common(self, user: User) -> None:
        for container in self.containers.values():
            container.users[user.name] = user

    # ---- reading ----

    def container_named(self, name: str) -> Container:
        """By name, upper case. Raises ORA-65011."""
        for container in self.containers.values():
            if container.name == name:
                return container
        raise OraError(65011, f"Pluggable database {name} does not exist.")

    def add_container(self, name: str, administrator: User) -> Container:
        """CREATE PLUGGABLE DATABASE: a copy of PDB$SEED, mounted. Raises ORA-65012."""
        if any(container.name == name for container in self.containers.values()):
            raise OraError(65012, f"Pluggable database {name} already exists.")
        con_id = max(self.containers) + 1
        container = Container(con_id, name, self.dbid + con_id - 1, con_id.to_bytes(16, "big"), "MOUNTED")
        container.users = {user.name: user for user in self.containers[ROOT].users.values() if user.common}
        container.users[administrator.name] = administrator
        self.containers[con_id] = container
        self.version += 1
        return container

    def user(self, container: int, name: str) -> User | None:
        return self.containers[container].users.get(name)

    def users(self, container: int) -> list[User]:
        return list(self.containers[container].users.values())

    def table(self, container: int, owner: str, name: str) -> Table | None:
        return self.containers[container].tables.get((owner, name))

    def view(self, container: int, owner: str, name: str) -> StoredView | None:
        return self.containers[container].views.get((owner, name))

    def sequence(self, container: int, owner: str, name: str) -> Sequence | None:
        return self.containers[container].sequences.get((owner, name))

    def sequence_of(self, object_id: int) -> Sequence | None:
        """By OBJECT_ID, in whichever container."""
        for place in self.containers.values():
            for sequence in place.sequences.values():
                if sequence.object_id == object_id:
                    return sequence
        return None

    def synonym(self, container: int, owner: str | None, schema: str, name: str) -> Synonym | None:
        """A private synonym of `owner` (or of the current schema), else a public one when no owner was said."""
        found = self.containers[container].synonyms
        return found.get((owner or schema, name)) or (found.get(("PUBLIC", name)) if owner is None else None)

    def object_named(self, container: int, owner: str, name: str) -> Table | SchemaObject | None:
        """Tables, views, synonyms and sequences share one namespace (ORA-00955)."""
        place, key = self.containers[container], (owner, name)
        return place.tables.get(key) or place.views.get(key) or place.synonyms.get(key) or place.sequences.get(key)

    def children_of(self, table: Table) -> list[tuple[Table, Constraint]]:
        """Enabled foreign keys that refer to a table."""
        return [
            (child, constraint)
            for child in self.containers[table.container].tables.values()
            for constraint in child.constraints
            if constraint.reference is not None
            and constraint.reference[:2] == (table.owner, table.name)
            and constraint.kind == "R"
            and constraint.enabled
        ]

    def tables(self, container: int | None = None) -> Iterator[Table]:
        """Tables of one container, or of all."""
        for con_id in self.containers if container is None else (container,):
            yield from tuple(self.containers[con_id].tables.values())

    def dropped(self, container: int) -> list[Table]:
        """The recycle bin; `dropped_as` is the BIN$ name."""
        return list(self.containers[container].dropped.values())

    def table_of(self, object_id: int) -> Table | None:
        """Live or in the recycle bin."""
        return self._by_object.get(object_id)

    def current(self, data_obj: int) -> TableVersion | None:
        """Newest version of the table with this OBJECT_ID; None once it was purged (interfaces.Dictionary)."""
        table = self._by_object.get(data_obj)
        return None if table is None else table.stored(data_obj)

    def version_of(self, data_obj: int, version: int) -> TableVersion | None:
        """A table as it was in one of its versions, purged ones too: what a dictionary in the redo leads to."""
        return self._versions.get((data_obj, version))

    def current_versions(self) -> list[tuple[int, int]]:
        """(OBJECT_ID, version) of all tables and partitions there are."""
        return [(object_id, table.version) for object_id, table in self._by_object.items()]

    def national_columns(self, data_obj: int, version: int) -> frozenset[int]:
        """Positions of NCHAR and NVARCHAR2 columns in any version of a table, purged ones too: redo holds them in UTF-16."""
        return self._national.get((data_obj, version), frozenset())

    # ---- changing: under the storage lock ----

    def _note_version(self, table: Table) -> None:
        found = frozenset(at for at, column in enumerate(table.columns) if column.national)
        for object_id in table.object_ids():
            self._versions[object_id, table.version] = table.stored(object_id)
            if found:
                self._national[object_id, table.version] = found

    def _next(self, kind: str) -> int:
        self._last_ids[kind] += 1
        return self._last_ids[kind]

    def new_user_id(self) -> int:
        return self._next("user")

    def new_object_id(self) -> int:
        return self._next("object")

    def generated_name(self) -> str:
        """`SYS_C..`, for constraints without a name."""
        return f"SYS_C00{self._next('constraint')}"

    def add_user(self, container: int, name: str, password: str, now: float) -> User:
        """Raises ORA-01920, ORA-65096 (a local name in the root) and ORA-65094 (a common name in a PDB)."""
        common = name.startswith("C##")
        if container == ROOT and not common:
            raise OraError(65096, "common user or role name must start with C##")
        if container != ROOT and common:
            raise OraError(65094, "invalid local user or role name")
        if name in self.containers[container].users:
            raise OraError(1920, f"user name '{name}' conflicts with another user or role name")
        user = User(name, password, self._next("user"), now, common)
        if common:
            self._add_common(user)
        else:
            self.containers[container].users[name] = user
        self.version += 1
        return user

    def drop_user(self, container: int, name: str, *, cascade: bool) -> None:
        """Raises ORA-01918, and ORA-01922 when tables are left and CASCADE was not said."""
        if name not in self.containers[container].users:
            raise OraError(1918, f"user '{name}' does not exist")
        places = self.containers.values() if name.startswith("C##") else (self.containers[container],)
        owned = [t for place in places for t in place.tables.values() if t.owner == name]
        if owned and not cascade:
            raise OraError(1922, f"CASCADE must be specified to drop '{name}'")
        for table in owned:
            self.purge(table)
        for place in places:
            place.users.pop(name, None)
        self.version += 1

    def add_table(self, table: Table) -> None:
        self.containers[table.container].tables[table.owner, table.name] = table
        self.note_segments(table)

    def note_segments(self, table: Table) -> None:
        """A table, or partitions of it, are new."""
        self._by_object.update(dict.fromkeys(table.object_ids(), table))
        self._note_version(table)
        self.version += 1

    def forget_partition(self, partition: TablePartition) -> None:
        """It was dropped: redo of its rows is of an unknown object from now on."""
        self._by_object.pop(partition.object_id, None)
        self.version += 1

    def recycle(self, table: Table, name: str) -> None:
        """Move to the recycle bin under a BIN$ name."""
        del self.containers[table.container].tables[table.owner, table.name]
        table.dropped_as = name
        self.containers[table.container].dropped[name] = table
        self.version += 1

    def purge(self, table: Table) -> None:
        place = self.containers[table.container]
        place.tables.pop((table.owner, table.name), None)
        if table.dropped_as:
            place.dropped.pop(table.dropped_as, None)
        for object_id in table.object_ids():
            self._by_object.pop(object_id, None)
        self.version += 1

    def changed(self, table: Table, *, scn: int, now: float, definition: bool) -> None:
        """Note a DDL on the table; `definition` when its columns changed."""
        table.last_ddl = now
        if definition:
            table.ddl_scn = scn
            table.version += 1
            self._note_version(table)
        self.version += 1

    def rename_column(self, table: Table, at: int, name: str) -> None:
        old = table.columns[at].name
        table.columns[at] = replace(table.columns[at], name=name)
        for constraint in table.constraints:
            constraint.columns = tuple(name if c == old else c for c in constraint.columns)
        for index in table.indexes:
            index.columns = tuple(name if c == old else c for c in index.columns)
