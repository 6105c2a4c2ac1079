"""The data dictionary: containers, users and their objects, database-wide flags.

It is changed under the storage lock only; views read it without the lock, mostly from copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import Job, Role, SchemaObject, Sequence, StoredProgram, StoredView, Synonym, Trigger
from minercdc_sandbox.partitioning import TablePartition
from minercdc_sandbox.records import TableVersion
from minercdc_sandbox.tables import Constraint, ConstraintKind, Table

ROOT, SEED, PDB = 1, 2, 3

STANDARD, EXTENDED = "STANDARD", "EXTENDED"
"""MAX_STRING_SIZE: VARCHAR2 up to 4000 bytes and RAW up to 2000, or both up to 32767."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A privilege or role granted, with ADMIN or GRANT OPTION by `option`; `object`: OWNER.NAME of an object privilege, else None."""

    privilege: str
    object: str | None = None
    option: bool = False


@dataclass(slots=True)
class User:
    """A user of one container, or a common user (`C##..`, SYS, SYSTEM), which is one object in all containers. `password` is clear
    text, `created` host seconds since the epoch; `locked`, `expired`: ORA-28000, ORA-28001; `proxies`: who may log on in its place; `container_data`: CONTAINER_DATA is ALL."""

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
    proxies: set[str] = field(default_factory=set)
    container_data: bool = False

    def has(self, privilege: str) -> bool:
        """Whether a system privilege or role was granted to the user itself, or DBA or ALL PRIVILEGES; what roles bring does not
        count."""
        names = {g.privilege for g in self.grants if g.object is None}
        return privilege in names or "DBA" in names or "ALL PRIVILEGES" in names


@dataclass(slots=True)
class Container:
    """A container: its users and roles by name, objects by (owner, name), `dropped` tables by BIN$ name, package `bodies`.
    `dbid` and `guid` are as in V$CONTAINERS; `open_mode` is READ WRITE, READ ONLY or MOUNTED. `resets`: SCNs of each OPEN RESETLOGS
    of it alone: the one that it went back to, and of its begin and end."""

    con_id: int
    name: str
    dbid: int
    guid: bytes
    open_mode: str = "READ WRITE"
    resets: list[tuple[int, int, int]] = field(default_factory=list)
    users: dict[str, User] = field(default_factory=dict)
    tables: dict[tuple[str, str], Table] = field(default_factory=dict)
    dropped: dict[str, Table] = field(default_factory=dict)
    views: dict[tuple[str, str], StoredView] = field(default_factory=dict)
    synonyms: dict[tuple[str, str], Synonym] = field(default_factory=dict)
    sequences: dict[tuple[str, str], Sequence] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    programs: dict[tuple[str, str], StoredProgram] = field(default_factory=dict)
    bodies: dict[tuple[str, str], StoredProgram] = field(default_factory=dict)
    triggers: dict[tuple[str, str], Trigger] = field(default_factory=dict)
    jobs: dict[tuple[str, str], Job] = field(default_factory=dict)


@dataclass(slots=True)
class DatabaseLogging:
    """Flags of database-wide supplemental logging, as SUPPLEMENTAL_LOG_DATA_* of V$DATABASE; `minimal` only when added itself."""

    minimal: bool = False
    primary_key: bool = False
    unique: bool = False
    foreign_key: bool = False
    all: bool = False
    procedural: bool = False
    subset: bool = False

    @property
    def minimal_status(self) -> str:
        """SUPPLEMENTAL_LOG_DATA_MIN: YES, else IMPLICIT when keys or all columns are logged, else NO."""
        if self.minimal:
            return "YES"
        return "IMPLICIT" if self.primary_key or self.unique or self.foreign_key or self.all else "NO"


CONNECTOR_GRANTS = (
    *("CREATE SESSION", "SET CONTAINER", "FLASHBACK ANY TABLE", "SELECT ANY TABLE", "SELECT ANY TRANSACTION"),
    *("SELECT_CATALOG_ROLE", "EXECUTE_CATALOG_ROLE", "LOGMINING", "CREATE TABLE", "LOCK ANY TABLE", "CREATE SEQUENCE"),
)


class Catalog:
    """The dictionary of one database, named ORCLCDB unless renamed: at first CDB$ROOT, PDB$SEED and ORCLPDB1 with users SYS,
    SYSTEM and C##MINERCDC, made at host seconds `now`. A data directory keeps it as a pickle. `version` rises with each change of
    a definition (who changes a member directly must increase it), `cache_fills` with each range that a sequence reserves."""

    database_name = "ORCLCDB"
    instance_name = "ORCLCDB"
    dbid = 2_859_123_456
    log_mode = "ARCHIVELOG"
    max_string_size = STANDARD
    goldengate = force_logging = False
    since_23 = False
    """Changes are logged as 23ai does it."""
    parameters: Mapping[str, str] = MappingProxyType({})
    """Values of ALTER SYSTEM SET that are recorded only, by name in lower case."""
    dropped_pdbs: Mapping[int, Container] = MappingProxyType({})
    """What DROP PLUGGABLE DATABASE removed, by CON_ID, without what was in it: its redo is in the logs still."""
    names: Mapping[int, tuple[tuple[int, str], ...]] = MappingProxyType({})
    """Earlier names of tables, with the last SCN of each, the first first, by OBJECT_ID of the table or partition."""

    def __setstate__(self, state: dict[str, object]) -> None:
        """Take the state that pickle read from a data directory. Members of later releases get their defaults, no job is running,
        and the sequences go on after their cached numbers."""
        self.__dict__.update(state)
        for place in self.containers.values():
            for kind in ("programs", "bodies", "triggers", "jobs"):
                if not hasattr(place, kind):  # of a directory that an earlier release made
                    setattr(place, kind, {})
            for job in place.jobs.values():
                job.running = False
            for user in place.users.values():
                if not hasattr(user, "proxies"):
                    user.proxies = set()
            for table in (*place.tables.values(), *place.dropped.values()):
                if not hasattr(table, "index_organized"):
                    table.index_organized = False
            for view in place.views.values():
                if not hasattr(view, "broken"):
                    view.names, view.broken = frozenset(), False
            for sequence in place.sequences.values():
                sequence.resume()

    @property
    def stamp(self) -> int:
        """A value that rises with each change that a data directory must keep: definitions and ranges of sequence numbers."""
        return self.version + self.cache_fills

    def __init__(self, now: float) -> None:
        self.cache_fills = 0
        self._last_ids = {"object": 73_200, "user": 103, "constraint": 8_300}
        self.created = now
        self.dbid = 1_000_000_000 + int(now * 1000) % 3_000_000_000  # Oracle makes it of the time of creation, too
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
        for name, user_id in (("SYS", 0), ("SYSTEM", 9)):
            dba = {Grant("DBA"), Grant("CREATE SESSION")}
            self._add_common(User(name, "oracle", user_id, now, True, grants=dba, oracle_maintained=True))
        connector = User("C##MINERCDC", "minercdc", self._next("user"), now, True)
        connector.grants |= {Grant(g) for g in CONNECTOR_GRANTS}
        connector.grants |= {Grant("EXECUTE", "SYS.DBMS_LOGMNR"), Grant("EXECUTE", "SYS.DBMS_LOGMNR_D")}
        self._add_common(connector)

    def _add_common(self, user: User) -> None:
        for container in self.containers.values():
            container.users[user.name] = user

    def container_named(self, name: str) -> Container:
        """The container with this name, upper case. Raises ORA-65011."""
        for container in self.containers.values():
            if container.name == name:
                return container
        raise OraError(65011, f"Pluggable database {name} does not exist.")

    def add_container(self, name: str, administrator: User) -> Container:
        """CREATE PLUGGABLE DATABASE: an empty container, MOUNTED, with the common users and `administrator`. Raises ORA-65012."""
        if any(container.name == name for container in self.containers.values()):
            raise OraError(65012, f"Pluggable database {name} already exists.")
        con_id = max((*self.containers, *self.dropped_pdbs)) + 1
        container = Container(con_id, name, self.dbid + con_id - 1, con_id.to_bytes(16, "big"), "MOUNTED")
        container.users = {user.name: user for user in self.containers[ROOT].users.values() if user.common}
        container.users[administrator.name] = administrator
        self.containers[con_id] = container
        self.version += 1
        return container

    def user(self, container: int, name: str) -> User | None:
        """The user of this name, also a common one; else None. Raises, as other calls with a container id, KeyError for an unknown id."""
        return self.containers[container].users.get(name)

    def users(self, container: int) -> list[User]:
        """A new list of the users of a container, with the common ones."""
        return list(self.containers[container].users.values())

    def table(self, container: int, owner: str, name: str) -> Table | None:
        """The table of this name outside the recycle bin; else None."""
        return self.containers[container].tables.get((owner, name))

    def view(self, container: int, owner: str, name: str) -> StoredView | None:
        """The view of this name; else None."""
        return self.containers[container].views.get((owner, name))

    def sequence(self, container: int, owner: str, name: str) -> Sequence | None:
        """The sequence of this name; else None."""
        return self.containers[container].sequences.get((owner, name))

    def sequence_of(self, object_id: int) -> Sequence | None:
        """The sequence with this OBJECT_ID, in whichever container; else None."""
        every = (sequence for place in self.containers.values() for sequence in place.sequences.values())
        return next((sequence for sequence in every if sequence.object_id == object_id), None)

    def synonym(self, container: int, owner: str | None, schema: str, name: str) -> Synonym | None:
        """The private synonym of `owner`; for None that of the current schema, else the public one. None when there is none."""
        found = self.containers[container].synonyms
        return found.get((owner or schema, name)) or (found.get(("PUBLIC", name)) if owner is None else None)

    def object_named(self, container: int, owner: str, name: str) -> Table | SchemaObject | None:
        """The table, view, synonym, sequence, package, function, procedure or job of this name; else None. They share one namespace
        (ORA-00955)."""
        place, key = self.containers[container], (owner, name)
        found = place.tables.get(key) or place.views.get(key) or place.synonyms.get(key) or place.sequences.get(key)
        return found or place.programs.get(key) or place.jobs.get(key)

    def program(self, container: int, owner: str, name: str) -> StoredProgram | None:
        """The package, function or procedure of this name; else None."""
        return self.containers[container].programs.get((owner, name))

    def body(self, container: int, owner: str, name: str) -> StoredProgram | None:
        """The body of the package of this name; else None."""
        return self.containers[container].bodies.get((owner, name))

    def triggers_of(self, table: Table) -> list[Trigger]:
        """The triggers of a table, the oldest first."""
        found = self.containers[table.container].triggers
        return sorted((t for t in found.values() if t.table_id == table.object_id), key=lambda t: t.object_id)

    def is_valid(self, one: StoredView | StoredProgram) -> bool:
        """STATUS of the dictionary views: whether all is there that its text named when it was made. A view that FORCE made with an
        error is not valid until a query reads it without an error."""
        broken = isinstance(one, StoredView) and one.broken
        return not broken and all(self.object_named(one.container, one.owner, name) is not None for name in one.names)

    def children_of(self, table: Table) -> list[tuple[Table, Constraint]]:
        """(child table, foreign key) of each enabled foreign key that refers to the table."""
        return [
            (child, constraint)
            for child in self.containers[table.container].tables.values()
            for constraint in child.constraints
            if constraint.reference is not None
            and constraint.reference[:2] == (table.owner, table.name)
            and constraint.kind == ConstraintKind.FOREIGN
            and constraint.enabled
        ]

    def tables(self, container: int | None = None) -> Iterator[Table]:
        """Tables of one container, or of all for None, without the recycle bin; iterates over copies."""
        for con_id in self.containers if container is None else (container,):
            yield from tuple(self.containers[con_id].tables.values())

    def dropped(self, container: int) -> list[Table]:
        """Tables in the recycle bin of a container, the first dropped first."""
        return list(self.containers[container].dropped.values())

    def table_of(self, object_id: int) -> Table | None:
        """The table with this OBJECT_ID, or of the partition with it, also in the recycle bin; else None."""
        return self._by_object.get(object_id)

    def current(self, data_obj: int) -> TableVersion | None:
        """Newest version of the table or partition with this OBJECT_ID; None when it is unknown, purged or a dropped partition."""
        table = self._by_object.get(data_obj)
        return None if table is None else table.stored(data_obj)

    def version_of(self, data_obj: int, version: int) -> TableVersion | None:
        """One version of a table or partition, of a purged one too; None for an unknown one."""
        return self._versions.get((data_obj, version))

    def current_versions(self) -> list[tuple[int, int]]:
        """(OBJECT_ID, version) of all tables and partitions that are not purged."""
        return [(object_id, table.version) for object_id, table in self._by_object.items()]

    def national_columns(self, data_obj: int, version: int) -> frozenset[int]:
        """Positions of national columns in a version of a table or partition, of a purged one too; empty for an unknown one."""
        return self._national.get((data_obj, version), frozenset())

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
        """A USER_ID that no user has had."""
        return self._next("user")

    def new_object_id(self) -> int:
        """An OBJECT_ID or DATA_OBJECT_ID that no object has had."""
        return self._next("object")

    def generated_name(self) -> str:
        """A `SYS_C..` name that was not returned before."""
        return f"SYS_C00{self._next('constraint')}"

    def add_user(self, container: int, name: str, password: str, now: float) -> User:
        """Create a user without privileges at host seconds `now`, a common one in all containers. Raises ORA-01920, ORA-65096 (a
        local name in the root) and ORA-65094 (a common name in a PDB)."""
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
        """Drop a user, a common one in all containers, and the user's programs, triggers and jobs; with `cascade`, purge the
        tables. Views, synonyms and sequences are the caller's to drop. Raises ORA-01918, and ORA-01922 if there are tables,
        without `cascade`."""
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
            kinds: tuple[dict[tuple[str, str], Any], ...] = (place.programs, place.bodies, place.triggers, place.jobs)
            for kind in kinds:
                for key in [key for key in kind if key[0] == name]:
                    del kind[key]
        self.version += 1

    def add_table(self, table: Table) -> None:
        """Add a table under its owner and name, which must be free, and `note_segments`."""
        self.containers[table.container].tables[table.owner, table.name] = table
        self.note_segments(table)

    def note_segments(self, table: Table) -> None:
        """Register the OBJECT_IDs of a table and of its partitions with their present version; again after partitions were added."""
        self._by_object.update(dict.fromkeys(table.object_ids(), table))
        self._note_version(table)
        self.version += 1

    def forget_partition(self, partition: TablePartition) -> None:
        """Forget a dropped partition, or subpartition: LogMiner then shows the redo of its rows as of an unknown object. Those of
        its subpartitions go with it."""
        for part in {id(part): part for part in (partition, *partition.segments())}.values():
            self._by_object.pop(part.object_id, None)
        self.version += 1

    def recycle(self, table: Table, name: str) -> None:
        """Move a table to the recycle bin under the BIN$ name `name`, and give its triggers BIN$ names."""
        del self.containers[table.container].tables[table.owner, table.name]
        table.dropped_as = name
        self.containers[table.container].dropped[name] = table
        found = self.containers[table.container].triggers
        for trigger in self.triggers_of(table):
            del found[trigger.owner, trigger.name]
            trigger.name = f"BIN${trigger.object_id:022d}==$0"
            found[trigger.owner, trigger.name] = trigger
        self.version += 1

    def purge(self, table: Table) -> None:
        """Remove a table, also from the recycle bin, its triggers and its identity column's sequence; not its versions."""
        place = self.containers[table.container]
        place.tables.pop((table.owner, table.name), None)
        place.dropped.pop(table.dropped_as or "", None)
        place.sequences.pop((table.owner, f"ISEQ$$_{table.object_id}"), None)
        for trigger in self.triggers_of(table):
            del place.triggers[trigger.owner, trigger.name]
        for object_id in table.object_ids():
            self._by_object.pop(object_id, None)
        self.version += 1

    def changed(self, table: Table, *, scn: int, now: float, definition: bool) -> None:
        """Note a DDL on the table at host seconds `now`; with `definition`, stored columns changed at `scn`: it gets a new version."""
        table.last_ddl = now
        if definition:
            table.ddl_scn = scn
            table.version += 1
            self._note_version(table)
        self.version += 1
